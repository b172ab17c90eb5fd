"""Any number of processes that want one environment build it once."""

import json
import os
import re
import signal
import time

import pytest

from builds import PINSTEP, SMALL, Builder, Server, chosen, explicit, leftovers, made, visible

BUILDERS = 8


@pytest.fixture
def alice():
    with Builder() as builder:
        yield builder


@pytest.fixture
def server(tmp_path):
    with Server(made(), tmp_path / "log") as running:
        yield running


def test_many_builders_download_and_build_once(alice, server):
    packages = chosen(made(), SMALL)
    lock = alice.write("small.lock", explicit(server.url, packages))
    processes = [alice.start(PINSTEP, "build", "--json", "--store=store", lock) for _ in range(BUILDERS)]
    results = []
    for process in processes:
        output, errors = process.communicate()
        assert process.returncode == 0, output + errors
        results.append(json.loads(output))
    assert len({(one["prefix"], one["tree_hash"]) for one in results}) == 1
    assert [one["built"] for one in results].count(True) == 1
    assert sorted(path for _, _, path in server.downloads()) == sorted(f"/{path}" for path, _ in packages)
    assert leftovers(alice.home / "store") == []


@pytest.mark.skips("no root")
def test_builders_on_several_machines_build_once(alice, server):
    packages = chosen(made(), SMALL)
    lock = alice.write("small.lock", explicit(server.url, packages))
    processes = [alice.start(PINSTEP, "build", "--json", "--store=store", lock, elsewhere=f"node{number % 3}")
                 for number in range(6)]
    results = []
    for process in processes:
        output, errors = process.communicate()
        assert process.returncode == 0, output + errors
        results.append(json.loads(output))
    assert len({one["prefix"] for one in results}) == 1 and [one["built"] for one in results].count(True) == 1
    assert sorted(path for _, _, path in server.downloads()) == sorted(f"/{path}" for path, _ in packages)


def test_those_who_wait_say_for_whom(alice, server):
    lock = alice.write("small.lock", explicit(server.url, chosen(made(), SMALL)))
    first = alice.start(PINSTEP, "build", "-v", "--store=store", lock)
    first.stderr.readline()                      # it has begun
    second = alice("build", "--store=store", lock)
    assert first.wait() == 0 and second.returncode == 0
    assert re.search(r"^pinstep: waiting for the build by \S+ \d+ \S+$", second.stderr, re.MULTILINE), second


def test_who_waits_for_a_builder_that_dies_builds_itself(alice, server):
    lock = alice.write("small.lock", explicit(server.url, chosen(made(), SMALL)))
    first = alice.start(PINSTEP, "build", "-v", "--store=store", lock)
    first.stderr.readline()
    second = alice.start(PINSTEP, "build", "--json", "--store=store", lock)
    second.stderr.readline()                     # "waiting for …"
    os.killpg(first.pid, signal.SIGKILL)
    output, errors = second.communicate()
    assert second.returncode == 0, output + errors
    assert json.loads(output)["built"] and len(visible(alice.home / "store")) == 1
    assert leftovers(alice.home / "store") == []


def test_a_builder_whose_caller_is_killed_ends(alice, server):
    lock = alice.write("small.lock", explicit(server.url, chosen(made(), SMALL)))
    first = alice.start(PINSTEP, "build", "-v", "--store=store", lock)
    first.stderr.readline()
    first.kill()                                 # pinstep alone, not pinstep-build
    rest = first.stderr.read()                   # until nobody has it open any more
    assert "publish" not in rest and visible(alice.home / "store") == []
    assert alice.build("--store=store", lock)["built"]


@pytest.mark.skips("no root")
def test_the_lease_of_somebody_dead_that_may_not_be_removed_is_one_error(alice, server):
    lock = alice.write("small.lock", explicit(server.url, chosen(made(), SMALL)))
    first = alice.start(PINSTEP, "build", "-v", "--store=store", lock)
    first.stderr.readline()                      # it has begun
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    [lease] = (alice.home / "store/b").iterdir()
    lease.chmod(0o755)
    os.chown(lease, 0, 0)
    done = alice("build", "--store=store", lock)
    assert done.returncode == 1 and f"error: cannot remove '{lease}/" in done.stderr, done
    assert "its holder is gone" in done.stderr and done.stderr.count("error:") == 1, done


def test_flock_is_never_asked(alice, server, tmp_path):
    """On some cluster file systems it fails, on others it lies."""
    lock = alice.write("small.lock", explicit(server.url, chosen(made(), ["show-prefix", "greet-1.0", "python"])))
    trace = alice.write("trace", "")
    done = alice.run("strace", "-f", "-qq", "-o", trace, "-e", "trace=flock,fcntl", PINSTEP, "build", "--store=store",
                     lock)
    assert done.returncode == 0, done
    assert not re.findall(r"^.*(?:flock\(|F_(?:OFD_)?SETLK).*$", trace.read_text(), re.MULTILINE)


def test_a_second_build_fetches_and_makes_nothing(alice, server):
    lock = alice.write("small.lock", explicit(server.url, chosen(made(), SMALL)))
    first = alice.build("--store=store", lock)
    again = alice.build("--store=store", lock)
    assert not again["built"] and again["tree_hash"] == first["tree_hash"] and again["fetched"] == 0


def test_who_lost_his_lease_unawares_takes_what_the_other_has_published(alice, server):
    """What a machine that slept finds when it wakes up."""
    lock = alice.write("small.lock", explicit(server.url, chosen(made(), SMALL)))
    sleeper = alice.start(PINSTEP, "build", "-v", "--json", "--store=store", lock)
    while "compile" not in sleeper.stderr.readline():
        pass
    os.killpg(sleeper.pid, signal.SIGSTOP)
    for lease in (alice.home / "store/b").glob("*/*"):
        lease.unlink()                          # what a taker does that found no beat
    other = alice.build("--store=store", lock)
    os.killpg(sleeper.pid, signal.SIGCONT)
    output, errors = sleeper.communicate()
    assert sleeper.returncode == 0, output + errors
    assert (other["built"], json.loads(output)["built"]) == (True, False)
    assert json.loads(output)["prefix"] == other["prefix"] and leftovers(alice.home / "store") == []
