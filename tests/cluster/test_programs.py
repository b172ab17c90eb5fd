"""What runs after activation: the programs people really start, and shells that get in the way."""

import shlex

import pytest

from broken import on_nodes
from cluster import BUILD, Wanted
from expect import assert_inside, assert_no_rendezvous
from messages import said

CLUSTER = Wanted("plain", plugin=True)


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("programs", [("set", "OF_PREFIX", "1")])


def inside(cluster, prefix, *program):
    return cluster.srun("-N2", "--ntasks-per-node=2", f"--env-spec={prefix}", *program).ok()


def test_python(cluster, prefix):
    program = "import os, sys; print(os.environ['RANK'], os.environ['OF_PREFIX'], sys.flags.no_user_site)"
    result = inside(cluster, prefix, "python3", "-c", program)
    assert sorted(result.lines) == [f"{rank} 1 1" for rank in range(4)]


def test_a_static_binary(cluster, prefix):
    result = inside(cluster, prefix, BUILD / "tests/print_environment-static")
    assert sorted(line for line in result.lines if line.startswith("RANK=")) == [f"RANK={r}" for r in range(4)]
    assert result.lines.count("OF_PREFIX=1") == 4


def test_an_open_mpi_program_started_by_srun(cluster, prefix):
    result = inside(cluster, prefix, BUILD / "tests/hello_mpi")
    assert sorted(line.split()[2] for line in result.lines) == ["0", "1", "2", "3"]
    assert all(line.endswith("sum 6") for line in result.lines)


def test_a_pmix_client(cluster, prefix):
    result = inside(cluster, prefix, BUILD / "tests/pmix_client")
    assert [line.split()[2] for line in sorted(result.lines)] == ["0", "1", "2", "3"]


def test_ranks_under_mpirun_do_not_believe_that_they_are_rank_0(cluster, prefix):
    """mpirun starts its daemons with srun: what those are told, all their ranks inherit."""
    record = cluster.recorder()
    mpirun = "mpirun -N 2 --mca plm_slurm_args --mpi=none"
    job = cluster.sbatch(f"""
        {mpirun} {BUILD / "tests/hello_mpi"}
        {mpirun} sh -c '/bin/cat /proc/$$/environ >{record.directory}/rank.$OMPI_COMM_WORLD_RANK'
        """, "-N2", "--ntasks-per-node=2", f"--env-spec={prefix}").ok()
    assert sum("mpi rank" in line and line.endswith("sum 6") for line in job.output.splitlines()) == 4
    environments = record.of("rank")
    assert sorted(environments) == [0, 1, 2, 3]
    for environment in environments.values():
        assert_no_rendezvous(environment)
        assert environment["OF_PREFIX"] == "1"


def test_a_login_shell_that_resets_path_is_told_how_to_get_it_back(cluster, prefix):
    record = cluster.recorder()
    job = cluster.sbatch(f"""#!/bin/bash -l
        {record("before")}
        srun -n1 {record("step")}
        eval "$(pinstep  activate)"
        {record("after")}
        """, f"--env-spec={prefix}", env={"PATH": "/usr/bin:/bin"}).ok()
    # What the test is about: /etc/profile of this distribution does reset PATH.
    assert prefix.bin not in record.one("before")["PATH"]
    assert_inside(record.one("step"), prefix)
    assert_inside(record.one("after"), prefix)
    said = [line for line in job.output.splitlines() if line.startswith("pinstep:")]
    assert len(said) == 1 and 'eval "$(' in said[0] and "pinstep activate)" in said[0]


@pytest.mark.parametrize("script", ["#!/bin/bash\ntrue\n", '#!/bin/bash -l\neval "$(pinstep activate)"\ntrue\n'])
def test_a_script_that_needs_no_hint_gets_none(cluster, prefix, script):
    assert cluster.sbatch(script, f"--env-spec={prefix}").ok().output == ""


# ---- without the plugin

@pytest.fixture(scope="module")
def bare(work, stage):
    from cluster import Cluster
    cluster = Cluster(work / "bare", Wanted("bare", installed=True).arguments(stage))
    yield cluster
    cluster.down()


def test_pinstep_launch_needs_no_plugin(bare):
    prefix = bare.prefix("launched", [("set", "OF_PREFIX", "1")])
    record = bare.recorder()
    launch = ["pinstep-launch", f"--env-spec={prefix}", "--"]
    bare.srun("-N2", "-n4", *launch, *record.argv("step")).ok()
    assert sorted(record.of("step")) == [0, 1, 2, 3]
    for rank, environment in record.of("step").items():
        assert_inside(environment, prefix)
        assert (environment["RANK"], environment["WORLD_SIZE"]) == (str(rank), "4")
        assert environment["MASTER_ADDR"] == bare.nodes[0]
    met = bare.srun("-N2", "-n4", *launch, BUILD / "tests/tcp_store").ok()
    assert len(met.lines) == 4


def test_pinstep_launch_fails_like_the_plugin_does(bare):
    failed = bare.srun("-N2", "-n8", "pinstep-launch", "--env-spec=/nowhere", "--", "true")
    said = [line for line in failed.err.splitlines() if line.startswith("pinstep:")]
    assert failed.rc != 0 and 1 <= len(said) <= 2 and "/nowhere" in said[0]
    assert bare.srun("-n1", "pinstep-launch", "--", "no-such-program").rc == 127
    assert bare.srun("-n1", "pinstep-launch", "--", "/etc/passwd").rc == 126
    assert bare.srun("-n1", "pinstep-launch", "--", "sh", "-c", "exit 7").rc == 7
    assert bare.srun("-n1", "pinstep-launch", "--no-such-option", "--", "true").rc == 2


# What one rank alone has wrong: $1 is a prefix that the first node has.
ONE_RANKS = {
    "a prefix that only one node has": 'exec pinstep-launch --env-spec="$1" -- echo ran',
    "a contradiction": '[ $SLURM_PROCID = 0 ] || export WORLD_SIZE=9; exec pinstep-launch -- echo ran',
    "a rank of the user's": 'export LOCAL_RANK=1; exec pinstep-launch -- echo ran',
    "no place": '[ $SLURM_PROCID = 0 ] || set -- --strict --topology=/etc/passwd; '
                '[ $SLURM_PROCID = 1 ] || set --; exec pinstep-launch "$@" -- echo ran',
}


@pytest.mark.parametrize("wrong", ONE_RANKS)
@pytest.mark.parametrize("nodes", [["-N2"], ["-N1"]], ids=["two nodes", "one node"])
def test_a_step_fails_where_a_rank_never_started_and_the_others_are_done(bare, wrong, nodes):
    """However soon they are: the step is ended in vain, and its exit code is the rank's."""
    prefix = on_nodes(bare, f"alone-{len(wrong)}-{nodes[0]}", "n0")
    if wrong.startswith("a prefix") and nodes == ["-N1"]:
        nodes = ["-N1", "-w", bare.nodes[1]]
    job = bare.sbatch(f"srun sh -c {shlex.quote(ONE_RANKS[wrong])} sh {prefix} 2>&1; code=$?; echo $code; exit $code",
                      *nodes, "-n2").wait()
    assert job.states() == ["FAILED"] and job.lines[-1] in ("125", "137"), job
    # What a node's own files are to blame for its first rank says.
    if not (wrong == "no place" and nodes == ["-N1"]):
        assert any(line.startswith("pinstep: error: ") for line in job.lines), job


def test_pinstep_launch_says_once_what_all_tasks_have_in_common(bare):
    eight = ["-N2", "--ntasks-per-node=4", "pinstep-launch"]
    usage = bare.srun(*eight, "--no-such-option", "--", "true")
    assert usage.rc == 2 and [line.partition(":")[2].split(":")[0] for line in said(usage.err)] == [" error", " hint"]
    absent = bare.srun(*eight, "--", "no-such-program")
    assert absent.rc == 127 and sorted(said(absent.err)) == [
        f"pinstep: error: {node}: 'no-such-program' is not on PATH" for node in bare.nodes]


@pytest.mark.parametrize("other", ["another", "none"])
def test_in_a_step_the_plugin_prepared_pinstep_launch_can_change_the_prefix(cluster, prefix, other):
    """The step's port is held already, by the plugin."""
    spec = cluster.prefix("another", [("set", "OF_ANOTHER", "1")]).path if other == "another" else "none"
    record = cluster.recorder()
    launch = ["pinstep-launch", f"--env-spec={spec}", "--"]
    cluster.srun("-N2", "-n2", f"--env-spec={prefix}", *launch, *record.argv("step")).ok()
    for rank, environment in record.of("step").items():
        assert (environment["RANK"], environment.get("OF_ANOTHER")) == (str(rank), "1" if other == "another" else None)
        assert "OF_PREFIX" not in environment
    assert len(cluster.srun("-N2", "-n2", f"--env-spec={prefix}", *launch, BUILD / "tests/tcp_store").ok().lines) == 2


# What a rank without GPU and card is told of its place.
PLACE = {"OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "PINSTEP_STEP_PLACE",
         "OMPI_MCA_hwloc_base_binding_policy", "PRTE_MCA_hwloc_default_binding_policy"}


def test_in_a_step_the_plugin_prepared_pinstep_launch_only_gives_the_rank_its_place(cluster, prefix):
    record = cluster.recorder()
    cluster.srun("-N2", "-n2", f"--env-spec={prefix}", *record.argv("plain")).ok()
    cluster.srun("-N2", "-n2", f"--env-spec={prefix}", "pinstep-launch", "--", *record.argv("launched")).ok()
    for rank in (0, 1):
        plain, launched = record.of("plain")[rank], record.of("launched")[rank]
        assert set(launched) - set(plain) <= PLACE and set(plain) <= set(launched)
        assert (launched["RANK"], launched["PATH"]) == (plain["RANK"], plain["PATH"])
