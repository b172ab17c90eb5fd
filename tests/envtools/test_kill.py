"""A build that is killed at any moment leaves a store that works. tests/kills has many more moments."""

import random

import pytest
from builds import SMALL, STAGES, Builder, chosen, explicit, kill_builds, made


# What a killed process has written stays, on a disk as in memory, where builds do not wait for one.
@pytest.mark.parametrize("on_disk, stages", [(False, STAGES[:-1]), (True, STAGES[-1:])], ids=["memory", "disk"])
def test_a_build_killed_in_any_stage_leaves_nothing_that_is_wrong(on_disk, stages):
    with Builder(on_disk=on_disk) as alice:
        lock = alice.write("small.lock", explicit(made().as_uri(), chosen(made(), SMALL)))
        hits = kill_builds(alice, lock, wanted=1, pick=random.Random(1).uniform, stages=stages)
    assert min(hits[stage] for stage in stages) >= 1, hits
