"""What `pinstep lock` costs around its solver."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import paired
from conftest import BUILD, TOP
from processes import Starts

sys.path += [str(TOP / "tests/envtools"), str(TOP / "tests/localchannel")]

from builds import Builder, made     # noqa: E402
from channels import record, write_channel     # noqa: E402

PINSTEP = str(BUILD / "bin/pinstep")
DIRECTLY = Path(__file__).with_name("solve_directly.py")
MOST_MILLISECONDS = 100     # of CPU time, added to a solve


@pytest.fixture(scope="module")
def solver():
    """The directory of the solver, as the tests of envtools have it."""
    directory = TOP / "build/solver"
    subprocess.run([PINSTEP, "setup", f"--dir={directory}", f"--from={TOP / 'build/wheels'}"], check=True,
                   env=os.environ | {"PATH": "/usr/bin:/bin"}, stdout=subprocess.DEVNULL)
    return directory


@pytest.fixture
def alice():
    with Builder() as builder:
        yield builder


class Solve(Starts):
    """One start a turn: it is a second's work, or half of it."""

    def __init__(self, argv, environment, found):
        super().__init__(BUILD, [shutil.which(argv[0]), *argv[1:]], environment, count=1)
        self._found = found

    def work(self):
        return paired.Portion(super().work().cost)

    def result(self):
        code, _, errors = super().result()
        assert code == 0, errors
        return self._found()


def sides(alice, solver, channel, specs):
    """py-rattler alone, and pinstep lock."""
    home = alice.home
    lock, answer = home / "environment-lock.yml", home / "answer.json"
    alice.write(".config/pinstep/config", f"channel.here={channel}\nsolver={solver}\n")
    alice.write("environment.yml", json.dumps({"channels": ["here"], "dependencies": specs}))
    shutil.copy(DIRECTLY, home)
    python = next(solver.glob("*/bin/python"))

    def of_answer():
        return sorted(digest for *_, digest in json.loads(answer.read_text()))

    def of_lock():
        return sorted(re.findall(r"^    sha256: '?([0-9a-f]{64})'?$", lock.read_text(), re.MULTILINE))

    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"}
    directly = alice.command(python, "-E", "-s", "-B", home / DIRECTLY.name, Path(channel).as_uri(), home / "cache", answer,
                             *specs)
    locking = alice.command(PINSTEP, "lock", "--update-all", home / "environment.yml")
    return (Solve(directly, environment, of_answer).side("py-rattler alone"),
            Solve(locking, environment, of_lock).side("pinstep lock"))


def holds(found):
    """Whether B costs at most the limit more than A, unless the machine was too busy to tell."""
    return not found.is_conclusive or found.difference.high <= MOST_MILLISECONDS


def test_deliberate_failure_is_seen(alice, solver):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    directly, _ = sides(alice, solver, made(), ["xz-that-is-not-there"])
    directly.result()


def test_a_small_environment(figures, alice, solver):
    directly, locking = sides(alice, solver, made(), ["torchvision", "numpy", "pip", "greet<2"])
    assert holds(figures.add(paired.compare("lock of the local channel", directly, locking, "ms")))


def test_a_large_environment(figures, alice, solver):
    """200 packages out of 4,000, each of which asks for three others."""
    records = [record(f"p{i:03}", f"1.{j}", "h0_0", [f"p{k:03} >=1.{j}" for k in range(i + 1, min(i + 4, 200))])
               for i in range(200) for j in range(20)]
    channel = write_channel(alice.home / "channel", *records)
    directly, locking = sides(alice, solver, channel, ["p000", "p001 >=1.5"])
    assert len(directly.result()) == 200
    assert holds(figures.add(paired.compare("lock of 200 packages", directly, locking, "ms")))
