"""Submissions that cannot work: refused in the command itself, with the cause and what to do, and nothing
is queued."""

import re

import pytest

from broken import Broken, on_nodes
from cluster import Wanted
from expect import PIN
from messages import assert_refused, sentence

CLUSTER = Wanted("plain", plugin=True)


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("refusals")


@pytest.fixture(scope="module")
def broken(cluster):
    return Broken(cluster)


COMMANDS = {
    "sbatch": lambda *arguments: ("sbatch", *arguments, "--wrap", "true"),
    "salloc": lambda *arguments: ("salloc", *arguments, "true"),
    "srun": lambda *arguments: ("srun", *arguments, "true"),
}


@pytest.fixture(params=COMMANDS)
def submit(request, cluster):
    """submit(*arguments): a submission after which there must be no more jobs than before."""
    def run(*arguments, **where):
        before = jobs(cluster)
        result = cluster.run(*COMMANDS[request.param](*arguments), **where)
        assert jobs(cluster) == before
        assert cluster.console.ask("squeue", "--noheader", "--states=all", "--name=refused") == ""
        return result

    return run


def jobs(cluster):
    """Numbers of all jobs, ended ones too."""
    return re.findall(r"\bJobId=(\d+)", cluster.console.ask("scontrol", "--oneliner", "show", "jobs"))


@pytest.mark.parametrize("spec, cause, hint", [
    ("/nowhere", "cannot find '/nowhere': No such file or directory", "is the path right"),
    ("./../nowhere/x", "cannot find './../nowhere/x': No such file or directory", "is the path right"),
    ("plain-word", "there is no environment 'plain-word'", "./plain-word"),
    ("", "the name of the environment is empty", "name"),
    ("/etc/passwd", "'/etc/passwd' is neither an environment file nor a lock", "an environment file has"),
    ("/home/alice", "'/home/alice' is not a prefix made for pinstep", "pinstep(8) shows how"),
    ("/home/bob/x", "cannot find '/home/bob/x': Permission denied", "closed to you"),
    ("/home/alice/" + "x" * 256, "cannot find '/home/alice/xxx", "is the path right"),
    ("/home/alice/" + "long/" * 1000, "", ""),
])
def test_an_environment_that_is_none_is_refused_before_anything_is_queued(submit, spec, cause, hint):
    assert_refused(submit(f"--env-spec={spec}"), cause, hint)


@pytest.mark.parametrize("name", ["unreadable", "corrupt", "newer", "long", "link"])
def test_a_prefix_that_cannot_be_used_is_refused_at_once(submit, broken, name):
    path, cause = broken(name)
    assert_refused(submit(f"--env-spec={path}"), cause, "")


def test_a_strangers_prefix_is_refused_and_a_trusted_owners_is_not(cluster, submit):
    bobs = on_nodes(cluster, cluster.new_name("bobs-here"), "login", "n0", "n1", user="bob")
    uid = cluster.home("bob").stat().st_uid
    assert_refused(submit(f"--env-spec={bobs}"), f"belongs to user {uid}, who is neither you nor trusted here",
                   "'trusted_uids' in pinstep.conf")
    step = ("srun", "-N2", "-n2", f"--env-spec={bobs}", "printenv", "CONDA_PREFIX")
    cluster.site_file("pinstep.conf", f"trusted_uids = 4711,{uid}\n", ["login", "n0"])
    try:
        half = cluster.run(*step)
        cluster.site_file("pinstep.conf", f"trusted_uids = 4711,{uid}\n", ["n1"])
        assert cluster.run(*step).ok().lines == [bobs, bobs]
    finally:
        cluster.site_file("pinstep.conf", None)
    # Each node believes its own configuration only.
    assert sentence(half.err).startswith(f"pinstep: error: {cluster.nodes[1]}: '{bobs}/")


@pytest.mark.parametrize("program, mode, cause", [
    (None, 0, "cannot run '{}': No such file or directory"),
    ("#!/bin/sh\n", 0o644, "cannot run '{}': Permission denied"),
    ("#!/nowhere/sh\n", 0o755, "cannot run '{}': No such file or directory"),
    ("\177ELF", 0o755, "cannot run '{}': Exec format error"),
    ("#!/bin/sh\nkill -9 $$\n", 0o755, "'{} resolve' was ended by signal 9"),
    ("#!/bin/sh\nexit 127\n", 0o755, "'{} resolve' ended with exit code 127"),
    ("#!/bin/sh\necho garbage\n", 0o755, "'{} resolve' printed no pin: the job's pin has no valid schema"),
    ("#!/bin/sh\n", 0o755, "'{} resolve' printed no pin: the job's pin has no valid schema"),
    ("#!/bin/sh\nyes\n", 0o755, "the program wrote more than 4097 bytes"),
], ids=["absent", "not-executable", "no-interpreter", "no-program", "killed", "fails", "garbage", "silent", "endless"])
def test_a_broken_pinstep_program_stops_the_submission(cluster, submit, prefix, program, mode, cause):
    path = "/home/alice/broken-cli/pinstep"
    if program is not None:
        cluster.write(path, program, mode=mode)
    cluster.site_file("pinstep.conf", f"pinstep = {path}\n", ["login"])
    try:
        result = submit(f"--env-spec={prefix}")
        without = cluster.srun("true").ok()
    finally:
        cluster.site_file("pinstep.conf", None, ["login"])
        cluster.path(path).unlink(missing_ok=True)
    assert_refused(result, cause.format(path), "a site sets another path with 'pinstep'")
    assert without.err == ""


def test_a_setting_that_does_not_exist(cluster, submit):
    """Bob's, so that it is in nobody else's way."""
    bobs = cluster.prefix("with-settings", user="bob")
    config = cluster.write("/home/bob/.config/pinstep/config", "# mine\nuser_sight = keep\n", user="bob")
    try:
        assert_refused(submit(f"--env-spec={bobs}", user="bob"), f"{config}:2: there is no setting 'user_sight'",
                       "did you mean 'user_site'?")
        cluster.write(config, "pinstep = /bin/true\n", user="bob")
        assert_refused(submit(f"--env-spec={bobs}", user="bob"), f"{config}:1: 'pinstep' can be set in ", None)
        cluster.write(config, "user_site = maybe\n", user="bob")
        assert_refused(submit(f"--env-spec={bobs}", user="bob"), f"{config}:1: 'maybe' is not a value of 'user_site'",
                       "it takes off or keep")
    finally:
        cluster.path(config).unlink()


def test_components_of_a_heterogeneous_job_with_different_environments(cluster, prefix):
    before = jobs(cluster)
    other = cluster.prefix("refusals-other")
    commands = [("sbatch", f"--env-spec={prefix}", "-n1", ":", f"--env-spec={other}", "-n1", "--wrap", "true"),
                ("salloc", f"--env-spec={prefix}", "-n1", ":", f"--env-spec={other}", "-n1", "true"),
                ("srun", f"--env-spec={prefix}", "-n1", "true", ":", f"--env-spec={other}", "-n1", "true"),
                ("srun", f"--env-spec={prefix}", "-n1", "true", ":", "--env-spec=none", "-n1", "true")]
    for command in commands:
        second = "none" if "--env-spec=none" in command else other
        assert_refused(cluster.run(*command), "components of a heterogeneous job cannot differ: "
                       f"--env-spec={prefix} and --env-spec={second}", "give one --env-spec for all")
    assert jobs(cluster) == before


def test_a_rendezvous_that_there_is_not(cluster, prefix):
    before = jobs(cluster)
    for command in (["srun", "true"], ["sbatch", "--wrap", "true"], ["salloc", "true"]):
        assert_refused(cluster.run(command[0], "--env-rendezvous=mpi", *command[1:]),
                       "--env-rendezvous cannot be 'mpi'", "it is auto, rank, torchrun, spawn or none")
    assert_refused(cluster.run("srun", "--env-rendezvous=rank", "-n1", "true", ":", "--env-rendezvous=spawn", "-n1",
                               "true"),
                   "components of a heterogeneous job cannot differ: --env-rendezvous=rank and --env-rendezvous=spawn",
                   "give one --env-rendezvous for all")
    assert jobs(cluster) == before


def test_a_gpu_option_that_cannot_act(cluster, prefix):
    before = jobs(cluster)
    assert_refused(cluster.srun("--env-gpu-share", f"--env-spec={prefix}", "true"),
                   "--env-gpu-share acts on the steps of a batch job", "srun --gpu-bind=none")
    assert_refused(cluster.run("sbatch", "--env-gpu-share", "--wrap", "true"), "--env-gpu-share needs an environment",
                   "add --env-spec or --env-rendezvous")
    assert jobs(cluster) == before


def test_an_inherited_pin_that_is_broken(cluster):
    """sbatch and salloc inside a job hand its pin on; one that nobody can read is no pin to hand on."""
    for command in COMMANDS["sbatch"](), COMMANDS["salloc"]():
        result = cluster.run(*command, env={PIN: "garbage"})
        assert_refused(result, "the job's pin has no valid schema", f"unset {PIN}, or name an environment")
