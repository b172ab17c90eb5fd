"""Fixtures of the benchmarks. What a suite has measured is results.txt and results.json in its work directory;
`tests/run bench` shows the first."""

import os
from pathlib import Path

import pytest

import surroundings
from figures import Figures

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PINSTEP_TEST_BUILD", TOP / "build"))


@pytest.fixture(scope="session")
def work(tmp_path_factory):
    return Path(os.environ.get("PINSTEP_TEST_WORK") or tmp_path_factory.mktemp("bench"))


@pytest.fixture(scope="session")
def figures(work):
    """Where a benchmark puts its figures: figures.add(paired.compare(…))."""
    collected = Figures(surroundings.describe(TOP, BUILD, work))
    yield collected
    (work / "results.txt").write_text(collected.text())
    (work / "results.json").write_text(collected.json())
