"""Starting the cluster's processes in its nodes.

Contract: what is started is entered in a record (see namespaces.py); errors
before exec end in the child's log and exit code 127.
"""

import json
import os
import sys

import cgroups
from namespaces import NODE_NAMESPACES, execute, identity

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


def spawn(namespaces, argv, environment, log, groups=()):
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
            namespaces.enter(NODE_NAMESPACES)
            execute(argv, environment)
        except BaseException as error:
            print(f"minicluster: {argv[0]}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(127)
    os.close(write_end)
    with open(read_end) as file:
        return pid, identity(int(file.read() or 0))


def capture(namespaces, argv, environment):
    """Run `argv` in `namespaces`; (exit code, standard output)."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            redirect("/dev/null")
            os.dup2(write_end, 1)
            namespaces.enter(NODE_NAMESPACES)
            execute(argv, environment)
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
