"""Ranks that die, hang, never come or have trouble of their own: the others end, and name them."""

import json
import re
import signal
from pathlib import Path

import pytest

from ranks import ENDLESS

LONG = [ENDLESS, "--test-images=100", "--timeout=3", "--start-timeout=20", "--json"]
DEADLINE = 3
LOST = 3        # exit code


def assert_named(ended, rank):
    assert set(ended.codes) == {LOST}, ended
    assert any(f"rank {rank}" in text.splitlines()[0] for text in ended.err if text), ended
    assert ended.seconds < DEADLINE + 5, ended


@pytest.mark.parametrize("rank", range(3))
def test_a_rank_that_is_killed_is_named_at_once(start, rank):
    ranks = start(3, *LONG, "--timeout=30")
    ranks.wait_for('"epoch":1')
    ranks.signal(rank, signal.SIGKILL)
    ended = ranks.wait(besides=[rank])
    assert_named(ended, rank)
    assert "is gone" in "".join(ended.err)


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_hangs_is_named_after_the_deadline(start, rank):
    ranks = start(3, *LONG)
    ranks.wait_for('"epoch":1')
    ranks.signal(rank, signal.SIGSTOP)
    ended = ranks.wait(besides=[rank])
    assert_named(ended, rank)
    assert ended.seconds > DEADLINE - 1
    assert "not answer" in "".join(ended.err)


def test_the_error_is_in_the_json_too(start):
    ranks = start(2, *LONG)
    ranks.wait_for('"epoch":1')
    ranks.signal(1, signal.SIGKILL)
    error = json.loads(ranks.wait(besides=[1]).out[0].splitlines()[-1])
    assert (error["event"], error["kind"], error["ranks"]) == ("error", "network", [1])


def test_a_rank_that_never_comes_is_named(start):
    ended = start(3, *LONG, "--start-timeout=2", only=[0, 2]).wait()
    assert set(ended.codes) == {LOST}
    assert "rank 1" in ended.error and "rank 0" not in ended.error.split("(")[0]


def test_a_rank_that_is_killed_before_all_have_come_is_named_at_once(start):
    ranks = start(3, *LONG, "--timeout=30", only=[0, 1])
    ranks.wait_until_connecting(1)
    ranks.signal(1, signal.SIGKILL)
    assert_named(ranks.wait(besides=[1]), 1)


def test_without_rank_0_the_others_say_where_they_looked(start):
    ended = start(2, *LONG, "--start-timeout=1", only=[1]).wait()
    assert ended.codes == [LOST]
    assert "cannot reach rank 0 at '127.0.0.1:" in ended.err[0] and "MASTER_PORT" in ended.err[0]


def test_a_rank_with_trouble_of_its_own_tells_the_others(start):
    ended = start(2, *LONG, own={1: ["--data=/nowhere"]}).wait()
    assert ended.codes == [LOST, 1]
    assert "rank 1 on " in ended.err[0] and "has failed: neither '/nowhere/" in ended.err[0]
    assert ended.err[1].startswith("pinstep-worker: error: neither '/nowhere/")


def test_what_all_ranks_of_a_node_find_is_said_once(start):
    """One that still waits for the others when the first fails may say that that one has failed; once, too."""
    ended = start(4, *LONG, "--data=/nowhere").wait()
    assert set(ended.codes) <= {LOST, 1}, ended
    said = [text.split("(rank ")[0] for text in ended.err if text]
    assert said and len(said) == len(set(said)), ended
    assert all("neither '/nowhere/" in text for text in said), ended
    assert len("".join(ended.out).splitlines()) == len(said), ended


def test_a_rank_that_is_gone_is_named_once_by_a_node(start):
    ranks = start(4, *LONG, "--timeout=30")
    ranks.wait_for('"epoch":1')
    ranks.signal(2, signal.SIGKILL)
    ended = ranks.wait(besides=[2])
    assert set(ended.codes) == {LOST}, ended
    said = [text for text in ended.err if text]
    assert len(said) == 1 and re.match(r"pinstep-worker: error: rank 2 on \S+ is gone \(rank ", said[0]), ended


@pytest.mark.parametrize("options, said", [
    (["--batch=7", "--lr=0.1"], "lr, batch"), (["--steps=3"], "steps"), (["--checkpoint={}"], "checkpoint"),
    (["--checkpoint={}", "--checkpoint-steps=3"], "checkpoint, checkpoint-steps"), (["--test-images=7"], "test data")])
def test_ranks_with_other_options_are_named_and_the_options(start, tmp_path, options, said):
    ended = start(3, *LONG, own={2: [option.format(tmp_path) for option in options]}).wait()
    assert set(ended.codes) == {1}
    assert ended.error.startswith(f"pinstep-worker: error: rank 2 has other settings or data than rank 0: {said}\n")


def test_a_share_without_an_image_is_an_error(start):
    ended = start(3, "--images=2", "--drop-last").wait()
    assert set(ended.codes) == {1}
    assert "2 images cannot be dealt to 3 ranks with --drop-last: there is nothing to train on" in ended.error


def test_a_model_that_cannot_be_is_wrong_usage(start):
    ended = start(1, "--model=synthetic:1K").wait()
    assert ended.codes == [2] and "no 4 equal layers have about 1000 parameters" in ended.error


def test_ranks_of_another_step_are_refused(start):
    ranks = start(2, *LONG, "--start-timeout=2", only=[0], SLURM_JOB_ID=1, SLURM_STEP_ID=0)
    ranks.wait_until_served()
    other = start(2, *LONG, only=[1], SLURM_JOB_ID=2, SLURM_STEP_ID=0, MASTER_PORT=ranks.port.getsockname()[1])
    ended = other.wait()
    assert ended.codes == [1]
    assert "it serves another job or step: '1.0', not '2.0'" in ended.err[0]


def test_a_port_that_is_taken_is_named(start):
    ranks = start(2, *LONG, "--start-timeout=5", only=[0])
    port = ranks.port.getsockname()[1]
    ranks.wait_until_served()
    ended = start(2, *LONG, only=[0], MASTER_PORT=port).wait()
    assert ended.codes == [1]
    assert f"cannot serve the ranks on port '{port}': Address already in use" in ended.err[0]


@pytest.mark.parametrize("variables, text", [
    ({"RANK": None}, "RANK is not set"),
    ({"RANK": 5}, "RANK=5 contradicts WORLD_SIZE=2"),
    ({"MASTER_PORT": "x"}, "MASTER_PORT='x' is no number"),
])
def test_variables_that_cannot_be_right_are_named(start, variables, text):
    ended = start(2, *LONG, only=[0], **variables).wait()
    assert ended.codes == [1] and text in ended.err[0]


def test_pmix_without_a_server_is_one_sentence(start):
    ended = start(2, *LONG, "--store=pmix", only=[0]).wait()
    assert ended.codes == [1]
    assert "PMIx: cannot begin" in ended.err[0] or "built without PMIx" in ended.err[0]


def test_wrong_usage(start):
    ended = start(1, "--epoch=1").wait()
    assert ended.codes == [2] and "did you mean '--epochs'?" in ended.err[0]


def test_writing_to_a_rank_that_is_gone_is_no_signal(start):
    """Which of reading and writing fails first is chance."""
    ranks = start(2, *LONG)
    ranks.wait_for('"epoch":1')
    status = Path(f"/proc/{ranks.processes[0].pid}/status").read_text()
    ignored = int(re.search(r"^SigIgn:\s*(\w+)", status, re.MULTILINE)[1], 16)
    assert ignored & 1 << (signal.SIGPIPE - 1)
