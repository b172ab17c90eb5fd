"""Fixtures that the tests of other directories take from here as well."""

import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PINSTEP_TEST_BUILD", TOP / "build"))
PINSTEP = BUILD / "bin/pinstep"
WHEELS = TOP / "build/wheels"     # of the solver


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
