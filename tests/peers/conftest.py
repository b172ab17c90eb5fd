"""Programs of others that read and write what pinstep does, each in a venv that is made when it is first needed."""

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests/envtools"))

from shared_fixtures import solver, testdata     # noqa: E402,F401

# With this date the index gives the same packages at any time.
CONDA_LOCK, AS_OF = "conda-lock==4.0.3", "2026-11-15"


@pytest.fixture(scope="session")
def conda_lock(solver):     # noqa: F811
    """The program. The index of Python packages must be reachable, or its packages in uv's cache."""
    venv = TOP / "build/peers" / CONDA_LOCK
    program, python = venv / "bin/conda-lock", venv / "bin/python"
    if not program.exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", "--without-pip", venv], check=True)
        subprocess.run([next(solver.glob("*/bin/uv")), "pip", "install", "--quiet", "--only-binary", ":all:",
                        "--exclude-newer", AS_OF, "--python", python, CONDA_LOCK], check=True)
    return program
