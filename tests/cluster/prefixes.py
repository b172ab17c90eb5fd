"""Prefixes made by hand: what envtools/activation/FORMAT.md says is enough.

An edit is a tuple (op, name, value), or ("unset", name).
"""

from dataclasses import dataclass

ACTIVATION = "conda-meta/pinstep/activation"


@dataclass(frozen=True)
class Prefix:
    path: str       # in the nodes

    @property
    def bin(self):
        return f"{self.path}/bin"

    @property
    def activation(self):
        return f"{self.path}/{ACTIVATION}"

    def __str__(self):
        return self.path


def content(edits, identity="-", version="1"):
    records = b"".join(" ".join(edit).encode(errors="surrogateescape") + b"\0" for edit in edits)
    return f"pinstep-activation {version} {identity}\n".encode() + records


def usual_edits(path):
    """What any conda prefix does."""
    return [("prepend", "PATH", f"{path}/bin"), ("set", "CONDA_PREFIX", path)]


def make(cluster, path, edits=(), user="alice", activation=None):
    """A prefix with the usual edits, then `edits`, and a program `which-prefix` that prints its path.
    `activation`: the whole file instead, as bytes."""
    prefix = Prefix(path)
    cluster.write(f"{path}/bin/which-prefix", f"#!/bin/sh\necho {path}\n", user, 0o755)
    cluster.write(prefix.activation,
                  content(usual_edits(path) + list(edits)) if activation is None else activation, user)
    return prefix
