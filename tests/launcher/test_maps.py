"""`pinstep-launch --dry-run` on real machines: against the oracle, published answers, and golden texts."""

import functools
import os
from pathlib import Path

import oracle
import pytest
from machines import GPUS, MACHINES

GOLDEN = Path(__file__).parent / "golden"
OWN = Path(__file__).parent / "data/two-sockets.xml"

# name: options after --ranks=
SHAPES = {
    "all": lambda gpus, half: [gpus],
    "one-rank": lambda gpus, half: [1],
    "fewer": lambda gpus, half: [max(1, gpus // 2)],
    "two-each": lambda gpus, half: [max(1, gpus // 2), "--gpus-per-rank=2"],
    "more": lambda gpus, half: [2 * gpus],
    "odd": lambda gpus, half: [gpus + 1],
    "one-gpu": lambda gpus, half: [1, "--gpus=0"],
    "half-the-cpus": lambda gpus, half: [gpus, f"--cpus={half}"],
    "last-gpus": lambda gpus, half: [max(1, gpus // 2), f"--gpus={gpus // 2}-{gpus - 1}"],
    "no-gpus": lambda gpus, half: [gpus, "--gpus=none"],
    "system": lambda gpus, half: [gpus, "--system-cores=3"],
}
# What a machine without GPUs can be asked.
NEEDS_GPUS = {"one-gpu", "last-gpus", "two-each"}
CASES = [(machine, shape) for machine in MACHINES for shape in SHAPES if GPUS[machine] or shape not in NEEDS_GPUS]


def cpus(text):
    found = set()
    for piece in filter(None, (text or "").split(",")):
        first, _, last = piece.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def as_list(numbers):
    return ",".join(map(str, sorted(numbers)))


def options(machine, shape, topology):
    allowed = sorted(topology.allowed)
    half = as_list(allowed[:len(allowed) // 2])
    ranks, *more = SHAPES[shape](GPUS[machine], half)
    if not half:    # no processors to halve
        more = [option for option in more if not option.startswith("--cpus=")]
    return [f"--ranks={max(1, ranks)}", "--ignore-link", *more]


@functools.cache
def read(path):
    return oracle.read(path)


def allowed_by(arguments, topology):
    given = [argument.partition("=")[2] for argument in arguments if argument.startswith("--cpus=")]
    return topology.allowed & cpus(given[0]) if given else topology.allowed


def assert_best(launcher, path, topology, arguments, best_of=oracle.best_cards):
    found = launcher.map(f"--topology={path}", *arguments)
    check_cards(found, topology, best_of)
    kept = [int(argument.partition("=")[2]) for argument in arguments if argument.startswith("--system-cores=")]
    check_cores(found, topology, allowed_by(arguments, topology), sum(kept))
    assert found["objective"]["proven"]


def test_deliberate_failure_is_seen(launcher):
    """Fails, as it must: see `deliberate` in tests/suites.ini. One card for all is not the best."""
    assert_best(launcher, OWN, oracle.read(OWN), ["--ranks=4"], lambda levels: (0,) * len(levels))


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("name", ["two-sockets", "four-gpus", "eight-gpus"])
def test_a_machine_of_our_own(launcher, name, ranks):
    path = OWN.with_name(f"{name}.xml")
    assert_best(launcher, path, oracle.read(path), [f"--ranks={ranks}"])


def check_cards(found, topology, best_of):
    by_bus = {gpu.bus: gpu for gpu in topology.gpus}
    used = sorted({gpu for rank in found["ranks"] for gpu in rank["gpus"]})
    by_name = {nic.name: nic for nic in topology.nics}
    nics = [by_name[nic["name"]] for nic in found["nics"]]
    assert all(found["gpus"][g]["nic"] is None for g in range(len(found["gpus"])) if g not in used)
    if not used or not nics:
        return
    levels = [[oracle.level(by_bus[found["gpus"][g]["bus"]], nic) for nic in nics] for g in used]
    names = [nic.name for nic in nics]
    choice = tuple(names.index(found["gpus"][g]["nic"]) for g in used)
    assert [found["gpus"][g]["level"] for g in used] == [levels[i][n] for i, n in enumerate(choice)]
    bandwidth, level_sum, rails, _ = oracle.cost(levels, choice)
    said = found["objective"]
    assert (said["bandwidth"], said["levels"], said["rails"]) == (round(float(-bandwidth), 2), level_sum, rails)
    assert choice == best_of(levels)


def check_cores(found, topology, allowed, kept=0):
    cores = [core for core in topology.cores if core.cpus & allowed]
    cores_of = {}
    for core in cores:
        cores_of[core.node] = cores_of.get(core.node, 0) + 1
    homes = [frozenset().union(*(cpus(found["gpus"][gpu]["memory_nodes"]) for gpu in rank["gpus"]))
             for rank in found["ranks"]]
    best = oracle.best_cores(homes, cores_of, kept)
    if best is None:
        assert all(rank["cpus"] is None for rank in found["ranks"])
        return
    taken = set()
    off = 0
    for rank, home in zip(found["ranks"], homes):
        mine = cpus(rank["cpus"])
        own = [core for core in cores if core.cpus & mine]
        assert mine and not mine & taken
        assert mine == frozenset().union(*(core.cpus & allowed for core in own)), "whole cores only"
        assert rank["cores"] == len(own)
        nodes = {core.node for core in own}
        assert rank["memory_node"] == (nodes.pop() if len(nodes) == 1 else None)
        off += bool(home) and any(core.node not in home for core in own)
        taken |= mine
    counts = [rank["cores"] for rank in found["ranks"]]
    said = found["objective"]
    assert (said["off"], said["cores"], said["spread"]) == (off, sum(counts), max(counts) - min(counts))
    if not any(homes):
        dealt = sum(cores_of.values()) - kept
        best = (0, dealt, dealt % len(homes) > 0)
    assert (off, sum(counts), max(counts) - min(counts)) == best


@pytest.mark.parametrize("machine, shape", CASES)
def test_the_map_is_the_oracles(launcher, topologies, machine, shape):
    path = topologies / MACHINES[machine]
    topology = read(path)
    assert_best(launcher, path, topology, options(machine, shape, topology))


@pytest.mark.parametrize("machine", MACHINES)
def test_the_cards_are_those_of_the_filter(launcher, topologies, machine):
    path = topologies / MACHINES[machine]
    found = launcher.map(f"--topology={path}", "--ranks=1", "--ignore-link")
    assert [nic["name"] for nic in found["nics"]] == [nic.name for nic in oracle.usable(read(path).nics, True)]


@pytest.mark.parametrize("machine", [machine for machine in MACHINES if GPUS[machine]])
def test_other_rules_come_to_what_the_oracle_says(launcher, topologies, machine):
    topology = read(topologies / MACHINES[machine])
    found = launcher.map(f"--topology={topologies / MACHINES[machine]}", f"--ranks={GPUS[machine]}", "--ignore-link",
                         "--score")
    by_name = {nic.name: nic for nic in topology.nics}
    nics = [by_name[nic["name"]] for nic in found["nics"]]
    levels = [[oracle.level(gpu, nic) for nic in nics] for gpu in topology.gpus]
    names = [nic.name for nic in nics]
    choices = {"pinstep": tuple(names.index(gpu["nic"]) for gpu in found["gpus"]),
               **oracle.peers(levels, range(len(levels)))}
    scores = {score["rule"]: score for score in found["scores"]}
    for rule, choice in choices.items():
        score = scores[rule]
        bandwidth, level_sum, _, _ = oracle.cost(levels, choice)
        assert (score["bandwidth"], score["levels"]) == (round(float(-bandwidth), 2), level_sum)
        far = [levels[g][n] for g, n in enumerate(choice)]
        assert score["gpus_at"] == {level: far.count(level) for level in oracle.LEVELS}
        assert score["cards"] == len(set(choice))
    homes = [cpus(found["gpus"][rank["gpus"][0]]["memory_nodes"]) for rank in found["ranks"]]
    nodes = {core.node for core in topology.cores if core.cpus & topology.allowed}
    assert scores["pinstep"].get("off") == found["objective"]["off"]
    assert scores["linear-cores"]["off"] == oracle.linear_off(homes, nodes)
    assert set(scores) == {*choices, "linear-cores"}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_texts_are_the_golden_ones(launcher, topologies, machine):
    """PINSTEP_WRITE_GOLDEN=1 writes them anew: look at the difference."""
    path = topologies / MACHINES[machine]
    topology = read(path)
    text = ""
    for shape in (shape for name, shape in CASES if name == machine):
        arguments = options(machine, shape, topology)
        text += f"$ {' '.join(arguments)}\n" + launcher.text(f"--topology={path}", *arguments) + "\n"
    text = text.replace(f"{path.parent}/", "")
    golden = GOLDEN / f"{machine}.txt"
    if os.environ.get("PINSTEP_WRITE_GOLDEN"):
        golden.write_text(text)
    assert text == golden.read_text()


# ---- what is published of these machines

@pytest.mark.parametrize("machine, bandwidth, cards", [
    ("booster", 4.00, ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]),
    ("meluxina", 2.00, ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"]),
    ("juwels", 2.00, ["mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"]),
    ("lassen", 2.80, ["mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"]),
    ("tioga", 4.00, ["hsi0", "hsi0", "hsi1", "hsi1", "hsi2", "hsi2", "hsi3", "hsi3"]),
    ("pascal", 1.00, ["mlx5_0"] * 2),
    ("g4dn", 1.00, ["rdmap197s0"] * 8),
    ("turin", 4.00, ["mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5"]),
    ("p4d", 4.00, [f"0000:{bus}:1b.0" for bus in ("10", "10", "20", "20", "90", "90", "a0", "a0")]),
    ("ndv5", 8.00, [f"010{n}:00:00.0" for n in range(1, 9)]),
    ("3p-pcie", 1.00, ["mlx5_0"] * 3),
    ("4p1h", 1.00, ["eno1"] * 4),
    ("4p4h", 16.00, [f"mlx5_{n}" for n in (12, 11, 13, 6, 9, 7, 8, 10, *range(14, 22))]),
    ("8p1h", 4.00, [f"mlx5_{n}" for n in (3, 3, 1, 1, 7, 7, 5, 5)]),
])
def test_published_cards(launcher, topologies, machine, bandwidth, cards):
    found = launcher.map(f"--topology={topologies / MACHINES[machine]}", f"--ranks={GPUS[machine]}", "--ignore-link")
    assert [gpu["nic"] for gpu in found["gpus"]] == cards
    assert found["objective"]["bandwidth"] == bandwidth


@pytest.mark.parametrize("machine, bandwidth", [
    ("ndv4", 8.00), ("8p6l-3nic", 3.00), ("8p6l-5nic", 4.50), ("8p6l-6nic", 5.00), ("8p-940vm", 6.00),
    ("16p1h-vm", 8.00), ("8p-ts1", 2.00), ("8p-rome", 2.00),
])
def test_published_bandwidth(launcher, topologies, machine, bandwidth):
    """Where several choices of cards are as good."""
    found = launcher.map(f"--topology={topologies / MACHINES[machine]}", f"--ranks={GPUS[machine]}")
    assert found["objective"]["bandwidth"] == bandwidth


@pytest.mark.parametrize("machine, nodes, near", [
    ("booster", [3, 1, 7, 5], ["18-23,66-71", "6-11,54-59", "42-47,90-95", "30-35,78-83"]),
    ("meluxina", [3, 1, 7, 5], ["24-31,88-95", "8-15,72-79", "56-63,120-127", "40-47,104-111"]),
    ("turin", [1, 2, 6, 7], ["16-31,144-159", "32-47,160-175", "96-111,224-239", "112-127,240-255"]),
    ("tioga", [3, 3, 1, 1, 0, 0, 2, 2], None),
    ("lassen", [0, 0, 8, 8], ["8-87", "8-87", "96-175", "96-175"]),
    ("juwels", [0, 0, 1, 1], ["0-19,40-59"] * 2 + ["20-39,60-79"] * 2),
    ("pascal", [0, 0], ["0-17,36-53"] * 2),
    ("g4dn", [0] * 4 + [1] * 4, ["0-23,48-71"] * 4 + ["24-47,72-95"] * 4),
])
def test_published_cores(launcher, topologies, machine, nodes, near):
    found = launcher.map(f"--topology={topologies / MACHINES[machine]}", f"--ranks={GPUS[machine]}")
    assert [int(gpu["memory_nodes"]) for gpu in found["gpus"]] == nodes
    assert [rank["memory_node"] for rank in found["ranks"]] == nodes
    for rank, text in zip(found["ranks"], near or []):
        assert cpus(rank["cpus"]) <= cpus(text)
        assert text != near[0] or near.count(text) > 1 or cpus(rank["cpus"]) == cpus(text)


def test_gpus_far_from_all_processors_that_are_allowed(launcher, topologies):
    found = launcher.map(f"--topology={topologies / MACHINES['turin-part']}", "--ranks=4", "--ignore-link")
    assert [gpu["memory_nodes"] for gpu in found["gpus"]] == ["1", "2", "6", "7"]
    assert [rank["cpus"] for rank in found["ranks"]] == ["0-3", "4-7", "8-11", "12-15"]
    assert found["objective"]["off"] == 4


def test_cards_without_a_link_are_left_out(launcher, topologies):
    found = launcher.map(f"--topology={topologies / MACHINES['turin']}", "--ranks=4")
    assert [nic["name"] for nic in found["nics"]] == ["mlx5_4", "mlx5_5"]
    assert {"name": "mlx5_0", "reason": "link down"} in found["dropped"]
    assert {"name": "eno6", "reason": "ethernet beside fabric"} in found["dropped"]


@pytest.mark.parametrize("arguments", [
    ["--ranks=2", "--gpus=9", "turin"], ["--ranks=4", "--gpus-per-rank=2", "turin"],
])
def test_gpus_that_are_not_there(launcher, topologies, arguments):
    *arguments, machine = arguments
    done = launcher.run("--dry-run", *arguments, f"--topology={topologies / MACHINES[machine]}")
    assert done.returncode == 125 and "GPU" in done.stderr


# ---- this machine

def test_a_map_of_this_node(launcher):
    found = launcher.map("--ranks=1")
    assert os.sched_getaffinity(0) <= cpus(found["ranks"][0]["cpus"])
