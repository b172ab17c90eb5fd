"""pinstep gc beside jobs that are queued, run and come back."""

import json
import os
import time

import pytest

import env_spec
from cluster import Wanted, wait_until
from env_spec import Project, spec

CLUSTER = Wanted("plain", plugin=True)
SMALL = spec("show-prefix", variables={"DEMO": "yes"})
DAY = 86400


@pytest.fixture(scope="module", autouse=True)
def configured(cluster):
    env_spec.configure(cluster)


def age(project, days):
    """The environment, as if it were built and all of its uses noted so long ago."""
    then = time.time() - days * DAY
    for path in (project.cluster.path(project.store) / "u").iterdir():
        os.utime(path, (then, then))
    for name in project.prefixes():
        origin = project.cluster.path(project.store) / "e" / name / "conda-meta/pinstep/origin"
        told = json.loads(origin.read_text()) | {"built": int(then)}
        origin.parent.chmod(0o755), origin.unlink(), origin.write_text(json.dumps(told))


def gc(project, *arguments, **more):
    """{reason: whether it was removed} of the project's environments."""
    done = project.run("pinstep", "gc", "--json", *arguments, **more).ok()
    return {one["reason"]: one["removed"] for one in json.loads(done.out)["environments"]}


def test_deliberate_failure_is_seen(cluster):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    project = Project(cluster, SMALL)
    project.run("srun", "--env-spec=environment.yml", "true").ok()
    age(project, 100)
    assert gc(project) == {}


def test_a_job_that_is_over_holds_nothing_but_for_a_while(cluster):
    project = Project(cluster, SMALL)
    project.sbatch("true", "--env-spec=environment.yml", "-N1").ok()
    age(project, 40)
    # Slurm could still queue it again.
    (reason, removed), = gc(project).items()
    assert not removed and reason.startswith("Slurm still has job "), reason


def test_a_job_that_waits_has_its_environment_when_it_starts(cluster):
    """Its submission alone holds it, however long ago the environment was used."""
    project = Project(cluster, SMALL)
    job = project.sbatch("show-prefix", "--env-spec=environment.yml", "-N1", "--hold")
    age(project, 40)
    assert gc(project, "--keep-days=0") == {"submitted 40 days ago, not started yet": False}
    cluster.run("scontrol", "release", str(job.id)).ok()
    assert job.ok().lines


def test_an_array_has_its_environment_until_its_last_task(cluster):
    project = Project(cluster, SMALL)
    script = "show-prefix; touch ran.$SLURM_ARRAY_TASK_ID; until test -e go.$SLURM_ARRAY_TASK_ID; do sleep 0.05; done"
    job = project.sbatch(script, "--env-spec=environment.yml", "-N1", "--array=1-5%1")
    for task in range(1, 6):
        wait_until(lambda: cluster.path(f"{project.inside}/ran.{task}").exists(), f"task {task} runs")
        age(project, 90)
        assert gc(project, "--keep-days=0") == {f"Slurm still has job {job.id}": False}
        project.write("", f"go.{task}")
    wait_until(lambda: cluster.console.ask("squeue", "--noheader", f"--job={job.id}") == "", "the array is over", 60)
    assert len(project.prefixes()) == 1


def test_a_job_that_is_queued_again_finds_its_environment(cluster):
    project = Project(cluster, SMALL)
    job = project.sbatch("show-prefix; echo $SLURM_RESTART_COUNT >> ran; test -n \"$SLURM_RESTART_COUNT\" || "
                         "until test -e never; do sleep 0.05; done", "--env-spec=environment.yml", "-N1", "--requeue")
    wait_until(lambda: cluster.path(f"{project.inside}/ran").exists(), "it runs")
    cluster.run("scontrol", "requeuehold", str(job.id)).ok()
    wait_until(lambda: "PENDING" in cluster.console.ask("squeue", "--noheader", f"--job={job.id}", "--format=%T"),
               "it is queued again", 60)
    age(project, 90)
    assert gc(project, "--keep-days=0") == {f"Slurm still has job {job.id}": False}
    assert len(project.prefixes()) == 1
    cluster.run("scancel", str(job.id)).ok()


def test_a_job_submitted_from_a_job_holds_it_as_well(cluster):
    project = Project(cluster, SMALL)
    outer = project.sbatch("sbatch --parsable --hold --wrap show-prefix", "--env-spec=environment.yml", "-N1").ok()
    inner = outer.lines[-1]
    notes = [path for path in (cluster.path(project.store) / "u").iterdir() if f".{outer.id}." in path.name]
    assert len(notes) == 1
    notes[0].unlink()
    age(project, 40)
    assert gc(project, "--keep-days=0") == {"submitted 40 days ago, not started yet": False}
    cluster.run("scancel", inner).ok()


def test_where_slurm_does_not_answer_nothing_is_removed(cluster):
    project = Project(cluster, SMALL)
    project.run("srun", "--env-spec=environment.yml", "true").ok()
    age(project, 100)
    broken = project.write("#!/bin/sh\necho 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1\n", "bin/squeue")
    cluster.path(broken).chmod(0o755)
    done = project.run("sh", "-c", f"PATH={project.inside}/bin:$PATH exec pinstep gc --keep-days=0")
    assert done.rc == 1 and "Slurm does not tell which jobs there are" in done.err
    assert len(project.prefixes()) == 1


def test_a_step_notes_its_job_in_the_users_store_only(cluster):
    """A store that cannot be written to is no error."""
    project = Project(cluster, SMALL)
    project.run("srun", "--env-spec=environment.yml", "true").ok()
    uses = cluster.path(project.store) / "u"
    for path in uses.iterdir():
        path.unlink()
    uses.chmod(0o555)
    os.chown(uses, 0, 0)
    assert project.run("srun", "--env-spec=environment.yml", "-n2", "show-prefix").ok().lines
    assert list(uses.iterdir()) == []
