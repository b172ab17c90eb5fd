"""Building environments as an ordinary user: pinstep does not build as root, and the tests may run as root.

The packages are those of the local channel (contrib/localchannel) and, where they are there, real ones.
"""

import json
import os
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests/localchannel"))

from channel import BUILD, Server, made     # noqa: E402,F401

PINSTEP = BUILD / "bin/pinstep"
STAGES = ["fetch", "extract", "link", "compile", "record", "publish"]
NOBODY = 65534

# Python with something to compile, files with the prefix in text and binary, activation scripts.
SMALL = ("python", "greet-1.0", "show-prefix", "prefix-text", "activation-demo")


def _roomy():
    """Where trees of thousands of files are made and removed quickly; None: the usual place."""
    memory = os.statvfs("/dev/shm") if os.path.isdir("/dev/shm") else None
    roomy = memory and memory.f_bavail * memory.f_frsize > 4 << 30 and not memory.f_flag & os.ST_NOEXEC
    return "/dev/shm" if roomy else None


class Builder:
    """with Builder() as alice: somebody with a home that others can look into."""

    def __init__(self, user=NOBODY, on_disk=False):
        self.user = user
        self.on_disk = on_disk

    def __enter__(self):
        self.home = Path(tempfile.mkdtemp(prefix="pinstep-envtools-", dir=None if self.on_disk else _roomy()))
        self.home.chmod(0o755)
        self.variables = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), "LC_ALL": "C.UTF-8"}
        if os.geteuid() == 0:
            os.chown(self.home, self.user, NOBODY)
        return self

    def __exit__(self, *_):
        remove(self.home)

    def command(self, *words):
        rights = ["setpriv", "--reuid", str(self.user), "--regid", str(NOBODY), "--clear-groups"]
        return [*(rights if os.geteuid() == 0 else []), *map(str, words)]

    def start(self, *words, elsewhere=None, **more):
        """`elsewhere`: the name of another machine, as far as host name and process ids tell; takes root."""
        variables = {**self.variables, **more.pop("variables", {})}
        machine = ["unshare", "--uts", "--pid", "--fork", "--kill-child", "sh", "-c",
                   'hostname "$0" && exec "$@"', elsewhere] if elsewhere else []
        return subprocess.Popen([*machine, *self.command(*words)], cwd=self.home, env=variables, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                                **more)

    def run(self, *words, **variables):
        process = self.start(*words, variables=variables)
        output, errors = process.communicate()
        return subprocess.CompletedProcess(words, process.returncode, output, errors)

    def __call__(self, *arguments, **variables):
        return self.run(PINSTEP, *arguments, **variables)

    def write(self, name, text):
        path = self.home / name
        made_now = [above for above in path.parents if not above.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if os.geteuid() == 0:
            for each in (path, *made_now):
                os.chown(each, self.user, NOBODY)
        return path

    def build(self, *arguments, **variables):
        """What `pinstep build --json` says of a build that succeeds."""
        done = self("build", "--json", *arguments, **variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


def chosen(channel, names):
    """[(path in the channel, sha256)] of the packages whose file name begins with one of the names."""
    found = []
    for subdir in ("linux-64", "noarch"):
        repodata = json.loads((channel / subdir / "repodata.json").read_text())
        for packages in (repodata["packages"], repodata["packages.conda"]):
            found += [(f"{subdir}/{file}", record["sha256"]) for file, record in packages.items()
                      if names is None or any(re.match(re.escape(name) + r"-\d|" + re.escape(name) + "-", file)
                                              for name in names)]
    return sorted(found)


def explicit(url, packages):
    """The text of an explicit lock."""
    return "# platform: linux-64\n@EXPLICIT\n" + "".join(f"{url}/{path}#sha256:{digest}\n" for path, digest in packages)


def visible(store):
    """Names under e/ that anybody would take for environments."""
    directory = Path(store) / "e"
    return sorted(name.name for name in directory.iterdir() if not name.name.startswith(".")) \
        if directory.exists() else []


def leftovers(store):
    """Stages and leases that are still there."""
    return [path for part in ("e", "b") if (Path(store) / part).exists()
            for path in (Path(store) / part).iterdir() if part == "b" or path.name.startswith(".")]


def remove(path):
    """A tree with sealed directories. Modes of files stay: the cache may have the same files."""
    subprocess.run(["find", path, "-type", "d", "-exec", "chmod", "u+rwx", "{}", "+"], check=True)
    shutil.rmtree(path)


def remove_prefixes(store):
    for path in (Path(store) / "e").iterdir():
        remove(path)


# ---- kills

def stage_lengths(builder, store, lock):
    """Seconds that each stage of a build takes; the store is fresh."""
    began, process = [], builder.start(PINSTEP, "build", "-v", f"--store={store}", lock)
    for line in process.stderr:
        if "stage:" in line:
            began.append(time.monotonic())
    assert process.wait() == 0
    ends = [*began[1:], time.monotonic()]
    return {stage: end - begin for stage, begin, end in zip(STAGES, began, ends)}


def _ready(stream):
    """What can be read without waiting."""
    ready = select.select([stream], [], [], 0)[0]
    return os.read(stream.fileno(), 1 << 16).decode() if ready else ""


def kill_in(builder, store, lock, stage, delay):
    """Starts a build and kills all of it `delay` seconds after the stage began. The stage that was hit, or None
    where it had published already."""
    process = builder.start(PINSTEP, "build", "-v", f"--store={store}", lock)
    seen, when = "", None
    while process.poll() is None and (when is None or time.monotonic() < when):
        seen += _ready(process.stderr)
        if when is None and f"stage: {stage}" in seen:
            when = time.monotonic() + delay
        time.sleep(0.001)
    if process.poll() is None:
        os.killpg(process.pid, 9)
    process.wait()
    seen += process.stderr.read()
    for stream in (process.stdout, process.stderr):
        stream.close()
    hit = re.findall(r"stage: (\w+)", seen)
    return None if visible(store) or not hit else hit[-1]


def kill_builds(builder, lock, wanted, pick, stages=STAGES):
    """Kills builds until each of the stages was hit `wanted` times, and looks at the store after each. `pick(a, b)`
    gives a number between them. Returns {stage: hits}. To hit publish the builder is on disk: in memory it takes no
    time."""
    lengths = stage_lengths(builder, builder.home / "measured", lock)
    right = builder.build(f"--store={builder.home / 'measured'}", lock)
    hits = dict.fromkeys(STAGES, 0)
    # Where a stage is shorter than was measured the moments come closer to its beginning with each try.
    for number in range(wanted * len(stages) * 4 + 20):
        stage = min(stages, key=lambda name: hits[name])
        if hits[stage] >= wanted:
            break
        # What is in the cache is neither fetched nor unpacked again.
        store = builder.home / (f"fresh-{number}" if stage in ("fetch", "extract") else "warm")
        if stage not in ("fetch", "extract") and not store.exists():
            builder.build(f"--store={store}", lock)
            remove_prefixes(store)
        hit = kill_in(builder, store, lock, stage, pick(0, lengths[stage]))
        print(f"kill {number}: meant {stage}, hit {hit or 'nothing'}", flush=True)
        if hit:
            hits[hit] += 1
            assert visible(store) == []
        if hit is None or STAGES.index(hit) > STAGES.index(stage):
            lengths[stage] *= 0.7       # it was too late: the stage is shorter than it was when measured
        after = builder.build(f"--store={store}", lock)
        assert after["tree_hash"] == right["tree_hash"] and len(visible(store)) == 1
        # After it was published a lease may be left, of a process that is gone.
        assert hit is None or (after["built"] and leftovers(store) == [])
        remove_prefixes(store)
        if store.name != "warm":
            remove(store)
    return hits
