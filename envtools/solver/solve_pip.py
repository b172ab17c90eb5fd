"""The pip half of a lock, resolved by uv against what the conda half provides: CONTRACT.md beside this file.

What conda provides is shown to uv as a wheel that has a name and a version and nothing else, and is left out
of the answer: its version is held against everybody's requirements, its own are not followed (conda has
met them, under its names), and no index is asked for it.
"""

import base64
import functools
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import zipfile

from packaging import tags, utils, version

import build_pip
import contract
from build_pip import Requirement
from contract import Refusal

try:
    import tomllib
except ImportError:     # python 3.10
    import tomli as tomllib

UV = os.path.join(os.path.dirname(sys.executable), "uv")

# The C libraries that uv knows platforms of: the newest that is not newer than ours.
MANYLINUX = (17, 28, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40)

# What pip's configuration may say, and the variables of uv that say it.
PIP_SETTINGS = {"index-url": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
                "extra-index-url": ("UV_INDEX", "UV_EXTRA_INDEX_URL"), "find-links": ("UV_FIND_LINKS",),
                "no-index": ("UV_NO_INDEX",)}

OPTIONS_KEPT = ("-i", "--index-url", "--extra-index-url", "--no-index", "-f", "--find-links")
OPTIONS_DROPPED = ("--pre", "--prefer-binary", "--trusted-host", "--no-binary", "--only-binary")  # see _run_uv, build_pip
SOURCE_HINT = "'--no-binary NAME' in the list has a wheel made of its source"


def solve(request):
    with tempfile.TemporaryDirectory(prefix="pinstep-") as work:
        ranks = {tag: rank for rank, tag in enumerate(_tags(request))}
        options = _index_options(request)
        made = build_pip.Making(request, options, ranks)
        lines = [_for_uv(line, request, made) for line in request["lines"]]
        hashes = _wanted_hashes(request["lines"])
        stubs = dict(_stub(work, name, text) for name, text in sorted(request["provided"].items())
                     if _is_version(text))
        constraints = [f"{name} @ file://{urllib.parse.quote(path)}" for name, path in stubs.items()]
        _write(work, "constraints.txt", constraints + [line["text"] for line in request.get("constraints", [])])
        if preferences := _preferences(request, stubs):
            _write(work, "pylock.toml", preferences)
        _run_uv(request, work, options + [line for line in lines if line])
        with open(os.path.join(work, "pylock.toml"), "rb") as file:
            found = tomllib.load(file).get("packages", [])
        packages = [_package(entry, ranks, hashes, work) for entry in found if entry["name"] not in stubs]
        for package in packages:
            if package["name"] in made.sources:
                package["source"] = made.sources[package["name"]]
        return {"packages": packages}


# ---- the lines of the pip list

def _for_uv(line, request, made):
    """The line as uv is to read it; one that names a source names the wheel that was made of it."""
    text, where = line["text"], contract.where(request, line)
    option = re.match(r"-[A-Za-z]|--[A-Za-z-]+", text)
    if not option:
        requirement = Requirement.of(text, where, request["directory"])
        if requirement.is_source() or requirement.key() in made.wanted:
            wheel = made.wheel(requirement, where)
            return str(requirement.at(wheel))
        return str(requirement)
    if option[0] in ("-e", "--editable"):
        raise Refusal("unsupported", where + "what is edited cannot be locked",
                      "without -e a wheel is made of it, as it is now; while you work on it, put it on PYTHONPATH")
    if option[0] in OPTIONS_DROPPED or option[0] in OPTIONS_KEPT:
        return ""       # told to uv in another way
    raise Refusal("invalid", where + "pinstep does not know this option")


def _index_options(request):
    """Where packages are looked for, as lines of a requirements file: the list's, and pip's configuration where the list
    and uv's own variables say nothing."""
    options, said = [], set()
    for line in request["lines"]:
        option = re.match(r"(-[if]|--[a-z-]+)[=\s]*(.*)", line["text"])
        if not option or option[1] not in OPTIONS_KEPT:
            continue
        name = {"-i": "--index-url", "-f": "--find-links"}.get(option[1], option[1])
        said.add(name)
        place = option[2].strip().strip("\"'")
        if name == "--find-links" and "://" not in place:
            place = os.path.join(request["directory"], os.path.expanduser(place))
        options.append(f"{name} {place}".strip())
    configured = _pip_configuration()
    for key in ("index-url", "extra-index-url", "find-links", "no-index"):
        names = PIP_SETTINGS[key]
        if key in configured and not any(name in os.environ for name in names) and f"--{key}" not in said:
            values = configured[key].split() if key != "no-index" else [""]
            options += [f"--{key} {value}".strip() for value in values if configured[key].lower() not in ("0", "false")]
    return options


def _wanted_hashes(lines):
    """{name: the digests that its line allows} of the lines that name any."""
    wanted = {}
    for line in lines:
        digests = re.findall(r"(?:--hash[= ]sha256:|#(?:\S*&)?sha256=)([0-9a-fA-F]+)", line["text"])
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


def _run_uv(request, work, lines):
    """What has credentials reaches uv on its standard input, which no list of processes shows."""
    machine, glibc = _platform(request)
    known = max((minor for minor in MANYLINUX if minor <= glibc), default=MANYLINUX[0])
    command = [UV, "pip", "compile", "-", "--constraints", os.path.join(work, "constraints.txt"),
               "--format", "pylock.toml", "-o", os.path.join(work, "pylock.toml"), "--generate-hashes",
               "--only-binary", ":all:", "--python", sys.executable, "--no-python-downloads",
               "--python-version", request["python"], "--python-platform", f"{machine}-manylinux_2_{known}",
               "--no-header", "--no-annotate", "--no-progress", "--color", "never",
               *(["--exclude-newer", request["exclude_newer"]] if "exclude_newer" in request else []),
               "--cache-dir", request["cache"], *(["--offline"] if request["offline"] else [])]
    if any(line["text"].strip() == "--pre" for line in request["lines"]):
        command += ["--prerelease", "allow"]
    if "UV_INDEX_STRATEGY" not in os.environ:
        command += ["--index-strategy", "unsafe-best-match"]    # as pip: an index may have a part of the versions
    access = request.get("access", {})
    proxies = {scheme: url for scheme, url in access.get("proxies", {}).items() if "@" in url}
    if proxies:
        command += ["--config-file", _config_in_memory(proxies)]
    variables = contract.network_variables(access)
    environment = _environment() | {name: value for name, value in variables.items() if value not in proxies.values()}
    try:
        done = subprocess.run(command, cwd=request["directory"], env=environment, timeout=request["timeout"],
                              input="".join(line + "\n" for line in lines), capture_output=True, text=True,
                              errors="replace")
    except subprocess.TimeoutExpired:
        raise Refusal("timed_out", f"uv has not ended within {request['timeout']} s") from None
    if done.returncode != 0:
        raise _refusal(done.stderr, work, request)


def _config_in_memory(proxies):
    """The user's configuration of uv, and proxies whose passwords no environment is to show; it ends with us."""
    text = "".join(f"{scheme}-proxy = {json.dumps(url)}\n" for scheme, url in proxies.items())
    directory = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    try:
        with open(os.environ.get("UV_CONFIG_FILE") or os.path.join(directory, "uv/uv.toml"), encoding="utf-8") as own:
            text += own.read()
    except OSError:
        pass
    file = os.memfd_create("uv.toml", os.MFD_CLOEXEC)
    os.write(file, text.encode())
    return f"/proc/{os.getpid()}/fd/{file}"


def _environment():
    """Ours, without what names another environment; certificates as pip's configuration has them."""
    environment = {name: value for name, value in os.environ.items() if name not in ("VIRTUAL_ENV", "CONDA_PREFIX")}
    certificates = _pip_configuration().get("cert")
    if certificates and "SSL_CERT_FILE" not in environment:
        environment["SSL_CERT_FILE"] = certificates
    return environment


@functools.cache
def _pip_configuration():
    """{setting: value}, asked from pip, which knows where its files are."""
    done = subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "config", "list"],
                          capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
    settings = {}
    for section, key, value in re.findall(r"^(global|install|download|:env:)\.([\w-]+)='(.*)'$", done.stdout, re.M):
        settings[key] = value.replace("\\n", " ").strip()   # later sections are the stronger ones
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
            hint = SOURCE_HINT
        return Refusal("unsatisfiable", f"no set of wheels fits {subject}: {told}", hint)
    if re.search(r"Failed to fetch|error sending request|Request failed|dns error", told):
        return Refusal("network", f"cannot read the package index for {subject}: {told}",
                       "is it reachable from this host? pip's and uv's settings name it")
    if "parse" in told or "Invalid" in told:
        where = next((contract.where(request, line) for line in request["lines"] if line["text"] in told), subject + ": ")
        return Refusal("invalid", where + re.sub(r" (in|at) .(-|<?stdin>?).( at position [0-9]+)?", "", told), hint)
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
                      "" if given else SOURCE_HINT)
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
