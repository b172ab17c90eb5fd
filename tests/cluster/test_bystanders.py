"""Steps without an environment on a cluster that has pinstep: nothing in them is ours."""

import pytest

from cluster import Wanted, wait_until
from expect import PIN, assert_outside
from sockets import held

CLUSTER = Wanted("plain", plugin=True)

EIGHT = ("-N2", "--ntasks-per-node=4")
OFFER = "SLURM_PINSTEP_OFFER"


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("bystanders")


@pytest.fixture(scope="module")
def pin(cluster, prefix):
    return cluster.run("pinstep", "resolve", prefix).ok().out.strip()


def test_a_step_without_a_pin_has_nothing_of_ours(cluster, prefix):
    """Also with an offer of another srun in its environment, and while the program pinstep is broken."""
    cluster.site_file("pinstep.conf", "pinstep = /home/alice/left-a-mark\n", ["login"])
    cluster.write("/home/alice/left-a-mark", "#!/bin/sh\ntouch ~/called\n", mode=0o755)
    stale = {OFFER: "1;node=n;addr=10.0.0.1;port=1234;entry=0;first="}
    try:
        for number, env in enumerate(({}, stale)):
            name, go = f"without{number}", cluster.home() / f"go{number}"
            record = cluster.recorder()
            step = cluster.start("srun", *EIGHT, "sh", "-c",
                                 f"{record('step')}; until test -e ~/{go.name}; do sleep 0.05; done", env=env)
            wait_until(lambda: len(record.of("step")) == 8, f"all tasks of {name} run")
            processes, ports = held(cluster, "srun", "slurmstepd")
            assert processes >= 4 and ports == [], "of srun, its child and two slurmstepd"
            go.touch()
            assert step.communicate() == ("", "") and step.returncode == 0
            for environment in record.of("step").values():
                assert_outside(environment, prefix)
                assert OFFER not in environment
    finally:
        cluster.site_file("pinstep.conf", None, ["login"])
    assert not (cluster.home() / "called").exists()


def test_a_held_port_is_found_where_there_is_one(cluster, pin):
    """Without this the test above would prove nothing."""
    step = cluster.start("srun", "-N1", "-n1", "sh", "-c", "until test -e ~/go-held; do sleep 0.05; done",
                         env={PIN: pin})
    ports = wait_until(lambda: held(cluster, "srun")[1], "srun holds a port")
    (cluster.home() / "go-held").touch()
    assert step.wait(20) == 0 and len(set(ports)) == 1
