"""reference_install.py PREFIX CACHE: packages installed by py-rattler's installer; the reference that pinstep's
prefixes are compared with. Run by the solver's python.

Standard input has them as JSON: {"solve": [CHANNELS, NAMES]}, or {"explicit": [URL#DIGEST, …]}.
"""

import asyncio
import json
import os
import sys
import urllib.request

from rattler import Channel, Gateway, GenericVirtualPackage, PackageName, PackageRecord, Platform, RepoDataRecord
from rattler import Version, solve
from rattler.install import install
from rattler.package import BuildString


async def solved(channels, names):
    virtual = [GenericVirtualPackage(PackageName(name), Version(version), BuildString("0"))
               for name, version in (("__unix", "0"), ("__linux", "5.10"), ("__glibc", "2.36"))]
    return await solve([Channel(channel) for channel in channels], names, gateway=Gateway(),
                       platforms=[Platform("linux-64"), Platform("noarch")], virtual_packages=virtual)


def record(line):
    """Of a line of an explicit file; all but the digest is what the channel says."""
    url, _, digest = line.partition("#")
    channel, subdir, name = url.rsplit("/", 2)
    with urllib.request.urlopen(f"{channel}/{subdir}/repodata.json") as answer:
        index = json.load(answer)
    told = (index["packages"] | index["packages.conda"])[name]
    assert digest.removeprefix("sha256:") in (told["md5"], told["sha256"]), line
    package = PackageRecord(told["name"], told["version"], BuildString(told["build"]), told["build_number"], subdir,
                            noarch=told.get("noarch"), depends=told["depends"],
                            sha256=bytes.fromhex(told["sha256"]), md5=bytes.fromhex(told["md5"]), size=told["size"])
    return RepoDataRecord(package, name, url, channel)


async def main(prefix, cache, solve=None, explicit=None):
    records = await solved(*solve) if solve else [record(line) for line in explicit]
    await install(records, prefix, cache_dir=cache, show_progress=False)


asyncio.run(main(sys.argv[1], sys.argv[2], **json.load(sys.stdin)))
# Without taking the interpreter down: its threads may still be at work then, and have crashed in it.
os._exit(0)
