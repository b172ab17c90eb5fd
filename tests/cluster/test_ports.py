"""Rank 0's port: kept free for it until it binds, and different for steps that run side by side."""

import re

import pytest

from cluster import BUILD, Wanted, wait_until
from expect import PIN

CLUSTER = Wanted("plain", plugin=True)
STORE = BUILD / "tests/tcp_store"
CHURN = BUILD / "tests/port_churn"
RANGE = "/proc/sys/net/ipv4/ip_local_port_range"
RESERVED = "/proc/sys/net/ipv4/ip_local_reserved_ports"
DERIVED = range(16384, 16384 + 12288)       # launcher/rendezvous/rendezvous.h


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("ports")


class Churn:
    """1000 connections a second through a node's ephemeral range, narrowed to `size` ports from `low` on without
    `reserved`. More than half of them are in use at any time; the rest is for Slurm, which needs some as well.
    `size` is even: of an odd number of ports the kernel leaves one out in each search, and where it starts is
    settled at boot, so that on some machines one port never had its turn."""

    def __init__(self, cluster, node, low, size, reserved=""):
        assert size % 2 == 0
        self._run = lambda *argv: cluster.run(*argv, user="root", node=node).ok()
        self._usual = self._run("cat", RANGE).out
        self._run("sh", "-c", f"echo {low} {low + size - 1} >{RANGE}; echo {reserved} >{RESERVED}")
        self._child = cluster.start(CHURN, 40, 1000, size * 6 // 10, user="root", node=node)
        assert self._child.stdout.readline() == "ready\n"

    def wait_for_connections(self):
        """Until so many were made that each port had its turn many times."""
        assert self._child.stdout.readline() == "1000 connections\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._child.terminate()
        self._child.communicate()
        self._run("sh", "-c", f"echo {self._usual.strip()} >{RANGE}; echo >{RESERVED}")


def met(result):
    return [line for line in result.lines if " met at " in line]


def next_derived_port(cluster, prefix, job):
    """Of the job's next step: each has the port after the one before."""
    port = int(cluster.srun(f"--jobid={job}", f"--env-spec={prefix}", "-N1", "-n1", "printenv", "MASTER_PORT").ok().out)
    assert port in DERIVED
    return port + 1 if port + 1 in DERIVED else DERIVED[0]


@pytest.fixture
def allocation(cluster):
    """A job without steps; srun on the login node starts them, so that their ports are derived."""
    job = cluster.sbatch("sleep 1000", "-N1", "-n4")
    wait_until(lambda: job.states() == ["RUNNING"], "the job runs")
    yield job.id
    cluster.run("scancel", str(job.id)).ok()
    job.wait()


def test_deliberate_failure_is_seen(cluster, prefix, allocation):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    assert next_derived_port(cluster, prefix, allocation) in range(32768, 61000)


def meet_on_a_busy_node(cluster, prefix, job, env=()):
    """Rank 0 takes its time before it binds, and meanwhile the node's ports are used up. (rc, standard error)"""
    go = f"/home/alice/{cluster.new_name('go')}"
    step = cluster.start("srun", f"--jobid={job}", f"--env-spec={prefix}", "-n2", "--overlap", "printenv", "MASTER_PORT",
                         env=env)
    port = int(step.communicate()[0].split()[0])
    # A port of ours is that of the next step; the user's stays.
    port += 0 if env else 1
    step = cluster.start("srun", f"--jobid={job}", f"--env-spec={prefix}", "-n2", "--overlap", "--unbuffered", STORE, go,
                         env=env)
    ready = step.stdout.readline()
    assert ready == "ready\n", step.communicate()
    # Below the port: Slurm's own connections stay in TIME_WAIT, which must not be on the port of a step to come.
    # An even distance: for connections the kernel takes every second port of the range first, here eight, of which
    # the connections need all.
    with Churn(cluster, cluster.nodes[0], port - 14, 16, reserved=port + 1) as churn:
        churn.wait_for_connections()
        cluster.write(go, "")
        out, err = step.communicate(timeout=60)
    assert step.returncode or out.count(f":{port}\n") == 2, out
    return step.returncode, err


def test_a_derived_port_is_still_free_when_rank_0_binds_it_on_a_busy_node(cluster, prefix, allocation):
    for _ in range(3):
        assert meet_on_a_busy_node(cluster, prefix, allocation) == (0, "")


def test_without_the_hold_it_is_taken(cluster, prefix, allocation):
    """The same again with a port that nobody holds, since the user chose it."""
    results = (meet_on_a_busy_node(cluster, prefix, allocation, {"MASTER_PORT": "25000"}) for _ in range(20))
    assert any(rc != 0 and "bind: Address already in use" in err for rc, err in results)


def test_the_port_that_srun_offers_is_held_too(cluster, prefix):
    """In a batch job srun runs on rank 0's node and holds one of the few ports that there are."""
    job = cluster.sbatch("until test -e go-churn; do sleep 0.05; done\n"
                         f"for i in 1 2 3; do srun -n2 {STORE}; done", "-N1", "-n2", f"--env-spec={prefix}",
                         f"--nodelist={cluster.nodes[0]}")
    with Churn(cluster, cluster.nodes[0], 29000, 60):
        cluster.write("/home/alice/go-churn", "")
        job.ok()
    ports = re.findall(r"met at \S+:(\d+)", job.output)
    assert len(ports) == 6 and all(29000 <= int(port) < 29060 for port in ports)


@pytest.mark.parametrize("where", ["batch", "login"])
def test_steps_that_run_side_by_side_have_different_ports(cluster, prefix, where):
    step = f"srun --overlap -N1 -n2 {STORE}"
    if where == "batch":
        out = cluster.sbatch(f"{step} & {step} & wait", "-N1", "-n2", f"--env-spec={prefix}").ok().output
    else:
        out = cluster.salloc("-N1", "-n2", f"--env-spec={prefix}", "sh", "-c", f"{step} & {step} & wait").ok().out
    ports = re.findall(r"met at \S+:(\d+)", out)
    assert len(ports) == 4 and len(set(ports)) == 2


def test_a_derived_port_that_is_taken_is_named_in_one_sentence(cluster, prefix, allocation):
    port = next_derived_port(cluster, prefix, allocation)
    listen = f"import socket,time; s=socket.create_server(('',{port})); print('ready', flush=True); time.sleep(60)"
    stranger = cluster.start("python3", "-c", listen, user="bob", node=cluster.nodes[0])
    try:
        assert stranger.stdout.readline() == "ready\n"
        step = cluster.srun(f"--jobid={allocation}", f"--env-spec={prefix}", "-n2", "--overlap", "true")
    finally:
        stranger.terminate()
        stranger.communicate()
    assert step.rc == 125
    assert [line for line in step.err.splitlines() if line.startswith("pinstep:")] == [
        f"pinstep: error: {cluster.nodes[0]}: port {port} is taken by another program "
        "(run the step again, or set MASTER_PORT to a free port)"]


def test_ports_that_the_site_reserves_come_before_ours(own_cluster):
    cluster = own_cluster(Wanted("ports", plugin=True))
    prefix = cluster.prefix("reserved")
    show = "echo $SLURM_STEP_RESV_PORTS $MASTER_PORT"
    job = cluster.sbatch(f"srun -n1 sh -c '{show}'\nsrun -n2 {STORE}", "-n2", f"--env-spec={prefix}").ok()
    reserved, port = job.output.splitlines()[0].split()
    assert reserved.split("-")[0] == port and 20000 <= int(port) <= 20999
    assert len(re.findall(r"met at \S+:20\d\d\d", job.output)) == 2


def test_a_step_without_a_pin_holds_no_port_and_gets_no_offer(cluster, prefix):
    """Also with the offer of another srun in its environment, which would be a lie by now."""
    stale = {"SLURM_PINSTEP_OFFER": "1;node=n;addr=1.2.3.4;port=5;entry=0;first="}
    step = cluster.srun("-n1", "env", env=stale).ok()
    assert "PINSTEP" not in step.out and "MASTER_" not in step.out
    with_pin = cluster.srun("-n1", f"--env-spec={prefix}", "env").ok()
    assert PIN in with_pin.out and "SLURM_PINSTEP_OFFER" in with_pin.out
