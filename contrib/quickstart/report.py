"""What has happened, from the records that are left, and what can be done next."""

import json
import os
import re
import shlex
from dataclasses import dataclass

from tell import Failure, note, say

ENOUGH = 0.84       # what the worker's network reaches on the test images


@dataclass(frozen=True)
class Run:
    """One training run, from its lines in the job's output."""
    ranks: int
    epochs: tuple       # (loss, accuracy, samples per second)

    @property
    def accuracy(self):
        return self.epochs[-1][1]

    def __str__(self):
        loss, accuracy, speed = self.epochs[-1]
        return f"{self.ranks} ranks, after epoch {len(self.epochs)}: loss {loss}, accuracy {accuracy}, {speed:.0f} samples/s"


def runs(output):
    """The job's runs, in order."""
    parts = re.split(r"^(\d+) ranks on ", output, flags=re.MULTILINE)[1:]
    epoch = r"^epoch \d+  loss (\S+)  accuracy (\S+)  (\S+) samples/s$"
    return [Run(int(ranks), tuple(tuple(map(float, found)) for found in re.findall(epoch, text, flags=re.MULTILINE)))
            for ranks, text in zip(parts[::2], parts[1::2])]


def placed(output):
    """Where the ranks of each node were bound, from the maps in the output."""
    maps = re.findall(r"^map of (\S+):\n((?:.*\n)*?)bandwidth ", output, flags=re.MULTILINE)
    for node, table in sorted(maps):
        rows = re.findall(r"^(\d+) .* (\S+)$", table, flags=re.MULTILINE)
        yield f"{node}: " + ", ".join(f"local rank {rank} on cpu {cpus}" for rank, cpus in rows)


def tell(slurm, project, done):
    shown = json.loads(slurm.run("pinstep", "show", "--json", "environment.yml", cwd=project.inside))
    found = runs(done.output)
    if len(found) != 2:
        raise Failure(f"the job has not trained with both pinstep-worker and PyTorch: see {done.log}")
    worker, pytorch = found
    if worker.accuracy < ENOUGH:
        raise Failure(f"the worker's accuracy is {worker.accuracy}, less than {ENOUGH}: see {done.log}")
    if f" in {shown['prefix']}\n" not in done.output:
        raise Failure(f"PyTorch was not the one of {shown['prefix']}: see {done.log}")
    note(f"job            {done.id}, COMPLETED on {done.nodes}")
    note(f"environment    {shown['id']}")
    note(f"prefix         {shown['prefix']}, {len(shown['packages'])} packages")
    for text in placed(done.output):
        note(f"ranks          {text}")
    note(f"pinstep-worker {worker}")
    note(f"PyTorch DDP    {pytorch}, in the same environment")
    note(f"output         {done.log}")
    note(f"Slurm's logs   {slurm.directory}/log")
    note(f"lock           {project.lock}: commit it beside environment.yml,")
    note("               and whoever checks that out gets this environment")


def tell_what_next(slurm, project):
    say("what to type next")
    program, directory, homes = (shlex.quote(os.path.relpath(path))
                                 for path in (slurm.program, slurm.directory, slurm.homes))
    note("in the cluster, as alice:")
    note("  sbatch --env-spec=environment.yml train.sbatch")
    note("  sbatch --env-spec=environment.yml train-torchrun.sbatch")
    note("  srun --env-spec=environment.yml -N2 python -c 'import torch; print(torch.__file__)'")
    note("  pinstep show environment.yml")
    print(f"\nThe cluster stays up. A shell in it:\n"
          f"  {program} shell --dir {directory} --cwd {project.inside}\n"
          f"Take it down ({homes} stays, with the environments):\n"
          f"  {program} down --dir {directory}")
