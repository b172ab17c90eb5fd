"""The locks that people have: each file of the test data is read, or refused with where and why.

What is read of a file is compared with a golden text, tests/data/locks/NAME.txt. PINSTEP_WRITE_GOLDEN=1 writes them
anew: look at the difference.
"""

import os
import re
from pathlib import Path

import pytest
from shared_fixtures import TOP

GOLDEN = TOP / "tests/data/locks"
TESTDATA = os.environ.get("PINSTEP_TESTDATA")
LOCKS = Path(TESTDATA or "/nowhere").resolve() / "conda/locks"     # as messages have it

# What is asked for beside this machine's part of the usual environment: of which platform, of which environment.
MORE = {
    "conda-lock--test-install-with-pip-deps.conda-lock.yml": [("linux-aarch64", "")],
    "pixi--v6-solve-groups.pixi.lock": [("linux-64", ":min-py38"), ("linux-64", ":max-py310"), ("linux-64", ":nope")],
    "pixi--v7-multi-machine.pixi.lock": [("linux-64", ":@p2"), ("linux-64", ":default@p3")],
    "pixi--v7-conditional-dependency-cuda.pixi.lock": [("linux-64", ":@linux-64-cuda")],
    "rattler--v6-numpy-as-pypi-lock.yml": [("osx-arm64", "")],
    "rattler--v7-numpy-as-pypi-lock.yml": [("osx-arm64", "")],
}


def files():
    return sorted(path for path in LOCKS.glob("*/*") if path.is_file()) if TESTDATA else [None]


def told(pinstep, path, platform, part):
    """A line for each package: file name and the first digits of its hash; or the refusal."""
    lines = []
    for form in ("explicit", "requirements"):
        done = pinstep("export", f"--format={form}", f"--platform={platform}", f"{path}{part}")
        for line in done.stdout.splitlines():
            if not line.startswith(("#", "@")):
                name, _, digest = line.replace(" --hash=", "#").partition("#")
                lines.append(f"{name.rpartition('/')[2]} {digest.rpartition(':')[2][:16] or '-'}")
        if done.returncode or form == "explicit":
            lines += re.sub(r"https?://[^/]+/", "https://channel.example/", done.stderr).replace(
                str(path.parent) + "/", "").splitlines()
        if done.returncode:
            break
    return "".join(line + "\n" for line in lines)


@pytest.mark.skips("no test data")
@pytest.mark.parametrize("path", files(), ids=lambda path: path and path.name)
def test_a_lock_is_read_or_refused_with_where_and_why(pinstep, path):
    text = ""
    for platform, part in [("linux-64", ""), *MORE.get(path.name, [])]:
        text += f"== {platform} {part}".rstrip() + "\n" + told(pinstep, path, platform, part)
    golden = GOLDEN / f"{path.name}.txt"
    if os.environ.get("PINSTEP_WRITE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()
    for line in text.splitlines():
        if line.startswith("pinstep: error: ") and not re.search(r" not for | no sha256 of ", line):
            assert re.match(rf"pinstep: error: {re.escape(path.name)}:\d+: ", line), line


def test_both_versions_of_a_pixi_lock_are_one_environment():
    """Their authors made both of one environment."""
    six, seven = ((GOLDEN / f"rattler--v{version}-numpy-as-pypi-lock.yml.txt").read_text() for version in (6, 7))
    assert six == seven.replace("--v7-", "--v6-") and len(six.splitlines()) > 20
