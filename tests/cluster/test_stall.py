"""Steps whose prefix is on a file system that has stopped answering."""

import re
import time

import pytest

from cluster import TOP, Cluster, Wanted, wait_until
from messages import said, sentence

LIMIT = 2       # task_timeout; the alarm of a task that has nobody to speak for it comes 5 s later
EVERYWHERE = "/var/tmp/stalled-everywhere"

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
    cluster.run("cp", "-r", made, EVERYWHERE, node="login").ok()
    servers = [cluster.start("/usr/bin/python3", TOP / "tests/cluster/stall.py", target, user="root", node=node)
               for node, target in (("n1", path), ("n0", EVERYWHERE), ("n1", EVERYWHERE))]
    for server in servers:
        assert server.stdout.readline() == "mounted\n", server.stderr.read()
    yield cluster, path
    for server in servers:
        server.terminate()
        server.communicate()
    cluster.down()


def waiting(cluster):
    """Processes of tasks that are being prepared, on all nodes."""
    return cluster.console.ask("pgrep", "--exact", "pinstep").split()


@pytest.fixture(autouse=True)
def no_drained_node(stalled):
    yield
    cluster, _ = stalled
    wait_until(lambda: {state for state, _ in cluster.node_states().values()} == {"idle"},
               f"all nodes are idle: {cluster.node_states()}", 30)
    assert waiting(cluster) == []


def test_the_step_ends_within_the_limit(stalled):
    cluster, path = stalled
    result = cluster.srun("-N2", "--ntasks-per-node=2", f"--env-spec={path}", "sleep", "60",
                          timeout=LIMIT + 10)
    assert sentence(result.err) == (
        f"pinstep: error: {cluster.nodes[1]}: preparing the task took longer than {LIMIT} s "
        f"(does the file system of '{path}' answer?)")
    assert result.rc == 137 and LIMIT <= result.seconds < LIMIT + 2, result


@pytest.mark.parametrize("options, rc", [
    (["-N2", "--ntasks-per-node=4"], 137), (["-N1", "-n4"], 137), (["-N1", "-n1"], 125),
], ids=["eight tasks", "four tasks of one node", "one task"])
def test_no_node_answers(stalled, options, rc):
    """Each may say so once. The tasks of a node wait for one another in the kernel."""
    cluster, _ = stalled
    result = cluster.srun(*options, f"--env-spec={EVERYWHERE}", "sleep", "60", timeout=LIMIT + 10)
    nodes = [re.match(r"pinstep: error: (\w+): preparing the task took longer", line)[1] for line in said(result.err)]
    assert nodes and len(set(nodes)) == len(nodes) and set(nodes) <= set(cluster.nodes), result
    assert result.rc == rc and LIMIT <= result.seconds < LIMIT + 2, result


def test_a_batch_job_ends_within_the_limit(stalled):
    cluster, path = stalled
    job = cluster.sbatch("sleep 60", "-w", cluster.nodes[1], f"--env-spec={path}").wait(LIMIT + 15)
    assert job.states() == ["FAILED"] and job.exit_code == "125:0", job
    assert len(job.lines) == 1 and job.lines[0].startswith(f"pinstep: error: {cluster.nodes[1]}: preparing"), job


def test_a_name_service_that_does_not_answer_is_named(stalled):
    """It is asked whether this node can reach rank 0's."""
    cluster, _ = stalled
    prefix, login = cluster.prefix(), cluster.settings["MINICLUSTER_LOGIN_ADDRESS"]
    listen = "import socket, time; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 53)); print(1, flush=True); "
    server = cluster.start("/usr/bin/python3", "-c", listen + "time.sleep(60)", user="root")
    node = {"user": "root", "node": "n1"}
    files = ("/etc/nsswitch.conf", "/etc/resolv.conf")
    before = [cluster.run("cat", file, **node).ok().out for file in files]
    try:
        assert server.stdout.readline() == "1\n"
        cluster.site_file("pinstep.conf", f"task_timeout={LIMIT}\naddress=%h-ib\n", ["n1"])
        for file, text in zip(files, ("hosts: files dns\n", f"nameserver {login}\noptions timeout:20\n")):
            cluster.run("tee", file, input=text, **node).ok()
        result = cluster.srun("-N2", "-n4", f"--env-spec={prefix}", "sleep", "60", timeout=LIMIT + 10)
    finally:
        for file, text in zip(files, before):
            cluster.run("tee", file, input=text, **node).ok()
        cluster.site_file("pinstep.conf", f"task_timeout={LIMIT}\n")
        server.terminate()
        server.communicate()
    assert sentence(result.err) == (f"pinstep: error: {cluster.nodes[1]}: preparing the task took longer than {LIMIT} s "
                                    "(does this node's name service answer?)")
    assert result.rc == 137 and LIMIT <= result.seconds < LIMIT + 2, result


def test_scancel_ends_it_at_once(stalled):
    cluster, path = stalled
    cluster.site_file("pinstep.conf", "task_timeout=60\n")
    try:
        step = cluster.start("srun", "-N2", "-n2", f"--env-spec={path}", "sleep", "60")
        wait_until(lambda: waiting(cluster), "a task waits for a file")
        began = time.monotonic()
        cluster.run("scancel", "--user=alice").ok()
        step.communicate(timeout=20)
        assert time.monotonic() - began < 4 and step.returncode != 0
    finally:
        cluster.site_file("pinstep.conf", f"task_timeout={LIMIT}\n")
