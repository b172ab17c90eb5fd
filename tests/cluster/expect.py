"""What the environment of a task should and should not hold."""

import re

PIN = "SLURM_SPANK_PINSTEP_ENV"

RANK_NAMES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK")
RENDEZVOUS_NAMES = ("MASTER_ADDR", "MASTER_PORT", *RANK_NAMES)
OURS = re.compile(r"PINSTEP_|SLURM_PINSTEP_|SLURM_SPANK_PINSTEP|PET_|NNODES$|CONDA_PREFIX$|PYTHONNOUSERSITE$|"
                  + "|".join(f"{name}$" for name in RENDEZVOUS_NAMES))


def ours(environment):
    """The variables that only pinstep sets, as far as tests do not."""
    return {name: value for name, value in environment.items() if OURS.match(name)}


def assert_inside(environment, prefix):
    assert environment["PATH"].split(":")[0] == prefix.bin
    assert environment["PATH"].split(":").count(prefix.bin) == 1
    assert environment["CONDA_PREFIX"] == prefix.path
    assert environment["PINSTEP_STEP_PREFIX"] == prefix.path
    assert environment["PINSTEP_STEP_ENV"] == "-"
    assert environment["PYTHONNOUSERSITE"] == "1"


def assert_outside(environment, of=None):
    assert ours(environment) == {}
    if of:
        assert of.bin not in environment.get("PATH", "")


def assert_no_rendezvous(environment):
    found = [name for name in environment if name in RENDEZVOUS_NAMES or name.startswith("PET_")]
    assert found == []


def rendezvous(environment):
    """The rank shape's numbers, in the order of RANK_NAMES."""
    return tuple(int(environment[name]) for name in RANK_NAMES)
