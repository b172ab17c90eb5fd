"""A running process as a handle: to know it again, and to enter its namespaces.

Contract: a process is recorded as [pid, start time], the pid as the host counts,
so that a pid used again by somebody else is never taken for ours. Imports as
little as possible, since `exec` pays for it.
"""

import os

import syscalls

NODE_NAMESPACES = (syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET |
                   syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWIPC |
                   syscalls.CLONE_NEWCGROUP)


class Namespaces:
    """Handle on the namespaces and the root of a running process, usable after
    a fork or a change of pid namespace. `pid` is as the caller's pid namespace
    counts, `host_pid` as /proc does, which differ within the cluster."""

    def __init__(self, pid, host_pid=None):
        self.pidfd = os.pidfd_open(pid)
        self.root = os.open(f"/proc/{host_pid or pid}/root",
                            os.O_RDONLY | os.O_DIRECTORY)

    def enter(self, flags):
        syscalls.setns(self.pidfd, flags)
        if flags & syscalls.CLONE_NEWNS:
            # setns leaves us in the namespace's root mount, which is not the
            # node's root where pivot_root was not possible (see rootfs.py).
            os.fchdir(self.root)
            os.chroot(".")
            os.chdir("/")


def start_time(pid):
    """Clock ticks since boot, or None if there is no such process (a zombie
    counts as none)."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


def identity(pid):
    return [pid, start_time(pid)]


def alive(record):
    return bool(record) and record[1] is not None and \
        start_time(record[0]) == record[1]


def execute(argv, environment):
    """As os.execvpe, which imports a module on its first call: in the root of
    another release that module is not there. Raises the OSError that tells
    most."""
    name = argv[0]
    paths = [name] if "/" in name else \
        [f"{directory}/{name}" for directory in environment["PATH"].split(":")]
    cause = None
    for path in paths:
        try:
            os.execve(path, argv, environment)
        except (FileNotFoundError, NotADirectoryError) as error:
            cause = cause or error
        except OSError as error:
            cause = error
    raise cause


def save_record(path, record):
    with open(path, "w") as file:
        file.write("{} {}\n".format(*record))


def load_record(path):
    """The record, or None where there is none or only half of one."""
    try:
        with open(path) as file:
            pid, started = file.read().split()
            return [int(pid), int(started)]
    except (FileNotFoundError, ValueError):
        return None
