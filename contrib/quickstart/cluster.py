"""The Slurm cluster: contrib/minicluster, with users' homes that outlast it.

Contract: `running` returns a cluster whose nodes have this pinstep; one that runs already and has it is left
alone, jobs and all.
"""

import os
import shutil
import subprocess
from pathlib import Path

from tell import Failure, note

NODES = 2
PROFILE = "ports"       # each step gets ports of its own, as `pinstep doctor` advises
USERS = {"alice": 20001, "bob": 20002}      # as minicluster has them
KEEPER = "bob"          # the account that keeps what all share: root runs nothing of a package
# What programs ask for their way through a network.
NETWORK = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir")


class Cluster:
    def __init__(self, top, directory):
        self.top = top
        self.directory = os.path.join(directory, "cluster")
        self.homes = os.path.join(directory, "home")
        self.program = os.path.join(top, "contrib/minicluster/minicluster")

    def call(self, verb, *arguments, **options):
        return subprocess.run([self.program, verb, "--dir", self.directory, *arguments],
                              **({"stdin": subprocess.DEVNULL, "text": True} | options))

    def argv(self, *argv, user="alice", cwd=None):
        """The command line that runs `argv` on the login node."""
        where = ["--cwd", cwd] if cwd else []
        return [self.program, "exec", "--dir", self.directory, "--user", user, *where, "--", *argv]

    def run(self, *argv, **where):
        """What a command prints; its messages go to ours."""
        done = subprocess.run(self.argv(*argv, **where), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise Failure(f"'{' '.join(argv)}' failed with exit code {done.returncode}\n{done.stdout.rstrip()}")
        return done.stdout

    def run_outside(self, *argv):
        """Runs a command as alice in the login node, but in the machine's network: the nodes' own leads nowhere."""
        holder = Path(self.directory, "nodes/login/holder").read_text().split()[0]
        _share_names(Path("/proc", holder, "root/etc"))
        uid = USERS["alice"]
        kept = [f"{name}={value}" for name, value in os.environ.items() if name.lower() in NETWORK]
        done = subprocess.run(["nsenter", f"--target={holder}", "--mount", "--root", f"--setuid={uid}", f"--setgid={uid}",
                               "env", "--ignore-environment", "HOME=/home/alice", "USER=alice", "LANG=C.UTF-8",
                               "PATH=/usr/local/bin:/usr/bin:/bin", *kept, *argv], stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Failure(f"'{' '.join(argv)}' failed with exit code {done.returncode}")

    def path(self, inside):
        """The host's path of one below /home."""
        return Path(self.homes, Path(inside).relative_to("/home"))


def running(top, directory, site):
    cluster = Cluster(top, directory)
    _make_homes(cluster)
    arguments = ["--profile", PROFILE, "--nodes", str(NODES), "--cpus", str(_cpus()), "--plugin", site.plugin,
                 "--bind", f"{cluster.homes}:/home"]
    for bind in site.binds:
        arguments += ["--bind", bind]
    record = Path(directory, "cluster-of")
    wanted = "\n".join([*arguments, site.version, site.settings])
    alive = cluster.call("status", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    same = alive and record.exists() and record.read_text() == wanted
    if not same:
        if alive:
            note("the cluster has another pinstep than what is installed now: restarting it")
        _start(cluster, arguments, site.settings)
        record.write_text(wanted)
    note(f"cluster     {NODES} nodes with {_cpus()} CPUs each{' (running already)' if same else ''}")
    return cluster


def _start(cluster, arguments, settings):
    # A new cluster counts its jobs from here: no job's output may take the place of an earlier one's.
    logs = Path(cluster.homes).glob("*/*/slurm-*.out")
    numbers = [int(path.stem.partition("-")[2]) for path in logs if path.stem.partition("-")[2].isdigit()]
    first = f"FirstJobId={max(numbers, default=0) + 1}"
    if cluster.call("down").returncode or \
            cluster.call("up", *arguments, "--slurm-conf-line", first, stdout=subprocess.DEVNULL).returncode:
        raise Failure("the cluster does not start")
    for node in Path(cluster.directory, "nodes").iterdir():
        (node / "pinstep/pinstep.conf").write_text(settings)


def _cpus():
    """What a node may claim to have: ranks are bound to processors, so these must exist."""
    return max(2, min(8, len(os.sched_getaffinity(0))))


def _make_homes(cluster):
    for name, uid in USERS.items():
        home = os.path.join(cluster.homes, name)
        if not os.path.exists(home):
            os.makedirs(home, mode=0o700)
            os.chmod(home, 0o700)
            shutil.chown(home, uid, uid)


def give_to_keeper(directory):
    if directory.stat().st_uid == USERS[KEEPER]:
        return
    for path in (directory, *directory.rglob("*")):
        os.chown(path, USERS[KEEPER], USERS[KEEPER], follow_symlinks=False)


def _share_names(etc):
    """A node asks no name service. Here it gets the machine's."""
    switch = etc / "nsswitch.conf"
    if "hosts: files\n" not in switch.read_text():
        return
    with open(etc / "hosts", "a") as hosts:
        hosts.write(Path("/etc/hosts").read_text())
    (etc / "resolv.conf").write_text(Path("/etc/resolv.conf").read_text())
    switch.write_text(switch.read_text().replace("hosts: files\n", "hosts: files dns\n"))
