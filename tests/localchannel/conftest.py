"""Fixtures of the local channel's tests."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "runner"))

import reasons                          # noqa: E402
from channel import BUILD, made         # noqa: E402
from unpack import install, unpacked    # noqa: E402


def pytest_runtest_setup(item):
    for mark in item.iter_markers("skips"):
        for reason in mark.args:
            if text := reasons.given(reason, str(BUILD)):
                pytest.skip(text)


@pytest.fixture(scope="session")
def channel():
    """The channel's directory."""
    return made()


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """Where packages are unpacked to, under the stem of their archive."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def package(channel, cache):
    """package(STEM): the unpacked package. Not to be changed."""
    def unpack(stem):
        if not (cache / stem).exists():
            unpacked(next(channel.glob(f"*/{stem}.conda")), cache / stem)
        return cache / stem
    return unpack


@pytest.fixture(scope="session")
def prefix(channel, cache, tmp_path_factory):
    """A prefix with everything, and nothing compiled to bytecode. Tests leave it as it is."""
    path = tmp_path_factory.mktemp("prefix") / "env"
    install(channel, path, cache, "torchvision", "pip", "greet", "prefix-text", "show-prefix", "activation-demo")
    return path
