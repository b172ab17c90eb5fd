"""Fixtures of the tests of pinstep-worker: ranks as processes on this machine."""

import pytest

import check
from ranks import Ranks


def pytest_collection_modifyitems(items):
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
