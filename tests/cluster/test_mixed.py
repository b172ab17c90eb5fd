"""Nodes that are not alike: without the plugin, with one of another series, or with a line for none."""

import re
import shutil
import subprocess

import pytest

from cluster import Cluster, Wanted
from expect import PIN, assert_inside, assert_outside, ours

GUARD = "task-prolog-guard"


def other_series(stage, path):
    """The plugin as if built for another Slurm: its plugin_version, which is what Slurm compares, is changed."""
    source = stage().directory / stage().plugin.lstrip("/")
    shutil.copy(source, path)
    table = subprocess.run(["nm", "-D", source], check=True, capture_output=True, text=True).stdout
    address = int(re.search(r"^(\w+) R plugin_version$", table, re.MULTILINE).group(1), 16)
    data = bytearray(path.read_bytes())
    # .rodata is mapped where it lies in the file.
    version = int.from_bytes(data[address:address + 4], "little")
    assert version >> 16 & 0xff == 22, f"{version:#x} is no version of Slurm 22.05"
    data[address:address + 4] = (version + (2 << 16)).to_bytes(4, "little")
    path.write_bytes(data)
    return path


@pytest.fixture(scope="module", params=["without guard", "with guard"])
def mixed(request, work, stage):
    """n0 has the plugin; n1 names a file that is not there; n2 has one of another series, n3 none."""
    other = other_series(stage, work / "pinstep-other.so")
    more = ["--plugin-other", other, "--bind", f"{other}:{other}",
            "--set-plugstack", "n1=optional /nonexistent/pinstep.so"]
    if request.param == "with guard":
        more += ["--slurm-conf-line", f"TaskProlog={stage().find(GUARD)}"]
    wanted = Wanted("mixed", nodes=4, plugin=True, more=tuple(more))
    cluster = Cluster(work / request.param.replace(" ", "-"), wanted.arguments(stage))
    cluster.guarded = request.param == "with guard"
    yield cluster
    cluster.down()


@pytest.fixture(autouse=True)
def no_drained_node(mixed):
    yield
    assert mixed.disturbed_nodes() == {}


@pytest.fixture(scope="module")
def prefix(mixed):
    return mixed.prefix("mixed")


@pytest.mark.parametrize("node", [0, 1, 2, 3], ids=["plugin", "no file", "other series", "none"])
def test_nobody_elses_step_is_affected(mixed, node):
    record = mixed.recorder(user="bob")
    result = mixed.srun("-n2", "-w", mixed.nodes[node], *record.argv("step"), user="bob").ok()
    assert result.err == ""
    for environment in record.of("step").values():
        assert_outside(environment)
    assert mixed.sbatch("echo ran", "-w", mixed.nodes[node], user="bob").ok().output == "ran\n"


def test_the_node_with_the_plugin_runs_steps_in_their_environment(mixed, prefix):
    record = mixed.recorder()
    mixed.srun("-n1", "-w", mixed.nodes[0], f"--env-spec={prefix}", *record.argv("step")).ok()
    assert_inside(record.one("step"), prefix)


@pytest.mark.parametrize("node", [1, 2, 3], ids=["no file", "other series", "none"])
def test_a_step_with_a_pin_on_a_node_without_a_working_plugin(mixed, prefix, node):
    """Slurm runs it bare, as it says itself; only the guard can fail it, with one sentence."""
    record = mixed.recorder()
    result = mixed.srun("-n2", "-w", mixed.nodes[node], f"--env-spec={prefix}", *record.argv("step"))
    said = [line for line in (result.out + result.err).splitlines() if line.startswith("pinstep:")]
    if mixed.guarded:
        assert result.rc != 0 and record.of("step") == {}
        assert len(said) == 1 and f" {mixed.nodes[node]}: " in said[0], result
    else:
        assert result.rc == 0 and said == []
        for environment in record.of("step").values():
            assert set(ours(environment)) == {PIN, "SLURM_PINSTEP_OFFER"}


def test_the_guard_lets_everything_else_run(mixed, prefix):
    if not mixed.guarded:
        return
    record = mixed.recorder()
    job = mixed.sbatch(f"{record('batch')}; srun -n2 {record('step')}", "-n2", "-w", mixed.nodes[0], f"--env-spec={prefix}")
    bare = mixed.sbatch("srun -n2 echo ran", "-n2", "-w", mixed.nodes[3])
    job.ok()
    assert_inside(record.one("batch"), prefix)
    assert sorted(record.of("step")) == [0, 1]
    assert bare.ok().lines == ["ran", "ran"]


def test_a_batch_job_on_a_node_without_the_plugin_fails_under_the_guard(mixed, prefix):
    job = mixed.sbatch("echo started", "-w", mixed.nodes[3], f"--env-spec={prefix}").wait()
    assert job.states() == (["FAILED"] if mixed.guarded else ["COMPLETED"])
    assert ("started" in job.output) != mixed.guarded
