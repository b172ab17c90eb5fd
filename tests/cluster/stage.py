"""pinstep installed for the nodes: `make install` into a directory of the suite's own.

The directory is shown in the nodes file by file at the places it was configured for, since the plugin
knows where its programs are.
"""

import os
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]


class Stage:
    def __init__(self, directory):
        self.directory = Path(directory)
        # Relative, as it is by default: another word for the same directory is another set of compiler
        # flags to make, which would build everything again.
        build = os.path.relpath(os.environ.get("PINSTEP_TEST_BUILD", TOP / "build"), TOP)
        subprocess.run(["make", "--no-print-directory", "-C", TOP, "install", f"BUILD={build}",
                        f"DESTDIR={directory}"], check=True, stdout=subprocess.DEVNULL)

    def find(self, name):
        """Path in the nodes of the one installed file of this name."""
        found = list(self.directory.rglob(name))
        assert len(found) == 1, f"`make install` installs {len(found)} files '{name}': see ./configure's summary"
        return "/" + str(found[0].relative_to(self.directory))

    @property
    def plugin(self):
        return self.find("pinstep.so")

    def binds(self):
        return [f"{path}:/{path.relative_to(self.directory)}:ro"
                for path in self.directory.rglob("*") if path.is_file()]
