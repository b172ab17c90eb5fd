"""The 24 real packages and python, installed by pinstep and by py-rattler at the same path, file for file."""

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from builds import Builder, chosen, explicit, made

HERE = Path(__file__).parent
pytestmark = pytest.mark.skips("no test data")

# Paths that only one of the two has, and why.
ONLY_REFERENCE = {"CACHEDIR.TAG"}              # tells backup programs to leave the prefix out
ONLY_OURS = {
    "conda-meta/frozen",                       # CEP 22: the prefix does not change
    "lib/python3.11/EXTERNALLY-MANAGED",       # PEP 668: the same, for pip
}
OUR_DIRECTORIES = ("conda-meta/pinstep/", "/__pycache__/")   # pinstep's notes; the reference compiles nothing

# Keys of records. The reference takes a record from repodata, which a channel may have corrected; a lock keeps
# no repodata, so pinstep takes index.json, which is what repodata is made of.
FROM_THE_INDEX = {"arch", "platform", "license_family", "constrains", "noarch", "timestamp", "depends", "md5", "size"}
# A machine's own paths, which would make prefixes of two machines differ.
OF_THE_MACHINE = {"channel", "extracted_package_dir", "link", "package_tarball_full_path", "url"}


@pytest.fixture(scope="module")
def trees(testdata, solver):
    """(ours, the reference's): two trees made for one path."""
    real = testdata / "conda/channel"
    packages = chosen(made(), ["python"]), chosen(real, None)
    with Builder() as builder:
        lock = builder.write("real.lock", explicit(made().as_uri(), packages[0])
                             + explicit(real.as_uri(), packages[1]).removeprefix("@EXPLICIT\n"))
        prefix = Path(builder.build("--store=store", lock)["prefix"])
        ours = prefix.with_name("ours")
        prefix.rename(ours)
        names = [path.split("/")[1].rsplit("-", 2)[0] for path, _ in packages[0] + packages[1]]
        python = next(solver.glob("*/bin/python"))
        done = subprocess.run(builder.command(python, HERE / "reference_install.py", prefix,
                                              builder.home / "reference-cache"),
                              input=json.dumps([[real.as_uri(), made().as_uri()], names]), text=True,
                              capture_output=True, env=builder.variables, cwd=builder.home)
        assert done.returncode == 0, done.stderr
        yield ours, prefix


def paths_of(tree):
    return {os.path.relpath(os.path.join(top, name), tree)
            for top, names, files in os.walk(tree)
            for name in (*files, *(n for n in names if os.path.islink(os.path.join(top, n))))}


def is_ours_alone(path):
    return path in ONLY_OURS or any(part in path for part in OUR_DIRECTORIES)


def same(one, other):
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and os.readlink(one) == os.readlink(other)
    executable = [bool(path.stat().st_mode & stat.S_IXUSR) for path in (one, other)]
    return executable[0] == executable[1] and one.read_bytes() == other.read_bytes()


def test_every_file_is_the_same_but_for_an_explained_few(trees):
    ours, reference = trees
    mine, theirs = paths_of(ours), paths_of(reference)
    assert theirs - mine == ONLY_REFERENCE
    assert {path for path in mine - theirs if not is_ours_alone(path)} == set()
    records = {path for path in theirs if path.startswith("conda-meta/") and path.endswith(".json")}
    assert len(records) == 25
    assert [path for path in sorted(theirs & mine - records) if not same(ours / path, reference / path)] == []


def test_records_say_the_same_but_for_explained_keys(trees):
    ours, reference = trees
    for path in sorted((reference / "conda-meta").glob("*.json")):
        theirs, mine = json.loads(path.read_text()), json.loads((ours / "conda-meta" / path.name).read_text())
        differ = {key for key in theirs.keys() | mine.keys() if theirs.get(key) != mine.get(key)}
        assert differ - FROM_THE_INDEX - OF_THE_MACHINE - {"files", "paths_data"} == set(), path
        assert [name for name in mine["files"] if "/__pycache__/" not in name] == sorted(theirs["files"]), path
        entries = {entry["_path"]: entry for entry in mine["paths_data"]["paths"]}
        for entry in theirs["paths_data"]["paths"]:
            if entry.get("file_mode") == "text":    # theirs: after replacement; ours, as conda's: before
                del entry["size_in_bytes"], entries[entry["_path"]]["size_in_bytes"]
            assert entries.pop(entry["_path"]) == entry
        assert {entry["path_type"] for entry in entries.values()} <= {"pyc_file"}, path


def test_unchanged_files_keep_their_packages_time(trees):
    ours, reference = trees
    for path in paths_of(reference) & paths_of(ours):
        one, other = (ours / path).lstat(), (reference / path).lstat()
        if stat.S_ISREG(one.st_mode) and one.st_nlink > 1:
            assert abs(one.st_mtime - other.st_mtime) <= 1, path


def test_compiled_files_hold_no_prefix_and_tracebacks_name_the_real_file(trees):
    ours, reference = trees
    compiled = sorted(path for path in paths_of(ours) if path.endswith(".pyc"))
    assert len(compiled) > 1000
    assert [path for path in compiled if str(reference).encode() in (ours / path).read_bytes()] == []
    failing = "import json, sys; print(json.__cached__); json.loads('{')"
    done = subprocess.run([ours / "bin/python", "-c", failing], capture_output=True, text=True)
    assert done.stdout.strip() == f"{ours}/lib/python3.11/json/__pycache__/__init__.cpython-311.pyc"
    assert f'File "{ours}/lib/python3.11/json/decoder.py", line' in done.stderr
