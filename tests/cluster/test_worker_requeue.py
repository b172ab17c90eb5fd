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
SAMPLES, A_STEP = 6000, 16
RUN = [f"--images={SAMPLES}", "--test-images=1000", f"--batch={A_STEP // 4}", "--epochs=1000000", "--timeout=120",
       "--lr=0.01"]     # with more, steps of so few images lead nowhere in the end
TWO_BY_TWO = ["-N2", "--ntasks-per-node=2"]
STEPS_AFTER = 150

pytestmark = pytest.mark.skips("no worker")


@pytest.mark.skips("no worker")
def test_deliberate_failure_is_seen(cluster):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    cluster.srun("-n1", "pinstep-worker", "train", "--signal=KILL").ok()


def train(*options):
    """With --kill-on-bad-exit, as sites have it: no rank's end may keep rank 0 from having the job queued again."""
    return " ".join(["srun", "--kill-on-bad-exit=1", "pinstep-launch", "--", "pinstep-worker", "train", *RUN, *options])


def until_stopped(directory, *options):
    """A script whose first run has no end of its own. Those that go on do so many steps more."""
    return f"""
        mkdir -p {directory}/c
        if [ "$SLURM_RESTART_COUNT" ]; then
            done=$(ls {directory}/c | sed -n 's/^step-0*\\([0-9]*\\)\\.safetensors$/\\1/p' | sort -n | tail -1)
            steps=--steps=$((done + {STEPS_AFTER}))
        fi
        {train(f"--checkpoint={directory}/c", "--checkpoint-steps=50", f"--save={directory}/w$SLURM_RESTART_COUNT",
               *options, "$steps")}"""


def steps_done(directory):
    return max(int(re.fullmatch(r"step-(\d+)\.safetensors", path.name)[1])
               for path in (directory / "c").glob("step-*"))


def digest(job):
    """Of the weights at the end of the last run."""
    return re.findall(r"^weights ([0-9a-f]{64})", job.output, re.MULTILINE)[-1]


# How a job is ended: options of sbatch and of the worker, and what somebody does once it trains.
STOPS = {
    "its own signal": ([], ["--signal=USR1", "--requeue"], "scancel --signal=USR1 {}"),
    # Half a minute before two are over; Slurm may give it a minute sooner.
    "the time limit": (["--time=2", "--signal=USR1@30"], ["--signal=USR1", "--requeue"], None),
    "requeued by somebody": ([], [], "scontrol requeue {}"),
}


@pytest.fixture(scope="module")
def stopped(cluster):
    """{stop: (job, its directory)}; they wait side by side."""
    jobs = {}
    for stop, (submit, options, _) in STOPS.items():
        directory = f"/home/alice/{cluster.new_name('requeued')}"
        job = cluster.sbatch(until_stopped(directory, *options), *TWO_BY_TWO, "--requeue", "--open-mode=append", *submit)
        jobs[stop] = job, directory
    for stop, (job, _) in jobs.items():
        if words := STOPS[stop][2]:
            wait_until(lambda: "checkpoint " in job.output, "a checkpoint", seconds=60)
            cluster.run(*words.format(job.id).split()).ok()
    return jobs


@pytest.mark.parametrize("stop", STOPS)
def test_a_job_that_is_queued_again_ends_with_the_same_bits(cluster, stopped, stop):
    job, directory = stopped[stop]
    job.ok(400)
    assert "restart 1" in job.output and "goes on from" in job.output
    here = cluster.path(directory)
    if "--requeue" in STOPS[stop][1]:
        assert "stopped by USR1 after" in job.output
        assert_all_samples_once(here)
    whole = cluster.sbatch(train(f"--steps={steps_done(here)}"), *TWO_BY_TWO).ok(400)
    print(job.output, whole.output)
    assert digest(job) == digest(whole)


def assert_all_samples_once(directory):
    """In each epoch, by both runs together; the last epoch is not over."""
    parts = [numpy.stack([check.samples(directory / part, rank) for rank in range(4)], axis=1).ravel()
             for part in ("w", "w1")]
    both = numpy.concatenate(parts)
    assert len(both) == steps_done(directory) * A_STEP
    for first in range(0, len(both), SAMPLES):
        epoch = both[first:first + SAMPLES]
        assert len(set(epoch)) == len(epoch)
