"""The conda half of a lock, solved by py-rattler. Request and answer: CONTRACT.md beside this file."""

import asyncio
import datetime
import os
import re

import rattler
from rattler import exceptions
from rattler.package import BuildString

import contract
from contract import Refusal

PRIORITIES = {"flexible": rattler.ChannelPriority.Flexible, "strict": rattler.ChannelPriority.Strict,
              "disabled": rattler.ChannelPriority.Disabled}
SENTENCE = 600   # characters of a conflict that are told; rattler's trees can be hundreds of lines


def solve(request):
    specs = [_match_spec(text, index, request["channels"]) for index, text in enumerate(request["specs"])]
    channels = [rattler.Channel(channel["url"]) for channel in request["channels"]]
    os.makedirs(request["cache"], mode=0o700, exist_ok=True)
    action = "force-cache-only" if request["offline"] else "cache-or-fetch"
    gateway = rattler.Gateway(request["cache"], rattler.SourceConfig(cache_action=action),
                              client=rattler.Client.default_client(user_agent="pinstep"))
    call = rattler.solve(
        channels, specs, gateway, platforms=[request["platform"], "noarch"],
        virtual_packages=[_virtual_package(package) for package in request["virtual_packages"]],
        channel_priority=PRIORITIES[request["channel_priority"]], channel_relations="disabled",
        timeout=datetime.timedelta(seconds=request["timeout"]))
    try:
        records = asyncio.run(asyncio.wait_for(call, request["timeout"] + 5))
    except asyncio.TimeoutError:
        raise _too_slow(request) from None
    except exceptions.SolverError as error:
        raise _unsatisfiable(str(error), request) from None
    except exceptions.GatewayError as error:
        raise _unreachable(str(error), request) from None
    return {"packages": [_package(record) for record in records]}


def _match_spec(text, index, channels):
    """rattler takes the channel of 'NAME::package' for a name of its own; here the names are pinstep's."""
    name, colons, rest = text.rpartition("::")
    for channel in channels:
        base, slash, subdir = name.partition("/")
        if colons and channel["name"] in (name, base):
            path = "" if channel["name"] == name else slash + subdir
            text = f"{channel['url']}{path}::{rest}"
            break
    try:
        return rattler.MatchSpec(text, strict=False)
    except Exception as error:  # a class for each thing that can be wrong, without a common one
        raise Refusal("invalid", f"'{text}' is no match spec: {str(error).partition('Caused by:')[0]}",
                      spec=index) from None


def _virtual_package(package):
    try:
        return rattler.GenericVirtualPackage(rattler.PackageName(package["name"]), rattler.Version(package["version"]),
                                             BuildString(package["build"] or "0"))
    except exceptions.InvalidVersionError:
        raise Refusal("invalid", f"'{package['version']}' is no version of {package['name']}") from None


def _package(record):
    return {
        "name": record.name.normalized,
        "version": str(record.version),
        "build": str(record.build),
        "subdir": record.subdir,
        "url": record.url,
        "sha256": record.sha256.hex() if record.sha256 else "",
        "md5": record.md5.hex() if record.md5 else "",
        "size": record.size or 0,
        "depends": record.depends,
    }


# ---- why not

def _too_slow(request):
    return Refusal("timed_out", f"the solver has not ended within {request['timeout']} s",
                   "give versions of the packages that matter, so that there is less to try")


def _unsatisfiable(text, request):
    """rattler draws a tree; told is its trunk, as one sentence."""
    head = "Cannot solve the request because of: "
    if not text.startswith(head):
        return _too_slow(request)
    text = text.removeprefix(head).removeprefix("The following packages are incompatible")
    text = contract.one_line(re.sub(r"[│├└─]+", " ", text)).rstrip(".")
    text = text.replace(" *,", ",").replace(" * ", " ").removesuffix(" *")
    if len(text) > SENTENCE:
        text = text[:SENTENCE].rpartition(" ")[0] + " …"
    virtual = sorted(set(re.findall(r"__[a-z_0-9]+", text)))
    hint = "channels: " + ", ".join(channel["name"] for channel in request["channels"])
    if virtual:
        hint = f"the profile decides about {', '.join(virtual)}: --virtual-package {virtual[0]}=VERSION"
    return Refusal("unsatisfiable", "no set of packages fits: " + text, hint)


def _unreachable(text, request):
    lines = [line.removeprefix("Caused by: ") for line in text.splitlines() if line.strip()]
    reason = lines[-1]
    url = next(iter(re.findall(r"(?:https?|file)://[^\s)'`]+", text)), "")
    names = [channel["name"] for channel in request["channels"] if channel["url"].rstrip("/") in text]
    if not names and len(request["channels"]) == 1:
        names = [request["channels"][0]["name"]]
    subject = f"channel '{names[0]}'" if names else "a channel"
    if request["offline"]:
        return Refusal("network", f"{subject} is not in the cache: {reason}", "try once without --offline")
    return Refusal("network", f"cannot read {subject} at '{url}': {reason}" if url else
                   f"cannot read {subject}: {reason}",
                   "is the channel's URL right, and is it reachable from this host?")


if __name__ == "__main__":
    contract.main("py-rattler", rattler.__version__, solve)
