"""A submitted job: wait for its end, then look at what it left."""

import re
import time

# States in which a job is still to do something.
UNFINISHED = ("PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "REQUEUED", "SUSPENDED", "STAGE_OUT")


class Job:
    """`id` is also the first id of an array or of a het job. `output` is of sbatch's default file,
    slurm-ID.out in the home directory."""

    def __init__(self, cluster, number, home):
        self.cluster = cluster
        self.id = number
        self.home = home

    def __str__(self):
        return f"job {self.id}: {self.show()}\n{self.output}"

    def show(self):
        return self.cluster.console.ask("scontrol", "--oneliner", "show", "job", str(self.id))

    def states(self):
        """Of each part of the job: one, or as many as the array or het job has."""
        return re.findall(r"\bJobState=(\w+)", self.show())

    def wait(self, seconds=60):
        """Waits until every part has ended; returns the job."""
        deadline = time.monotonic() + seconds
        while any(state in UNFINISHED for state in self.states() or ["PENDING"]):
            if time.monotonic() > deadline:
                self.cluster.console.ask("scancel", str(self.id))
                raise AssertionError(f"not finished after {seconds} s: {self}")
            time.sleep(0.05)
        return self

    def ok(self, seconds=60):
        """The job, if it ends with success."""
        assert set(self.wait(seconds).states()) == {"COMPLETED"}, str(self)
        return self

    @property
    def exit_code(self):
        """As scontrol has it: CODE:SIGNAL."""
        return re.search(r"\bExitCode=(\S+)", self.show()).group(1)

    @property
    def output(self):
        return self.output_of(self.id)

    @property
    def lines(self):
        """The output without what Slurm says itself, which depends on how busy the cluster is."""
        return [line for line in self.output.splitlines() if not re.match("srun: |slurmstepd-", line)]

    def output_of(self, name):
        """Of an array's task: output_of("12_3")."""
        try:
            return (self.home / f"slurm-{name}.out").read_text(errors="replace")
        except FileNotFoundError:
            return ""
