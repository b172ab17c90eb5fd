"""Fixtures of the tests of pinstep-worker: ranks as processes on this machine."""

import os
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "runner"))

import check                    # noqa: E402
import reasons                  # noqa: E402
from ranks import BUILD, Ranks  # noqa: E402


def pytest_collection_modifyitems(items):
    for item in items:
        if "deliberate" not in item.name:
            item.add_marker(pytest.mark.skips("no worker"))


def pytest_runtest_setup(item):
    for mark in item.iter_markers("skips"):
        for reason in mark.args:
            if text := reasons.given(reason, str(BUILD)):
                pytest.skip(text)


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
