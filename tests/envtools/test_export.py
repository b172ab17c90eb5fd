"""pinstep export: what another program is given is read back as the same lock."""

import re

import pytest

from channels import write_wheel
from test_lock import locker     # noqa: F401


@pytest.fixture
def locked(locker):     # noqa: F811
    write_wheel(locker.wheels, "tool", "1.0", requires=["helper"])
    write_wheel(locker.wheels, "helper", "2.0")
    locker.spec("xz", "python=3.11", "numpy", pip=["tool"], more="name: train\nvariables: {A: 'yes'}\n")
    locker.json()
    return locker


def exported(locked, form, env="environment.yml"):     # noqa: F811
    done = locked.user("export", f"--format={form}", env)
    assert done.returncode == 0, done
    return done


def test_a_lock_is_given_byte_by_byte(locked):
    assert exported(locked, "conda-lock").stdout == (locked.user.home / "environment-lock.yml").read_text()


def test_pixi_gets_the_same_packages(locked):
    done = exported(locked, "pixi")
    assert "variables left out" in done.stderr
    locked.user.write("pixi.lock", done.stdout)
    for form in ("explicit", "requirements", "pixi"):
        assert exported(locked, form, "pixi.lock").stdout == exported(locked, form).stdout, form
    assert locked.json("pixi.lock")["packages"] == len(locked.packages())
    assert locked.packages("pixi-lock.yml") == locked.packages()


def test_pixi_locks_are_read_by_rattler(locked, solver):
    """Pixi's own reader, as py-rattler has it."""
    path = locked.user.write("pixi.lock", exported(locked, "pixi").stdout)
    code = ("import sys; from rattler import LockFile; env = LockFile.from_path(sys.argv[1]).default_environment();"
            "print(sorted((p.name, p.location) for platform in env.platforms() for p in env.packages(platform)))")
    (python,) = (path / "bin/python" for path in solver.iterdir() if "-" not in path.name)
    done = locked.user.run(python, "-c", code, path)
    assert done.returncode == 0, done
    for url in re.findall(r"- (?:conda|pypi): (\S+)", path.read_text()):
        assert url.rpartition("/")[2] in done.stdout, (url, done.stdout)


def test_a_list_of_urls_is_read_back(locked):
    done = exported(locked, "explicit")
    assert "2 packages of pip left out" in done.stderr
    locked.user.write("list.txt", done.stdout)
    # Without what needs what the order is another.
    assert sorted(exported(locked, "explicit", "list.txt").stdout.split()) == sorted(done.stdout.split())
    assert locked.json("list.txt")["packages"] == len(locked.packages()) - 2


def test_an_environment_file_names_each_version_and_the_name(locked):
    text = exported(locked, "environment").stdout
    assert text.startswith("name: train\nchannels:\n  - local\n  - nodefaults\n") and "  A: 'yes'\n" in text
    assert "      - tool==1.0\n" in text
    # Solved again: the pip list without its options would ask an index.
    locked.user.write("again.yml", text.partition("  - pip:\n")[0])
    locked.json("again.yml")
    conda = {name: version for name, version in locked.packages().items() if name not in ("tool", "helper")}
    assert locked.packages("again-lock.yml") == conda


def test_requirements_are_locked_again_with_the_same_wheels(locked):
    text = exported(locked, "requirements").stdout
    locked.user.write(".condarc", "channels: [local]\n")
    locked.user.write("requirements.txt", f"--no-index\n--find-links {locked.wheels}\n{text}")
    locked.json("--python=3.11", "requirements.txt")
    assert exported(locked, "requirements", "requirements.txt").stdout == text


def test_requirements_without_any_say_so(locked):
    locked.spec("xz")
    locked.json()
    done = exported(locked, "requirements")
    assert done.stdout == "" and "nothing printed: no package is of pip" in done.stderr
