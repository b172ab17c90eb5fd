"""`up`: from a Plan to a running cluster.

Contract: `start` returns when every compute node is idle, or raises Failure
with everything torn down again. Nothing it makes can outlive the cluster's
init process, pid 1 of a pid namespace that holds every other process: killing
that one process kills them all, and with them every namespace, mount and link.
If this program dies before it has finished, init dies by itself.

  minicluster up                        (host)
   ├─ init      sh, pid 1 of the cluster's pid namespace
   ├─ switch    holds the network namespace with the bridge
   ├─ ctl       holds a node's namespaces; munged, slurmctld run in them
   ├─ login                                munged
   └─ n0 …                                 munged, slurmd
"""

import contextlib
import fcntl
import os
import secrets
import socket
import time

import cgroups
import config
import network
import plan as plans
import process
import rootfs
import stop
import syscalls

ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "LANG": "C.UTF-8", "SLURM_CONF": plans.SLURM_CONF}

# pid 1 of the cluster. It goes when `up` dies before it has finished (its
# stdin ends without a line), and when the cluster's directory is gone, so that
# `rm -rf` of a build tree leaves no cluster behind. A shell that waits for a
# child reaps whatever else it inherits.
INIT = 'read -r line || exit 1; while [ -e "$0/plan.json" ]; do sleep 5; done'

READY = b"1"
START_LIMIT = 60    # seconds; a loaded machine with 16 nodes took 12


class Failure(Exception):
    """A start that did not succeed; the text is for the user."""


def lock(directory):
    """The lock a cluster holds while `up` or its init lives."""
    fd = os.open(os.path.join(directory, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise Failure(f"'{directory}' holds a running cluster\n"
                      "hint: minicluster down, or another --dir") from None
    return fd


def claim_index():
    """(index, socket): a number no other running cluster has. An abstract
    socket is a name the kernel frees when its last holder dies."""
    for index in range(256):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind(f"\0minicluster/{index}")
            return index, claim
        except OSError:
            claim.close()
    raise Failure("256 clusters are running already")


def start(plan, lock_fd, claim):
    """Bring `plan` up. `lock_fd` and `claim` are handed on to init."""
    cluster = _Starter(plan)
    try:
        write_tree(plan)
        cgroups.create(plan.cgroups)
        cluster.init(lock_fd, claim)
        cluster.holders()
        cluster.daemons()
        cluster.finish()
    except BaseException as error:
        tail = cluster.failure_tail()
        stop.kill(plan)
        if isinstance(error, (Failure, OSError, RuntimeError)):
            raise Failure(f"{error}{tail}") from error
        raise


def write_tree(plan):
    """Everything below DIR but plan.json, which is written first of all."""
    for name in ("log", "munge", "slurm/node"):
        os.makedirs(plan.path(name))
    os.chmod(plan.path("munge"), 0o700)
    _write(plan.path("munge/munge.key"), secrets.token_bytes(128), 0o600)
    _write(plan.path("slurm/slurm.conf"), config.slurm_conf(plan))
    _write(plan.path("slurm/gres.conf"), config.gres_conf(plan))
    _write(plan.path("slurm/cgroup.conf"), config.cgroup_conf(plan))
    os.symlink("node/plugstack.conf", plan.path("slurm/plugstack.conf"))
    for node in plan.nodes:
        for name in ("root", "tmp", "var-tmp", "spool", "pinstep", "slurm"):
            os.makedirs(plan.node_path(node, name))
        for name in ("tmp", "var-tmp"):
            os.chmod(plan.node_path(node, name), 0o1777)
        _write(plan.node_path(node, "slurm/plugstack.conf"), node.plugstack)
    os.mkdir(plan.path("home"))
    for user in plans.USERS:
        home = plan.path("home", user.name)
        os.mkdir(home, 0o700)
        os.chown(home, user.uid, user.gid)


def _write(path, text, mode=0o644):
    data = text if isinstance(text, bytes) else text.encode()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with open(fd, "wb") as file:
        file.write(data)


class _Starter:
    """The steps of one start and what they have made so far."""

    def __init__(self, plan):
        self.plan = plan
        self.pids = {}
        self.namespaces = {}
        self.release = None
        self.last = None            # (node, daemon) whose log tells the cause

    def init(self, lock_fd, claim):
        read_end, self.release = os.pipe()
        syscalls.unshare(syscalls.CLONE_NEWPID)
        pid = os.fork()
        if pid == 0:
            try:
                # Written by init itself and under the lock: there is no moment
                # at which it runs and `down` cannot find it. The host's /proc
                # tells the host's pid.
                me = int(os.readlink("/proc/self"))
                stop.save_init(self.plan, process.identity(me))
                os.setsid()
                os.chdir("/")
                process.redirect("/dev/null")
                os.dup2(read_end, 0)
                os.set_inheritable(lock_fd, True)
                os.set_inheritable(claim.fileno(), True)
                os.execve("/bin/sh", ["sh", "-c", INIT, self.plan.directory],
                          ENVIRONMENT)
            finally:
                os._exit(1)
        os.close(read_end)

    def holders(self):
        """A process per node whose namespaces are the node."""
        switch = _Holder(self.plan, None)
        nodes = {node.short: _Holder(self.plan, node) for node in self.plan.nodes}
        self.pids = {name: {"holder": process.identity(holder.pid)}
                     for name, holder in {"switch": switch, **nodes}.items()}
        paths = {name: f"/proc/{holder.pid}/ns/net"
                 for name, holder in nodes.items()}
        switch.go(network.switch_batch(self.plan, paths))
        switch.wait()
        for node in self.plan.nodes:
            nodes[node.short].go(network.node_batch(node))
        for node in self.plan.nodes:
            nodes[node.short].wait()
            self.namespaces[node.short] = process.Namespaces(nodes[node.short].pid)

    def daemons(self):
        plan = self.plan
        for node in plan.nodes:
            self.spawn(node, "munged", [
                "munged", "--foreground", "--force", "--num-threads=1",
                f"--origin={node.address}",
                f"--log-file=/var/log/slurm/munged-{node.name}.log",
                "--pid-file=/run/munge/munged.pid",
                "--seed-file=/run/munge/munged.seed"])
        self.wait_for(self.munge_ready, "munged does not answer")
        self.spawn(plan.controller, "slurmctld", ["slurmctld", "-D", "-c"])
        # A slurmd that finds no controller sleeps before it tries again, so
        # the controller comes first.
        self.wait_for(self.controller_ready, "slurmctld does not listen")
        for node in plan.compute:
            self.spawn(node, "slurmd", ["slurmd", "-D", "-N", node.name])
        process.save_pids(plan, self.pids)
        self.wait_for(self.nodes_idle, "the nodes do not become idle")

    def finish(self):
        process.save_pids(self.plan, self.pids)
        os.write(self.release, b"up\n")
        os.close(self.release)

    def spawn(self, node, daemon, argv):
        log = self.plan.path("log", f"{daemon}-{node.name}.stderr")
        pid = process.spawn(self.namespaces[node.short], process.NODE_NAMESPACES,
                            argv, ENVIRONMENT, log, self.plan.cgroups)
        self.pids[node.short][daemon] = process.identity(pid)

    def wait_for(self, ready, what):
        deadline = time.monotonic() + START_LIMIT
        while not ready():
            self.check_alive()
            if time.monotonic() > deadline:
                raise Failure(f"{what} after {START_LIMIT} s")
            time.sleep(0.02)

    def check_alive(self):
        for short, roles in self.pids.items():
            for role, (pid, _) in roles.items():
                if os.waitpid(pid, os.WNOHANG)[0]:
                    self.last = (self.plan.find(short), role)
                    raise Failure(f"{role} on {short} has ended")

    def munge_ready(self):
        self.last = (self.plan.controller, "munged")
        # Seen through the holder's root, so no process is needed to look.
        return all(os.path.exists(f"/proc/{self.pids[node.short]['holder'][0]}"
                                  f"/root{plans.MUNGE_SOCKET}")
                   for node in self.plan.nodes)

    def controller_ready(self):
        self.last = (self.plan.controller, "slurmctld")
        holder = self.pids["ctl"]["holder"][0]
        with open(f"/proc/{holder}/net/tcp") as file:
            return listens(file.read(), 6817)

    def nodes_idle(self):
        self.last = (self.plan.compute[0], "slurmd")
        code, states = process.capture(
            self.namespaces["ctl"], process.NODE_NAMESPACES,
            ["sinfo", "--noheader", "--Node", "--format=%T"], ENVIRONMENT)
        return code == 0 and set(states.split()) == {"idle"}

    def failure_tail(self):
        """The last lines of the log that should tell why."""
        if not self.last:
            return ""
        node, daemon = self.last
        for path in (self.plan.log(node, daemon),
                     self.plan.path("log", f"{daemon}-{node.name}.stderr")):
            with contextlib.suppress(FileNotFoundError), open(path) as file:
                if lines := file.readlines()[-20:]:
                    return f"\nlast lines of {daemon} on {node.short}:\n" + \
                        "".join(lines).rstrip()
        return ""


def listens(table, port):
    """Whether /proc/net/tcp's text has a socket listening on `port`."""
    rows = (line.split() for line in table.splitlines()[1:])
    return any(row[1].endswith(f":{port:04X}") and row[3] == "0A" for row in rows)


class _Holder:
    """A child that makes its namespaces, waits for `go`, builds its node and
    becomes `sleep infinity`. It talks over one socket: a byte when the
    namespaces are there, the error text if anything fails; the exec that
    closes the socket means success."""

    def __init__(self, plan, node):
        self.what = node.short if node else "the switch"
        self.socket, child = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                keep_only(child.fileno())
                self._become(plan, node, child)
            except BaseException as error:
                child.sendall(str(error).encode())
            finally:
                os._exit(1)
        child.close()
        if self.socket.recv(1) != READY:
            self._fail(self._read())

    @staticmethod
    def _become(plan, node, child):
        os.setsid()
        if node:
            cgroups.join(plan.cgroups)
            syscalls.unshare(process.NODE_NAMESPACES | syscalls.CLONE_NEWCGROUP)
        else:
            syscalls.unshare(syscalls.CLONE_NEWNET)
        child.sendall(READY)
        with child.makefile() as file:
            batch = file.read()
        if not batch:
            return                  # `up` has died
        network.run_ip(batch)
        if node:
            socket.sethostname(node.name)
            rootfs.build(plan, node)
        os.chdir("/")
        process.redirect("/dev/null")
        os.execve("/bin/sleep", ["sleep", "infinity"], ENVIRONMENT)

    def go(self, batch):
        self.socket.sendall(batch.encode())
        self.socket.shutdown(socket.SHUT_WR)

    def wait(self):
        if text := self._read():
            self._fail(text)
        self.socket.close()

    def _read(self):
        text = b""
        while part := self.socket.recv(65536):
            text += part
        return text

    def _fail(self, text):
        raise Failure(f"cannot make {self.what}: {text.decode()}")


def keep_only(fd):
    """Close what a fork without exec has inherited: init notices the death of
    `up` only if nobody else holds the other end of its pipe."""
    os.closerange(3, fd)
    os.closerange(fd + 1, 1 << 16)
