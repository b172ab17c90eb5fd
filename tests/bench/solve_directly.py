"""Solves by py-rattler alone, as a program that needs no more would: CHANNEL CACHE OUTPUT SPEC...

What pinstep lock is measured against: the same interpreter, channel, cache and question, nothing around it.
"""

import asyncio
import json
import os
import sys

import rattler

VIRTUAL = [("__archspec", "1", "x86_64"), ("__glibc", "2.28", "0"), ("__linux", "4.18", "0"), ("__unix", "0", "0")]


async def main(channel, cache, output, *specs):
    from rattler.package import BuildString

    virtual = [rattler.GenericVirtualPackage(rattler.PackageName(name), rattler.Version(version), BuildString(build))
               for name, version, build in VIRTUAL]
    records = await rattler.solve([channel], [rattler.MatchSpec(spec, strict=False) for spec in specs],
                                  rattler.Gateway(cache), platforms=["linux-64", "noarch"], virtual_packages=virtual,
                                  channel_priority=rattler.ChannelPriority.Flexible)
    with open(output, "w") as file:
        json.dump([[record.name.normalized, str(record.version), record.url, record.sha256.hex()] for record in records],
                  file)


asyncio.run(main(*sys.argv[1:]))
os._exit(0)     # rattler's threads outlive the interpreter and crash one such end in ten
