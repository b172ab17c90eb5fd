"""Running a suite's program: its output into a log, its time limited."""

import os
import signal
import subprocess
import time
from collections import namedtuple

Done = namedtuple("Done", "code seconds timed_out")

# What pytest gets to end its clusters after an interrupt, before it is killed.
GRACE = 20


def run(argv, log, limit, environment, watch=lambda seconds: None):
    """Runs `argv` with output appended to the file `log`, for at most `limit` seconds. `watch` is
    called now and then with the seconds gone by. The code is negative for a signal, as in subprocess;
    127 when there is no such program."""
    began = time.monotonic()
    with open(log, "ab") as output:
        output.write(f"$ {' '.join(argv)}\n".encode())
        output.flush()
        try:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output,
                                     stderr=subprocess.STDOUT, env=environment,
                                     start_new_session=True)
        except OSError as error:
            output.write(f"{argv[0]}: {error.strerror}\n".encode())
            return Done(127, 0.0, False)
    try:
        timed_out = not _wait(child, began, limit, watch)
        if timed_out:
            _end(child)
    except BaseException:
        _end(child)
        raise
    finally:
        # Whatever the program left running in its session.
        _signal(child, signal.SIGKILL)
    return Done(child.returncode, time.monotonic() - began, timed_out)


def _wait(child, began, limit, watch):
    while True:
        gone = time.monotonic() - began
        try:
            child.wait(min(0.1, max(0.0, limit - gone)))
            return True
        except subprocess.TimeoutExpired:
            if gone >= limit:
                return False
            watch(gone)


def _end(child):
    """Interrupted first: pytest then ends its clusters and writes its report."""
    child.send_signal(signal.SIGINT)
    try:
        child.wait(GRACE)
    except subprocess.TimeoutExpired:
        _signal(child, signal.SIGKILL)
        child.wait()


def _signal(child, number):
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        pass
