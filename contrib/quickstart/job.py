"""Submits a job as the user would and shows its output while it runs."""

import os
import pty
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass

from tell import Failure, command, note

END = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE")


@dataclass(frozen=True)
class Done:
    id: str
    log: object         # path on the host
    nodes: str

    @property
    def output(self):
        return self.log.read_text(errors="replace")


def run(slurm, project, script, *options):
    """The job, when it has COMPLETED."""
    submission = ["sbatch", "--env-spec=environment.yml", *options, script]
    command("alice", f"cd {project.inside}")
    command("alice", " ".join(submission))
    number = _submit(slurm, project, [submission[0], "--parsable", *submission[1:]])
    log = project.directory / f"slurm-{number}.out"
    note(f"job {number}: {project.inside}/{log.name}")
    state = _follow(slurm, number, log)
    if state["JobState"] != "COMPLETED":
        raise Failure(f"job {number} has ended as {state['JobState']}, not COMPLETED: see {log}")
    return Done(number, log, state["NodeList"])


def _submit(slurm, project, submission):
    """The job's number. To pinstep a terminal means that somebody is there who wants the lock beside the spec."""
    ours, its = pty.openpty()
    # Does not keep quickstart from ending: whatever still runs may hold the terminal's other end.
    messages = threading.Thread(target=_show_messages, args=(ours,), daemon=True)
    messages.start()
    with subprocess.Popen(slurm.argv(*submission, cwd=project.inside), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=its, text=True, start_new_session=True) as submitting:
        os.close(its)
        try:
            number, _ = submitting.communicate()
        except KeyboardInterrupt:
            _interrupt(submitting)
            raise
    messages.join()
    os.close(ours)
    if submitting.returncode:
        raise Failure("the submission failed")
    return number.strip().partition(";")[0]


def _interrupt(leader):
    """Ends what the submission has started too: its build, as ^C at a terminal of its own would."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number, patience in ((signal.SIGINT, 3), (signal.SIGKILL, 3)):
        try:
            os.killpg(leader.pid, number)
            leader.wait(patience)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            pass


def _show_messages(terminal):
    """Whole lines; what a terminal shows and wipes out again is shown on a terminal only."""
    shows_all = os.isatty(2)
    rest = b""
    while part := _read(terminal):
        if shows_all:
            os.write(2, part)
            continue
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            if text := re.split(rb"\r(?!$)|\033\[K", line)[-1].strip():
                os.write(2, b"   " + text + b"\n")


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:         # nobody has the other end any more
        return b""


def _follow(slurm, number, log):
    """Prints the output as it comes; returns what Slurm says of the job at its end."""
    shown = 0
    while True:
        state = _state(slurm, number)
        if log.exists():
            with open(log, "rb") as file:
                file.seek(shown)
                text = file.read()
            shown += len(text)
            print("".join(f"   | {line}" for line in text.decode(errors="replace").splitlines(True)), end="", flush=True)
        if state["JobState"] in END:
            return state
        time.sleep(0.5)


def _state(slurm, number):
    shown = slurm.run("scontrol", "--oneliner", "show", "job", number)
    return dict(re.findall(r"(\w+)=(\S*)", shown))
