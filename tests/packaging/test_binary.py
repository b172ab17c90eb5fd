"""The tarball of `make dist-binary`, unpacked on a machine that has nothing but a shell: no library of the machine
that built it is to be seen, its C library neither."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests/envtools"))

from builds import BUILD, NOBODY, chosen, explicit, made, remove     # noqa: E402
from channel import Server                                                  # noqa: E402

pytestmark = pytest.mark.skips("no root")


@pytest.fixture(scope="session")
def tarball():
    build = os.path.relpath(BUILD, TOP)
    done = subprocess.run(["make", "--no-print-directory", "-C", TOP, "dist-binary", f"BUILD={build}"], text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stdout + done.stderr
    found, = BUILD.glob("pinstep-*-linux-*.tar.gz")
    return found


class Bare:
    """A root directory with the tarball in /opt, a home, and of the host only /bin/sh, whose C library is in /shell,
    where nothing else looks."""

    def __init__(self, directory, tarball):
        self.root = directory
        self.home = directory / "home"
        for name in ("opt", "bin", "shell", "dev", "proc", "tmp", "etc", "home"):
            (directory / name).mkdir(parents=True)
        (directory / "tmp").chmod(0o1777)
        os.chown(self.home, NOBODY, NOBODY)
        (directory / "etc/hosts").write_text("127.0.0.1 localhost\n")
        with tarfile.open(tarball) as archive:
            archive.extractall(directory / "opt")
        self.top, = (directory / "opt").iterdir()
        self.pinstep = f"/opt/{self.top.name}/bin/pinstep"
        self._shell()

    def _shell(self):
        """dash, which finds its libraries in /shell only."""
        listed = subprocess.run(["ldd", "/bin/sh"], text=True, capture_output=True, check=True).stdout
        for path in re.findall(r"(/\S+) \(", listed):
            shutil.copy(path, self.root / "shell")
        loader, = (self.root / "shell").glob("ld-linux*")
        shutil.copy("/bin/sh", self.root / "bin/sh")
        subprocess.run(["patchelf", "--set-interpreter", f"/shell/{loader.name}", "--set-rpath", "/shell",
                        self.root / "bin/sh"], check=True)

    def run(self, *words, **variables):
        inside = ('mount -t proc proc "$0/proc" && touch "$0/dev/null" && mount --bind /dev/null "$0/dev/null" && '
                  'exec chroot --userspec=65534:65534 --groups= "$0" "$@"')
        return subprocess.run(["unshare", "--mount", "sh", "-c", inside, self.root, *map(str, words)], text=True,
                              capture_output=True,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/home", **variables})

    def __call__(self, *arguments, **variables):
        return self.run(self.pinstep, *arguments, **variables)


@pytest.fixture(scope="module")
def bare(tarball, tmp_path_factory):
    directory = tmp_path_factory.mktemp("bare")
    yield Bare(directory / "root", tarball)
    remove(directory)


def test_deliberate_failure_is_seen(bare):
    assert bare("--version").returncode != 0


def test_the_machine_has_no_library(bare):
    assert bare.run("/bin/sh", "-c", "echo /lib* /usr/*").stdout == "/lib* /usr/*\n"


def test_only_the_program_that_downloads_needs_libraries(bare):
    needing = set()
    for path in bare.top.rglob("*"):
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF" and path.parent != bare.top / "lib/pinstep":
            said = subprocess.run(["readelf", "-d", path], text=True, capture_output=True).stdout
            needing |= {path.name} if "NEEDED" in said else set()
    # It loads libraries of the environment, by the loader that the environment's programs have.
    assert needing == {"pinstep-verify"}
    assert (bare.top / "lib/pinstep/ld.so").exists()
    fetch = subprocess.run(["readelf", "-d", bare.top / "lib/pinstep/pinstep-fetch"], text=True, capture_output=True)
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", fetch.stdout))
    assert needed - {"ld-linux-x86-64.so.2"} <= {path.name for path in (bare.top / "lib/pinstep").iterdir()}


def test_what_is_in_it(bare):
    names = {str(path.relative_to(bare.top)) for path in bare.top.rglob("*") if path.is_file()}
    assert {"bin/pinstep", "bin/pinstep-launch", "libexec/pinstep/pinstep-build", "libexec/pinstep/pinstep-fetch",
            "libexec/pinstep/solver/requirements.txt", "share/man/man1/pinstep.1", "share/man/man8/pinstep.8", "README", "LICENSE",
            "share/bash-completion/completions/pinstep.bash"} <= names
    assert not any("worker" in name or name.endswith("pinstep.so") for name in names)
    assert "@" not in (bare.top / "README").read_text()


@pytest.mark.parametrize("arguments, said", [
    (["--version"], "pinstep "), (["--help"], "usage: pinstep"), (["resolve", "none"], "\n"),
    (["doctor"], "Slurm's commands are not on PATH"),
], ids=lambda value: value[0] if isinstance(value, list) else "")
def test_it_runs(bare, arguments, said):
    done = bare(*arguments)
    assert done.returncode == 0 and said in done.stdout, done


def test_the_launcher_maps_this_machine(bare):
    """By pinstep-map, which has hwloc in it."""
    done = bare.run(bare.pinstep + "-launch", "--dry-run", "--ranks=1", "--json")
    assert done.returncode == 0 and json.loads(done.stdout), done


def test_an_environment_is_built_and_used(bare, tmp_path):
    with Server(made(), tmp_path / "log") as server:
        lock = bare.home / "small.lock"
        lock.write_text(explicit(server.url, chosen(made(), ["show-prefix", "prefix-text"])))
        done = bare("build", "--json", "/home/small.lock")
        assert done.returncode == 0, done.stdout + done.stderr
        assert {status for status, _, _ in server.downloads()} == {200}
    built = json.loads(done.stdout)
    assert built["built"] and built["prefix"].startswith("/home/.local/share/pinstep/e/")
    ran = bare("run", "-e", "/home/small.lock", "--", "/bin/sh", "-c", "echo $CONDA_PREFIX")
    assert ran.stdout == built["prefix"] + "\n", ran
