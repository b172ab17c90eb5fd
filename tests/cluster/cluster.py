"""A minicluster as tests use it: start it, run commands in it, look at it.

Commands run as the unprivileged user `alice` on the login node unless told otherwise. The nodes share
with each other, and with the host, only the users' home directories and this checkout: results are read
from the host's side of the home directory.
"""

import itertools
import os
import shlex
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import prefixes
from console import Console
from job import Job
from recorder import Recorder

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PINSTEP_TEST_BUILD", TOP / "build"))
MINICLUSTER = TOP / "contrib/minicluster/minicluster"
TIMEOUT = 180       # seconds; what hangs this long will not end by itself


@dataclass(frozen=True)
class Result:
    argv: list
    rc: int
    out: str
    err: str
    seconds: float

    def ok(self):
        """The result, if the command succeeded."""
        assert self.rc == 0, f"exit code {self.rc}\n{self}"
        return self

    @property
    def lines(self):
        return self.out.splitlines()

    def __str__(self):
        return f"$ {shlex.join(self.argv)}\n{self.out}{self.err}[{self.rc} after {self.seconds:.2f} s]"


def minicluster(*arguments, timeout=TIMEOUT, **options):
    """Runs the program minicluster itself."""
    argv = [str(MINICLUSTER), *map(str, arguments)]
    began = time.monotonic()
    done = subprocess.run(argv, text=True, capture_output=True, timeout=timeout, errors="replace",
                          **({"stdin": subprocess.DEVNULL} | options))
    return Result(argv, done.returncode, done.stdout, done.stderr, time.monotonic() - began)


@dataclass(frozen=True)
class Wanted:
    """What cluster a test wants. With `plugin`, pinstep is installed in all nodes and stands in their
    plugstack.conf as far as the profile has it so; `more` are options of `minicluster up` as they are."""
    profile: str = "plain"
    nodes: int = 0              # 0: what the profile has
    plugin: bool = False
    installed: bool = False     # the programs without the plugin
    plugin_args: str = ""
    more: tuple = ()

    def arguments(self, stage):
        """The options of `minicluster up`; `stage()` is asked only if something of it is wanted."""
        arguments = ["--profile", self.profile, *map(str, self.more)]
        if self.nodes:
            arguments += ["--nodes", str(self.nodes)]
        if self.plugin or self.installed:
            for bind in stage().binds():
                arguments += ["--bind", bind]
        if self.plugin:
            arguments += ["--plugin", stage().plugin]
            if self.plugin_args:
                arguments += ["--plugin-args", self.plugin_args]
        return arguments


class Cluster:
    def __init__(self, directory, arguments):
        self.directory = Path(directory)
        minicluster("up", "--dir", directory, *arguments).ok()
        self.settings = self._settings()
        self.nodes = self.settings["MINICLUSTER_NODES"].split()
        self.addresses = self.settings["MINICLUSTER_ADDRESSES"].split()
        self.login = self.settings["MINICLUSTER_LOGIN"]
        self.homes = Path(self.settings["MINICLUSTER_HOME"])
        self.logs = Path(self.settings["MINICLUSTER_LOG"])
        self._numbers = itertools.count()
        self.console = Console(self._exec("root", "login"))

    def down(self):
        self.console.close()
        minicluster("down", "--dir", self.directory).ok()

    def _settings(self):
        text = minicluster("env", "--dir", self.directory).ok().out
        return dict(word.split("=", 1) for word in shlex.split(text))

    def _exec(self, user, node, env=(), cwd=None):
        argv = [str(MINICLUSTER), "exec", "--dir", str(self.directory), "--user", user, "--node", node]
        for name, value in dict(env).items():
            argv += ["--env", f"{name}={value}"]
        if cwd:
            argv += ["--cwd", str(cwd)]
        return [*argv, "--"]

    # -- running --

    def start(self, *argv, user="alice", node="login", env=(), cwd=None, **options):
        """A Popen, for what goes on while the test does something else."""
        return subprocess.Popen(
            [*self._exec(user, node, env, cwd), *map(str, argv)], text=True, errors="replace",
            **({"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE} | options))

    def run(self, *argv, input=None, timeout=TIMEOUT, **where):
        """Runs a command to its end. The time-out is for tests that hang, none may rely on it."""
        began = time.monotonic()
        pipe = {} if input is None else {"stdin": subprocess.PIPE}
        with self.start(*argv, **where, **pipe) as child:
            try:
                out, err = child.communicate(input, timeout)
            except subprocess.TimeoutExpired:
                child.kill()
                out, err = child.communicate()
                raise AssertionError(f"{shlex.join(map(str, argv))}: no end after {timeout} s\n"
                                     f"{out}{err}{self.console.ask('squeue')}") from None
        return Result(list(map(str, argv)), child.returncode, out, err, time.monotonic() - began)

    def srun(self, *arguments, **where):
        return self.run("srun", *arguments, **where)

    def salloc(self, *arguments, **where):
        return self.run("salloc", "--quiet", *arguments, **where)

    def try_sbatch(self, script, *arguments, **where):
        """The Result of sbatch itself, whether it accepts the job or not."""
        if not script.startswith("#!"):
            script = "#!/bin/bash\n" + script
        return self.run("sbatch", "--parsable", *arguments, input=script, **where)

    def sbatch(self, script, *arguments, **where):
        """Submits a job. Submit all first and wait afterwards: they run side by side."""
        result = self.try_sbatch(script, *arguments, **where).ok()
        return Job(self, int(result.out.split(";")[0]), self.home(where.get("user", "alice")))

    # -- files --

    def home(self, user="alice"):
        """The user's home directory as the host sees it; in the nodes it is /home/USER."""
        return self.homes / user

    def path(self, inside):
        """The host's path of one below /home."""
        return self.homes / Path(inside).relative_to("/home")

    def write(self, inside, text, user="alice", mode=0o644):
        """Writes a file below /home, owned by `user`; returns its path in the nodes."""
        path = self.path(inside)
        self.directory_of(path.parent, user)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        path.chmod(mode)
        self.own(path, user)
        return str(inside)

    def directory_of(self, path, user):
        """Makes the host directory `path` and its parents, owned by `user`."""
        for directory in reversed([path, *path.parents]):
            if not directory.exists():
                directory.mkdir()
                self.own(directory, user)

    def own(self, path, user):
        owner = self.home(user).stat()
        os.chown(path, owner.st_uid, owner.st_gid)

    def new_name(self, stem):
        return f"{stem}{next(self._numbers)}"

    def prefix(self, name=None, edits=(), user="alice", **options):
        """A hand-made prefix in the user's home; see prefixes.make."""
        return prefixes.make(self, f"/home/{user}/{name or self.new_name('prefix')}", edits, user,
                             **options)

    def recorder(self, user="alice"):
        """Where tasks can leave their environments; see recorder.py."""
        return Recorder(self, f"/home/{user}/{self.new_name('record')}", user)

    def site_file(self, name, text, nodes=None):
        """Writes /etc/pinstep/NAME on nodes (short names; all by default). None removes it."""
        for directory in (self.directory / "nodes").iterdir():
            if nodes is None or directory.name in nodes:
                path = directory / "pinstep" / name
                path.unlink(missing_ok=True)
                if text is not None:
                    path.write_text(text)

    # -- looking --

    def node_states(self):
        """{node: (state, reason)}, state as sinfo's %T."""
        lines = self.console.ask("sinfo", "--noheader", "--Node", "--format=%N|%T|%E").splitlines()
        return {name: (state, reason) for name, state, reason in (line.split("|", 2) for line in lines)}

    def disturbed_nodes(self):
        """Nodes that are drained or down, with the reason."""
        return {name: state for name, state in self.node_states().items()
                if any(word in state[0] for word in ("drain", "down", "fail", "not_resp", "*"))}

    def repair(self):
        """Make disturbed nodes usable for the next test."""
        for name in self.disturbed_nodes():
            self.console.ask("scontrol", "update", f"NodeName={name}", "State=RESUME")

    def log(self, daemon, node):
        """Text of a daemon's log: log("slurmd", cluster.nodes[0])."""
        return (self.logs / f"{daemon}-{node}.log").read_text()


def wait_until(condition, what, seconds=60):
    """Polls until `condition()` is true and returns its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.02)
    return value
