"""Profiles: from the options of `up` to a Plan."""
import os
import time

import cgroups
import config
import plan as plans
import start


class Refused(Exception):
    """Options that make no cluster; the text is for the user."""


def up(options, checkout):
    began = time.monotonic()
    os.makedirs(options.directory, mode=0o700, exist_ok=True)
    lock = start.lock(options.directory)
    index, claim = start.claim_index()
    v1 = cgroups.find(options.directory)
    text = config.plugstack_line(options.plugin, options.plugin_args)
    plan = plans.Plan(
        directory=options.directory, name=f"c{index}", index=index,
        profile=options.profile, controller=plans.controller(index),
        login=plans.login(index, plugstack=text),
        compute=tuple(plans.compute(index, number, plugstack=text)
                      for number in range(options.nodes)),
        cpus=options.cpus, gpus=options.gpus or 0,
        proctrack="cgroup" if v1 else "linuxproc", cgroups=v1,
        slurm_lines=tuple(options.slurm_conf_line),
        binds=((checkout, checkout, "rw"),))
    plans.save(plan)
    start.start(plan, lock, claim)
    print(f"up in {time.monotonic() - began:.2f} s: {options.nodes} nodes, profile {options.profile}, proctrack/{plan.proctrack}")
    return 0
