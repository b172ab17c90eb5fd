"""Fixtures of the tests of pinstep's environment side: the built program, run as a user would.

`pinstep(…)` runs it with a home, caches, state and store of this test alone; nothing of the machine's user
gets in.
"""

import subprocess

import pytest

from shared_fixtures import BUILD, PINSTEP, WHEELS, solver, testdata     # noqa: F401


class User:
    """Somebody with a home directory, who runs pinstep in it."""

    def __init__(self, home):
        self.home = home
        self.variables = {"PATH": f"{PINSTEP.parent}:/usr/bin:/bin", "HOME": str(home), "LC_ALL": "C.UTF-8"}

    def run(self, *command, cwd=None, **variables):
        return subprocess.run([str(word) for word in command], cwd=cwd or self.home,
                              env={**self.variables, **variables}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="surrogateescape")

    def __call__(self, *arguments, **more):
        return self.run(PINSTEP, *arguments, **more)

    def write(self, name, text):
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


@pytest.fixture
def pinstep(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    return User(home)
