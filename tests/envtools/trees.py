"""What is compared of two prefixes: ours, and the one that py-rattler's installer makes of the same packages."""

import os
import stat

# Paths that only one of the two has, and why.
ONLY_REFERENCE = {"CACHEDIR.TAG"}              # tells backup programs to leave the prefix out
ONLY_OURS = {
    "conda-meta/frozen",                       # CEP 22: the prefix does not change
    "lib/python3.11/EXTERNALLY-MANAGED",       # PEP 668: the same, for pip
}
OUR_DIRECTORIES = ("conda-meta/pinstep/", "/__pycache__/")   # pinstep's notes; the reference compiles nothing


def paths_of(tree):
    return {os.path.relpath(os.path.join(top, name), tree)
            for top, names, files in os.walk(tree)
            for name in (*files, *(n for n in names if os.path.islink(os.path.join(top, n))))}


def is_ours_alone(path):
    return path in ONLY_OURS or any(part in path for part in OUR_DIRECTORIES)


def same(one, other):
    if one.is_symlink() or other.is_symlink():
        return one.is_symlink() and other.is_symlink() and os.readlink(one) == os.readlink(other)
    executable = [bool(path.stat().st_mode & stat.S_IXUSR) for path in (one, other)]
    return executable[0] == executable[1] and one.read_bytes() == other.read_bytes()


def differences(ours, reference):
    """What is not the same, but for the explained few: (only ours, only the reference's, other content). Records are
    left out: what a record says depends on where it comes from."""
    mine, theirs = paths_of(ours), paths_of(reference)
    records = {path for path in theirs if path.startswith("conda-meta/") and path.endswith(".json")}
    return ({path for path in mine - theirs if not is_ours_alone(path)}, theirs - mine - ONLY_REFERENCE,
            {path for path in theirs & mine - records if not same(ours / path, reference / path)})
