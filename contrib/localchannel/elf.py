"""Shared libraries: what a file needs, where it finds them, which of them stay the system's."""

import functools
import os
import struct
import subprocess
from pathlib import Path

from debian import Error

DT_NEEDED, DT_STRTAB, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 14, 15, 29
PT_LOAD, PT_DYNAMIC = 1, 2
SHT_DYNSYM = 11


class Object:
    """The dynamic section of a 64-bit little-endian ELF file."""

    def __init__(self, path, needed=(), soname=None, search=()):
        self.path, self.needed, self.soname, self.search = path, needed, soname, search


def read(path):
    """The Object at `path`, or None if it is no ELF file or is linked to nothing."""
    with open(path, "rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:6] != b"\x7fELF\x02\x01":
            return None
        offset, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
        file.seek(offset)
        table = file.read(size * count)
        # type, flags, offset, virtual address, physical address, size in the file, …
        segments = [struct.unpack_from("<IIQQQQ", table, i * size) for i in range(count)]
        dynamic = next((s for s in segments if s[0] == PT_DYNAMIC), None)
        if dynamic is None:
            return None
        file.seek(dynamic[2])
        entries = list(struct.iter_unpack("<qQ", file.read(dynamic[5] & ~15)))
        address = dict(entries)[DT_STRTAB]
        where = next(s for s in segments if s[0] == PT_LOAD and s[3] <= address < s[3] + s[5])
        strings_at = address - where[3] + where[2]

        def string(index):
            file.seek(strings_at + index)
            return file.read(4096).split(b"\0", 1)[0].decode()

        found = {tag: [string(value) for t, value in entries if t == tag]
                 for tag in (DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH)}
    search = ":".join(found[DT_RUNPATH] or found[DT_RPATH])
    return Object(path, found[DT_NEEDED], next(iter(found[DT_SONAME]), None), search.split(":") if search else ())


def objects(tree):
    """Every Object among the regular files of a tree, in a fixed order."""
    for directory, names, files in os.walk(tree):
        names.sort()
        for name in sorted(files):
            path = Path(directory, name)
            if not path.is_symlink() and (found := read(path)):
                yield found


def libraries(tree):
    """{soname: directory relative to the tree} of the shared libraries in a tree."""
    return {o.soname: str(o.path.parent.relative_to(tree)) for o in objects(tree) if o.soname and ".so." in o.path.name}


def set_search_paths(tree, provided):
    """Let the files of a tree find what the channel provides ({soname: directory}), relative to themselves.

    RPATH and not RUNPATH: it also serves the distribution's libraries below ours, and LD_LIBRARY_PATH does not
    put another library in front.
    """
    for found in objects(tree):
        here = found.path.parent.relative_to(tree)
        wanted = sorted({os.path.relpath(provided[name], here) for name in found.needed if name in provided})
        search = ":".join("$ORIGIN" if path == "." else f"$ORIGIN/{path}" for path in wanted)
        change = ["--force-rpath", "--set-rpath", search] if search else ["--remove-rpath"]
        if search or found.search:
            subprocess.run(["patchelf", *change, found.path], check=True)


def symbol_offset(content, name):
    """Where in an executable's bytes the object with that dynamic symbol is."""
    offset, size, count = struct.unpack_from("<Q", content, 40)[0], *struct.unpack_from("<HH", content, 58)
    # name, type, flags, address, offset, size, link, …
    sections = [struct.unpack_from("<IIQQQQI", content, offset + i * size) for i in range(count)]
    symbols = next(s for s in sections if s[1] == SHT_DYNSYM)
    strings = sections[symbols[6]][4]
    for at in range(symbols[4], symbols[4] + symbols[5], 24):
        name_at, _, _, _, address, _ = struct.unpack_from("<IBBHQQ", content, at)
        if content.startswith(name.encode() + b"\0", strings + name_at):
            return file_offset(content, address)
    raise Error(f"no symbol '{name}'")


def file_offset(content, address):
    """Where in an executable's bytes a virtual address is."""
    offset, size, count = struct.unpack_from("<Q", content, 32)[0], *struct.unpack_from("<HH", content, 54)
    for i in range(count):
        kind, _, start, virtual, _, length = struct.unpack_from("<IIQQQQ", content, offset + i * size)
        if kind == PT_LOAD and virtual <= address < virtual + length:
            return address - virtual + start
    raise Error(f"no byte of the file at address {address:#x}")


@functools.cache
def _system():
    """{soname: path} of the dynamic loader's cache."""
    listing = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in listing.splitlines()[1:]:
        name, _, path = line.strip().partition(" => ")
        soname, _, kind = name.partition(" ")
        if "x86-64" in kind or soname.startswith("ld-linux"):
            found.setdefault(soname, path)
    return found


@functools.cache
def _system_object(soname, search):
    for directory in search:
        path = os.path.join(directory, soname)
        if os.path.isfile(path):
            return read(path)
    path = _system().get(soname)
    return path and read(path)


def system_libraries(tree, provided):
    """Sonames of all libraries that files of the tree get from the system, directly or through others."""
    known = set()
    todo = []
    for found in objects(tree):
        for soname in found.needed:
            if soname not in provided and not _system_object(soname, ()):
                raise Error(f"'{soname}', which '{found.path.relative_to(tree)}' needs, is not on this system")
        todo.append(found)
    while todo:
        found = todo.pop()
        search = tuple(path.replace("$ORIGIN", os.path.dirname(os.path.realpath(found.path))) for path in found.search)
        for soname in found.needed:
            if soname not in provided and soname not in known:
                known.add(soname)
                if below := _system_object(soname, search):
                    todo.append(below)
    return sorted(known)
