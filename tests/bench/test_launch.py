"""What pinstep-launch costs in front of a program."""

import os
import shutil
from pathlib import Path

import pytest

import big_node
import kernel_files
import paired
from conftest import BUILD
from processes import Starts

LAUNCH = str(BUILD / "bin/pinstep-launch")
MAP = str(BUILD / "libexec/pinstep/pinstep-map")
TRUE = "/bin/true"
RANKS = 16
MOST_MILLISECONDS = 2.0     # of CPU time, added to a rank
MOST_KIB = 8 * 1024         # of memory, of a rank before its program begins
MOST_MAP_MILLISECONDS = 60  # of CPU time, once per node and step
JOB = 900_000_000 + os.getpid()


class Step:
    """A step of so many ranks on one node, by the variables that srun gives its tasks. The first launch makes the map,
    for all that follow it is cached."""

    number = 0

    def __init__(self, ranks):
        self.ranks = ranks

    def environment(self):
        """Of a task of the next step."""
        Step.number += 1
        return {
            "PATH": "/usr/bin:/bin", "SLURM_CLUSTER_NAME": "bench", "SLURM_JOB_ID": str(JOB),
            "SLURM_STEP_ID": str(Step.number), "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0",
            "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_NUM_TASKS": str(self.ranks), "SLURM_STEP_NODELIST": "node",
            "SLURMD_NODENAME": "node", "SLURM_STEP_TASKS_PER_NODE": str(self.ranks),
            "SLURM_GTIDS": ",".join(map(str, range(self.ranks)))}


@pytest.fixture(scope="module")
def big_topology(work):
    path = work / "big-node.xml"
    path.write_text(big_node.xml())
    return f"--topology={path}"


@pytest.fixture(scope="module")
def big_kernel(work):
    """A root directory with the files of a kernel on such a node."""
    kernel_files.write(work / "root")
    return work / "root"


@pytest.fixture(scope="module")
def prefix(work):
    """An environment with the edits of a usual one."""
    directory = work / "prefix"
    file = directory / "conda-meta/pinstep/activation"
    file.parent.mkdir(parents=True, exist_ok=True)
    edits = [f"prepend PATH {directory}/bin", f"set CONDA_PREFIX {directory}", "set CONDA_SHLVL 1"]
    edits += [f"set VARIABLE_{number} value {number}" for number in range(40)]
    file.write_text("pinstep-activation 1 -\n" + "".join(edit + "\0" for edit in edits))
    return directory


@pytest.fixture(scope="module", autouse=True)
def no_maps_left():
    yield
    for place in ("/dev/shm", "/tmp"):
        for directory in Path(place, f"pinstep-{os.getuid()}").glob(f"bench.{JOB}.*"):
            shutil.rmtree(directory)


def compare(*arguments, **more):
    """With twice as many pairs as must be, A against A stays within its 5 % on a machine that others use too."""
    return paired.compare(*arguments, pairs=36, **more)


def starts(argv, environment, **how):
    return Starts(BUILD, argv, environment, **how)


def true(environment, **how):
    return starts([TRUE], environment, **how).side("true")


def holds(found, limit):
    """Whether B costs at most `limit` more than A, unless the machine was too busy to tell."""
    return not found.is_conclusive or found.difference.high <= limit


def test_deliberate_failure_is_seen(figures):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    environment = Step(1).environment()
    compare("results differ", true(environment), starts(["/bin/false"], environment).side("false"), "ms")


# ---- a rank, its map being there

@pytest.mark.parametrize("how", ["rendezvous and map", "environment, rendezvous and map"])
def test_a_rank(figures, prefix, how):
    environment = Step(1).environment()
    options = [f"--env-spec={prefix}"] if how.startswith("environment") else []
    launch = starts([LAUNCH, *options, "--", TRUE], environment)
    found = figures.add(compare(f"a rank, {how}", true(environment), launch.side("pinstep-launch -- true"), "ms"))
    figures.value(f"most memory of a rank, {how}", launch.most_kib, "KiB", MOST_KIB)
    assert launch.most_kib <= MOST_KIB and holds(found, MOST_MILLISECONDS)


def test_a_rank_of_sixteen_on_a_big_node(figures, big_topology):
    """The largest map, read by each."""
    environment = Step(RANKS).environment()
    launch = starts([LAUNCH, big_topology, "--", TRUE], environment)
    found = figures.add(compare("a rank of 16, map of 256 cores and 8 GPUs", true(environment),
                                launch.side("pinstep-launch -- true"), "ms"))
    figures.value("most memory of a rank of 16", launch.most_kib, "KiB", MOST_KIB)
    assert launch.most_kib <= MOST_KIB and holds(found, MOST_MILLISECONDS)


# ---- a node

def test_sixteen_ranks_at_once(figures, big_topology):
    """A whole step on a node: one of the ranks makes the map, the others wait for it."""
    step = Step(RANKS)

    def together(argv):
        return starts(argv, step.environment, count=RANKS, at_once=True)

    launch = together([LAUNCH, big_topology, "--", TRUE])
    found = figures.add(compare("each of 16 ranks at once, making the map included",
                                together([TRUE]).side("16 times true"), launch.side("16 times pinstep-launch -- true"),
                                "ms"))
    figures.value("CPU time that 16 ranks and their map add to a node", RANKS * found.difference.median, "ms",
                  RANKS * MOST_MILLISECONDS + MOST_MAP_MILLISECONDS)
    assert holds(found, MOST_MILLISECONDS + MOST_MAP_MILLISECONDS / RANKS)


def is_dealt_out(ranks, *lines):
    """What is compared with is a program that does nothing, so the result is judged by itself: a map of so many ranks
    with these lines."""
    def judge(_, made):
        code, text, errors = made
        found = text.decode().splitlines()
        return (code, errors, found[-1]) == (0, b"", "end") and {"off 0", "cores 256 0", *lines} <= set(found) \
            and sum(line.startswith("rank ") for line in found) == ranks
    return judge


def quiet_hwloc():
    """As pinstep-launch starts it (launcher/launch/map_program.cc)."""
    names = ("cuda", "opencl", "nvml", "rsmi", "levelzero", "gl", "pci")
    return {"PATH": "/usr/bin:/bin", "HWLOC_COMPONENTS": ",".join(f"-{name}" for name in names),
            "HWLOC_PLUGINS_BLACKLIST": ",".join(f"hwloc_{name}.so" for name in names)}


@pytest.mark.parametrize("ranks", [8, 16])
def test_making_the_map_of_a_big_node(figures, big_topology, ranks):
    environment = quiet_hwloc()
    making = starts([MAP, big_topology, f"--ranks={ranks}"], environment)
    found = figures.add(compare(f"pinstep-map of 256 cores, 8 GPUs, 10 cards, {ranks} ranks", true(environment),
                                making.side("pinstep-map"), "ms", same=is_dealt_out(ranks, "levels 0", "proven 1")))
    assert holds(found, MOST_MAP_MILLISECONDS)


def test_finding_out_what_a_big_node_has(figures, big_kernel):
    """From the kernel's files instead of XML: by far the larger part where the node is this one."""
    environment = {**quiet_hwloc(), "HWLOC_FSROOT": str(big_kernel)}
    making = starts([MAP, "--ranks=8"], environment, count=10)
    found = figures.add(compare("pinstep-map of the kernel's files of 256 cores and 8 GPUs",
                                starts([TRUE], environment, count=10).side("true"), making.side("pinstep-map"), "ms",
                                same=is_dealt_out(8)))
    assert holds(found, MOST_MAP_MILLISECONDS)
