"""reference_install.py PREFIX CACHE CHANNEL... : every package of the channels, by py-rattler's installer.

Run by the solver's python; the reference that pinstep's prefixes are compared with.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from rattler import Channel, Gateway, GenericVirtualPackage, PackageName, Platform, Version, solve
from rattler.install import install
from rattler.package import BuildString


async def main(prefix, cache, channels, names):
    virtual = [GenericVirtualPackage(PackageName(name), Version(version), BuildString("0"))
               for name, version in (("__unix", "0"), ("__linux", "5.10"), ("__glibc", "2.36"))]
    records = await solve([Channel(channel) for channel in channels], names, gateway=Gateway(),
                          platforms=[Platform("linux-64"), Platform("noarch")], virtual_packages=virtual)
    await install(records, prefix, cache_dir=cache, show_progress=False)


asyncio.run(main(sys.argv[1], sys.argv[2], *json.load(sys.stdin)))
# Without taking the interpreter down: its threads may still be at work then, and have crashed in it.
os._exit(0)
