"""pinstep-launch verify as a step of three nodes: each can be made the odd one."""

import json
import subprocess

import pytest

import topologies
from cluster import Cluster, Wanted
from messages import said, sentence

LAUNCH = "pinstep-launch --topology=/etc/pinstep-topology.xml"
NODES = ("n0", "n1", "n2")
# Where a node's own files are looked for: NODE is in the path.
OWN_NCCL = "LD_LIBRARY_PATH=/home/alice/nccl/$SLURMD_NODENAME"


@pytest.fixture(scope="module")
def cluster(work, stage):
    texts = {node: topologies.with_uuids(topologies.TEXT, node) for node in NODES}
    wanted = Wanted("plain", nodes=3, plugin=True,
                    more=("--gpus", "4", *topologies.files(work / "verify-topologies", texts)))
    cluster = Cluster(work / "verify", wanted.arguments(stage))
    yield cluster
    cluster.down()


def verify(cluster, *srun, each=2, launch=LAUNCH, options="", before=""):
    """On three nodes, `each` ranks on one."""
    return cluster.srun("-N3", f"-n{3 * each}", f"--ntasks-per-node={each}", "-l", *srun, "sh", "-c", f"{before} exec {launch} verify {options}")


def said_by_rank_0(result):
    """Nobody else has anything on standard output."""
    assert all(line.startswith("0: ") for line in result.lines), result
    return [line[3:] for line in result.lines]


def problems(result):
    assert result.rc == 1, result
    return [line.removeprefix("problem: ") for line in said_by_rank_0(result) if line.startswith("problem: ")]


def names(cluster):
    """Short names of the minicluster to Slurm's."""
    return dict(zip(NODES, cluster.nodes))


def test_deliberate_failure_is_seen(cluster):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    assert "some do not agree" in said_by_rank_0(verify(cluster).ok())


# ---- nothing is wrong

def test_nodes_that_are_alike_agree(cluster):
    lines = said_by_rank_0(verify(cluster, "--gpus-per-task=1").ok())
    assert lines[0] == "6 ranks on 3 nodes" and lines[-1] == "all agree"
    facts = dict(line.split() for line in lines[1:-1])
    assert list(facts) == ["pinstep", "plugin", "environment", "kernel", "driver", "nccl", "gpus", "nics", "map"]
    assert (facts["gpus"], facts["nics"], facts["plugin"]) == ("2", "mlx5_0,mlx5_1", "-")
    assert facts["kernel"] == cluster.run("uname", "-r").out.strip()
    version = cluster.run("pinstep-launch", "--version").ok().out.split()[1]
    assert facts["pinstep"] == version and len(facts["map"]) == 8


def test_in_a_step_that_the_plugin_has_prepared(cluster):
    prefix = cluster.prefix()
    lines = said_by_rank_0(verify(cluster, f"--env-spec={prefix}", each=1).ok())
    facts = dict(line.split() for line in lines[1:-1])
    assert facts["plugin"] == facts["pinstep"] and lines[-1] == "all agree"


@pytest.mark.parametrize("shape", ["torchrun", "spawn"])
def test_in_a_step_of_another_shape(cluster, shape):
    """One task on each node, which is not told a rank; where to meet has other names."""
    lines = said_by_rank_0(verify(cluster, each=1, launch=f"{LAUNCH} --shape={shape}").ok())
    assert lines[0] == "3 ranks on 3 nodes" and lines[-1] == "all agree"


def test_one_rank_alone(cluster):
    result = cluster.srun("-N1", "-n1", *LAUNCH.split(), "verify").ok()
    assert result.lines[0] == "1 rank on 1 node" and result.lines[-1] == "all agree"


def test_a_heterogeneous_step(cluster):
    script = f"srun --het-group=0,1 -n2 {LAUNCH} verify"
    job = cluster.sbatch(f"#!/bin/bash\n#SBATCH -N1 -n2\n#SBATCH hetjob\n#SBATCH -N1 -n2\n{script}\n").ok()
    assert "4 ranks on 2 nodes" in job.lines and "all agree" in job.lines


def test_nodes_with_different_numbers_of_ranks_may_have_different_maps(cluster):
    result = cluster.srun("-N3", "-n6", "--distribution=arbitrary", *LAUNCH.split(), "verify",
                          env={"SLURM_HOSTFILE": cluster.write("/home/alice/hosts", "\n".join(
                              cluster.nodes[number] for number in (0, 1, 1, 2, 2, 2)))}).ok()
    assert [line.split()[:4] for line in result.lines if " map of " in line] == [
        ["map", "of", "1", "rank"], ["map", "of", "2", "ranks"], ["map", "of", "3", "ranks"]]


def test_without_the_plugin(own_cluster):
    cluster = own_cluster(Wanted("bare", installed=True))
    result = cluster.srun("-N2", "-n4", "pinstep-launch", "verify").ok()
    assert result.lines[0] == "4 ranks on 2 nodes" and result.lines[-1] == "all agree"


# ---- an odd node

def test_another_nccl_is_named(cluster):
    odd = cluster.nodes[1]
    for node in cluster.nodes:
        library(cluster, f"/home/alice/nccl/{node}/libnccl.so.2", 22703 if node == odd else 22809)
    result = verify(cluster, each=1, before=OWN_NCCL)
    assert problems(result) == [f"{odd}: nccl is 2.27.3, and 2.28.9 on the other 2 nodes"]


def test_the_environments_nccl_is_the_one(cluster):
    """It is looked at before the loader's: programs in an environment have its place in their RPATH."""
    prefix = cluster.prefix()
    library(cluster, f"{prefix}/lib/libnccl.so.2", 21805)
    library(cluster, "/home/alice/other/libnccl.so.2", 22703)
    lines = said_by_rank_0(verify(cluster, each=1, launch=f"pinstep-launch --env-spec={prefix}",
                                  before="export LD_LIBRARY_PATH=/home/alice/other;").ok())
    assert "  nccl         2.18.5" in lines


def library(cluster, inside, number):
    """A libnccl.so.2 that has the one function that is asked."""
    path = cluster.path(cluster.write(inside, ""))
    subprocess.run(["gcc", "-shared", "-x", "c", "-o", path, "-"], check=True, text=True,
                   input=f"int ncclGetVersion(int* version) {{ *version = {number}; return 0; }}")


def test_another_driver_is_named(cluster):
    """/sys/module of one node and then of all, as a node with NVIDIA's driver has it."""
    odd = cluster.nodes[2]

    def module(node, version):
        cluster.run("sh", "-c", "mountpoint -q /sys/module || mount -t tmpfs none /sys/module; mkdir -p "
                    f"/sys/module/nvidia; echo {version} >/sys/module/nvidia/version", user="root", node=node).ok()

    try:
        module(odd, "550.54.14")
        assert problems(verify(cluster)) == [f"{odd}: driver is 550.54.14, and - on the other 2 nodes"]
        for node in cluster.nodes[:2]:
            module(node, "535.104.05")
        assert problems(verify(cluster)) == [f"{odd}: driver is 550.54.14, and 535.104.05 on the other 2 nodes"]
    finally:
        for node in cluster.nodes:
            cluster.run("sh", "-c", "umount /sys/module || :", user="root", node=node)


def test_another_machine_is_named(work, stage, cluster):
    """A card without a link on one node: its ranks would hang, or run at half the bandwidth."""
    odd = cluster.nodes[1]
    file = f"/home/alice/{odd}.xml"
    cluster.write(file, topologies.with_link_down(topologies.with_uuids(topologies.TEXT, "n1"), "mlx5_1"))
    launch = f"pinstep-launch --topology=$(test $SLURMD_NODENAME = {odd} && echo {file} || echo {LAUNCH.partition('=')[2]})"
    found = problems(verify(cluster, "--gpus-per-task=1", launch=launch))
    assert found[0] == f"{odd}: nics is mlx5_0, and mlx5_0,mlx5_1 on the other 2 nodes"
    assert found[1].startswith(f"{odd}: map is ") and len(found) == 2


def test_another_environment_is_named(cluster):
    odd = cluster.nodes[0]
    ids = {node: f"{number}" * 64 for node, number in zip(cluster.nodes, (7, 8, 8))}
    cases = "; ".join(f"{node}) export PINSTEP_STEP_ENV={id};" for node, id in ids.items())
    result = verify(cluster, each=1, before=f"case $SLURMD_NODENAME in {cases}; esac;")
    assert problems(result) == [f"{odd}: environment is {'7' * 64}, and {'8' * 64} on the other 2 nodes"]


# ---- GPUs

def test_ranks_on_one_gpu_are_named(cluster):
    """Six ranks and one GPU on each node: NCCL refuses that with fewer words."""
    found = problems(verify(cluster, "--gpus-per-node=1"))
    assert found == [f"ranks {2 * i}-{2 * i + 1} on {node} have the same GPU GPU-{short}-0"
                     for i, (short, node) in enumerate(names(cluster).items())]


def test_the_same_gpu_on_two_nodes_is_named(cluster):
    """A topology file that was copied."""
    cluster.write("/home/alice/copied.xml", topologies.with_uuids(topologies.TEXT, "copied"))
    found = problems(verify(cluster, "--gpus-per-node=1", each=1,
                            launch="pinstep-launch --topology=/home/alice/copied.xml"))
    assert found == [f"ranks 0-2 on {', '.join(cluster.nodes)} have the same GPU GPU-copied-0"]


# ---- ranks that do not come

def test_a_rank_that_does_not_come_is_named(cluster):
    odd = cluster.nodes[2]
    result = verify(cluster, options="--timeout=3", before=f"test $SLURMD_NODENAME = {odd} && exit;")
    assert problems(result) == [f"no report from ranks 4-5; none at all from {odd}"]
    result = verify(cluster, options="--timeout=3", before="test $SLURM_PROCID = 3 && exit;")
    assert problems(result) == ["no report from rank 3"]


def test_without_rank_0_each_node_says_so_once_and_in_time(cluster):
    result = verify(cluster, options="--timeout=2", before="test $SLURM_PROCID = 0 && exit;")
    lines = [line.split(": ", 1)[1] for line in said(result.err) if "error: " in line]
    assert result.rc == 1 and result.out == "" and len(lines) == 2, result
    assert all("cannot reach rank 0" in line for line in lines)
    assert result.seconds < 30


# ---- the command line

def test_json(cluster):
    result = cluster.srun("-N3", "-n3", *LAUNCH.split(), "verify", "--json").ok()
    found = json.loads(result.out)
    assert found["ok"] and found["ranks"] == 3 and found["nodes"] == cluster.nodes and found["problems"] == []
    assert {fact["fact"]: len(fact["values"]) for fact in found["facts"]}["driver"] == 1


def test_wrong_usage_is_said_once(cluster):
    result = cluster.srun("-N3", "-n6", "pinstep-launch", "verify", "train.py")
    assert result.rc == 2
    assert [line for line in said(result.err) if "error: " in line] == [
        "pinstep-launch: error: verify takes no 'train.py'"]


def test_a_program_of_that_name_goes_behind_dashes(cluster):
    cluster.write("/home/alice/bin/verify", "#!/bin/sh\necho mine $*\n", mode=0o755)
    result = cluster.srun("-N1", "-n1", "env", "PATH=/home/alice/bin:/usr/local/bin:/usr/bin:/bin", "pinstep-launch",
                          "--", "verify", "this").ok()
    assert result.lines == ["mine this"]
