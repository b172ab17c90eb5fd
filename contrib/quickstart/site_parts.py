"""What an administrator provides on a cluster: pinstep, a channel of packages, the solver, the settings.

Contract: everything is made below the quickstart's directory, or is there already and is left as it is. The
nodes see it at places of their own (`binds`), so that it does not matter who may enter the checkout.
"""

import json
import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from cluster import KEEPER, give_to_keeper
from tell import Failure, note

IN_NODES = "/srv/pinstep"
SETTINGS = f"""# Written by quickstart.
channel.localchannel=file://{IN_NODES}/localchannel
solver={IN_NODES}/solver
"""


@dataclass(frozen=True)
class Site:
    plugin: str         # its path in the nodes
    binds: tuple        # SRC:DST[:ro], as minicluster's --bind wants them
    version: str        # differs when what is installed differs
    settings: str       # text of /etc/pinstep/pinstep.conf
    solver: Path        # the host's path of what the nodes have as IN_NODES/solver


def make(top, directory, build):
    """The Site, for the nodes of a cluster that is yet to be started."""
    installed = _install(top, Path(directory), Path(build))
    channel = _make_channel(top, build)
    solver = Path(directory, "site/solver")
    solver.mkdir(parents=True, exist_ok=True)
    give_to_keeper(solver)
    files = sorted(path for path in installed.rglob("*") if path.is_file())
    inside = [f"/{path.relative_to(installed)}" for path in files]
    plugins = [path for path in inside if path.endswith("/pinstep.so")]
    if not plugins:
        raise Failure("the plugin is not built: see what ./configure says of Slurm's headers")
    if not {"/usr/local/bin/pinstep", "/usr/bin/pinstep"} & set(inside):
        raise Failure("pinstep is configured for a directory where the cluster's users do not look for programs\n"
                      "hint: ./configure --prefix=/usr/local")
    binds = (*(f"{path}:{target}:ro" for path, target in zip(files, inside)),
             f"{channel}:{IN_NODES}/localchannel:ro",
             f"{top}/build/wheels:{IN_NODES}/wheels:ro",
             f"{solver}:{IN_NODES}/solver")
    return Site(plugins[0], binds, _state(files), SETTINGS, solver)


def make_solver(slurm, site):
    """In the cluster, since the solver keeps the place where it was made."""
    if not any(site.solver.iterdir()):
        note("installing the solver, py-rattler and uv, into a venv of its own ...")
    found = json.loads(slurm.run("pinstep", "setup", "--json", f"--dir={IN_NODES}/solver", f"--from={IN_NODES}/wheels",
                                 user=KEEPER))
    note(f"solver      {found['directory']}, made by {KEEPER}{there_already(not found['made'])}")


def there_already(is_so):
    return " (there already)" if is_so else ""


def _install(top, directory, build):
    """`make install`, unless what was built is what was installed."""
    target = directory / "install"
    record = directory / "installed"
    built = [path for part in ("bin", "libexec", "lib") for path in (build / part).rglob("*")]
    state = _state(path for path in (*built, *Path(top, "man").iterdir()) if path.is_file())
    there = record.exists() and record.read_text() == state
    if not there:
        _run(["make", "--no-print-directory", "-C", top, "install", f"BUILD={os.path.relpath(build, top)}",
              f"DESTDIR={target}"])
        record.write_text(state)
    note(f"pinstep     {target}{there_already(there)}")
    return target


def _state(files):
    """A text that changes when one of the files does."""
    return "".join(f"{path} {path.stat().st_mtime_ns} {path.stat().st_size}\n" for path in sorted(files))


def _make_channel(top, build):
    channel = os.path.join(build, "localchannel")
    there = os.path.exists(channel)
    if not there:
        note("making a channel of conda packages out of Debian's ...")
    _run([os.path.join(top, "contrib/localchannel/make-channel"), "--output", channel])
    # Somebody may have made it, or parts of it, under a umask of 077.
    _run(["chmod", "--recursive", "a+rX", channel])
    note(f"channel     {channel}{there_already(there)}")
    return channel


def _run(argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise Failure(f"'{shlex.join(map(str, argv))}' failed:\n{done.stdout.rstrip()}")
