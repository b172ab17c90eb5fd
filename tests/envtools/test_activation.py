"""Activation scripts that nobody vouches for, from a package to the published prefix."""

import bz2
import hashlib
import io
import json
import os
import pty
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from builds import PINSTEP, Builder, explicit, leftovers, visible

NAME = "hostile-1-0.tar.bz2"


@pytest.fixture
def alice():
    with Builder() as builder:
        yield builder


def packed(files):
    """A conda package of these files."""
    paths = [{"_path": path, "path_type": "hardlink", "sha256": hashlib.sha256(text).hexdigest(),
              "size_in_bytes": len(text)} for path, text in files.items()]
    index = {"name": "hostile", "version": "1", "build": "0", "build_number": 0, "depends": [], "subdir": "linux-64"}
    about = {"info/index.json": index, "info/paths.json": {"paths_version": 1, "paths": paths}}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, text in {**files, **{path: json.dumps(text).encode() for path, text in about.items()}}.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode, entry.mtime = len(text), 0o755, 1_600_000_000
            tar.addfile(entry, io.BytesIO(text))
    return bz2.compress(archive.getvalue())


def lock(alice, script, **more):
    """A lock of one package with this activation script, and a file bin/tool."""
    package = packed({"bin/tool": b"#!/bin/sh\n", "etc/conda/activate.d/hostile.sh": script.encode(), **more})
    (alice.home / "c/linux-64").mkdir(parents=True)
    (alice.home / "c/linux-64" / NAME).write_bytes(package)
    path = f"linux-64/{NAME}"
    return alice.write("hostile.lock", explicit(f"file://{alice.home}/c", [(path, hashlib.sha256(package).hexdigest())]))


def refused(alice, script):
    done = alice("build", "--json", f"--store={alice.home}/s", lock(alice, script))
    assert done.returncode == 1, done
    assert visible(alice.home / "s") == [] == leftovers(alice.home / "s")
    return json.loads(done.stdout)


def activation(alice, built):
    shown = json.loads(alice("show", "--json", f"--store={alice.home}/s", built["prefix"]).stdout)
    return {edit["name"]: edit.get("value") for edit in shown["activation"]
            if edit["name"] != "PATH" and not edit["name"].startswith("CONDA_")}


def test_a_script_cannot_write_into_the_prefix(alice):
    script = ("rm -rf $CONDA_PREFIX/bin; echo x > $CONDA_PREFIX/created; ln -s /etc/passwd $CONDA_PREFIX/pw; "
              "mkdir -p $CONDA_PREFIX/conda-meta/pinstep; export A=1\n")
    built = alice.build(f"--store={alice.home}/s", lock(alice, script))
    assert activation(alice, built) == {"A": "1"}
    assert sorted(os.listdir(built["prefix"])) == ["bin", "conda-meta", "etc"]
    assert (Path(built["prefix"]) / "bin/tool").exists()


@pytest.mark.parametrize("script, how", [
    ("rm -r $CONDA_PREFIX/bin", "remove 'bin'"), ("rm -rf $CONDA_PREFIX", "remove '"),
    ("ln -s /etc/passwd $CONDA_PREFIX/pw", "make 'pw'"), ("echo x >> $CONDA_PREFIX/bin/tool", "change 'bin/tool'")])
def test_a_script_that_changes_the_prefix_all_the_same_fails_the_build(alice, script, how):
    error = refused(alice, f"chmod -R u+w $CONDA_PREFIX; {script}\n")
    assert error["error"] == "corrupt" and f"activation scripts {how}" in error["cause"], error


def test_a_package_may_ship_any_name(alice):
    built = alice.build(f"--store={alice.home}/s", lock(alice, "export A=1\n", **{".activation-answer": b"x"}))
    assert activation(alice, built) == {"A": "1"}
    assert (Path(built["prefix"]) / ".activation-answer").read_bytes() == b"x"


def test_what_scripts_print_is_no_record(alice):
    script = "set -T; trap 'echo X=1; echo' DEBUG; exec() { :; }; compgen() { :; }; export A=1\n"
    done = alice("build", "--json", f"--store={alice.home}/s", lock(alice, script))
    assert activation(alice, json.loads(done.stdout)) == {"A": "1"}
    assert "CONDA_PREFIX=" not in done.stderr and "\0" not in done.stderr


def test_the_build_host_is_not_recorded(alice):
    script = ("export H=$(hostname) H2=$HOSTNAME K=$(uname -r) U=$(id -u) M=$(umask) L=$(ulimit -n) S=$SHELL "
              "T=${TMPDIR:-/tmp} P=$$ W=$PWD OK=1\n")
    built = alice.build(f"--store={alice.home}/s", lock(alice, script))
    recorded = activation(alice, built)
    if "U" in recorded:         # the kernel gives users no namespace
        del recorded["U"]
    assert recorded == {"OK": "1"}
    noted = {note.split("'")[1] for note in built["notes"] if "is not recorded" in note}
    assert {"H", "H2", "K", "M", "L", "S", "T", "P", "W"} <= noted


def test_what_belongs_to_the_step_is_not_recorded(alice):
    script = "export SLURM_JOB_ID=1 PINSTEP_STEP_ID=1 RANK=3 MASTER_PORT=1 HOME=/x LD_PRELOAD= A=1\n"
    built = alice.build(f"--store={alice.home}/s", lock(alice, script))
    assert activation(alice, built) == {"A": "1", "LD_PRELOAD": ""}
    assert "'RANK' is not recorded: each process of a step has its own" in built["notes"]


@pytest.mark.parametrize("script, cause", [
    ("exit 0", "end the shell that sources them"), ("kill -9 $$", "were ended by signal 9"),
    ("export A=$(head -c 3000000 /dev/zero | tr '\\0' x)", "leave an environment that is too large")])
def test_what_went_wrong_is_said(alice, script, cause):
    error = refused(alice, script + "\n")
    assert f"the environment's activation scripts {cause}" in error["cause"]
    assert error["hint"] == "the scripts are 'hostile.sh'"


def running(word):
    """Whether a process has this argument."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                return True
        except OSError:
            pass
    return False


def wait_until(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_nothing_outlives_the_build(alice):
    word = f"300.{os.getpid()}"
    built = alice.build(f"--store={alice.home}/s", lock(alice, f"(setsid sleep {word} & ); sleep {word} & export A=1\n"))
    assert activation(alice, built) == {"A": "1"}
    assert not running(word)


def test_interrupted_on_a_terminal_nothing_is_left_that_holds_it(alice):
    word = f"301.{os.getpid()}"
    path = lock(alice, f"trap '' INT TERM HUP; while :; do sleep {word}; done\n")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(["setsid", "--ctty", *alice.command(PINSTEP, "build", f"--store={alice.home}/s", path)],
                               env=alice.variables, cwd=alice.home, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    wait_until(lambda: running(word))
    os.write(ours, b"\x03")
    assert process.wait(10) != 0
    wait_until(lambda: not running(word))
    with pytest.raises(OSError):    # nobody has the other end
        while os.read(ours, 4096):
            pass
    os.close(ours)


def test_names_that_a_terminal_would_obey_are_shown_without(alice):
    digest = lock(alice, "export A=1\n").read_text().rpartition(":")[2].strip()
    alice.write("environment-lock.yml", "version: 1\nmetadata: {platforms: [linux-64]}\npackage:\n- {name: hostile, "
                f"version: '1', build: '0', manager: conda, platform: linux-64, hash: {{sha256: {digest}}}, "
                f"url: 'file://{alice.home}/c/linux-64/{NAME}'}}\n")
    spec = alice.write("environment.yml", 'name: "na\\e[31m\\nme"\nchannels: [c]\ndependencies: [hostile]\n')
    store = f"--store={alice.home}/s"
    for verb, arguments in (("build", [spec]), ("show", [spec]), ("list", [])):
        done = alice(verb, store, *arguments)
        assert done.returncode == 0 and "\x1b" not in done.stdout + done.stderr, done
        assert verb == "build" or "na?[31m?me" in done.stdout
