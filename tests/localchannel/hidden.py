"""Running programs where the system's own python, torch and BLAS are gone, and telling what they use of it."""

import os
import re
import subprocess

# Replaces what the packages came from by nothing, in a mount namespace of its own.
HIDE = r"""
for directory in /usr/lib/python3 /usr/lib/python3.* /usr/share/python3 /usr/local/lib/python3* \
    /usr/lib/x86_64-linux-gnu/openblas-*; do
    if [ -d "$directory" ]; then mount -t tmpfs -o mode=0755 none "$directory"; fi
done
for file in /usr/bin/python3.11 /usr/lib/x86_64-linux-gnu/libtorch* /usr/lib/x86_64-linux-gnu/libc10* \
    /usr/lib/x86_64-linux-gnu/libshm* /usr/lib/x86_64-linux-gnu/libcaffe2* /usr/lib/x86_64-linux-gnu/libopenblas* \
    /usr/lib/x86_64-linux-gnu/libblas* /usr/lib/x86_64-linux-gnu/liblapack*; do
    if [ -f "$file" ]; then mount --bind /dev/null "$file"; fi
done
exec "$@"
"""


def run(*command, cwd="/", **variables):
    return subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True,
                          env={"PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nonexistent", **variables})


def hidden(*command, **settings):
    return run("unshare", "--mount", "sh", "-ec", HIDE, "hide", *command,
               **{"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **settings})


def soname(path):
    dynamic = subprocess.run(["readelf", "-d", path], capture_output=True, text=True).stdout
    found = re.search(r"Library soname: \[(.*)\]", dynamic)
    return found[1] if found else os.path.basename(path)


def is_elf(path):
    with path.open("rb") as file:
        return not path.is_symlink() and file.read(4) == b"\x7fELF"


def declared(cache):
    return {line for file in cache.glob("*/info/system-libraries") for line in file.read_text().splitlines()}
