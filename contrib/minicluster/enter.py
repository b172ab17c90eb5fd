"""`exec` and `shell`: run a command in a node as a user.

Contract: the command gets a clean environment, the user's ids and groups and
no capability beyond them, and the caller's stdin, stdout and stderr. Its exit
code, or 128 + signal, is returned. It is imported for each `exec`, of which a
test run makes thousands: keep it quick.
"""

import os
import signal

import plan as plans
import process
import syscalls

FLAGS = (process.NODE_NAMESPACES | syscalls.CLONE_NEWPID |
         syscalls.CLONE_NEWCGROUP)

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
             signal.SIGUSR1, signal.SIGUSR2)

USER_PATH = "/usr/local/bin:/usr/bin:/bin"
ROOT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Refused(Exception):
    """No such cluster, node or user; the text is for the user."""


def run(directory, node, user, argv, cwd=None, variables=()):
    """Returns the exit code."""
    namespaces = process.Namespaces(holder(directory, node))
    syscalls.setns(namespaces.pidfd, syscalls.CLONE_NEWPID)
    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED + (signal.SIGCHLD,))
    pid = os.fork()
    if pid == 0:
        _child(namespaces, user, argv, cwd, variables)
    return _wait(pid)


def holder(directory, name):
    """Pid of the process that holds the node's namespaces."""
    try:
        plan = plans.load(directory)
    except FileNotFoundError:
        raise Refused(f"no cluster in '{directory}'\nhint: minicluster up") from None
    node = plan.find(name)
    if not node:
        names = ", ".join(node.short for node in plan.nodes)
        raise Refused(f"no node '{name}'\nhint: one of {names}")
    record = process.load_pids(directory).get(node.short, {}).get("holder")
    if not process.alive(record):
        raise Refused(f"node '{name}' is not running")
    return record[0]


def _child(namespaces, user, argv, cwd, variables):
    try:
        namespaces.enter(FLAGS & ~syscalls.CLONE_NEWPID)
        with open("/etc/passwd") as file:
            account = find_account(file.read(), user)
        with open("/etc/group") as file:
            groups = find_groups(file.read(), user, account["gid"])
        os.setgroups(groups)
        os.setresgid(account["gid"], account["gid"], account["gid"])
        os.setresuid(account["uid"], account["uid"], account["uid"])
        # After the change of uid, which clears it.
        syscalls.die_with_parent(signal.SIGKILL)
        os.umask(0o022)
        os.chdir(cwd or account["home"])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED + (signal.SIGCHLD,))
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)   # Python ignores these
        environment = clean_environment(account, os.environ.get("TERM"), variables)
        os.execvpe(argv[0], argv, environment)
    except Refused as error:
        _say(str(error))
        os._exit(1)
    except FileNotFoundError as error:
        _say(f"{argv[0]}: {error}")
        os._exit(127)
    except OSError as error:
        _say(f"{argv[0]}: {error}")
        os._exit(126)
    finally:
        os._exit(1)


def _say(text):
    os.write(2, f"minicluster: {text}\n".encode())


def _wait(pid):
    while True:
        info = signal.sigwaitinfo(FORWARDED + (signal.SIGCHLD,))
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
        "PATH": USER_PATH if account["uid"] else ROOT_PATH,
        "SLURM_CONF": plans.SLURM_CONF, "LANG": "C.UTF-8"}
    if term:
        environment["TERM"] = term
    for variable in variables:
        name, _, value = variable.partition("=")
        environment[name] = value
    return environment
