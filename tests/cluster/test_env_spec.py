"""--env-spec=FILE: from an environment.yml to the steps of a job, without anything being prepared."""

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor

import pytest

import env_spec
from cluster import Wanted, wait_until
from env_spec import Project, spec

CLUSTER = Wanted("plain", plugin=True)
PYTHON = spec("greet=1.0", variables={"DEMO": "yes"})
SMALL = spec("show-prefix", variables={"DEMO": "yes"})      # built in no time
SHOW = "for i in 1 2; do srun -N1 -n1 sh -c 'command -v greet; greet; echo $DEMO $CONDA_PREFIX'; done"


@pytest.fixture(scope="module", autouse=True)
def configured(cluster):
    env_spec.configure(cluster)
    yield
    cluster.site_file("pinstep.conf", None)


def test_deliberate_failure_is_seen(cluster):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    assert Project(cluster, SMALL).prefixes() == ["made of nothing"]


def the_prefix(project):
    (name,) = project.prefixes()
    return f"{project.store}/e/{name}"


def shown(prefix):
    """What show-prefix prints."""
    return [prefix, f"{prefix}/bin:{prefix}/sbin:/usr/bin"]


def greeting(prefix):
    return f"hello from greet 1.0 in {prefix}"


def test_a_job_is_submitted_with_nothing_but_the_spec(cluster):
    project = Project(cluster, PYTHON)
    job = project.sbatch(f"command -v greet\n{SHOW}", "--env-spec=environment.yml", "-N1").ok()
    prefix = the_prefix(project)
    step = [f"{prefix}/bin/greet", greeting(prefix), f"yes {prefix}"]
    assert job.lines == [f"{prefix}/bin/greet", *step, *step]


def test_all_nodes_run_it_with_any_export(cluster):
    project = Project(cluster, SMALL)
    for export in ("ALL", "NONE", "HOME"):
        job = project.sbatch("srun -l sh -c 'command -v show-prefix'", "--env-spec=./environment.yml", "-N2", f"--export={export}")
        prefix = the_prefix(project)
        assert sorted(job.ok().lines) == [f"{rank}: {prefix}/bin/show-prefix" for rank in (0, 1)]


def test_a_second_submission_solves_and_builds_nothing(cluster):
    project = Project(cluster, SMALL)
    first = project.run("srun", "--env-spec=environment.yml", "true").ok()
    again = project.run("srun", "--env-spec=environment.yml", "true").ok()
    assert first.err and again.err == ""
    assert len(project.prefixes()) == 1


def test_without_a_terminal_no_lock_appears_beside_the_spec(cluster):
    project = Project(cluster, SMALL)
    result = project.run("srun", "--env-spec=environment.yml", "true").ok()
    assert project.locks() == []
    (lock,) = (cluster.path(project.store) / "l").glob("*.yml")
    assert f"{project.store}/l/{lock.name}" in result.err


def test_at_a_terminal_the_lock_is_written_beside_the_spec(cluster):
    project = Project(cluster, SMALL)
    project.run("script", "-qec", "srun --env-spec=environment.yml true", "/dev/null").ok()
    assert project.locks() == ["environment-lock.yml"]
    assert project.run("srun", "--env-spec=environment.yml", "true").ok().err == ""
    assert project.run("srun", "--env-spec=environment-lock.yml", "--env-lock=frozen", "true").ok().err == ""


def test_what_is_edited_after_submission_does_not_change_the_job(cluster):
    project = Project(cluster, SMALL)
    job = project.sbatch("until test -e go; do sleep 0.05; done; show-prefix; echo $DEMO", "--env-spec=environment.yml", "-N1")
    prefix = the_prefix(project)
    project.write(spec("show-prefix", variables={"DEMO": "changed"}))
    project.write("", "go")
    assert job.ok().lines == [*shown(prefix), "yes"]
    assert project.run("srun", "--env-spec=environment.yml", "sh", "-c", "echo $DEMO").ok().out == "changed\n"
    assert len(project.prefixes()) == 2


def test_an_id_names_what_was_built(cluster):
    project = Project(cluster, SMALL)
    project.run("srun", "--env-spec=environment.yml", "true").ok()
    prefix = the_prefix(project)
    name = prefix.rpartition("/")[2]
    for digits in (name, name[:6]):
        assert project.run("srun", f"--env-spec={digits}", "printenv", "CONDA_PREFIX").ok().out == prefix + "\n"
    assert project.run("srun", f"--env-spec={prefix}", "printenv", "CONDA_PREFIX").ok().out == prefix + "\n"
    wrong = project.run("srun", "--env-spec=" + "0123456789abcdef", "true")
    assert wrong.rc == 1 and "0123456789abcdef" in wrong.err


def test_a_step_may_have_another_environment(cluster):
    project = Project(cluster, SMALL)
    project.write(spec("show-prefix", variables={"DEMO": "other"}), "other.yml")
    job = project.sbatch("srun -N1 -n1 printenv DEMO\nsrun -N1 -n1 --env-spec=other.yml printenv DEMO\n"
                         "srun -N1 -n1 --env-spec=none sh -c 'echo ${DEMO-none}'", "--env-spec=environment.yml", "-N1")
    assert [line for line in job.ok().lines if not line.startswith("pinstep: ")] == ["yes", "other", "none"]


# ---- when it is built

def test_a_prefix_is_built_in_the_job_where_that_is_asked_for(cluster):
    project = Project(cluster, SMALL)
    job = project.sbatch("show-prefix; srun -N1 -n1 show-prefix", "--env-spec=environment.yml", "--env-build=job", "-N1",
                         "--hold")
    assert project.prefixes() == []
    cluster.run("scontrol", "release", str(job.id)).ok()
    lines = [line for line in job.ok().lines if line.startswith("/")]
    assert lines == [*shown(the_prefix(project))] * 2


def test_a_build_in_the_job_that_fails_is_one_sentence(cluster):
    project = Project(cluster, SMALL)
    job = project.sbatch("echo ran", "--env-spec=environment.yml", "--env-build=job", "-N1", "--hold")
    shutil.rmtree(cluster.path(project.store) / "l")
    cluster.run("scontrol", "release", str(job.id)).ok()
    job.wait()
    assert job.states() == ["FAILED"] and job.exit_code == "125:0"
    assert "could not be built" in job.output and "ran" not in job.output


@pytest.mark.parametrize("command", ["srun", "salloc"])
def test_only_a_batch_script_can_build_in_the_job(cluster, command):
    project = Project(cluster, SMALL)
    result = project.run(command, "--env-spec=environment.yml", "--env-build=job", "true")
    assert result.rc == 1 and "--env-build=job builds in the step of a batch script" in result.err
    assert project.run(command, "--env-spec=environment.yml", "true", env={"PINSTEP_BUILD": "job"}).ok()
    assert len(project.prefixes()) == 1


def test_the_link_beside_a_spec_is_pinned_to_what_it_points_at(cluster):
    project = Project(cluster, SMALL)
    project.run("pinstep", "build").ok()
    found = json.loads(project.run("pinstep", "resolve", "--json", ".pinstep/environment").ok().out)
    assert found["prefix"] == the_prefix(project) and found["pinned"] is True


def test_never_building_says_how_to(cluster):
    project = Project(cluster, SMALL)
    result = project.run("srun", "--env-spec=environment.yml", "--env-build=never", "true")
    assert result.rc == 1 and "is not built" in result.err and "pinstep build" in result.err
    assert project.prefixes() == []


# ---- what cannot work ends the submission

def refused(cluster, project, *arguments, **where):
    """The command's messages; nothing may be queued or left half done."""
    before = cluster.console.ask("squeue", "--noheader", "--states=all", "--format=%i")
    result = project.run("sbatch", "--env-spec=environment.yml", *arguments, "--wrap", "true", **where)
    assert result.rc == 1 and result.out == "", result
    assert cluster.console.ask("squeue", "--noheader", "--states=all", "--format=%i") == before
    errors = [line for line in result.err.splitlines() if line.startswith("pinstep: error: ")]
    assert len(errors) == 1, result
    assert project.prefixes() == []
    return errors[0], result.err


def test_a_broken_spec(cluster):
    project = Project(cluster, "name: x\ndependencies:\n  - python\n  - {pip: [a]\n")
    error, _ = refused(cluster, project)
    assert re.search(r"environment.yml:\d+: ", error)


def test_a_spec_that_nothing_satisfies(cluster):
    error, _ = refused(cluster, Project(cluster, spec("show-prefix", "python=2.7")))
    assert "python" in error and "2.7" in error


def test_a_channel_that_is_not_there(cluster):
    error, _ = refused(cluster, Project(cluster, spec("show-prefix", channel="http://127.0.0.1:9/nothing")))
    assert "http://127.0.0.1:9/nothing" in error


def test_no_solver(cluster):
    env_spec.configure(cluster, "!setup=never\n!solver=/nowhere/solver\n")
    try:
        error, text = refused(cluster, Project(cluster, SMALL))
    finally:
        env_spec.configure(cluster)
    assert "solver" in error and "pinstep setup" in text


def test_a_full_disk(cluster):
    project = Project(cluster, spec("python=3.11", "greet"))
    full = cluster.path(project.inside) / "store"
    full.mkdir()
    cluster.own(full, "alice")
    mounted = cluster.run("mount", "-t", "tmpfs", "-o", "size=4m,mode=777", "none", project.store, user="root")
    mounted.ok()
    try:
        error, _ = refused(cluster, project)
    finally:
        cluster.run("umount", project.store, user="root").ok()
    assert "MB are free" in error


def test_a_package_that_is_not_what_the_lock_says(cluster):
    project = Project(cluster, SMALL)
    project.run("pinstep", "lock").ok()
    path = project.directory / "environment-lock.yml"
    text = path.read_text()
    digest = re.search(r"sha256: ['\"]?([0-9a-f]{64})", text)[1]
    project.write(text.replace(digest, "0" * 64), path.name)
    error, _ = refused(cluster, project)
    assert "sha256" in error


def test_a_spec_changed_since_it_was_locked(cluster):
    project = Project(cluster, SMALL)
    project.run("pinstep", "lock").ok()
    project.write(spec("show-prefix", variables={"DEMO": "new"}))
    error, text = refused(cluster, project)
    assert "changed" in error and "DEMO" in text and "pinstep lock" in text
    assert project.run("srun", "--env-spec=environment.yml", "--env-lock=update", "printenv", "DEMO").ok().out == \
        "new\n"


def test_frozen_wants_a_lock(cluster):
    error, text = refused(cluster, Project(cluster, SMALL), "--env-lock=frozen")
    assert "lock" in error and "pinstep lock" in text


# ---- many at once

def test_twenty_submissions_at_once_solve_and_build_once(cluster):
    project = Project(cluster, SMALL)
    with ThreadPoolExecutor(20) as pool:
        results = list(pool.map(lambda _: project.run("sbatch", "--parsable", "-n1", "--env-spec=environment.yml",
                                                      "--wrap", "show-prefix"), range(20)))
    assert [result.rc for result in results] == [0] * 20, results
    assert len(project.prefixes()) == 1 and project.locks() == []
    built = [result for result in results if "built" in result.err]
    solved = [result for result in results if "solved" in result.err]
    assert len(built) == 1 and len(solved) == 1


def test_twenty_builders_on_two_nodes_without_flock_build_once_and_download_once(cluster, tmp_path):
    """Several nodes, one file system, and no flock that anybody could lean on."""
    project = Project(cluster, "")
    project.write((env_spec.TOP / "tests/cluster/no_flock.c").read_text(), "no_flock.c")
    cluster.run("gcc", "-shared", "-fPIC", "-o", f"{project.inside}/no_flock.so", f"{project.inside}/no_flock.c").ok()
    log = f"{project.inside}/downloads"
    node = cluster.nodes[0]
    server = cluster.start(env_spec.TOP / "contrib/localchannel/serve", env_spec.CHANNEL, "--host", "0.0.0.0", "--log", log,
                           node=node)
    try:
        url = f"http://{cluster.addresses[0]}:{server.stdout.readline().strip()}"
        packages = env_spec.packages("python", "greet", "show-prefix", "prefix-text")
        project.write("# platform: linux-64\n@EXPLICIT\n"
                      + "".join(f"{url}/{path}#sha256:{digest}\n" for path, digest in packages), "small.lock")
        five = "for i in 1 2 3 4 5; do pinstep build --quiet small.lock & done; wait"
        done = project.run("srun", "-N2", "-n4", f"--export=ALL,LD_PRELOAD={project.inside}/no_flock.so", "sh", "-c",
                           five).ok()
    finally:
        server.terminate()
        server.communicate()
    assert len({line.split(":")[0] for line in done.lines}) == 1 and len(done.lines) == 20
    assert len(project.prefixes()) == 1
    assert sum(": built, " in line for line in done.lines) == 1
    sent = [line.split(" ", 2)[2] for line in cluster.path(log).read_text().splitlines()]
    assert sorted(sent) == sorted(f"/{path}" for path, _ in packages)


# ---- what a step costs

def whole_calls(trace):
    """(pid, call) as they ended: where two processes call at once, strace writes a call in two pieces."""
    begun = {}
    for line in trace.splitlines():
        pid, call = line.split(None, 1)
        if call.endswith("<unfinished ...>"):
            begun[pid] = call.removesuffix("<unfinished ...>")
        elif call.startswith("<... "):
            yield pid, begun.pop(pid, "") + call.split(" resumed>", 1)[1]
        else:
            yield pid, call


def test_a_call_that_strace_wrote_in_two_pieces_is_one():
    trace = '7  execve("/a", <unfinished ...>\n8 openat(AT_FDCWD, "b") = 3\n7 <... execve resumed>["a"]) = 0\n'
    assert list(whole_calls(trace)) == [("8", 'openat(AT_FDCWD, "b") = 3'), ("7", 'execve("/a", ["a"]) = 0')]


def test_a_step_starts_no_process_and_opens_no_connection_to_activate(cluster):
    project = Project(cluster, SMALL)
    project.run("srun", "--env-spec=environment.yml", "true").ok()
    prefix = the_prefix(project)
    trace = f"{project.inside}/trace"
    slurmd = cluster.run("pgrep", "-x", "slurmd", user="root", node=cluster.nodes[0]).ok().out.split()[0]
    strace = cluster.start("strace", "-f", "-qq", "-e", "trace=execve,socket,connect,openat", "-o", trace, "-p", slurmd,
                           user="root", node=cluster.nodes[0])
    wait_until(lambda: cluster.path(trace).exists(), "strace attached")
    project.run("srun", f"--nodelist={cluster.nodes[0]}", "-N1", "-n1", f"--env-spec={prefix}", "show-prefix").ok()

    def calls():
        return list(whole_calls(cluster.path(trace).read_text()))

    def executed(of):
        return [call for _, call in of if call.startswith("execve(") and call.endswith("= 0")]

    wait_until(lambda: any("show-prefix" in call for call in executed(calls())), "the trace is written")
    strace.terminate()
    strace.communicate()
    traced = calls()
    opened = next(i for i, (_, call) in enumerate(traced) if "conda-meta/pinstep/activation" in call)
    task = [call for pid, call in traced[opened:] if pid == traced[opened][0]]
    until_exec = task[:next(i for i, call in enumerate(task) if call.startswith("execve("))]
    assert not any(call.startswith(("socket(", "connect(")) for call in until_exec)
    assert "show-prefix" in executed(traced[opened:])[0]


# ---- without the plugin

def test_pinstep_submits_without_the_plugin(cluster, own_cluster):
    bare = own_cluster(Wanted("plain", installed=True))
    env_spec.configure(bare)
    project = Project(bare, PYTHON)
    script = project.write("#!/bin/bash\neval \"$(pinstep activate)\" || exit\ngreet\n"
                           "srun -n2 pinstep-launch -- sh -c 'echo $RANK; greet'\n", "job.sh")
    submitted = project.run("pinstep", "sbatch", "--parsable", "--env-spec=environment.yml", "-N1", "-n2", script).ok()
    hello = greeting(the_prefix(project))
    output = bare.path(project.inside) / f"slurm-{submitted.out.strip()}.out"
    wait_until(lambda: output.exists() and output.read_text().count(hello) == 3, "the job's three greetings", 30)
    assert sorted(output.read_text().splitlines()) == ["0", "1", hello, hello, hello]
    launch = ("pinstep-launch", "--", "greet")
    assert project.run("pinstep", "srun", "-n", "1", "--env-spec", "environment.yml", *launch).ok().out == hello + "\n"
    noted = project.run("pinstep", "srun", "-n", "1", "true").ok()
    assert "only programs started through pinstep-launch run in the environment" in noted.err
    assert project.run("pinstep", "salloc", "--quiet", "-n1", "srun", *launch).ok().out == hello + "\n"


def test_the_scripts_lines_say_how_without_the_plugin_too(cluster, own_cluster):
    bare = own_cluster(Wanted("plain", installed=True))
    project = Project(bare, SMALL)
    pin = "SLURM_SPANK_PINSTEP_ENV"
    script = project.write("#!/bin/bash\n#SBATCH --env-spec=none -n1 --output=%x.out\n# more\n#SBATCH --env-gpu-share\n"
                           f"echo ${{{pin}-no pin}} $SLURM_JOB_NAME $*\n", "lines.sh")
    first = project.run("pinstep", "sbatch", "--parsable", script, "a", "--env-spec=b").ok()
    assert bare.run("scontrol", "write", "batch_script", first.out.strip(), "-").ok().out == (
        bare.path(script).read_text().replace("--env-spec=none", "").replace("--env-gpu-share", ""))
    output = bare.path(project.inside) / "lines.sh.out"
    wait_until(lambda: output.exists() and output.read_text(), "the job's output", 30)
    assert output.read_text() == "no pin lines.sh a --env-spec=b\n"
    # What is typed wins, over Slurm's name of the job too.
    prefix = bare.prefix("lines")
    project.run("pinstep", "sbatch", f"--env-spec={prefix}", "-J", "typed", script).ok()
    output = output.with_name("typed.out")
    wait_until(lambda: output.exists() and output.read_text(), "the job's output", 30)
    assert f"{prefix}" in output.read_text() and output.read_text().endswith(" typed\n")


# ---- showing

def test_resolve_names_the_environment_of_the_directory(cluster):
    project = Project(cluster, SMALL)
    found = json.loads(project.run("pinstep", "resolve", "--json").ok().out)
    assert found["prefix"] == the_prefix(project) and found["pinned"] is True
