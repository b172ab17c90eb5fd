"""What the runner prints: a line per suite, a live line on a terminal, failures with their output."""

import os
import sys

TEXT_LIMIT = 60     # lines of one failure; all of it is in the log


class Display:
    def __init__(self, names, verbose):
        self.width = max(map(len, names), default=0)
        self.verbose = verbose
        self.terminal = sys.stdout.isatty()
        self.log = None
        self.shown = 0

    def begin(self, suite, log):
        self.suite, self.log, self.shown = suite, log, 0

    def watch(self, seconds):
        """The suite is running: show where it is."""
        if self.verbose:
            self._copy()
        elif self.terminal:
            columns = os.get_terminal_size(sys.stdout.fileno()).columns
            text = f"{self.suite.name:{self.width}}  {seconds:6.1f} s  {self._last_line()}"
            print(f"\r\033[K{text[:columns - 1]}", end="", flush=True)

    def waiting(self):
        print(f"{self.suite.name}: waiting for another run of it in this build directory", flush=True)

    def end(self, outcome, failed):
        if self.verbose:
            self._copy()
        elif self.terminal:
            print("\r\033[K", end="")
        print(f"{outcome.suite.name:{self.width}}  {outcome.seconds:6.1f} s  {outcome.passed:4} passed"
              f"  {failed:3} failed  {outcome.skipped:3} skipped"
              + "".join(f"  ({note})" for note in outcome.notes))
        for case in outcome.failures:
            print(f"  FAILED {case.name}" + (" (outside its own body)" if case.outcome == "error" else ""))
            lines = case.text.splitlines()
            for line in lines[:TEXT_LIMIT]:
                print(f"    {line}")
            if len(lines) > TEXT_LIMIT:
                print(f"    ... {len(lines) - TEXT_LIMIT} lines more in {os.path.relpath(self.log)}")
        for problem in outcome.problems:
            print(f"  FAILED {outcome.suite.name}: {problem}")
        if failed:
            print(f"  log: {os.path.relpath(self.log)}")
        sys.stdout.flush()

    def _copy(self):
        with open(self.log, "rb") as file:
            file.seek(self.shown)
            data = file.read()
        self.shown += len(data)
        sys.stdout.buffer.write(data)
        sys.stdout.flush()

    def _last_line(self):
        try:
            with open(self.log, "rb") as file:
                file.seek(max(0, os.path.getsize(self.log) - 500))
                lines = file.read().decode(errors="replace").split("\n")
        except FileNotFoundError:
            return ""
        return next((line.strip() for line in reversed(lines) if line.strip()), "")
