"""Fixtures of the tests of pinstep's environment side: the built program, run as a user would.

`pinstep(…)` runs it with a home, caches, state and store of this test alone; nothing of the machine's user
gets in.
"""

import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PINSTEP_TEST_BUILD", TOP / "build"))
PINSTEP = BUILD / "bin/pinstep"
WHEELS = TOP / "build/wheels"     # of the solver


class User:
    """Somebody with a home directory, who runs pinstep in it."""

    def __init__(self, home):
        self.home = home
        self.variables = {"PATH": f"{PINSTEP.parent}:/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"}

    def run(self, *command, cwd=None, **variables):
        return subprocess.run([str(word) for word in command], cwd=cwd or self.home,
                              env={**self.variables, **variables}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="surrogateescape")

    def __call__(self, *arguments, **more):
        return self.run(PINSTEP, *arguments, **more)

    def write(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@pytest.fixture
def pinstep(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return User(home)


@pytest.fixture(scope="session")
def testdata():
    """The directory of packages, locks and specs; tests that use it are marked skips("no test data")."""
    return Path(os.environ["PINSTEP_TESTDATA"]).resolve()


@pytest.fixture(scope="session")
def solver():
    """The directory of the solver, made when it is first needed and kept between runs: solver=DIR.

    `make deps` has fetched its wheels.
    """
    directory = TOP / "build/solver"
    # Of the system's python, which every user may run.
    done = subprocess.run([PINSTEP, "setup", f"--dir={directory}", f"--from={WHEELS}"],
                          env=os.environ | {"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return directory
