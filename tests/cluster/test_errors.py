"""What goes wrong when a step starts: one sentence, exit code 125, the step over at once, no node drained
(which conftest checks after every test)."""

import re
import time

import pytest

from cluster import Wanted, wait_until
from expect import PIN

CLUSTER = Wanted("plain", plugin=True)


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("errors")


@pytest.fixture(scope="module")
def pin(cluster, prefix):
    return cluster.run("pinstep", "resolve", prefix).ok().out.strip()


def said(text):
    """The lines that pinstep printed."""
    return [line for line in text.splitlines() if line.startswith("pinstep:")]


def node_error(text):
    """{node: message} of the node errors in what was printed; every line must be one."""
    found = [re.fullmatch(r"pinstep: error: (\w+): (.*)", line) for line in said(text)]
    assert all(found), text
    nodes = [match.group(1) for match in found]
    assert len(set(nodes)) == len(nodes), f"more than one line of a node:\n{text}"
    return dict(match.groups() for match in found)


# ---- step errors: the same for all tasks, rank 0 tells

STEP_ERRORS = {
    "no pin at all": ({PIN: "nonsense"}, "pin"),
    "an empty pin": ({PIN: ""}, "pin"),
    "a newer pin": (lambda pin: {PIN: "2" + pin[1:]}, "2"),
    "a broken pin": (lambda pin: {PIN: pin.replace("env=linux", "env= linux")}, "pin"),
    "a pin of another platform": (lambda pin: {PIN: re.sub("env=linux-[^ ]*", "env=linux-s390x", pin)}, "linux-"),
    "another rank": (lambda pin: {PIN: pin, "RANK": "3"}, "RANK=3"),
    "another size": (lambda pin: {PIN: pin, "WORLD_SIZE": "7"}, "WORLD_SIZE=7"),
    "no port": (lambda pin: {PIN: pin, "MASTER_PORT": "http"}, "MASTER_PORT=http"),
    "too many tasks for torchrun": (lambda pin: {PIN: pin.replace("shape=auto", "shape=torchrun")}, "--ntasks-per-node=1"),
}


@pytest.mark.parametrize("error", STEP_ERRORS)
def test_a_step_error_is_one_line(cluster, pin, error):
    environment, part = STEP_ERRORS[error]
    environment = environment(pin) if callable(environment) else environment
    result = cluster.srun("-N2", "--ntasks-per-node=4", "sh", "-c", "echo started", env=environment)
    assert result.rc == 125, result
    (line,) = said(result.err)
    assert line.startswith("pinstep: error: ") and part in line, result
    assert "started" not in result.out


def test_a_step_error_in_a_batch_script(cluster, prefix):
    job = cluster.sbatch("export WORLD_SIZE=5; srun -N2 --ntasks-per-node=4 true; echo rc $?; unset WORLD_SIZE\n"
                         "srun -N2 -n2 echo ran", "-N2", "--ntasks-per-node=4", f"--env-spec={prefix}").ok()
    assert len(said(job.output)) == 1 and "WORLD_SIZE=5" in said(job.output)[0]
    assert [line for line in job.lines if not line.startswith("pinstep:")] == ["rc 125", "ran", "ran"]


# ---- node errors: at most one line of each node, and the step is over

@pytest.fixture(scope="module")
def local(cluster):
    """Prefixes in /var/tmp, which every node has of its own; they are the same until a test changes one."""
    made = cluster.prefix("pattern")

    def make(name, nodes=("login", "n0", "n1")):
        path = f"/var/tmp/{name}"
        for node in nodes:
            cluster.run("sh", "-c", f"cp -r {made} {path} && sed -i 's|{made}|{path}|g' "
                        f"{path}/conda-meta/pinstep/activation", node=node).ok()
        return path

    return make


def start_step(cluster, path, program=("sleep", "60"), *options):
    result = cluster.srun("-N2", "--ntasks-per-node=4", f"--env-spec={path}", *options, *program)
    return result, node_error(result.err)


def test_a_prefix_missing_on_one_node_ends_the_step_in_2_s(cluster, local):
    path = local("missing", ["login", "n0"])
    result, messages = start_step(cluster, path)
    assert set(messages) == {cluster.nodes[1]} and path in messages[cluster.nodes[1]], result
    assert result.rc != 0 and result.seconds < 2, result


def test_a_prefix_missing_on_all_nodes(cluster, local):
    path = local("gone", ["login"])
    result, messages = start_step(cluster, path)
    # The step may be over before the other node gets to say so.
    assert messages and set(messages) <= set(cluster.nodes) and result.rc != 0, result


BROKEN = {
    "no activation file": ("echo nonsense >{}", "is not an activation file"),
    "empty": (": >{}", "is not an activation file"),
    "cut off": ("printf 'pinstep-activation 1 -\\nset A' >{}", "is cut off"),
    "newer": ("printf 'pinstep-activation 2 -\\n' >{}", "has version '2'"),
    "unknown record": ("printf 'pinstep-activation 1 -\\nsource A b\\0' >{}", "does not know"),
    "too large": ("head -c 2000000 /dev/zero >>{}", "1048576"),
    "a link": ("mv {0} {0}.real; ln -s {0}.real {0}", "link"),
    "a directory": ("rm {0}; mkdir {0}", ""),
    "not readable": ("chmod 000 {}", "ermission"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_prefix_on_one_node(cluster, local, what):
    command, part = BROKEN[what]
    path = local("broken-" + what.replace(" ", "-"))
    cluster.run("sh", "-c", command.format(f"{path}/conda-meta/pinstep/activation"), node="n1").ok()
    result, messages = start_step(cluster, path)
    assert set(messages) == {cluster.nodes[1]}, result
    assert part in messages[cluster.nodes[1]] and path in messages[cluster.nodes[1]]
    assert result.rc != 0 and result.seconds < 2, result


def test_a_prefix_of_somebody_untrusted(cluster, local):
    """A name that somebody else took on a node, as in a shared scratch directory without sticky bit."""
    path = local("untrusted", ["login", "n0"])
    made = cluster.prefix("bobs", user="bob")
    cluster.run("cp", "-r", made, path, node="n1", user="bob").ok()
    cluster.run("chmod", "-R", "a+rX", path, node="n1", user="bob").ok()
    result, messages = start_step(cluster, path)
    assert set(messages) == {cluster.nodes[1]} and "belongs to user 20002" in messages[cluster.nodes[1]], result
    assert result.rc != 0


def test_one_task_of_one_node(cluster, local):
    path = local("single", ["login"])
    result = cluster.srun("-N1", "-n1", f"--env-spec={path}", "true")
    assert result.rc == 125 and len(node_error(result.err)) == 1, result


def test_a_batch_step_whose_prefix_is_missing(cluster, local):
    path = local("batch", ["login"])
    job = cluster.sbatch("echo started", f"--env-spec={path}").wait()
    assert job.states() == ["FAILED"] and job.exit_code == "125:0"
    assert len(node_error(job.output)) == 1 and "started" not in job.output


# ---- submission: nothing is queued

@pytest.mark.parametrize("command", [["srun", "true"], ["sbatch", "--wrap", "true"], ["salloc", "true"]], ids=lambda c: c[0])
@pytest.mark.parametrize("spec, part", [("/nowhere", "/nowhere"), ("word", "word"), ("/etc/", "/etc"), ("", "")],
                         ids=["missing", "no path", "no prefix", "empty"])
def test_a_submission_that_cannot_work_is_refused(cluster, command, spec, part):
    before = cluster.console.ask("squeue", "--noheader", "--states=all", "--format=%i")
    result = cluster.run(command[0], f"--env-spec={spec}", *command[1:])
    assert result.rc == 1, result
    lines = said(result.err)
    assert lines and lines[0].startswith("pinstep: error: ") and part in lines[0], result
    assert cluster.console.ask("squeue", "--noheader", "--states=all", "--format=%i") == before


def test_components_of_a_het_job_cannot_differ(cluster, prefix):
    other = cluster.prefix()
    script = f"#!/bin/bash\n#SBATCH -n1 --env-spec={prefix}\n#SBATCH hetjob\n#SBATCH -n1 --env-spec={other}\n"
    components = ["-n1", f"--env-spec={prefix}", "true", ":", "-n1", f"--env-spec={other}", "true"]
    for result in (cluster.srun(*components), cluster.try_sbatch(script)):
        assert result.rc == 1 and len([line for line in said(result.err) if "error:" in line]) == 1, result
        assert str(prefix) in result.err and str(other) in result.err


def test_gpu_share_is_for_batch_jobs_with_an_environment(cluster, prefix):
    for command in (["srun", f"--env-spec={prefix}", "--env-gpu-share", "true"],
                    ["sbatch", "--env-gpu-share", "--wrap", "true"]):
        result = cluster.run(*command)
        assert result.rc == 1 and "--env-gpu-share" in said(result.err)[0], result


# ---- stalled steps

def test_a_step_that_ends_frees_its_nodes_at_once(cluster, local):
    """After a killed step the nodes take the next one without delay."""
    start_step(cluster, local("again", ["login", "n0"]))
    began = time.monotonic()
    cluster.srun("-N2", "-n2", "true").ok()
    wait_until(lambda: {state for state, _ in cluster.node_states().values()} == {"idle"}, "the nodes are idle")
    assert time.monotonic() - began < 3
