"""Where the ranks of a step meet, and what each is told, whatever the step looks like."""

import shlex

import pytest

from cluster import BUILD, Wanted
from expect import RANK_NAMES, assert_inside, assert_no_rendezvous, ours, rendezvous

CLUSTER = Wanted("plain", plugin=True)
STORE = BUILD / "tests/tcp_store"


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("meet")


def run_step(cluster, prefix, *options, env=()):
    """{rank: environment} of a step that srun starts from the login node."""
    record = cluster.recorder()
    cluster.srun(f"--env-spec={prefix}", *options, *record.argv("step"), env=env).ok()
    return record.of("step")


def endpoint(environments):
    """The one address and port that all of them have."""
    found = {(one.get("MASTER_ADDR"), one.get("MASTER_PORT")) for one in environments.values()}
    assert len(found) == 1, found
    return found.pop()


# Options of srun; the index of rank 0's node; each rank's numbers: rank, world size, local rank, local
# world size, node rank, group rank.
DISTRIBUTIONS = [
    (["-N1", "-n1"], 0, {0: (0, 1, 0, 1, 0, 0)}),
    (["-N2", "--ntasks-per-node=2", "--distribution=block"], 0,
     {0: (0, 4, 0, 2, 0, 0), 1: (1, 4, 1, 2, 0, 0), 2: (2, 4, 0, 2, 1, 1), 3: (3, 4, 1, 2, 1, 1)}),
    (["-N2", "-n3", "--distribution=cyclic"], 0,
     {0: (0, 3, 0, 2, 0, 0), 1: (1, 3, 0, 1, 1, 1), 2: (2, 3, 1, 2, 0, 0)}),
    (["-N2", "--ntasks-per-node=2", "--distribution=plane=1"], 0,
     {0: (0, 4, 0, 2, 0, 0), 1: (1, 4, 0, 2, 1, 1), 2: (2, 4, 1, 2, 0, 0), 3: (3, 4, 1, 2, 1, 1)}),
    (["-n3", "--distribution=arbitrary", "--nodelist={1},{0},{1}"], 1,
     {0: (0, 3, 0, 2, 0, 0), 1: (1, 3, 0, 1, 1, 1), 2: (2, 3, 1, 2, 0, 0)}),
    (["-N1", "-n2", "--nodelist={1}"], 1, {0: (0, 2, 0, 2, 0, 0), 1: (1, 2, 1, 2, 0, 0)}),
    (["-N2", "-n2", "--mpi=none"], 0, {0: (0, 2, 0, 1, 0, 0), 1: (1, 2, 0, 1, 1, 1)}),
    (["-N2", "-n2", "--export=NONE"], 0, {0: (0, 2, 0, 1, 0, 0), 1: (1, 2, 0, 1, 1, 1)}),
]


@pytest.mark.parametrize("options, master, expected", DISTRIBUTIONS,
                         ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_distributions(cluster, prefix, options, master, expected):
    options = [option.format(*cluster.nodes) for option in options]
    environments = run_step(cluster, prefix, *options)
    assert {rank: rendezvous(one) for rank, one in environments.items()} == expected
    address, _ = endpoint(environments)
    assert address == cluster.nodes[master]


@pytest.mark.parametrize("where", ["batch", "salloc"])
def test_ranks_of_all_distributions_meet(cluster, prefix, where):
    """In a batch job srun runs on the first node, in salloc's shell on the login node."""
    record = cluster.recorder()
    script = "\n".join(
        f"srun {' '.join(options).format(*cluster.nodes)} {record(f'step{number}', STORE)}"
        for number, (options, *_) in enumerate(DISTRIBUTIONS))
    job = ["-N2", "--ntasks-per-node=2", f"--env-spec={prefix}"]
    if where == "batch":
        lines = cluster.sbatch(script, *job).ok().lines
    else:
        lines = cluster.salloc(*job, "sh", "-e", "-c", script).ok().lines
    assert len(lines) == sum(len(expected) for *_, expected in DISTRIBUTIONS)
    for number, (_, master, expected) in enumerate(DISTRIBUTIONS):
        environments = record.of(f"step{number}")
        assert {rank: rendezvous(one) for rank, one in environments.items()} == expected
        address, port = endpoint(environments)
        # srun knows the address of the node it runs on; others are known by name.
        known = cluster.addresses if where == "batch" and master == 0 else cluster.nodes
        assert address == known[master]
        assert sum(f"met at {address}:{port}" in line for line in lines) == len(expected)


def test_a_host_file_tells_where_rank_0_is_also_without_pmix(cluster, prefix):
    hosts = cluster.write("/home/alice/hosts", "{1}\n{0}\n{0}\n".format(*cluster.nodes))
    environments = run_step(cluster, prefix, "-n3", "--mpi=none", "--distribution=arbitrary",
                            env={"SLURM_HOSTFILE": hosts})
    assert endpoint(environments)[0] == cluster.nodes[1]
    assert [int(environments[rank]["NODE_RANK"]) for rank in (0, 1, 2)] == [0, 1, 1]


def test_where_nobody_can_know_rank_0s_node_no_address_is_made_up(cluster, prefix):
    record = cluster.recorder()
    nodes = "{1},{0}".format(*cluster.nodes)
    result = cluster.srun(f"--env-spec={prefix}", "-n2", "--mpi=none", "--distribution=arbitrary",
                          f"--nodelist={nodes}", *record.argv("step")).ok()
    assert endpoint(record.of("step")) == (None, None)
    said = [line for line in result.err.splitlines() if line.startswith("pinstep:")]
    assert len(said) == 1 and "MASTER_ADDR is not set" in said[0]


# ---- programs that really meet

def test_ranks_of_two_nodes_meet_from_a_batch_job_and_from_the_login_node(cluster, prefix):
    job = cluster.sbatch(f"srun -N2 -n4 {STORE}", "-N2", "-n4", f"--env-spec={prefix}")
    step = cluster.srun("-N2", "-n4", f"--env-spec={prefix}", STORE).ok()
    assert len(step.lines) == 4 and len(job.ok().lines) == 4
    # In the job srun runs on rank 0's node and its address is known; from the login node it is a name.
    assert f"met at {cluster.addresses[0]}:" in job.output
    assert f"met at {cluster.nodes[0]}:" in step.out


def test_eight_one_node_steps_in_a_row_meet_wherever_they_run(cluster, prefix):
    job = cluster.sbatch(f"for i in 1 2 3 4 5 6 7 8; do srun -N1 -n2 -r $((i % 2)) {STORE}; done", "-N2",
                         "--ntasks-per-node=2", f"--env-spec={prefix}").ok()
    met = job.lines
    assert len(met) == 16
    assert sum(cluster.nodes[1] in line for line in met) == 8
    assert sum(cluster.addresses[0] in line for line in met) == 8


@pytest.mark.parametrize("mpi", ["pmix", "none"])
def test_components_of_a_heterogeneous_step_are_one_world(cluster, prefix, mpi):
    """Component 0 on the node that sorts last: the first node of the list is not rank 0's."""
    record = cluster.recorder()
    script = ("#!/bin/bash\n#SBATCH -N1 -n2 -w {1}\n#SBATCH hetjob\n#SBATCH -N1 -n1 -w {0}\n".format(*cluster.nodes)
              + f"srun --mpi={mpi} --het-group=0,1 {record('all')}\nsrun --mpi={mpi} --het-group=0,1 {STORE}\n"
              + f"srun --mpi={mpi} --het-group=1 {record('second')}\n")
    job = cluster.sbatch(script, f"--env-spec={prefix}").ok()
    environments = record.of("all")
    assert {rank: rendezvous(one) for rank, one in environments.items()} == {
        0: (0, 3, 0, 2, 0, 0), 1: (1, 3, 1, 2, 0, 0), 2: (2, 3, 0, 1, 1, 1)}
    assert endpoint(environments)[0] == cluster.addresses[1]
    for environment in environments.values():
        assert_inside(environment, prefix)
    assert sum("of 3 met at" in line for line in job.output.splitlines()) == 3
    assert rendezvous(record.one("second")) == (0, 1, 0, 1, 0, 0)
    assert record.one("second")["MASTER_ADDR"] == cluster.nodes[0]


# ---- whose value counts

def test_the_users_address_and_port_are_kept(cluster, prefix):
    environments = run_step(cluster, prefix, "-N2", "-n2", env={"MASTER_ADDR": "elsewhere", "MASTER_PORT": "1234"})
    assert endpoint(environments) == ("elsewhere", "1234")
    environments = run_step(cluster, prefix, "-N2", "-n2", env={"MASTER_PORT": "1234", "WORLD_SIZE": "2"})
    assert endpoint(environments) == (cluster.nodes[0], "1234")


def test_a_step_started_inside_a_step_gets_values_of_its_own(cluster, prefix):
    record = cluster.recorder()
    outer = shlex.quote(f"test $SLURM_PROCID = 0 || srun --overlap -N1 -n1 {record('inner')}")
    job = cluster.sbatch(f"srun -n2 --overlap sh -c {outer}", "-n2", f"--env-spec={prefix}").ok()
    environment = record.one("inner")
    assert rendezvous(environment) == (0, 1, 0, 1, 0, 0)
    assert environment["PINSTEP_STEP_ID"] == f"{job.id}.1"


# ---- shapes

def shape_step(cluster, prefix, name, *arguments, options=("-N2", "-n2")):
    """A step whose program has this name and records its environment."""
    record = cluster.recorder()
    program = cluster.write(f"{prefix}/bin/{name}", f"#!/bin/sh\nexec {record('step')}\n", mode=0o755)
    cluster.srun(f"--env-spec={prefix}", *options, program, *arguments).ok()
    return record.of("step")


def test_torchrun_gets_its_own_variables_and_no_rank(cluster, prefix):
    environments = shape_step(cluster, prefix, "torchrun", "train.py")
    for rank, environment in environments.items():
        pet = {name: value for name, value in environment.items() if name.startswith("PET_")}
        assert pet.pop("PET_MASTER_PORT") == environments[0]["PET_MASTER_PORT"]
        assert pet == {"PET_NNODES": "2", "PET_NODE_RANK": str(rank), "PET_NPROC_PER_NODE": "1",
                       "PET_MASTER_ADDR": cluster.nodes[0]}
        assert not {*RANK_NAMES, "MASTER_ADDR", "MASTER_PORT"} & set(environment)


@pytest.mark.parametrize("name, arguments", [("torchrun", ["--standalone", "train.py"]), ("orted", []), ("prted", []),
                                             ("hydra_pmi_proxy", []), ("mpiexec", [])])
def test_programs_that_start_ranks_themselves_get_none_of_it(cluster, prefix, name, arguments):
    for environment in shape_step(cluster, prefix, name, *arguments).values():
        assert_no_rendezvous(environment)
        assert_inside(environment, prefix)


SHAPES = {
    "rank": {*RANK_NAMES, "MASTER_ADDR", "MASTER_PORT"},
    "spawn": {"MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "NNODES"},
    "torchrun": {"PET_NNODES", "PET_NODE_RANK", "PET_NPROC_PER_NODE", "PET_MASTER_ADDR", "PET_MASTER_PORT"},
    "none": set(),
}


def told(environment):
    """The names of the rendezvous variables."""
    return {name for name in ours(environment) if not name.startswith(("PINSTEP", "SLURM", "CONDA", "PYTHON"))}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_that_was_asked_for_is_what_the_steps_get(cluster, prefix, shape):
    """By srun outside a job; in a job that was given it; in one step of a job with another."""
    record = cluster.recorder()
    option = f"--env-rendezvous={shape}"
    cluster.srun(f"--env-spec={prefix}", option, "-N2", "-n2", *record.argv("alone")).ok()
    cluster.sbatch(f"srun -N2 -n2 {record('inherited')}", f"--env-spec={prefix}", option, "-N2").ok()
    cluster.sbatch(f"srun -N2 -n2 {option} {record('typed')}; srun -N2 -n2 {record('after')}", f"--env-spec={prefix}",
                   "-N2").ok()
    for name in ("alone", "inherited", "typed"):
        for environment in record.of(name).values():
            assert told(environment) == SHAPES[shape], name
            assert_inside(environment, prefix)
    assert told(record.of("after")[0]) == SHAPES["rank"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_pin_that_others_submit_has_the_shape_too(cluster, prefix, shape):
    record = cluster.recorder()
    cluster.run("sh", "-c", f'eval "$(pinstep resolve --export --shape={shape} {prefix})"; '
                            f'srun -N2 -n2 {record("step")}').ok()
    for environment in record.of("step").values():
        assert told(environment) == SHAPES[shape]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_rendezvous_without_an_environment(cluster, shape):
    """Also with --export=NONE, and for one that was submitted with the pin alone."""
    record = cluster.recorder()
    option = f"--env-rendezvous={shape}"
    cluster.srun(option, "-N2", "-n2", *record.argv("alone")).ok()
    cluster.sbatch(f"{record('batch')}; srun -N2 -n2 {record('inherited')}", option, "-N2", "--export=NONE").ok()
    cluster.run("sh", "-c", f'eval "$(pinstep resolve --export --shape={shape} none)"; '
                            f'srun -N2 -n2 {record("by hand")}').ok()
    for name in ("alone", "inherited", "by hand"):
        for environment in record.of(name).values():
            assert told(environment) == SHAPES[shape], name
            assert "CONDA_PREFIX" not in environment and "PINSTEP_STEP_PREFIX" not in environment
    assert_no_rendezvous(record.one("batch"))


def test_ranks_without_an_environment_meet(cluster):
    record = cluster.recorder()
    cluster.srun("--env-rendezvous=rank", "-N2", "-n4", *record.argv("step", STORE)).ok()
    assert {rank: rendezvous(one)[:2] for rank, one in record.of("step").items()} == {rank: (rank, 4) for rank in range(4)}


def test_a_step_that_drops_the_environment_may_keep_a_rendezvous(cluster, prefix):
    record = cluster.recorder()
    cluster.sbatch(f"srun --env-spec=none --env-rendezvous=rank -N2 -n2 {record('step')}; srun -n1 {record('after')}",
                   f"--env-spec={prefix}", "-N2").ok()
    for environment in record.of("step").values():
        assert told(environment) == SHAPES["rank"] and "CONDA_PREFIX" not in environment
        assert prefix.bin not in environment["PATH"]
    assert_inside(record.one("after"), prefix)
