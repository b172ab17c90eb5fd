"""The reasons for which a test may be skipped: these and no others."""

import ctypes
import os

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x20000, 0x10000000, 0x20000000, 0x40000000
CGROUP_V1 = ("freezer", "cpuset", "devices")     # the controllers Slurm's plugins want


def given(reason, build):
    """`reason` with the details if it is given here, else None."""
    detail = _CHECKS[reason](build)
    return f"{reason}: {detail}" if detail else None


def of(text):
    """The reason in "REASON: details"."""
    return text.partition(":")[0]


def _root(_):
    if os.geteuid() != 0:
        return "only root can start a cluster"
    # A container's root may be root in name only.
    error = _error_of_unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET)
    return f"this root cannot make namespaces ({error})" if error else None


def _user_namespaces(_):
    return _error_of_unshare(CLONE_NEWUSER)


def _error_of_unshare(namespaces):
    """Asked in a child, which takes the namespaces away."""
    pid = os.fork()
    if pid == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        failed = libc.unshare(namespaces)
        os._exit(ctypes.get_errno() if failed else 0)
    error = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return os.strerror(error) if error else None


def _cgroup_v1(_):
    with open("/proc/self/mounts") as file:
        mounts = [line.split() for line in file]
    mounted = {option for _, _, kind, options, *_ in mounts if kind == "cgroup"
               for option in options.split(",")}
    absent = [name for name in CGROUP_V1 if name not in mounted]
    return f"{', '.join(absent)} not mounted" if absent else None


def _second_slurm(build):
    root = os.path.join(build, "slurm-24.11")
    return None if os.path.exists(f"{root}/usr/sbin/slurmd") else "make deps-slurm makes it"


def _gpu(_):
    return None if os.path.exists("/dev/nvidiactl") else "no NVIDIA driver"


def _fuse(_):
    try:
        os.close(os.open("/dev/fuse", os.O_RDWR))
    except OSError as error:
        return f"/dev/fuse: {error.strerror}"
    return None


def _test_data(_):
    path = os.environ.get("PINSTEP_TESTDATA")
    if not path:
        return "PINSTEP_TESTDATA is not set"
    return None if os.path.isdir(path) else f"'{path}' is no directory"


def _worker(build):
    if not os.path.exists(os.path.join(build, "bin/pinstep-worker")):
        return "it is not built: see ./configure's summary"
    data = "/usr/share/datasets/fashion-mnist"
    return None if os.path.isdir(data) else f"no data to train on in {data} (dataset-fashion-mnist)"


_CHECKS = {"no root": _root, "no cgroup v1": _cgroup_v1, "no second Slurm": _second_slurm,
           "no user namespaces": _user_namespaces, "no GPU": _gpu, "no FUSE": _fuse, "no test data": _test_data,
           "no worker": _worker}

REASONS = tuple(_CHECKS)
