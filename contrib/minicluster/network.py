"""The cluster's network: a bridge in a namespace of its own, a cable per node.

Contract: `batch` functions are pure and return input for `ip -batch -`. The
bridge is not in the host's network namespace but in the one of the `switch`
holder process, so the host gets no link and no address, two clusters cannot
meet, and everything goes when the holders die.
"""

import subprocess


def switch_batch(plan, namespaces):
    """Run in the switch's namespace. `namespaces` maps a node's short name to
    a path of its network namespace."""
    lines = ["link set lo up", "link add br0 type bridge", "link set br0 up"]
    for node in plan.nodes:
        port = f"p-{node.short}"
        lines += [f"link add {port} type veth peer name eth0 "
                  f"netns {namespaces[node.short]}",
                  f"link set {port} master br0",
                  f"link set {port} up"]
    return "\n".join(lines) + "\n"


def node_batch(node):
    """Run in a node's namespace."""
    return ("link set lo up\n"
            f"address add {node.address}/24 dev eth0\n"
            "link set eth0 up\n")


def run_ip(batch):
    """Run `batch` in the caller's namespace; RuntimeError with ip's own words."""
    result = subprocess.run(["ip", "-batch", "-"], input=batch, text=True,
                            capture_output=True)
    if result.returncode != 0:
        raise RuntimeError(f"ip: {result.stderr.strip()}")
