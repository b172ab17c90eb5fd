"""The kinds of suite: how each is started, how its cases are listed."""

import os
import re
import subprocess
from collections import namedtuple

import fuzz
import process
import report
import verdict

# Where and how a run of the suites happens. pattern: run only cases whose name contains it, or None;
# seed: for whatever a test does at random; shuffle: also run GoogleTest's cases in a random order;
# minutes: how long the fuzz suite may take; watch: see process.run
Setting = namedtuple("Setting", "top build environment pattern seed shuffle minutes watch")


def pytest(setting, *arguments):
    """Isolated from the user's own packages, and with nothing compiled left in the checkout."""
    return ["/usr/bin/python3", "-I", "-X", f"pycache_prefix={setting.build}/pyc", "-m", "pytest",
            "-c", "tests/pytest.ini", "--rootdir=.", *arguments]


def make(suite, setting, log):
    """Builds what the suite needs beyond `make tests`; what is wrong, or None."""
    if not suite.make:
        return None
    done = process.run(["make", "--no-print-directory", f"-j{os.cpu_count()}", *suite.make],
                       log, 3600, setting.environment, setting.watch)
    return f"make {' '.join(suite.make)} failed" if done.code else None


def run(suite, setting, log):
    """Runs the suite; a verdict.Ran."""
    if suite.kind == "fuzz":
        return fuzz.run(suite, setting, log)
    path = os.path.splitext(log)[0] + ".xml"
    if os.path.exists(path):
        os.unlink(path)
    arguments = {"gtest": _gtest, "pytest": _pytest}[suite.kind](suite, setting, path)
    done = process.run(arguments, log, suite.budget * verdict.TOLERANCE, setting.environment,
                       setting.watch)
    wrong = ended(done)
    if wrong and (case := _last_begun(log)):
        wrong += f", in {case}"
    return verdict.Ran(report.read(path), wrong, done.seconds)


def ended(done):
    """What is wrong with the way a test program ended, or None. Failed tests give 1."""
    if done.timed_out:
        return f"still running after {done.seconds:.0f} s"
    if done.code < 0:
        return f"died of signal {-done.code}"
    return None if done.code in (0, 1) else f"ended with exit code {done.code}"


def _last_begun(log):
    """The case that was begun last, as GoogleTest and `pytest -v` print it."""
    with open(log, errors="replace") as file:
        found = re.findall(r"^(?:\[ RUN +\] (\S+)|\S+\.py::(\S+))", file.read(), re.MULTILINE)
    return "".join(found[-1]) if found else None


def _gtest(suite, setting, path):
    arguments = suite.run + [f"--gtest_output=xml:{path}", "--gtest_color=no"]
    if setting.pattern:
        arguments.append(f"--gtest_filter=*{setting.pattern}*")
    if setting.shuffle:
        # GoogleTest takes seeds up to 99999.
        arguments += ["--gtest_shuffle", f"--gtest_random_seed={setting.seed % 99999 + 1}"]
    return arguments


def _pytest(suite, setting, path):
    arguments = pytest(setting, "-v", "--durations=5", f"--junitxml={path}", *suite.run)
    return arguments + ["-k", setting.pattern] if setting.pattern else arguments


def count(suite, setting):
    """How many cases the suite has, the deliberate one left out; None if it cannot tell."""
    if suite.kind == "fuzz":
        names = [os.path.basename(path) for path in fuzz.programs(setting.build)]
        if not names:
            return None
    else:
        listing = suite.run + ["--gtest_list_tests"] if suite.kind == "gtest" else \
            pytest(setting, "--collect-only", "-q", *suite.run)
        try:
            done = subprocess.run(listing, stdout=subprocess.PIPE, text=True,
                                  env=setting.environment)
        except OSError:
            return None
        if done.returncode:
            return None
        names = (_gtest_names if suite.kind == "gtest" else _pytest_names)(done.stdout)
    return len(set(names) - {suite.deliberate})


def _gtest_names(listing):
    scope = ""
    for line in listing.splitlines():
        name = line.partition("#")[0].strip()
        if not line.startswith(" "):
            scope = name
        elif "DISABLED_" not in scope + name:
            yield scope + name


def _pytest_names(listing):
    for line in listing.splitlines():
        if found := re.match(r"(?:.*/)?(\w+)\.py::(?:.*::)?([^:]+(?:\[.*\])?)$", line):
            yield ".".join(found.groups())
