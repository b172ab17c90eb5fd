"""Which ports processes hold. A socket that is bound and nothing more is in no table that `ss` or /proc
shows, so each socket of the process is asked itself, through a duplicate of its descriptor."""

import sys

# Run by root in the cluster, whose nodes see each other's processes.
SCRIPT = r'''
import ctypes, os, socket, sys
libc = ctypes.CDLL(None)
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        argv0 = open(f"/proc/{pid}/cmdline").read().partition("\0")[0]
        if not any(word in argv0 for word in sys.argv[1:]):
            continue
        process = os.pidfd_open(int(pid))
        descriptors = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        continue
    print("process", pid, argv0)
    for fd in descriptors:
        duplicate = libc.syscall(438, process, int(fd), 0)      # pidfd_getfd
        if duplicate < 0:
            continue
        try:
            one = socket.socket(fileno=duplicate)
            if one.family in (socket.AF_INET, socket.AF_INET6) and one.type == socket.SOCK_STREAM:
                state = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
                port = one.getsockname()[1]
                if state == 7 and port:                         # TCP_CLOSE: neither listening nor connected
                    print("held", pid, argv0, port)
        except OSError:
            os.close(duplicate)
'''


def held(cluster, *names):
    """(number of processes, ports they hold) of all processes whose title contains one of the names."""
    lines = cluster.run(sys.executable, "-c", SCRIPT, *names, user="root").ok().lines
    return (sum(line.startswith("process ") for line in lines),
            [int(line.rpartition(" ")[2]) for line in lines if line.startswith("held ")])
