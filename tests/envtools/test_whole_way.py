"""The whole way: a spec, its lock, a prefix, a program in it. With PyTorch, and with the system's own copies gone."""

import json
import os
import re

import pytest

from builds import PINSTEP, Builder, made
from hidden import declared, hidden, soname

SPEC = """\
name: train
channels: [localchannel, nodefaults]
dependencies:
  - python=3.11
  - numpy
  - pytorch
  - torchvision
  - activation-demo
variables:
  GREETING: hello
"""


@pytest.fixture(scope="module")
def alice(solver):
    with Builder() as builder:
        builder.write(".config/pinstep/config", f"channel.localchannel={made().as_uri()}\nsolver={solver}\n")
        builder.write("environment.yml", SPEC)
        for verb in ("lock", "build"):
            done = builder(verb)
            assert done.returncode == 0, done
        yield builder


@pytest.fixture(scope="module")
def prefix(alice):
    return os.path.realpath(alice.home / ".pinstep/environment")


def inside(alice, code):
    """What python prints in the environment, with the system's python, torch and BLAS hidden."""
    done = hidden(*alice.command(PINSTEP, "run", "--", "python", "-c", code), cwd=alice.home, **alice.variables)
    assert done.returncode == 0, done
    return done.stdout


def test_lock_and_build_tell_in_a_line_what_they_did(alice):
    assert re.fullmatch(r"\S+/environment-lock.yml is up to date\n", alice("lock").stdout)
    assert re.match(r"[0-9a-f]{16} \S+: there already, \d+ packages, ", alice("build").stdout)


@pytest.mark.skips("no root")
def test_torch_computes_with_nothing_but_the_prefix(alice, prefix):
    code = ("import numpy, os, torch, torchvision; print(torch.ones(2, 2).matmul(torch.ones(2, 2)).sum().item(), "
            "os.environ['GREETING'], os.environ['ACTIVATION_DEMO_HOME'], torch.__file__)")
    assert inside(alice, code).split() == ["8.0", "hello", f"{prefix}/share/activation-demo",
                                           f"{prefix}/lib/python3.11/site-packages/torch/__init__.py"]


@pytest.mark.skips("no root")
def test_a_process_maps_only_libraries_that_packages_declare_as_the_systems(alice, prefix):
    maps = inside(alice, "import numpy, torch, torchvision; print(open('/proc/self/maps').read())")
    mapped = {line.split(maxsplit=5)[5] for line in maps.splitlines() if line.count("/") and ".so" in line}
    outside = {path for path in mapped if not path.startswith(f"{prefix}/")}
    assert all(path.startswith(("/usr/", "/lib")) for path in outside)
    assert {soname(path) for path in outside} <= declared(alice.home / ".local/share/pinstep/c/pkgs")


def test_no_link_leads_out_of_the_prefix(prefix):
    links = [os.path.join(directory, name) for directory, directories, files in os.walk(prefix)
             for name in directories + files if os.path.islink(os.path.join(directory, name))]
    assert links and all(os.path.realpath(link).startswith(f"{prefix}/") for link in links)


def test_run_notes_that_the_spec_was_changed_since(alice):
    quiet = alice("run", "true")
    assert (quiet.returncode, quiet.stderr) == (0, "")
    for edited, noted in ((SPEC + "# a comment\n", False), (SPEC.replace("  - torchvision\n", ""), True)):
        alice.write("environment.yml", edited)
        done = alice("run", "true")
        assert done.returncode == 0 and ("was changed since it was locked: - conda torchvision" in done.stderr) == noted, done
    alice.write("environment.yml", SPEC)


def test_what_is_exported_is_the_same_environment(alice, prefix):
    listed = alice("export")
    assert listed.returncode == 0 and listed.stdout.splitlines()[1] == "@EXPLICIT", listed
    alice.write("explicit.txt", listed.stdout)
    assert alice("diff", "environment.yml", "explicit.txt").stdout == "- GREETING=hello\nno package changed, 1 variable\n"
    assert alice("diff", prefix).stdout == "no package changed\n"
    alice.write("pinned.yml", alice("export", "--format=environment", prefix).stdout)
    assert alice("lock", "pinned.yml").returncode == 0
    assert json.loads(alice("diff", "--json", prefix, "pinned.yml").stdout) == {"packages": [], "variables": []}
    alice.write("fewer.txt", re.sub(r".*/torchvision-.*\n", "", listed.stdout))
    assert re.fullmatch(r"- torchvision \S+ \(linux-64\)\n- GREETING=hello\n1 removed, 1 variable\n",
                        alice("diff", "environment.yml", "fewer.txt").stdout)
