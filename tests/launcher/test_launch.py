"""pinstep-launch's command line, and what it does outside Slurm."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import BUILD


@pytest.mark.parametrize("arguments", [
    [], ["--dry-run"], ["--dry-run", "--ranks=0"], ["--dry-run", "--ranks=2", "--", "true"], ["--ranks=2", "true"],
    ["--bind=some", "true"], ["--visible=none", "true"], ["--gpus-per-rank=x", "true"], ["--cpus=1-", "true"],
    ["--json=1", "true"], ["--bnid=none", "true"], ["--memory=local", "true"], ["--shape=round", "true"],
    ["--child", "--shape=rank", "true"], ["--child", "--env-spec=none", "true"], ["--strict=1", "true"],
])
def test_wrong_usage(launcher, arguments):
    done = launcher.run(*arguments)
    assert done.returncode == 2 and done.stderr.startswith("pinstep-launch: error: "), done


def test_a_slip_of_the_finger_is_named(launcher):
    assert "did you mean '--topology'?" in launcher.run("--toplogy=x", "true").stderr


@pytest.mark.parametrize("argument, hint", [
    ("--shape=round", "--shape=SHAPE how ranks are started: auto, rank, torchrun, spawn, none (auto)"),
    ("--memory=local",
     "--memory=preferred|bind|none memory of the cores' node: first, only, or as it comes (preferred)"),
    ("--nccl-topology=", "--nccl-topology=FILE where devices are, as NCCL's XML, where a hypervisor hides that"),
    ("--gpus-per-rank=x", "--gpus-per-rank=N GPUs of each rank"),
])
def test_a_wrong_value_is_answered_with_what_the_option_takes(launcher, argument, hint):
    said = launcher.run(argument, "--", "true")
    assert said.returncode == 2 and said.stderr.splitlines()[1] == f"pinstep-launch: hint: {hint}", said


def test_a_map_that_takes_too_long_says_so():
    """Its time is over as soon as the alarm that it has set comes, here by hand."""
    arguments = ["--dry-run", "--ranks=2", "--topology=synthetic:numa:100 core:200 pu:2"]
    launch = subprocess.Popen([BUILD / "bin/pinstep-launch", *arguments], text=True, stderr=subprocess.PIPE)
    children = Path(f"/proc/{launch.pid}/task/{launch.pid}/children")
    while not (child := children.read_text().split()):
        time.sleep(0.001)
    os.kill(int(child[0]), signal.SIGALRM)
    said = launch.communicate()[1]
    assert (launch.returncode, said) == (
        125, "pinstep-launch: error: pinstep-map took longer than 20 s, and was ended\n")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["--dry-run", "--ranks=2"],
                                       ["--dry-run", "--ranks=2", "--json"]], ids=" ".join)
def test_what_cannot_be_written_is_an_error(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run([BUILD / "bin/pinstep-launch", *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (
        125, "pinstep-launch: error: cannot write to standard output: No space left on device\n")
