"""Output that cannot be written is an error, and one sentence, whatever the verb."""

import json
import os
import subprocess

import pytest

from ranks import WORKER, Ranks

QUICK = ["--images=600", "--test-images=100", "--epochs=2", "--batch=30"]
FULL = "pinstep-worker: error: cannot write to standard output: No space left on device\n"
CLOSED = FULL.replace("No space left on device", "Bad file descriptor")


def run(words, redirect=">/dev/full"):
    return subprocess.run(["sh", "-c", f'exec "$@" {redirect}', "sh", WORKER, *map(str, words)], text=True,
                          stderr=subprocess.PIPE, env={"PATH": "/usr/bin:/bin"})


@pytest.fixture
def log(small, tmp_path):
    subprocess.run([WORKER, "train", f"--data={small}", *QUICK, f"--log={tmp_path}/log"], check=True,
                   stdout=subprocess.DEVNULL, env={"PATH": "/usr/bin:/bin"})
    return tmp_path / "log"


@pytest.mark.parametrize("redirect, said", [(">/dev/full", FULL), (">&-", CLOSED)], ids=["full", "closed"])
@pytest.mark.parametrize("words", [
    ["--help"], ["--version"], ["train", "--help"], ["report", "--help"],
    ["train", "--data={small}", *QUICK], ["train", "--json", "--data={small}", *QUICK],
    ["check"], ["check", "--json"], ["report", "{log}"], ["report", "--json", "{log}"],
    ["bench", "--hidden=8", "scaling"],
], ids=" ".join)
def test_no_place_for_the_output(small, log, words, redirect, said):
    done = run([word.format(small=small, log=log) for word in words], redirect)
    assert done.returncode == 1 and done.stderr.count(said) == 1, done
    assert said == done.stderr or words[0] == "check", done     # which may find something


def test_only_the_rank_that_prints_minds(start):
    """And the others are not told that it has failed: they have trained."""
    ended = start(2, *QUICK, wrapper=["sh", "-c", 'exec "$@" >&-', "sh"]).wait()
    assert ended.codes == [1, 0] and ended.err == [CLOSED, ""]


def test_who_reads_only_the_head_of_a_report_sees_no_error(log):
    done = subprocess.run(["sh", "-c", '"$@" | true', "sh", WORKER, "report", log], text=True, stderr=subprocess.PIPE)
    assert done.stderr == ""


@pytest.mark.skips("no root")
def test_a_log_without_room_is_told_once_and_its_next_run_is_whole(small, tmp_path):
    """The file ends in half a line then, which takes no event of the next run with it."""
    (tmp_path / "log").mkdir()
    script = f"""mount -t tmpfs -o size=16K none {tmp_path}/log
                 "$@"; code=$?; cp {tmp_path}/log/rank-0.jsonl {tmp_path}/cut; exit $code"""
    options = [f"--data={small}", "--images=600", "--test-images=100", "--epochs=6", "--batch=3"]
    ended = Ranks(1, [*options, f"--log={tmp_path}/log"], wrapper=["unshare", "-m", "sh", "-c", script, "sh"]).wait()
    assert ended.codes == [0]
    first, last = ended.err[0].splitlines()
    assert first == f"pinstep-worker: warning: '{tmp_path}/log/rank-0.jsonl' lacks events: No space left on device"
    assert last.startswith(f"pinstep-worker: warning: '{tmp_path}/log/rank-0.jsonl' lacks ")
    assert last.endswith(" events: No space left on device") and last != first
    cut = (tmp_path / "cut").read_text()
    assert not cut.endswith("\n")
    os.replace(tmp_path / "cut", tmp_path / "log/rank-0.jsonl")
    assert Ranks(1, [*options, f"--log={tmp_path}/log"]).wait().codes == [0]
    lines = (tmp_path / "log/rank-0.jsonl").read_text()[len(cut):].splitlines()
    assert lines[0] == "" and [json.loads(line)["event"] for line in lines[1:]].count("start") == 1
