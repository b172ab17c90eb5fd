"""A conda package: its facts, and writing it as a .conda archive that is the same every time."""

import dataclasses
import hashlib
import io
import json
import os
import subprocess
import tarfile
import zipfile
from pathlib import Path

# As long as conda-build's, which is the longest prefix that can be put in its place.
PLACEHOLDER = ("/opt/localchannel/_h_env" + "_placehold" * 24)[:255]
# All times in archives, and of the packages: seconds since 1970. That it is before conda packages of today
# matters to nobody; that it never changes makes archives reproducible.
TIME = 1_678_752_000
ZSTD = ("zstd", "-q", "-c", "--single-thread", "-6")


@dataclasses.dataclass
class Package:
    """What info/index.json and its neighbours say, apart from files."""

    name: str
    version: str
    build: str
    summary: str
    license: str
    subdir: str = "linux-64"
    noarch: str | None = None                   # python or generic
    depends: tuple = ()
    entry_points: tuple = ()                    # of a noarch python package: "command = module:function"
    site_packages: str | None = None            # of a python interpreter: its directory, CEP 17
    debian: tuple = ()                          # names of Debian packages that it is made of
    system_libraries: tuple = ()                # sonames that it needs from the system

    @property
    def stem(self):
        return f"{self.name}-{self.version}-{self.build}"

    def index(self):
        index = {"name": self.name, "version": self.version, "build": self.build, "build_number": 0,
                 "depends": list(self.depends), "constrains": [], "license": self.license,
                 "subdir": self.subdir, "timestamp": TIME * 1000,
                 "arch": None if self.noarch else "x86_64", "platform": None if self.noarch else "linux"}
        if self.noarch:
            index["noarch"] = self.noarch
        if self.site_packages:
            index["python_site_packages_path"] = self.site_packages
        return index

    def about(self, versions):
        return {"summary": self.summary, "license": self.license,
                "extra": {"debian_packages": {name: versions[name] for name in self.debian},
                          "system_libraries": list(self.system_libraries)}}


def _json(value):
    return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode()


def _files(tree):
    """Paths of all files and links, and of directories with nothing in them, in a fixed order."""
    found = []
    for directory, names, files in os.walk(tree):
        names_of_links = [name for name in names if Path(directory, name).is_symlink()]
        if not names and not files:
            found.append(Path(directory))
        found += [Path(directory, name) for name in files + names_of_links]
    return sorted(found)


def _path_entry(tree, path):
    entry = {"_path": str(path.relative_to(tree))}
    if path.is_symlink():
        entry["path_type"] = "softlink"
    elif path.is_dir():
        return entry | {"path_type": "directory"}
    else:
        entry["path_type"] = "hardlink"
    # Of a link the target's, as conda-build has it; nothing of a link to a directory.
    content = path.read_bytes() if path.is_file() else b""
    entry["sha256"] = hashlib.sha256(content).hexdigest()
    entry["size_in_bytes"] = len(content)
    if PLACEHOLDER.encode() in content and not path.is_symlink():
        entry["prefix_placeholder"] = PLACEHOLDER
        entry["file_mode"] = "binary" if b"\0" in content else "text"
    return entry


def _info(package, tree, licences, versions):
    """{name: content} of the info directory."""
    paths = [_path_entry(tree, path) for path in _files(tree)]
    info = {"index.json": _json(package.index()),
            "about.json": _json(package.about(versions)),
            "paths.json": _json({"paths": paths, "paths_version": 1}),
            "files": "".join(f"{p['_path']}\n" for p in paths if p["path_type"] != "directory").encode(),
            "system-libraries": "".join(f"{name}\n" for name in package.system_libraries).encode()}
    if prefixed := [p for p in paths if "file_mode" in p]:
        info["has_prefix"] = "".join(f"{PLACEHOLDER} {p['file_mode']} {p['_path']}\n" for p in prefixed).encode()
    if package.noarch:
        noarch = {"type": package.noarch}
        if package.entry_points:
            noarch["entry_points"] = list(package.entry_points)
        info["link.json"] = _json({"noarch": noarch, "package_metadata_version": 1})
    for path in sorted(licences.glob("*")):
        info[f"licenses/{path.name}"] = path.read_bytes()
    return info


def _member(name, mode, size=0, kind=tarfile.REGTYPE):
    member = tarfile.TarInfo(name)
    member.mode, member.mtime, member.size, member.type = mode, TIME, size, kind
    return member


def _add_file(tar, tree, path):
    name = str(path.relative_to(tree))
    if path.is_symlink():
        member = _member(name, 0o777, kind=tarfile.SYMTYPE)
        member.linkname = os.readlink(path)
        tar.addfile(member)
    elif path.is_dir():
        tar.addfile(_member(name, 0o755, kind=tarfile.DIRTYPE))
    else:
        status = path.stat()
        with path.open("rb") as file:
            tar.addfile(_member(name, 0o755 if status.st_mode & 0o100 else 0o644, status.st_size), file)


def _compressed_tar(target, fill):
    """A .tar.zst at `target` with what fill(tar) adds. One thread, or its bytes would depend on the machine."""
    with target.open("wb") as out:
        zstd = subprocess.Popen(ZSTD, stdin=subprocess.PIPE, stdout=out)
        with zstd.stdin, tarfile.open(fileobj=zstd.stdin, mode="w|", format=tarfile.PAX_FORMAT) as tar:
            fill(tar)
        if zstd.wait():
            raise RuntimeError(f"zstd exited with {zstd.returncode}")


def write(package, tree, licences, versions, directory):
    """Write the .conda of the files in `tree` into directory/SUBDIR. Returns its file name and repodata record.

    `licences` is a directory of texts for info/licenses, `versions` are those of Debian's packages.
    """
    target = directory / package.subdir / f"{package.stem}.conda"
    parts = [target.with_name(f"{kind}-{package.stem}.tar.zst") for kind in ("pkg", "info")]

    def add_files(tar):
        for path in _files(tree):
            _add_file(tar, tree, path)

    def add_info(tar):
        for name, content in sorted(_info(package, tree, licences, versions).items()):
            tar.addfile(_member(f"info/{name}", 0o644, len(content)), io.BytesIO(content))

    _compressed_tar(parts[0], add_files)
    _compressed_tar(parts[1], add_info)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo("metadata.json"), b'{"conda_pkg_format_version": 2}')
        for part in parts:
            archive.writestr(zipfile.ZipInfo(part.name), part.read_bytes())
            part.unlink()

    content = target.read_bytes()
    return target.name, package.index() | {"md5": hashlib.md5(content).hexdigest(),
                                           "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
