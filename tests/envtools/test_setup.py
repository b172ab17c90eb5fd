"""pinstep setup: the solver's private venv."""

import json
import subprocess

import pytest

from conftest import BUILD, PINSTEP, WHEELS

REQUIREMENTS = BUILD / "libexec/pinstep/solver/requirements.txt"


def venvs(directory):
    return [path for path in directory.iterdir() if not path.is_symlink()]


def test_a_downloaded_directory_is_all_that_setup_needs(pinstep):
    wheels = pinstep.home / "wheels"
    done = pinstep("setup", f"--download={wheels}", PIP_NO_INDEX="1", PIP_FIND_LINKS=str(WHEELS))
    assert (done.returncode, done.stdout) == (0, f"the solver's wheels are in {wheels}\n"), done
    assert {path.suffix for path in wheels.iterdir()} == {".whl"}
    state = pinstep.home / "state"
    offline = {"XDG_STATE_HOME": str(state), "PIP_INDEX_URL": "http://127.0.0.1:9/"}
    done = pinstep("setup", f"--from={wheels}", "--json", **offline)
    assert done.returncode == 0, done
    assert json.loads(done.stdout) == {"directory": str(state / "pinstep/solver"), "made": True}
    assert json.loads(pinstep("setup", "--json", **offline).stdout)["made"] is False
    (link,) = [path for path in (state / "pinstep/solver").iterdir() if path.is_symlink()]
    uv = pinstep.run(link / "bin/uv", "--version")
    assert uv.stdout.split()[1] in REQUIREMENTS.read_text()


def test_two_setups_at_once_make_one_solver(pinstep):
    directory = pinstep.home / "solver"
    command = [PINSTEP, "setup", f"--from={WHEELS}", f"--dir={directory}"]
    both = [subprocess.Popen(command, env=pinstep.variables, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = sorted(process.communicate()[0].split(",")[0].split(" in ")[0] for process in both)
    assert [process.returncode for process in both] == [0, 0]
    assert told == ["the solver is now", "the solver is there already"]
    assert len(venvs(directory)) == 1


def test_a_venv_whose_python_is_gone_is_made_again(pinstep, solver):
    directory = pinstep.home / "solver"
    subprocess.run(["cp", "-al", solver, directory], check=True)
    arguments = ["setup", f"--from={WHEELS}", f"--dir={directory}"]
    assert "is there already" in pinstep(*arguments).stdout
    for old in venvs(directory):
        (old / "bin/python3").unlink()
    assert "is now" in pinstep(*arguments).stdout


@pytest.mark.parametrize("arguments, cause, kind", [
    (["--from=/nonexistent"], "cannot read '/nonexistent'", "not_found"),
    (["--from=/etc", "--dir=here"], "'/etc' has no wheel 'py_rattler-0.", "not_found"),
    (["--dir=/proc/solver"], "cannot make directory '/proc/solver'", "not_found"),
    (["--from=/a", "--download=/b"], "--download goes with neither", "usage"),
    (["venv"], "setup takes no operands", "usage")])
def test_failures_say_why_and_leave_nothing(pinstep, arguments, cause, kind):
    done = pinstep("setup", "--json", *arguments)
    error = json.loads(done.stdout)
    assert (error["error"], cause in error["cause"]) == (kind, True), error
    state = pinstep.home / ".local/state/pinstep/solver"
    assert not state.exists() and not (pinstep.home / "here").exists()


VENV = """#!/bin/sh
case $* in *"-m venv"*) ;; *) exit 0 ;; esac
for directory; do :; done
mkdir -p $directory/bin
printf '#!/bin/sh\\necho "ERROR: No matching distribution found for uv==1" >&2\\nexit 1\\n' >$directory/bin/python
chmod +x $directory/bin/python
"""


def test_wheels_for_another_machine_leave_no_directory(pinstep):
    pinstep.write("bin/python3", VENV).chmod(0o755)
    done = pinstep("setup", f"--from={WHEELS}", "--dir=here", PATH=f"{pinstep.home / 'bin'}:/usr/bin:/bin")
    assert (done.returncode, "cannot install the solver: No matching" in done.stderr) == (1, True), done
    assert "are they for this machine" in done.stderr, done
    assert not (pinstep.home / "here").exists()


def test_a_wheel_that_is_not_the_pinned_one_is_refused(pinstep):
    (pinstep.home / "wheels").mkdir()
    for wheel in WHEELS.glob("*.whl"):
        (pinstep.home / "wheels" / wheel.name).write_bytes(wheel.read_bytes())
    (changed,) = (pinstep.home / "wheels").glob("packaging-*")
    changed.write_bytes(changed.read_bytes() + b"\0")
    done = pinstep("setup", f"--from={pinstep.home / 'wheels'}")
    assert (done.returncode, "a wheel is not the one that is pinned" in done.stderr) == (1, True), done


def test_no_python_that_can_make_a_venv_is_said(pinstep):
    (pinstep.home / "bin").mkdir()
    assert "there is no python3 on PATH" in pinstep("setup", PATH=str(pinstep.home / "bin")).stderr
    pinstep.write("bin/python3", "#!/bin/sh\nexit 1\n").chmod(0o755)
    done = pinstep("setup", PATH=str(pinstep.home / "bin"))
    assert "no python on PATH is 3.10 or newer and can make a venv" in done.stderr
