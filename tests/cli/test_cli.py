"""The program pinstep from outside: what it prints, and how it ends."""

import json
import os
import subprocess
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PINSTEP = Path(os.environ.get("PINSTEP_TEST_BUILD", TOP / "build")) / "bin/pinstep"
PIN = "SLURM_SPANK_PINSTEP_ENV"


def pinstep(*arguments, cwd=None, stdout=subprocess.PIPE, **variables):
    environment = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", **variables}
    return subprocess.run([PINSTEP, *arguments], env=environment, cwd=cwd, stdout=stdout, stderr=subprocess.PIPE,
                          errors="surrogateescape", text=True)


def shell(script, **variables):
    environment = {"PATH": f"{PINSTEP.parent}:/usr/bin:/bin", "HOME": "/nonexistent", **variables}
    return subprocess.run(["sh", "-c", script], env=environment, capture_output=True, text=True)


@pytest.fixture
def prefix(tmp_path):
    def make(name):
        path = tmp_path / name
        (path / "conda-meta/pinstep").mkdir(parents=True)
        (path / "conda-meta/pinstep/activation").write_bytes(
            b"pinstep-activation 1 -\nprepend PATH " + os.fsencode(path) + b"/bin\0set V it's $HOME\n\0")
        return path
    return make


def test_deliberate_failure_is_seen(prefix):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    assert pinstep("resolve", prefix("env")).returncode == 1


def test_a_pin_can_be_exported_and_activated(prefix):
    env = prefix("an env")
    done = shell(f"eval \"$(pinstep resolve --export '{env}')\" && eval \"$(pinstep activate)\" && "
                 "printf '%s|%s' \"$V\" \"${PATH%%:*}\"")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"it's $HOME\n|{env}/bin", "")


def test_eval_fails_where_resolve_does_and_no_old_pin_stays():
    done = shell(f'eval "$(pinstep resolve --export /nowhere)"; echo "$? ${{{PIN}-unset}}"', **{PIN: "old"})
    assert done.stdout == "1 unset\n" and "cannot find '/nowhere'" in done.stderr


def test_eval_fails_where_activate_does():
    done = shell('eval "$(pinstep activate)" || echo stopped')
    assert done.stdout == "stopped\n" and "submitted without an environment" in done.stderr


def test_none_is_exported_as_unset_and_an_empty_pin_is_none():
    assert pinstep("resolve", "--export", "none").stdout == f"unset {PIN}\n"
    assert "submitted without an environment" in pinstep("activate", **{PIN: ""}).stderr


@pytest.mark.parametrize("name", ["plain", 'quo"te', "new\nline", "back\\slash", "\udcff"])
def test_json_is_json_whatever_the_path(prefix, name):
    done = pinstep("resolve", "--json", prefix(name))
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert found["pinned"] is False and found["prefix"].endswith(name.replace("\udcff", "\ufffd"))


@pytest.mark.parametrize("arguments", [["--bogus"], ["a", "b"], ["--shape=odd", "/"], ["/nowhere"]])
def test_errors_are_json_where_asked(arguments):
    done = pinstep("resolve", "--json", *arguments)
    assert done.returncode in (1, 2) and set(json.loads(done.stdout)) == {"error", "cause", "hint"}


@pytest.mark.parametrize("arguments, code", [([], 2), (["nonsense"], 2), (["resolve", "a", "b"], 2), (["resolve", "--x", "/"], 2),
                                             (["resolve", "/nowhere"], 1), (["--help"], 0), (["--version"], 0),
                                             (["resolve", "--help"], 0), (["activate", "x"], 2)])
def test_exit_codes(arguments, code):
    assert pinstep(*arguments).returncode == code


def test_what_cannot_be_written_is_an_error(prefix):
    with open("/dev/full", "w") as full:
        done = pinstep("resolve", prefix("env"), stdout=full)
    assert done.returncode == 1 and "cannot write" in done.stderr


def test_a_relative_path_needs_a_working_directory(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    done = shell(f"cd {gone} && rmdir {gone} && pinstep resolve ./usr")
    assert done.returncode == 1 and "the working directory was removed" in done.stderr


def test_a_path_that_nobody_expanded_is_named_as_such():
    assert "#SBATCH lines are taken as they are" in pinstep("resolve", "~/env").stderr
    assert "#SBATCH lines are taken as they are" in pinstep("resolve", "$HOME/env").stderr


def test_messages_cannot_write_to_the_terminal():
    assert "\x1b" not in pinstep("resolve", "/no\x1b[31mwhere\n").stderr


def test_the_users_file_may_be_a_link_and_its_mistakes_are_located(tmp_path, prefix):
    (tmp_path / "pinstep").mkdir()
    (tmp_path / "real").write_text("user_sit=keep\n")
    (tmp_path / "pinstep/config").symlink_to(tmp_path / "real")
    done = pinstep("resolve", prefix("env"), XDG_CONFIG_HOME=str(tmp_path))
    assert done.returncode == 1 and "pinstep/config:1: there is no setting 'user_sit'" in done.stderr
    assert "did you mean 'user_site'?" in done.stderr
    (tmp_path / "real").write_text("user_site=keep\n")
    assert "policy=user_site:keep;" in pinstep("resolve", prefix("other"), XDG_CONFIG_HOME=str(tmp_path)).stdout
    assert "policy=;" in pinstep("resolve", prefix("third"), XDG_CONFIG_HOME=str(tmp_path),
                                 PINSTEP_USER_SITE="off").stdout


def test_lint_tells_the_line_and_what_to_write_instead(tmp_path):
    spec = tmp_path / "environment.yml"
    home = str(tmp_path)
    spec.write_text("name: base\ndependencies:\n  - python\n")
    told = pinstep("lint", cwd=tmp_path, HOME=home)
    assert told.returncode == 1 and told.stdout.splitlines() == [
        f"{spec}: 'base' is the environment that conda itself lives in [base-name]", "  hint: give it a name of its own",
        f"{spec}:3: python has no version: the next lock may have another [python-version]",
        "  hint: write a version, such as 'python=3.12'"]
    found = json.loads(pinstep("lint", "--json", "--ignore=base-name", spec, HOME=home).stdout)["findings"]
    assert [(one["rule"], one["line"]) for one in found] == [("python-version", 3)]
    quiet = pinstep("lint", "--ignore=base-name", spec, HOME=home, PINSTEP_LINT_IGNORE="variant, python-version")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    slip = pinstep("lint", "--ignore=basename", spec, HOME=home)
    assert slip.returncode == 2 and "did you mean 'base-name'?" in slip.stderr


def test_lint_judges_by_the_profile_that_is_asked_for(tmp_path):
    spec = tmp_path / "environment.yml"
    spec.write_text("dependencies: [python=3.12, pytorch]\n")
    rules = [pinstep("lint", *more, spec, HOME=str(tmp_path)).stdout.count("[variant]")
             for more in ([], ["--virtual-package=__cuda=12.4"])]
    assert rules == [1, 0]
