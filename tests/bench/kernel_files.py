"""The node of big_node.py as Linux shows it in /proc and /sys, for hwloc's HWLOC_FSROOT: what it reads of a node with as
many threads, with caches, frequencies and all that nobody asked for."""

from big_node import CORES_EACH, GPUS, NODES, NODES_EACH, PACKAGES, THREADS

THREADS_EACH = CORES_EACH * THREADS     # of a memory node
COUNT = NODES * THREADS_EACH
CACHES = ((1, "Data", "32K", THREADS), (1, "Instruction", "32K", THREADS), (2, "Unified", "1024K", THREADS),
          (3, "Unified", "32768K", 16))


def mask(first, count):
    value = ((1 << count) - 1) << first
    return ",".join(reversed([f"{value >> shift & 0xffffffff:08x}" for shift in range(0, COUNT, 32)]))


def write(root):
    for path, text in files():
        path = root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else (text + "\n").encode())


def files():
    """(path, content) of all."""
    for name in ("possible", "online", "present"):
        yield f"sys/devices/system/cpu/{name}", f"0-{COUNT - 1}"
    yield "sys/devices/system/node/online", f"0-{NODES - 1}"
    yield "proc/meminfo", "MemTotal:       800000000 kB"
    yield "proc/self/mounts", "proc /proc proc rw 0 0"
    yield "proc/cpuinfo", "\n".join(f"processor\t: {thread}\nvendor_id\t: AuthenticAMD\nmodel name\t: a big one\n"
                                    f"flags\t\t: {'fpu vme de pse tsc msr ' * 40}\n" for thread in range(COUNT))
    for thread in range(COUNT):
        for name, text in of_thread(thread):
            yield f"sys/devices/system/cpu/cpu{thread}/{name}", text
    for node in range(NODES):
        for name, text in of_node(node):
            yield f"sys/devices/system/node/node{node}/{name}", text
        for bus, kind in ((1, "0x030200 0x10de 0x2330"), (2, "0x020700 0x15b3 0x1021")):
            for name, text in zip(("class", "vendor", "device"), kind.split()):
                yield f"sys/bus/pci/devices/0000:{16 * node + bus:02x}:00.0/{name}", text
            yield f"sys/bus/pci/devices/0000:{16 * node + bus:02x}:00.0/config", bytes(256)
            yield (f"sys/bus/pci/devices/0000:{16 * node + bus:02x}:00.0/local_cpus",
                   mask(node * THREADS_EACH, THREADS_EACH))
    assert GPUS == NODES


def of_thread(thread):
    core, package = thread // THREADS, thread // (COUNT // PACKAGES)
    of_core, of_package = mask(core * THREADS, THREADS), mask(package * COUNT // PACKAGES, COUNT // PACKAGES)
    yield from (("topology/core_cpus", of_core), ("topology/thread_siblings", of_core),
                ("topology/package_cpus", of_package), ("topology/core_siblings", of_package),
                ("topology/die_cpus", of_package), ("topology/physical_package_id", str(package)),
                ("topology/die_id", "0"), ("topology/core_id", str(core % (NODES_EACH * CORES_EACH))),
                ("online", "1"), ("cpufreq/cpuinfo_max_freq", "3700000"), ("cpufreq/base_frequency", "2400000"))
    for index, (level, kind, size, shared) in enumerate(CACHES):
        for name, text in (("level", str(level)), ("type", kind), ("size", size), ("id", str(thread // shared)),
                           ("shared_cpu_map", mask(thread // shared * shared, shared)),
                           ("coherency_line_size", "64"), ("number_of_sets", "64"), ("physical_line_partition", "1")):
            yield f"cache/index{index}/{name}", text


def of_node(node):
    yield "cpumap", mask(node * THREADS_EACH, THREADS_EACH)
    yield "meminfo", f"Node {node} MemTotal:       100000000 kB"
    yield "distance", " ".join("10" if other == node else "20" for other in range(NODES))
