"""Fixtures of the tests of pinstep-worker: ranks as processes on this machine."""

import os
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "runner"))

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


@pytest.fixture
def start():
    """start(N, *options, …): N ranks; whatever is left of them ends with the test."""
    started = []

    def begin(size, *options, **more):
        started.append(Ranks(size, options, **more))
        return started[-1]

    yield begin
    for ranks in started:
        ranks.kill()


@pytest.fixture(scope="module")
def train():
    """train(N, *options, …): N ranks to their end."""
    def run(size, *options, **more):
        return Ranks(size, options, **more).wait()
    return run
