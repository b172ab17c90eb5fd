"""pinstep lock: from a spec to a lock, with the real solver."""

import json
import os
import pty
import re
import select
import subprocess

import pytest

from builds import Builder
from channels import Server, Stalling, record, write_channel, write_wheel
from conftest import BUILD, PINSTEP, WHEELS, User

PYTHON = record("python", "3.11.2", "0_cpython", ["libc"])
RECORDS = [PYTHON, record("libc", "2.0", "0", ["__glibc >=2.17"]), record("xz", "5.2.6"), record("xz", "5.4.0"),
           record("numpy", "1.24.2", "py311_0", ["python >=3.11,<3.12.0a0"]),
           record("pytorch", "2.0.0", "py311_0", ["python", "numpy >=1.20"]),
           record("gpulib", "1.0", "cuda_0", ["__cuda >=12"]), record("newlibc", "1.0", "0", ["__glibc >=2.36"])]


class Locker:
    """A user with a channel, a directory of wheels and a solver."""

    def __init__(self, user, solver):
        self.user = user
        self.channel = write_channel(user.home / "channel", *RECORDS)
        self.wheels = user.home / "wheels"
        self.wheels.mkdir()
        self.config(f"channel.local={self.channel}\nsolver={solver}\n")

    def config(self, text):
        self.user.write(".config/pinstep/config", text)

    def spec(self, *dependencies, pip=(), more=""):
        lines = [f"- {json.dumps(line)}" for line in dependencies]
        if pip:
            pip = ["--no-index", f"--find-links {self.wheels}", *pip]
            lines += ["- pip:", *(f"  - {json.dumps(line)}" for line in pip)]
        return self.user.write("environment.yml", "channels: [local]\ndependencies:\n" + "\n".join(lines) + "\n" + more)

    def lock(self, *arguments, **more):
        return self.user("lock", *arguments, **more)

    def json(self, *arguments, code=0, **more):
        done = self.lock("--json", *arguments, **more)
        assert done.returncode == code, done
        return json.loads(done.stdout)

    def refused(self, *arguments, **more):
        """(kind, cause) of a failure, which leaves no lock."""
        error = self.json(*arguments, code=1, **more)
        assert not [name for name in os.listdir(self.user.home) if "-lock.yml" in name]
        return error["error"], error["cause"]

    def packages(self, name="environment-lock.yml"):
        text = (self.user.home / name).read_text()
        return dict(re.findall(r"^- name: (\S+)\n  version: '?([^'\n]+)'?$", text, re.MULTILINE))


class Ordinary(User):
    """Not root, who may not lock; with a home that he can write."""

    def __init__(self, builder):
        super().__init__(builder.home)
        self.command = builder.command

    def run(self, *command, **more):
        return super().run(*self.command(*command), **more)


@pytest.fixture
def locker(solver):
    with Builder() as builder:
        yield Locker(Ordinary(builder), solver)


def test_deliberate_failure_is_seen(locker):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    locker.spec("xz")
    locker.lock()
    assert locker.packages() == {"xz": "5.2.6"}


# ---- solving

def test_a_lock_lies_beside_its_spec(locker):
    locker.spec("xz", "python")
    (locker.user.home / "src/deep").mkdir(parents=True)
    done = locker.lock(cwd=locker.user.home / "src/deep")
    assert done.returncode == 0 and done.stderr == "", done
    assert re.fullmatch(r"\S+/environment-lock.yml: 3 packages for linux-64, 3.0 kB, solved in [\d.]+ s\n", done.stdout)
    assert locker.packages() == {"xz": "5.4.0", "python": "3.11.2", "libc": "2.0"}


def test_the_same_spec_gives_the_same_bytes(locker):
    locker.spec("xz", "python")
    locker.lock("--output=one-lock.yml")
    locker.lock("--output=two-lock.yml")
    read = [(locker.user.home / name).read_text() for name in ("one-lock.yml", "two-lock.yml")]
    assert read[0] == read[1]


def test_nothing_is_solved_for_a_lock_that_fits(locker):
    locker.spec("xz")
    assert locker.json()["state"] == "made"
    locker.channel.rename(locker.channel.with_name("gone"))
    assert locker.json()["state"] == "fits"
    assert locker.lock().stdout.endswith("environment-lock.yml is up to date\n")
    assert "cannot read channel 'local'" in locker.lock("--update-all").stderr
    assert locker.packages() == {"xz": "5.4.0"}


def test_an_update_tells_what_changed(locker):
    locker.spec("xz")
    locker.lock()
    locker.spec("python")
    told, *changes = locker.lock().stdout.splitlines()
    assert told.endswith("; 2 added, 1 removed")
    assert changes == ["  + libc 2.0 (linux-64)", "  + python 3.11.2 (linux-64)", "  - xz 5.4.0 (linux-64)"]
    write_channel(locker.channel, record("python", "3.11.9", "0_cpython", ["libc"]))
    assert locker.json("--update-all")["changes"] == ["↑ python 3.11.2 → 3.11.9 (linux-64)"]


# ---- what stays of the lock before

@pytest.fixture
def moved_on(locker):
    """A lock of xz and python; the channel has newer ones since."""
    locker.spec("xz", "python")
    locker.lock()
    write_channel(locker.channel, record("xz", "5.6.0"), record("python", "3.11.9", "0_cpython", ["libc"]),
                  record("libc", "2.1"), record("old", "1.0", depends=["xz <5.4"]))
    return locker


def test_versions_stay_where_they_fit(moved_on):
    moved_on.spec("xz", "python", "numpy")
    assert moved_on.json()["changes"] == ["+ numpy 1.24.2 (linux-64)"]
    moved_on.spec("xz", "python", "old")
    assert moved_on.json()["changes"] == ["- numpy 1.24.2 (linux-64)", "+ old 1.0 (linux-64)",
                                          "↓ xz 5.4.0 → 5.2.6 (linux-64)"]


def test_added_packages_move_nothing(moved_on):
    assert "1 added" in moved_on.user("add", "numpy").stdout
    assert moved_on.packages()["xz"] == "5.4.0"


@pytest.mark.parametrize("options, moved", [
    (["--update=xz"], ["xz"]), (["--update=XZ", "--update=libc"], ["libc", "xz"]),
    (["--update-all"], ["libc", "python", "xz"])])
def test_what_is_named_is_updated(moved_on, options, moved):
    assert [line.split()[1] for line in moved_on.json(*options)["changes"]] == moved


def test_what_is_not_in_the_lock_cannot_be_updated(moved_on):
    done = moved_on.lock("--update=pyton")
    assert done.returncode == 2 and "did you mean 'python'?" in done.stderr, done
    assert moved_on.packages()["python"] == "3.11.2"


def test_what_a_channel_no_longer_has_does_not_stay(moved_on):
    (moved_on.channel / "linux-64/repodata.json").unlink()
    write_channel(moved_on.channel, *(r for r in RECORDS if r["name"] != "xz"), record("xz", "5.3.0"))
    moved_on.spec("xz", "python", "numpy")
    assert moved_on.json()["changes"] == ["+ numpy 1.24.2 (linux-64)", "↓ xz 5.4.0 → 5.3.0 (linux-64)"]


def test_wheels_stay_where_they_fit(locker):
    write_wheel(locker.wheels, "tool", "1.0", requires=["helper"])
    write_wheel(locker.wheels, "helper", "1.0")
    locker.spec("python", pip=["tool"])
    assert locker.lock().returncode == 0
    for name in ("tool", "helper", "extra"):
        write_wheel(locker.wheels, name, "2.0", requires=["helper"] if name == "tool" else [])
    locker.spec("python", pip=["tool", "extra"])
    assert locker.json()["changes"] == ["+ extra 2.0 (linux-64, pip)"]
    assert locker.json("--update=helper")["changes"] == ["↑ helper 1.0 → 2.0 (linux-64, pip)"]
    locker.spec("python", pip=["tool>=2", "extra"])
    assert locker.json()["changes"] == ["↑ tool 1.0 → 2.0 (linux-64, pip)"]


# ---- priority, date, time

def test_a_channels_priority_is_recorded_and_stays(locker):
    write_channel(locker.user.home / "other", record("xz", "6.0"))
    with open(locker.user.home / ".config/pinstep/config", "a") as file:
        file.write(f"channel.other={locker.user.home}/other\n")
    locker.user.write("environment.yml", "channels: [local, other]\ndependencies: [xz]\n")
    locker.lock()
    assert locker.packages() == {"xz": "5.4.0"}
    assert locker.json("--check", "--channel-priority=disabled", code=1)["changes"] == [
        "- channel priority flexible", "+ channel priority disabled"]
    locker.lock("--channel-priority=disabled", "--update-all")
    assert locker.packages() == {"xz": "6.0"}
    locker.lock("--update-all")
    assert locker.packages() == {"xz": "6.0"}
    text = (locker.user.home / "environment-lock.yml").read_text()
    assert "pinstep.channel_priority: disabled" in text


def test_a_spec_is_solved_as_of_a_day(locker):
    day = 86_400_000
    write_channel(locker.channel, {**record("xz", "5.8.0"), "timestamp": 1700000000000 + 10 * day},
                  {**record("xz", "5.9.0"), "timestamp": 1700000000000 + 20 * day})
    locker.spec("xz")
    locker.lock("--exclude-newer=2023-11-24")      # ten days after
    assert locker.packages() == {"xz": "5.8.0"}
    text = (locker.user.home / "environment-lock.yml").read_text()
    assert "pinstep.exclude_newer: '2023-11-25T00:00:00Z'" in text
    locker.lock("--update-all")
    assert locker.packages() == {"xz": "5.8.0"}
    assert locker.json("--check", "--exclude-newer=none", code=1)["changes"] == [
        "- exclude newer 2023-11-25T00:00:00Z"]
    locker.lock("--exclude-newer=2023-11-20T12:00:00Z")
    assert locker.packages() == {"xz": "5.4.0"}
    locker.lock("--exclude-newer=none", "--update-all")
    assert locker.packages() == {"xz": "5.9.0"}


@pytest.mark.parametrize("option, cause", [
    ("--exclude-newer=yesterday", "--exclude-newer: 'yesterday' is no date"),
    ("--channel-priority=high", "'high' is no priority of channels"),
    ("--time-limit=0", "--time-limit: '0' is no number of seconds")])
def test_a_value_that_makes_no_sense_is_refused(locker, option, cause):
    locker.spec("xz")
    done = locker.lock(option)
    assert done.returncode == 2 and cause in done.stderr, done


def test_a_solver_that_takes_too_long_is_ended(locker, solver):
    with Stalling("no answer") as server:
        locker.config(f"channel.local={server.url}\nsolver={solver}\n")
        locker.spec("xz")
        kind, cause = locker.refused("--time-limit=1")
    assert (kind, cause) == ("timed_out", "the solver has not ended within 1 s")


# ---- checking

def test_check_writes_nothing_and_shows_the_changed_lines(locker):
    locker.spec("xz", "python")
    done = locker.lock("--check")
    assert (done.returncode, done.stdout) == (1, f"{locker.user.home}/environment-lock.yml is not there\n")
    locker.lock()
    assert locker.lock("--check").returncode == 0
    locker.spec("xz =5.2", "python")
    done = locker.lock("--check")
    assert (done.returncode, done.stdout.splitlines()[1:]) == (1, ["  - conda xz", "  + conda xz =5.2"])
    assert locker.packages()["xz"] == "5.4.0"


def test_comments_names_and_order_are_no_change(locker):
    locker.spec("xz", "python")
    locker.lock()
    locker.spec("python", "xz", more="# a comment\nname: other\n")
    assert locker.json("--check")["state"] == "fits"


def test_a_foreign_lock_is_replaced_on_demand_only(locker):
    locker.spec("xz")
    locker.lock()
    path = locker.user.home / "environment-lock.yml"
    path.write_text("".join(line for line in path.read_text().splitlines(True) if "pinstep.spec" not in line))
    assert "was not made by pinstep" in locker.lock().stderr
    assert locker.json("--check", code=1)["changes"] == [
        "pinstep has not made this lock: whether it fits is not known"]
    assert locker.lock("--update-all").returncode == 0
    assert locker.lock("--check").returncode == 0


def test_several_platforms_stay(locker):
    write_channel(locker.channel, record("xz", "5.0.0"), subdir="linux-aarch64")
    locker.spec("xz")
    made = locker.json("--platform=linux-64", "--platform=linux-aarch64")
    assert (made["platforms"], made["packages"]) == (["linux-64", "linux-aarch64"], 2)
    locker.spec("xz >=5")
    assert locker.json()["platforms"] == ["linux-64", "linux-aarch64"]
    assert locker.json("--check", "--platform=linux-ppc64le", code=1)["changes"] == ["+ platform linux-ppc64le"]


def test_a_channel_named_in_a_spec_only_is_a_channel(locker):
    write_channel(locker.user.home / "other", record("xz", "6.0"))
    with open(locker.user.home / ".config/pinstep/config", "a") as file:
        file.write(f"channel.other={locker.user.home}/other\n")
    locker.spec("other::xz", "python")
    locker.lock()
    assert locker.packages()["xz"] == "6.0"
    locker.spec("xz", "python")
    locker.lock()
    assert locker.packages()["xz"] == "5.4.0"


# ---- virtual packages

def test_nothing_is_detected_and_a_profile_stays(locker):
    locker.spec("gpulib")
    kind, cause = locker.refused()
    assert kind == "unsatisfiable" and "__cuda" in cause
    assert "--virtual-package=__cuda=12" in locker.lock().stderr
    locker.lock("--virtual-package=__cuda=12.4")
    assert locker.packages() == {"gpulib": "1.0"}
    assert locker.json("--check")["state"] == "fits"
    assert locker.json("--check", "--virtual-package=__cuda=11.8", code=1)["changes"] == [
        "- __cuda=12.4 (linux-64)", "+ __cuda=11.8 (linux-64)"]
    locker.spec("gpulib", "xz")
    assert locker.json()["changes"] == ["+ xz 5.4.0 (linux-64)"]


def test_a_profile_file_and_the_configured_one(locker):
    locker.spec("newlibc")
    assert locker.refused()[0] == "unsatisfiable"
    profile = locker.user.write("nodes.profile", "# partition gpu\n__glibc=2.36   # Debian 12\n")
    made = locker.json(PINSTEP_PROFILE=str(profile))
    assert made["state"] == "made"
    (locker.user.home / "environment-lock.yml").unlink()
    assert locker.json(f"--profile={profile}")["state"] == "made"
    locker.user.write("nodes.profile", "__glibc=2.36\n__glibc\n")
    error = locker.json(f"--profile={profile}", code=1)
    assert error["cause"] == f"{profile}:2: '__glibc' is no virtual package"


# ---- pip

def test_wheels_are_resolved_against_the_conda_part(locker):
    write_wheel(locker.wheels, "tool", "1.0", requires=["numpy>=1.20", "torch", "helper"])
    write_wheel(locker.wheels, "helper", "2.0", "cp311-cp311-manylinux_2_28_x86_64")
    write_wheel(locker.wheels, "helper", "2.0", "cp311-cp311-manylinux_2_36_x86_64")
    locker.spec("python", "pytorch", pip=["tool"])
    assert locker.lock().returncode == 0
    assert locker.packages() == {"python": "3.11.2", "libc": "2.0", "numpy": "1.24.2", "pytorch": "2.0.0",
                                 "tool": "1.0", "helper": "2.0"}
    text = (locker.user.home / "environment-lock.yml").read_text()
    assert f"url: file://{locker.wheels}/helper-2.0-cp311-cp311-manylinux_2_28_x86_64.whl" in text
    assert re.search(r"pinstep.solver: 'py-rattler [\d.]+, uv [\d.]+'", text)


def test_the_conda_part_is_not_overruled(locker):
    write_wheel(locker.wheels, "tool", "1.0", requires=["numpy>=2"])
    locker.spec("python", "numpy", pip=["tool"])
    kind, cause = locker.refused()
    assert kind == "unsatisfiable" and "tool" in cause
    assert "the conda part provides numpy 1.24.2" in locker.lock().stderr


@pytest.mark.parametrize("line, kind, cause", [
    ("-r more.txt", "not_found", "environment.yml:7: '-r more.txt': cannot open '"),
    ("--weird", "invalid", "environment.yml:7: '--weird': pinstep does not know this option"),
    ("tool==", "invalid", "environment.yml:7: 'tool=='"),
    ("absent", "unsatisfiable", "absent was not found"),
    ("tool==1.0 --hash=sha256:00", "unsatisfiable", "that has one of the digests of its --hash options"),
    ("windows-only", "unsatisfiable", "windows-only")])
def test_a_line_that_cannot_be_locked_is_named(locker, line, kind, cause):
    write_wheel(locker.wheels, "tool", "1.0")
    write_wheel(locker.wheels, "windows-only", "1.0", "cp311-cp311-win_amd64")
    locker.spec("python", pip=[line])
    found = locker.refused()
    assert found[0] == kind and cause in found[1], found


def test_a_pip_list_needs_a_python(locker):
    write_wheel(locker.wheels, "tool", "1.0")
    locker.spec("xz", pip=["tool"])
    assert locker.refused() == ("conflict", f"{locker.user.home}/environment.yml:5: the pip list needs a python, "
                                "and the conda part has none")


def test_relative_find_links_begin_at_the_spec(locker):
    write_wheel(locker.user.home / "mine", "tool", "1.0")
    locker.user.write("environment.yml", "channels: [local]\ndependencies:\n- python\n- pip:\n  - --no-index\n"
                      "  - -f mine\n  - tool\n")
    (locker.user.home / "sub").mkdir()
    assert locker.lock("../environment.yml", cwd=locker.user.home / "sub").returncode == 0
    assert locker.packages()["tool"] == "1.0"


def test_the_index_is_the_one_that_pip_knows(locker):
    write_wheel(locker.user.home / "simple/tool", "tool", "3.0")
    with Server(locker.user.home) as server:
        locker.user.write(".config/pip/pip.conf", f"[global]\nindex-url = {server.url}/simple\n")
        locker.user.write("environment.yml", "channels: [local]\ndependencies: [python, {pip: [tool]}]\n")
        done = locker.lock()
    assert done.returncode == 0, done
    assert locker.packages()["tool"] == "3.0"


# ---- why not

def test_an_unsatisfiable_spec_is_one_sentence(locker):
    locker.spec("xz >=99", "python")
    kind, cause = locker.refused()
    assert kind == "unsatisfiable" and "xz >=99" in cause
    assert len(locker.lock().stderr.splitlines()) == 2


@pytest.mark.parametrize("lines, where, cause, hint", [
    (["pyhton"], 3, "no channel has a package 'pyhton'", "did you mean 'python'?"),
    (["xz", "zlib-ng"], 4, "no channel has a package 'zlib-ng'", "channels: local"),
    (["xz", "python=3.12"], 4, "no channel has 'python=3.12'", "there are 3.11.2"),
    (["numpy=1.24.*=py312*"], 3, "no channel has 'numpy=1.24.*=py312*'", "its builds are py311_0"),
    (["local::gpulib=2"], 3, "no channel has 'local::gpulib=2'", "there are 1.0"),
    (["local::numpy", "local::pytorch=2", "local::greet"], 5, "no channel has a package 'greet'", "channels: local"),
    (["newlibc"], 3, "'newlibc' cannot be had: newlibc 1.0 would require __glibc >=2.36, which the profile does not offer",
     "the profile has __glibc=2.28; if the nodes differ say so: --profile=NAME, or --virtual-package=__glibc=2.36"),
    (["__cuda"], 3, "'__cuda' is not there",
     "the profile has no __cuda; if the nodes differ say so: --profile=NAME, or --virtual-package=__cuda=VERSION"),
    (["libc", "xz >=5.4", "old", "numpy"], 4, "'xz >=5.4' and 'old' do not go together: old cannot be had: old 1.0 would "
     "require xz <5.4, which the others do not allow", "another version of one of them, or a line less")])
def test_why_nothing_fits_is_what_the_user_can_change(locker, lines, where, cause, hint):
    write_channel(locker.channel, record("old", depends=["xz <5.4"]))
    spec = locker.spec(*lines)
    assert locker.refused() == ("unsatisfiable", f"{spec}:{where}: {cause}")
    assert locker.lock().stderr.splitlines()[-1] == f"pinstep: hint: {hint}"


def test_what_a_date_leaves_out_is_said(locker):
    spec = locker.spec("xz")
    assert locker.refused("--exclude-newer=2020-01-31") == (
        "unsatisfiable", f"{spec}:3: 'xz' is there since 2023-11-14 only, and newer packages than 2020-02-01 do not count")


def test_a_large_conflict_is_short(locker):
    """Dozens of lines and versions, of which two matter."""
    write_channel(locker.channel, *(record(f"lib{i}", f"1.{j}", "0", [f"core >=1.{j}"]) for i in range(30)
                                    for j in range(8)),
                  *(record("core", f"1.{j}") for j in range(9)), record("top", "1.0", "0", ["core >=1.8", "lib3"]))
    spec = locker.spec(*(f"lib{i}" for i in range(30)), "core <1.5", "top")
    kind, cause = locker.refused()
    assert kind == "unsatisfiable" and cause.startswith(f"{spec}:33: 'core <1.5' and 'top' do not go together: "), cause
    assert len(cause) < 400


def test_what_is_no_match_spec_is_located(locker):
    locker.user.write("environment.yml", "channels: [local]\ndependencies:\n- python\n- xz =>5\n")
    kind, cause = locker.refused()
    assert kind == "invalid" and cause.startswith(f"{locker.user.home}/environment.yml:4: ")


def test_a_server_that_is_away_is_named_without_credentials(locker, solver):
    locker.config(f"channel.local=http://me:secret@127.0.0.1:9/channel\nsolver={solver}\n")
    locker.spec("xz")
    kind, cause = locker.refused()
    assert kind == "network" and "channel 'local'" in cause and "127.0.0.1:9" in cause and "secret" not in cause


def test_offline_needs_what_was_fetched_before(locker, solver):
    with Server(locker.user.home) as server:
        locker.config(f"channel.local={server.url}/channel\nsolver={solver}\n")
        locker.spec("xz")
        kind, cause = locker.refused("--offline")
        assert kind == "network" and "is not in the cache" in cause and server.asked == []
        assert locker.lock().returncode == 0
    assert locker.lock("--offline", "--update-all").returncode == 0
    assert "linux-64/xz-5.4.0-0.conda" in (locker.user.home / "environment-lock.yml").read_text()


ANSWERS = """
import sys, rattler, contract, solve_conda
solve_conda.SILENCE, solve_conda.LITTLE_WORK, solve_conda.FILE_LIMIT, solve_conda.MEMORY_LIMIT = {limits}
contract.main("py-rattler", rattler.__version__, solve_conda.solve)
"""


@pytest.mark.parametrize("manner, limits, cause", [
    ("no answer", (2, 0.003, 1 << 30, 1 << 30), "nothing has come for 2 s from a channel: 'silent' at 'http://"),
    ("half a body", (2, 0.003, 1 << 30, 1 << 30), "nothing has come for 2 s from a channel: 'silent' at 'http://"),
    ("no end", (5, 0, 1 << 22, 1 << 30), "what comes has no end from a channel: 'silent' at 'http://"),
    ("no end of shards", (5, 0, 1 << 30, 1 << 28), "what comes has no end from a channel: 'silent' at 'http://"),
    ("slowly", (2, 0.0002, 1 << 30, 1 << 30), "the channels have nothing for linux-64: silent")])
def test_a_channel_that_stalls_or_never_ends_is_given_up(solver, tmp_path, manner, limits, cause):
    with Stalling(manner) as server:
        request = {"contract": 1, "platform": "linux-64", "offline": False, "cache": str(tmp_path), "timeout": 60,
                   "channels": [{"name": "silent", "url": server.url}], "specs": ["xz"], "virtual_packages": [],
                   "channel_priority": "flexible"}
        python = next(solver.glob("*/bin/python"))
        done = subprocess.run([python, "-B", "-c", ANSWERS.format(limits=limits)], input=json.dumps(request),
                              capture_output=True, text=True, cwd=BUILD / "libexec/pinstep/solver", timeout=50)
    assert cause in json.loads(done.stdout)["error"]["cause"], done


def test_a_limit_on_the_size_of_files_stays(locker):
    locker.spec("xz")
    done = locker.user.run("prlimit", "--fsize=1000000", PINSTEP, "lock")
    assert done.returncode == 0, done


def test_a_cache_that_cannot_be_is_named(locker):
    locker.spec("xz")
    kind, cause = locker.refused(XDG_CACHE_HOME="/dev/null")
    assert (kind, cause) == ("not_found", "the channels' indexes cannot be kept in '/dev/null/pinstep/repodata': "
                             "Not a directory")


def test_no_solver_stops_with_the_command(locker):
    locker.config(f"channel.local={locker.channel}\n")
    locker.spec("xz")
    kind, _ = locker.refused()
    assert kind == "not_found" and "'pinstep setup' installs it" in locker.lock().stderr
    locker.config(f"channel.local={locker.channel}\nsolver={locker.user.home}/empty\n")
    assert f"'pinstep setup --dir={locker.user.home}/empty' adds it" in locker.lock().stderr


def test_a_solver_that_breaks_the_contract_is_said_to(locker, solver):
    locker.spec("xz")
    broken = locker.user.home / "broken"
    (link,) = [path for path in solver.iterdir() if path.is_symlink()]
    (broken / link.name / "bin").mkdir(parents=True)
    python = broken / link.name / "bin/python"
    for script, cause in (("echo oh no >&2; exit 9", "failed with exit code 9: oh no"),
                          ("kill -9 $$", "was ended by signal 9"),
                          ("echo '{\"packages\": 3}'", "breaks its contract: no packages"),
                          ("echo '{'", "breaks its contract")):
        python.write_text(f"#!/bin/sh\n{script}\n")
        python.chmod(0o755)
        found = locker.refused(PINSTEP_SOLVER=str(broken))
        assert cause in found[1], found


@pytest.mark.parametrize("arguments, cause", [
    (["--check", "--update-all"], "--check and --update exclude each other"), (["a", "b"], "one spec at a time"),
    (["--plattform=x"], "there is no option '--plattform'")])
def test_wrong_usage(locker, arguments, cause):
    done = locker.lock(*arguments)
    assert done.returncode == 2 and cause in done.stderr


def test_a_platform_that_conda_does_not_have_is_refused(locker):
    locker.spec("xz")
    done = locker.lock("--platform=linux-65")
    assert done.returncode == 2 and "'linux-65' is no platform of conda" in done.stderr, done
    assert "there are linux-64, linux-aarch64" in done.stderr, done
    spec = locker.spec("xz", more="platforms: [linux-66]\n")
    assert locker.refused() == ("invalid", f"{spec}: 'linux-66' is no platform of conda")


def test_a_directory_that_cannot_be_written_is_said(locker):
    locker.spec("xz")
    done = locker.lock("--output=/proc/x-lock.yml")
    assert done.returncode == 1 and "cannot write '/proc/x-lock.yml'" in done.stderr


@pytest.mark.skips("no root")
def test_root_locks_nothing(locker):
    locker.spec("xz")
    locker.user.command = lambda *words: list(words)
    kind, cause = locker.refused()
    assert (kind, cause) == ("refused", "environments are not locked or built as root")


@pytest.mark.parametrize("text, cause", [
    ("", "environment-lock.yml: the lock is empty"),
    ("version: 1\nmetadata: {platforms: [linux-64]}\n", "environment-lock.yml:1: the lock has no list 'package'"),
    ("version: 1\n<<<<<<< HEAD\npackage: []\n=======\n", "environment-lock.yml:2: a merge has left a conflict here")])
def test_a_damaged_lock_is_mended_by_an_update(locker, text, cause):
    locker.spec("xz")
    locker.user.write("environment-lock.yml", text)
    for verb in (["lock"], ["build"], ["run", "true"]):
        errors = locker.user(*verb).stderr
        assert cause in errors and "git checkout" in errors and "'pinstep lock --update-all'" in errors, errors
    assert locker.lock("--update-all").returncode == 0
    assert locker.packages() == {"xz": "5.4.0"}


def test_run_says_that_the_spec_was_changed(locker):
    locker.spec("xz")
    locker.lock()
    assert "'pinstep build " in locker.user("run", "true").stderr
    locker.spec("xz", "python")
    errors = locker.user("run", "true").stderr
    assert "was changed since it was locked: + conda python" in errors and "'pinstep lock " in errors


def test_what_is_the_steps_own_is_no_variable(locker):
    locker.spec("xz", more="variables: {A: b, SLURM_JOB_ID: '1'}\n")
    assert locker.refused() == ("invalid", f"{locker.user.home}/environment.yml:4: 'SLURM_JOB_ID' cannot be set here: "
                                "it is Slurm's")


# ---- editing

def test_a_package_is_added_to_spec_and_lock_and_taken_out_again(locker):
    spec = locker.user.home / "environment.yml"
    before = "channels: [local]\ndependencies:\n  # small\n  - xz   # why\n"
    locker.user.write("environment.yml", before)
    locker.lock()
    told, *changes, after = locker.user("add", "python>=3").stdout.splitlines()
    assert told.endswith("environment-lock.yml: 2 added")
    assert [line.split()[1] for line in changes] == ["libc", "python"] and "'pinstep build " in after
    assert spec.read_text() == before + "  - python>=3\n"
    assert locker.json("--check")["state"] == "fits"
    assert "2 removed" in locker.user("remove", "python").stdout
    assert spec.read_text() == before and locker.packages() == {"xz": "5.4.0"}


def test_a_package_that_cannot_be_had_changes_neither_file(locker):
    locker.spec("xz")
    locker.lock()
    files = [locker.user.home / name for name in ("environment.yml", "environment-lock.yml")]
    before = [path.read_bytes() for path in files]
    for words in (["add", "no-such-package"], ["add", "xz=99"], ["remove", "python"], ["add", "--pip", "--", "-e ."]):
        done = locker.user(*words)
        assert done.returncode == 1 and "pinstep: error: " in done.stderr, done
        assert [path.read_bytes() for path in files] == before


# ---- on a terminal

def on_terminal(locker, *arguments, **variables):
    """(exit code, everything shown) of pinstep with a terminal for standard error."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(locker.user.command(PINSTEP, *arguments), cwd=locker.user.home, stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=theirs, env={**locker.user.variables, **variables})
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    return process.wait(), shown.decode()


def test_progress_is_for_terminals_and_goes_away(locker):
    locker.spec("xz")
    code, shown = on_terminal(locker, "lock")
    assert code == 0 and "pinstep: solving for linux-64 …\r\033[K" in shown
    assert shown.endswith(" s\r\n")


def test_on_a_terminal_a_missing_solver_is_set_up_unless_forbidden(locker):
    locker.config(f"channel.local={locker.channel}\n")
    locker.spec("xz")
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(WHEELS)}
    code, shown = on_terminal(locker, "lock", PINSTEP_SETUP="never", **offline)
    assert code == 1 and "'pinstep setup' installs it" in shown
    code, shown = on_terminal(locker, "lock", **offline)
    assert code == 0, shown
    assert "pinstep: installing the solver, py-rattler and uv, in " in shown
    assert locker.packages() == {"xz": "5.4.0"}
