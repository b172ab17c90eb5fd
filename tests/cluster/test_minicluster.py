"""The minicluster itself: is it a Slurm cluster, and what does it leave behind? No plugin is needed."""

import os
import re
import signal
import subprocess
import time

import pytest

import footprint
from cluster import BUILD, MINICLUSTER, minicluster, Wanted, wait_until

CLUSTER = Wanted("plain")


def test_deliberate_failure_is_seen(cluster):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    cluster.srun("false").ok()


def test_a_pmix_step_spans_two_nodes(cluster):
    result = cluster.srun("-N2", "--ntasks-per-node=2", "--mpi=pmix", "sh", "-c",
                          "echo $PMIX_RANK $(hostname)").ok()
    first, second = cluster.nodes
    assert sorted(result.lines) == [f"0 {first}", f"1 {first}", f"2 {second}", f"3 {second}"]


def test_a_pmix_client_exchanges_data_between_nodes(cluster):
    result = cluster.srun("-N2", "--ntasks-per-node=2", BUILD / "tests/pmix_client").ok()
    a, b = cluster.nodes
    assert sorted(result.lines) == [f"pmix rank 0 of 4 on {a} next on {a}", f"pmix rank 1 of 4 on {a} next on {b}",
                                    f"pmix rank 2 of 4 on {b} next on {b}", f"pmix rank 3 of 4 on {b} next on {a}"]


def test_an_mpi_program_spans_two_nodes(cluster):
    result = cluster.srun("-N2", "--ntasks-per-node=2", BUILD / "tests/hello_mpi").ok()
    a, b = cluster.nodes
    assert sorted(result.lines) == [f"mpi rank 0 of 4 on {a} sum 6", f"mpi rank 1 of 4 on {a} sum 6",
                                    f"mpi rank 2 of 4 on {b} sum 6", f"mpi rank 3 of 4 on {b} sum 6"]


def test_users_are_unprivileged_and_exist_only_inside(cluster):
    for user in ("alice", "bob"):
        uid = cluster.home(user).stat().st_uid
        who = cluster.srun("sh", "-c", "id -u; id -un; grep CapEff /proc/self/status; cd; pwd", user=user).ok()
        assert who.lines == [str(uid), user, "CapEff:\t0000000000000000", f"/home/{user}"]
        assert f":{uid}:" not in open("/etc/passwd").read()
    assert cluster.srun("ls", "/home/bob").rc != 0
    assert cluster.run("id", "-u", user="root").ok().out == "0\n"


def test_nodes_share_homes_and_nothing_else(cluster):
    step = cluster.srun("-N2", "-n2", "sh", "-c",
                        "for d in ~ /tmp /var/tmp /dev/shm; do echo $(hostname) >$d/of-$(hostname); done; "
                        # Both have written when both can be seen at home.
                        "until ls ~/of-* | wc -l | grep -q 2; do sleep 0.05; done; "
                        "cd /tmp && ls /tmp/of-* /var/tmp/of-* /dev/shm/of-*").ok()
    assert sorted(step.lines) == sorted(f"{directory}/of-{node}" for node in cluster.nodes
                                        for directory in ("/tmp", "/var/tmp", "/dev/shm"))
    names = cluster.srun("-N2", "-n2", "sh", "-c", "cat /etc/hostname; readlink /proc/self/ns/net").ok().lines
    assert set(cluster.nodes) < set(names) and len(set(names)) == 4


def test_jobs_of_all_kinds(cluster):
    """Submitted together: batch with steps, array, het job, --export=NONE, a job that fails."""
    a, b = cluster.nodes
    plain = cluster.sbatch("hostname; srun hostname; srun -N1 -n1 -w $OTHER hostname", "-N2", "-n2",
                           env={"OTHER": b})
    array = cluster.sbatch("echo task $SLURM_ARRAY_TASK_ID", "--array=1-3")
    het = cluster.sbatch("#!/bin/bash\n#SBATCH -N1 -n1\n#SBATCH hetjob\n#SBATCH -N1 -n2\n"
                         "srun --het-group=0,1 sh -c 'echo $SLURM_PROCID of $SLURM_NTASKS'")
    none = cluster.sbatch("echo HOME=$HOME MINE=$MINE; env | grep ^SLURM_JOB_ID", "--export=NONE",
                          env={"MINE": "1"})
    fails = cluster.sbatch("exit 3")

    assert sorted(plain.ok().output.split()) == sorted([a, a, b, b])
    array.ok()
    assert [array.output_of(f"{array.id}_{index}") for index in (1, 2, 3)] == [
        f"task {index}\n" for index in (1, 2, 3)]
    assert sorted(line[0] for line in het.ok().output.splitlines()) == ["0", "1", "2"]
    assert none.ok().output.splitlines() == ["HOME=/home/alice MINE=", f"SLURM_JOB_ID={none.id}"]
    assert fails.wait().states() == ["FAILED"] and fails.exit_code == "3:0"


def test_salloc_runs_on_the_login_node_and_its_steps_on_the_nodes(cluster):
    result = cluster.salloc("-N2", "-n2", "sh", "-c", "hostname; srun hostname").ok()
    assert result.lines[0] == cluster.login
    assert sorted(result.lines[1:]) == cluster.nodes


def test_exec_passes_on_input_output_and_exit_codes(cluster):
    assert cluster.run("cat", input="in\n").out == "in\n"
    assert cluster.run("sh", "-c", "echo err >&2; exit 7").rc == 7
    assert cluster.run("sh", "-c", "kill -TERM $$").rc == 128 + signal.SIGTERM
    assert cluster.run("hostname", node="n1").out == cluster.nodes[1] + "\n"
    assert cluster.run("printenv", "A", env={"A": "x y"}).out == "x y\n"


def test_two_clusters_side_by_side(cluster, own_cluster):
    other = own_cluster(Wanted("plain"))
    scripts = "srun hostname; until test -e ~/go; do sleep 0.05; done"
    jobs = [one.sbatch(scripts, "-N2", "-n2") for one in (cluster, other)]
    for one, job in zip((cluster, other), jobs):
        wait_until(lambda: job.output.count("\n") == 2, "both jobs run at the same time")
        assert sorted(job.output.split()) == one.nodes
    assert jobs[0].id != jobs[1].id and not set(cluster.nodes) & set(other.nodes)
    for one, job in zip((cluster, other), jobs):
        one.write("/home/alice/go", "")
        job.ok()
    assert cluster.run("scontrol", "show", "job", jobs[1].id).rc != 0
    # Neither can reach the other's controller.
    address = other.settings["MINICLUSTER_CONTROLLER_ADDRESS"]
    reach = f"timeout 1 bash -c ': </dev/tcp/{address}/6817'"
    assert other.run("sh", "-c", reach).rc == 0
    assert cluster.run("sh", "-c", reach).rc != 0


def test_down_leaves_nothing(directory):
    before = footprint.host()
    minicluster("up", "--dir", directory).ok()
    there = footprint.take(directory)
    assert len(there.processes) >= 8 and len(there.namespaces) >= 8
    assert footprint.host() == before
    minicluster("down", "--dir", directory).ok()
    assert_gone(there, directory)
    assert footprint.host() == before


@pytest.mark.parametrize("victim", ["init", "slurmctld", "slurmd"])
def test_down_leaves_nothing_after_a_crash(directory, victim):
    minicluster("up", "--dir", directory).ok()
    there = footprint.take(directory)
    status = minicluster("status", "--dir", directory).ok().out
    pid = (directory / "init").read_text().split()[0] if victim == "init" else \
        re.search(rf"\b{victim} (\d+)", status).group(1)
    os.kill(int(pid), signal.SIGKILL)
    minicluster("down", "--dir", directory).ok()
    assert_gone(there, directory)


def test_down_leaves_nothing_after_kill_9_in_mid_start(directory):
    """At moments all over the start, and a little beyond its usual end."""
    before = footprint.host()
    began = time.monotonic()
    minicluster("up", "--dir", directory).ok()
    whole = time.monotonic() - began
    minicluster("down", "--dir", directory).ok()
    seen = 0
    for step in range(12):
        up = subprocess.Popen([MINICLUSTER, "up", "--dir", directory], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(whole * step / 10)
        there = footprint.take(directory)
        up.kill()
        up.wait()
        seen += len(there.namespaces) > 0
        minicluster("down", "--dir", directory).ok()
        assert_gone(there, directory)
    assert seen >= 4, "hardly ever was there anything to remove"
    assert footprint.host() == before


def assert_gone(there, directory):
    assert there.left() == []
    again = footprint.take(directory)
    assert not again.processes and not directory.exists()
