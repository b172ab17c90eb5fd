"""What pinstep locks is what py-rattler solves by itself, and a solution by a reading of conda's rules that
knows no solver (semantics.py); for small channels one of the best, found by trying all.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest

from builds import Builder, made
from channels import record, write_channel
from semantics import Problem, Version
from test_lock import Locker, Ordinary

BASELINE = ["__archspec=1=x86_64", "__glibc=2.28", "__linux=4.18", "__unix=0"]

# ---- channels of a dozen records at most

CHANNELS = {
    "pins": [record("lib", "1.0"), record("lib", "1.5"), record("lib", "2.0"), record("lib", "2.1"),
             record("app", "1.0", depends=["lib 1.*"]), record("app", "2.0", depends=["lib >=2,<2.1"]),
             record("tool", "3.0", depends=["lib <2"]), record("tool", "2.0", depends=["lib"]),
             record("plugin", "1.0", depends=["app ==1.0"])],
    "builds": [record("python", "3.10.13", "0_cpython"), record("python", "3.11.9", "0_cpython"),
               record("python", "3.11.9", "1_pypy", number=1), record("python", "3.12.4", "0_cpython"),
               record("numpy", "1.24.2", "py310_0", ["python 3.10.*"]),
               record("numpy", "1.26.4", "py311_0", ["python >=3.11,<3.12.0a0"]),
               record("numpy", "1.26.4", "py311_1", ["python >=3.11,<3.12.0a0"], 1),
               record("numpy", "1.26.4", "py312_0", ["python >=3.12,<3.13.0a0"]),
               record("torch", "2.0", "cpu_py311_0", ["python 3.11.*", "numpy >=1.25"]),
               record("torch", "2.0", "cuda118_py311_200", ["python 3.11.*", "numpy", "__cuda >=11.8"], 200),
               record("torch", "2.1", "cuda121_py312_200", ["python 3.12.*", "numpy", "__cuda >=12"], 200)],
    "constrains": [record("a", "1.0"), record("a", "2.0"), record("a", "3.0"),
                   {**record("b", "1.0"), "constrains": ["a <3"]}, {**record("b", "2.0"), "constrains": ["a <2"]},
                   {**record("c", "1.0", depends=["b"]), "constrains": ["a !=2.0"]},
                   {**record("never", "1.0"), "constrains": ["a <0"]},
                   {**record("old-driver", "1.0"), "constrains": ["__cuda <12"]}, record("d", "1.0", depends=["a"])],
    "nodes": [record("gpu", "1.0", "cpu_0"), record("gpu", "1.0", "cuda11_1", ["__cuda >=11,<12"], 1),
              record("gpu", "1.0", "cuda12_2", ["__cuda >=12"], 2), record("libc-user", "2.0", depends=["__glibc >=2.36"]),
              record("libc-user", "1.0", depends=["__glibc >=2.17"]),
              record("fast", "1.0", "v3", ["__archspec 1 x86_64_v3"], 1), record("fast", "1.0", "v1", ["__archspec"]),
              record("kernel", "1.0", depends=["__linux >=5.10"]), record("unix", "1.0", depends=["__unix"])],
    "versions": [record("x", "1.0a1"), record("x", "1.0rc1"), record("x", "1.0"), record("x", "1.0.post1"),
                 record("x", "1.0.2"), record("x", "1.10"), record("x", "2.0.dev3"), record("y", "1!0.5"),
                 record("y", "2024.1"), record("z", "1.1.1k"), record("z", "1.1.1w"), record("pycase", "1.0+cu118")],
    "features": [{**record("blas", "2.0", "mkl"), "track_features": "mkl"}, record("blas", "1.0", "openblas"),
                 record("solver", "1.0", depends=["blas"]), record("solver", "2.0", depends=["blas 2.*"])],
    "high": [record("shared", "1.0", "high"), record("only-high", "1.0", depends=["shared"]),
             record("needs-new", "1.0", depends=["shared >=2"])],
    "low": [record("shared", "1.0", "low"), record("shared", "2.0", "low"), record("only-low", "1.0", depends=["shared"]),
            record("needs-new", "0.9", depends=["shared"])],
}


class Case:
    """What is asked for; `expected`: written by hand, as "name version build"; `none`: there is no solution."""

    def __init__(self, name, channels, *specs, nodes=(), priority="flexible", expected=None, none=False):
        self.name = name
        self.channels = channels.split()
        self.specs = specs
        self.nodes = nodes
        self.priority = priority
        self.expected = expected
        self.none = none

    def __repr__(self):
        return self.name

    @property
    def virtual(self):
        given = {package.partition("=")[0] for package in self.nodes}
        return [*(package for package in BASELINE if package.partition("=")[0] not in given), *self.nodes]


SMALL = [
    Case("newest of all", "pins", "app", "lib", expected=["app 2.0 0", "lib 2.0 0"]),
    Case("a pin of two", "pins", "app", "lib=1", expected=["app 1.0 0", "lib 1.5 0"]),
    Case("an exact pin", "pins", "lib==1.0", "app", expected=["app 1.0 0", "lib 1.0 0"]),
    Case("a blank is exact", "pins", "lib 2.0"),
    Case("one goes back for another", "pins", "plugin", expected=["app 1.0 0", "lib 1.5 0", "plugin 1.0 0"]),
    Case("a range with blanks", "pins", "lib >= 1.0 , < 2.0"),
    Case("one of two ranges", "pins", "lib <1.5|>=2,<2.1"),
    Case("not this one", "pins", "lib !=2.1"),
    Case("compatible release", "pins", "lib ~=1.0"),
    Case("asked for twice", "pins", "lib >=1.5", "lib <2.1", "tool"),
    Case("a glob for a version", "pins", "lib 1.*"),
    Case("versions in brackets", "pins", "lib[version='>=1,<2']", "tool"),
    Case("pypy by build", "builds", "python=3.11.*=*_pypy", expected=["python 3.11.9 1_pypy"]),
    Case("cpython by build", "builds", "python=3.11.*=*_cpython", "numpy"),
    Case("the highest build number", "builds", "numpy=1.26", "python=3.11"),
    Case("a build number", "builds", "numpy[version='1.26.*', build_number=0]", "python 3.11.*"),
    Case("a build in brackets", "builds", "numpy[build=py312*]"),
    Case("a pattern in three fields", "builds", "numpy 1.26.4 py311*"),
    Case("a regular expression", "builds", "numpy[build='^py31[01]_.*$', version='1.*']"),
    Case("a CPU build without a driver", "builds", "torch", "python=3.11.*=*_cpython",
         expected=["torch 2.0 cpu_py311_0", "numpy 1.26.4 py311_1", "python 3.11.9 0_cpython"]),
    Case("a CUDA build for a driver", "builds", "torch=2.0", "python", nodes=["__cuda=11.8"]),
    Case("the newest CUDA build", "builds", "torch", nodes=["__cuda=12.4"],
         expected=["torch 2.1 cuda121_py312_200", "numpy 1.26.4 py312_0", "python 3.12.4 0_cpython"]),
    Case("what a package may not stand beside", "constrains", "a", "b"),
    Case("an older one that goes with it", "constrains", "a >=2", "b"),
    Case("a constraint two steps away", "constrains", "a", "c"),
    Case("a constraint asks for nothing", "constrains", "b=2", expected=["b 2.0 0"]),
    Case("a constraint for the driver that is met", "constrains", "old-driver", nodes=["__cuda=11.8"]),
    Case("a constraint for a driver that is not there", "constrains", "old-driver"),
    Case("the variant for this driver", "nodes", "gpu", nodes=["__cuda=11.4"], expected=["gpu 1.0 cuda11_1"]),
    Case("the variant without a driver", "nodes", "gpu", "unix"),
    Case("an older one for the C library", "nodes", "libc-user"),
    Case("a newer one for the C library", "nodes", "libc-user", nodes=["__glibc=2.36"]),
    Case("the micro-architecture", "nodes", "fast", nodes=["__archspec=1=x86_64_v3"]),
    Case("another micro-architecture", "nodes", "fast"),
    Case("before a release", "versions", "x <1.0"),
    Case("alpha is before release candidate", "versions", "x >=1.0a0,<1.0rc1", expected=["x 1.0a1 0"]),
    Case("post is after", "versions", "x >1.0,<1.0.2"),
    Case("ten is more than two", "versions", "x <2.0a0"),
    Case("a release in development", "versions", "x <2.0,>=2.0.dev0"),
    Case("an epoch is more than a year", "versions", "y", expected=["y 1!0.5 0"]),
    Case("letters of old releases", "versions", "z <1.1.1w"),
    Case("any case", "versions", "PyCase=1.0"),
    Case("features count against", "features", "blas"),
    Case("features where they are needed", "features", "solver=2"),
    Case("the first channel wins", "high low", "shared", expected=["shared 1.0 high"]),
    Case("the other way round", "low high", "shared"),
    Case("no priority", "high low", "shared", priority="disabled"),
    Case("a channel is named", "high low", "low::shared"),
    Case("a channel and its platform are named", "high low", "low/linux-64::shared=1"),
    Case("a channel in brackets", "high low", "only-low", "low::shared[version='>=2']"),
    Case("the lower channel for what the first does not have", "high low", "only-low", "only-high"),
    Case("strict, and content with it", "high low", "only-low", priority="strict"),

    Case("no such version", "pins", "lib >=99", none=True),
    Case("no such package", "pins", "lib", "nowhere", none=True),
    Case("two pins that meet nowhere", "pins", "app=2", "lib=1", none=True),
    Case("pins two steps apart", "pins", "plugin", "lib >=2", none=True),
    Case("no such build", "builds", "numpy=1.26.4=py310*", none=True),
    Case("a version that is exact", "builds", "python=3.12=*_cpython", none=True),
    Case("no driver", "builds", "torch=2.1", none=True),
    Case("a driver too old", "nodes", "gpu=1.0=cuda12*", nodes=["__cuda=11.8"], none=True),
    Case("a C library too old", "nodes", "libc-user=2", none=True),
    Case("a kernel too old", "nodes", "kernel", none=True),
    Case("constrained by what is asked for", "constrains", "a", "never", none=True),
    Case("a driver that is not allowed", "constrains", "old-driver", nodes=["__cuda=12.4"], none=True),
    Case("the first channel alone counts", "high low", "needs-new=1", priority="strict", none=True),
]

REAL = [
    Case("real: readline", "testdata", "readline"),
    Case("real: a pin of each kind", "testdata", "openssl=3.3", "libsqlite >=3.45,<4", "xz 5.2.6", "tk"),
    Case("real: build and glob", "testdata", "tk=8.6.13=noxft*", "libgcc-ng=14.2", "bzip2[build=h*]"),
    Case("local: torchvision", "localchannel", "torchvision"),
    Case("local: a pin of two", "localchannel", "greet<2", "python=3.11", "numpy"),
    Case("local: generic and python noarch", "localchannel", "activation-demo", "requests", "show-prefix"),
]


def records_of(directory):
    """What a channel on disk offers to linux-64."""
    records = []
    for subdir in ("linux-64", "noarch"):
        index = json.loads((directory / subdir / "repodata.json").read_text())
        for file, entry in {**index.get("packages", {}), **index["packages.conda"]}.items():
            records.append({"subdir": subdir, "build_number": 0, "depends": [], **entry, "file": file})
    return records


class Channels:
    """The channels of the table as directories."""

    def __init__(self, home):
        self.paths = {name: write_channel(home / "channels" / name, *records) for name, records in CHANNELS.items()}
        self.records = dict(CHANNELS)

    def add(self, name, path):
        self.paths[name] = path
        self.records[name] = records_of(path)

    def problem(self, case):
        return Problem([(name, self.records[name]) for name in case.channels], case.specs, case.virtual,
                       case.priority)


# py-rattler by itself: no channel names of ours, its own cache, one process for all questions.
ORACLE = """
import asyncio, json, os, sys, rattler
from rattler import exceptions
from rattler.package import BuildString
from rattler.channel import ChannelPriority

async def answer(gateway, case):
    virtual = [rattler.GenericVirtualPackage(rattler.PackageName(n), rattler.Version(v), BuildString(b))
               for n, v, b in case["virtual"]]
    try:
        found = await rattler.solve(case["channels"], [rattler.MatchSpec(text, strict=False) for text in case["specs"]],
                                    gateway, platforms=["linux-64", "noarch"], virtual_packages=virtual,
                                    channel_priority=getattr(ChannelPriority, case["priority"]))
    except exceptions.SolverError:
        return None
    return sorted([r.name.normalized, str(r.version), str(r.build), r.sha256.hex()] for r in found)

async def main():
    gateway = rattler.Gateway(sys.argv[1])
    print(json.dumps([await answer(gateway, case) for case in json.load(sys.stdin)]))

asyncio.run(main())
sys.stdout.flush()
os._exit(0)     # rattler's threads outlive the interpreter and crash one such end in ten
"""


def ask_rattler(solver, cache, channels, cases):
    def url(text):
        head, colons, rest = text.rpartition("::")
        name, slash, subdir = head.partition("/")
        return f"{channels.paths[name].as_uri()}{slash}{subdir}::{rest}" if colons else text

    questions = [{"channels": [channels.paths[name].as_uri() for name in case.channels],
                  "specs": [url(text) for text in case.specs], "priority": case.priority.capitalize(),
                  "virtual": [[*package.split("="), "0"][:3] for package in case.virtual]} for case in cases]
    python = next(solver.glob("*/bin/python"))
    done = subprocess.run([python, "-c", ORACLE, cache], input=json.dumps(questions), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {case.name: found for case, found in zip(cases, json.loads(done.stdout))}


@pytest.fixture(scope="module")
def alice():
    with Builder() as builder:
        yield builder


@pytest.fixture(scope="module")
def channels(alice):
    channels = Channels(alice.home)
    channels.add("localchannel", made())
    return channels


@pytest.fixture(scope="module")
def oracle(solver, tmp_path_factory, channels):
    cache = tmp_path_factory.mktemp("oracle")
    known = {}

    def ask(case):
        if case.name not in known:
            cases = [other for other in [*SMALL, *REAL] if all(name in channels.paths for name in other.channels)]
            known.update(ask_rattler(solver, cache, channels, cases))
        return known[case.name]
    return ask


@pytest.fixture(scope="module")
def locker(alice, solver, channels):
    locker = Locker(Ordinary(alice), solver)
    locker.solver = solver
    return locker


def build_of(url):
    return re.sub(r"\.(conda|tar\.bz2)$", "", url).rpartition("-")[2]


def lock(locker, channels, case):
    """[(name, version, build, sha256)] as pinstep locks a case, or None where it says that nothing fits."""
    locker.config(f"solver={locker.solver}\n" +
                  "".join(f"channel.{name}={path}\n" for name, path in channels.paths.items()))
    locker.user.write("environment.yml", json.dumps({"channels": case.channels, "dependencies": list(case.specs)}))
    lock_file = locker.user.home / "environment-lock.yml"
    lock_file.unlink(missing_ok=True)
    done = locker.lock("--json", f"--channel-priority={case.priority}",
                       *(f"--virtual-package={package}" for package in case.nodes))
    if done.returncode:
        assert done.returncode == 1 and json.loads(done.stdout)["error"] == "unsatisfiable", done
        assert not lock_file.exists()
        return None
    fields = [re.findall(rf"^{key}: '?([^'\n]+)'?$", lock_file.read_text(), re.MULTILINE)
              for key in ("- name", "  version", "  url", "    sha256")]
    return sorted([name.lower(), version, build_of(url), digest]
                  for name, version, url, digest in zip(*fields, strict=True))


def compare(case, locker, channels, oracle):
    found = lock(locker, channels, case)
    assert found == oracle(case)
    assert (found is None) == case.none
    problem = channels.problem(case)
    if found is None:
        return problem, []
    digests = {digest for *_, digest in found}
    chosen = [record for record in problem.records if record["sha256"] in digests]
    assert len(chosen) == len(found)
    assert problem.faults(chosen) == []
    if case.expected:
        assert sorted(" ".join(row[:3]) for row in found) == sorted(case.expected)
    return problem, chosen


@pytest.mark.parametrize("case", SMALL, ids=repr)
def test_a_small_channel_gives_the_best_solution(case, locker, channels, oracle):
    problem, chosen = compare(case, locker, channels, oracle)
    best = problem.best()
    assert chosen in [sorted(one, key=problem.records.index) for one in best] if chosen else best == []


@pytest.mark.parametrize("case", [case for case in REAL if "localchannel" in case.channels], ids=repr)
def test_the_local_channel_gives_a_solution(case, locker, channels, oracle):
    compare(case, locker, channels, oracle)


@pytest.mark.skips("no test data")
def test_a_real_channel_gives_solutions(locker, channels, testdata, solver, tmp_path):
    channels.add("testdata", testdata / "conda/channel")
    cases = [case for case in REAL if "testdata" in case.channels]
    answers = ask_rattler(solver, tmp_path, channels, cases)
    for case in cases:
        compare(case, locker, channels, lambda each: answers[each.name])


# ---- the other reading itself

@pytest.mark.skips("no test data")
def test_versions_are_read_as_conda_reads_them(testdata):
    path = testdata / "conda/conda-meta/rattler--parsed_versions.sample.txt"
    read = [line.rsplit("=", 1) for line in path.read_text().splitlines()]
    assert len(read) > 100
    for text, parsed in read:
        epoch, *parts = eval(parsed, {"inf": float("inf")})
        version = Version(text)
        assert [[0 if piece == "dev" else piece for piece in part] for part in version.parts] == [
            [0 if piece == "DEV" else piece for piece in part] for part in parts[:len(version.parts)]], text
        assert version.epoch == epoch[0], text


ORDER = ("0.4.1.rc", "0.4.1", "0.5a1", "0.5b3", "0.5c1", "0.5", "0.9.6", "0.960923", "1.0", "1.1dev1", "1.1a1", "1.1",
         "1.1.post1", "1.2", "1.10", "1996.07.12", "1!0.4.1", "1!3.1.1.6", "2!0.4.1")


def test_versions_have_their_order():
    for at, one in enumerate(ORDER):
        for other in ORDER[at + 1:]:
            assert Version(one) < Version(other) and not Version(other) < Version(one), (one, other)
    assert Version("1.0") == Version("1.0.0") and Version("0.4.1.RC") == Version("0.4.1.rc")


@pytest.mark.parametrize("chosen, fault", [
    (["app 2.0", "lib 2.1"], "app 2.0 depends on lib >=2,<2.1"), (["app 2.0"], "app 2.0 depends on lib >=2,<2.1"),
    (["lib 2.0"], "nothing fits app"), (["app 2.0", "lib 2.0", "tool 2.0"], "nobody asked for tool"),
    (["app 2.0", "app 1.0", "lib 2.0"], "app is there 2 times")])
def test_what_is_no_solution_is_found_out(chosen, fault):
    problem = Problem([("pins", CHANNELS["pins"])], ["app"])
    records = [record for record in problem.records if f"{record['name']} {record['version']}" in chosen]
    assert fault in problem.faults(records)


def test_a_conflict_is_found_out():
    problem = Problem([("constrains", CHANNELS["constrains"])], ["a", "b"])
    records = [record for record in problem.records if (record["name"], record["version"]) in
               [("a", "3.0"), ("b", "1.0")]]
    assert problem.faults(records) == ["b 1.0 does not go with a 3.0"]
