"""The built program, and real machines' topologies."""

import json
import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PINSTEP_TEST_BUILD", TOP / "build"))


@pytest.fixture(scope="session")
def topologies():
    """The directory of real machines' topology files."""
    path = Path(os.environ.get("PINSTEP_TESTDATA", "/nonexistent")) / "topology"
    if not path.is_dir():
        pytest.skip(f"no test data: {path}")
    return path


class Launcher:
    def run(self, *arguments, **options):
        return subprocess.run([BUILD / "bin/pinstep-launch", *map(str, arguments)], text=True, capture_output=True,
                              **options)

    def text(self, *arguments):
        done = self.run("--dry-run", *arguments)
        assert (done.returncode, done.stderr) == (0, ""), done
        return done.stdout

    def map(self, *arguments):
        return json.loads(self.text("--json", *arguments))


@pytest.fixture(scope="session")
def launcher():
    return Launcher()
