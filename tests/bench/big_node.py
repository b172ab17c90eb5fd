"""hwloc XML of a node larger than any that is sold: 2 packages of 4 memory nodes of 32 cores with 2 threads each, 8 GPUs
and 10 cards. Each memory node has a PCIe switch with a GPU and a card; two have a second card."""

PACKAGES, NODES_EACH, CORES_EACH, THREADS = 2, 4, 32, 2
NODES = PACKAGES * NODES_EACH
CORES = NODES * CORES_EACH
GPUS, CARDS = NODES, NODES + 2


class Writer:
    def __init__(self):
        self.lines, self.depth, self.last_index = [], 0, 0

    def open(self, what, **attributes):
        self.last_index += 1
        words = "".join(f' {name}="{value}"' for name, value in attributes.items())
        self.lines.append(f'{" " * self.depth}<object type="{what}" gp_index="{self.last_index}"{words}>')
        self.depth += 1

    def close(self):
        self.depth -= 1
        self.lines.append(" " * self.depth + "</object>")


def bits(first, count):
    """hwloc's form of a set of consecutive numbers: words of 32 bits, the highest first."""
    value = ((1 << count) - 1) << first
    words = [f"0x{value >> shift & 0xffffffff:08x}" for shift in range(0, max(32, value.bit_length()), 32)]
    return ",".join(reversed(words))


def sets(first_node, nodes, first_thread=None, threads=None):
    """The attributes that say which threads and memory nodes belong to an object."""
    each = CORES_EACH * THREADS
    cpus = bits(first_node * each, nodes * each) if threads is None else bits(first_thread, threads)
    memory = bits(first_node, nodes)
    return {"cpuset": cpus, "complete_cpuset": cpus, "nodeset": memory, "complete_nodeset": memory}


def xml():
    out = Writer()
    everything = sets(0, NODES)
    out.open("Machine", os_index=0, **everything, allowed_cpuset=everything["cpuset"],
             allowed_nodeset=everything["nodeset"])
    for package in range(PACKAGES):
        out.open("Package", os_index=package, **sets(package * NODES_EACH, NODES_EACH))
        for node in range(package * NODES_EACH, (package + 1) * NODES_EACH):
            memory_node(out, node)
        out.close()
    out.close()
    return ('<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
            '<topology version="2.0">\n' + "\n".join(out.lines) + "\n</topology>\n")


def memory_node(out, node):
    out.open("Group", kind=0, subkind=0, **sets(node, 1))
    out.open("NUMANode", os_index=node, local_memory=96 << 30, **sets(node, 1))
    out.close()
    for core in range(CORES_EACH):
        first = (node * CORES_EACH + core) * THREADS
        out.open("Core", os_index=node * CORES_EACH + core, **sets(node, 1, first, THREADS))
        for thread in range(THREADS):
            out.open("PU", os_index=first + thread, **sets(node, 1, first + thread, 1))
            out.close()
        out.close()
    devices(out, node)
    out.close()


def devices(out, node):
    cards = 2 if node % NODES_EACH == NODES_EACH - 1 else 1
    bus = 0x10 + 0x10 * node
    out.open("Bridge", bridge_type="0-1", depth=0, bridge_pci=f"0000:[{bus:02x}-{bus + 8:02x}]")
    bridge(out, 1, f"0000:{bus:02x}:01.0", bus + 1, bus + 8)
    bridge(out, 2, f"0000:{bus + 1:02x}:00.0", bus + 2, bus + 8)
    bridge(out, 3, f"0000:{bus + 2:02x}:00.0", bus + 3, bus + 3)
    device(out, f"0000:{bus + 3:02x}:00.0", "0302 [10de:2330] [10de:16c1] a1")
    out.close()
    out.close()
    for number in range(cards):
        below = bus + 4 + number
        bridge(out, 3, f"0000:{bus + 2:02x}:{number + 1:02x}.0", below, below)
        device(out, f"0000:{below:02x}:00.0", "0207 [15b3:1021] [15b3:0041] 00")
        name = node + (NODES if number else 0) - (NODES_EACH - 1 if number else 0)
        out.open("OSDev", name=f"mlx5_{name}", osdev_type=3)
        out.lines.append(" " * out.depth + '<info name="Port1State" value="4"/>')
        out.close()
        out.close()
        out.close()
    for _ in range(3):
        out.close()


def bridge(out, depth, address, first, last):
    out.open("Bridge", bridge_type="1-1", depth=depth, bridge_pci=f"0000:[{first:02x}-{last:02x}]",
             pci_busid=address, pci_type="0604 [1000:c030] [0000:0000] 00", pci_link_speed="63.0")


def device(out, address, kind):
    out.open("PCIDev", pci_busid=address, pci_type=kind, pci_link_speed="63.0")
