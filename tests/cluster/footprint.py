"""What a cluster in some directory has on the host now, found from outside, without its own records.

Other clusters may come and go on the same machine meanwhile, so the question is never "is everything as
before" but "is anything of this one left".
"""

import os
from dataclasses import dataclass

KINDS = ("mnt", "net", "pid", "uts", "ipc", "cgroup")


@dataclass(frozen=True)
class Footprint:
    processes: frozenset        # (pid, start time)
    namespaces: frozenset       # "net:[4026531840]"
    cgroups: frozenset          # host directories

    def left(self):
        """What of it is still there. A namespace lives as long as a process in it (or a mount of it, see
        host()); its number alone proves nothing, the kernel uses it again at once."""
        return [f"process {pid}" for pid, started in self.processes if _start_time(pid) == started] + \
            sorted(filter(os.path.exists, self.cgroups))


def take(directory):
    """Of the cluster in `directory`, in whatever state."""
    mark = os.fsencode(directory)
    # A mount's root is told from the root of its file system, which need not be the host's.
    root = b"/".join(mark.split(b"/")[-3:])
    host = set(_namespaces("self"))
    namespaces = {pid: set(_namespaces(pid)) - host for pid in _pids() if _start_time(pid)}
    own = {pid for pid in namespaces if mark in _read(pid, "cmdline") or root in _read(pid, "mountinfo")}
    # All that shares a namespace with one of them, until nothing is added.
    while True:
        theirs = set().union(*(namespaces[pid] for pid in own))
        more = {pid for pid, names in namespaces.items() if names & theirs} - own
        if not more:
            break
        own |= more
    alive = frozenset((pid, started) for pid in own if (started := _start_time(pid)))
    return Footprint(alive, frozenset(theirs),
                     frozenset(path for pid in own for path in _cgroups(pid)))


def host():
    """What no cluster may change: mounts, links, users."""
    files = {}
    for path in ("/proc/self/mounts", "/proc/net/dev", "/etc/passwd", "/etc/group", "/etc/shadow",
                 "/etc/hosts"):
        if not os.path.exists(path):        # a bare root need not have it
            files[path] = None
            continue
        with open(path) as file:
            # Of /proc/net/dev the names only, its counters change.
            files[path] = [line.partition(":")[0] if "net/dev" in path else line for line in file]
    return files


def _pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def _namespaces(pid):
    for kind in KINDS:
        try:
            yield os.readlink(f"/proc/{pid}/ns/{kind}")
        except OSError:
            pass


def _start_time(pid):
    """None for a process that is dead: a zombie waits for its parent, which may be anybody."""
    fields = _read(pid, "stat").decode(errors="replace").rpartition(")")[2].split()
    return fields[19] if fields and fields[0] not in "ZX" else None


def _cgroups(pid):
    """Directories of the process's v1 cgroups that a minicluster made."""
    for line in _read(pid, "cgroup").decode().splitlines():
        _, controllers, path = line.split(":", 2)
        at = path.find("/minicluster-")
        if controllers and at >= 0:
            end = path.find("/", at + 1)
            # The mount may show the hierarchy from our own cgroup on.
            for start in (0, at):
                yield f"/sys/fs/cgroup/{controllers}{path[start:end if end > 0 else None]}"
