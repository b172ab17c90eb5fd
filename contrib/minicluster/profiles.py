"""Profiles: from the options of `up` to a Plan.

Contract: `make_plan` is pure: what it needs to know about the machine comes in
as a Machine value. It raises Refused with a text for the user. A text that
begins with `no cgroup v1` or `no second Slurm` is a reason to skip a test.
"""

import os
from dataclasses import dataclass, replace

import config
import plan as plans


class Refused(Exception):
    """Options that make no cluster; the text is for the user."""


@dataclass(frozen=True)
class Profile:
    text: str
    nodes: int = 2
    gpus: int = 0
    # Whether Slurm tracks processes by cgroup: "yes", "no", or "try" for
    # where the machine offers it.
    cgroup: str = "try"
    constrain: bool = False
    task_plugin: str = "task/affinity"
    lines: tuple = ()
    plugin: bool = True
    mixed: bool = False
    series: bool = False


PROFILES = {
    "plain": Profile("what most sites have; proctrack/cgroup where the cgroup v1 "
                     "controllers are mounted, else linuxproc"),
    "linuxproc": Profile("proctrack/linuxproc, no cgroups", cgroup="no"),
    "cgroup": Profile("device and core constraint; GPUs with distinct device numbers",
                      gpus=4, cgroup="yes", constrain=True,
                      task_plugin="task/affinity,task/cgroup"),
    # Outside the ephemeral range, or a reserved port may be taken by anybody.
    "ports": Profile("MpiParams=ports=20000-20999: each step gets reserved ports",
                     lines=("MpiParams=ports=20000-20999",)),
    "mixed": Profile("the last node without the plugin, the one before it with "
                     "--plugin-other", nodes=3, mixed=True),
    "bare": Profile("no plugin anywhere", plugin=False),
    "series": Profile("a second Slurm, from --slurm-root", cgroup="no",
                      task_plugin="task/none", series=True),
}


@dataclass(frozen=True)
class Machine:
    """What of the machine decides about a plan."""
    cgroups: tuple          # see cgroups.find
    gpu_devices: tuple      # see devices.find
    checkout: str


def make_plan(options, index, machine):
    profile = PROFILES[options.profile]
    count = profile.nodes if options.nodes is None else options.nodes
    _refuse_unless(1 <= count <= plans.MAX_NODES,
                   f"--nodes is from 1 to {plans.MAX_NODES}")
    _refuse_unless(options.cpus >= 1, "--cpus is 1 or more")
    cgroups = _cgroups(profile, machine)
    gpus = profile.gpus if options.gpus is None else options.gpus
    _refuse_unless(0 <= gpus <= len(machine.gpu_devices),
                   f"--gpus is from 0 to {len(machine.gpu_devices)}: this machine has no "
                   "more harmless devices to stand in for GPUs")
    plugstacks = _plugstacks(options, profile, count)
    topologies = _per_node(options.topology, count, "--topology", os.path.realpath)
    return plans.Plan(
        directory=options.directory,
        index=index,
        profile=options.profile,
        controller=replace(plans.controller(index), plugstack=plugstacks["ctl"]),
        login=replace(plans.login(index), plugstack=plugstacks["login"]),
        compute=tuple(
            replace(plans.compute(index, number), plugstack=plugstacks[f"n{number}"],
                    topology=topologies.get(f"n{number}", ""))
            for number in range(count)),
        checkout=machine.checkout,
        root=_root(options, profile),
        cpus=options.cpus,
        gpus=gpus,
        gpu_prefix=options.gpu_device,
        gpu_devices=machine.gpu_devices[:gpus],
        proctrack="cgroup" if cgroups else "linuxproc",
        task_plugin=profile.task_plugin,
        constrain=profile.constrain,
        cgroups=cgroups,
        slurm_lines=profile.lines + tuple(options.slurm_conf_line),
        binds=tuple(parse_bind(text) for text in options.bind))


def _refuse_unless(condition, text):
    if not condition:
        raise Refused(text)


def _cgroups(profile, machine):
    if profile.cgroup == "no":
        return ()
    _refuse_unless(machine.cgroups or profile.cgroup == "try",
                   "no cgroup v1: the freezer, cpuset and devices controllers "
                   "are not mounted as version 1, or cannot be written")
    return machine.cgroups


def _root(options, profile):
    if not profile.series:
        _refuse_unless(not options.slurm_root, "--slurm-root is for the profile 'series'")
        return "/"
    _refuse_unless(options.slurm_root, "the profile 'series' needs --slurm-root=DIR\n"
                   "hint: make-slurm-root DIR makes one")
    root = os.path.realpath(options.slurm_root)
    _refuse_unless(os.path.exists(root + "/usr/sbin/slurmctld"),
                   f"no second Slurm in '{root}'\nhint: make-slurm-root {root}")
    return root


def _plugstacks(options, profile, count):
    """Short name → text of plugstack.conf."""
    _refuse_unless(profile.plugin or not options.plugin,
                   f"the profile '{options.profile}' takes no --plugin")
    _refuse_unless(profile.mixed == bool(options.plugin_other),
                   "the profile 'mixed' needs --plugin-other, and no other takes it")
    text = config.plugstack_line(options.plugin, options.plugin_args, options.required)
    names = ["ctl", "login"] + [f"n{number}" for number in range(count)]
    plugstacks = dict.fromkeys(names, text)
    if profile.mixed:
        _refuse_unless(count >= 3, "the profile 'mixed' needs 3 nodes or more")
        plugstacks[f"n{count - 1}"] = ""
        plugstacks[f"n{count - 2}"] = config.plugstack_line(
            options.plugin_other, options.plugin_args, options.required)
    for text in options.set_plugstack:
        name, equals, line = text.partition("=")
        _refuse_unless(equals and name in plugstacks,
                       f"--set-plugstack is NODE=TEXT with one of {', '.join(plugstacks)}")
        plugstacks[name] = line + "\n" if line else ""
    return plugstacks


def _per_node(values, count, option, convert):
    """['FILE', 'n1=FILE'] → {short name: converted file}; a bare FILE is for
    every compute node."""
    found = {}
    names = [f"n{number}" for number in range(count)]
    for value in values:
        name, equals, file = value.partition("=")
        if not equals:
            found.update(dict.fromkeys(names, convert(value)))
            continue
        _refuse_unless(name in names, f"{option}: no compute node '{name}'")
        found[name] = convert(file)
    for file in found.values():
        _refuse_unless(os.path.isfile(file), f"{option}: no file '{file}'")
    return found


def parse_bind(text):
    """SRC:DST[:ro] → (host path, node path, mode)."""
    parts = text.split(":")
    mode = parts.pop() if len(parts) == 3 else "rw"
    _refuse_unless(len(parts) == 2 and mode in ("rw", "ro") and
                   os.path.isabs(parts[1]),
                   f"--bind is SRC:DST or SRC:DST:ro with an absolute DST, not '{text}'")
    source = os.path.realpath(parts[0])
    _refuse_unless(os.path.exists(source), f"--bind: no '{source}'")
    return (source, os.path.normpath(parts[1]), mode)
