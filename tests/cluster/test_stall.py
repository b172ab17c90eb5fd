"""Steps whose prefix is on a file system that has stopped answering."""

import time

import pytest

from cluster import TOP, Cluster, Wanted, wait_until

LIMIT = 3       # task_timeout; the alarm of a task that has nobody to speak for it comes 5 s later

pytestmark = pytest.mark.skips("no FUSE")


@pytest.fixture(scope="module", params=["plain", "linuxproc"])
def stalled(request, work, stage):
    """(cluster, path of a prefix that stalls on the second node)."""
    cluster = Cluster(work / f"stall-{request.param}", Wanted(request.param, plugin=True).arguments(stage))
    cluster.site_file("pinstep.conf", f"task_timeout={LIMIT}\n")
    path = "/var/tmp/stalled"
    made = cluster.prefix("made")
    for node in ("login", "n0"):
        cluster.run("cp", "-r", made, path, node=node).ok()
    server = cluster.start("/usr/bin/python3", TOP / "tests/cluster/stall.py", path, user="root", node="n1")
    assert server.stdout.readline() == "mounted\n", server.stderr.read()
    yield cluster, path
    server.terminate()
    server.communicate()
    cluster.down()


@pytest.fixture(autouse=True)
def no_drained_node(stalled):
    yield
    cluster, _ = stalled
    wait_until(lambda: {state for state, _ in cluster.node_states().values()} == {"idle"},
               f"all nodes are idle: {cluster.node_states()}", 30)


def test_the_step_ends_within_the_limit(stalled):
    cluster, path = stalled
    result = cluster.srun("-N2", "--ntasks-per-node=2", f"--env-spec={path}", "sleep", "60",
                          timeout=LIMIT + 10)
    said = [line for line in result.err.splitlines() if line.startswith("pinstep:")]
    assert result.rc != 0 and LIMIT <= result.seconds < LIMIT + 3, result
    assert len(said) == 1 and f"{cluster.nodes[1]}: " in said[0] and path in said[0], result


def test_a_batch_job_ends_within_the_limit(stalled):
    cluster, path = stalled
    job = cluster.sbatch("sleep 60", "-w", cluster.nodes[1], f"--env-spec={path}").wait(LIMIT + 15)
    assert job.states() == ["FAILED"], job
    assert job.output.count("pinstep: error:") == 1


def test_scancel_ends_it_at_once(stalled):
    cluster, path = stalled
    cluster.site_file("pinstep.conf", "task_timeout=60\n")
    try:
        step = cluster.start("srun", "-N2", "-n2", f"--env-spec={path}", "sleep", "60")
        wait_until(lambda: "R" in cluster.console.ask("squeue", "--noheader", "--format=%t"), "the step runs")
        time.sleep(1)       # there is no other sign of a task that waits for a file
        began = time.monotonic()
        cluster.run("scancel", "--user=alice").ok()
        step.communicate(timeout=20)
        assert time.monotonic() - began < 4 and step.returncode != 0
    finally:
        cluster.site_file("pinstep.conf", f"task_timeout={LIMIT}\n")
