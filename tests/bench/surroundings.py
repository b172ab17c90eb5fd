"""What a figure depends on besides the program: printed with every one."""

import os
import platform
import re
import subprocess


def describe(top, build, work):
    """{what: text} of this machine, and of the file system that `work` is on."""
    return {
        "pinstep": _first_line(f"{build}/bin/pinstep-launch", "--version") + _commit(top),
        "Slurm": _first_line("/usr/sbin/slurmd", "-V"),
        "system": f"Linux {platform.release()}, {' '.join(platform.libc_ver())}, Python {platform.python_version()}",
        "processor": f"{_processor()}, {len(os.sched_getaffinity(0))} of {os.cpu_count()} usable",
        "BLAS": _blas(f"{build}/bin/pinstep-worker"),
        "threads": ", ".join(f"{name}={os.environ.get(name, '-')}"
                             for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")),
        "file system": _file_system(work),
        "cache": "warm: each side runs once before it is measured",
    }


def load():
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def _output(*argv):
    try:
        return subprocess.run(argv, text=True, capture_output=True).stdout
    except OSError:
        return ""


def _first_line(*argv):
    return (_output(*argv).splitlines() or ["-"])[0]


def _commit(top):
    commit = _output("git", "-C", str(top), "describe", "--always", "--dirty").strip()
    return f", commit {commit}" if commit else ""


def _processor():
    with open("/proc/cpuinfo") as file:
        found = re.search(r"^model name\s*: (.*)", file.read(), re.MULTILINE)
    return found[1] if found else platform.machine()


def _blas(program):
    """The library that the loader gives the program."""
    found = re.search(r"=> (\S*blas\S*)", _output("ldd", program))
    return os.path.realpath(found[1]) if found else "-"


def _file_system(path):
    path = os.path.realpath(path) + "/"
    with open("/proc/self/mounts") as file:
        mounts = [line.split()[1:3] for line in file]
    place, kind = max((mount for mount in mounts if path.startswith(mount[0].rstrip("/") + "/")),
                      key=lambda mount: len(mount[0]))
    return f"{kind} at {place}"
