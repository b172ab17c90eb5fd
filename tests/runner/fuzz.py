"""The fuzz suite: every program in BUILD/fuzz is a case, run for its share of the minutes.

A case passes when libFuzzer ends by itself and has tried at least one input. Seeds are in
tests/fuzz/corpus/NAME, what a run finds goes to BUILD/fuzz-corpus/NAME, a crashing input to the logs.
"""

import glob
import os
import re
import time

import process
import report
import verdict


def programs(build):
    return sorted(path for path in glob.glob(os.path.join(build, "fuzz", "*"))
                  if os.access(path, os.X_OK) and os.path.isfile(path))


def run(suite, setting, log):
    began = time.monotonic()
    paths = [path for path in programs(setting.build) if (setting.pattern or "") in path]
    share = int(setting.minutes * 60 / len(paths)) if paths else 0
    cases = {}
    for path in paths:
        case = _fuzz(os.path.basename(path), path, share, setting, log)
        cases[case.name] = case
    return verdict.Ran(cases, None, time.monotonic() - began)


def _fuzz(name, path, seconds, setting, log):
    start = os.path.getsize(log) if os.path.exists(log) else 0
    found = os.path.join(setting.build, "fuzz-corpus", name)
    os.makedirs(found, exist_ok=True)
    seeds = [directory for directory in [os.path.join(setting.top, "tests/fuzz/corpus", name)]
             if os.path.isdir(directory)]
    dictionary = os.path.join(setting.top, "tests/fuzz", name + ".dict")
    done = process.run(
        [path, f"-max_total_time={max(1, seconds)}", f"-seed={setting.seed}", "-timeout=10",
         "-rss_limit_mb=2048", "-print_final_stats=1",
         f"-artifact_prefix={os.path.dirname(log)}/fuzz-{name}-",
         *([f"-dict={dictionary}"] if os.path.exists(dictionary) else []), found, *seeds],
        log, seconds * 1.5 + 30, setting.environment, setting.watch)
    with open(log, "rb") as file:
        file.seek(start)
        text = file.read().decode(errors="replace")
    if done.timed_out or done.code:
        return report.Case(name, "failed", "\n".join(text.splitlines()[-40:]))
    tried = re.search(r"stat::number_of_executed_units:\s*(\d+)", text)
    if not tried or int(tried.group(1)) == 0:
        return report.Case(name, "error", "it tried no input")
    return report.Case(name, "passed", "")
