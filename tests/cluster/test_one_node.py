"""A prefix that is broken on one node of two: that node says so, and the tasks of the other, which have
started, do not go on waiting for it."""

import re
import time

import pytest

from cluster import Wanted, wait_until

CLUSTER = Wanted("plain", plugin=True)


@pytest.fixture(scope="module")
def local(cluster):
    """Prefixes in /var/tmp, which every node has of its own; they are the same until a test changes one."""
    made = cluster.prefix("pattern")

    def make(name, nodes=("login", "n0", "n1")):
        path = f"/var/tmp/{name}"
        for node in nodes:
            cluster.run("sh", "-c", f"cp -r {made} {path} && sed -i 's|{made}|{path}|g' "
                        f"{path}/conda-meta/pinstep/activation", node=node).ok()
        return path

    return make


def start_step(cluster, path):
    """The Result of a step that must not last, and {node: message} of what was said."""
    result = cluster.srun("-N2", "--ntasks-per-node=4", f"--env-spec={path}", "sleep", "60", timeout=15)
    lines = [line for line in result.err.splitlines() if line.startswith("pinstep:")]
    found = [re.fullmatch(r"pinstep: error: (\w+): (.*)", line) for line in lines]
    assert all(found) and len({match.group(1) for match in found}) == len(found), result
    assert result.rc == 137, result
    return result, dict(match.groups() for match in found)


BROKEN = {
    "no activation file": ("echo nonsense >{}", "is not an activation file"),
    "empty": (": >{}", "is not an activation file"),
    "cut off": ("printf 'pinstep-activation 1 -\\nset A' >{}", "is cut off"),
    "newer": ("printf 'pinstep-activation 2 -\\n' >{}", "has version '2'"),
    "unknown record": ("printf 'pinstep-activation 1 -\\nsource A b\\0' >{}", "does not know"),
    "too large": ("head -c 2000000 /dev/zero >>{}", "1048576"),
    "a link": ("mv {0} {0}.real; ln -s {0}.real {0}", "link"),
    "a directory": ("rm {0}; mkdir {0}", ""),
    "not readable": ("chmod 000 {}", "ermission"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_prefix_broken_on_one_node(cluster, local, what):
    command, part = BROKEN[what]
    path = local("broken-" + what.replace(" ", "-"))
    cluster.run("sh", "-c", command.format(f"{path}/conda-meta/pinstep/activation"), node="n1").ok()
    result, messages = start_step(cluster, path)
    assert set(messages) == {cluster.nodes[1]}, result
    assert part in messages[cluster.nodes[1]] and path in messages[cluster.nodes[1]]
    assert result.seconds < 5, result


def test_the_nodes_take_the_next_step_at_once(cluster, local):
    start_step(cluster, local("again", ["login", "n0"]))
    began = time.monotonic()
    cluster.srun("-N2", "-n2", "true").ok()
    wait_until(lambda: {state for state, _ in cluster.node_states().values()} == {"idle"}, "the nodes are idle")
    assert time.monotonic() - began < 5


def test_components_of_a_job_script_cannot_have_different_environments(cluster):
    """sbatch reads a component's #SBATCH lines and then the option as the first component has published it."""
    first, second = cluster.prefix(), cluster.prefix()
    result = cluster.try_sbatch(f"#!/bin/bash\n#SBATCH -n1 --env-spec={first}\n#SBATCH hetjob\n"
                                f"#SBATCH -n1 --env-spec={second}\n")
    assert result.rc == 1 and first.path in result.err and second.path in result.err, result
