"""The right map of a node, found another way: own reading of hwloc's and NCCL's XML, exhaustive search.

Written from the objective alone (launcher/DESIGN.md), sharing nothing with the launcher.

Where going through all choices of cards would be too much there are two other ways to the very best choice, neither
of which is the launcher's. Up to MOST_FOR_SETS GPUs: a card's part of the objective depends on the set of its GPUs
alone, so the best for a set of GPUs and the first n cards follows from that for n - 1. Beyond: a certificate, two
bounds that no choice can pass and a choice that reaches both; see `certified`.

Cores are compared with the least cut through the network in which they flow to ranks.
"""

import bisect
import functools
import itertools
import math
import operator
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from fractions import Fraction

LEVELS = ("PIX", "PXB", "PHB", "NODE", "PKG", "SYS")
WEIGHTS = dict(zip(LEVELS, map(Fraction, ("1", "1", "0.75", "0.70", "0.60", "0.45"))))
MOST_CASES = 300_000
MOST_FOR_SETS = 9
IO_TYPES = ("Bridge", "PCIDev", "OSDev")


@dataclass
class Device:
    bus: str
    kind: str           # gpu, fabric, roce, ethernet
    name: str
    up: bool
    place: tuple        # what tells how far it is from another: of hwloc or of NCCL
    on_bus: bool = True
    rate: float = 0     # in any unit; 0: not known


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
    root = ElementTree.parse(path).getroot()
    return read_nccl(root) if root.tag == "system" else read_hwloc(root.find("object"))


def read_hwloc(root):
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
    where = next(object for object in reversed(above) if object.get("type") not in IO_TYPES)
    inside = next((object for object in reversed(above) if object.get("type") in ("Package", "Socket")), None)
    nodes = bitmap(where.get("nodeset"))
    place = ([object for object in above if object.get("type") == "Bridge"], nodes,
             frozenset(index for index, package in enumerate(packages)
                       if package is inside or inside is None and nodes & bitmap(package.get("nodeset"))))
    return Device(element.get("pci_busid"), kind, name, up, place, rate=float(element.get("pci_link_speed") or 0))


# ---- NCCL's XML: a <cpu> is a host bridge, a memory node and a package; a <pci> with others in it a switch

def read_nccl(root):
    topology = Topology([], [], [], frozenset())
    for cpu in root.findall("cpu"):
        node = int(cpu.get("numaid"))
        cpus = bitmap(cpu.get("affinity"))
        topology.allowed |= cpus
        topology.cores += [Core(frozenset([number]), node) for number in sorted(cpus)]
        for child in cpu:
            _walk_nccl(child, [cpu], topology)
    topology.gpus.sort(key=lambda device: bus_key(device.bus))
    topology.nics.sort(key=lambda device: bus_key(device.bus))
    return topology


def _walk_nccl(element, above, topology):
    if element.tag == "nic":     # on no bus
        topology.nics += [Device("0:0:0.0", "ethernet", net.get("name"), True, tuple(above), False)
                          for net in element.findall("net")]
    if element.tag != "pci":
        return
    if element.find("pci") is not None:
        for child in element:
            _walk_nccl(child, [*above, element], topology)
        return
    bus, pci_class = element.get("busid"), element.get("class", "0x0")
    place = (tuple(above),)
    if element.find("gpu") is not None or pci_class[2:4] in ("03", "12"):
        topology.gpus.append(Device(bus, "gpu", "", True, place))
    elif element.find("nic") is not None or pci_class[2:4] == "02":
        fast = pci_class[2:6] in ("0207", "0208")
        nets = element.findall("nic/net")
        for net in nets:
            kind = "fabric" if fast else "roce" if int(net.get("port", "0")) > 0 else "ethernet"
            topology.nics.append(Device(bus, kind, net.get("name"), True, place, rate=int(net.get("speed"))))
        if not nets:
            topology.nics.append(Device(bus, "fabric" if fast else "ethernet", bus, True, place))


# ---- levels

def usable(nics, ignore_link):
    nics = [nic for nic in nics if nic.on_bus and (nic.up or ignore_link)]
    for kind in ("fabric", "roce", "ethernet"):
        if any(nic.kind == kind for nic in nics):
            return fastest([nic for nic in nics if nic.kind == kind])
    return []


def fastest(nics):
    """The cards with a port as fast as any, where all rates are known."""
    def rate(card):
        return max(nic.rate for nic in nics if nic.bus.partition(".")[0] == card.bus.partition(".")[0])
    if not all(nic.rate for nic in nics):
        return nics
    return [nic for nic in nics if rate(nic) == max(map(rate, nics))]


def level(a, b):
    if len(a.place) == 1:
        return _level_nccl(a.place[0], b.place[0])
    (bridges, nodes, packages), (other_bridges, other_nodes, other_packages) = a.place, b.place
    common = _common(bridges, other_bridges)
    if common > 1:
        below = max(len(bridges), len(other_bridges)) - common
        return "PIX" if below <= 1 else "PXB"
    if common == 1:
        return "PHB"
    if len(nodes | other_nodes) == 1:
        return "NODE"
    return "PKG" if len(packages | other_packages) == 1 else "SYS"


def _common(one, other):
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a is not b), min(len(one), len(other)))


def _level_nccl(one, other):
    common = _common(one, other)
    if common < 2:
        return ("SYS", "PHB")[common]
    return "PIX" if len(one) == len(other) == common else "PXB"


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
    """The best choice of all: (card of each GPU)."""
    return _best_cards(tuple(map(tuple, levels)))


@functools.cache
def _best_cards(levels):
    if len(levels[0]) ** len(levels) <= MOST_CASES:
        return best_of_all(levels)
    if len(levels) <= MOST_FOR_SETS:
        return best_by_sets(levels, [range(len(levels[0]))] * len(levels))
    return certified(levels)


def best_of_all(levels):
    """By cost(), in whole numbers since there are so many choices."""
    gpus, cards = len(levels), len(levels[0])
    unit = math.lcm(20, *range(1, gpus + 1))
    gets = [[[int(unit * min(WEIGHTS[far], Fraction(1, load))) if load else 0 for load in range(gpus + 1)]
             for far in row] for row in levels]
    far = [[LEVELS.index(one) for one in row] for row in levels]
    rails = [g * cards // gpus for g in range(gpus)]

    def value(choice):
        loads = [choice.count(n) for n in range(cards)]
        return (-sum(gets[g][n][loads[n]] for g, n in enumerate(choice)), sum(far[g][n] for g, n in enumerate(choice)),
                sum(map(operator.ne, choice, rails)), choice)

    return min(itertools.product(range(cards), repeat=gpus), key=value)


def best_by_sets(levels, may, gpus=None, cards=None):
    """The best choice where GPU g has a card of may[g], for these of the GPUs and cards: by sets of GPUs."""
    gpus = list(range(len(levels))) if gpus is None else gpus
    cards = list(range(len(levels[0]))) if cards is None else cards
    unit = math.lcm(20, *range(1, len(levels) + 1))

    def price(gpu, card, load):
        """One number for the whole objective: it is a sum once loads are known."""
        far = levels[gpu][card]
        lost = int(unit * (1 - min(WEIGHTS[far], Fraction(1, load))))
        rail = card != gpu * len(levels[0]) // len(levels)
        order = card * len(levels[0]) ** (len(levels) - 1 - gpu)
        return ((lost * 1000 + LEVELS.index(far)) * 1000 + rail) * len(levels[0]) ** len(levels) + order

    every = (1 << len(gpus)) - 1
    best = {0: (0, ())}
    for card in cards:
        able = sum(1 << i for i, gpu in enumerate(gpus) if card in may[gpu])
        prices = [[price(gpu, card, load) for gpu in gpus] for load in range(1, len(gpus) + 1)]
        of_set = {0: 0}
        taken = able
        while taken:
            row = prices[taken.bit_count() - 1]
            of_set[taken] = sum(row[i] for i in range(len(gpus)) if taken >> i & 1)
            taken = (taken - 1) & able
        longer = dict(best)
        for done, (value, chosen) in best.items():
            free = able & ~done
            taken = free
            while taken:
                found = value + of_set[taken]
                if done | taken not in longer or found < longer[done | taken][0]:
                    longer[done | taken] = found, (*chosen, (card, taken))
                taken = (taken - 1) & free
        best = longer
    return tuple(next(card for card, taken in best[every][1] if taken >> i & 1) for i in range(len(gpus)))


def bandwidth_bound(levels):
    """No choice has more: what each GPU can get, and what each card can give to so many that it gives most."""
    weights = [[WEIGHTS[far] for far in row] for row in levels]
    by_gpus = sum(max(row) for row in weights)
    by_cards = 0
    for column in zip(*weights):
        column = sorted(column, reverse=True)
        by_cards += max(sum(min(weight, Fraction(1, load)) for weight in column[:load])
                        for load in range(1, len(column) + 1))
    return min(by_gpus, by_cards)


def certified(levels):
    """The best choice, or an error where this does not prove it.

    If some choice has the bound's bandwidth and each GPU on one of its nearest cards, then all that are best do. The
    rest of the objective is then a sum over the groups of GPUs and cards that nearness connects.
    """
    nearest = [[n for n, far in enumerate(row) if far == min(row, key=LEVELS.index)] for row in levels]
    choice = [None] * len(levels)
    left = set(range(len(levels)))
    while left:
        gpus, cards = {min(left)}, set()
        while True:
            reached = {n for g in gpus for n in nearest[g]}
            more = {g for g in left if reached & set(nearest[g])}
            if (gpus, cards) == (more, reached):
                break
            gpus, cards = more, reached
        left -= gpus
        assert len(gpus) <= MOST_FOR_SETS, "no certificate: too many GPUs near the same cards"
        for gpu, card in zip(sorted(gpus), best_by_sets(levels, nearest, sorted(gpus), sorted(cards))):
            choice[gpu] = card
    assert bandwidth(levels, choice) == bandwidth_bound(levels), "no certificate: the bound is not reached"
    return tuple(choice)


# ---- what other programs' rules choose, from launcher.md's descriptions and NCCL's sources

def _nccl(levels, devices):
    classes = {"PIX": 0, "PXB": 1, "PHB": 2, "NODE": 2, "PKG": 3, "SYS": 3}
    choice = []
    for row, device in zip(levels, devices):
        least = min(classes[far] for far in row)
        near = [n for n, far in enumerate(row) if classes[far] == least]
        bits = len(near).bit_length() - 1
        if len(near) == 1 << bits:
            device = int(f"{device % len(near):0{bits}b}"[::-1], 2) if bits else 0
        choice.append(near[device % len(near)])
    return tuple(choice)


def peers(levels, devices):
    """{rule: (card of each GPU)}"""
    gpus, cards = len(levels), len(levels[0])
    return {
        "round-robin": tuple(g % cards for g in range(gpus)),
        "block": tuple(g * cards // gpus for g in range(gpus)),
        "nearest": tuple(min(range(cards), key=lambda n: (LEVELS.index(row[n]), n)) for row in levels),
        "nccl": _nccl(levels, devices),
        "nccl-isolated": _nccl(levels, [0] * gpus),
    }


def linear_off(homes, nodes):
    """Ranks off their home when consecutive ranks go on consecutive memory nodes, numbered from 0."""
    on_each = -(-len(homes) // len(nodes))
    return sum(bool(home) and not (rank // on_each in home and rank // on_each in nodes)
               for rank, home in enumerate(homes))


# ---- cores

def _flow(homes, cores_of, most):
    """How many cores can be dealt when each rank may have `most` of those at its home.

    By the least cut: for each choice of kinds of home, the cores these can reach and the most of all other ranks.
    """
    kinds = {}
    for home in homes:
        kinds[home] = kinds.get(home, 0) + 1
    least = None
    for cut in itertools.product((False, True), repeat=len(kinds)):
        reached = frozenset().union(*(home for home, in_cut in zip(kinds, cut) if in_cut))
        found = (sum(cores for node, cores in cores_of.items() if node in reached)
                 + most * sum(count for count, in_cut in zip(kinds.values(), cut) if not in_cut))
        least = found if least is None else min(least, found)
    return least


def best_cores(homes, cores_of, kept=0):
    """(ranks off their home, cores dealt, spread) of the best dealing; None where there are too few cores.

    homes: of each rank the set of memory nodes, empty for anywhere. cores_of: {memory node: its cores}. `kept` cores
    at least stay free.
    """
    total = sum(cores_of.values())
    if total - kept < len(homes):
        return None
    anywhere = frozenset(cores_of)
    homes = [home or anywhere for home in homes]
    at_home = []
    for rank in range(len(homes)):
        tried = [*at_home, rank]
        if _flow([homes[r] for r in tried], cores_of, 1) == len(tried):
            at_home = tried
    homes = [homes[r] if r in at_home else anywhere for r in range(len(homes))]
    numbers = range(1, total + 1)
    dealt = min(_flow(homes, cores_of, total), total - kept)
    fewest = bisect.bisect_left(numbers, True, key=lambda n: n * len(homes) > min(dealt, _flow(homes, cores_of, n)))
    most = bisect.bisect_left(numbers, True, key=lambda n: _flow(homes, cores_of, n) >= dealt)
    return len(homes) - len(at_home), dealt, numbers[most] - numbers[fewest - 1]
