"""The user's copy of the example."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tell import command, note

NAME = "fashion-mnist"


@dataclass(frozen=True)
class Project:
    inside: str         # its directory in the cluster
    directory: Path     # the same on the host

    @property
    def lock(self):
        return self.directory / "environment-lock.yml"


def copy_example(top, slurm, channel):
    """Files that are there already are the user's: they stay as they are."""
    project = Project(f"/home/alice/{NAME}", slurm.path(f"/home/alice/{NAME}"))
    if not project.directory.exists():
        project.directory.mkdir()
        _give(slurm, project.directory)
    kept = []
    for source in sorted(Path(top, "contrib/examples", NAME).iterdir()):
        text = source.read_text()
        if source.name == "environment.yml":
            text = with_channel(text, channel)
        target = project.directory / source.name
        if not target.exists():
            target.write_text(text)
            _give(slurm, target)
        elif target.read_text() != text:
            kept.append(source.name)
    note(f"example     {project.directory}, in the cluster {project.inside}")
    if kept:
        note(f"            kept as it is there, other than in contrib/examples: {', '.join(kept)}")
    return project


def with_channel(spec, channel):
    """The text of environment.yml, with packages from another channel."""
    if channel == "localchannel":
        return spec
    return re.sub(r"^channels: .*", f"channels: [{channel}, nodefaults]", spec, flags=re.MULTILINE)


def build_outside(slurm, project):
    """What the submission does where the cluster itself reaches the channel."""
    for verb in ("lock", "build"):
        words = ("pinstep", verb, f"{project.inside}/environment.yml")
        command("alice", " ".join(words))
        slurm.run_outside(*words)


def _give(slurm, path):
    owner = slurm.path("/home/alice").stat()
    os.chown(path, owner.st_uid, owner.st_gid)
