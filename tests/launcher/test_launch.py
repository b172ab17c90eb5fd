"""pinstep-launch's command line, and what it does outside Slurm."""

import pytest


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
