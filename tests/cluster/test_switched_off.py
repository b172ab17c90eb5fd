"""/etc/pinstep/disable here and there, at a site that runs the TaskProlog guard, and settings that are wrong."""

import re

import pytest

from cluster import Cluster, Wanted, wait_until
from expect import PIN, assert_inside, assert_outside
from messages import assert_refused, said, sentence

GUARD = "task-prolog-guard"


@pytest.fixture(scope="module")
def cluster(work, stage):
    guard = ("--slurm-conf-line", f"TaskProlog={stage().find(GUARD)}")
    cluster = Cluster(work / "switched-off", Wanted("plain", plugin=True, more=guard).arguments(stage))
    yield cluster
    cluster.down()


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("switched-off")


@pytest.fixture
def site(cluster):
    """site(NAME, TEXT, NODES): a file of /etc/pinstep for the length of a test."""
    yield cluster.site_file
    for name in ("disable", "pinstep.conf"):
        cluster.site_file(name, None)


def complaint(node):
    return f"pinstep: error: {node}: this node has no working pinstep plugin, so the job's environment is not there"


# ---- switched off

@pytest.mark.parametrize("command", [["srun", "true"], ["sbatch", "--wrap", "true"], ["salloc", "true"]],
                         ids=lambda command: command[0])
def test_an_environment_is_refused_where_pinstep_is_switched_off(cluster, prefix, site, command):
    site("disable", "", ["login"])
    before = cluster.console.ask("scontrol", "--oneliner", "show", "jobs")
    assert_refused(cluster.run(command[0], f"--env-spec={prefix}", *command[1:]),
                   "pinstep is switched off on this host by /etc/pinstep/disable", "submit without --env-spec")
    assert cluster.console.ask("scontrol", "--oneliner", "show", "jobs") == before
    without = cluster.run(*command)
    assert without.rc == 0 and "pinstep" not in without.out + without.err


def test_switched_off_everywhere_nothing_is_ours(cluster, site):
    site("disable", "")
    record = cluster.recorder()
    job = cluster.sbatch(f"{record('batch')}; srun -n2 {record('step')}", "-N2", "-n2", "--env-spec=none")
    assert job.ok().output == ""
    for name in ("batch", "step"):
        for environment in record.of(name).values():
            assert_outside(environment)


def test_a_job_that_waited_while_pinstep_was_switched_off_fails_under_the_guard(cluster, prefix, site):
    job = cluster.sbatch("touch ran-switched-off", "--hold", f"--env-spec={prefix}")
    site("disable", "")
    cluster.run("scontrol", "release", str(job.id)).ok()
    assert job.wait().states() == ["FAILED"], job
    assert len(job.lines) == 1 and re.sub(r": \w+n\d: ", ": NODE: ", job.lines[0]).startswith(complaint("NODE")), job
    assert not (cluster.home() / "ran-switched-off").exists()


def test_one_node_of_two_is_switched_off(cluster, prefix, site):
    """The guard cannot end the other node's tasks; srun can, if it is told to."""
    site("disable", "", ["n1"])
    step = cluster.srun("-N2", "--ntasks-per-node=2", "--kill-on-bad-exit", f"--env-spec={prefix}", "sleep", "1000")
    assert step.rc != 0 and step.seconds < 10
    assert [line.partition(" (")[0] for line in step.lines] == [complaint(cluster.nodes[1])]
    assert said(step.err) == [] or all(line.startswith("slurmstepd") for line in said(step.err)), step


def test_a_step_can_do_without_also_where_srun_is_switched_off(cluster, prefix, site):
    """The batch script runs on n0, which is switched off only after it has started; n1 never is."""
    record = cluster.recorder()
    job = cluster.sbatch(f"""touch started; until test -e go-on; do sleep 0.05; done
        srun --env-spec=none -N1 -n1 -w {cluster.nodes[1]} {record('none')}
        srun -N1 -n1 -w {cluster.nodes[1]} {record('inherited')}
        srun --env-spec={prefix} -N1 -n1 -w {cluster.nodes[1]} {record('typed')}""",
                         "-N2", "-n2", f"--env-spec={prefix}")
    wait_until((cluster.home() / "started").exists, "the script runs")
    site("disable", "", ["n0"])
    cluster.write("/home/alice/go-on", "")
    job.wait()
    assert_outside(record.one("none"), prefix)
    assert_inside(record.one("inherited"), prefix)
    assert record.of("typed") == {} and "pinstep is switched off on this host" in job.output


# ---- settings

@pytest.mark.parametrize("text, errors", [
    ("adress = %h\n", ["/etc/pinstep/pinstep.conf:1: there is no setting 'adress' (did you mean 'address'?)"]),
    ("# first\nnonsense\n\ntask_timeout = 0\n", [
        "/etc/pinstep/pinstep.conf:2: 'nonsense' is not key=value",
        "/etc/pinstep/pinstep.conf:4: '0' is not a value of 'task_timeout' (it takes 1 to 600 (seconds))"]),
    ("x" * 70000, ["'/etc/pinstep/pinstep.conf' is longer than 65536 bytes"]),
    ("trusted_uids = 1,x\n!user_site = on\n", [
        "/etc/pinstep/pinstep.conf:1: '1,x' is not a value of 'trusted_uids' (it takes user ids separated by commas)",
        "/etc/pinstep/pinstep.conf:2: 'on' is not a value of 'user_site' (it takes off or keep)"]),
], ids=["name", "lines", "long", "values"])
def test_each_wrong_setting_is_one_line_in_the_log_of_a_step(cluster, prefix, site, text, errors):
    log = cluster.logs / f"slurmd-{cluster.nodes[0]}.log"
    site("pinstep.conf", text, ["n0"])
    record = cluster.recorder()
    begin = log.stat().st_size
    cluster.srun("-N1", "-n2", "-w", cluster.nodes[0], *record.argv("without")).ok()
    with_pin = cluster.srun("-N1", "-n2", "-w", cluster.nodes[0], f"--env-spec={prefix}", *record.argv("with")).ok()
    written = log.read_text()[begin:]
    for error in errors:
        # One for each of the two steps.
        assert len(re.findall(rf"\[\d+\.0\] error: pinstep: {re.escape(error)}$", written, re.MULTILINE)) == 2, written
    assert written.count("error: pinstep: ") == 2 * len(errors)
    assert sorted(record.of("with")) == sorted(record.of("without")) == [0, 1]
    for environment in record.of("with").values():
        assert_inside(environment, prefix)
    for environment in record.of("without").values():
        assert_outside(environment, prefix)
    assert PIN in record.of("with")[0] and said(with_pin.err) == []
