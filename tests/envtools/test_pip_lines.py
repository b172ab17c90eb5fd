"""The lines of a pip list: files that they name, indexes, and sources of which a wheel is made while locking."""

import os
import re
import subprocess
import tarfile

import pytest

from builds import NOBODY, Builder, made
from channels import Server, write_wheel
from test_lock import Locker, Ordinary

# A build backend that needs nothing: what it writes is the wheel.
BACKEND = '''
import base64, hashlib, os, zipfile
NAME, VERSION, TAG = {name!r}, {version!r}, {tag!r}

def build_wheel(directory, config_settings=None, metadata_directory=None):
    stem = NAME + "-" + VERSION
    info = stem + ".dist-info/"
    files = {{NAME + ".py": {code!r}, info + "METADATA": "Metadata-Version: 2.1\\nName: " + NAME + "\\nVersion: " + VERSION
             + "\\n" + {requires!r}, info + "WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: " + TAG + "\\n"}}
    record = info + "RECORD,,\\n"
    for name, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += name + ",sha256=" + digest + "," + str(len(text)) + "\\n"
    with zipfile.ZipFile(os.path.join(directory, stem + "-" + TAG + ".whl"), "w") as archive:
        for name, text in {{**files, info + "RECORD": record}}.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), text)
    return stem + "-" + TAG + ".whl"

def build_sdist(directory, config_settings=None):
    raise NotImplementedError
'''


def write_source(directory, name, version="1.0", tag="py3-none-any", code="", requires=()):
    """A source tree."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        f'[project]\nname = "{name}"\nversion = "{version}"\n')
    requires = "".join(f"Requires-Dist: {line}\n" for line in requires)
    (directory / "backend.py").write_text(BACKEND.format(**locals()))
    return directory


def write_sdist(directory, name, version="1.0", **more):
    directory.mkdir(parents=True, exist_ok=True)
    tree = write_source(directory / ".tree" / f"{name}-{version}", name, version, **more)
    (tree / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    path = directory / f"{name}-{version}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tree, f"{name}-{version}")
    return path


def commit(directory, *arguments):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "safe.directory=*", "-C", str(directory)]
    if not (directory / ".git").exists():
        subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], check=True)
    for tag in arguments:
        subprocess.run([*git, "tag", "-a", "-m", "x", tag], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


def give(tree):
    """A tree to the user who locks: git reads no one else's."""
    if os.geteuid() == 0:
        subprocess.run(["chown", "-R", str(NOBODY), tree], check=True)


@pytest.fixture
def locker(solver):
    with Builder() as builder:
        yield Locker(Ordinary(builder), solver)


def locked(locker):
    text = (locker.user.home / "environment-lock.yml").read_text()
    return {name: (version, url) for name, version, url in
            re.findall(r"- name: (\S+)\n  version: '?([^'\n]+)'?\n  manager: pip\n(?:.*\n)*?  url: (\S+)\n", text)}


# ---- files

def test_files_are_read_relative_to_the_file_that_names_them_and_are_a_part_of_the_spec(locker):
    write_wheel(locker.wheels, "one", "1.0", requires=["three"])
    write_wheel(locker.wheels, "two", "1.0")
    for version in ("1.0", "2.0", "3.0"):
        write_wheel(locker.wheels, "three", version)
    locker.user.write("reqs/base.txt", "# comment\none \\\n  ==1.0\n-r deep/more.txt\n-c limits.txt\n")
    locker.user.write("reqs/deep/more.txt", "two\n")
    locker.user.write("reqs/limits.txt", "three<3\n")
    locker.spec("python", pip=["-r reqs/base.txt"])
    assert locker.lock().returncode == 0
    assert {name: version for name, (version, _) in locked(locker).items()} == {"one": "1.0", "two": "1.0", "three": "2.0"}
    text = (locker.user.home / "environment-lock.yml").read_text()
    for name in ("reqs/base.txt", "reqs/deep/more.txt", "reqs/limits.txt"):
        digest = subprocess.run(["sha256sum", locker.user.home / name], capture_output=True, text=True).stdout.split()[0]
        assert re.search(rf"pinstep.input.{name}: '?{digest}", text)
    assert locker.json("--check")["state"] == "fits"
    locker.user.write("reqs/limits.txt", "three<2\n")
    assert locker.json("--check", code=1)["changes"] == ["- constraint three<3", "+ constraint three<2"]
    assert locker.lock().returncode == 0 and locked(locker)["three"][0] == "1.0"


def test_a_line_in_a_file_is_named_with_the_files_own_line(locker):
    locker.user.write("more.txt", "\ntool==\n")
    locker.spec("python", pip=["-r more.txt"])
    kind, cause = locker.refused()
    assert kind == "invalid" and cause.startswith(f"{locker.user.home}/environment.yml:7: more.txt:2: 'tool=='"), cause


# ---- indexes

def test_a_version_for_one_cuda_comes_from_its_own_index_and_the_rest_from_where_it_is(locker):
    home = locker.user.home
    write_wheel(home / "pypi/torch", "torch", "2.1.0")
    write_wheel(home / "pypi/numpy", "numpy", "1.24.0")
    write_wheel(home / "cu118/torch", "torch", "2.1.0+cu118", requires=["numpy"])
    write_wheel(home / "cu118/numpy", "numpy", "1.20.0")
    with Server(home) as server:
        locker.user.write("environment.yml", "channels: [local]\ndependencies:\n- python\n- pip:\n"
                          f"  - --index-url {server.url}/pypi\n  - --extra-index-url={server.url}/cu118\n"
                          "  - torch==2.1.0+cu118\n  - numpy==1.24.0\n")
        done = locker.lock()
    assert done.returncode == 0, done
    found = locked(locker)
    assert found["torch"][0] == "2.1.0+cu118" and "/cu118/torch/" in found["torch"][1]
    assert found["numpy"][0] == "1.24.0" and "/pypi/numpy/" in found["numpy"][1]


def test_a_wheel_by_its_url_is_locked_with_its_digest(locker):
    path = write_wheel(locker.user.home / "files", "direct", "1.0")
    digest = subprocess.run(["sha256sum", path], capture_output=True, text=True).stdout.split()[0]
    with Server(locker.user.home) as server:
        locker.spec("python", pip=[f"direct @ {server.url}/files/{path.name}#sha256={digest} ; python_version >= '3'"])
        assert locker.lock().returncode == 0
        assert locked(locker)["direct"] == ("1.0", f"{server.url}/files/{path.name}")
        locker.spec("python", pip=[f"direct @ {server.url}/files/{path.name}#sha256={'0' * 64}"])
        assert locker.lock().returncode == 0
    # What the line says is what is locked: a build refuses the file, as one that was exchanged.
    assert "0" * 64 in (locker.user.home / "environment-lock.yml").read_text()


# ---- sources

@pytest.mark.parametrize("manner", ["directory", "named directory", "sdist", "sdist by URL", "sdist of an index"])
def test_of_a_source_a_wheel_is_made_and_locked(locker, manner):
    home = locker.user.home
    write_wheel(locker.wheels, "helper", "2.0")
    tree = write_source(home / "lib", "mine", requires=["helper>=1"])
    sdist = write_sdist(home / "files", "mine", requires=["helper>=1"])
    if manner == "sdist of an index":
        (locker.wheels / sdist.name).write_bytes(sdist.read_bytes())
    with Server(home) as server:
        lines = {"directory": ["./lib"], "named directory": ["mine[extra] @ file:lib"], "sdist": [f"files/{sdist.name}"],
                 "sdist by URL": [f"mine @ {server.url}/files/{sdist.name}"],
                 "sdist of an index": ["--no-binary mine", "mine>=1"]}[manner]
        locker.spec("python", pip=lines)
        done = locker.lock()
    assert done.returncode == 0, done
    found = locked(locker)
    assert found["helper"][0] == "2.0" and found["mine"][0] == "1.0"
    path = found["mine"][1].removeprefix("file://")
    digest = subprocess.run(["sha256sum", path], capture_output=True, text=True).stdout.split()[0]
    assert re.fullmatch(rf"{home}/.cache/pinstep/wheels/{digest[:16]}/mine-1.0-py3-none-any.whl", path)
    text = (home / "environment-lock.yml").read_text()
    assert f"sha256: {digest}" in text.replace("'", "") and "pinstep.source.mine: " in text
    assert tree.exists()


def test_a_branch_and_a_tag_are_locked_as_their_commit(locker):
    tree = write_source(locker.user.home / "repo", "mine", "1.0")
    first = commit(tree, "v1")
    write_source(tree, "mine", "2.0")
    second = commit(tree)
    give(tree)
    for revision, version, commit_of in (("@v1", "1.0", first), ("@main", "2.0", second), ("", "2.0", second),
                                         (f"@{first}", "1.0", first)):
        locker.spec("python", pip=[f"mine @ git+file://{tree}{revision}"])
        done = locker.lock("--update-all")
        assert done.returncode == 0, done
        assert locked(locker)["mine"][0] == version
        assert f"pinstep.source.mine: git+file://{tree}@{commit_of}" in \
            (locker.user.home / "environment-lock.yml").read_text().replace("'", "")


def test_what_is_made_of_a_source_is_in_the_environment_that_is_built(solver):
    with Builder() as alice:
        alice.write(".config/pinstep/config", f"solver={solver}\nchannel.main={made().as_uri()}\n")
        write_source(alice.home / "lib", "mine", code="ANSWER = 42\n")
        give(alice.home / "lib")
        alice.write("environment.yml", "channels: [main]\ndependencies: [python, {pip: [--no-index, ./lib]}]\n")
        for verb in ("lock", "build"):
            done = alice(verb)
            assert done.returncode == 0, done
        before = (alice.home / "environment-lock.yml").read_text()
        done = alice("run", "python", "-c", "import mine; print(mine.ANSWER)")
        assert done.stdout == "42\n", done
        # Made anew of the same it is the same.
        assert alice("lock", "--update-all").returncode == 0
        assert (alice.home / "environment-lock.yml").read_text() == before


@pytest.mark.parametrize("line, kind, cause", [
    ("-e .", "unsupported", "environment.yml:8: '-e .': what is edited cannot be locked"),
    ("--editable=./lib", "unsupported", "'--editable=./lib': what is edited cannot be locked"),
    ("git+https://me:s3cret@example.org/x", "unsupported", "a password in a version control URL"),
    ("./absent", "not_found", "environment.yml:8: './absent': there is no '"),
    ("./broken", "os", "environment.yml:8: './broken': no wheel can be made of it: "),
    ("numpy @ file:theirs", "conflict", "it is 'numpy', which the conda part provides as version 1.24.2"),
    ("./foreign", "unsatisfiable", "the wheel made of it, 'foreign-1.0-cp311-cp311-win32.whl', does not suit python 3.11.2"),
    ("git+file:///nowhere/at/all", "network",
     "environment.yml:8: 'git+file:///nowhere/at/all': git cannot read it: ")])
def test_a_source_of_which_no_wheel_is_made_is_named(locker, line, kind, cause):
    write_source(locker.user.home / "theirs", "numpy", "3.0")
    write_source(locker.user.home / "foreign", "foreign", tag="cp311-cp311-win32")
    write_source(locker.user.home / "broken", "broken")
    (locker.user.home / "broken/backend.py").write_text("raise RuntimeError('broken on purpose')\n")
    locker.spec("python", "numpy", pip=[line])
    found = locker.refused(PATH=os.environ["PATH"])
    assert found[0] == kind and cause in found[1], found
    assert "s3cret" not in str(found)


def test_no_wheel_is_made_without_a_network(locker):
    write_source(locker.user.home / "lib", "mine")
    locker.spec("python")
    assert locker.lock().returncode == 0
    (locker.user.home / "environment-lock.yml").unlink()
    locker.spec("python", pip=["./lib"])
    kind, cause = locker.refused("--offline")
    assert kind == "network" and "with --offline" in cause
