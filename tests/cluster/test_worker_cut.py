"""pinstep-worker on three nodes of which one loses its network: all ranks end in time, those of the other nodes name
it, and its own say that they are cut off."""

import time

import pytest

from cluster import Wanted, wait_until

CLUSTER = Wanted("plain", nodes=3, plugin=True)
DEADLINE = 3
LOST, CUT_OFF = 3, 6        # exit codes
TWO_EACH = ["-N3", "--ntasks-per-node=2", "--kill-on-bad-exit=0"]
# In files, not through srun: it hears no more of a node that is cut off. The home directories are no network's.
SCRIPT = f"""cd "$0"
pinstep-worker train --images=6000 --test-images=100 --epochs=1000 --timeout={DEADLINE} >out-$RANK 2>err-$RANK
echo $? >code-$RANK+ && mv code-$RANK+ code-$RANK"""

pytestmark = pytest.mark.skips("no worker")


@pytest.mark.skips("no worker")
def test_deliberate_failure_is_seen(cluster):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    cluster.srun("-n1", "pinstep-worker", "train", "--timeout=never").ok()


def blamed(text):
    """Ranks of which an error speaks before its own part, in parentheses."""
    return text.split("pinstep-worker: error: ")[1].split(" (rank ")[0]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_node_that_is_cut_off_is_named_by_all(cluster, number):
    directory = f"/home/alice/{cluster.new_name('cut')}"
    cluster.run("mkdir", directory).ok()
    path, node = cluster.path(directory), cluster.nodes[number]
    own = [2 * number, 2 * number + 1]
    child = cluster.start("srun", *TWO_EACH, "pinstep-launch", "--", "sh", "-c", SCRIPT, directory)
    try:
        wait_until(lambda: (path / "out-0").exists() and "epoch" in (path / "out-0").read_text(), "an epoch", 60)
        cluster.run("ip", "link", "set", "eth0", "down", user="root", node=node).ok()
        began = time.monotonic()
        wait_until(lambda: len(list(path.glob("code-?"))) == 6, "the end of all ranks", 30)
        seconds = time.monotonic() - began
    finally:
        cluster.run("ip", "link", "set", "eth0", "up", user="root", node=node).ok()
        # The node's slurmstepd has given up telling srun that its tasks have ended.
        cluster.run("scancel", "--user=alice").ok()
        child.kill()
        child.communicate()
        wait_until(lambda: not cluster.console.ask("squeue", "--noheader"), "the end of the job", 60)
    said = {rank: (path / f"err-{rank}").read_text() for rank in range(6)}
    codes = [int((path / f"code-{rank}").read_text()) for rank in range(6)]
    assert codes == [CUT_OFF if rank in own else LOST for rank in range(6)], said
    assert seconds < DEADLINE + 5, said
    for rank, text in said.items():
        if rank in own:
            assert not text or "cut off the network" in blamed(text), said
        elif text and number == 0:
            assert blamed(text).startswith(f"rank 0 on {node} does not answer, and its neighbour rank "), said
        elif text:
            assert blamed(text) == f"ranks {own[0]} on {node}, {own[1]} on {node} do not answer", said
    for other in range(3):
        assert said[2 * other] or said[2 * other + 1], said
