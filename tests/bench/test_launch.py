"""What pinstep-launch costs in front of a program."""

import os
import shutil
from pathlib import Path

import pytest

from conftest import BUILD
from paired import compare
from processes import Starts

LAUNCH = str(BUILD / "bin/pinstep-launch")
MAP = str(BUILD / "libexec/pinstep/pinstep-map")
TRUE = "/bin/true"
MOST_MILLISECONDS = 2.0     # of CPU time, added to a rank
MOST_KIB = 8 * 1024         # of memory, of a rank before its program begins
MOST_MAP_MILLISECONDS = 60  # of CPU time, once per node and step


class Step:
    """The variables of one step's tasks on a node, as srun gives them; its map is cached by the first launch."""

    number = 0

    def __init__(self, ranks):
        Step.number += 1
        self.job, self.ranks = 900_000_000 + os.getpid(), ranks
        self.environment = {
            "PATH": "/usr/bin:/bin", "SLURM_CLUSTER_NAME": "bench", "SLURM_JOB_ID": str(self.job),
            "SLURM_STEP_ID": str(Step.number), "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0",
            "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_NUM_TASKS": str(ranks), "SLURM_STEP_NODELIST": "node",
            "SLURMD_NODENAME": "node", "SLURM_STEP_TASKS_PER_NODE": str(ranks),
            "SLURM_GTIDS": ",".join(map(str, range(ranks)))}


@pytest.fixture(scope="module", autouse=True)
def no_maps_left():
    yield
    for place in ("/dev/shm", "/tmp"):
        for directory in Path(place, f"pinstep-{os.getuid()}").glob(f"bench.{900_000_000 + os.getpid()}.*"):
            shutil.rmtree(directory)


def starts(argv, step, **how):
    return Starts(BUILD, argv, step.environment, **how)


def test_deliberate_failure_is_seen(figures):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    step = Step(1)
    compare("results differ", starts([TRUE], step).side("true"), starts(["/bin/false"], step).side("false"), "ms")


def test_a_rank_with_a_cached_map(figures):
    step = Step(1)
    launch = starts([LAUNCH, "--", TRUE], step)
    found = figures.add(compare("one rank", starts([TRUE], step).side("true"), launch.side("pinstep-launch -- true"),
                                "ms"))
    figures.value("most memory of pinstep-launch -- true", launch.most_kib, "KiB", MOST_KIB)
    assert launch.most_kib <= MOST_KIB
    assert not found.is_conclusive or found.difference.high <= MOST_MILLISECONDS
