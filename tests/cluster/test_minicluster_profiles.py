"""What each profile of the minicluster promises. No plugin is needed."""

import re

import pytest

from cluster import minicluster, Wanted

# Prints the GPUs that can be opened: under cgroup constraint only that tells which ones a task has.
OPENS = r'''echo $SLURM_PROCID "${CUDA_VISIBLE_DEVICES-unset}" "${SLURM_STEP_GPUS-unset}" \
$(for gpu in /dev/nvidia[0-9]; do if true <$gpu; then echo ${gpu#/dev/nvidia}; fi; done 2>/dev/null)'''

CLUSTER = Wanted("cgroup")


@pytest.mark.skips("no cgroup v1")
@pytest.mark.parametrize("options, tasks", [
    (["--gpus-per-task=1"], ["0 0 0 0", "1 0 0 1"]),
    (["--gpus-per-node=2"], ["0 0,1 0,1 0 1", "1 0,1 0,1 0 1"]),
    (["--gpus-per-node=2", "--gpu-bind=none"], ["0 unset unset 0 1", "1 unset unset 0 1"]),
], ids=" ".join)
def test_cgroup_isolates_gpus(cluster, options, tasks):
    result = cluster.srun("-n2", *options, "sh", "-c", OPENS).ok()
    assert sorted(result.lines) == tasks


@pytest.mark.skips("no cgroup v1")
def test_cgroup_constrains_cores(cluster):
    result = cluster.srun("-n1", "-c1", "--cpu-bind=none", "grep", "Cpus_allowed_list", "/proc/self/status").ok()
    assert re.fullmatch(r"Cpus_allowed_list:\t\d+\n", result.out)


@pytest.mark.skips("no cgroup v1")
def test_plain_tracks_processes_by_cgroup_where_it_can(own_cluster):
    assert own_cluster(Wanted("plain")).settings["MINICLUSTER_PROCTRACK"] == "cgroup"


def test_linuxproc_uses_no_cgroup(own_cluster):
    cluster = own_cluster(Wanted("linuxproc"))
    assert cluster.settings["MINICLUSTER_PROCTRACK"] == "linuxproc"
    step = cluster.srun("-N2", "-n2", "cat", "/proc/self/cgroup").ok()
    assert "slurm" not in step.out


def test_ports_gives_each_step_its_own(own_cluster):
    cluster = own_cluster(Wanted("ports"))
    show = "echo $SLURM_STEP_ID $SLURM_STEP_RESV_PORTS; until test -e go; do sleep 0.05; done"
    job = cluster.sbatch(f"for i in 1 2; do srun -n1 --overlap --mpi=none sh -c '{show}' & done\n"
                         "until wc -l <slurm-$SLURM_JOB_ID.out | grep -q 2; do sleep 0.05; done; touch go; wait", "-n2")
    ports = dict(line.split() for line in job.ok().output.splitlines())
    assert set(ports) == {"0", "1"} and len(set(ports.values())) == 2
    assert all(20000 <= int(port.split("-")[0]) <= 20999 for port in ports.values())


def test_up_to_16_nodes(own_cluster):
    cluster = own_cluster(Wanted("plain", nodes=16, more=("--cpus", 2)))
    result = cluster.srun("-N16", "-n16", "--mpi=none", "hostname").ok()
    assert sorted(result.lines) == sorted(cluster.nodes) and len(cluster.nodes) == 16


def test_lines_of_slurm_conf_and_a_topology_file_per_node(own_cluster, tmp_path):
    topology = tmp_path / "topology.xml"
    topology.write_text("<topology/>\n")
    cluster = own_cluster(Wanted("plain", more=("--slurm-conf-line", "KillWait=7", "--topology", f"n1={topology}")))
    assert re.search(r"KillWait += 7 sec", cluster.run("scontrol", "show", "config").ok().out)
    command = ["sh", "-c", "cat /etc/pinstep-topology.xml 2>/dev/null || echo none"]
    assert cluster.srun("-w", cluster.nodes[0], *command).ok().out == "none\n"
    assert cluster.srun("-w", cluster.nodes[1], *command).ok().out == "<topology/>\n"


def test_a_wrong_request_is_refused_in_words(directory):
    for arguments, text in ((["--nodes", "17"], "--nodes is from 1 to 16"), (["--profile", "mixed"], "--plugin-other"),
                            (["--profile", "bare", "--plugin", "/x"], "takes no --plugin"), (["--bind", "/x"], "SRC:DST")):
        result = minicluster("up", "--dir", directory, *arguments)
        assert result.rc == 1 and text in result.err
    assert minicluster("up", "--dir", directory, "--profile", "nothing").rc == 2
    assert minicluster("status", "--dir", directory).rc != 0
    assert minicluster("down", "--dir", directory).rc == 0
