"""Text of every configuration file, computed from a Plan.

Contract: pure functions, Plan in, text out; no file is read or written.
"""

from inside import MUNGE_SOCKET, PLUGSTACK
from plan import PROJECT_GID, USERS

# Keys that may stand on several lines of slurm.conf: a user's line adds to
# ours. With any other key the user's line replaces ours, since Slurm complains
# in every command about a key given twice.
REPEATABLE = ("nodename", "partitionname", "downnodes", "nodeset", "include")


def slurm_conf(plan):
    defaults = [
        f"ClusterName=c{plan.index}",
        f"SlurmctldHost={plan.controller.name}({plan.controller.address})",
        "SlurmUser=root",
        "SlurmdUser=root",
        "AuthType=auth/munge",
        f"AuthInfo=socket={MUNGE_SOCKET}",
        "MpiDefault=pmix",
        # Job ids differ between clusters that share files.
        f"FirstJobId={plan.index * 10000 + 1}",
        "StateSaveLocation=/var/spool/slurm",
        "SlurmdSpoolDir=/var/spool/slurm",
        "SlurmctldPidFile=/run/slurmctld.pid",
        "SlurmdPidFile=/run/slurmd.pid",
        f"SlurmctldLogFile=/var/log/slurm/slurmctld-{plan.controller.name}.log",
        "SlurmdLogFile=/var/log/slurm/slurmd-%n.log",
        "SlurmctldDebug=info",
        "SlurmdDebug=info",
        f"PlugStackConfig={PLUGSTACK}",
        f"ProctrackType=proctrack/{plan.proctrack}",
        f"TaskPlugin={plan.task_plugin}",
        "JobAcctGatherType=jobacct_gather/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core",
        # A node may claim more CPUs than the machine has.
        "SlurmdParameters=config_overrides",
        # Het jobs are started by backfill only, so it runs every second.
        "SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0",
        "ReturnToService=2",
        "MailProg=/bin/true",
        # Short enough for tests, long enough for a machine under load: a job
        # that outlives UnkillableStepTimeout drains its node.
        "KillWait=2",
        "UnkillableStepTimeout=15",
        "SlurmdTimeout=60",
        "SlurmctldTimeout=60",
        "MessageTimeout=20",
        "BatchStartTimeout=10",
        "WaitTime=0",
    ]
    if plan.gpus:
        defaults.append("GresTypes=gpu")
    lines = override(defaults, plan.slurm_lines)
    lines += [node_line(plan, node) for node in plan.compute]
    names = ",".join(node.name for node in plan.compute)
    lines.append(f"PartitionName=main Nodes={names} Default=YES "
                 "MaxTime=INFINITE State=UP OverSubscribe=NO")
    return "\n".join(lines) + "\n"


def override(defaults, lines):
    """`defaults` without the keys that `lines` set again, then `lines`."""
    given = {key(line) for line in lines} - set(REPEATABLE)
    return [line for line in defaults if key(line) not in given] + list(lines)


def key(line):
    return line.partition("=")[0].strip().lower()


def node_line(plan, node):
    sockets = 2 if plan.cpus % 2 == 0 and plan.cpus >= 4 else 1
    gres = f" Gres=gpu:{plan.gpus}" if plan.gpus else ""
    return (f"NodeName={node.name} NodeAddr={node.address} CPUs={plan.cpus} "
            f"Sockets={sockets} CoresPerSocket={plan.cpus // sockets} "
            f"ThreadsPerCore=1 RealMemory=4000{gres} State=UNKNOWN")


def gres_conf(plan):
    if not plan.gpus:
        return ""
    last = plan.gpus - 1
    files = f"{plan.gpu_prefix}[0-{last}]" if last else f"{plan.gpu_prefix}0"
    return f"Name=gpu File={files}\n"


def cgroup_conf(plan):
    if not plan.cgroups:
        # Nobody calls the plugin then, but slurmd loads one, 22.05 knows no
        # `disabled`, and `autodetect` stops where nothing is mounted.
        return "CgroupPlugin=cgroup/v1\n"
    yes_no = "yes" if plan.constrain else "no"
    return ("CgroupPlugin=cgroup/v1\n"
            "CgroupAutomount=no\n"
            f"ConstrainCores={yes_no}\n"
            f"ConstrainDevices={yes_no}\n")


def mpi_conf():
    # A step whose servers cannot reach each other fails in this time, not in
    # the five minutes of the default.
    return "PMIxTimeout=30\n"


def plugstack_line(path, arguments="", required=False):
    """One plugstack.conf line, or nothing without a plugin."""
    if not path:
        return ""
    verb = "required" if required else "optional"
    return f"{verb} {path} {arguments}".rstrip() + "\n"


def hosts(plan):
    """The same on every node. No node's own name is a loopback address: what
    looks itself up must find the address the other nodes can reach."""
    lines = ["127.0.0.1 localhost"]
    lines += [f"{node.address} {node.name}" for node in plan.nodes]
    return "\n".join(lines) + "\n"


def account_files():
    """Path below / → text: the users of the nodes, none of them the host's."""
    system = [("root", 0, 0, "/root", "/bin/bash"),
              ("daemon", 1, 1, "/usr/sbin", "/usr/sbin/nologin"),
              ("nobody", 65534, 65534, "/nonexistent", "/usr/sbin/nologin")]
    people = [(user.name, user.uid, user.gid, user.home, "/bin/bash")
              for user in USERS]
    members = ",".join(user.name for user in USERS)
    groups = ["root:x:0:", "daemon:x:1:", "tty:x:5:", "nogroup:x:65534:"]
    groups += [f"{user.name}:x:{user.gid}:" for user in USERS]
    groups.append(f"project:x:{PROJECT_GID}:{members}")
    everyone = system + people
    return {
        "etc/passwd": "".join(f"{name}:x:{uid}:{gid}::{home}:{shell}\n"
                              for name, uid, gid, home, shell in everyone),
        "etc/group": "\n".join(groups) + "\n",
        # sbatch --export=NONE makes slurmd run `su - USER`, which needs an
        # account entry that has neither expired nor lacks one.
        "etc/shadow": "".join(f"{name}:*:19000:0:99999:7:::\n"
                              for name, *_ in everyone),
        "etc/gshadow": "".join(f"{line.split(':')[0]}:*::\n" for line in groups),
    }


def system_files(plan, node):
    """Path below / → text: the files of /etc that a node has of its own."""
    return {
        **account_files(),
        "etc/hosts": hosts(plan),
        "etc/hostname": node.name + "\n",
        # Only files: a look-up must never wait for a name server that the
        # cluster's network does not reach.
        "etc/nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\n"
                             "gshadow: files\nhosts: files\nnetworks: files\n"
                             "protocols: files\nservices: files\n",
        "etc/resolv.conf": "",
        # What `su -` and login shells read: nothing of the host's.
        "etc/environment": "",
    }
