"""pinstep-worker check on three nodes: firewalls on either side and a slow link, with the kernel's own means."""

import shlex

import pytest

from cluster import Wanted

CLUSTER = Wanted("plain", nodes=3, plugin=True)
PORT = 29511

pytestmark = pytest.mark.skips("no worker")


@pytest.fixture
def disturb(cluster):
    """disturb(node, command, undo): as root in that node's network, until the test ends."""
    undone = []

    def do(node, command, undo):
        cluster.run(*shlex.split(command), user="root", node=node).ok()
        undone.append((node, undo))

    yield do
    for node, undo in reversed(undone):
        cluster.run(*shlex.split(undo), user="root", node=node).ok()


def check(cluster, *options):
    """One rank on each node; the port is the user's, so that the tests know it."""
    return cluster.srun("-N3", "-n3", "pinstep-launch", "--", "pinstep-worker", "check", "--min-memory=1",
                        "--min-shm=1", *options, env={"MASTER_PORT": PORT, "MASTER_ADDR": cluster.addresses[0]})


def drop(port):
    """Packets from outside to this port vanish, as with a firewall that says nothing; the node's own do not. Rules
    before that of the local addresses, which has to go to a later place for that."""
    return (f"sh -c 'ip rule add pref 20 lookup local && ip rule del pref 0 && "
            f"ip rule add pref 10 iif eth0 ipproto tcp dport {port} blackhole'",
            "sh -c 'ip rule add pref 0 lookup local && ip rule del pref 20 && ip rule del pref 10'")


@pytest.mark.skips("no worker")
def test_deliberate_failure_is_seen(cluster):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    check(cluster, "--max-latency=0.000000001").ok()


def test_three_nodes_are_fit_and_the_script_goes_on(cluster):
    result = check(cluster).ok()
    assert result.out.startswith("fit: 3 ranks on 3 nodes, latency up to "), result


def test_a_firewall_of_rank_0s_node_is_named(cluster, disturb):
    disturb(cluster.nodes[0], *drop(PORT))
    result = check(cluster, "--timeout=6")
    assert result.rc == 1
    first, second, third = cluster.nodes
    assert f"ranks 1, 2, of {second}, {third}, do not reach rank 0 at " in result.err
    assert "no other node does" in result.err and f"a firewall on {first} may close the port" in result.err
    for rank, node in ((1, second), (2, third)):
        assert f"rank {rank} on {node}: cannot reach rank 0 at '{cluster.addresses[0]}:{PORT}'" in result.err
    assert result.seconds < 20
    assert result.out.startswith("not fit: ranks 1, 2, of ")


def test_a_firewall_on_the_way_from_one_node_is_named(cluster, disturb):
    node = cluster.nodes[2]
    disturb(node, f"ip rule add ipproto tcp dport {PORT} blackhole", f"ip rule del ipproto tcp dport {PORT} blackhole")
    result = check(cluster, "--timeout=6")
    assert result.rc == 1
    assert f"rank 2, of {node}, does not reach rank 0 at " in result.err
    assert "; 1 other node does" in result.err and f"a firewall on {node} " in result.err


def test_a_slow_link_is_named(cluster, disturb):
    node = cluster.nodes[1]
    disturb(node, "tc qdisc add dev eth0 root tbf rate 100mbit burst 64kb latency 100ms", "tc qdisc del dev eth0 root")
    result = check(cluster)
    assert result.rc == 1
    for other in (cluster.nodes[0], cluster.nodes[2]):
        assert f"the link from {node} to {other} is slow: " in result.err
    assert f"to {node} is slow" not in result.err


def test_the_exit_status_ends_a_batch_script(cluster):
    script = ("srun pinstep-launch -- pinstep-worker check --min-memory=1 --min-shm={} || exit 7\necho trains\n")
    fit, unfit = (cluster.sbatch(script.format(least), "-N3", "-n3") for least in ("1", "1000000G"))
    assert "trains" in fit.ok().output
    assert unfit.wait().exit_code == "7:0" and "trains" not in unfit.output
