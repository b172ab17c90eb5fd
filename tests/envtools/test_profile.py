"""Profiles: what nodes offer, found on one of them and locked for on a login node."""

import json
import platform
import shutil

import pytest

from builds import Builder
from channels import record, write_channel
from conftest import BUILD
from test_lock import Locker, Ordinary

VARIANTS = [record("gpulib", "2.0", "cpu_0"), record("gpulib", "2.0", "cuda12_1", ["__cuda >=12"], 1)]


@pytest.fixture
def locker(solver):
    with Builder() as builder:
        locker = Locker(Ordinary(builder), solver)
        write_channel(locker.channel, *VARIANTS)
        yield locker


@pytest.fixture
def gpu_node(locker):
    """The environment of a node with NVIDIA's driver: that of tests/nvml, for CUDA 12.4."""
    libraries = locker.user.home / "nvidia"
    libraries.mkdir()
    shutil.copy(BUILD / "tests/libnvml-stub.so", libraries / "libnvidia-ml.so.1")
    return {"LD_LIBRARY_PATH": str(libraries)}


def profile_of(locker, name, text):
    return locker.user.write(f".config/pinstep/profiles.d/{name}.yml", text)


def gpulib(locker):
    text = (locker.user.home / "environment-lock.yml").read_text()
    return "cuda12" if "gpulib-2.0-cuda12_1.conda" in text else "cpu"


def test_a_login_node_locks_for_the_gpu_nodes(locker, gpu_node):
    found = locker.user("profile", "detect", "-o", "found.yml", **gpu_node)
    assert found.returncode == 0, found
    text = (locker.user.home / "found.yml").read_text()
    assert "__cuda: '12.4'" in text and "__cuda_arch: '8.0'" in text and "__glibc: '2." in text
    profile_of(locker, "gpu", text)
    assert "gpu " in locker.user("profile", "list").stdout

    locker.spec("gpulib")
    locker.lock()
    assert gpulib(locker) == "cpu"
    locker.lock("--profile=gpu")
    assert gpulib(locker) == "cuda12"
    lock = (locker.user.home / "environment-lock.yml").read_text()
    assert "pinstep.profile: gpu\n" in lock and "__cuda=12.4" in lock


def test_the_profile_stays_and_a_changed_one_is_told(locker):
    path = profile_of(locker, "gpu", "subdirs: {linux-64: {packages: {__cuda: '12.4'}}}\n")
    locker.spec("gpulib")
    locker.lock("--profile=gpu")
    locker.spec("gpulib", "xz")
    locker.lock()
    assert gpulib(locker) == "cuda12"
    assert "pinstep.profile: gpu\n" in (locker.user.home / "environment-lock.yml").read_text()
    path.write_text("subdirs: {linux-64: {packages: {__cuda: '11.8'}}}\n")
    assert locker.json("--check")["state"] == "fits"
    assert locker.json("--check", "--profile=gpu", code=1)["changes"] == [
        "- __cuda=12.4 (linux-64)", "+ __cuda=11.8 (linux-64)"]
    locker.lock("--profile=gpu")
    assert gpulib(locker) == "cpu"


def test_the_setting_takes_a_name(locker):
    profile_of(locker, "gpu", "subdirs: {linux-64: {packages: {__cuda: '12.4'}}}\n")
    locker.spec("gpulib")
    locker.lock(PINSTEP_PROFILE="gpu")
    assert gpulib(locker) == "cuda12"
    shown = json.loads(locker.user("profile", "show", "--json", PINSTEP_PROFILE="gpu").stdout)
    assert shown["name"] == "gpu" and "__cuda=12.4" in shown["platforms"]["linux-64"]


@pytest.mark.parametrize("word, kind, cause, hint", [
    ("gpus", "not_found", "there is no profile 'gpus'", "did you mean 'gpu'?"),
    ("arm", "invalid", "the profile 'arm' says nothing about linux-64", "it is about linux-aarch64"),
    ("broken", "invalid", "broken.yml:1: this is no profile", "subdirs"),
    ("./absent", "not_found", "absent", "")])
def test_a_profile_that_will_not_do_is_refused(locker, word, kind, cause, hint):
    profile_of(locker, "gpu", "subdirs: {linux-64: {packages: {__cuda: '12.4'}}}\n")
    profile_of(locker, "arm", "subdirs: {linux-aarch64: {packages: {__glibc: '2.34'}}}\n")
    profile_of(locker, "broken", "packages: []\n")
    locker.spec("gpulib")
    found = locker.refused(f"--profile={word}")
    assert found[0] == kind and cause in found[1]
    assert hint in locker.lock(f"--profile={word}").stderr


def test_what_is_detected_is_what_other_tools_see(locker, solver):
    shown = json.loads(locker.user("profile", "detect", "--json").stdout)["platforms"]["linux-64"]
    code = ("import json, rattler; print(json.dumps([[str(g.name.normalized), str(g.version), str(g.build_string)]"
            " for g in (v.into_generic() for v in rattler.VirtualPackage.detect())]))")
    python = next(solver.glob("*/bin/python"))
    theirs = {name: (version, build) for name, version, build in json.loads(
        locker.user.run(python, "-c", code).stdout)}
    ours = {package.split("=")[0]: package.split("=")[1:] for package in shown}
    for name in ("__glibc", "__unix"):
        assert ours[name][0] == theirs[name][0]
    assert theirs["__linux"][0].startswith(".".join(ours["__linux"][0].split(".")[:2]))
    assert ("__cuda" in ours) == ("__cuda" in theirs)


def test_a_node_that_will_not_do_is_named_in_one_sentence(locker, gpu_node):
    locker.spec("gpulib", "libc")
    locker.lock("--virtual-package=__cuda=12.2")
    fits = locker.user("profile", "check", **gpu_node)
    assert fits.returncode == 0 and fits.stdout.endswith("' has what the packages ask for\n"), fits
    done = locker.user("profile", "check")
    assert done.returncode == 1
    error, hint = done.stderr.splitlines()
    assert error == (f"pinstep: error: node '{platform.node()}' will not do: gpulib needs __cuda >=12, "
                     "and there is none")
    assert "pinstep profile detect" in hint


def test_a_driver_that_does_not_answer_makes_no_profile(locker, gpu_node):
    done = locker.user("profile", "detect", "-o", "p.yml", NVML_STUB_FAIL="nvmlInit_v2:18", **gpu_node)
    assert done.returncode == 1 and "NVML cannot start: error 18" in done.stderr, done
    assert not (locker.user.home / "p.yml").exists()


def test_a_new_directory_is_made_for_it(locker):
    elsewhere = {"XDG_CONFIG_HOME": str(locker.user.home / "config")}
    done = locker.user("profile", "detect", "--output=config/pinstep/profiles.d/here.yml", **elsewhere)
    assert done.returncode == 0, done
    assert json.loads(locker.user("profile", "list", "--json", **elsewhere).stdout)[0]["name"] == "here"
    assert "__glibc" in locker.user("profile", "show", "here", **elsewhere).stdout


@pytest.mark.parametrize("words, cause", [
    ([], "profile needs one of list, show, detect and check"), (["lists"], "profile needs one of"),
    (["list", "x"], "'x' is a word too many"), (["show", "--platform=linux-65"], "'linux-65' is no platform")])
def test_wrong_usage(locker, words, cause):
    done = locker.user("profile", *words)
    assert done.returncode == 2 and cause in done.stderr, done
