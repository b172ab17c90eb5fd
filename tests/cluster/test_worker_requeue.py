"""pinstep-worker in a job that Slurm ends and queues again: it goes on as if nothing had been.

Slurm lets a job wait two minutes before it starts again.
"""

import re
import sys
from pathlib import Path

import numpy
import pytest

from cluster import Wanted, wait_until

sys.path.append(str(Path(__file__).resolve().parents[1] / "worker"))

import check        # noqa: E402

CLUSTER = Wanted("plain", plugin=True)
RUN = ["--images=6000", "--test-images=1000", "--epochs=4", "--batch=4"]
TWO_BY_TWO = ["-N2", "--ntasks-per-node=2"]

pytestmark = pytest.mark.skips("no worker")


@pytest.mark.skips("no worker")
def test_deliberate_failure_is_seen(cluster):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    cluster.srun("-n1", "pinstep-worker", "train", "--signal=KILL").ok()


def command(directory, *options):
    return " ".join(["srun", "--kill-on-bad-exit=0", "pinstep-launch", "--", "pinstep-worker", "train", *RUN,
                     f"--checkpoint={directory}/c", "--checkpoint-steps=50", f"--save={directory}/w$SLURM_RESTART_COUNT",
                     *options])


def digest(job):
    """Of the weights at the end of the last run."""
    return re.findall(r"^weights ([0-9a-f]{64})", job.output, re.MULTILINE)[-1]


@pytest.fixture(scope="module")
def whole(cluster):
    """The weights of a run that nothing interrupts."""
    directory = f"/home/alice/{cluster.new_name('whole')}"
    return digest(cluster.sbatch(f"mkdir {directory}\n" + command(directory), *TWO_BY_TWO).ok(120))


# How the job is told to stop, once it trains; with what options of the worker.
STOPS = {
    "its own signal": ("scancel --signal=USR1 {}", ["--signal=USR1", "--requeue"]),
    "requeued by somebody": ("scontrol requeue {}", []),
}


@pytest.mark.parametrize("stop", STOPS)
def test_a_job_that_is_queued_again_ends_with_the_same_bits(cluster, whole, stop):
    words, options = STOPS[stop]
    directory = f"/home/alice/{cluster.new_name('requeued')}"
    job = cluster.sbatch(f"mkdir -p {directory}\n" + command(directory, *options), *TWO_BY_TWO, "--requeue",
                         "--open-mode=append")
    wait_until(lambda: "checkpoint " in job.output, "a checkpoint", seconds=60)
    cluster.run(*words.format(job.id).split()).ok()
    wait_until(lambda: "restart 1" in job.output, "the second run", seconds=180)
    job.ok(180)
    assert "goes on from" in job.output
    if "--requeue" in options:
        assert "stopped by USR1 after" in job.output
        assert_all_samples_once(cluster.path(directory))
    assert digest(job) == whole, str(job)


def assert_all_samples_once(directory):
    """In each of the epochs, by both runs together."""
    parts = [numpy.stack([check.samples(directory / part, rank) for rank in range(4)], axis=1).ravel()
             for part in ("w", "w1")]
    epochs = numpy.concatenate(parts).reshape(4, 6000)
    assert all(sorted(epoch) == list(range(6000)) for epoch in epochs)
