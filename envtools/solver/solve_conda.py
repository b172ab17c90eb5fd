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
import explain
from contract import Refusal
from sources import Sources

PRIORITIES = {"flexible": rattler.ChannelPriority.Flexible, "strict": rattler.ChannelPriority.Strict,
              "disabled": rattler.ChannelPriority.Disabled}
FILE_LIMIT = 4 << 30     # bytes of a channel's index; that of the largest has 0.5 GB
MEMORY_LIMIT = 4 << 30   # bytes of this process, without the files that it maps
SILENCE = 30             # seconds
LITTLE_WORK = 0.003      # seconds of CPU in them below which nothing comes: to receive 1 KiB/s needs half of it
# What rattler says of an index that came and is none: of its JSON, of zstd, of a digest.
DAMAGED = re.compile(r"line \d+ column \d+|buffer is too small|[Ff]rame|[Cc]orrupt|[Hh]ash mismatch|msgpack|decod")


def solve(request):
    contract.open_network(request.get("access", {}))
    sources = Sources(request)
    while True:
        question = Question(request, sources)
        try:
            records = asyncio.run(asyncio.wait_for(_watched(question.solve(), request), request["timeout"] + 5))
        except asyncio.TimeoutError:
            raise _too_slow(request) from None
        except exceptions.SolverError as error:
            if not str(error).startswith(explain.HEAD):
                raise _too_slow(request) from None
            raise asyncio.run(explain.why(question, str(error))) from None
        except exceptions.GatewayError as error:
            if not request["offline"] and sources.try_next(str(error)):
                continue
            raise _unreachable(str(error), request, sources) from None
        return {"packages": [_package(record) for record in records]}


class Question:
    """A request as rattler understands it."""

    def __init__(self, request, sources):
        self.request = request
        self.texts = request["specs"]
        self.specs = [_match_spec(text, index, request["channels"]) for index, text in enumerate(self.texts)]
        self.virtual_packages = request["virtual_packages"]
        self.cutoff = _instant(request["exclude_newer"]) if "exclude_newer" in request else None
        self._channels = [rattler.Channel(channel["url"]) for channel in request["channels"]]
        self._platforms = [request["platform"], "noarch"]
        self._more = {"virtual_packages": [_virtual_package(package) for package in self.virtual_packages],
                      "channel_priority": PRIORITIES[request["channel_priority"]]}
        if self.cutoff:
            self._more |= {"exclude_newer": self.cutoff, "timestamp_policy": "allow-missing"}
        _make_cache(request["cache"])
        _limit_files()
        action = "force-cache-only" if request["offline"] else "cache-or-fetch"
        self._gateway = rattler.Gateway(request["cache"], rattler.SourceConfig(cache_action=action),
                                        client=sources.client())

    def channel_names(self):
        return ", ".join(channel["name"] for channel in self.request["channels"])

    async def solve(self, indexes=None, limit=None):
        """The records for all specs, or for some of them."""
        specs = self.specs if indexes is None else [self.specs[index] for index in indexes]
        staying = await self._staying() if indexes is None else []
        return await rattler.solve(self._channels, specs, self._gateway, platforms=self._platforms,
                                   locked_packages=staying, channel_relations="disabled",
                                   timeout=limit or datetime.timedelta(seconds=self.request["timeout"]), **self._more)

    async def names(self, *platforms):
        """Of all packages in the channels, or in these platforms of theirs."""
        return await self._gateway.names(self._channels, platforms or self._platforms, channel_relations="disabled")

    async def records(self, names):
        """All that the channels have of these packages, the first channel's first."""
        found = await self._gateway.query(self._channels, self._platforms, sorted(names), recursive=False,
                                          channel_relations="disabled")
        return [record for records in found for record in records]

    async def _staying(self):
        """The records of packages that are to stay where they fit.

        rattler takes what it is given, so what the channels no longer have, or would not give now, is left out.
        """
        wanted = {package["sha256"]: package["name"] for package in self.request.get("preferred", [])}
        strict = self.request["channel_priority"] == "strict"
        staying, first = {}, {}
        for record in await self.records(set(wanted.values())) if wanted else []:
            name, digest = record.name.normalized, record.sha256.hex() if record.sha256 else ""
            if strict and first.setdefault(name, record.channel) != record.channel:
                continue
            too_new = self.cutoff and record.timestamp and record.timestamp > self.cutoff
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
        raise _no_cache(path, error.errno) from None


def _no_cache(path, number):
    kinds = {errno.EACCES: "refused", errno.EPERM: "refused", errno.ENOSPC: "no_space", errno.EDQUOT: "no_space"}
    return Refusal(kinds.get(number, "not_found"),
                   f"the channels' indexes cannot be kept in '{path}': {os.strerror(number)}",
                   "XDG_CACHE_HOME or HOME says where caches are")


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


def _unreachable(text, request, sources):
    lines = [line.removeprefix("Caused by: ") for line in text.splitlines() if line.strip()]
    reason = lines[-1]
    number = re.search(r"os error (\d+)", reason)
    number = int(number[1]) if number else 0
    if number == errno.EFBIG:
        return _endless(request)
    if number in (errno.ENOSPC, errno.EDQUOT):
        return _no_cache(request["cache"], number)
    url = next(iter(re.findall(r"(?:https?|file)://[^\s)'`]+", text)), "")
    names = [channel["name"] for channel in request["channels"] if sources.is_about(channel["url"], text)]
    if not names and len(request["channels"]) == 1:
        names = [request["channels"][0]["name"]]
    subject = f"channel '{names[0]}'" if names else "a channel"
    if request["offline"]:
        return Refusal("network", f"{subject} is not in the cache: {reason}", "try once without --offline")
    if DAMAGED.search(re.sub(r"\S+://\S+", "", reason)):
        return Refusal("network", f"the index of {subject} is damaged: {reason}",
                       "try again later; if it stays so tell those who keep the channel")
    hint = f"is it reachable from this host? The setting channel.{names[0] if names else 'NAME'}=URL says where a channel is"
    if re.search(r"\b40[13]\b", reason):
        hint = "does the channel want a login? pinstep reads ~/.netrc, and user, password and token in .condarc's URLs"
    elif re.search(r"certificate|UnknownIssuer", text):
        hint = "if your site has certificates of its own, name their file in SSL_CERT_FILE, or in .condarc as ssl_verify"
    return Refusal("network", f"cannot read {subject} at '{url}': {reason}" if url else
                   f"cannot read {subject}: {reason}", hint)


if __name__ == "__main__":
    contract.main("py-rattler", rattler.__version__, solve)
