"""Ranks that wait for a line on standard input and answer it with one: sides of a comparison that live through all
turns, while the other side sleeps."""

import json
import os
import socket
import subprocess

from paired import Portion, Side


class RanksOnDemand:
    def __init__(self, argv, size, until_ready=True, **variables):
        held = socket.socket()
        held.bind(("", 0))
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.held, self.told = held, []
        self.processes = [subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank),
                 "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1",
                 "MASTER_PORT": str(held.getsockname()[1]), "OMP_NUM_THREADS": "1",
                 "GLOO_SOCKET_IFNAME": "lo", **variables}) for rank in range(size)]
        try:
            if until_ready:
                self._wait_until_ready()
        except Exception:
            self.end()
            raise

    def _wait_until_ready(self):
        for process in self.processes:
            for line in process.stdout:
                if line == "ready\n":
                    break
                self.told.append(line.strip())
            else:
                raise RuntimeError(f"{process.args}: ended before it was ready, {self.told}")

    def ask(self, line):
        """The answers of all ranks."""
        for process in self.processes:
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
        return [json.loads(process.stdout.readline()) for process in self.processes]

    def all_lines(self):
        """What rank 0 prints until it ends, of ranks that want no questions."""
        return [json.loads(line) for line in self.processes[0].stdout]

    def side(self, name, line, result, cost=lambda answers: max(answer["seconds"] for answer in answers)):
        """Its cost is milliseconds, of the slowest rank; `result` makes something comparable of a first answer."""
        return Side(name, lambda: Portion(cost(self.ask(line)) * 1000), lambda: result(self.ask(line)))

    def peak_bytes(self):
        """The most memory that one of them had."""
        def of(pid):
            with open(f"/proc/{pid}/status") as file:
                return next(int(row.split()[1]) * 1024 for row in file if row.startswith("VmHWM"))
        return max(of(process.pid) for process in self.processes)

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()
        self.held.close()
