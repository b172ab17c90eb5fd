"""conda-lock reads what pinstep locks, and what it makes of that installs to the same tree."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from builds import Builder, chosen, made
from trees import differences

HERE = Path(__file__).parent
pytestmark = pytest.mark.skips("no test data")


class Locked:
    """A spec over the local channel and 24 real packages, locked by pinstep and rendered by conda-lock."""

    def __init__(self, alice, solver, conda_lock, real):
        self.alice, self.python = alice, next(solver.glob("*/bin/python"))
        names = sorted({path.split("/")[1].rsplit("-", 2)[0] for path, _ in chosen(real, None)})
        alice.write(".config/pinstep/config", f"channel.real={real}\nchannel.made={made()}\nsolver={solver}\n")
        alice.write("environment.yml", "channels: [real, made]\ndependencies: [python, greet, "
                    + ", ".join(names) + "]\n")
        done = alice("lock")
        assert done.returncode == 0, done.stderr
        self.exported = alice("export", "--format=explicit", "environment-lock.yml").stdout
        done = alice.run(conda_lock, "render", "--kind=explicit", "--platform=linux-64", "environment-lock.yml")
        assert done.returncode == 0, done.stderr
        self.rendered = (alice.home / "conda-linux-64.lock").read_text()

    def packages(self, text):
        """{url: digest} of an explicit file."""
        lines = text.split("@EXPLICIT\n", 1)[1].split()
        return dict(re.fullmatch(r"(\S+)#(?:sha256:)?([0-9a-f]+)", line).groups() for line in lines)


@pytest.fixture(scope="module")
def locked(solver, conda_lock, testdata):
    with Builder() as alice:
        yield Locked(alice, solver, conda_lock, testdata / "conda/channel")


def test_deliberate_failure_is_seen(locked):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    assert len(locked.packages(locked.rendered)) == 0


def test_it_renders_the_packages_that_pinstep_exports(locked):
    rendered, exported = locked.packages(locked.rendered), locked.packages(locked.exported)
    assert len(exported) > 25 and sorted(rendered) == sorted(exported)


def test_what_it_renders_installs_to_the_same_tree(locked):
    alice = locked.alice
    prefix = Path(alice.build("--store=store", "environment-lock.yml")["prefix"])
    ours = prefix.with_name("ours")
    prefix.rename(ours)
    lines = locked.rendered.split("@EXPLICIT\n", 1)[1].split()
    done = subprocess.run(alice.command(locked.python, HERE.parent / "envtools/reference_install.py", prefix,
                                        alice.home / "reference-cache"),
                          input=json.dumps({"explicit": lines}), text=True, capture_output=True, env=alice.variables,
                          cwd=alice.home)
    assert done.returncode == 0, done.stderr
    assert differences(ours, prefix) == (set(), set(), set())
