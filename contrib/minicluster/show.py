"""`status` and `env`: what a cluster is and how it does.

Contract: `collect` looks and changes nothing; it returns plain data, of which
`as_text` and the JSON are two forms. A part that does not answer is shown as
such and is no error.
"""

import shlex

import inside
import namespaces
import plan as plans
import process
import stop
from start import ENVIRONMENT


def collect(directory):
    try:
        plan = plans.load(directory)
    except FileNotFoundError:
        return {"directory": directory, "running": False}
    pids = process.load_pids(directory)
    running = namespaces.alive(stop.load_init(directory))
    states, version = {}, ""
    if running and namespaces.alive(pids.get("ctl", {}).get("slurmctld")):
        controller = namespaces.Namespaces(pids["ctl"]["holder"][0])
        version = _ask(controller, ["sinfo", "--version"]).strip()
        lines = _ask(controller, ["sinfo", "--noheader", "--Node",
                                  "--format=%N %T"]).splitlines()
        states = dict(line.split() for line in lines)
    return {
        "directory": directory,
        "running": running,
        "profile": plan.profile,
        "proctrack": plan.proctrack,
        "version": version,
        "nodes": [{
            "short": node.short,
            "name": node.name,
            "address": node.address,
            "state": states.get(node.name, ""),
            "daemons": {daemon: {"pid": record[0], "alive": namespaces.alive(record)}
                        for daemon, record in pids.get(node.short, {}).items()},
        } for node in plan.nodes],
    }


def healthy(status):
    return status["running"] and all(
        daemon["alive"] for node in status["nodes"]
        for daemon in node["daemons"].values())


def as_text(status):
    lines = [f"directory  {status['directory']}",
             f"cluster    {'running' if status['running'] else 'not running'}"]
    if "profile" in status:
        lines += [f"profile    {status['profile']}",
                  f"version    {status['version'] or '?'}",
                  f"proctrack  {status['proctrack']}", ""]
        for node in status["nodes"]:
            daemons = ", ".join(
                f"{name} {daemon['pid'] if daemon['alive'] else 'DEAD'}"
                for name, daemon in node["daemons"].items())
            lines.append(f"{node['short']:6} {node['name']:10} {node['address']:14} "
                         f"{node['state'] or '-':10} {daemons}")
    return "\n".join(lines)


def shell_variables(plan):
    """Assignments for a shell's eval."""
    variables = {
        "PINSTEP_MINICLUSTER": plan.directory,
        "SLURM_CONF": inside.SLURM_CONF,
        "MINICLUSTER_PROFILE": plan.profile,
        "MINICLUSTER_PROCTRACK": plan.proctrack,
        "MINICLUSTER_INDEX": plan.index,
        "MINICLUSTER_CONTROLLER": plan.controller.name,
        "MINICLUSTER_CONTROLLER_ADDRESS": plan.controller.address,
        "MINICLUSTER_LOGIN": plan.login.name,
        "MINICLUSTER_LOGIN_ADDRESS": plan.login.address,
        "MINICLUSTER_NODES": " ".join(node.name for node in plan.compute),
        "MINICLUSTER_ADDRESSES": " ".join(node.address for node in plan.compute),
        "MINICLUSTER_USERS": " ".join(user.name for user in plans.USERS),
        "MINICLUSTER_HOME": plan.path("home"),
        "MINICLUSTER_LOG": plan.path("log"),
    }
    return "\n".join(f"{name}={shlex.quote(str(value))}"
                     for name, value in variables.items())


def _ask(node, argv):
    # A controller that hangs must not hang us.
    code, output = process.capture(node, ["timeout", "5", *argv], ENVIRONMENT)
    return output if code == 0 else ""
