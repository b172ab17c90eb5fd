"""pinstep-worker check: what is wrong with an allocation is named, and it ends in time."""

import json
import signal
from pathlib import Path

import pytest

from ranks import Ranks

FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
# What this machine has must not decide the tests of other things.
ENOUGH = ["--min-memory=1", "--min-shm=1"]


def check(size, *options, **more):
    return Ranks(size, [*ENOUGH, *options], verb="check", **more).wait()


def findings(ended):
    return [(event["kind"], event["text"]) for event in ended.events("finding")]


def assert_unfit(ended, kind, text):
    """All ranks say so by their exit code, rank 0 in words and in one last line."""
    assert set(ended.codes) == {1}, ended
    assert text in ended.err[0]
    assert ended.out[0].splitlines()[-1].startswith("not fit: ")
    assert all(out == "" for out in ended.out[1:])


@pytest.mark.parametrize("size", [1, 3])
def test_a_healthy_machine_is_fit(size):
    ended = check(size).ok()
    assert ended.out[0].startswith(f"fit: {size} rank"), ended
    assert ended.out[0].count("\n") == 1
    assert ended.err == [""] * size and ended.out[1:] == [""] * (size - 1)


def test_every_rank_reports_what_it_sees():
    ended = check(3, "--json").ok()
    ranks = ended.events("rank")
    assert [rank["rank"] for rank in ranks] == [0, 1, 2]
    for rank in ranks:
        assert sorted(link["to"] for link in rank["links"]) == sorted({0, 1, 2} - {rank["rank"]})
        assert all(link["latency"] > 0 and link["bandwidth"] > 0 for link in rank["links"])
        assert abs(rank["skew"]) <= rank["skew_uncertainty"] + 0.05
        assert rank["memory"] > 0 and rank["open_files"] > 0
    verdict, = ended.events("verdict")
    assert verdict["fit"] and verdict["links"] == 6 and verdict["ranks"] == 3


@pytest.mark.parametrize("shift, words", [("-1h", "3600 s behind"), ("+90s", "90.0 s ahead of")])
def test_a_clock_that_differs_is_named(shift, words):
    assert FAKETIME, "faketime is missing"
    ranks = Ranks(3, ENOUGH, verb="check",
                  own_variables={1: {"LD_PRELOAD": FAKETIME, "FAKETIME": shift, "DONT_FAKE_MONOTONIC": 1}})
    ended = ranks.wait()
    for left in ("faketime_shm_", "sem.faketime_sem_"):     # by a process that ends without destructors
        Path(f"/dev/shm/{left}{ranks.processes[1].pid}").unlink(missing_ok=True)
    assert_unfit(ended, "clock", "the clock of rank 1 on ")
    assert f" is {words} rank 0's" in ended.err[0]


def test_another_environment_is_named():
    ended = check(3, PINSTEP_STEP_ENV="one", own_variables={2: {"PINSTEP_STEP_ENV": "two"}})
    assert_unfit(ended, "equal", "environment of rank 2 on ")


@pytest.mark.parametrize("option, words", [
    ("--min-memory=1000G", "of memory left for 2 ranks, the limit is 1000 GiB for each"),
    ("--min-shm=1000G", "left in /dev/shm, the limit is 1000 GiB"),
    ("--min-bandwidth=1000G", "B/s, the limit is 1000 GB/s"),
    ("--max-latency=0.000000001", "s, the limit is 1.00 ns"),
])
def test_what_is_too_little_is_named_in_the_units_of_the_limit(option, words):
    """And every finding has its hint."""
    said = check(2, option).err[0].splitlines()
    assert said and said[0].endswith(words)
    assert all(line.startswith("pinstep-worker: check: ") for line in said[::2])
    assert all(line.startswith("pinstep-worker: hint: ") for line in said[1::2])


def test_too_few_open_files_are_named():
    ended = check(2, wrapper=["prlimit", "--nofile=100"])
    assert_unfit(ended, "files", "allows 100 open files, 2 ranks need 132")


def test_a_rank_that_does_not_reach_rank_0_says_so_and_is_named():
    """As behind a firewall that refuses: nobody listens where it was told to go."""
    ended = check(3, "--timeout=5", own_variables={2: {"MASTER_ADDR": "127.0.0.2", "MASTER_PORT": 9}})
    assert set(ended.codes) == {1}
    assert "rank 2 does not reach rank 0 at 127.0.0.1:" in ended.err[0]
    assert "rank 2 on " in ended.err[2] and "'127.0.0.2:9': Connection refused" in ended.err[2]
    assert ended.err[1] == ""
    assert ended.seconds < 10


def test_a_rank_that_never_comes_is_waited_for_so_long_and_no_longer():
    ended = check(3, "--timeout=4", only=[0, 1])
    assert set(ended.codes) == {1}
    assert "rank 2 does not reach rank 0" in ended.err[0]
    assert ended.seconds < 9


def test_without_rank_0_the_others_end_too():
    ended = check(2, "--timeout=4", only=[1])
    assert ended.codes == [1]
    assert "cannot reach rank 0" in ended.err[0]
    assert ended.seconds < 9


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_stopped_holds_nobody_up(rank):
    ranks = Ranks(3, [*ENOUGH, "--timeout=5"], verb="check", only=[0, 1])
    ranks.wait_until_met(1)
    ranks.signal(rank, signal.SIGSTOP)
    ranks.begin(2)      # without it nobody had ended by now
    ended = ranks.wait(besides=[rank])
    assert ended.codes == [1, 1]
    assert ended.seconds < 10
    named = f"rank {rank} " if rank else "rank 0"
    assert all(named in err for err in ended.err if err) and any(ended.err)


def test_json_has_one_object_a_line():
    lines = check(2, "--json", "--min-shm=1000000G").out[0].splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["rank", "rank", "finding", "verdict"]
    assert not json.loads(lines[-1])["fit"]
