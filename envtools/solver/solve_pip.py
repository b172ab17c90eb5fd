"""The pip half of a lock, resolved by uv against what the conda half provides: CONTRACT.md beside this file.

What conda provides is shown to uv as a wheel that has a name and a version and nothing else, and is left out
of the answer: its version is held against everybody's requirements, its own are not followed (conda has
met them, under its names), and no index is asked for it.
"""

import base64
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import zipfile

from packaging import tags, utils, version

import contract
from contract import Refusal

try:
    import tomllib
except ImportError:     # python 3.10
    import tomli as tomllib

UV = os.path.join(os.path.dirname(sys.executable), "uv")

# The C libraries that uv knows platforms of: the newest that is not newer than ours.
MANYLINUX = (17, 28, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40)

# What pip's configuration may say, and what uv calls it where it reads no such file.
PIP_SETTINGS = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "find-links": "UV_FIND_LINKS",
                "no-index": "UV_NO_INDEX", "cert": "SSL_CERT_FILE"}
UV_OTHER_NAMES = {"UV_DEFAULT_INDEX": "UV_INDEX_URL", "UV_INDEX": "UV_EXTRA_INDEX_URL"}

OPTIONS_KEPT = ("-i", "--index-url", "--extra-index-url", "--no-index", "-f", "--find-links", "--no-binary",
                "--only-binary", "--pre", "--prefer-binary", "--trusted-host")
NOT_YET = "pinstep locks wheels only as yet"


def solve(request):
    lines = [_checked(line, request["path"], request["directory"]) for line in request["lines"]]
    ranks = {tag: rank for rank, tag in enumerate(_tags(request))}
    hashes = _wanted_hashes(request["lines"])
    with tempfile.TemporaryDirectory(prefix="pinstep-") as work:
        stubs = dict(_stub(work, name, text) for name, text in sorted(request["provided"].items())
                     if _is_version(text))
        _write(work, "requirements.in", lines)
        _write(work, "provided.txt", [f"{name} @ file://{urllib.parse.quote(path)}" for name, path in stubs.items()])
        if preferences := _preferences(request, stubs):
            _write(work, "pylock.toml", preferences)
        _run_uv(request, work)
        with open(os.path.join(work, "pylock.toml"), "rb") as file:
            found = tomllib.load(file).get("packages", [])
        return {"packages": [_package(entry, ranks, hashes, work) for entry in found if entry["name"] not in stubs]}


# ---- the lines of the pip list

def _checked(line, path, directory):
    """The line as uv is to read it."""
    text, where = line["text"], f"{path}:{line['line']}: '{line['text']}': "
    option = re.match(r"(--?[A-Za-z-]+)", text)
    if option and option[1] in ("-e", "--editable"):
        raise Refusal("unsupported", where + "editable sources cannot be locked yet", NOT_YET)
    if option and option[1] in ("-r", "--requirement", "-c", "--constraint"):
        raise Refusal("unsupported", where + "other files cannot be read yet", "put its lines into the list")
    if option and option[1] not in OPTIONS_KEPT and not option[1].startswith("-f"):
        raise Refusal("invalid", where + "pinstep does not know this option")
    if not option and re.search(r"(^|@\s*)(git|hg|svn|bzr)\+", text):
        raise Refusal("unsupported", where + "version control cannot be locked yet", NOT_YET)
    target = text.partition("@")[2] if re.match(r"[\w.\[\],-]+\s*@", text) else text
    target = target.partition("#")[0].partition(";")[0].strip()
    if not option and ("/" in target or target.startswith(".")) and not target.endswith(".whl"):
        raise Refusal("unsupported", where + "source trees and source distributions cannot be locked yet", NOT_YET)
    if option and option[1] in ("--pre", "--prefer-binary", "--trusted-host"):
        return ""       # told to uv on its command line, or of no use to it
    if option and option[1] in ("-f", "--find-links") and "://" not in text:
        place = re.sub(r"^(-f|--find-links)[=\s]*", "", text)
        return "--find-links " + os.path.join(directory, os.path.expanduser(place))
    return re.sub(r"\s--hash[= ]\S+", "", text)


def _wanted_hashes(lines):
    """{name: the digests that its line allows} of the lines that name any."""
    wanted = {}
    for line in lines:
        digests = re.findall(r"--hash[= ]sha256:([0-9a-fA-F]+)", line["text"])
        name = re.match(r"[\w.-]+", line["text"])
        if digests and name:
            wanted[utils.canonicalize_name(name[0])] = {digest.lower() for digest in digests}
    return wanted


def _write(work, name, lines):
    with open(os.path.join(work, name), "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


# ---- what conda provides

def _is_version(text):
    try:
        version.Version(text)
    except version.InvalidVersion:
        return False
    return True


def _stub(work, name, text):
    """(normalized name, path) of a wheel that is nothing but this name and version."""
    name = utils.canonicalize_name(name)
    stem = f"{name.replace('-', '_')}-{version.Version(text)}"
    path = os.path.join(work, f"{stem}-py3-none-any.whl")
    files = {"METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version.Version(text)}\n",
             "WHEEL": "Wheel-Version: 1.0\nGenerator: pinstep\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    with zipfile.ZipFile(path, "w") as archive:
        record = ""
        for file, content in files.items():
            archive.writestr(f"{stem}.dist-info/{file}", content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=").decode()
            record += f"{stem}.dist-info/{file},sha256={digest},{len(content)}\n"
        archive.writestr(f"{stem}.dist-info/RECORD", record + f"{stem}.dist-info/RECORD,,\n")
    return name, path


# ---- uv

def _platform(request):
    """The machine and the C library: ("x86_64", 28)."""
    machine = {"linux-64": "x86_64", "linux-aarch64": "aarch64"}.get(request["platform"])
    glibc = re.fullmatch(r"2\.(\d+)(\..*)?", request["glibc"])
    if machine is None or glibc is None:
        raise Refusal("unsupported", f"there are no wheels for platform '{request['platform']}' with C library "
                      f"'{request['glibc']}'")
    return machine, int(glibc[1])


def _preferences(request, stubs):
    """A pylock.toml of what is to stay where it fits, as uv finds it before it writes its own."""
    lines = []
    for package in request.get("preferred", []):
        if package["name"] not in stubs and _is_version(package["version"]):
            lines += ["[[packages]]", f'name = "{package["name"]}"', f'version = "{package["version"]}"']
    return ['lock-version = "1.0"', 'created-by = "pinstep"', *lines] if lines else []


def _run_uv(request, work):
    machine, glibc = _platform(request)
    known = max((minor for minor in MANYLINUX if minor <= glibc), default=MANYLINUX[0])
    command = [UV, "pip", "compile", os.path.join(work, "requirements.in"),
               *(["--constraints", os.path.join(work, "provided.txt")] if request["provided"] else []),
               "--format", "pylock.toml", "-o", os.path.join(work, "pylock.toml"), "--generate-hashes",
               "--only-binary", ":all:", "--python", sys.executable, "--no-python-downloads",
               "--python-version", request["python"], "--python-platform", f"{machine}-manylinux_2_{known}",
               "--no-header", "--no-annotate", "--no-progress", "--color", "never",
               *(["--exclude-newer", request["exclude_newer"]] if "exclude_newer" in request else []),
               "--cache-dir", request["cache"], *(["--offline"] if request["offline"] else [])]
    if any(line["text"].strip() == "--pre" for line in request["lines"]):
        command += ["--prerelease", "allow"]
    try:
        done = subprocess.run(command, cwd=request["directory"], env=_environment(), timeout=request["timeout"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        raise Refusal("timed_out", f"uv has not ended within {request['timeout']} s") from None
    if done.returncode != 0:
        raise _refusal(done.stderr, work, request)


def _environment():
    """Ours, and what pip's configuration says of indexes where uv's own says nothing."""
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    for key, value in _pip_configuration().items():
        name = PIP_SETTINGS.get(key)
        if name and name not in environment and UV_OTHER_NAMES.get(name) not in environment:
            environment[name] = value
    return environment


def _pip_configuration():
    """{setting: value}, asked from pip, which knows where its files are."""
    done = subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"],
                          capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    settings = {}
    for section, key, value in re.findall(r"^(global|install|download|:env:)\.([\w-]+)='(.*)'$", done.stdout, re.M):
        settings[key] = value.replace("\\n", " ").strip()   # later sections are the stronger ones
    if "find-links" in settings:
        settings["find-links"] = ",".join(settings["find-links"].split())
    return settings


def _refusal(text, work, request):
    text = re.sub(r"(?m)^warning: .*\n", "", text)
    told = contract.one_line(re.sub(r"[╰├─▶│·×]+", " ", text.replace(work + "/", ""))).replace(" cause: ", ": ")
    told, _, hint = told.removeprefix("error: ").partition(" hint: ")
    subject = f"the pip list of '{request['path']}'"
    told, unsolved = told.removeprefix("No solution found when resolving dependencies: "), told
    told = told.partition(", we can conclude that your requirements")[0].rstrip(".")
    if request["offline"] and ("not found in the cache" in told or "network was disabled" in hint):
        return Refusal("network", f"{subject} needs what is not in the cache: {told}", "try once without --offline")
    if told != unsolved and unsolved.startswith("No solution found"):
        held = [f"{name} {text}" for name, text in sorted(request["provided"].items())
                if re.search(rf"(?<![\w-]){re.escape(utils.canonicalize_name(name))}(?![\w-])", told)]
        if held:
            hint = "the conda part provides " + ", ".join(held)
        elif "no usable wheels" in told:
            hint = NOT_YET
        return Refusal("unsatisfiable", f"no set of wheels fits {subject}: {told}", hint)
    if re.search(r"Failed to fetch|error sending request|Request failed|dns error", told):
        return Refusal("network", f"cannot read the package index for {subject}: {told}",
                       "is it reachable from this host? pip's and uv's settings name it")
    if "parse" in told or "Invalid" in told:
        where = next((f"{request['path']}:{line['line']}: '{line['text']}'" for line in request["lines"]
                      if line["text"] in told), subject)
        return Refusal("invalid", f"{where}: {re.sub(r' (in|at) .requirements.in.( at position [0-9]+)?', '', told)}", hint)
    return Refusal("os", f"uv failed: {told}", hint)


# ---- the answer

def _tags(request):
    """The wheel tags that the python of the conda half takes, best first."""
    machine, glibc = _platform(request)
    python = tuple(int(part) for part in request["python"].split(".")[:2])
    oldest = 5 if machine == "x86_64" else 17
    platforms = []
    for minor in range(glibc, oldest - 1, -1):
        platforms.append(f"manylinux_2_{minor}_{machine}")
        alias = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}.get(minor)
        platforms += [f"{alias}_{machine}"] if alias else []
    platforms.append(f"linux_{machine}")
    yield from tags.cpython_tags(python, [f"cp{python[0]}{python[1]}"], platforms)
    yield from tags.compatible_tags(python, f"cp{python[0]}{python[1]}", platforms)


def _package(entry, ranks, hashes, work):
    """The one wheel of a package that suits best."""
    name = utils.canonicalize_name(entry["name"])
    suiting = []
    for wheel in entry.get("wheels", []) + ([entry["archive"]] if "archive" in entry else []):
        url = _url(wheel, work)
        file = urllib.parse.unquote(url.rpartition("/")[2])
        if not file.endswith(".whl"):
            continue
        digest = wheel.get("hashes", {}).get("sha256", "")
        if name in hashes and digest not in hashes[name]:
            continue
        _, _, build, wheel_tags = utils.parse_wheel_filename(file)
        rank = min((ranks[tag] for tag in wheel_tags if tag in ranks), default=None)
        if rank is not None:
            suiting.append((rank, [-number if isinstance(number, int) else number for number in build[:1]], file,
                            url, digest, wheel))
    if not suiting:
        given = " that has one of the digests of its --hash options" if name in hashes else ""
        raise Refusal("unsatisfiable", f"'{name}' {entry.get('version', '')} has no wheel for this platform{given}",
                      "" if given else NOT_YET)
    _, _, file, url, digest, wheel = min(suiting, key=lambda each: each[:3])
    _, found, _, _ = utils.parse_wheel_filename(file)
    digest, size = _digest(url, digest, wheel.get("size", 0))
    return {"name": name, "version": str(found), "url": url, "sha256": digest, "size": size}


def _url(wheel, work):
    """What pylock calls a path is relative to where it was written, or absolute."""
    if "url" in wheel:
        return wheel["url"]
    return "file://" + urllib.parse.quote(os.path.normpath(os.path.join(work, wheel["path"])))


def _digest(url, digest, size):
    if url.startswith("file://") and not (digest and size):
        with open(urllib.parse.unquote(url.removeprefix("file://")), "rb") as file:
            content = file.read()
        return hashlib.sha256(content).hexdigest(), len(content)
    return digest, size


def _version():
    done = subprocess.run([UV, "--version"], capture_output=True, text=True)
    return done.stdout.split()[1] if done.returncode == 0 else "?"


if __name__ == "__main__":
    contract.main("uv", _version(), solve)
