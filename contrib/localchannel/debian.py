"""What dpkg knows: versions of packages, and their files, each as the package shipped it."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path


class Error(Exception):
    """A cause, and perhaps a hint on further lines."""


def versions(packages):
    """{package: version} of `packages`, all of which must be installed."""
    found = {}
    query = subprocess.run(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status} ${Version}\n", *packages],
                           capture_output=True, text=True)
    for line in query.stdout.splitlines():
        name, status, version = line.split(" ")
        if status == "installed":
            found[name] = version
    absent = [name for name in packages if name not in found]
    if absent:
        raise Error(f"not installed: {' '.join(absent)}\nhint: apt-get install --no-install-recommends "
                    + " ".join(absent))
    return found


def upstream(version):
    """The upstream part of a Debian version, without what a repackaged source adds: 1:1.13.1+dfsg-4 is 1.13.1."""
    return re.fullmatch(r"(?:\d+:)?([^-+]+).*", version)[1]


def _output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _digests(package):
    """{path: md5} of the package's regular files; dpkg leaves configuration files out."""
    path = _output("dpkg-query", "--control-path", package, "md5sums").strip()
    lines = (line.split("  ", 1) for line in Path(path).read_text().splitlines())
    return {"/" + name: digest for digest, name in lines}


def copy(package, tree, place):
    """Copy files of an installed package into `tree`.

    place(path) says where a file goes, relative to the tree, or None. A file that is no longer as the package
    shipped it is an error: the channel would depend on what somebody did to this machine.
    """
    digests = _digests(package)
    for path in map(Path, _output("dpkg-query", "-L", package).splitlines()):
        target = place(str(path)) if path.is_symlink() or path.is_file() else None
        if target is None:
            continue
        target = tree / target
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.is_symlink():
            target.symlink_to(path.readlink())
            continue
        shutil.copy(path, target)
        if hashlib.md5(target.read_bytes()).hexdigest() != digests.get(str(path)):
            raise Error(f"'{path}' is not what package '{package}' shipped\n"
                        f"hint: apt-get install --reinstall {package}")


def licence(package, tree):
    """Debian's copyright file, which names authors and licences; absent where documentation is not installed."""
    path = Path("/usr/share/doc", package, "copyright")
    if path.is_file():
        tree.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, tree / f"{package}.copyright")
