"""What starting a program costs, as a side of a comparison: CPU milliseconds of one start."""

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from paired import Portion, Side


@dataclass
class Starts:
    """Starts `argv` so many times in a turn, one after the other or all at once. `environment` is one, or a function
    that gives one for each turn. `most_kib` is the largest peak of memory that a process had."""
    build: Path
    argv: list
    environment: dict | Callable[[], dict]
    count: int = 20
    at_once: bool = False
    most_kib: int = field(default=0, init=False)

    def side(self, name):
        return Side(name, self.work, self.result)

    def work(self):
        spawner = [self.build / "tests/spawn_cost-static", *(["--at-once"] if self.at_once else []), str(self.count)]
        done = subprocess.run([*spawner, *self.argv], env=self._variables(), text=True, capture_output=True)
        assert done.returncode == 0, f"{self.argv}: {done.stderr}"
        microseconds, kib = map(int, done.stdout.split())
        self.most_kib = max(self.most_kib, kib)
        return Portion(microseconds / 1000 / self.count, self.count)

    def result(self):
        done = subprocess.run(self.argv, env=self._variables(), capture_output=True)
        return done.returncode, done.stdout, done.stderr

    def _variables(self):
        return self.environment() if callable(self.environment) else self.environment
