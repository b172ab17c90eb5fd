"""An exception in any hook loses no job and no node: the plugin built with faults (tests/faults/)."""

import pytest

from cluster import BUILD, Wanted
from expect import PIN, assert_inside, assert_outside
from messages import sentence

CLUSTER = Wanted("plain", installed=True, more=("--plugin", BUILD / "tests/pinstep-faults.so"))
ACTIONS = ("exception", "other", "memory")


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("faulty")


@pytest.fixture
def fault(cluster):
    """fault(POINT, ACTION, NODES): the plugin fails there during this test."""
    yield lambda point, action, nodes: cluster.site_file("faults", f"{point} {action}\n", nodes)
    cluster.site_file("faults", None)


def jobs(cluster, prefix):
    """A batch job with a pin and a step, one without, and a step of each from the login node."""
    record = cluster.recorder()
    script = f"srun -N2 -n2 {record('{}')}; echo rc $?"
    with_pin = cluster.sbatch(script.replace("{}", "with"), "-N2", "-n2", f"--env-spec={prefix}")
    without = cluster.sbatch(script.replace("{}", "without"), "-N2", "-n2")
    step = cluster.srun("-N2", "-n2", f"--env-spec={prefix}", "echo", "ran")
    bare = cluster.srun("-N2", "-n2", "echo", "ran")
    return record, with_pin.wait(), without.wait(), step, bare


def test_deliberate_failure_is_seen(cluster, prefix, fault):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    fault("task_init", "exception", ["n0", "n1"])
    cluster.srun("-n1", f"--env-spec={prefix}", "true").ok()


def test_without_a_fault_all_is_well(cluster, prefix):
    record, with_pin, without, step, bare = jobs(cluster, prefix)
    assert with_pin.lines == ["rc 0"] and without.lines == ["rc 0"]
    assert step.lines == ["ran", "ran"] and bare.lines == ["ran", "ran"]
    for environment in record.of("with").values():
        assert_inside(environment, prefix)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("point", ["init", "user_init", "exit"])
def test_in_a_hook_of_root(cluster, prefix, fault, point, action):
    fault(point, action, ["n0", "n1"])
    record, with_pin, without, step, bare = jobs(cluster, prefix)
    assert with_pin.states() == ["COMPLETED"] and with_pin.lines == ["rc 0"]
    assert without.states() == ["COMPLETED"] and without.lines == ["rc 0"]
    assert (step.rc, step.lines) == (0, ["ran", "ran"]) and (bare.rc, bare.lines) == (0, ["ran", "ran"])
    assert sorted(record.of("with")) == [0, 1]
    for environment in record.of("without").values():
        assert_outside(environment)
    assert "pinstep: internal error in " + point in cluster.log("slurmd", cluster.nodes[0])


@pytest.mark.parametrize("action", ACTIONS)
def test_in_task_init(cluster, prefix, fault, action):
    """A task must not run without the environment it was submitted with."""
    fault("task_init", action, ["n0", "n1"])
    record, with_pin, without, step, bare = jobs(cluster, prefix)
    assert with_pin.states() == ["FAILED"] and with_pin.exit_code == "125:0" and record.of("with") == {}
    assert len(with_pin.lines) == 1 and ": internal error: " in with_pin.lines[0]
    assert step.rc in (125, 137) and step.out == ""
    assert without.lines == ["rc 0"] and bare.lines == ["ran", "ran"]


@pytest.mark.parametrize("action", ACTIONS)
def test_in_task_init_of_one_node(cluster, prefix, fault, action):
    """The tasks of the other node would wait for ever."""
    fault("task_init", action, ["n1"])
    step = cluster.srun("-N2", "--ntasks-per-node=4", f"--env-spec={prefix}", "sleep", "1000")
    assert sentence(step.err).startswith(f"pinstep: error: {cluster.nodes[1]}: internal error: ")
    assert step.rc == 137


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("point", ["init_post_opt", "option"])
def test_at_submission(cluster, prefix, fault, point, action):
    """What was asked for with an environment is not submitted without one; others do not notice."""
    fault(point, action, ["login"])
    for command in (["srun", f"--env-spec={prefix}", "echo", "ran"],
                    ["sbatch", f"--env-spec={prefix}", "--wrap", "echo ran"],
                    ["salloc", f"--env-spec={prefix}", "echo", "ran"]):
        result = cluster.run(*command)
        assert result.rc != 0 and result.out == "", result
    assert cluster.srun("echo", "ran").ok().out == "ran\n"
    assert cluster.sbatch("echo ran").ok().output == "ran\n"


@pytest.mark.parametrize("action", ACTIONS)
def test_in_init_at_submission(cluster, prefix, fault, action):
    """The option may not exist then, which srun says itself; others do not notice."""
    fault("init", action, ["login"])
    assert cluster.srun(f"--env-spec={prefix}", "true").rc != 0
    assert cluster.srun("echo", "ran").ok().out == "ran\n"


@pytest.mark.parametrize("action", ACTIONS)
def test_in_exit_at_submission(cluster, prefix, fault, action):
    fault("exit", action, ["login"])
    assert cluster.srun(f"--env-spec={prefix}", "printenv", PIN).ok().lines
    assert cluster.srun("echo", "ran").ok().out == "ran\n"
