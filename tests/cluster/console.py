"""One long-lived shell in a node, for short questions that are asked often.

A `minicluster exec` costs 35 ms, most of it Python's start: too much for polling and for a look at all
nodes after every test.
"""

import shlex
import subprocess


class Console:
    END = "-- end of answer --"

    def __init__(self, enter):
        """`enter`: the command that runs a program in the node."""
        self._shell = subprocess.Popen([*enter, "/bin/sh"], text=True, stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)

    def ask(self, *argv):
        """What the command prints, errors included."""
        self._shell.stdin.write(f"{shlex.join(argv)} </dev/null 2>&1; echo; echo '{self.END}'\n")
        self._shell.stdin.flush()
        lines = []
        while (line := self._shell.stdout.readline()) != self.END + "\n":
            assert line, f"the console has ended: {shlex.join(argv)}\n{''.join(lines)}"
            lines.append(line)
        return "".join(lines).removesuffix("\n")

    def close(self):
        self._shell.stdin.close()
        self._shell.wait(10)
        self._shell.stdout.close()
