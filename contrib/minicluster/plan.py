"""What a cluster is, as one value: names, addresses, paths, profile.

Contract: a Plan is made once by `up`, stored as DIR/plan.json and read by all
other verbs. It holds no process ids and nothing that changes while the cluster
runs (those are in DIR/pids.json, see process.py). Every path below DIR and
every name inside the cluster is built here and nowhere else.
"""

import json
import os
from dataclasses import asdict, dataclass

MAX_NODES = 16


@dataclass(frozen=True)
class User:
    name: str
    uid: int
    gid: int
    home: str


# High ids, so that files below DIR/home belong to nobody on the host.
USERS = (User("alice", 20001, 20001, "/home/alice"),
         User("bob", 20002, 20002, "/home/bob"))
# A group both are in, as project directories want it.
PROJECT_GID = 20100


@dataclass(frozen=True)
class Node:
    """`short` is the name within any cluster (n0, ctl, login); `name` is the
    host name, unique among the clusters that run now."""
    short: str
    name: str
    address: str
    plugstack: str = ""
    topology: str = ""


@dataclass(frozen=True)
class Plan:
    directory: str
    index: int
    profile: str
    controller: Node
    login: Node
    compute: tuple
    checkout: str                   # seen by the nodes at its own path
    root: str = "/"                 # what the nodes' root is an overlay over
    cpus: int = 8
    gpus: int = 0
    gpu_prefix: str = "/dev/nvidia"
    gpu_devices: tuple = ()         # (major, minor), one per GPU
    proctrack: str = "linuxproc"
    task_plugin: str = "task/affinity"
    constrain: bool = False
    cgroups: tuple = ()             # (controller, host directory)
    slurm_lines: tuple = ()         # from the profile, then from the user
    binds: tuple = ()               # (host path, node path, "rw" or "ro")

    @property
    def nodes(self):
        return (self.controller, self.login) + tuple(self.compute)

    def find(self, name):
        """The node called `name` (host name or short name), or None."""
        for node in self.nodes:
            if name in (node.name, node.short):
                return node
        return None

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def node_path(self, node, *parts):
        return self.path("nodes", node.short, *parts)

    def log(self, node, daemon):
        return self.path("log", f"{daemon}-{node.name}.log")


def subnet(index):
    return f"10.199.{index}"


def controller(index):
    return Node("ctl", f"c{index}ctl", f"{subnet(index)}.254")


def login(index):
    return Node("login", f"c{index}login", f"{subnet(index)}.253")


def compute(index, number):
    return Node(f"n{number}", f"c{index}n{number}", f"{subnet(index)}.{number + 1}")


def save(plan):
    temporary = plan.path("plan.json.new")
    with open(temporary, "w") as file:
        json.dump(asdict(plan), file, indent=1)
    os.replace(temporary, plan.path("plan.json"))


def load(directory):
    """The plan stored below `directory`; FileNotFoundError if there is none."""
    with open(os.path.join(directory, "plan.json")) as file:
        data = json.load(file)
    for key in ("controller", "login"):
        data[key] = Node(**data[key])
    data["compute"] = tuple(Node(**node) for node in data["compute"])
    data["directory"] = directory
    return Plan(**data)
