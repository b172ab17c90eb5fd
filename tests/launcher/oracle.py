"""The right map of a node, found another way: own reading of hwloc's XML, exhaustive search.

Written from the objective alone (launcher/DESIGN.md), sharing nothing with the launcher. Where the search
would be too large it says so: `best_cards` then returns None.
"""

import itertools
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from fractions import Fraction

LEVELS = ("PIX", "PXB", "PHB", "NODE", "PKG", "SYS")
WEIGHTS = dict(zip(LEVELS, map(Fraction, ("1", "1", "0.75", "0.70", "0.60", "0.45"))))
MOST_CASES = 300_000
IO_TYPES = ("Bridge", "PCIDev", "OSDev")


@dataclass
class Device:
    bus: str
    kind: str           # gpu, fabric, roce, ethernet
    name: str
    up: bool
    bridges: list
    nodes: frozenset
    packages: frozenset


@dataclass
class Core:
    cpus: frozenset
    node: int


@dataclass
class Topology:
    gpus: list
    nics: list          # all network devices that have a name
    cores: list
    allowed: frozenset


def bitmap(text):
    """"0x3,,0x1" → the numbers of its bits; an empty word is zero."""
    if not text:
        return frozenset()
    value = 0
    for word in text.split(","):
        value = value << 32 | int(word or "0", 16)
    return frozenset(bit for bit in range(value.bit_length()) if value >> bit & 1)


def bus_key(bus):
    return tuple(int(part, 16) for part in re.split("[:.]", bus))


def read(path):
    root = ElementTree.parse(path).getroot().find("object")
    allowed = bitmap(root.get("allowed_cpuset") or root.get("cpuset"))
    topology = Topology([], [], [], allowed)
    packages = [element for element in root.iter("object") if element.get("type") in ("Package", "Socket")]
    _walk(root, [], topology, packages)
    topology.gpus.sort(key=lambda device: bus_key(device.bus))
    topology.nics.sort(key=lambda device: bus_key(device.bus))
    return topology


def _walk(element, above, topology, packages):
    kind = element.get("type")
    if kind == "Core":
        node, = bitmap(element.get("nodeset"))
        topology.cores.append(Core(bitmap(element.get("cpuset")), node))
    elif kind == "PCIDev":
        device = _device(element, above, packages)
        if device:
            (topology.gpus if device.kind == "gpu" else topology.nics).append(device)
    for child in element.findall("object"):
        _walk(child, [*above, element], topology, packages)


def _device(element, above, packages):
    pci_class, vendor, model = re.match(r"(\w{4}) \[(\w{4}):(\w{4})\]", element.get("pci_type")).groups()
    devices = [child for child in element.findall("object") if child.get("type") == "OSDev"]
    kind, name, up = None, "", True
    if (vendor, pci_class) in (("10de", "0302"), ("10de", "0300")) or vendor == "1002" and pci_class[:2] in ("03", "12"):
        kind = "gpu"
    elif pci_class[:2] == "02":
        verbs = [device for device in devices if device.get("osdev_type") == "3"]
        interfaces = [device for device in devices if device.get("osdev_type") == "2"]
        if not verbs and not interfaces:
            return None
        name = (verbs or interfaces)[0].get("name")
        fast = pci_class in ("0207", "0208") or vendor == "17db" or (vendor == "1d0f" and model.startswith("efa"))
        kind = "fabric" if fast else "roce" if verbs else "ethernet"
        states = [info.get("value") for device in verbs for info in device.findall("info")
                  if re.fullmatch(r"Port\dState", info.get("name"))]
        up = not states or "4" in states
    if not kind:
        return None
    place = next(object for object in reversed(above) if object.get("type") not in IO_TYPES)
    inside = next((object for object in reversed(above) if object.get("type") in ("Package", "Socket")), None)
    nodes = bitmap(place.get("nodeset"))
    return Device(element.get("pci_busid"), kind, name, up,
                  [object for object in above if object.get("type") == "Bridge"], nodes,
                  frozenset(index for index, package in enumerate(packages)
                            if package is inside or inside is None and nodes & bitmap(package.get("nodeset"))))


def usable(nics, ignore_link):
    nics = [nic for nic in nics if nic.up or ignore_link]
    for kind in ("fabric", "roce", "ethernet"):
        if any(nic.kind == kind for nic in nics):
            return [nic for nic in nics if nic.kind == kind]
    return []


def level(a, b):
    common = 0
    for mine, other in zip(a.bridges, b.bridges):
        if mine is not other:
            break
        common += 1
    if common > 1:
        below = max(len(a.bridges), len(b.bridges)) - common
        return "PIX" if below <= 1 else "PXB"
    if common == 1:
        return "PHB"
    if len(a.nodes | b.nodes) == 1:
        return "NODE"
    return "PKG" if len(a.packages | b.packages) == 1 else "SYS"


def bandwidth(levels, choice):
    """B of the objective: levels[g][n], choice[g] = n."""
    return sum(min(WEIGHTS[levels[g][n]], Fraction(1, choice.count(n))) for g, n in enumerate(choice))


def cost(levels, choice):
    """The objective's part for cards; the least is the best."""
    gpus, cards = len(levels), len(levels[0])
    return (-bandwidth(levels, choice),
            sum(LEVELS.index(levels[g][n]) for g, n in enumerate(choice)),
            sum(n != g * cards // gpus for g, n in enumerate(choice)),
            choice)


def best_cards(levels):
    if len(levels[0]) ** len(levels) > MOST_CASES:
        return None
    return min(itertools.product(range(len(levels[0])), repeat=len(levels)), key=lambda choice: cost(levels, choice))


# ---- cores

def _flow(homes, cores_of, most):
    """How many cores can be dealt when each rank may have `most` of those at its home: by augmenting paths."""
    left = dict(cores_of)
    has = [dict.fromkeys(cores_of, 0) for _ in homes]

    def augment(rank, seen):
        seen.add(rank)
        for node in homes[rank]:
            if left.get(node, 0):
                left[node] -= 1
                has[rank][node] += 1
                return True
        for node in homes[rank]:
            for other in range(len(homes)):
                if other not in seen and has[other].get(node, 0) and augment(other, seen):
                    has[other][node] -= 1
                    has[rank][node] += 1
                    return True
        return False

    return sum(augment(rank, set()) for rank in range(len(homes)) for _ in range(most))


def best_cores(homes, cores_of):
    """(ranks off their home, cores dealt, spread) of the best dealing; None where there are too few cores.

    homes: of each rank the set of memory nodes, empty for anywhere. cores_of: {memory node: its cores}.
    """
    total = sum(cores_of.values())
    if total < len(homes):
        return None
    anywhere = frozenset(cores_of)
    homes = [home or anywhere for home in homes]
    at_home = []
    for rank in range(len(homes)):
        tried = [*at_home, rank]
        if _flow([homes[r] for r in tried], cores_of, 1) == len(tried):
            at_home = tried
    homes = [homes[r] if r in at_home else anywhere for r in range(len(homes))]
    dealt = _flow(homes, cores_of, total)
    fewest = max(n for n in range(1, total + 1) if _flow(homes, cores_of, n) == n * len(homes))
    most = min(n for n in range(1, total + 1) if _flow(homes, cores_of, n) == dealt)
    return len(homes) - len(at_home), dealt, most - fewest
