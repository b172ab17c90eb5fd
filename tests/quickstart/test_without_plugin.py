"""The quickstart's job on a cluster that knows nothing of pinstep: all of it is in the user's home."""

import os
import re
import shutil
import subprocess

import pytest

from cluster import BUILD, Cluster, Wanted
from conftest import TOP
from job import Job

pytestmark = [pytest.mark.skips("no root"), pytest.mark.skips("no worker")]

HOME = "/home/alice"
PATH = f"{HOME}/.local/bin:/usr/bin:/bin"


@pytest.fixture(scope="module")
def cluster(work):
    channel = BUILD / "localchannel"
    subprocess.run([TOP / "contrib/localchannel/make-channel", "--output", channel], check=True, stdout=subprocess.DEVNULL)
    one = Cluster(work / "bare", Wanted(more=("--bind", f"{channel}:/srv/localchannel:ro")).arguments(None))
    yield one
    one.down()


def put(cluster, source, inside):
    """Copies files into alice's home, hers."""
    target = cluster.path(inside)
    cluster.directory_of(target.parent, "alice")
    shutil.copytree(source, target)
    for directory, directories, files in os.walk(target):
        for name in (directory, *(os.path.join(directory, name) for name in files)):
            cluster.own(name, "alice")


@pytest.fixture(scope="module")
def alice(cluster, work):
    """alice(COMMAND, …): her shell, when she has installed pinstep."""
    subprocess.run(["make", "--no-print-directory", "-C", TOP, "install", f"BUILD={os.path.relpath(BUILD, TOP)}",
                    f"DESTDIR={work}/stage"], check=True, stdout=subprocess.DEVNULL)
    (program,) = (work / "stage").rglob("bin/pinstep")
    put(cluster, program.parents[1], f"{HOME}/.local")
    shutil.rmtree(cluster.path(f"{HOME}/.local/lib"))       # the plugin
    put(cluster, TOP / "build/wheels", f"{HOME}/wheels")
    put(cluster, TOP / "contrib/examples/fashion-mnist", f"{HOME}/fashion-mnist")
    for script in cluster.path(f"{HOME}/fashion-mnist").glob("*.sbatch"):
        text = re.sub(" --epochs=.*", "", script.read_text())
        script.write_text(re.sub("train_ddp.py|pinstep-worker train", r"\g<0> --epochs=1", text))
    cluster.write(f"{HOME}/.config/pinstep/config", "channel.localchannel=file:///srv/localchannel\n")

    def run(*argv):
        return cluster.run(*argv, env={"PATH": PATH}, cwd=f"{HOME}/fashion-mnist", timeout=120)

    run("pinstep", "setup", f"--from={HOME}/wheels").ok()
    return run


def test_the_nodes_have_nothing_of_pinstep(cluster, alice):
    for node in ("login", *cluster.nodes):
        found = cluster.run("sh", "-c", "cat /etc/slurm/plugstack.conf; ls /etc/pinstep; ls -d /usr/local/bin/pinstep*",
                            node=node, user="root")
        assert found.out == "", found


def output(cluster, alice, script):
    """Of the job, when it has COMPLETED."""
    submitted = alice("pinstep", "sbatch", "--parsable", "--env-spec=environment.yml", script).ok()
    return Job(cluster, int(submitted.out), cluster.path(f"{HOME}/fashion-mnist")).ok().output


def test_the_same_job_trains(cluster, alice):
    said = output(cluster, alice, "train.sbatch")
    (prefix,) = re.findall(r"^4 ranks on cpu: PyTorch \S+ in (\S+)$", said, re.MULTILINE)
    assert prefix.startswith(f"{HOME}/.local/share/pinstep/e/")
    accuracies = [float(found) for found in re.findall(r"accuracy (\S+)", said)]
    assert len(accuracies) == 2 and min(accuracies) >= 0.84, said
    assert len(re.findall(r"^map of \S+:$", said, re.MULTILINE)) == 2


def test_torchrun_is_told_who_takes_part(cluster, alice):
    said = output(cluster, alice, "train-torchrun.sbatch")
    assert re.search("^4 ranks on cpu: PyTorch", said, re.MULTILINE), said


def test_without_the_worker_the_job_says_so_and_trains_with_pytorch(cluster, alice):
    """As with the programs of the binary archive."""
    cluster.path(f"{HOME}/.local/bin/pinstep-worker").unlink()
    said = output(cluster, alice, "train.sbatch")
    assert said.startswith("no pinstep-worker here: only PyTorch trains\n")
    assert len(re.findall(r"accuracy (\S+)", said)) == 1, said
