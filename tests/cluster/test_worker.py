"""pinstep-worker on two nodes: however its ranks meet, they train; and when one dies, the step ends."""

import sys
from pathlib import Path

import pytest

from cluster import Wanted

sys.path.append(str(Path(__file__).resolve().parents[1] / "worker"))

import check        # noqa: E402

CLUSTER = Wanted("plain", plugin=True)
QUICK = ["--images=6000", "--epochs=2"]
TWO_BY_TWO = ["-N2", "--ntasks-per-node=2"]

pytestmark = pytest.mark.skips("no worker")


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("worker")


@pytest.fixture
def saved(cluster):
    return f"/home/alice/{cluster.new_name('weights')}"


# How a step's ranks may learn where they meet.
WAYS = {
    "plugin": lambda prefix: ([f"--env-spec={prefix}"], ["pinstep-worker"]),
    "pinstep-launch": lambda prefix: ([], ["pinstep-launch", "--", "pinstep-worker"]),
    "PMIx": lambda prefix: (["--mpi=pmix"], ["pinstep-worker"]),
}


@pytest.mark.skips("no worker")
def test_deliberate_failure_is_seen(cluster):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    cluster.srun("-n1", "pinstep-worker", "train", "--nonsense").ok()


@pytest.mark.parametrize("way", WAYS)
def test_ranks_on_two_nodes_train(cluster, prefix, saved, way):
    options, command = WAYS[way](prefix)
    result = cluster.srun(*TWO_BY_TWO, *options, *command, "train", *QUICK, f"--save={saved}").ok()
    assert result.lines[0].startswith("4 ranks on cpu, transport gloo: mlp 784-256-128-10")
    assert [line.split()[:2] for line in result.lines[1:3]] == [["epoch", "1"], ["epoch", "2"]]
    weights = [check.flat(check.weights(cluster.path(saved), rank)).tobytes() for rank in range(4)]
    assert len(set(weights)) == 1
    printed = float(result.lines[2].split("accuracy ")[1].split()[0])
    assert printed > 0.7
    assert abs(check.accuracy(cluster.path(saved), 3) - printed) <= 0.001


def test_all_ways_give_the_same_weights(cluster, prefix):
    """And so do other nodes' ranks in another order: rank and number of ranks decide, not the place."""
    digests = set()
    for way in WAYS.values():
        options, command = way(prefix)
        for distribution in ("block", "cyclic"):
            result = cluster.srun(*TWO_BY_TWO, f"--distribution={distribution}", *options, *command, "train",
                                  "--images=1000", "--epochs=1").ok()
            digests.add(result.lines[-1])
    assert len(digests) == 1, digests


def test_a_task_without_rendezvous_does_not_train_alone(cluster):
    result = cluster.srun("-N2", "-n2", "--mpi=none", "pinstep-worker", "train", *QUICK)
    assert result.rc == 1
    assert "one of several tasks, and RANK is not set" in result.err


@pytest.mark.parametrize("rank", [0, 3])
def test_a_rank_that_is_killed_ends_the_step(cluster, prefix, rank):
    """By itself, without --kill-on-bad-exit; and no node is the worse for it."""
    script = f"""
        if [ $SLURM_PROCID = {rank} ]; then
            (until grep -q epoch "$1"; do sleep 0.1; done; kill -9 $$) &
        fi
        exec pinstep-worker train --images=6000 --epochs=1000000 --timeout=3"""
    out, err = (cluster.write(f"/home/alice/{cluster.new_name('killed')}", "") for _ in range(2))
    result = cluster.srun(*TWO_BY_TWO, f"--env-spec={prefix}", f"--output={out}", f"--error={err}",
                          "sh", "-c", script, "sh", out)
    assert result.rc == 137, result
    text = cluster.path(err).read_text()
    said = [line for line in text.splitlines() if "pinstep-worker: error: " in line]
    assert 1 <= len(said) <= 2, text
    assert all(f"rank {rank}" in line.split("(")[0] for line in said), text
