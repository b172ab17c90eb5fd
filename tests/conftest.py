"""For the tests of every suite: skips(REASON) skips where a reason of tests/runner/reasons.py is given."""

import os
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent / "runner"))

import reasons      # noqa: E402

BUILD = os.environ.get("PINSTEP_TEST_BUILD", str(Path(__file__).resolve().parents[1] / "build"))


def pytest_runtest_setup(item):
    for mark in item.iter_markers("skips"):
        for reason in mark.args:
            if text := reasons.given(reason, BUILD):
                pytest.skip(text)
