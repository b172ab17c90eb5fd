"""Fixtures of the local channel's tests."""

import pytest

from channel import made
from unpack import install, unpacked


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
