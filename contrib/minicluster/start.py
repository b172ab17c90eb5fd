"""`up`: from a Plan to a running cluster.

Contract: `start` returns when every compute node is idle, or raises Failure
with everything torn down again. Nothing it makes can outlive the cluster's
init, pid 1 of a pid namespace that holds every other process: killing that one
process kills them all, and with them every namespace, mount and link. If this
program dies before it has finished, init dies by itself.

    minicluster up              on the host
    └─ init                     sh, pid 1 of the cluster's pid namespace
       └─ builder               makes the rest, then exits
          ├─ switch             holds the network namespace with the bridge
          ├─ ctl                holds a node's namespaces …
          │   munged, slurmctld    … which these have entered
          ├─ login
          │   munged
          └─ n0, n1, …
              munged, slurmd

The builder is within the pid namespace so that init, and not the host's pid 1,
inherits the daemons and reaps them: the end of a pid namespace waits until its
last process is reaped, and who knows how soon the host's pid 1 does that.
"""

import contextlib
import fcntl
import os
import secrets
import socket
import time

import cgroups
import config
import inside
import namespaces
import network
import plan as plans
import process
import rootfs
import stop
import syscalls

ENVIRONMENT = {"PATH": inside.ROOT_PATH, "LANG": "C.UTF-8",
               "SLURM_CONF": inside.SLURM_CONF}

# pid 1 of the cluster. It goes when `up` dies before it has finished (its
# stdin ends without a line), and when the cluster's directory is gone, so that
# `rm -rf` of a build tree leaves no cluster behind. A shell that waits for a
# child reaps whatever else it inherits.
INIT = 'read -r line || exit 1; while [ -e "$0/plan.json" ]; do sleep 5; done'

DONE = "up"
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
    try:
        write_tree(plan)
        cgroups.create(plan.cgroups)
        report, release = _start_init(plan, (lock_fd, claim.fileno()))
        with open(report) as file:
            if (text := file.read()) != DONE:
                raise Failure(text or "the start was killed")
        os.write(release, b"up\n")
        os.close(release)
    except BaseException as error:
        stop.kill(plan)
        stop.remove_tree(plan.directory)
        if isinstance(error, OSError):
            raise Failure(str(error)) from error
        raise


def _start_init(plan, inherited):
    """Fork init and, from it, the builder. Returns the read end of the pipe
    with the builder's report and the write end of the one init waits on."""
    report_read, report_write = os.pipe()
    release_read, release_write = os.pipe()
    syscalls.unshare(syscalls.CLONE_NEWPID)
    if os.fork() == 0:
        try:
            # Written by init itself and under the lock, so there is no moment
            # at which it runs and `down` cannot find it.
            stop.save_init(plan, namespaces.identity(process.host_pid()))
            os.setsid()
            os.chdir("/")
            os.close(release_write)
            if os.fork() == 0:
                keep_only(report_write)
                _build(plan, report_write)
            process.redirect("/dev/null")
            os.dup2(release_read, 0)
            for fd in inherited:
                os.set_inheritable(fd, True)
            os.execve("/bin/sh", ["sh", "-c", INIT, plan.directory], ENVIRONMENT)
        finally:
            os._exit(1)
    os.close(report_write)
    os.close(release_read)
    return report_read, release_write


def _build(plan, report):
    """The builder's life: the report is DONE or what went wrong."""
    text = ""
    builder = _Builder(plan)
    try:
        builder.holders()
        builder.daemons()
        text = DONE
    except Exception as error:
        text = f"{error or repr(error)}{builder.failure_tail()}"
    finally:
        os.write(report, text.encode())
        os._exit(0)


def write_tree(plan):
    """Everything below DIR but plan.json, which is written first of all."""
    for name in ("log", "munge", "slurm/node"):
        os.makedirs(plan.path(name))
    os.chmod(plan.path("munge"), 0o700)
    _write(plan.path("munge/munge.key"), secrets.token_bytes(128), 0o600)
    _write(plan.path("slurm/slurm.conf"), config.slurm_conf(plan))
    _write(plan.path("slurm/gres.conf"), config.gres_conf(plan))
    _write(plan.path("slurm/cgroup.conf"), config.cgroup_conf(plan))
    _write(plan.path("slurm/mpi.conf"), config.mpi_conf())
    os.symlink("node/plugstack.conf", plan.path("slurm/plugstack.conf"))
    for node in plan.nodes:
        for name in ("root", "tmp", "var-tmp", "spool", "pinstep", "slurm"):
            os.makedirs(plan.node_path(node, name))
        for name in ("tmp", "var-tmp"):
            os.chmod(plan.node_path(node, name), 0o1777)
        _write(plan.node_path(node, "slurm/plugstack.conf"), node.plugstack)
        # `exec` finds a node under either name without reading the plan.
        os.symlink(node.short, plan.path("nodes", node.name))
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


class _Builder:
    """The steps of one start and what they have made so far."""

    def __init__(self, plan):
        self.plan = plan
        self.pids = {}          # short name → {role: record}, for pids.json
        self.namespaces = {}    # short name → Namespaces
        self.children = []      # (our pid, node, daemon)
        self.last = None        # (node, daemon) whose log tells the cause

    def holders(self):
        """A process per node whose namespaces are the node."""
        switch = _Holder(self.plan, None)
        nodes = {node.short: _Holder(self.plan, node) for node in self.plan.nodes}
        self.pids = {name: {"holder": namespaces.identity(holder.host_pid)}
                     for name, holder in {"switch": switch, **nodes}.items()}
        paths = {name: f"/proc/{holder.host_pid}/ns/net"
                 for name, holder in nodes.items()}
        switch.go(network.switch_batch(self.plan, paths))
        switch.wait()
        for node in self.plan.nodes:
            nodes[node.short].go(network.node_batch(node))
        for node in self.plan.nodes:
            holder = nodes[node.short]
            holder.wait()
            namespaces.save_record(self.plan.node_path(node, "holder"),
                                   self.pids[node.short]["holder"])
            self.namespaces[node.short] = namespaces.Namespaces(
                holder.pid, holder.host_pid)

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

    def spawn(self, node, daemon, argv):
        log = self.plan.path("log", f"{daemon}-{node.name}.stderr")
        pid, record = process.spawn(
            self.namespaces[node.short], argv, ENVIRONMENT, log, self.plan.cgroups)
        self.pids[node.short][daemon] = record
        self.children.append((pid, node, daemon))

    def wait_for(self, ready, what):
        deadline = time.monotonic() + START_LIMIT
        while not ready():
            self.check_alive()
            if time.monotonic() > deadline:
                raise Failure(f"{what} after {START_LIMIT} s")
            time.sleep(0.02)

    def check_alive(self):
        for pid, node, daemon in self.children:
            if os.waitpid(pid, os.WNOHANG)[0]:
                self.last = (node, daemon)
                raise Failure(f"{daemon} on {node.short} has ended")

    def munge_ready(self):
        self.last = (self.plan.controller, "munged")
        # Seen through the holder's root, so no process is needed to look.
        return all(os.path.exists(f"/proc/{self.pids[node.short]['holder'][0]}"
                                  f"/root{inside.MUNGE_SOCKET}")
                   for node in self.plan.nodes)

    def controller_ready(self):
        self.last = (self.plan.controller, "slurmctld")
        holder = self.pids["ctl"]["holder"][0]
        with open(f"/proc/{holder}/net/tcp") as file:
            return listens(file.read(), 6817)

    def nodes_idle(self):
        self.last = (self.plan.compute[0], "slurmd")
        code, states = process.capture(
            self.namespaces["ctl"],
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
    becomes `sleep infinity`. It talks over one socket: its pid on the host when
    the namespaces are there, the error text if anything fails; the exec that
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
        greeting = self.socket.recv(64)
        if not greeting.isdigit():
            self._fail(greeting + self._read())
        self.host_pid = int(greeting)

    @staticmethod
    def _become(plan, node, child):
        os.setsid()
        if node:
            cgroups.join(plan.cgroups)
            syscalls.unshare(namespaces.NODE_NAMESPACES)
        else:
            syscalls.unshare(syscalls.CLONE_NEWNET)
        child.sendall(b"%d" % process.host_pid())
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
