"""Ranks whose file system hangs, here a pipe that nobody reads: they live, take part in no collective any more, and
no step waits for them for good."""

import json
import os
import re
import signal
import time

import pytest

from ranks import ENDLESS

LONG = [ENDLESS, "--test-images=100", "--timeout=3", "--start-timeout=20", "--json"]
LOST, STUCK = 3, 5      # exit codes


@pytest.fixture
def pipe(tmp_path):
    """pipe(name): a pipe of that name in the directory of the logs, which nobody reads."""
    descriptors = []

    def make(name):
        path = tmp_path / name
        os.mkfifo(path)
        descriptors.append(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        return descriptors[-1]

    yield make
    for descriptor in descriptors:
        os.close(descriptor)


def fill(descriptor):
    try:
        while True:
            os.write(descriptor, b"\n" * 512)
    except BlockingIOError:
        pass


def last_record(path):
    return json.loads(path.read_text().splitlines()[-1])


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_whose_log_hangs_is_named_as_stuck_and_ends(start, pipe, tmp_path, rank):
    log = pipe(f"rank-{rank}.jsonl")
    ranks = start(3, *LONG, f"--log={tmp_path}")
    ranks.wait_for('"epoch":1')
    fill(log)
    ended = ranks.wait()
    assert ended.codes == [STUCK if one == rank else LOST for one in range(3)], ended
    named = re.search(rf"rank {rank} on \S+ is alive and did not get to collective (\d+), only to (\d+)",
                      "".join(ended.err))
    assert named and int(named[1]) == int(named[2]) + 1, ended
    assert (f"rank {rank} hangs: other ranks waited for it after its collective {named[2]} and have given up\n"
            in ended.err[rank]), ended
    assert last_record(tmp_path / "flight-2.jsonl")["seq"] == int(named[1])
    record = last_record(tmp_path / f"flight-{rank}.jsonl")
    assert (record["seq"], record["state"]) == (int(named[2]), "done")


def test_a_rank_that_gives_up_ends_though_its_log_hangs(start, pipe, tmp_path):
    log = pipe("rank-2.jsonl")
    ranks = start(3, *LONG, f"--log={tmp_path}")
    ranks.wait_for('"epoch":1')
    ranks.signal(1, signal.SIGSTOP)
    time.sleep(0.5)     # the others wait for it by now
    fill(log)
    ended = ranks.wait(besides=[1])
    assert ended.codes == [LOST, LOST], ended
    assert "rank 1" in "".join(ended.err).splitlines()[0], ended
