"""The 24 real packages and python, installed by pinstep and by py-rattler at the same path, file for file."""

import json
import stat
import subprocess
from pathlib import Path

import pytest

from builds import Builder, chosen, explicit, made
from trees import differences, paths_of

HERE = Path(__file__).parent
pytestmark = pytest.mark.skips("no test data")

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
                              input=json.dumps({"solve": [[real.as_uri(), made().as_uri()], names]}), text=True,
                              capture_output=True, env=builder.variables, cwd=builder.home)
        assert done.returncode == 0, done.stderr
        yield ours, prefix


def test_every_file_is_the_same_but_for_an_explained_few(trees):
    ours, reference = trees
    assert differences(ours, reference) == (set(), set(), set())
    assert len(list((reference / "conda-meta").glob("*.json"))) == 25


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
