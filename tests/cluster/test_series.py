"""The plugin under another Slurm series, 24.11: what differs there (design, "A second Slurm series") is where
it could go wrong. The rest of the tests run on the distribution's own."""

import pytest

from broken import on_nodes
from cluster import BUILD, Wanted
from expect import PIN, assert_inside, assert_no_rendezvous, assert_outside, rendezvous
from messages import assert_refused, sentence

PLUGIN = "/opt/pinstep-series.so"
CLUSTER = Wanted("series", installed=True, more=(
    "--slurm-root", BUILD / "slurm-24.11", "--plugin", PLUGIN,
    "--bind", f"{BUILD}/tests/pinstep-series.so:{PLUGIN}:ro"))
STORE = BUILD / "tests/tcp_store"

pytestmark = pytest.mark.skips("no second Slurm")


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("series")


def test_deliberate_failure_is_seen(cluster, prefix):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    record = cluster.recorder()
    cluster.srun(*record.argv("step")).ok()
    assert_inside(record.one("step"), prefix)


def test_it_is_another_series(cluster):
    assert cluster.srun("--version").out.split()[-1].startswith("24.11.")


@pytest.mark.parametrize("export", [[], ["--export=NONE"], ["--export=NIL"]], ids=" ".join)
def test_batch_and_inner_steps_run_in_the_environment(cluster, prefix, export):
    record = cluster.recorder()
    cluster.sbatch(f"{record('batch')}\n/usr/bin/srun -n2 {record('step')}\n"
                   f"/usr/bin/srun --env-spec=none -n1 {record('none')}\n",
                   "-N1", "-n2", f"--env-spec={prefix}", *export).ok()
    assert_inside(record.one("batch"), prefix)
    assert_no_rendezvous(record.one("batch"))
    assert sorted(record.of("step")) == [0, 1]
    for environment in record.of("step").values():
        assert_inside(environment, prefix)
    assert_outside(record.one("none"), prefix)


def test_salloc_and_arrays(cluster, prefix):
    record = cluster.recorder()
    array = cluster.sbatch(f"{record('array')}.$SLURM_ARRAY_TASK_ID", "--array=1,2", f"--env-spec={prefix}")
    cluster.salloc("-n1", f"--env-spec={prefix}", "srun", *record.argv("salloc")).ok()
    array.ok()
    for name in ("array.1", "array.2", "salloc"):
        assert_inside(record.one(name), prefix)


def test_ranks_of_two_nodes_meet(cluster, prefix):
    options = ["-N2", "--ntasks-per-node=2", f"--env-spec={prefix}"]
    record = cluster.recorder()
    cluster.srun(*options, *record.argv("step")).ok()
    assert {rank: rendezvous(one) for rank, one in record.of("step").items()} == {
        0: (0, 4, 0, 2, 0, 0), 1: (1, 4, 1, 2, 0, 0), 2: (2, 4, 0, 2, 1, 1), 3: (3, 4, 1, 2, 1, 1)}
    assert len(cluster.srun(*options, STORE).ok().lines) == 4
    job = cluster.sbatch(f"srun --ntasks-per-node=2 {STORE}", *options).ok()
    assert sum("met at" in line for line in job.output.splitlines()) == 4


def test_one_node_steps_meet_on_whatever_node_slurm_takes(cluster, prefix):
    """24.11 alternates the nodes: most steps do not run where srun runs."""
    job = cluster.sbatch(f"for i in 1 2 3 4; do srun -N1 -n2 {STORE}; done", "-N2", "--ntasks-per-node=2",
                         f"--env-spec={prefix}").ok()
    assert sum("met at" in line for line in job.output.splitlines()) == 8


def test_components_of_a_heterogeneous_step_are_one_world(cluster, prefix):
    first, second = cluster.nodes
    record = cluster.recorder()
    cluster.srun(f"--env-spec={prefix}", "-N1", "-n2", "-w", second, *record.argv("step"), ":", "-N1", "-n1", "-w", first,
                 *record.argv("step")).ok()
    assert sorted(record.of("step")) == [0, 1, 2]
    assert {one["MASTER_ADDR"] for one in record.of("step").values()} == {second}


def test_a_step_error_is_one_line_and_125(cluster, prefix):
    step = cluster.srun("-N2", "--ntasks-per-node=4", f"--env-spec={prefix}", "true", env={"RANK": "3"})
    assert step.rc == 125
    assert len([line for line in step.err.splitlines() if line.startswith("pinstep:")]) == 1


def test_a_node_error_ends_the_step(cluster):
    prefix = cluster.prefix("vanishing")
    pin = cluster.run("pinstep", "resolve", prefix).ok().out.strip().replace("/home/alice/vanishing", "/tmp/vanished")
    cluster.run("sh", "-c", "mkdir -p /tmp/vanished/conda-meta/pinstep && "
                "cp ~/vanishing/conda-meta/pinstep/activation /tmp/vanished/conda-meta/pinstep/", node=cluster.nodes[0])
    step = cluster.srun("-N2", "-n2", "sleep", "30", env={"SLURM_SPANK_PINSTEP_ENV": pin})
    said = [line for line in step.err.splitlines() if line.startswith("pinstep:")]
    assert len(said) == 1 and f"{cluster.nodes[1]}: " in said[0] and step.rc != 0 and step.seconds < 10


def test_what_cannot_be_resolved_is_not_submitted(cluster):
    for command in (["srun", "true"], ["sbatch", "--wrap=true"], ["salloc", "true"]):
        refused = cluster.run(command[0], "--env-spec=/nowhere", *command[1:])
        assert refused.rc == 1 and "pinstep: error: cannot find '/nowhere'" in refused.err
    assert cluster.run("squeue", "--noheader").ok().out == ""


def test_a_step_without_a_pin_sees_nothing_of_ours(cluster):
    assert "PINSTEP" not in cluster.srun("-N2", "-n2", "env").ok().out


def test_a_node_error_ends_the_step(cluster, prefix):
    """Here too scancel must reach the other node's tasks, which have started."""
    pin = cluster.run("pinstep", "resolve", prefix).ok().out.strip()
    path = on_nodes(cluster, "only-n0", "n0")
    step = cluster.srun("-N2", "--ntasks-per-node=2", "sleep", "1000", env={PIN: pin.replace(prefix.path, path)})
    assert sentence(step.err).startswith(f"pinstep: error: {cluster.nodes[1]}: cannot open '{path}/")
    assert step.rc == 137


def test_an_environment_that_is_none_is_refused(cluster):
    for command in (["srun", "true"], ["sbatch", "--wrap", "true"], ["salloc", "true"]):
        assert_refused(cluster.run(command[0], "--env-spec=/nowhere", *command[1:]), "cannot find '/nowhere'", "")
