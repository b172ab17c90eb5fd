"""tests/run itself, on suites made up for the purpose."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[1] / "run"

# A program that acts like GoogleTest. What it does is in its own last lines: OUTCOME NAME [REASON].
PROGRAM = r'''#!/usr/bin/python3 -ES
import os, signal, sys, time
lines = [line.split(" ", 2) for line in open(__file__).read().partition("\n#--\n")[2].splitlines()]
lines = [line[0][1:].split() + line[1:] for line in lines]
if "--gtest_list_tests" in sys.argv:
    for _, name, *_ in lines:
        print(name.replace(".", ".\n  "))
    sys.exit()
option = "--gtest_output=xml:"
path = [word[len(option):] for word in sys.argv if word.startswith(option)][0]
body = {"passed": "", "failed": "<failure message='m'>file:1\nwhy it failed</failure>",
        "skipped": "<skipped message='file:1&#x0A;%s'/>"}
cases = ""
for outcome, name, *reason in lines:
    print("[ RUN      ]", name, flush=True)
    if outcome == "hangs":
        time.sleep(60)
    if outcome == "dies":
        os.kill(os.getpid(), signal.SIGSEGV)
    if outcome == "sanitized":
        sys.exit(99)
    if outcome == "measured":
        open(os.environ["PINSTEP_TEST_WORK"] + "/results.txt", "w").write(reason[0] + "\n")
    status = "notrun" if outcome == "disabled" else "run"
    scope, _, test = name.rpartition(".")
    text = body.get(outcome, "")
    cases += f"<testcase name='{test}' classname='{scope}' status='{status}'>" + \
        (text % reason[0] if '%s' in text else text) + "</testcase>"
open(path, "w").write(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
sys.exit(any(line[0] == "failed" for line in lines))
#--
'''

DELIBERATE = "failed Deliberate.Fails"


class Suites:
    """A checkout in miniature: a copy of the runner, a table of its own."""

    def __init__(self, directory):
        self.top = directory
        self.directory = directory / "tests"
        self.table = self.directory / "suites.ini"
        self.records = self.directory / "records.tsv"
        shutil.copytree(RUN.parent / "runner", self.directory / "runner",
                        ignore=shutil.ignore_patterns("test_*", "__pycache__"))
        for name in ("run", "pytest.ini"):
            shutil.copy(RUN.parent / name, self.directory)
        self.table.write_text("# a comment that stays\n")

    def gtest(self, name, *cases, tests=None, budget=30, **more):
        program = self.directory / name
        program.write_text(PROGRAM + "".join(f"#{case}\n" for case in cases))
        program.chmod(0o755)
        self.section(name, kind="gtest", run=program, budget=budget, **more,
                     tests=len(cases) - 1 if tests is None else tests)

    def section(self, name, **keys):
        keys = {"tiers": "check full", "deliberate": "Deliberate.Fails", **keys}
        with self.table.open("a") as file:
            file.write(f"\n[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()))

    def run(self, *arguments, expected=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PINSTEP_")}
        if expected is not None:
            environment["PINSTEP_EXPECTED_SKIPS"] = expected
        done = subprocess.run([self.directory / "run", *arguments],
                              text=True, capture_output=True, env=environment, stdin=subprocess.DEVNULL)
        last = done.stdout.splitlines()[-1] if done.stdout else ""
        counts = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", last)
        return done, counts and tuple(map(int, counts.groups()))


@pytest.fixture
def suites(tmp_path):
    return Suites(tmp_path)


def test_deliberate_failure_is_seen(suites):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    suites.gtest("s", "failed A.a", DELIBERATE)
    assert suites.run("check")[0].returncode == 0


def test_a_good_suite_passes(suites):
    suites.gtest("s", "passed A.a", "passed A.b", DELIBERATE)
    done, counts = suites.run("check")
    assert (done.returncode, counts) == (0, (2, 0, 0))


def test_counts_of_all_suites_are_added_up(suites):
    suites.gtest("s", "passed A.a", DELIBERATE)
    suites.gtest("t", "passed A.a", "skipped A.b no GPU", DELIBERATE)
    done, counts = suites.run("check")
    assert (done.returncode, counts) == (0, (2, 0, 1))


@pytest.mark.skips("no root")
def test_ordinary_users_reach_what_is_in_a_private_directory(suites):
    """pytest's own directories are root's alone."""
    mounts = Path("/proc/self/mountinfo").read_text()
    suites.top.chmod(0o755)
    suites.section("s", kind="pytest", run="tests/s", budget=30, tests=1, deliberate="test_s.test_fails")
    directory = suites.directory / "s"
    directory.mkdir()
    (directory / "test_s.py").write_text("""import os, subprocess
def test_fails(): assert False
def test_reaches(): subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", "cat", os.path.realpath(__file__)], check=True)
""")
    shutil.copy(RUN.parent / "conftest.py", suites.directory)
    done, counts = suites.run("check")
    assert counts == (1, 0, 0), done.stdout
    assert Path("/proc/self/mountinfo").read_text() == mounts


def test_only_suites_of_the_tier_run(suites):
    suites.gtest("s", "passed A.a", DELIBERATE, tiers="full")
    suites.gtest("t", "passed A.a", "passed A.b", DELIBERATE, tiers="check")
    assert suites.run("check")[1] == (2, 0, 0)
    assert suites.run("full")[1] == (1, 0, 0)
    assert suites.run("bench")[0].returncode != 0


def test_what_benchmarks_have_measured_is_shown(suites):
    suites.gtest("s", "measured A.a 2.0 times A", DELIBERATE, tiers="check bench")
    done, counts = suites.run("bench")
    assert (done.returncode, counts) == (0, (1, 0, 0))
    assert "2.0 times A\nas JSON: " in done.stdout
    assert "2.0 times A" not in suites.run("check")[0].stdout


def test_a_failure_is_shown_with_its_text(suites):
    suites.gtest("s", "failed A.a", DELIBERATE)
    done, counts = suites.run("check")
    assert (done.returncode, counts) == (1, (0, 1, 0))
    assert "A.a" in done.stdout and "why it failed" in done.stdout
    assert "Deliberate" not in done.stdout


FAULTS = {
    "tests lost": (["passed A.a", DELIBERATE], {"tests": 2}, "the table says 2, 1 reported"),
    "test disabled": (["passed A.a", "disabled A.b", DELIBERATE], {"tests": 2}, "the table says 2, 1 reported"),
    "more tests": (["passed A.a", DELIBERATE], {"tests": 0}, "raise it with tests/run --update-counts --suite s"),
    "hangs": (["passed A.a", "hangs A.b", DELIBERATE], {"budget": 0.4}, "still running after"),
    "dies": (["passed A.a", "dies A.b", DELIBERATE], {}, "died of signal 11, in A.b"),
    "leaves no report": (["dies A.b", DELIBERATE], {}, "left no report"),
    "ends strangely": (["sanitized A.a", DELIBERATE], {}, "ended with exit code 99"),
    "no deliberate case": (["passed A.a"], {"tests": 1}, "which must fail, did not run"),
    "deliberate case passes": (["passed A.a", "passed Deliberate.Fails"], {}, "was not seen failing: passed"),
    "deliberate case skipped": (["passed A.a", "skipped Deliberate.Fails no GPU"], {}, "not seen failing: skipped"),
    "bad reason": (["passed A.a", "skipped A.b too slow", DELIBERATE], {}, "'too slow', which is no reason"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_suite_is_a_failure(suites, fault):
    cases, keys, text = FAULTS[fault]
    suites.gtest("s", *cases, **keys)
    suites.gtest("t", "passed A.a", DELIBERATE)
    done, counts = suites.run("check")
    assert done.returncode == 1 and counts[1] >= 1 and counts[0] >= 1
    assert text in done.stdout, done.stdout


def test_a_missing_program_is_a_failure(suites):
    suites.section("s", kind="gtest", run="/nonexistent", budget=1, tests=1)
    done, counts = suites.run("check")
    assert done.returncode == 1 and counts[1] > 0


def test_being_slow_is_noted_and_being_far_too_slow_fails():
    sys.path.insert(0, str(RUN.parent / "runner"))
    import table
    import verdict
    from report import Case
    suite = table.Suite("s", "gtest", [], [], [], [], 100.0, 0, "D.d")

    def judge(seconds):
        return verdict.judge(suite, verdict.Ran({"D.d": Case("D.d", "failed", "")}, None, seconds), None)

    assert judge(99).notes == [] and judge(99).problems == []
    assert judge(149).notes and judge(149).problems == []
    assert judge(151).problems == ["took 151 s, its budget is 100 s"]


@pytest.mark.parametrize("expected, ok", [(None, True), ("no GPU", True), ("no root,no GPU", True),
                                          ("no root", False), ("", False)])
def test_a_skip_must_be_expected_where_that_is_said(suites, expected, ok):
    suites.gtest("s", "passed A.a", "skipped A.b no GPU: none found", DELIBERATE)
    done, counts = suites.run("check", expected=expected)
    assert (done.returncode == 0, counts) == (ok, (1, 0 if ok else 1, 1))
    assert ("none found" in done.stdout) != ok
    assert re.search(r"^s .* 1 skipped  \(no GPU\)$", done.stdout, re.MULTILINE)


def test_a_whole_suite_is_skipped_for_a_reason_of_the_table(suites):
    suites.gtest("s", "passed A.a", "passed A.b", DELIBERATE, skips="no test data")
    suites.gtest("t", "passed A.a", DELIBERATE)
    assert suites.run("check")[1] == (1, 0, 2)
    done, counts = suites.run("check", expected="no GPU")
    assert (done.returncode, counts) == (1, (1, 1, 2))


def test_part_of_a_suite_is_not_held_to_its_number(suites):
    suites.gtest("s", "passed A.a", tests=5)
    assert suites.run("check", "-k", "a")[0].returncode == 0
    assert suites.run("check")[0].returncode == 1


def test_counts_are_updated_where_they_are_wrong(suites):
    suites.gtest("s", "passed A.a", "passed A.b", DELIBERATE, tests=7)
    suites.gtest("t", "passed A.a", DELIBERATE, tests=9)
    before = suites.table.read_text()
    done, _ = suites.run("check", "--update-counts", "--suite", "s")
    assert done.returncode == 0
    assert suites.table.read_text() == before.replace("tests = 7", "tests = 2")
    suites.run("--update-counts")
    assert suites.run("check")[1] == (3, 0, 0)


def test_full_runs_are_recorded(suites):
    suites.gtest("s", "passed A.a", "failed A.b", DELIBERATE)
    suites.run("check")
    assert not suites.records.exists()
    suites.run("full", "-k", "a")
    assert not suites.records.exists()
    suites.run("full", "--seed", "7")
    suites.run("full")
    header, first, second = suites.records.read_text().splitlines()
    assert header.split("\t") == ["date", "commit", "tier", "suite", "passed", "failed", "skipped", "seconds", "seed"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d\t(-|[0-9a-f]+\+?)\tfull\ts\t1\t1\t0\t\d+\t7", first)
    assert second.split("\t")[-1] != "7"


@pytest.mark.parametrize("text, message", [
    ("kind = gtest\n", "is missing"), ("kinds = gtest\n", "unknown"), ("kind = bash\n", "kind 'bash' is none of"),
    ("kind = gtest\ntiers = chekc\n", "tier 'chekc' is none of"), ("kind = gtest\nskips = no time\n", "'no time' is none of")])
def test_a_wrong_table_is_refused(suites, text, message):
    rest = {"tiers": "check", "budget": "1", "tests": "1", "deliberate": "a", "kind": "gtest", "run": "x"}
    given = dict(line.split(" = ") for line in text.splitlines())
    if message != "is missing":
        given = {**rest, **given}
    with suites.table.open("a") as file:
        file.write("[s]\n" + "".join(f"{key} = {value}\n" for key, value in given.items()))
    done, _ = suites.run("check")
    assert done.returncode == 1 and message in done.stderr


def test_pytest_suites(suites):
    file = suites.directory / "test_made_up.py"
    file.write_text("import pytest\n"
                    "def test_deliberate(): assert False\n"
                    "def test_passes(): print('x')\n"
                    "@pytest.mark.parametrize('n', [1, 2])\n"
                    "def test_fails(n): assert n == 1, 'this is why'\n"
                    "def test_skips(): pytest.skip('no GPU: really')\n"
                    "@pytest.fixture\n"
                    "def broken(): yield; raise ValueError('torn down')\n"
                    "def test_breaks(broken): pass\n"
                    "@pytest.mark.xfail\n"
                    "def test_xfails(): assert False\n")
    suites.section("s", kind="pytest", run=file, budget=30, tests=0, deliberate="test_made_up.test_deliberate")
    suites.run("--update-counts")
    assert "tests = 6\n" in suites.table.read_text()
    done, counts = suites.run("check")
    # An expected failure is a skip without a reason of the list.
    assert counts == (2, 3, 2), done.stdout
    for text in ("test_made_up.test_fails[2]", "this is why", "test_made_up.test_breaks (outside its own body)",
                 "which is no reason"):
        assert text in done.stdout


def test_a_pytest_file_that_cannot_be_read_is_a_failure(suites):
    file = suites.directory / "test_made_up.py"
    file.write_text("import nonexistent\n")
    suites.section("s", kind="pytest", run=file, budget=30, tests=0, deliberate="test_made_up.test_x")
    done, counts = suites.run("check")
    assert done.returncode == 1 and counts[1] >= 1 and "nonexistent" in done.stdout


def test_a_pytest_suite_that_hangs_is_interrupted_and_tells_the_rest(suites):
    file = suites.directory / "test_made_up.py"
    marker = suites.directory / "cleaned-up"
    file.write_text("import pytest, time\n"
                    f"@pytest.fixture(scope='session')\ndef f():\n yield\n open({str(marker)!r}, 'w')\n"
                    "def test_a(f): pass\n"
                    "def test_b(f): time.sleep(60)\n")
    suites.section("s", kind="pytest", run=file, budget=2, tests=2, deliberate="test_made_up.test_d")
    done, counts = suites.run("check")
    assert re.search(r"still running after \d+ s, in test_b", done.stdout) and marker.exists()
    assert counts[0] >= 1 and counts[1] >= 1


def test_fuzzing(suites):
    programs = suites.top / "build/fuzz"
    programs.mkdir(parents=True)
    for name, text, code in (("good", "stat::number_of_executed_units: 5", 0), ("bad", "crash found", 77),
                             ("idle", "stat::number_of_executed_units: 0", 0), ("Deliberate.Fails", "boom", 77)):
        (programs / name).write_text(f"#!/bin/sh\necho \"$*\"\necho {text}\nexit {code}\n")
        (programs / name).chmod(0o755)
    (programs / "notes.txt").write_text("no program")
    suites.section("fuzz", kind="fuzz", tiers="fuzz", budget=60, tests=3)
    done, counts = suites.run("fuzz", "--minutes", "0.4", "--seed", "11")
    assert (done.returncode, counts) == (1, (1, 2, 0)), done.stdout
    assert "crash found" in done.stdout and "tried no input" in done.stdout
    log = (suites.top / "build/test-logs/fuzz.log").read_text()
    assert log.count("-max_total_time=6") >= 4 and "-seed=11" in log
    assert suites.records.read_text().splitlines()[1].split("\t")[2:7] == ["fuzz", "fuzz", "1", "2", "0"]
