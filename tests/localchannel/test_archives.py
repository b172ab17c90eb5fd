"""The channel on disk: its index, and what is in each archive."""

import hashlib
import json
import os
import subprocess
import zipfile

import pytest
from unpack import replaced

PLACEHOLDER_LENGTH = 255


def records(channel, subdir):
    return json.loads((channel / subdir / "repodata.json").read_text())["packages.conda"]


def all_files(package):
    """Paths of files and links, and of directories that are empty, without info."""
    found = set()
    for directory, names, files in os.walk(package):
        here = os.path.relpath(directory, package)
        if here == ".":
            names.remove("info")
        if not names and not files:
            found.add(here)
        links = [name for name in names if os.path.islink(os.path.join(directory, name))]
        found |= {os.path.normpath(os.path.join(here, name)) for name in files + links}
    return found


def paths(package):
    return json.loads((package / "info/paths.json").read_text())["paths"]


def assert_as_described(package):
    """Every file is described, everything described is there, and as it is described."""
    entries = paths(package)
    assert {entry["_path"] for entry in entries} == all_files(package)
    for entry in entries:
        path = package / entry["_path"]
        kind = "softlink" if path.is_symlink() else "directory" if path.is_dir() else "hardlink"
        assert entry["path_type"] == kind, entry
        if kind != "directory":
            content = path.read_bytes()
            assert (entry["size_in_bytes"], entry["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())


@pytest.fixture(scope="module")
def stems(channel):
    return [path.stem for path in sorted(channel.glob("*/*.conda"))]


def test_deliberate_failure_is_seen(package):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    described = package("greet-1.0-py_0")
    (described / "share/greet/more").touch()
    try:
        assert_as_described(described)
    finally:
        (described / "share/greet/more").unlink()


@pytest.mark.parametrize("subdir", ["linux-64", "noarch"])
def test_repodata_describes_the_archives(channel, subdir):
    described = records(channel, subdir)
    assert described.keys() == {path.name for path in (channel / subdir).glob("*.conda")}
    for name, record in described.items():
        content = (channel / subdir / name).read_bytes()
        assert record["size"] == len(content)
        assert record["sha256"] == hashlib.sha256(content).hexdigest()
        assert record["md5"] == hashlib.md5(content).hexdigest()
        assert name == f"{record['name']}-{record['version']}-{record['build']}.conda"


@pytest.mark.parametrize("subdir", ["linux-64", "noarch"])
def test_compressed_repodata_is_the_same(channel, subdir):
    plain = channel / subdir / "repodata.json"
    assert subprocess.check_output(["zstd", "-dcq", f"{plain}.zst"]) == plain.read_bytes()


def test_repodata_and_index_agree(channel, package):
    for subdir in ("linux-64", "noarch"):
        for name, record in records(channel, subdir).items():
            index = json.loads((package(name.removesuffix(".conda")) / "info/index.json").read_text())
            assert record == index | {key: record[key] for key in ("md5", "sha256", "size")}
            assert index["subdir"] == subdir


def test_every_dependency_is_in_the_channel(channel):
    described = [*records(channel, "linux-64").values(), *records(channel, "noarch").values()]
    names = {record["name"] for record in described}
    for record in described:
        assert {line.split(" ")[0] for line in record["depends"]} <= names, record["name"]
        # Virtual packages come from a profile that knows glibc 2.28; the archives need Debian 12's all the same.
        assert not any(line.startswith("__") for line in record["depends"])


def test_archives_are_zips_of_stored_members(channel):
    for path in channel.glob("*/*.conda"):
        with zipfile.ZipFile(path) as archive:
            names = [member.filename for member in archive.infolist()]
            assert all(member.compress_type == zipfile.ZIP_STORED for member in archive.infolist())
            assert json.loads(archive.read("metadata.json")) == {"conda_pkg_format_version": 2}
        assert names == ["metadata.json", f"pkg-{path.stem}.tar.zst", f"info-{path.stem}.tar.zst"]


def test_every_file_is_as_described(stems, package):
    for stem in stems:
        assert_as_described(package(stem))


def test_lists_of_files_agree_with_paths(stems, package):
    for stem in stems:
        info = package(stem) / "info"
        entries = paths(package(stem))
        assert (info / "files").read_text().splitlines() == \
            [entry["_path"] for entry in entries if entry["path_type"] != "directory"]
        prefixed = [f"{e['prefix_placeholder']} {e['file_mode']} {e['_path']}" for e in entries if "file_mode" in e]
        lines = (info / "has_prefix").read_text().splitlines() if (info / "has_prefix").exists() else []
        assert lines == prefixed


def test_placeholders_have_their_length_and_mode(stems, package):
    modes = {}
    for stem in stems:
        for entry in paths(package(stem)):
            if "prefix_placeholder" in entry:
                assert len(entry["prefix_placeholder"]) == PLACEHOLDER_LENGTH
                modes[f"{stem}/{entry['_path']}"] = entry["file_mode"]
    assert modes["show-prefix-1.0-0/bin/show-prefix"] == "binary"
    assert modes["show-prefix-1.0-0/lib/libshowprefix.so.1"] == "binary"
    assert modes["prefix-text-1.0-0/etc/prefix-text/places.conf"] == "text"
    assert "prefix-text-1.0-0/etc/prefix-text/current.conf" not in modes      # a link to it


def test_nothing_is_compiled_or_only_for_tests(stems, package):
    for stem in stems:
        for path in all_files(package(stem)):
            assert not path.endswith(".pyc") and "/__pycache__" not in path
            assert "/numpy/tests/" not in path and not path.startswith("lib/python3.11/test/")


def test_noarch_packages_have_a_link_file(channel, package):
    for name, record in records(channel, "noarch").items():
        link = json.loads((package(name.removesuffix(".conda")) / "info/link.json").read_text())
        assert link["package_metadata_version"] == 1
        assert link["noarch"]["type"] == record["noarch"]
    link = json.loads((package("greet-1.0-py_0") / "info/link.json").read_text())
    assert link["noarch"]["entry_points"] == ["greet = greet:main", "greet-loud = greet.loud:Greeter.shout"]


def test_system_libraries_are_declared_twice_alike(stems, package):
    for stem in stems:
        info = package(stem) / "info"
        about = json.loads((info / "about.json").read_text())
        assert (info / "system-libraries").read_text().splitlines() == about["extra"]["system_libraries"]


def test_replacing_keeps_a_list_one_string():
    old = b"/place/of/the/prefix"
    content = b"\0x" + old + b"/a:" + old + b"/b\0" + old + b"\0rest"
    assert replaced(content, old, b"/p", "binary") == \
        b"\0x/p/a:/p/b" + b"\0" * 36 + b"\0/p" + b"\0" * 18 + b"\0rest"
