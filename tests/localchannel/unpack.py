"""A plain installer: enough to use the channel's packages without pinstep."""

import json
import os
import shutil
import subprocess
import zipfile

SITE = "lib/python3.11/site-packages"


def member(archive, kind, into):
    """Unpack pkg-* or info-* of a .conda archive into a directory."""
    with zipfile.ZipFile(archive) as file:
        name = next(name for name in file.namelist() if name.startswith(f"{kind}-"))
        subprocess.run(["tar", "--zstd", "-x", "-C", into], input=file.read(name), check=True)


def unpacked(archive, into):
    """A package in a directory of its own, as it is in the archive. Returns it."""
    into.mkdir(parents=True)
    member(archive, "pkg", into)
    member(archive, "info", into)
    return into


def solve(channel, *names):
    """Records of `names` and all they depend on, the highest version of each; version limits are not looked at."""
    records = {}
    for subdir in ("linux-64", "noarch"):
        repodata = json.loads((channel / subdir / "repodata.json").read_text())
        for file, record in sorted(repodata["packages.conda"].items()):
            records[record["name"]] = record | {"file": channel / subdir / file}
    chosen, todo = {}, list(names)
    while todo:
        name = todo.pop().split(" ")[0]
        if name not in chosen:
            chosen[name] = records[name]
            todo += chosen[name]["depends"]
    return list(chosen.values())


def replaced(content, placeholder, prefix, mode):
    if mode == "text":
        return content.replace(placeholder, prefix)
    runs = content.split(b"\0")
    # Each string keeps its length, filled up at its end.
    return b"\0".join(run.replace(placeholder, prefix).ljust(len(run), b"\0") if placeholder in run else run
                      for run in runs)


def _target(path, noarch):
    if noarch == "python":
        for source, target in (("site-packages/", f"{SITE}/"), ("python-scripts/", "bin/")):
            if path.startswith(source):
                return target + path.removeprefix(source)
    return path


def _entry_point(prefix, line):
    command, function = line.split(" = ")
    module, name = function.split(":")
    script = prefix / "bin" / command
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!{prefix}/bin/python3.11\nimport sys\nfrom {module} import {name.partition('.')[0]}\n"
                      f"sys.exit({name}())\n")
    script.chmod(0o755)


def link(package, prefix):
    """Put an unpacked package into a prefix."""
    info = package / "info"
    for entry in json.loads((info / "paths.json").read_text())["paths"]:
        noarch = json.loads((info / "index.json").read_text()).get("noarch")
        source, target = package / entry["_path"], prefix / _target(entry["_path"], noarch)
        target.parent.mkdir(parents=True, exist_ok=True)
        if entry["path_type"] == "directory":
            target.mkdir(exist_ok=True)
        elif entry["path_type"] == "softlink":
            target.symlink_to(os.readlink(source))
        elif placeholder := entry.get("prefix_placeholder"):
            target.write_bytes(replaced(source.read_bytes(), placeholder.encode(), str(prefix).encode(),
                                        entry["file_mode"]))
            shutil.copymode(source, target)
        else:
            os.link(source, target)
    if (info / "link.json").exists():
        for line in json.loads((info / "link.json").read_text())["noarch"].get("entry_points", []):
            _entry_point(prefix, line)


def install(channel, prefix, cache, *names):
    """A prefix with `names` and what they depend on. Returns their records."""
    prefix.mkdir()
    records = solve(channel, *names)
    for record in records:
        package = cache / record["file"].stem
        if not package.exists():
            unpacked(record["file"], package)
        link(package, prefix)
    return records
