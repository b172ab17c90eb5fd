"""Fixtures of the quickstart's tests: one whole quickstart, and a second one of what it left."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests/cluster"))
pytest.register_assert_rewrite("cluster", "job")

from cluster import BUILD       # noqa: E402

LIMIT = 300     # seconds, for one that hangs


@dataclass(frozen=True)
class Ran:
    directory: Path
    rc: int
    out: str
    seconds: float

    @property
    def project(self):
        return self.directory / "home/alice/fashion-mnist"

    def said(self, name):
        """The text behind a name in the report."""
        report = self.out.partition("== what has happened\n")[2].splitlines()
        (found,) = [line.strip().removeprefix(name).strip() for line in report if line.strip().startswith(name + " ")]
        return found

    def commands(self):
        """The last lines: (a shell in the cluster, taking it down)."""
        shell, down = [line.strip() for line in self.out.splitlines()[-4:] if "minicluster" in line]
        return shell, down


def make_quickstart(directory):
    began = time.monotonic()
    done = subprocess.run(["make", "quickstart", f"BUILD={os.path.relpath(BUILD, TOP)}", f"QUICKSTART={directory}"], cwd=TOP,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stdout
    return Ran(directory, done.returncode, done.stdout, time.monotonic() - began)


def take_down(directory):
    subprocess.run([TOP / "contrib/minicluster/minicluster", "down", "--dir", directory / "cluster"], check=True)


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    return Path(os.environ.get("PINSTEP_TEST_WORK") or tmp_path_factory.mktemp("quickstart"))


@pytest.fixture(scope="session")
def first(work):
    """Below a directory that only root may enter, as a home directory is."""
    private = work / "private"
    private.mkdir(mode=0o700)
    try:
        yield make_quickstart(private / "quickstart")
    finally:
        take_down(private / "quickstart")


@pytest.fixture(scope="session")
def second(first):
    """After the user has changed the script: one epoch each."""
    script = first.project / "train.sbatch"
    text = script.read_text()
    assert "--epochs=3" in text and "--epochs=2" in text
    script.write_text(text.replace("--epochs=3", "--epochs=1").replace("--epochs=2", "--epochs=1"))
    return make_quickstart(first.directory)
