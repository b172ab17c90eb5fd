"""Processes of the cluster: starting them in a node, knowing them again.

Contract: a process is recorded as [pid, start time], the pid as the host counts,
so that a pid used again by somebody else is never taken for ours. Errors before
exec end in the child's log and exit code 127.
"""

import json
import os
import sys

import cgroups
import syscalls

NODE_NAMESPACES = (syscalls.CLONE_NEWNS | syscalls.CLONE_NEWNET |
                   syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWIPC)


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
            # node's root where pivot_root was not possible.
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


def redirect(path):
    """stdin from /dev/null, stdout and stderr appended to `path`."""
    null = os.open("/dev/null", os.O_RDONLY)
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)


def host_pid():
    """The caller's pid as the host counts. /proc is the host's until a node's
    root is entered, and the link says what that mount sees."""
    return int(os.readlink("/proc/self"))


def spawn(namespaces, flags, argv, environment, log, groups=()):
    """Start `argv` as a session leader in `namespaces`; (pid, record)."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            redirect(log)
            cgroups.join(groups)
            os.write(write_end, b"%d" % host_pid())
            os.close(write_end)
            namespaces.enter(flags)
            os.execvpe(argv[0], argv, environment)
        except BaseException as error:
            print(f"minicluster: {argv[0]}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(127)
    os.close(write_end)
    with open(read_end) as file:
        return pid, identity(int(file.read() or 0))


def capture(namespaces, flags, argv, environment):
    """Run `argv` in `namespaces`; (exit code, standard output)."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            redirect("/dev/null")
            os.dup2(write_end, 1)
            namespaces.enter(flags)
            os.execvpe(argv[0], argv, environment)
        finally:
            os._exit(127)
    os.close(write_end)
    with open(read_end) as file:
        output = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), output


def save_pids(plan, pids):
    """`pids` maps a node's short name to {role: record}."""
    temporary = plan.path("pids.json.new")
    with open(temporary, "w") as file:
        json.dump(pids, file, indent=1)
    os.replace(temporary, plan.path("pids.json"))


def load_pids(directory):
    try:
        with open(os.path.join(directory, "pids.json")) as file:
            return json.load(file)
    except FileNotFoundError:
        return {}
