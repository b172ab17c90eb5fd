"""Fixtures of the tests of pinstep-worker: ranks as processes on this machine."""

import pytest

import check
from ranks import Ranks


def pytest_addoption(parser):
    parser.addoption("--all-faults", action="store_true", help="all cases of test_fault_table.py, not a few of each kind")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--all-faults"):        # a suite has one deliberate failure
        items[:] = [item for item in items if item.name != "test_deliberate_failure_of_the_table_is_seen"]
    for item in items:
        if "deliberate" not in item.name:
            item.add_marker(pytest.mark.skips("no worker"))


@pytest.fixture(scope="session")
def small(tmp_path_factory):
    """The first images of Fashion-MNIST, which take less time to read than all."""
    directory = tmp_path_factory.mktemp("small")
    check.write_part(directory, images=6000, test_images=1000)
    return directory


@pytest.fixture
def start(small):
    """start(N, *options, …): N ranks with small data; whatever is left of them ends with the test."""
    started = []

    def begin(size, *options, **more):
        started.append(Ranks(size, [f"--data={small}", *options], **more))
        return started[-1]

    yield begin
    for ranks in started:
        ranks.kill()


@pytest.fixture(scope="module")
def train(small):
    """train(N, *options, …): N ranks with small data to their end."""
    def run(size, *options, **more):
        return Ranks(size, [f"--data={small}", *options], **more).wait()
    return run
