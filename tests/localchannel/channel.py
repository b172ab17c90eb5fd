"""The local channel and its server, for tests; those of other suites import this as well."""

import os
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PINSTEP_TEST_BUILD", TOP / "build"))
MAKER = TOP / "contrib/localchannel/make-channel"


def made():
    """The directory of the channel, made if need be."""
    directory = BUILD / "localchannel"
    subprocess.run([MAKER, "--output", directory], check=True)
    return directory


class Server:
    """with Server(DIRECTORY, LOG) as server: server.url, server.downloads(). Faults are (PATTERN, WHAT)."""

    def __init__(self, directory, log, *faults):
        self._log = Path(log)
        options = [word for fault in faults for word in ("--fault", *fault)]
        self._process = subprocess.Popen([MAKER.with_name("serve"), directory, "--log", self._log, *options],
                                         stdout=subprocess.PIPE, text=True)
        self.port = int(self._process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.communicate()

    def downloads(self):
        """[(status, bytes, path)] of what was sent to its end, in that order."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [(int(status), int(size), path) for status, size, path in (line.split(" ", 2) for line in lines)]
