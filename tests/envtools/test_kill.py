"""A build that is killed at any moment leaves a store that works. tests/kills has many more moments."""

import random

from builds import SMALL, Builder, chosen, explicit, kill_builds, made


def test_a_build_killed_in_any_stage_leaves_nothing_that_is_wrong():
    with Builder(on_disk=True) as alice:
        lock = alice.write("small.lock", explicit(made().as_uri(), chosen(made(), SMALL)))
        hits = kill_builds(alice, lock, wanted=1, pick=random.Random(1).uniform)
    assert min(hits.values()) >= 1, hits
