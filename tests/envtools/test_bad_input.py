"""What can be wrong around `pinstep lock`: a sentence with the kind of error, an exit code, and the old lock as it was."""

import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from builds import Builder, made
from channels import Server, Stalling, record, write_channel
from conftest import PINSTEP, User
from test_lock import Locker, Ordinary


class Broken:
    """Somebody with a lock that was made while all was well."""

    def __init__(self, locker, solver):
        self.locker = locker
        self.solver = solver
        self.home = locker.user.home
        self.channel = locker.channel
        self.index = locker.channel / "linux-64/repodata.json"
        self.lock = self.home / "environment-lock.yml"
        locker.spec("xz")
        assert locker.lock().returncode == 0
        self.before = self.lock.read_bytes()
        locker.spec("xz", "python")

    def at(self, url):
        self.locker.config(f"channel.local={url}\nsolver={self.solver}\n")

    def fails(self, *arguments, **variables):
        """{error, cause, hint} of a lock that is not made; what is there is whole and nothing lies beside it."""
        error = self.locker.json(*arguments, code=1, **variables)
        text = self.locker.lock(*arguments, **variables)
        assert text.returncode == 1 and text.stdout == "" and len(text.stderr.splitlines()) <= 2, text
        assert text.stderr.startswith("pinstep: error: "), text
        assert self.lock.read_bytes() == self.before
        assert sorted(path.name for path in self.home.glob("*environment*")) == ["environment-lock.yml",
                                                                               "environment.yml"]
        return error


@pytest.fixture
def broken(solver):
    with Builder() as builder:
        yield Broken(Locker(Ordinary(builder), solver), solver)


# ---- the network

def test_no_network(broken):
    broken.at("http://127.0.0.1:9/channel")
    error = broken.fails()
    assert error["error"] == "network" and "cannot read channel 'local' at 'http://127.0.0.1:9/" in error["cause"]
    assert "channel.local=URL" in error["hint"]


def test_a_host_without_a_name(broken):
    broken.at("http://channel.invalid/local")
    assert "channel 'local' at 'http://channel.invalid/" in broken.fails()["cause"]


def test_nothing_there(broken):
    with Server(broken.home) as server:
        broken.at(f"{server.url}/elsewhere")
        error = broken.fails()
    assert error["error"] == "network" and "channel 'local'" in error["cause"] and "404" in error["cause"], error


def test_an_unknown_channel_is_told_the_setting(broken):
    broken.locker.user.write(".condarc", "channel_alias: http://127.0.0.1:9\n")
    broken.locker.user.write("environment.yml", "channels: [lokal]\ndependencies: [xz]\n")
    error = broken.fails()
    assert "channel 'lokal'" in error["cause"] and "channel.lokal=URL" in error["hint"]


# ---- indexes

@pytest.mark.parametrize("content", ["", "{", '{"packages": 3}', "<html>please log in</html>", "\0" * 100])
def test_an_index_that_is_none(broken, content):
    broken.index.write_text(content)
    error = broken.fails()
    assert error["error"] == "network" and "the index of channel 'local' is damaged: " in error["cause"], error


def test_an_index_that_ends_in_the_middle(broken):
    text = broken.index.read_text()
    broken.index.write_text(text[:len(text) // 2])
    assert "the index of channel 'local' is damaged: EOF" in broken.fails()["cause"]
    with Server(broken.home) as server:
        broken.at(f"{server.url}/channel")
        assert "the index of channel 'local' is damaged: EOF" in broken.fails()["cause"]


def test_a_compressed_index_that_is_none(broken):
    (broken.channel / "linux-64/repodata.json.zst").write_bytes(b"(\xb5/\xfd broken")
    with Server(broken.home) as server:
        broken.at(f"{server.url}/channel")
        assert "the index of channel 'local' is damaged: " in broken.fails()["cause"]


# rattler's threads outlive the interpreter and crash one such end in ten: hence _exit.
INDEX = """import asyncio, os, sys, rattler.index
asyncio.run(rattler.index.index_fs(sys.argv[1], write_shards=True))
os._exit(0)
"""


@pytest.mark.parametrize("damage, cause", [
    (lambda shard, other: shard[:len(shard) // 2], "the index of channel 'local' is damaged: "),
    (lambda shard, other: b"no shard", "the index of channel 'local' is damaged: "),
    (lambda shard, other: other, "no channel has a package 'show-prefix'")])
def test_a_part_of_an_index_that_is_damaged_or_another(broken, damage, cause):
    """As large channels have it: a file for each package, named by its digest."""
    channel = broken.home / "sharded"
    for package in ("greet-1.0-*", "show-prefix-*"):
        (path,) = made().glob(f"*/{package}.conda")
        target = channel / path.parent.name / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    python = next(broken.solver.glob("*/bin/python"))
    done = subprocess.run([python, "-c", INDEX, channel], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (shard,), (other,) = (list(channel.glob(f"{subdir}/**/" + "?" * 64 + ".msgpack.zst"))
                          for subdir in ("linux-64", "noarch"))
    broken.locker.user.write("environment.yml", "channels: [local]\ndependencies: [show-prefix]\n")
    shard.write_bytes(damage(shard.read_bytes(), other.read_bytes()))
    with Server(broken.home) as server:
        broken.at(f"{server.url}/sharded")
        error = broken.fails()
    assert cause in error["cause"], error


def test_a_channel_without_the_platform(broken):
    broken.index.unlink()
    (broken.channel / "linux-64").rmdir()
    for url in (broken.channel, None):
        with Server(broken.home) as server:
            broken.at(url or f"{server.url}/channel")
            error = broken.fails()
        assert (error["error"], error["cause"]) == (
            "unsatisfiable", "the channels have nothing for linux-64: local")


def test_a_record_without_a_digest(broken):
    index = json.loads(broken.index.read_text())
    for entry in index["packages.conda"].values():
        del entry["sha256"]
    broken.index.write_text(json.dumps(index))
    error = broken.fails()
    assert error["error"] == "unsupported" and "has no sha256 in its channel" in error["cause"]


def test_a_record_whose_digest_is_none(broken):
    index = json.loads(broken.index.read_text())
    for entry in index["packages.conda"].values():
        entry["sha256"] = "abc"
    broken.index.write_text(json.dumps(index))
    assert "the index of channel 'local' is damaged: failed to parse digest" in broken.fails()["cause"]


# ---- this machine

@pytest.mark.skips("no root")
@pytest.mark.parametrize("full, cause", [
    ("cache", "the channels' indexes cannot be kept in "), ("home", "cannot write '")])
def test_a_full_disk(broken, full, cause):
    """On a file system of 64 kB of its own."""
    small = broken.home / "small"
    small.mkdir()
    os.chmod(small, 0o777)
    variables = {"XDG_CACHE_HOME": str(small)} if full == "cache" else {}
    arguments = [] if full == "cache" else [f"--output={small}/x-lock.yml"]
    write_channel(broken.channel, *(record(f"filler-{i}") for i in range(400)))
    command = broken.locker.user.command(PINSTEP, "lock", *arguments)
    with Server(broken.home) as server:
        broken.at(f"{server.url}/channel")
        done = User.run(
            broken.locker.user, "unshare", "--mount", "sh", "-c",
            f"mount -t tmpfs -o size=64k,mode=777 none {small} && dd if=/dev/zero of={small}/filler bs=1k 2>/dev/null; "
            'exec "$@"', "sh", *command, **variables)
    assert "No space left on device" in done.stderr
    assert done.returncode == 1 and cause in done.stderr and len(done.stderr.splitlines()) <= 2, done
    assert broken.lock.read_bytes() == broken.before


def test_a_directory_that_cannot_be_written(broken):
    os.chmod(broken.home, 0o555)
    try:
        done = broken.locker.lock()
        assert done.returncode == 1 and "cannot write" in done.stderr, done
    finally:
        os.chmod(broken.home, 0o755)
    assert broken.lock.read_bytes() == broken.before


# ---- the solver

def test_no_solver(broken):
    broken.locker.config(f"channel.local={broken.channel}\n")
    error = broken.fails()
    assert error["error"] == "not_found" and "'pinstep setup' installs it" in error["hint"]


def test_a_solver_whose_python_is_gone(broken):
    gone = broken.home / "gone"
    (link,) = [path for path in broken.solver.iterdir() if path.is_symlink()]
    (gone / link.name / "bin").mkdir(parents=True)
    (gone / link.name / "bin/python").symlink_to("/nonexistent/python3")
    error = broken.fails(PINSTEP_SOLVER=str(gone))
    assert error["error"] in ("not_found", "os") and "pinstep setup" in error["hint"], error


def descendants(pid):
    """Process ids below one, the deepest last."""
    found = [pid]
    for parent in found:
        with open(f"/proc/{parent}/task/{parent}/children") as children:
            found += [int(word) for word in children.read().split()]
    return found[1:]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_solver_that_is_killed_while_it_works(broken, number):
    """It hangs at a server that says nothing."""
    with Stalling("no answer") as server:
        broken.at(server.url)
        command = broken.locker.user.command(PINSTEP, "lock")
        process = subprocess.Popen(command, cwd=broken.home, env=broken.locker.user.variables, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        solvers = []
        while not solvers and process.poll() is None:
            solvers = [pid for pid in descendants(process.pid) if "solve_conda.py" in open(f"/proc/{pid}/cmdline").read()]
            time.sleep(0.05)
        os.kill(solvers[-1], number)
        out, errors = process.communicate(timeout=120)
    assert process.returncode == 1 and f"was ended by signal {int(number)}" in errors, errors
    assert broken.lock.read_bytes() == broken.before


def test_an_interrupt_leaves_the_lock(broken):
    with Stalling("no answer") as server:
        broken.at(server.url)
        command = broken.locker.user.command(PINSTEP, "lock")
        process = subprocess.Popen(command, cwd=broken.home, env=broken.locker.user.variables, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        while process.poll() is None and not any(
                "solve_conda.py" in open(f"/proc/{pid}/cmdline").read() for pid in descendants(process.pid)):
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=120)
    assert process.returncode != 0
    assert broken.lock.read_bytes() == broken.before
