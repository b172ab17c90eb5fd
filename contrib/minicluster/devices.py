"""Stand-ins for GPUs: device numbers that open without consequences.

Contract: `find` returns the (major, minor) pairs this machine offers, in a
fixed order of preference. They must differ from each other, since under device
constraint Slurm allows and denies by number; they must open for any user; and
a job must be able to do without them, since a device that was not allocated
to a job is denied to it under every name.
"""

import os
import stat

MEM_MAJOR = 1
MISC_MAJOR = 10
# From the least to the most missed by a job.
PREFERRED = ("full", "vga_arbiter", "vsock", "userfaultfd", "autofs",
             "loop-control", "tun", "hpet", "random", "zero")
# Fixed minors of the memory devices; those of misc devices are in /proc/misc.
MEM_MINORS = {"zero": 5, "full": 7, "random": 8}


def parse_misc(text):
    """/proc/misc → {name: minor}."""
    rows = (line.split() for line in text.splitlines())
    return {name: int(minor) for minor, name in rows}


def candidates(misc):
    for name in PREFERRED:
        if name in MEM_MINORS:
            yield (MEM_MAJOR, MEM_MINORS[name])
        elif name in misc:
            yield (MISC_MAJOR, misc[name])


def find(scratch):
    """Those candidates that open; tried as device node `scratch`."""
    with open("/proc/misc") as file:
        misc = parse_misc(file.read())
    return tuple(device for device in candidates(misc) if _opens(scratch, device))


def _opens(path, device):
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(*device))
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        return True
    except OSError:
        return False
    finally:
        os.unlink(path)
