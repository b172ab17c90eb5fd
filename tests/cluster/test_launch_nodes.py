"""Places on nodes that differ, that are shared with other jobs, and in steps of several components.

Both nodes have two packages with two GPUs and a card each. On the first node package 0 has processor 0 of this machine
and package 1 has processor 1; on the second node it is the other way round, and the cards have other names.
"""

from contextlib import contextmanager

import pytest

import topologies
from cluster import Cluster, Wanted, wait_until
from launched import CUDA, PROGRAM, TOPOLOGY, Step, run

TEXTS = {"n0": topologies.with_processors(topologies.TEXT, topologies.IN_TURN),
         "n1": topologies.with_cards(topologies.with_processors(topologies.TEXT, topologies.CROSSED),
                                     "mlx5_2", "mlx5_3")}
SHOWN = "--print-map --json"

pytestmark = pytest.mark.skips("no cgroup v1")


@pytest.fixture(scope="module", params=["plain", "cgroup"])
def cluster(request, work, stage):
    name = f"nodes-{request.param}"
    wanted = Wanted(request.param, plugin=True, more=("--gpus", "4", *topologies.files(work / name / "files", TEXTS)))
    cluster = Cluster(work / name / "cluster", wanted.arguments(stage))
    yield cluster
    cluster.down()


@contextmanager
def beside_another_job(cluster, node):
    """Another job has the node's first core and its first two GPUs."""
    job = cluster.sbatch("sleep 600", "-n1", "-w", node, "--gpus-per-node=2")
    try:
        wait_until(lambda: job.states() == ["RUNNING"], "the other job runs")
        yield
    finally:
        cluster.console.ask("scancel", str(job.id))
        job.wait()


def off(step):
    """Ranks off the memory nodes of their GPUs, by node."""
    return {node: map["objective"]["off"] for node, map in step.maps.items()}


@pytest.mark.parametrize("cluster", ["plain"], indirect=True)
def test_deliberate_failure_is_seen(cluster):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    step = run(cluster, ["-n1", "--gpus-per-node=1"], SHOWN)
    assert off(step) == dict.fromkeys(cluster.nodes, 0)


# ---- devices: cuda:LOCAL_RANK is the map's GPU

DEVICES = {
    # Name: (options of the job, of srun, of pinstep-launch, variables of srun, GPUs of a rank)
    "a GPU for each": (["-n2", "--gpus-per-task=1"], "", "", "", 1),
    "a GPU for each, reachable": (["-n2", "--gpus-per-node=4"], "--gpus-per-node=4", "", "SLURM_GPU_BIND=none", 1),
    "a GPU for each, not isolated": (["-n2", "--gpus-per-task=1"], "", "", "SLURM_GPU_BIND=none", 1),
    "own": (["-n2", "--gpus-per-task=1"], "", "--visible=own", "", 1),
    "own, reachable": (["-n2", "--gpus-per-node=4"], "--gpus-per-node=4", "--visible=own", "SLURM_GPU_BIND=none", 1),
    "two for each": (["-n2", "--gpus-per-task=2"], "--gpus-per-task=2", "", "", 2),
    "two for each, reachable": (["-n2", "--gpus-per-task=2"], "--gpus-per-task=2", "--gpus-per-rank=2",
                                "SLURM_GPU_BIND=none", 2),
    "two for each, own": (["-n2", "--gpus-per-task=2"], "--gpus-per-task=2", "--visible=own", "", 2),
    "fewer ranks than GPUs": (["-n2", "--gpus-per-node=4"], "", "", "", 1),
    "fewer ranks than GPUs, own": (["-n2", "--gpus-per-node=4"], "", "--visible=own", "", 1),
    "one rank": (["-n1", "--gpus-per-node=3"], "", "", "", 3),
}


@pytest.mark.parametrize("case", DEVICES)
def test_the_device_at_local_rank_is_the_maps(cluster, case):
    job, srun, launch, variables, each = DEVICES[case]
    step = run(cluster, job, f"{launch} {SHOWN}", srun, before=f"export {variables}" if variables else "")
    assert len(step.ranks) == int(job[0][2:])
    for rank in step.ranks:
        given = step.devices_by_map(rank)
        own = "own" in launch or step.maps[rank["SLURMD_NODENAME"]]["isolated"]
        first = 0 if own else rank["local"] * each
        assert len(given) == each and rank["devices"][first:first + each] == given, (rank, given)
        assert len(rank["devices"]) == each or not own
    taken = [device for rank in step.ranks for device in step.devices_by_map(rank)]
    assert len(taken) == len(set(taken)) == each * len(step.ranks)


# ---- per-node topologies

def test_each_node_has_its_own_map(cluster):
    step = run(cluster, ["-N2", "-n4", "-c2", "--ntasks-per-node=2", "--gpus-per-task=2"], SHOWN,
               "--gpus-per-task=2 -c2")
    assert step.of("cpus") == [[0], [1], [1], [0]]
    assert step.of("NCCL_IB_HCA") == ["=mlx5_0,mlx5_1"] * 2 + ["=mlx5_2,mlx5_3"] * 2
    assert step.of("UCX_NET_DEVICES") == ["mlx5_0:1", "mlx5_1:1", "mlx5_2:1", "mlx5_3:1"]
    assert off(step) == dict.fromkeys(cluster.nodes, 0)
    assert [step.devices_by_map(rank) for rank in step.ranks] == [[0, 1], [2, 3]] * 2


def test_a_heterogeneous_step_has_a_map_for_each_node(cluster):
    cluster.write(CUDA, PROGRAM)
    launch = f"pinstep-launch --topology={TOPOLOGY} {SHOWN} -- /usr/bin/python3 {CUDA}"
    first, second = cluster.nodes
    job = cluster.sbatch("#!/bin/bash\n"
                         f"#SBATCH -n2 -w {first} --gpus-per-node=4\n#SBATCH hetjob\n"
                         f"#SBATCH -n1 -w {second} --gpus-per-node=2\n"
                         f"srun {launch} : {launch} 2>&1").ok()
    step = Step(job)
    assert step.of("SLURMD_NODENAME") == [first, first, second] and step.of("local") == [0, 1, 0]
    assert {node: len(map["ranks"]) for node, map in step.maps.items()} == {first: 2, second: 1}
    assert [step.devices_by_map(rank) for rank in step.ranks] == [[0], [1], [0, 1]]
    assert step.of("NCCL_IB_HCA") == ["=mlx5_0,mlx5_1"] * 2 + ["=mlx5_2,mlx5_3"]


# ---- shared and exclusive nodes

def test_on_a_shared_node_a_step_keeps_to_what_it_was_given(cluster):
    with beside_another_job(cluster, cluster.nodes[0]):
        step = run(cluster, ["-n1", "-w", cluster.nodes[0], "--gpus-per-node=2"], SHOWN)
    assert step.of("devices") == [[2, 3]] and step.of("cpus") == [[1]]
    assert off(step) == {cluster.nodes[0]: 0}
    assert [gpu["nic"] for gpu in step.maps[cluster.nodes[0]]["gpus"]].count("mlx5_1") >= 1


def test_a_cpuset_that_cuts_a_gpu_off_its_cores(cluster):
    """Here the processor that is left is in the other package than the GPUs that are left."""
    with beside_another_job(cluster, cluster.nodes[1]):
        step = run(cluster, ["-n1", "-w", cluster.nodes[1], "--gpus-per-node=2"], SHOWN)
    assert step.of("devices") == [[2, 3]] and step.of("cpus") == [[1]]
    assert off(step) == {cluster.nodes[1]: 1}
    rank, = step.maps[cluster.nodes[1]]["ranks"]
    assert rank["memory_node"] == 0, "memory is the cores', not the GPU's"


def test_an_exclusive_node_is_dealt_out_as_a_whole(cluster):
    step = run(cluster, ["--exclusive", "-n2", "-w", cluster.nodes[1], "--gpus-per-node=4"], SHOWN,
               "--gpus-per-task=2 -c2")
    assert [step.devices_by_map(rank) for rank in step.ranks] == [[0, 1], [2, 3]]
    assert step.of("cpus") == [[1], [0]] and off(step) == {cluster.nodes[1]: 0}


def test_a_binding_of_the_users_stays(cluster):
    """And is told, since the map would have chosen otherwise."""
    step = run(cluster, ["-n2", "-c2", "-w", cluster.nodes[1], "--gpus-per-node=4"], SHOWN,
               "--gpus-per-task=2 -c2 --cpu-bind=map_cpu:0,1")
    assert step.of("cpus") == [[0], [1]]
    map, = step.maps.values()
    assert any("not bound" in note for note in map["notes"])
