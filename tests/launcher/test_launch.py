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
