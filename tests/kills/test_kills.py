"""Builds killed at 60 moments, ten in each stage."""

import json
import os
import random
import sys
import time
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "envtools"))

from builds import PINSTEP, SMALL, Builder, chosen, explicit, kill_builds, leftovers, made      # noqa: E402


def test_deliberate_failure_is_seen():
    assert chosen(made(), ["nothing"])


def test_builds_killed_at_many_moments_leave_nothing_that_is_wrong():
    with Builder(on_disk=True) as alice:
        lock = alice.write("small.lock", explicit(made().as_uri(), chosen(made(), SMALL)))
        hits = kill_builds(alice, lock, wanted=10, pick=random.Random(os.environ.get("PYTHONHASHSEED")).uniform)
    print(hits)
    assert min(hits.values()) >= 10, hits


@pytest.mark.skipif(os.geteuid() != 0, reason="no root: machines are namespaces here")
def test_a_builder_that_dies_on_another_machine_is_taken_for_dead_when_its_heart_has_stopped():
    with Builder() as alice:
        lock = alice.write("small.lock", explicit(made().as_uri(), chosen(made(), SMALL)))
        first = alice.start(PINSTEP, "build", "-v", "--store=store", lock, elsewhere="node0")
        assert "fetch" in first.stderr.readline()
        os.killpg(first.pid, 9)
        first.wait()
        begin = time.monotonic()
        done = alice("build", "--json", "--store=store", lock)
        assert done.returncode == 0 and json.loads(done.stdout)["built"], done
        assert "waiting for the build by node0 " in done.stderr and time.monotonic() - begin > 30
        assert leftovers(alice.home / "store") == []
