"""Which processes of a job run in its environment, and what that environment is."""

import re
import shlex

import pytest

from cluster import TOP, Wanted, wait_until
from expect import OURS, PIN, assert_inside, assert_no_rendezvous, assert_outside, ours

CLUSTER = Wanted("plain", plugin=True)


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("main", [("set", "OF_PREFIX", "a b\n$c"), ("prepend", "LIST", "/of/prefix")])


@pytest.fixture(scope="module")
def other(cluster):
    return cluster.prefix("other", [("set", "OF_OTHER", "1")])


@pytest.fixture(scope="module")
def jobs(cluster, prefix, other):
    """The jobs of this file, submitted together: {name: (Job, Recorder)}."""
    scripts = {
        "batch": (f"""{{batch}}
            srun -N1 -n1 {{one}}
            srun -N2 -n4 {{two}}
            srun --env-spec=none -N2 -n2 {{none}}
            srun --env-spec={other} -N1 -n1 {{other}}
            {{after}}
            which which-prefix; which-prefix""", ["-N2", "-n4", f"--env-spec={prefix}"]),
        "array": ("{batch}.$SLURM_ARRAY_TASK_ID; srun -n1 {step}.$SLURM_ARRAY_TASK_ID",
                  ["--array=3,5", f"--env-spec={prefix}"]),
        "export-none": ("{batch}; srun -n1 {step}", ["--export=NONE", f"--env-spec={prefix}"]),
        "export-some": ("{batch}; srun --export=NONE -n1 {none}; srun --export=A=1 -n1 {some}",
                        [f"--env-spec={prefix}"]),
        "none": ("srun --env-spec=none -n1 /bin/sh -c {nested}", [f"--env-spec={prefix}"]),
        "directive": ("#!/bin/bash\n#SBATCH --env-spec=main/\n{batch}", []),
        "user-changes": ("export OF_PREFIX=mine LIST=/mine:$LIST PATH=/mine:$PATH; srun -n1 {step}",
                         [f"--env-spec={prefix}"]),
    }
    submitted = {}
    for name, (script, arguments) in scripts.items():
        record = cluster.recorder()
        words = {found: record(found) for found in re.findall(r"\{(\w+)\}", script)}
        words["nested"] = shlex.quote(f"/usr/bin/srun --overlap -n1 {record('nested')}")
        submitted[name] = (cluster.sbatch(script.format(**words), *arguments), record)
    return submitted


def recorded(jobs, name):
    job, record = jobs[name]
    job.ok()
    return record


def test_deliberate_failure_is_seen(cluster, prefix):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    record = cluster.recorder()
    cluster.srun(*record.argv("step")).ok()
    assert_inside(record.one("step"), prefix)


def test_the_batch_script_runs_in_the_environment(jobs, prefix):
    record = recorded(jobs, "batch")
    environment = record.one("batch")
    assert_inside(environment, prefix)
    assert environment["OF_PREFIX"] == "a b\n$c"
    assert_no_rendezvous(environment)
    assert jobs["batch"][0].lines == [f"{prefix.bin}/which-prefix", prefix.path]


@pytest.mark.parametrize("step, ranks", [("one", [0]), ("two", [0, 1, 2, 3])])
def test_inner_steps_run_in_it(jobs, prefix, step, ranks):
    record = recorded(jobs, "batch")
    environments = record.of(step)
    assert sorted(environments) == ranks
    for environment in environments.values():
        assert_inside(environment, prefix)
        assert environment["OF_PREFIX"] == "a b\n$c" and environment["LIST"] == "/of/prefix"


def test_an_inner_step_can_do_without(jobs, prefix):
    environments = recorded(jobs, "batch").of("none")
    assert sorted(environments) == [0, 1]
    for environment in environments.values():
        assert_outside(environment, prefix)
        assert "OF_PREFIX" not in environment and "LIST" not in environment


def test_an_inner_step_can_have_another(jobs, prefix, other):
    environment = recorded(jobs, "batch").one("other")
    assert_inside(environment, other)
    assert environment["OF_OTHER"] == "1" and "OF_PREFIX" not in environment
    assert prefix.bin not in environment["PATH"]


def test_steps_leave_the_script_as_it_was(jobs):
    record = recorded(jobs, "batch")
    assert record.one("after") == record.one("batch")


def test_what_starts_in_a_step_without_environment_has_none_either(jobs, prefix):
    assert_outside(recorded(jobs, "none").one("nested"), prefix)


def test_array_tasks(jobs, prefix):
    record = recorded(jobs, "array")
    for index in ("3", "5"):
        for kind in ("batch", "step"):
            (environment,) = record.of(f"{kind}.{index}").values()
            assert_inside(environment, prefix)
            assert environment["SLURM_ARRAY_TASK_ID"] == index


def test_export_none(jobs, prefix):
    record = recorded(jobs, "export-none")
    for kind in ("batch", "step"):
        assert_inside(record.one(kind), prefix)


def test_steps_that_export_nothing_or_something(jobs, prefix):
    record = recorded(jobs, "export-some")
    assert_inside(record.one("none"), prefix)
    assert_inside(record.one("some"), prefix)
    assert record.one("some")["A"] == "1"
    for step in ("none", "some"):
        assert record.one(step)["RANK"] == "0" and "MASTER_PORT" in record.one(step)


def test_a_job_submitted_inside_a_job_inherits_drops_or_replaces(cluster, prefix, other):
    record = cluster.recorder()
    inherits, drops, replaces = (
        cluster.write(f"/home/alice/{name}.sh", f"#!/bin/bash\n{record(name)}\nsrun -n1 {record(name + '-step')}\n")
        for name in ("inherits", "drops", "replaces"))
    job = cluster.sbatch(f"sbatch --parsable {inherits}; sbatch --env-spec=none {drops}\n"
                         f"sbatch --env-spec={other} {replaces}", f"--env-spec={prefix}").ok()
    names = {f"{name}{step}" for name in ("inherits", "drops", "replaces") for step in ("", "-step")}
    wait_until(lambda: names == {name for name in names if record.of(name)}, "the inner jobs have run")
    for step in ("", "-step"):
        assert_inside(record.one(f"inherits{step}"), prefix)
        assert_outside(record.one(f"drops{step}"), prefix)
        assert_inside(record.one(f"replaces{step}"), other)
    assert record.one("inherits-step")["RANK"] == "0"
    # One line says what is inherited; nothing needs saying where the user said what he wants.
    said = [line for line in job.lines if line.startswith("pinstep:")]
    assert said == [f"pinstep: the job inherits the environment '{prefix}'; --env-spec=none drops it"]


def test_a_directive_of_the_script_counts_and_is_relative_to_the_working_directory(jobs, prefix):
    assert_inside(recorded(jobs, "directive").one("batch"), prefix)


def test_what_the_script_changes_is_its_own_word(jobs, prefix):
    environment = recorded(jobs, "user-changes").one("step")
    assert environment["OF_PREFIX"] == "mine"
    assert environment["LIST"].split(":")[0] == "/mine"
    assert environment["PATH"].split(":")[:2] == ["/mine", prefix.bin]


def test_srun_from_the_login_node(cluster, prefix):
    record = cluster.recorder()
    cluster.srun("-N2", "-n2", f"--env-spec={prefix}", *record.argv("step")).ok()
    assert sorted(record.of("step")) == [0, 1]
    for environment in record.of("step").values():
        assert_inside(environment, prefix)


def test_salloc(cluster, prefix):
    record = cluster.recorder()
    cluster.salloc("-N2", "-n2", f"--env-spec={prefix}", "sh", "-c",
                   f"{record('shell')}; srun {record('step')}; srun --env-spec=none -n1 {record('none')}").ok()
    assert sorted(record.of("step")) == [0, 1]
    for environment in record.of("step").values():
        assert_inside(environment, prefix)
    assert_outside(record.one("none"), prefix)
    # The shell itself runs on the login node, where there is no step; only the pin is there.
    assert set(ours(record.one("shell"))) == {PIN}


def test_leftovers_of_a_login_shell_are_taken_out_once(cluster, prefix):
    record = cluster.recorder()
    leftovers = {"CONDA_PREFIX": "/old", "CONDA_SHLVL": "2", "CONDA_DEFAULT_ENV": "old", "CONDA_PREFIX_1": "/older",
                 "VIRTUAL_ENV": "/venv", "PYTHONHOME": "/home", "PYTHONPATH": "/lost", "CONDA_EXE": "/conda",
                 "PATH": "/venv/bin:/old/bin:/usr/bin:/bin", "PINSTEP_STEP_PREFIX": "/nonsense"}
    job = cluster.sbatch(f"{record('batch')}\nexport PYTHONPATH=/script CONDA_DEFAULT_ENV=script\n"
                         f"srun -n1 {record('step')}", f"--env-spec={prefix}", env=leftovers)
    job.ok()
    batch, step = record.one("batch"), record.one("step")
    assert_inside(batch, prefix)
    for name in ("CONDA_SHLVL", "CONDA_DEFAULT_ENV", "CONDA_PREFIX_1", "VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH"):
        assert name not in batch, name
    assert "/venv/bin" not in batch["PATH"] and "/old/bin" not in batch["PATH"] and batch["CONDA_EXE"] == "/conda"
    assert (step["PYTHONPATH"], step["CONDA_DEFAULT_ENV"]) == ("/script", "script")


def test_a_relative_prefix_starts_from_where_the_command_is_typed(cluster, prefix):
    record = cluster.recorder()
    job = cluster.sbatch(record("batch"), "--chdir=/tmp", "--output=/home/alice/chdir.out", "--env-spec=../main",
                         cwd=cluster.write("/home/alice/sub/file", "").rpartition("/")[0])
    job.ok()
    assert_inside(record.one("batch"), prefix)
    assert record.one("batch")["PWD"] == "/tmp"


def test_a_forged_pin_acts_with_the_users_own_rights(cluster, prefix):
    """Anyone can write the variable; the prefix it names must still be one the user may use."""
    record = cluster.recorder()
    pin = cluster.run("pinstep", "resolve", prefix).ok().out.strip()
    result = cluster.srun("-n1", *record.argv("step"), env={PIN: pin}).ok()
    assert_inside(record.one("step"), prefix)
    result = cluster.srun("-n1", "true", env={PIN: pin}, user="bob")
    assert result.rc == 125 and "pinstep: error:" in result.err


def test_resolve_export_is_what_other_submitters_need(cluster, prefix):
    record = cluster.recorder()
    cluster.run("sh", "-c", f'eval "$(pinstep resolve --export {prefix})"; srun -n1 {record("step")}').ok()
    assert_inside(record.one("step"), prefix)


def test_the_names_of_this_test_are_what_pinstep_knows():
    """expect.OURS must catch every variable that pinstep declares, or tests overlook some."""
    header = (TOP / "envtools/base/variables.h").read_text()
    names = re.findall(r'string_view k\w+ = "([A-Z_]+)"', header)
    assert len(names) >= 7
    # PINSTEP_ENV is the argument of spank_job_control_setenv, not a variable.
    assert [name for name in names if not OURS.match(name)] == []
