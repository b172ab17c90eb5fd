"""Ranks of pinstep-worker, started as pinstep-launch would start them on one node."""

import json
import os
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PINSTEP_TEST_BUILD", TOP / "build"))
WORKER = BUILD / "bin/pinstep-worker"
MUTE = BUILD / "tests/pinstep-worker-mute"      # adds no gradients up
HALTS = BUILD / "tests/pinstep-worker-halts"    # stops itself where it is told to
TIMEOUT = 180           # seconds; for tests that hang, not for slow machines
ENDLESS = "--epochs=1000000"    # for runs that must last until the test ends them, however fast the machine


@dataclass(frozen=True)
class Ended:
    codes: list
    out: list           # text, by rank
    err: list
    seconds: float

    def ok(self):
        assert set(self.codes) == {0}, self
        return self

    @property
    def error(self):
        """Of the rank that says it: where several of a node find the same, the first one."""
        return next((text for text in self.err if text), "")

    def events(self, name):
        """Rank 0's JSON lines of this kind."""
        lines = [json.loads(line) for line in self.out[0].splitlines()]
        return [line for line in lines if line["event"] == name]

    @property
    def end(self):
        event, = self.events("end")
        return event


def hold_port():
    """A port that is kept free for the worker, as srun's plugin keeps it."""
    held = socket.socket()
    held.bind(("", 0))
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return held


class Ranks:
    def __init__(self, size, options, program=WORKER, verb="train", only=None, own=None, own_variables=None,
                 wrapper=(), **variables):
        """`only`: the ranks to start, all by default; `own` and `own_variables`: {rank: options or variables of
        its own}; `wrapper`: a command in front of each, or
        {rank: command}."""
        self.port = hold_port()
        self.began = time.monotonic()
        self.files = {}
        self.processes = {}
        self._environment = {"PATH": "/usr/bin:/bin", "WORLD_SIZE": size, "LOCAL_WORLD_SIZE": size,
                             "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": self.port.getsockname()[1]}
        self._variables, self._own_variables = variables, own_variables or {}
        self._command = [program, verb, *options]
        self._wrapper, self._own = wrapper, own or {}
        for rank in range(size) if only is None else only:
            self.begin(rank)

    def begin(self, rank):
        environment = {**self._environment, "RANK": rank, "LOCAL_RANK": rank, **self._variables,
                       **self._own_variables.get(rank, {})}
        wrapper = self._wrapper[rank] if isinstance(self._wrapper, dict) else self._wrapper
        self.files[rank] = [tempfile.TemporaryFile("w+") for _ in range(2)]
        self.processes[rank] = subprocess.Popen(
            [*wrapper, *self._command, *self._own.get(rank, [])], stdin=subprocess.DEVNULL,
            stdout=self.files[rank][0], stderr=self.files[rank][1],
            env={name: str(value) for name, value in environment.items() if value is not None})

    def signal(self, rank, number):
        self.processes[rank].send_signal(number)
        self.began = time.monotonic()

    def text(self, rank, which=0):
        self.files[rank][which].seek(0)
        return self.files[rank][which].read()

    def wait_for(self, text, rank=0):
        deadline = time.monotonic() + TIMEOUT
        while text not in self.text(rank):
            assert self.processes[rank].poll() is None, self.text(rank, 1)
            assert time.monotonic() < deadline, f"rank {rank} does not say '{text}'"
            time.sleep(0.02)

    def wait_until_served(self):
        """Until rank 0 has its port; it does not mind strangers."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                return socket.create_connection(self.port.getsockname()).close()
            except ConnectionRefusedError:
                assert time.monotonic() < deadline, "rank 0 does not serve"
                time.sleep(0.02)

    def wait_until_met(self, rank):
        """Until this rank has a connection to rank 0's store; for a rank with a network of its own."""
        deadline = time.monotonic() + TIMEOUT
        port = f"{self.port.getsockname()[1]:04X}"
        while True:
            assert self.processes[rank].poll() is None, self.text(rank, 1)
            assert time.monotonic() < deadline, f"rank {rank} does not meet rank 0"
            rows = [line.split() for line in
                    Path(f"/proc/{self.processes[rank].pid}/net/tcp").read_text().splitlines()[1:]]
            if any(row[2].endswith(":" + port) and row[3] == "01" for row in rows):
                return
            time.sleep(0.01)

    def wait_until_connecting(self, rank):
        """Until this rank listens for others: rank 0 knows it by then."""
        deadline = time.monotonic() + TIMEOUT
        while not self._listens(self.processes[rank].pid):
            assert self.processes[rank].poll() is None, self.text(rank, 1)
            assert time.monotonic() < deadline, f"rank {rank} does not connect"
            time.sleep(0.02)

    @staticmethod
    def _listens(pid):
        inodes = set()
        for fd in Path(f"/proc/{pid}/fd").iterdir():
            try:
                inodes.add(os.readlink(fd))
            except FileNotFoundError:
                pass        # it was closed meanwhile
        try:
            rows = [line.split() for table in ("tcp", "tcp6")
                    for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]]
        except FileNotFoundError:
            return False        # it has ended
        return any(row[3] == "0A" and f"socket:[{row[9]}]" in inodes for row in rows)

    def wait(self, besides=()):
        """Waits for all ranks but some; the seconds count from the last signal, or the start."""
        waited = [rank for rank in self.processes if rank not in besides]
        try:
            for rank in waited:
                self.processes[rank].wait(TIMEOUT)
            seconds = time.monotonic() - self.began
        finally:
            self.kill()
        return Ended([self.processes[rank].returncode for rank in waited], [self.text(rank) for rank in waited],
                     [self.text(rank, 1) for rank in waited], seconds)

    def kill(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
                process.wait()
        self.port.close()
