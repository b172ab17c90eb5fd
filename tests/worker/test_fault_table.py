"""Each rank of three, in each phase of a run, killed, stopped and cut off the network: the others end in time and
name it. The ranks have networks and host names of their own, as on three nodes; one that is cut off says so."""

import itertools
import json
import os
import signal
import subprocess
import time

import pytest

from ranks import ENDLESS, HALTS, TIMEOUT, Ranks

pytestmark = pytest.mark.skips("no root")

DEADLINE = 3
OPTIONS = [ENDLESS, "--images=3000", "--test-images=100", f"--timeout={DEADLINE}", "--json"]
LOST, CUT_OFF = 3, 6        # exit codes

# Before which collective the rank stops itself, with what options; see Trainer and Keeper for the order.
PHASES = {
    "init": (None, [f"--start-timeout={DEADLINE}"]),
    "broadcast": ("broadcast 1", []),
    "step": ("all-reduce 7", []),
    "checkpoint": ("all-reduce 11", ["--checkpoint={}", "--checkpoint-steps=5"]),
    "end": ("all-gather 3", ["--steps=8"]),
}
FAULTS = ["kill", "stop", "cut"]
# In every run of the tests; the others with --all-faults.
SAMPLE = {("kill", 0, "step"), ("kill", 2, "checkpoint"), ("stop", 1, "broadcast"), ("stop", 0, "checkpoint"),
          ("stop", 2, "end"), ("cut", 1, "step"), ("cut", 0, "step"), ("kill", 0, "init")}


def ip(*words, space=None):
    subprocess.run(["ip", *(["-n", space] if space else []), *words], check=True)


@pytest.fixture
def nodes():
    """Names of three network namespaces on one switch; addresses 10.77.0.1 to 3."""
    switch, *spaces = (f"pinstep-{os.getpid()}-{name}" for name in ("switch", 0, 1, 2))
    try:
        for space in (switch, *spaces):
            ip("netns", "add", space)
        ip("link", "add", "br0", "type", "bridge", space=switch)
        ip("link", "set", "br0", "up", space=switch)
        for number, space in enumerate(spaces):
            ip("link", "add", f"p{number}", "type", "veth", "peer", "name", "eth0", "netns", space, space=switch)
            ip("link", "set", f"p{number}", "master", "br0", "up", space=switch)
            ip("address", "add", f"10.77.0.{number + 1}/24", "dev", "eth0", space=space)
            for device in ("lo", "eth0"):
                ip("link", "set", device, "up", space=space)
        yield spaces
    finally:
        for space in (switch, *spaces):
            subprocess.run(["/usr/sbin/ip", "netns", "delete", space], check=False)


def is_stopped(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"


def reach(ranks, rank, phase):
    """Until the rank is in this phase: stopped there, but for init."""
    if phase == "init":
        return ranks.wait_until_met(rank)
    deadline = time.monotonic() + TIMEOUT
    while not is_stopped(ranks.processes[rank].pid):
        assert time.monotonic() < deadline, f"rank {rank} does not reach {phase}"
        time.sleep(0.01)


def act(ranks, rank, fault, space):
    if fault == "cut":
        ip("link", "set", "eth0", "down", space=space)
        ranks.signal(rank, signal.SIGCONT)
    else:
        ranks.signal(rank, signal.SIGKILL if fault == "kill" else signal.SIGSTOP)


def on_node(number, space):
    """The command that runs another as on a node of its own: n0, n1, n2."""
    return ["/usr/sbin/ip", "netns", "exec", space, "unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"',
            f"n{number}"]


def pytest_generate_tests(metafunc):
    if "fault" in metafunc.fixturenames:
        metafunc.parametrize("fault, rank, phase", [
            case for case in itertools.product(FAULTS, range(3), PHASES)
            if case in SAMPLE or metafunc.config.getoption("--all-faults")])


@pytest.mark.skips("no worker")
def test_deliberate_failure_of_the_table_is_seen(start):
    """Fails, as it must: see `deliberate` in tests/suites.ini. There only with --all-faults."""
    assert set(start(2, "--nonsense").wait().codes) == {LOST}


def test_the_rank_at_fault_is_named_in_time(nodes, small, tmp_path, fault, rank, phase):
    halt, options = PHASES[phase]
    options = [f"--data={small}", f"--log={tmp_path}/log", *OPTIONS,
               *(option.format(tmp_path / "c") for option in options)]
    late = 2 if rank == 1 else 1
    ranks = Ranks(3, options, program=HALTS, only=[one for one in range(3) if phase != "init" or one != late],
                  wrapper={one: on_node(one, space) for one, space in enumerate(nodes)},
                  own_variables={rank: {"PINSTEP_TEST_HALT": halt}}, MASTER_ADDR="10.77.0.1", LOCAL_RANK=0, LOCAL_WORLD_SIZE=1)
    try:
        reach(ranks, rank, phase)
        act(ranks, rank, fault, nodes[rank])
        if phase == "init":
            ranks.begin(late)
        ended = ranks.wait(besides=[] if fault == "cut" else [rank])
    finally:
        ranks.kill()
    others = [one for one in range(3) if one != rank]
    waited = [one for one in ranks.processes if fault == "cut" or one != rank]
    at = {one: place for place, one in enumerate(waited)}
    for one in others:
        assert ended.codes[at[one]] == LOST, (one, ended)
        assert f"rank {rank}" in ended.err[at[one]].splitlines()[0].split("(")[0], (one, ended)
        assert json.loads(ended.out[at[one]].splitlines()[-1])["ranks"] == [rank], (one, ended)
    assert ended.seconds < DEADLINE + 5, ended
    if fault == "cut" and phase != "init":      # before, a rank knows of no neighbours
        assert ended.codes[at[rank]] == CUT_OFF, ended
        assert ended.err[at[rank]].startswith(f"pinstep-worker: error: rank {rank} on n{rank} is cut off the network: ")
    if phase != "init":
        for one in others:
            assert_recorded(tmp_path / f"log/flight-{one}.jsonl", halt)


def assert_recorded(path, halt):
    """The last collective failed: the one before which the rank at fault was stopped, or one soon after, which
    did not need it yet."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(lines) + 1))
    operation, number = halt.rsplit(" ", 1)
    assert [line["op"] for line in lines].count(operation) in (int(number), int(number) + 1)
    assert [line["state"] for line in lines] == ["done"] * (len(lines) - 1) + ["failed"]
    assert all(line["bytes"] > 0 and line["time"] > 1.7e9 for line in lines)
