"""The cluster's own directory in each cgroup v1 hierarchy that Slurm uses.

Contract: all cgroups of a cluster lie in one directory per controller, whose
name follows from the cluster's directory alone: two clusters never meet, they
are found even if all records are lost, and the nodes see them as the roots of
the hierarchies. Other controllers (memory above all, by which the host may
account for us) are left alone.
"""

import hashlib
import os
import time

CONTROLLERS = ("freezer", "cpuset", "devices")
ROOT = "/sys/fs/cgroup"


def directory_name(directory):
    digest = hashlib.sha256(os.path.realpath(directory).encode()).hexdigest()
    return f"minicluster-{digest[:16]}"


def parse_own(text):
    """/proc/self/cgroup → {controller: path} for v1 hierarchies."""
    own = {}
    for line in text.splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in filter(None, controllers.split(",")):
            own[controller] = path
    return own


def find(directory):
    """((controller, host directory of the cluster), …), or () where one of the
    controllers is not mounted as cgroup v1 or cannot be written."""
    with open("/proc/self/cgroup") as file:
        own = parse_own(file.read())
    found = []
    for controller in CONTROLLERS:
        if controller not in own:
            return ()
        parent = os.path.join(ROOT, controller, own[controller].lstrip("/"))
        if not os.path.exists(os.path.join(parent, "cgroup.procs")):
            # In a container the path may be seen from outside.
            parent = os.path.join(ROOT, controller)
        if not os.access(os.path.join(parent, "cgroup.procs"), os.W_OK):
            return ()
        found.append((controller, os.path.join(parent, directory_name(directory))))
    return tuple(found)


def create(cgroups):
    for controller, path in cgroups:
        os.makedirs(path, exist_ok=True)
        if controller == "cpuset":
            # A new cpuset is empty and takes no process until it is filled.
            for name in ("cpuset.mems", "cpuset.cpus"):
                with open(os.path.join(os.path.dirname(path), name)) as file:
                    value = file.read()
                _write(os.path.join(path, name), value)


def join(cgroups):
    """Move the calling process."""
    for _, path in cgroups:
        _write(os.path.join(path, "cgroup.procs"), "0")


def thaw(cgroups):
    """A frozen process cannot die: thaw before killing."""
    for controller, top in cgroups:
        if controller == "freezer":
            for path, _, _ in os.walk(top):
                _write(os.path.join(path, "freezer.state"), "THAWED",
                       missing_ok=True)


def remove(cgroups):
    """Remove the directories; their processes are dead. The kernel lets go of
    a cgroup a moment after its last process."""
    for _, top in cgroups:
        for path, _, _ in os.walk(top, topdown=False):
            _remove_directory(path)


def _remove_directory(path):
    deadline = time.monotonic() + 5
    while True:
        try:
            os.rmdir(path)
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _write(path, text, missing_ok=False):
    try:
        with open(path, "w") as file:
            file.write(text)
    except FileNotFoundError:
        if not missing_ok:
            raise
