"""Prefixes that cannot be used, each in its own way."""

import os

from prefixes import ACTIVATION, content, usual_edits


def shared(cluster, activation, mode=0o644):
    """A prefix that all nodes see alike."""
    made = cluster.prefix(activation=activation)
    cluster.path(made.activation).chmod(mode)
    return made.path


def on_nodes(cluster, name, *nodes, user="alice"):
    """A good prefix in the /tmp of some nodes (n0, …) only."""
    owner = cluster.home(user).stat()
    for node in nodes:
        file = cluster.directory / "nodes" / node / "tmp" / name / ACTIVATION
        file.parent.mkdir(parents=True)
        file.write_bytes(content(usual_edits(f"/tmp/{name}")))
        os.chown(file, owner.st_uid, owner.st_gid)
    return f"/tmp/{name}"


def symbolic_link(cluster):
    made = cluster.prefix()
    file = cluster.path(made.activation)
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")
    return made.path


def directory(cluster):
    made = cluster.prefix()
    cluster.path(made.activation).unlink()
    cluster.path(made.activation).mkdir()
    return made.path


def fifo(cluster):
    made = cluster.prefix()
    cluster.path(made.activation).unlink()
    os.mkfifo(cluster.path(made.activation))
    cluster.own(cluster.path(made.activation), "alice")
    return made.path


NODE_ERRORS = {
    "absent": (lambda c: "/home/alice/absent", "cannot open '{}': No such file or directory"),
    "not-a-directory": (lambda c: "/etc/passwd", "cannot open '{}': Not a directory"),
    "unreadable": (lambda c: shared(c, None, 0), "cannot open '{}': Permission denied"),
    "forbidden": (lambda c: "/home/bob/prefix", "cannot open '{}': Permission denied"),
    "empty": (lambda c: shared(c, b""), "'{}' is not an activation file"),
    "corrupt": (lambda c: shared(c, content([]) + b"set A 1"), "'{}': record 1 is cut off"),
    "malformed": (lambda c: shared(c, content([("set", "A=B", "1")])), "'{}': record 1 is malformed"),
    "newer": (lambda c: shared(c, content([], version="2")), "'{}' has version '2', this pinstep reads 1"),
    "newer-op": (lambda c: shared(c, content([("swap", "A", "B")])), "'{}': record 1 is of a kind this pinstep"),
    "long": (lambda c: shared(c, content([("set", "A", "x" * (1 << 20))])), "'{}' is longer than 1048576 bytes"),
    "link": (symbolic_link, "'{}' is a symbolic link, which is not followed here"),
    "directory": (directory, "'{}' is not a regular file"),
    "fifo": (fifo, "'{}' is not a regular file"),
    "untrusted": (lambda c: on_nodes(c, "bobs", "n0", "n1", user="bob"), "'{}' belongs to user "),
}


class Broken:
    """broken(NAME): the path of a prefix with that error, made once, and how the sentence about it begins."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._made = {}

    def __call__(self, name):
        make, cause = NODE_ERRORS[name]
        if name not in self._made:
            self._made[name] = make(self._cluster)
        return self._made[name], cause.format(f"{self._made[name]}/{ACTIVATION}")
