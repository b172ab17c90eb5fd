"""Maps of machines that chance has made, in NCCL's format: the oracle's, from every rank, in whatever order it is told."""

import os
import random
import xml.etree.ElementTree as ElementTree

import oracle
import pytest
from test_maps import assert_best


def machine(chance):
    """(<system>, processors): memory nodes with processors, switches in switches, devices anywhere."""
    system = ElementTree.Element("system", version="1")
    bus = iter(chance.sample(range(256), 64))
    devices = [("gpu", n) for n in range(chance.randint(1, 6))] + [("nic", n) for n in range(chance.randint(1, 5))]
    chance.shuffle(devices)
    first = 0
    places = []
    for node in range(chance.randint(1, 4)):
        count = chance.randint(0 if node else 1, 7)
        cpu = ElementTree.SubElement(system, "cpu", numaid=str(node), affinity=f"{((1 << count) - 1) << first:x}")
        first += count
        places.append(cpu)
        for _ in range(chance.randint(0, 3)):
            above = chance.choice([cpu, *cpu.iter("pci")])
            places.append(ElementTree.SubElement(above, "pci", busid=f"0000:{next(bus):02x}:00.0", **{"class": "0x060400"}))
    for kind, number in devices:
        pci = ElementTree.SubElement(chance.choice(places), "pci", busid=f"0000:{next(bus):02x}:00.0",
                                     **{"class": "0x030200" if kind == "gpu" else "0x020700"})
        if kind == "gpu":
            ElementTree.SubElement(pci, "gpu", dev=str(number))
        else:
            ElementTree.SubElement(ElementTree.SubElement(pci, "nic"), "net", name=f"mlx5_{number}", speed="200000", port="1")
    remove_empty(system)
    return system, first


def remove_empty(element):
    """A switch with nothing at it would be a device of a kind that nobody knows."""
    for child in list(element):
        remove_empty(child)
        if child.tag == "pci" and child.get("class") == "0x060400" and child.find("pci") is None:
            element.remove(child)


def shuffled(chance, element):
    children = [shuffled(chance, child) for child in element]
    chance.shuffle(children)
    copy = ElementTree.Element(element.tag, element.attrib)
    copy.extend(children)
    return copy


@pytest.mark.parametrize("seed", range(60))
def test_the_map_is_the_best(launcher, tmp_path, seed):
    chance = random.Random(seed)
    system, processors = machine(chance)
    path = tmp_path / "node.xml"
    path.write_text(ElementTree.tostring(system, "unicode"))
    arguments = [f"--ranks={chance.randint(1, 9)}"]
    if processors > 2 and chance.random() < 0.4:
        arguments.append("--cpus=" + ",".join(map(str, sorted(chance.sample(range(processors), processors // 2)))))
    if chance.random() < 0.3:
        arguments.append("--system-cores=2")
    assert_best(launcher, path, oracle.read(path), arguments)

    told = launcher.text("--json", f"--topology={path}", *arguments)
    path.write_text(ElementTree.tostring(shuffled(chance, system), "unicode"))
    assert launcher.text("--json", f"--topology={path}", *arguments) == told
    for rank in range(2):
        environment = {**os.environ, "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank)}
        done = launcher.run("--dry-run", "--json", f"--topology={path}", *arguments, env=environment)
        assert (done.returncode, done.stdout) == (0, told)


def in_groups(gpus, cards, groups, below):
    """A <system> with as many GPUs and cards in each group: a switch of its own, or a memory node."""
    system = ElementTree.Element("system", version="1")
    for group in range(groups):
        if group == 0 or below == "cpu":
            place = cpu = ElementTree.SubElement(system, "cpu", numaid=str(group), affinity=f"{0xff << 8 * group:x}")
        if below == "switch":
            place = ElementTree.SubElement(cpu, "pci", busid=f"0000:{group:02x}:00.0", **{"class": "0x060400"})
        for number in range(gpus // groups):
            pci = ElementTree.SubElement(place, "pci", busid=f"0000:{group:02x}:{1 + number // 8:02x}.{number % 8}",
                                         **{"class": "0x030200"})
            ElementTree.SubElement(pci, "gpu", dev=str(group * (gpus // groups) + number))
        for number in range(cards // groups):
            pci = ElementTree.SubElement(place, "pci", busid=f"0000:{group:02x}:{8 + number // 8:02x}.{number % 8}",
                                         **{"class": "0x020700"})
            ElementTree.SubElement(ElementTree.SubElement(pci, "nic"), "net", speed="200000", port="1",
                                   name=f"mlx5_{group * (cards // groups) + number}")
    return system


@pytest.mark.parametrize("gpus, cards, groups, below", [
    (8, 32, 1, "cpu"), (8, 40, 1, "cpu"), (16, 32, 1, "cpu"), (8, 64, 1, "cpu"), (32, 64, 1, "cpu"),
    (8, 64, 8, "switch"), (16, 32, 2, "cpu"), (32, 64, 4, "cpu"), (32, 16, 4, "cpu"), (32, 64, 16, "switch"),
])
def test_where_many_cards_are_alike_each_gpu_has_its_rail(launcher, tmp_path, gpus, cards, groups, below):
    """As in a virtual machine that hides its bus: all are equally far from all."""
    path = tmp_path / "node.xml"
    path.write_text(ElementTree.tostring(in_groups(gpus, cards, groups, below), "unicode"))
    map = launcher.map(f"--topology={path}", f"--ranks={gpus}")
    assert (map["objective"]["rails"], map["objective"]["proven"]) == (0, True), map["objective"]
    assert [gpu["nic"] for gpu in map["gpus"]] == [f"mlx5_{gpu * cards // gpus}" for gpu in range(gpus)]
