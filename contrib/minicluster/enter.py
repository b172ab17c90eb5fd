"""`exec` and `shell`: run a command in a node as a user.

Contract: the command gets a clean environment, the user's ids and groups and
no capability beyond them, and the caller's stdin, stdout and stderr. Its exit
code, or 128 + signal, is returned; 127 and 126 as env(1) has them. A test run
calls this thousands of times, so only what it needs is imported.
"""

import errno
import os
import signal

import inside
import syscalls
from namespaces import NODE_NAMESPACES, Namespaces, alive, execute, load_record

# Sent to us, meant for the command.
FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
             signal.SIGUSR1, signal.SIGUSR2)
WAITED = FORWARDED + (signal.SIGCHLD,)


class Refused(Exception):
    """No such cluster, node, user or directory; the text is for the user."""


def run(directory, node, user, argv, cwd=None, variables=()):
    """Returns the exit code."""
    target = Namespaces(holder(directory, node))
    syscalls.setns(target.pidfd, syscalls.CLONE_NEWPID)
    signal.pthread_sigmask(signal.SIG_BLOCK, WAITED)
    pid = os.fork()
    if pid == 0:
        try:
            _become(target, user, argv, cwd, variables)
        finally:
            os._exit(1)
    return _wait(pid)


def holder(directory, node):
    """Pid of the process that holds the node's namespaces."""
    nodes = os.path.join(directory, "nodes")
    if not os.path.isdir(nodes):
        raise Refused(f"no cluster in '{directory}'\nhint: minicluster up")
    if "/" in node or not os.path.isdir(os.path.join(nodes, node)):
        names = ", ".join(sorted(os.listdir(nodes)))
        raise Refused(f"no node '{node}'\nhint: one of {names}")
    record = load_record(os.path.join(nodes, node, "holder"))
    if not alive(record):
        raise Refused(f"node '{node}' is not running")
    return record[0]


def _become(target, user, argv, cwd, variables):
    try:
        target.enter(NODE_NAMESPACES)
        account = find_account(_read("/etc/passwd"), user)
        gid, uid = account["gid"], account["uid"]
        os.setgroups(find_groups(_read("/etc/group"), user, gid))
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        # After the change of uid, which clears it.
        syscalls.die_with_parent(signal.SIGKILL)
        os.umask(0o022)
        _change_directory(cwd, account["home"])
    except Exception as error:
        _say(str(error))
        os._exit(1)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, WAITED)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)   # Python ignores these
    environment = clean_environment(account, os.environ.get("TERM"), variables)
    try:
        execute(argv, environment)
    except OSError as error:
        _say(f"'{argv[0]}': {error.strerror}")
        os._exit(127 if error.errno == errno.ENOENT else 126)


def _change_directory(cwd, home):
    if cwd:
        os.chdir(cwd)
        return
    try:
        os.chdir(home)
    except OSError:
        os.chdir("/")       # as login(1) does for an account without a home


def _read(path):
    with open(path) as file:
        return file.read()


def _say(text):
    os.write(2, f"minicluster: {text}\n".encode())


def _wait(pid):
    while True:
        info = signal.sigwaitinfo(WAITED)
        if info.si_signo == signal.SIGCHLD:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
        elif info.si_pid:
            # Sent by a process. What the terminal sends (si_pid 0) the child
            # has had already: srun takes a second Ctrl-C for an order to kill.
            os.kill(pid, info.si_signo)


def find_account(text, name):
    """The line of /etc/passwd for `name`. Read by hand: getpwnam would load
    the name service modules of the node's root into this process."""
    for line in text.splitlines():
        fields = line.split(":")
        if fields[0] == name:
            return {"name": name, "uid": int(fields[2]), "gid": int(fields[3]),
                    "home": fields[5], "shell": fields[6]}
    raise Refused(f"no user '{name}' in the cluster")


def find_groups(text, name, gid):
    """The supplementary groups of `name`, its own first."""
    groups = [gid]
    for line in text.splitlines():
        fields = line.split(":")
        if name in fields[3].split(",") and int(fields[2]) != gid:
            groups.append(int(fields[2]))
    return groups


def clean_environment(account, term, variables):
    environment = {
        "HOME": account["home"], "USER": account["name"],
        "LOGNAME": account["name"], "SHELL": account["shell"],
        "PATH": inside.USER_PATH if account["uid"] else inside.ROOT_PATH,
        "SLURM_CONF": inside.SLURM_CONF, "LANG": "C.UTF-8"}
    if term:
        environment["TERM"] = term
    for variable in variables:
        name, _, value = variable.partition("=")
        environment[name] = value
    return environment
