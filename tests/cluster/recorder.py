"""Environments as tasks really got them.

    record = cluster.recorder()
    job = cluster.sbatch(f"srun -n2 {record('inner')}")
    job.ok(); record.of("inner")[1]["RANK"]

A task writes the environment its exec was given, byte for byte, to a file named after its rank: nothing
interleaves, no shell start-up file and no quoting comes between.
"""

import shlex


class Recorder:
    def __init__(self, cluster, directory, user):
        self.directory = directory
        self._host = cluster.path(directory)
        cluster.directory_of(self._host, user)

    def argv(self, name, *program):
        """The command that records, and then becomes `program` if there is one. No program is looked up
        in PATH, which is empty under `--export=NONE`; the shell is only there to know the rank. The file appears
        whole, since tests wait for it."""
        return ["/bin/sh", "-c", '/bin/cat /proc/$$/environ >"$0~$$" && /bin/mv "$0~$$" "$0.${SLURM_PROCID:-none}"; '
                '${1+exec "$@"}',
                f"{self.directory}/{name}", *map(str, program)]

    def __call__(self, name, *program):
        """The same as shell text."""
        return shlex.join(self.argv(name, *program))

    def of(self, name):
        """{rank: environment}; None is the rank of a process outside of any step."""
        found = {}
        for path in self._host.glob(f"{name}.*"):
            rank = path.suffix[1:]
            found[None if rank == "none" else int(rank)] = parse(path.read_bytes())
        return found

    def one(self, name):
        """The environment of the only process that recorded under this name."""
        (environment,) = self.of(name).values()
        return environment


def parse(data):
    """{name: value} of NUL-terminated NAME=VALUE."""
    items = (item.partition("=") for item in data.decode(errors="surrogateescape").split("\0") if item)
    return {name: value for name, _, value in items}
