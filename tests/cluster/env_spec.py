"""What tests of --env-spec=FILE want in a cluster: the local channel, a solver, and a project with a spec."""

import functools
import json
import os
import subprocess

from cluster import BUILD, TOP

CHANNEL = BUILD / "localchannel"
SOLVER = TOP / "build/solver"


@functools.cache
def make_channel():
    subprocess.run([TOP / "contrib/localchannel/make-channel", "--output", CHANNEL], check=True,
                   stdout=subprocess.DEVNULL)


@functools.cache
def make_solver():
    # Of the system's python, which every user may run; `make deps` has fetched the wheels.
    subprocess.run([BUILD / "bin/pinstep", "setup", f"--dir={SOLVER}", f"--from={TOP / 'build/wheels'}"],
                   env=os.environ | {"PATH": "/usr/bin:/bin"}, check=True, stdout=subprocess.DEVNULL)


def configure(cluster, more=""):
    """The site's settings: where the channel and the solver are."""
    make_channel()
    make_solver()
    cluster.site_file("pinstep.conf", f"channel.localchannel=file://{CHANNEL}\nsolver={SOLVER}\n{more}")


def packages(*names):
    """[(path in the channel, sha256)] of these packages' latest versions."""
    make_channel()
    found = {}
    for subdir in ("linux-64", "noarch"):
        repodata = json.loads((CHANNEL / subdir / "repodata.json").read_text())
        for file, record in sorted(repodata["packages.conda"].items()):
            if record["name"] in names:
                found[record["name"]] = (f"{subdir}/{file}", record["sha256"])
    return sorted(found.values())


def spec(*packages, name="demo", channel="localchannel", variables=()):
    lines = [f"name: {name}", f"channels: [{channel}, nodefaults]", "dependencies:", *(f"  - {p}" for p in packages)]
    if variables:
        lines += ["variables:", *(f"  {name}: {value}" for name, value in dict(variables).items())]
    return "\n".join(lines) + "\n"


class Project:
    """A directory in alice's home with an environment.yml and a store of its own."""

    def __init__(self, cluster, text):
        self.cluster = cluster
        self.inside = f"/home/alice/{cluster.new_name('project')}"
        self.directory = cluster.path(self.inside)
        self.store = f"{self.inside}/store"
        self.env = {"PINSTEP_STORE": self.store}
        self.write(text)

    def write(self, text, name="environment.yml"):
        return self.cluster.write(f"{self.inside}/{name}", text)

    def run(self, *argv, env=(), **where):
        return self.cluster.run(*argv, cwd=self.inside, env=self.env | dict(env), timeout=180, **where)

    def sbatch(self, script, *arguments, **where):
        return self.cluster.sbatch(script, "--output=/home/alice/slurm-%j.out", *arguments, cwd=self.inside, env=self.env,
                                   timeout=180, **where)

    def prefixes(self):
        """Names of published prefixes."""
        directory = self.cluster.path(self.store) / "e"
        return sorted(name for name in os.listdir(directory) if not name.startswith(".")) if directory.exists() else []

    def locks(self):
        return sorted(path.name for path in self.directory.glob("*-lock.yml"))
