"""Wheels of what a pip list names as a source: a directory, a source distribution, a commit.

Made once, while locking, by pip in isolation; kept in the user's cache under their sha256, which is what the lock has. A
wheel for one version of python only is made with that python: conda's own is not there yet.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

from packaging import requirements, utils

import contract
from contract import Refusal

VERSION_CONTROL = ("git+", "hg+", "svn+", "bzr+")
EPOCH = "315532800"     # the times of files in a wheel: what is made twice is one wheel


class Requirement:
    """A line of a requirements file that is no option: what it is about, and where that is from."""

    def __init__(self, name, extras, target, specifier, marker):
        self.name, self.extras, self.target, self.specifier, self.marker = name, extras, target, specifier, marker

    @classmethod
    def of(cls, text, where, directory):
        text = re.sub(r"\s--(hash|config-settings?|global-option)[= ]\S+", "", text).strip()
        body, semicolon, marker = text.partition(" ;") if "://" in text or "/" in text else text.partition(";")
        marker = marker.strip() if semicolon else ""
        named = re.match(r"([A-Za-z0-9][\w.-]*)\s*(\[[^\]]*\])?\s*@\s*(\S+)$", body.strip())
        if named:
            return cls(named[1], named[2] or "", _place(named[3], directory), "", marker)
        body = body.strip()
        if "://" in body or "/" in body or body.startswith(".") or body.endswith((".whl", ".tar.gz", ".zip")):
            extras = re.search(r"(\[[^\]]*\])$", body)
            place = body[:extras.start()] if extras else body
            name = urllib.parse.parse_qs(urllib.parse.urlsplit(place).fragment).get("egg", [""])[0]
            return cls(name.partition("[")[0], extras[1] if extras else "", _place(place, directory), "", marker)
        try:
            found = requirements.Requirement(text)
        except requirements.InvalidRequirement as error:
            raise Refusal("invalid", where + str(error).partition("\n")[0]) from None
        extras = "[" + ",".join(sorted(found.extras)) + "]" if found.extras else ""
        return cls(found.name, extras, "", str(found.specifier), str(found.marker or ""))

    def key(self):
        return utils.canonicalize_name(self.name) if self.name else ""

    def is_source(self):
        path = urllib.parse.urlsplit(self.target).path
        return bool(self.target) and not path.endswith(".whl")

    def at(self, wheel):
        """The same, from a wheel on this machine."""
        name = utils.parse_wheel_filename(os.path.basename(wheel))[0]
        return Requirement(name, self.extras, "file://" + urllib.parse.quote(wheel), "", self.marker)

    def __str__(self):
        if self.target and not self.name:
            text = self.target
        else:
            text = self.name + self.extras + (f" @ {self.target}" if self.target else self.specifier)
        return text + (f" ; {self.marker}" if self.marker else "")


def _place(text, directory):
    """A URL; what is a path begins at the spec."""
    if text.startswith(VERSION_CONTROL) or re.match(r"[a-z+]+://", text):
        return text
    path, _, fragment = text.removeprefix("file:").partition("#")
    path = os.path.normpath(os.path.join(directory, os.path.expanduser(path)))
    return "file://" + urllib.parse.quote(path) + (f"#{fragment}" if fragment else "")


class Making:
    """Makes wheels for one request; `sources` says of what, by the normalized name."""

    def __init__(self, request, options, ranks):
        self.request, self.options, self.ranks = request, options, ranks
        self.sources = {}
        self.wanted = {utils.canonicalize_name(name) for line in request["lines"]
                       for names in re.findall(r"^--no-binary[= ](\S+)", line["text"])
                       for name in names.split(",") if not name.startswith(":")}

    def wheel(self, requirement, where):
        """The path of the wheel, in the cache."""
        if self.request["offline"]:
            raise Refusal("network", where + "a wheel cannot be made of a source with --offline",
                          "making one asks an index for what that needs")
        source, shown = self._pinned(requirement, where)
        with tempfile.TemporaryDirectory(prefix="pinstep-") as work:
            path = self._make(source, sys.executable, work, where)
            if not self._suits(path):
                os.unlink(path)
                path = self._make(source, self._python(where), work, where)
            if not self._suits(path):
                raise Refusal("unsatisfiable", where + f"the wheel made of it, '{os.path.basename(path)}', does not suit "
                              f"python {self.request['python']} on {self.request['platform']}")
            name = utils.parse_wheel_filename(os.path.basename(path))[0]
            if name in self.request["provided"]:
                raise Refusal("conflict", where + f"it is '{name}', which the conda part provides as version "
                              f"{self.request['provided'][name]}", "keep one of the two lines")
            self.sources[name] = contract.without_credentials(shown)
            return self._kept(path)

    def _pinned(self, requirement, where):
        """(what pip is told, the same for people): of version control a commit."""
        if not requirement.target:
            line = f"{requirement.name}{requirement.specifier}"
            return [f"--no-binary {requirement.name}", line], line
        target = requirement.target
        if not target.startswith(VERSION_CONTROL):
            self._check_path(target, where)
            return [target], target
        if contract.without_credentials(target) != target:
            raise Refusal("unsupported", where + "a password in a version control URL gets into lists of processes",
                          "git reads ~/.netrc and its credential helpers")
        if not target.startswith("git+"):
            return [target], target
        url, hash_sign, fragment = target.removeprefix("git+").partition("#")
        base, at, revision = url.rpartition("@")
        if not at or "/" not in base.partition("://")[2] or "/" in url[len(base):].partition(":")[0]:
            base, revision = url, "HEAD"
        commit = revision if re.fullmatch(r"[0-9a-f]{40}", revision) else self._commit(base, revision, where)
        return [f"git+{base}@{commit}{hash_sign}{fragment}"], f"git+{base}@{commit}"

    @staticmethod
    def _check_path(target, where):
        path = urllib.parse.unquote(urllib.parse.urlsplit(target).path)
        if target.startswith("file:") and not os.path.exists(path):
            raise Refusal("not_found", where + f"there is no '{path}'", "a path begins at the directory of the spec")

    def _commit(self, url, revision, where):
        asked = [revision, f"refs/tags/{revision}^{{}}"]
        try:
            done = subprocess.run(["git", "ls-remote", "--exit-code", url, *asked], capture_output=True, text=True,
                                  errors="replace", stdin=subprocess.DEVNULL, timeout=60,
                                  env={**os.environ, "GIT_TERMINAL_PROMPT": "0"} |
                                  contract.network_variables(self.request.get("access", {})))
        except FileNotFoundError:
            raise Refusal("not_found", where + "git is not on PATH", "install git, or load its module") from None
        except subprocess.TimeoutExpired:
            raise Refusal("network", where + "the server does not answer") from None
        found = [line.split("\t") for line in done.stdout.splitlines()]
        if done.returncode == 2 or (done.returncode == 0 and not found):
            raise Refusal("not_found", where + f"there is no branch or tag '{revision}'")
        if done.returncode != 0:
            raise Refusal("network", where + "git cannot read it: " + _reason(done.stderr),
                          "git reads ~/.netrc and its credential helpers")
        peeled = [commit for commit, name in found if name.endswith("^{}")]
        return (peeled or [commit for commit, _ in found])[0]

    def _make(self, source, python, work, where):
        command = [sys.executable, "-m", "pip", "--python", python] if python != sys.executable else \
            [sys.executable, "-m", "pip"]
        command += ["--disable-pip-version-check", "--no-input", "wheel", "--no-deps", "--quiet", "--no-cache-dir",
                    "--wheel-dir", work, "-r", "/dev/stdin"]
        options, netrc = _without_logins(self.options)
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("VIRTUAL_ENV", "CONDA_PREFIX") and not name.startswith("PIP_")}
        environment |= {"PIP_CONFIG_FILE": os.devnull, "SOURCE_DATE_EPOCH": EPOCH, "GIT_TERMINAL_PROMPT": "0"}
        environment |= contract.network_variables(self.request.get("access", {}))
        logins = _in_memory(netrc) if netrc else None
        if logins is not None:
            environment["NETRC"] = f"/proc/{os.getpid()}/fd/{logins}"
        try:
            done = subprocess.run(command, cwd=self.request["directory"], env=environment, capture_output=True, text=True,
                                  input="".join(line + "\n" for line in [*options, *source]), errors="replace",
                                  timeout=self.request["timeout"])
        except subprocess.TimeoutExpired:
            raise Refusal("timed_out", where + f"making a wheel has not ended within {self.request['timeout']} s") from None
        finally:
            if logins is not None:
                os.close(logins)
        wheels = [name for name in os.listdir(work) if name.endswith(".whl")]
        if done.returncode != 0 or len(wheels) != 1:
            raise Refusal("os", where + "no wheel can be made of it: " + _reason(done.stderr),
                          "does 'pip wheel' make one here? compilers and headers are this machine's")
        return os.path.join(work, wheels[0])

    def _python(self, where):
        """A python of the version that the conda half has."""
        minor = ".".join(self.request["python"].split(".")[:2])
        found = shutil.which(f"python{minor}")
        if not found:
            raise Refusal("not_found", where + f"what is made of it holds for one python alone, and there is no "
                          f"python{minor} on PATH to make it with", "load a module that has one, or use a wheel")
        return found

    def _suits(self, path):
        return any(tag in self.ranks for tag in utils.parse_wheel_filename(os.path.basename(path))[3])

    def _kept(self, path):
        with open(path, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else \
                hashlib.sha256(file.read()).hexdigest()
        directory = os.path.join(os.path.dirname(self.request["cache"]), "wheels", digest[:16])
        os.makedirs(directory, exist_ok=True)
        target = os.path.join(directory, os.path.basename(path))
        aside = f"{target}.{os.getpid()}"
        shutil.copyfile(path, aside)
        os.replace(aside, target)
        return target


def _without_logins(options):
    """The options without user and password, and these as a netrc: pip names its indexes to the pip that it starts."""
    clean, netrc = [], ""
    for option in options:
        found = re.search(r"://([^/@\s]+)@([^/\s]+)", option)
        if found:
            user, _, password = found[1].partition(":")
            host = found[2].partition(":")[0]
            netrc += f"machine {host} login {urllib.parse.unquote(user)} password {urllib.parse.unquote(password)}\n"
        clean.append(re.sub(r"(://)[^/@\s]+@", r"\1", option))
    if netrc:
        own = os.environ.get("NETRC") or os.path.expanduser("~/.netrc")
        if os.path.isfile(own):
            with open(own, encoding="utf-8", errors="replace") as file:
                netrc += file.read()
    return clean, netrc


def _in_memory(text):
    file = os.memfd_create("netrc", os.MFD_CLOEXEC)
    os.write(file, text.encode())
    return file


def _reason(text):
    """The line that says why, of what pip or git say: an exception's is the last of its kind, theirs the first."""
    lines = [line.strip(" ╰─>│×\t") for line in text.splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"(\w+\.)*\w+(Error|Exception)\b", line)]
    errors = [line for line in lines if re.match(r"(ERROR|error|fatal): ", line) and "subprocess-exited" not in line]
    told = (raised[-1:] or errors or lines or ["there is no more to tell"])[0]
    return re.sub(r"^(ERROR|error|fatal): ", "", told)
