"""Ranks that a task starts: what pinstep-launch --child gives each rank of torchrun and of mpirun."""

import json

import pytest

from cluster import TOP, Wanted
from launched import TOPOLOGY

CLUSTER = Wanted("plain", plugin=True, more=("--topology", TOP / "tests/launcher/data/two-sockets.xml", "--gpus", "4",
                                             "--cpus", "2"))
SHOW = "/home/alice/show.py"
LAUNCH = f"pinstep-launch --topology={TOPOLOGY}"
# Debian's torchrun fails on Python 3.11 without (design fact 16); with --tee its ranks' lines have a beginning.
DEBIAN = "export PET_REDIRECTS=1 PET_TEE=1"
TORCHRUN = "torchrun --no_python"

PROGRAM = r"""
import json, os
names = ('CUDA_VISIBLE_DEVICES', 'OMP_NUM_THREADS', 'UCX_NET_DEVICES', 'NCCL_IB_HCA', 'RANK', 'GLOO_SOCKET_IFNAME')
local = os.environ.get('LOCAL_RANK', os.environ.get('OMPI_COMM_WORLD_LOCAL_RANK'))
print(json.dumps({'node': os.environ['SLURMD_NODENAME'], 'local': int(local), 'cpus': sorted(os.sched_getaffinity(0)),
                  **{name: os.environ.get(name) for name in names}}), flush=True)
"""


def started(cluster, command, *options, before=""):
    cluster.write(SHOW, PROGRAM)
    job = cluster.sbatch(f"{DEBIAN} {before}\n{command} /usr/bin/python3 {SHOW} 2>&1", *options).ok()
    found = [json.loads(line[line.index("{"):]) for line in job.lines if '"local"' in line]
    return sorted(found, key=lambda rank: (rank["node"], rank["local"])), job


@pytest.fixture(scope="module")
def torchrun(cluster):
    """The ranks of one step: two nodes with a task each, and a rank for each of two GPUs."""
    return started(cluster, f"srun {LAUNCH} -- {TORCHRUN} {LAUNCH} --child --print-map --", "-N2",
                   "--ntasks-per-node=1", "-c2", "--gpus-per-node=2", before="SRUN_CPUS_PER_TASK=2")


def test_deliberate_failure_is_seen(torchrun):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    ranks, _ = torchrun
    assert [rank["cpus"] for rank in ranks] == [[0, 1]] * 4


def test_ranks_of_torchrun_have_places_of_their_own(cluster, torchrun):
    ranks, job = torchrun
    assert [(rank["node"], rank["local"], rank["cpus"]) for rank in ranks] == [
        (node, local, [local]) for node in cluster.nodes for local in (0, 1)], job
    assert sorted(int(rank["RANK"]) for rank in ranks) == [0, 1, 2, 3]


def test_ranks_of_torchrun_see_all_gpus_and_have_their_own_card(torchrun):
    ranks, _ = torchrun
    assert {rank["CUDA_VISIBLE_DEVICES"] for rank in ranks} == {"0,1"}
    assert {rank["NCCL_IB_HCA"] for rank in ranks} == {"=mlx5_0,mlx5_1"}
    assert [rank["UCX_NET_DEVICES"] for rank in ranks] == ["mlx5_0:1", "mlx5_1:1"] * 2


def test_one_thread_of_torchrun_is_not_the_users_word(cluster, torchrun):
    ranks, _ = torchrun
    assert [rank["OMP_NUM_THREADS"] for rank in ranks] == ["1"] * 4
    ranks, _ = started(cluster, f"srun {LAUNCH} -- {TORCHRUN} {LAUNCH} --child --", "-N1", "-n1", "-c2",
                       "--gpus-per-node=1", before="SRUN_CPUS_PER_TASK=2")
    assert ranks[0]["OMP_NUM_THREADS"] == "2"


def test_a_users_thread_count_stays(cluster):
    ranks, _ = started(cluster, f"srun {LAUNCH} -- {TORCHRUN} {LAUNCH} --child --", "-N1", "-n1", "-c2",
                       "--gpus-per-node=2", before="SRUN_CPUS_PER_TASK=2 OMP_NUM_THREADS=7")
    assert [rank["OMP_NUM_THREADS"] for rank in ranks] == ["7", "7"]


def test_own_gpus_only(cluster):
    ranks, _ = started(cluster, f"srun {LAUNCH} -- {TORCHRUN} {LAUNCH} --child --visible=own --", "-N1", "-n1", "-c2",
                       "--gpus-per-node=2", before="SRUN_CPUS_PER_TASK=2")
    assert [rank["CUDA_VISIBLE_DEVICES"] for rank in ranks] == ["0", "1"]


def test_the_map_of_the_ranks_is_shown_once_for_each_node(cluster, torchrun):
    _, job = torchrun
    shown = sorted(line[line.index("map of "):] for line in job.lines if "map of " in line)
    assert shown == [f"map of {node}:" for node in cluster.nodes]


def test_ranks_of_mpirun(cluster):
    mpirun = "mpirun --oversubscribe --bind-to none --mca plm isolated -n 2"
    ranks, job = started(cluster, f"{mpirun} {LAUNCH} --child --", "-N1", "-n2", "--gpus-per-node=2")
    assert [(rank["local"], rank["cpus"]) for rank in ranks] == [(0, [0]), (1, [1])], job


def test_several_tasks_that_start_ranks_are_refused(cluster):
    result = cluster.srun("-N1", "-n2", "env", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=2", "pinstep-launch", "--child",
                          "--", "echo", "started")
    assert result.rc == 125 and "started" not in result.out
    assert "2 tasks of step" in result.err and "--ntasks-per-node=1" in result.err
