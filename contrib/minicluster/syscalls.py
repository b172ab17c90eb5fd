"""Linux system calls that Python 3.11 does not offer: namespaces and mounts.

Contract: each function is one system call on the calling process, follows the
C prototype, and raises OSError with errno and the path it was about. Nothing
here decides anything.
"""

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18

MNT_DETACH = 2

PR_SET_PDEATHSIG = 1

# glibc has no wrapper for it, and its number differs between architectures.
_SYS_pivot_root = {"x86_64": 155, "aarch64": 41, "riscv64": 41, "ppc64le": 203}


def _check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def unshare(flags):
    _check(_libc.unshare(flags), "unshare")


def setns(fd, flags):
    """`fd` is a namespace's file, or a pidfd to enter all named in `flags` at once."""
    _check(_libc.setns(fd, flags), "setns")


def mount(source, target, kind="", flags=0, options=""):
    _check(_libc.mount(os.fsencode(source), os.fsencode(target),
                       kind.encode() or None, ctypes.c_ulong(flags),
                       options.encode() or None), target)


def umount(target, flags=0):
    _check(_libc.umount2(os.fsencode(target), flags), target)


def pivot_root(new_root, put_old):
    number = _SYS_pivot_root[os.uname().machine]
    _check(_libc.syscall(ctypes.c_long(number), os.fsencode(new_root),
                         os.fsencode(put_old)), new_root)


def die_with_parent(signal_number):
    """Ask for `signal_number` when the parent dies; cleared by a change of uid."""
    _check(_libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(signal_number)), "prctl")
