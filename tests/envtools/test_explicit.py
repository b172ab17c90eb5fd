"""Explicit lists whose packages are named by md5 or not at all, as most that are about."""

import hashlib
import os
from pathlib import Path

import pytest
from builds import Builder, Server, chosen, explicit, leftovers, made, visible
from test_build import failure

PACKAGES = ["show-prefix", "activation-demo"]


@pytest.fixture
def alice():
    with Builder() as builder:
        yield builder


def by_md5(url, packages):
    lines = [f"{url}/{path}#{hashlib.md5((made() / path).read_bytes()).hexdigest()}\n" for path, _ in packages]
    return "# platform: linux-64\n@EXPLICIT\n" + "".join(lines)


def fetched(server):
    return [path for status, _, path in server.downloads() if status == 200]


def test_a_list_by_md5_is_the_same_environment_and_is_fetched_once(alice, tmp_path):
    packages = chosen(made(), PACKAGES)
    listed = alice.write("listed.txt", explicit(made().as_uri(), packages))
    with Server(made(), tmp_path / "log") as server:
        lock = alice.write("md5.txt", by_md5(server.url, packages))
        done = alice("run", "--store=s", "-e", lock, "show-prefix")
        assert done.returncode == 125 and "is not built" in done.stderr, done
        first = alice.build("--store=s", lock)
        assert len(fetched(server)) == len(packages)
        alice.write("more/md5.txt", by_md5(server.url, packages))
        again = alice.build("--store=s", "more/md5.txt")
        assert len(fetched(server)) == len(packages)
    assert (first["built"], again["built"]) == (True, False)
    assert alice.build("--store=s", listed)["id"] == first["id"] == again["id"]
    assert alice("run", "--store=s", "-e", lock, "show-prefix").stdout.splitlines()[0] == first["prefix"]
    kept = alice.home / "s/l" / f"{first['lock']}.yml"
    assert all(digest in kept.read_text() for _, digest in packages)
    assert not [name for name in os.listdir(alice.home / "s/c/archives") if name.startswith("md5-")]


def test_relative_paths_of_two_directories_are_two_lists(alice):
    (package,) = chosen(made(), ["show-prefix"])
    name = Path(package[0]).name
    for directory in ("a", "b"):
        content = (made() / package[0]).read_bytes() if directory == "a" else b"something else"
        (alice.home / directory).mkdir()
        (alice.home / directory / name).write_bytes(content)
        alice.write(f"{directory}/list.txt", by_md5("x", [package]).replace(f"x/{package[0]}", f"./{name}"))
    alice.build("--store=s", "a/list.txt")
    assert failure(alice("build", "--json", "--store=s", "b/list.txt"))["error"] == "corrupt"


def test_what_has_another_md5_is_refused_and_nothing_of_it_stays(alice, tmp_path):
    with Server(made(), tmp_path / "log", ("/noarch/activation-demo*", "flip:100")) as server:
        lock = alice.write("md5.txt", by_md5(server.url, chosen(made(), PACKAGES)))
        error = failure(alice("build", "--json", "--store=s", lock))
    assert error["error"] == "corrupt" and "md5" in error["cause"], error
    assert visible(alice.home / "s") == [] and leftovers(alice.home / "s") == []
    assert not list((alice.home / "s/c/archives").glob("*.part*"))
    assert not list((alice.home / "s/l").glob("*"))


def test_a_package_without_hash_is_named_with_its_line(alice):
    packages = chosen(made(), PACKAGES)
    text = by_md5(made().as_uri(), packages)
    line = text.splitlines()[-1]
    lock = alice.write("list.txt", text.replace(line, line.partition("#")[0]))
    error = failure(alice("build", "--json", "--store=s", lock))
    assert error["error"] == "invalid" and error["cause"].startswith(f"{lock}:{len(text.splitlines())}: '"), error
    assert "conda list --explicit --sha256" in error["hint"], error
    assert not (alice.home / "s/e").exists()


def pixi(url, packages, version=6):
    """A pixi.lock: `default` has all packages, `less` all but the last."""
    def listed(some):
        return "".join(f"      - conda: {url}/{path}\n" for path, _ in some)
    environments = "".join(f"  {name}:\n    channels:\n    - url: {url}/\n    packages:\n      linux-64:\n{listed(some)}"
                           for name, some in (("default", packages), ("less", packages[:-1])))
    records = "".join(f"- conda: {url}/{path}\n  sha256: {digest}\n" for path, digest in packages)
    platforms = "platforms:\n- name: linux-64\n" if version > 6 else ""
    return f"version: {version}\n{platforms}environments:\n{environments}packages:\n{records}"


@pytest.mark.parametrize("version", [6, 7])
def test_a_pixi_lock_is_built_and_run_by_environment(alice, version):
    packages = chosen(made(), PACKAGES)
    lock = alice.write("p/pixi.lock", pixi(made().as_uri(), packages, version))
    all_of_it = alice.build("--store=s", alice.write("all.txt", explicit(made().as_uri(), packages)))
    less = alice.build("--store=s", alice.write("less.txt", explicit(made().as_uri(), packages[:-1])))
    assert alice.build("--store=s", lock)["id"] == all_of_it["id"]
    built = alice.build("--store=s", f"{lock}:less")
    assert built["id"] == less["id"] != all_of_it["id"]
    # What is kept needs no name of an environment any more.
    assert alice("show", "--store=s", "--json", built["prefix"]).returncode == 0
    assert alice("run", "--store=s", "-e", f"{lock}:less", "printenv", "CONDA_PREFIX").stdout.strip() == built["prefix"]
    error = failure(alice("build", "--json", "--store=s", f"{lock}:nope"))
    assert error["cause"].endswith("there is no environment 'nope'") and "default, less" in error["hint"], error
    refused = failure(alice("build", "--json", "--store=s", f"{alice.home}/all.txt:less"))
    assert "only a pixi.lock" in refused["hint"], refused


def test_an_exported_pixi_lock_is_the_same_environment(alice):
    packages = chosen(made(), PACKAGES)
    listed = alice.write("listed.txt", explicit(made().as_uri(), packages))
    first = alice.build("--store=s", listed)
    exported = alice("export", "--store=s", "--format=pixi", listed)
    assert exported.returncode == 0, exported
    again = alice.build("--store=s", alice.write("pixi.lock", exported.stdout))
    assert (again["id"], again["built"]) == (first["id"], False)
