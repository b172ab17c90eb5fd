"""Builds killed at 60 moments, ten in each stage."""

import os
import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "envtools"))

from builds import SMALL, Builder, chosen, explicit, kill_builds, made      # noqa: E402


def test_deliberate_failure_is_seen():
    assert chosen(made(), ["nothing"])


def test_builds_killed_at_many_moments_leave_nothing_that_is_wrong():
    with Builder() as alice:
        lock = alice.write("small.lock", explicit(made().as_uri(), chosen(made(), SMALL)))
        hits = kill_builds(alice, lock, wanted=10, pick=random.Random(os.environ.get("PYTHONHASHSEED")).uniform)
    print(hits)
    assert min(hits.values()) >= 10, hits
