"""Who says what went wrong in a step, in which words, and with which exit code the step ends.

A step error follows from what the user and Slurm say, so one task speaks for all; a node error from one
node's own files or ports, so each such node may speak once, and the step ends at once.
"""

import re

import pytest

from broken import NODE_ERRORS, Broken, on_nodes
from cluster import Wanted, wait_until
from expect import PIN
from messages import said, sentence
from prefixes import ACTIVATION

CLUSTER = Wanted("plain", plugin=True)

EIGHT = ("-N2", "--ntasks-per-node=4")


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("errors")


@pytest.fixture(scope="module")
def pin(cluster, prefix):
    """The pin of an environment that can be used."""
    return cluster.run("pinstep", "resolve", prefix).ok().out.strip()


@pytest.fixture
def attempt(cluster, pin):
    """attempt(*arguments): an srun that must fail. Its tasks would leave a file if they started."""
    record = cluster.recorder()

    def run(*arguments, program=None, text=pin, env=()):
        step = cluster.srun(*arguments, *(program or record.argv("ran")), env={PIN: text, **dict(env)})
        assert step.rc not in (0, 1), str(step)
        assert record.of("ran") == {}, "the program ran without its environment"
        return step

    return run


def test_deliberate_failure_is_seen(cluster, attempt):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    attempt(*EIGHT)


# ---- step errors

def test_an_empty_pin_is_none(cluster):
    """What `pinstep resolve none` prints."""
    step = cluster.srun("-n1", "printenv", "-0", "SLURM_SPANK_PINSTEP_ENV", env={"SLURM_SPANK_PINSTEP_ENV": ""}).ok()
    assert step.err == ""


@pytest.mark.parametrize("change, cause", [
    (lambda pin: "garbage", "the job's pin has no valid schema"),
    (lambda pin: pin.replace(";lock=-", ""), "the job's pin has no valid field 'lock'"),
    (lambda pin: pin.replace(" - /", " - "), "the job's pin has no valid field 'env'"),
    (lambda pin: pin + "x" * 5000, "the job's pin is longer than 4096 bytes"),
    (lambda pin: pin + "\n", "the job's pin holds bytes that are not printable ASCII"),
    (lambda pin: "2" + pin[1:], "the job was submitted by a newer pinstep (pin schema 2, this one reads 1)"),
    (lambda pin: pin.replace("env=linux-", "env=other-"), "the job's environment is pinned for other-"),
], ids=["garbage", "field", "relative", "long", "unprintable", "schema", "platform"])
def test_a_pin_that_cannot_be_used(attempt, pin, change, cause):
    step = attempt(*EIGHT, text=change(pin))
    assert sentence(step.err).startswith(f"pinstep: error: {cause}")
    assert step.rc == 125


@pytest.mark.parametrize("variable, value, theirs", [
    ("RANK", "0", "it differs from task to task"),
    ("RANK", "3", "it differs from task to task"),
    ("LOCAL_RANK", "0", "it differs from task to task"),
    ("WORLD_SIZE", "2", "it is 8"),
    ("LOCAL_WORLD_SIZE", "8", "it is 4"),
])
def test_a_variable_that_contradicts_the_step(attempt, variable, value, theirs):
    step = attempt(*EIGHT, env={variable: value})
    said = sentence(step.err)
    assert re.fullmatch(rf"pinstep: error: {variable}={value} is set in the environment, and in step \d+\.0 "
                        rf"{theirs} \(unset {variable}\)", said)
    assert step.rc == 125


def test_a_port_that_is_none(attempt):
    step = attempt(*EIGHT, env={"MASTER_PORT": "http"})
    assert sentence(step.err).startswith("pinstep: error: MASTER_PORT=http is not a port (")
    assert step.rc == 125


def test_torchrun_with_several_tasks_on_a_node(cluster, attempt):
    torchrun = cluster.write("/home/alice/errors-bin/torchrun", "#!/bin/sh\ntouch ~/torchrun-ran\n", mode=0o755)
    step = attempt(*EIGHT, program=[torchrun])
    assert re.fullmatch(r"pinstep: error: a program that starts the ranks of its node itself needs one task per node, "
                        r"and step \d+\.0 has 8 tasks on 2 nodes \(add --ntasks=2 --ntasks-per-node=1\)",
                        sentence(step.err))
    assert step.rc == 125
    assert not (cluster.home() / "torchrun-ran").exists()


def test_a_step_error_inside_a_job_is_the_steps_alone(cluster, prefix):
    job = cluster.sbatch("RANK=0 srun true 2>err; echo $?; grep -c ^pinstep: err\nsrun -N1 -n1 true; echo $?",
                         *EIGHT, f"--env-spec={prefix}").ok()
    assert job.lines == ["125", "1", "0"]


# ---- node errors

@pytest.fixture(scope="module")
def broken(cluster):
    return Broken(cluster)


@pytest.mark.parametrize("name", NODE_ERRORS)
def test_a_prefix_that_no_node_can_use(cluster, attempt, broken, pin, prefix, name):
    path, cause = broken(name)
    step = attempt(*EIGHT, text=pin.replace(prefix.path, path))
    nodes = [re.match(r"pinstep: error: (\w+): (.*)", line).groups() for line in said(step.err)]
    assert nodes and all(text.startswith(cause) for _, text in nodes), str(step)
    assert len(nodes) == len({node for node, _ in nodes}) and {node for node, _ in nodes} <= set(cluster.nodes)
    # Each node has the step ended; whether a task is gone by itself before that is a race without a loser.
    assert step.rc in (125, 137)
    assert step.seconds < 5


@pytest.mark.parametrize("name", ["absent", "corrupt", "untrusted"])
def test_a_node_error_in_a_step_of_one_node(cluster, attempt, broken, pin, prefix, name):
    path, cause = broken(name)
    step = attempt("-N1", "-n4", "-w", cluster.nodes[1], text=pin.replace(prefix.path, path))
    assert sentence(step.err).startswith(f"pinstep: error: {cluster.nodes[1]}: {cause}")
    assert step.rc == 125


@pytest.mark.parametrize("there, absent", [("n0", 1), ("n1", 0)])
def test_a_prefix_that_is_absent_on_one_node_of_two(cluster, pin, prefix, there, absent):
    """The other node's tasks have started: they must not wait for those that never will."""
    path = on_nodes(cluster, f"only-{there}", there)
    seconds = []
    for _ in range(3):      # the machine may have been busy once
        step = cluster.srun(*EIGHT, "sleep", "1000", env={PIN: pin.replace(prefix.path, path)})
        assert sentence(step.err).startswith(
            f"pinstep: error: {cluster.nodes[absent]}: cannot open '{path}/{ACTIVATION}': No such file or directory "
            "(does this node see the file system it is on")
        assert step.rc == 137
        seconds.append(step.seconds)
        if step.seconds < 2:
            break
    assert min(seconds) < 2


def test_an_error_of_the_operating_system_ends_the_step(cluster, attempt, pin, prefix):
    """It may be one task's own, so that even on one node the others cannot be left waiting."""
    for where in (EIGHT, ("-N1", "-n4")):
        step = attempt(*where, text=pin.replace(prefix.path, "/" + "x" * 300))
        lines = said(step.err)
        assert 1 <= len(lines) <= (2 if where is EIGHT else 1), str(step)
        assert all(re.match(r"pinstep: error: \w+: cannot open '/xxx.*': File name too long", line) for line in lines)
        assert step.rc == 137


def test_a_node_error_in_one_component_of_a_heterogeneous_step_ends_all(cluster, pin, prefix):
    path = on_nodes(cluster, "only-first", "n0")
    a, b = cluster.nodes
    step = cluster.srun("-N1", "-n2", "-w", a, "sleep", "1000", ":", "-N1", "-n2", "-w", b, "sleep", "1000",
                        env={PIN: pin.replace(prefix.path, path)})
    lines = [line for line in said(step.err) if not line.startswith("slurmstepd")]
    assert len(lines) == 1 and lines[0].startswith(f"pinstep: error: {b}: cannot open '{path}/"), str(step)
    assert step.rc == 137


@pytest.fixture
def allocation(cluster):
    """A job without steps; srun on the login node starts them, so that their ports are derived."""
    job = cluster.sbatch("sleep 1000", *EIGHT)
    wait_until(lambda: job.states() == ["RUNNING"], "the job runs")
    yield job.id
    cluster.run("scancel", str(job.id)).ok()
    job.wait()


def test_a_foreign_listener_on_the_derived_port(cluster, allocation, pin):
    overlap = (f"--jobid={allocation}", "--overlap")
    first = cluster.srun(*overlap, "-N1", "-n1", "printenv", "MASTER_PORT", env={PIN: pin}).ok()
    port = 16384 + (int(first.out) - 16384 + 1) % 12288         # launcher/rendezvous/rendezvous.h
    listen = f"import socket, time; s = socket.create_server(('', {port})); print('ready', flush=True); time.sleep(60)"
    stranger = cluster.start("python3", "-c", listen, user="bob", node=cluster.nodes[0])
    try:
        assert stranger.stdout.readline() == "ready\n"
        step = cluster.srun(*overlap, *EIGHT, "sh", "-c", "echo $SLURM_NODEID; sleep 1000", env={PIN: pin})
    finally:
        stranger.terminate()
        stranger.communicate()
    assert sentence(step.err).startswith(
        f"pinstep: error: {cluster.nodes[0]}: port {port} is taken by another program (")
    assert step.rc == 137
    assert set(step.lines) <= {"1"}, "only tasks of the other node may have started"


# ---- batch steps

def test_a_batch_step_that_cannot_be_prepared_fails_its_job(cluster, pin):
    """What was right at submission is not any more when the job starts."""
    going = cluster.prefix("going")
    submitted = {
        "prefix": cluster.sbatch("touch ~/ran-prefix", "--hold", *EIGHT, f"--env-spec={going}"),
        "array": cluster.sbatch("touch ~/ran-array", "--hold", "--array=1-2", f"--env-spec={going}"),
        "pin": cluster.sbatch("touch ~/ran-pin", f"--export=ALL,{PIN}=garbage"),
    }
    cluster.path(going.activation).unlink()
    for job in submitted.values():
        cluster.run("scontrol", "release", str(job.id)).ok()
    for name, job in submitted.items():
        assert set(job.wait().states()) == {"FAILED"}, str(job)
        assert job.exit_code == "125:0"
        assert not (cluster.home() / f"ran-{name}").exists()
    for output in (submitted["prefix"].output, *(submitted["array"].output_of(f"{submitted['array'].id}_{i}")
                                                 for i in (1, 2))):
        assert re.fullmatch(rf"pinstep: error: ({'|'.join(cluster.nodes)}): cannot open '{going.activation}': "
                            r"No such file or directory \(does this node see [^\n]*\)\n", output)
    assert submitted["pin"].output == "pinstep: error: the job's pin has no valid schema (submit the job again)\n"
