"""`down`: end every process of a cluster and remove what it left on the host.

Contract: works from whatever state `up`, a crash or a kill left behind, and
does nothing where there is nothing. When it returns, no process, namespace,
mount, link or cgroup of the cluster exists; the directory is removed last.
"""

import contextlib
import fcntl
import os
import select
import shutil
import signal
import time

import cgroups
import namespaces
import plan as plans

# What a cluster's directory may hold; anything else is somebody's own.
OURS = ("plan.json", "plan.json.new", "pids.json", "pids.json.new", "init",
        "lock", "device", "log", "munge", "slurm", "nodes", "home")


class Stuck(Exception):
    """Something of the cluster would not go; the text is for the user."""


def save_init(plan, record):
    namespaces.save_record(plan.path("init"), record)


def load_init(directory):
    """The record of the cluster's init, or None if none was started."""
    return namespaces.load_record(os.path.join(directory, "init"))


def stop(directory):
    """Returns whether there was anything to stop."""
    try:
        plan = plans.load(directory)
    except FileNotFoundError:
        # Its directory may have been removed before its cgroups were.
        cgroups.remove(cgroups.find(directory))
        return remove_tree(directory)
    kill(plan)
    # Nobody holds the lock now, except an `up` that is dying: its init may
    # have been made after we looked.
    with _locked(directory):
        kill(plan)
        remove_tree(directory)
    return True


def remove_leftovers(directory):
    """What a cluster that died left in `directory`, whose lock we hold."""
    with contextlib.suppress(FileNotFoundError):
        kill(plans.load(directory))
        remove_tree(directory, keep=("lock",))


def kill(plan):
    """Kill init, and so everything, and remove the cgroups."""
    cgroups.thaw(plan.cgroups)
    record = load_init(plan.directory)
    if namespaces.alive(record):
        with contextlib.suppress(ProcessLookupError):
            _kill_and_wait(record[0])
    cgroups.remove(plan.cgroups)


def _kill_and_wait(pid):
    pidfd = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        # Readable when init is gone, which the kernel lets happen only after
        # every other process of its pid namespace.
        if not select.select([pidfd], [], [], 30)[0]:
            raise Stuck(f"the cluster's init, process {pid}, does not die")
    finally:
        os.close(pidfd)


@contextlib.contextmanager
def _locked(directory):
    fd = os.open(os.path.join(directory, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Stuck(f"'{directory}' is in use by another minicluster "
                                "command") from None
                time.sleep(0.02)
        yield
    finally:
        os.close(fd)


def remove_tree(directory, keep=()):
    """Remove what is ours, and the directory if nothing else is in it."""
    removed = False
    for name in OURS:
        if name in keep:
            continue
        path = os.path.join(directory, name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
        else:
            continue
        removed = True
    with contextlib.suppress(OSError):
        os.rmdir(directory)
    return removed
