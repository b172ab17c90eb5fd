"""contrib/slurm/task-prolog-guard by itself: what it does in which step. The cluster tests have it in a real one."""

import subprocess

import pytest

from manual import TOP

GUARD = TOP / "contrib/slurm/task-prolog-guard"
PIN = {"SLURM_SPANK_PINSTEP_ENV": "1;kind=foreign", "SLURM_JOB_ID": "12", "SLURMD_NODENAME": "n1"}
LINE = "print pinstep: error: n1: this node has no working pinstep plugin, so the job's environment is not there " \
       "(tell the site's administrators)\n"


def guard(title, **environment):
    """Runs it as the child of a process with that title. Exit code and output."""
    done = subprocess.run([title, "-c", '"$GUARD"; exit $?'], executable="/bin/sh", text=True, capture_output=True,
                          env={"GUARD": str(GUARD), **environment})
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.mark.parametrize("title, marker", [
    ("slurmstepd: [12.0]", "12.0"), ("slurmstepd: [12.17]", "12.17"), ("slurmstepd: [12.batch]", "12.batch"),
    ("slurmstepd: [12.interactive]", "12.interactive"),
    ("slurmstepd: [13.0]", "12.0"),                     # another component of a heterogeneous job
])
def test_a_prepared_task_passes(title, marker):
    assert guard(title, **PIN, PINSTEP_STEP_ID=marker) == (0, "")
    # In a batch step this is the step in which the job was submitted.
    assert guard(title, **PIN, PINSTEP_STEP_ID=marker, SLURM_STEP_ID="5") == (0, "")


@pytest.mark.parametrize("title, marker", [
    ("slurmstepd: [12.0]", None), ("slurmstepd: [12.0]", ""), ("slurmstepd: [12.1]", "12.0"),
    ("slurmstepd: [12.0]", "12.batch"), ("slurmstepd: [12.batch]", "11.batch"), ("slurmstepd: [12.batch]", "12.0"),
])
def test_a_task_that_nobody_prepared_fails(title, marker):
    marker = {} if marker is None else {"PINSTEP_STEP_ID": marker}
    assert guard(title, **PIN, **marker) == (1, LINE)
    assert guard(title, **PIN, **marker, SLURM_LOCALID="0") == (1, LINE)
    assert guard(title, **PIN, **marker, SLURM_LOCALID="1") == (1, "")


@pytest.mark.parametrize("step, marker, code", [("0", "12.0", 0), (None, "12.batch", 0), ("0", "12.batch", 1)])
def test_without_a_title_the_variable_counts(step, marker, code):
    step = {} if step is None else {"SLURM_STEP_ID": step}
    assert guard("sh", **PIN, **step, PINSTEP_STEP_ID=marker)[0] == code


def test_a_job_without_a_pin_passes():
    assert guard("slurmstepd: [12.0]", SLURM_JOB_ID="12") == (0, "")
    assert guard("slurmstepd: [12.0]", SLURM_JOB_ID="12", SLURM_SPANK_PINSTEP_ENV="") == (0, "")
