"""Devices under Slurm's constraint, and lifting the isolation between the ranks of a node (design fact 10)."""

import pytest

from cluster import Wanted

CLUSTER = Wanted("cgroup", plugin=True)

pytestmark = pytest.mark.skips("no cgroup v1")

# The GPUs a task can open; under constraint nothing else tells.
OPENS = ("echo $SLURM_PROCID ${SLURM_GPU_BIND-unset} "
         "$(for gpu in /dev/nvidia[0-9]; do if true <$gpu; then echo ${gpu#/dev/nvidia}; fi; done 2>/dev/null)")


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("gpus")


def opens(cluster, prefix, *options, step="srun -n2", job="--gpus-per-task=1", env=()):
    options = [f"--env-spec={prefix}", *options] if prefix else list(options)
    return sorted(cluster.sbatch(f"{step} sh -c '{OPENS}'", "-N1", "-n2", job, *options, env=env).ok().lines)


def test_deliberate_failure_is_seen(cluster, prefix):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    assert opens(cluster, prefix) == ["0 none 0 1", "1 none 0 1"]


def test_ranks_are_isolated_unless_asked_for_otherwise(cluster, prefix):
    assert opens(cluster, prefix) == ["0 unset 0", "1 unset 1"]
    assert opens(cluster, None) == ["0 unset 0", "1 unset 1"]


def test_gpu_share_lets_the_ranks_of_a_node_reach_each_other(cluster, prefix):
    assert opens(cluster, prefix, "--env-gpu-share") == ["0 none 0 1", "1 none 0 1"]


def test_gpu_share_keeps_the_allocation(cluster, prefix):
    """What the job was not given stays out of reach."""
    assert opens(cluster, prefix, "--env-gpu-share", step="srun -n1", job="--gpus-per-node=2") == ["0 none 0 1"]


def test_gpu_share_with_export_none(cluster, prefix):
    assert opens(cluster, prefix, "--env-gpu-share", "--export=NONE",
                 step="/usr/bin/srun -n2 /bin/env PATH=/bin:/usr/bin") == ["0 none 0 1", "1 none 0 1"]


def test_what_the_user_chose_wins(cluster, prefix):
    isolated = ["0 {} 0", "1 {} 1"]
    found = opens(cluster, prefix, "--env-gpu-share", step="srun -n2 --gpu-bind=single:1")
    assert [line.split()[2:] for line in found] == [line.split()[2:] for line in isolated]
    found = opens(cluster, prefix, "--env-gpu-share", env={"SLURM_GPU_BIND": "single:1"})
    assert [line.split()[2:] for line in found] == [line.split()[2:] for line in isolated]


def test_nothing_is_lifted_where_nothing_is_constrained(own_cluster):
    cluster = own_cluster(Wanted("plain", plugin=True, more=("--gpus", "2")))
    prefix = cluster.prefix("free")
    assert [line.split()[1] for line in opens(cluster, prefix, "--env-gpu-share")] == ["unset", "unset"]
