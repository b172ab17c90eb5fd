"""The conda half of a lock, solved by py-rattler. Request and answer: CONTRACT.md beside this file."""

import asyncio
import datetime
import errno
import os
import re
import resource
import time

import rattler
from rattler import exceptions
from rattler.package import BuildString

import contract
from contract import Refusal

PRIORITIES = {"flexible": rattler.ChannelPriority.Flexible, "strict": rattler.ChannelPriority.Strict,
              "disabled": rattler.ChannelPriority.Disabled}
FILE_LIMIT = 4 << 30     # bytes of a channel's index; that of the largest has 0.5 GB
MEMORY_LIMIT = 4 << 30   # bytes of this process, without the files that it maps
SILENCE = 30             # seconds
LITTLE_WORK = 0.003      # seconds of CPU in them below which nothing comes: to receive 1 KiB/s needs half of it
SENTENCE = 600   # characters of a conflict that are told; rattler's trees can be hundreds of lines


def solve(request):
    specs = [_match_spec(text, index, request["channels"]) for index, text in enumerate(request["specs"])]
    channels = [rattler.Channel(channel["url"]) for channel in request["channels"]]
    _make_cache(request["cache"])
    _limit_files()
    action = "force-cache-only" if request["offline"] else "cache-or-fetch"
    gateway = rattler.Gateway(request["cache"], rattler.SourceConfig(cache_action=action),
                              client=rattler.Client.default_client(user_agent="pinstep"))
    more = {"virtual_packages": [_virtual_package(package) for package in request["virtual_packages"]]}
    if "exclude_newer" in request:
        more |= {"exclude_newer": _instant(request["exclude_newer"]), "timestamp_policy": "allow-missing"}
    call = _solved(gateway, channels, specs, request, more)
    try:
        records = asyncio.run(asyncio.wait_for(_watched(call, request), request["timeout"] + 5))
    except asyncio.TimeoutError:
        raise _too_slow(request) from None
    except exceptions.SolverError as error:
        raise _unsatisfiable(str(error), request) from None
    except exceptions.GatewayError as error:
        raise _unreachable(str(error), request) from None
    return {"packages": [_package(record) for record in records]}


async def _solved(gateway, channels, specs, request, more):
    platforms = [request["platform"], "noarch"]
    staying = await _staying(gateway, channels, platforms, request, more.get("exclude_newer"))
    return await rattler.solve(
        channels, specs, gateway, platforms=platforms, locked_packages=staying,
        channel_priority=PRIORITIES[request["channel_priority"]], channel_relations="disabled",
        timeout=datetime.timedelta(seconds=request["timeout"]), **more)


async def _staying(gateway, channels, platforms, request, cutoff):
    """The records of packages that are to stay where they fit.

    rattler takes what it is given, so what the channels no longer have, or would not give now, is left out.
    """
    wanted = {package["sha256"]: package["name"] for package in request.get("preferred", [])}
    if not wanted:
        return []
    found = await gateway.query(channels, platforms, [rattler.MatchSpec(name) for name in sorted(wanted.values())],
                                recursive=False, channel_relations="disabled")
    strict = request["channel_priority"] == "strict"
    staying, first = {}, {}
    for record in (record for records in found for record in records):
        name, digest = record.name.normalized, record.sha256.hex() if record.sha256 else ""
        if strict and first.setdefault(name, record.channel) != record.channel:
            continue
        too_new = cutoff and record.timestamp and record.timestamp > cutoff
        if digest in wanted and not too_new:
            staying.setdefault(name, record)
    return list(staying.values())


def _instant(text):
    try:
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        raise Refusal("invalid", f"'{text}' is no instant") from None


def _make_cache(path):
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        kinds = {errno.EACCES: "refused", errno.EPERM: "refused", errno.ENOSPC: "no_space", errno.EDQUOT: "no_space"}
        raise Refusal(kinds.get(error.errno, "not_found"),
                      f"the channels' indexes cannot be kept in '{path}': {error.strerror}",
                      "XDG_CACHE_HOME or HOME says where caches are") from None


def _limit_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = FILE_LIMIT if soft == resource.RLIM_INFINITY else min(soft, FILE_LIMIT)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))


async def _watched(call, request):
    """rattler waits without end for a server that says nothing, and takes whatever one says without end.

    Who waits for a server uses no CPU: neither does a solve that gets nothing any more, at whatever byte.
    """
    task = asyncio.ensure_future(call)
    silent, before = 0, 0
    while not (await asyncio.wait({task}, timeout=1))[0]:
        silent += 1
        work = time.process_time() - time.thread_time()  # of rattler's threads; this one only waits
        if work - before > LITTLE_WORK or _waits_for_a_lock():
            silent, before = 0, work
        if silent >= SILENCE:
            raise _silent(request)
        if _memory() > MEMORY_LIMIT:
            raise _endless(request)
    return task.result()


def _waits_for_a_lock():
    """Another solve of this user may be fetching the same index."""
    try:
        with open("/proc/locks") as locks:
            return any("->" in line and str(os.getpid()) in line.split() for line in locks)
    except OSError:
        return False


def _memory():
    with open("/proc/self/statm") as statm:
        _, resident, mapped, *_ = statm.read().split()
    return (int(resident) - int(mapped)) * resource.getpagesize()


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


def _channels(request):
    return ", ".join(f"'{channel['name']}' at '{channel['url']}'" for channel in request["channels"])


def _silent(request):
    return Refusal("network", f"nothing has come for {SILENCE} s from a channel: {_channels(request)}",
                   "try again later, or another channel; does this host need a proxy (https_proxy)?")


def _endless(request):
    return Refusal("network", f"what comes has no end from a channel: {_channels(request)}",
                   "is that the URL of a conda channel?")


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
    if f"os error {errno.EFBIG}" in reason:
        return _endless(request)
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
