"""make quickstart: what it says has happened has happened, and a second time it only does what is new."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import time

import pytest

from conftest import BUILD, TOP, take_down

pytestmark = [pytest.mark.skips("no root"), pytest.mark.skips("no worker")]


def test_deliberate_failure_is_seen(first):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    assert "COMPLETED" not in first.said("job"), first.out


def inside(ran, command):
    """What alice sees in the cluster, by the printed command for a shell there."""
    done = subprocess.run(shlex.split(ran.commands()[0]), cwd=TOP, input=command, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def test_the_job_ran_on_several_nodes_to_its_end(first):
    number, nodes = re.fullmatch(r"(\d+), COMPLETED on (\S+)", first.said("job")).groups()
    assert re.fullmatch(r"c\d+n\[0-1\]", nodes)
    assert (first.project / f"slurm-{number}.out").read_text() in first.out.replace("   | ", "")


def test_it_ran_in_the_environment_that_is_named(first):
    identity = re.fullmatch(r"[0-9a-f]{64}", first.said("environment"))[0]
    prefix = first.said("prefix").partition(",")[0]
    assert prefix == f"/home/alice/.local/share/pinstep/e/{identity[:16]}"
    assert f"PyTorch 1.13.1 in {prefix}\n" in first.out
    assert inside(first, "pinstep resolve --json").count(identity) > 0


def test_root_makes_nothing_of_a_package(first):
    owners = {path.lstat().st_uid for top in ("site/solver", "home") for path in (first.directory / top).rglob("*")}
    assert owners == {20001, 20002}


def test_the_doctor_finds_nothing(first):
    said = inside(first, "pinstep doctor --nodes=$(sinfo --noheader --format=%N)")
    assert said.endswith("\n0 errors, 0 warnings\n"), said


def test_ranks_were_placed_and_trained(first):
    assert [len(re.findall(text, first.out)) for text in (r"map of c\d+n0:", r"map of c\d+n1:")] == [1, 1]
    assert len(re.findall(r"^ +ranks +c\d+n[01]: local rank 0 on cpu \d+, local rank 1 on cpu \d+$", first.out, re.MULTILINE)) == 2
    for name, enough in (("pinstep-worker", 0.84), ("PyTorch DDP", 0.84)):
        ranks, accuracy, speed = re.match(r"(\d) ranks, after epoch \d: loss \S+, accuracy (\S+), (\d+) samples/s",
                                          first.said(name)).groups()
        assert ranks == "4" and float(accuracy) >= enough and int(speed) > 0
    assert len(re.findall(r"epoch \d  loss \S+  accuracy \S+  \d+ samples/s", first.out)) == 5


def test_the_lock_lies_beside_the_spec(first):
    lock = first.said("lock").partition(":")[0]
    assert lock == str(first.project / "environment-lock.yml") and os.path.exists(lock)
    assert not list((TOP / "contrib/examples").rglob("*-lock.yml"))


def test_the_torchrun_variant_trains_the_same(first):
    # Not with --wait, which looks after 2, 4, 6 … seconds.
    said = inside(first, "sed -i 's/train_ddp.py/& --epochs=1/' train-torchrun.sbatch; "
                         "job=$(sbatch --parsable --env-spec=environment.yml --output=torchrun.out train-torchrun.sbatch); "
                         "while squeue --noheader --job=$job | grep -q .; do sleep 0.2; done; cat torchrun.out")
    assert re.search("^4 ranks on cpu", said, re.MULTILINE), said
    epoch = re.compile(r"epoch 1  loss (\S+)  accuracy (\S+)")
    assert epoch.findall(said) == epoch.findall(first.out)[1:]


def test_a_second_time_nothing_is_made_again(first, second):
    assert second.seconds < 120
    assert len(re.findall(r"\(there already\)$", second.out, re.MULTILINE)) == 3
    assert second.out.count("(running already)") == 1
    assert "solved" not in second.out and "built" not in second.out and "INSTALL" not in second.out
    assert second.said("environment") == first.said("environment")
    assert second.said("job") != first.said("job")


def test_what_the_user_has_changed_stays(second):
    kept = "kept as it is there, other than in contrib/examples: "
    assert "train.sbatch" in second.out.partition(kept)[2].splitlines()[0].split(", ")
    assert second.said("pinstep-worker").startswith("4 ranks, after epoch 1: ")


def test_home_and_environments_outlast_the_cluster(second):
    down = shlex.split(second.commands()[1])
    subprocess.run(down, cwd=TOP, check=True)
    assert not (second.directory / "cluster").exists()
    prefix = second.said("prefix").partition(",")[0]
    assert (second.directory / "home" / prefix.removeprefix("/home/") / "bin/python").exists()
    assert (second.project / "environment-lock.yml").exists()


@pytest.mark.parametrize("command, code", [(["make", "quickstart"], 2), ([TOP / "contrib/quickstart/quickstart"], 1)])
def test_who_is_not_root_is_told_in_a_line_what_to_type(command, code):
    done = subprocess.run(["unshare", "--user", "--map-user=1000", "--map-group=1000", *command], cwd=TOP, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1), done
    assert "sudo make quickstart" in done.stderr


@pytest.fixture
def elsewhere(work):
    yield work / "inter rupted"
    take_down(work / "inter rupted")


def test_after_an_interruption_it_goes_on(elsewhere):
    """^C while the submission builds the environment; the directory's name has a space."""
    command = [TOP / "contrib/quickstart/quickstart", "--dir", elsewhere, "--build", BUILD]
    run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           start_new_session=True)
    for line in run.stdout:
        if "alice$ sbatch" in line:
            break
    time.sleep(1)
    for _ in range(2):
        os.killpg(run.pid, signal.SIGINT)
    said, _ = run.communicate(timeout=60)
    assert run.returncode == 130 and "Traceback" not in said, said
    assert said.splitlines()[-1] == "quickstart: interrupted; started again, it goes on from what is there"
    assert "sbatch" not in subprocess.run(["ps", "-u", "20001", "-o", "args"], stdout=subprocess.PIPE, text=True).stdout
    again = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert again.returncode == 0, again.stdout
    shell, down = [line.strip() for line in again.stdout.splitlines()[-4:] if "minicluster" in line]
    for printed in (shell, down):
        words = shlex.split(printed)
        assert words[words.index("--dir") + 1] == os.path.relpath(elsewhere / "cluster", os.getcwd())


def test_wheels_that_a_umask_has_closed_are_opened(tmp_path):
    """And so are those that are fetched."""
    packaging = tmp_path / "contrib/packaging"
    packaging.mkdir(parents=True)
    for name in ("deps", "debian.list", "rhel.list"):
        shutil.copy(TOP / "contrib/packaging" / name, packaging)
    (tmp_path / "envtools/solver").mkdir(parents=True)
    (tmp_path / "envtools/solver/requirements.txt").write_text("")
    (tmp_path / "from/wheels").mkdir(parents=True)
    (tmp_path / "from/wheels/a.whl").write_text("")
    wheels = tmp_path / "build/wheels"
    (tmp_path / "build").mkdir()
    ensure = f"umask 077; DEPS_FROM={tmp_path}/from sh {packaging}/deps ensure cluster"
    for _ in range(2):
        subprocess.run(["sh", "-c", ensure], check=True)
        assert {oct(path.stat().st_mode & 0o777) for path in wheels.iterdir()} == {"0o644"}
        assert oct(wheels.stat().st_mode & 0o777) == "0o755"
        wheels.chmod(0o700)
        for path in wheels.iterdir():
            path.chmod(0o600)
