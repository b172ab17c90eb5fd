"""What a training step and an all-reduce of pinstep-worker cost, beside PyTorch's and Gloo's own."""

import sys
from pathlib import Path

import pytest

from conftest import BUILD
from paired import compare
from ranks_on_demand import RanksOnDemand

DATA = "/usr/share/datasets/fashion-mnist"
RANKS = 2
BATCH = 64
IMAGES = {"mlp": 5120, "cnn": 2560}     # 40 and 20 steps of each rank in a turn: about a fifth of a second
PAIRS = 45      # of short turns: ranks that wait for each other feel whatever else runs
FLOATS = [1 << 10, 1 << 18, 6553600]     # 4 KiB, 1 MiB, and a bucket of 25 MiB
MOST_OF_PYTORCH = {"mlp": 0.9, "cnn": 1.0}
MOST_OF_GLOO = 1 / 0.95


def openblas():
    """The directory of OpenBLAS's libblas.so.3: Debian's PyTorch takes the reference BLAS by itself, which is many
    times slower."""
    found = sorted(Path("/usr/lib").glob("*/openblas-*/libblas.so.3"))
    assert found, "libopenblas0-pthread is missing"
    return str(found[0].parent)


@pytest.fixture
def ranks():
    """ranks(argv, …): RanksOnDemand that end with the test."""
    started = []

    def start(argv, **variables):
        started.append(RanksOnDemand(argv, RANKS, **variables))
        return started[-1]

    yield start
    for one in started:
        one.end()


COSTS = {
    "time": lambda answers: max(answer["seconds"] for answer in answers),
    # What is left of it where others use the machine, too.
    "CPU time of both": lambda answers: sum(answer["cpu_seconds"] for answer in answers),
}


def mean_losses(answers):
    return [sum(losses) / len(losses) for losses in zip(*(answer["losses"] for answer in answers), strict=True)]


def still(one, other):
    """Once both have learnt for a while the curves are flat and part by chance: the same work, not the same bits."""
    return len(one) == len(other)


def alike(one, other):
    return len(one) == len(other) and all(abs(a - b) <= 2e-3 * max(1, abs(a)) for a, b in zip(one, other))


def test_deliberate_failure_is_seen(figures, ranks):
    """Fails, as it must: see `deliberate` in tests/suites.ini. One side adds up other numbers."""
    one, other = (ranks([str(BUILD / "tests/gloo_loop"), "bare", count]) for count in ("1024", "2048"))
    compare("results differ", *(side.side(name, 1, lambda answers: answers[0]["sum"])
                                for side, name in ((one, "a"), (other, "b"))), "ms")


@pytest.mark.parametrize("model", IMAGES)
def test_a_training_step(figures, ranks, tmp_path, model):
    arguments = [str(tmp_path), str(IMAGES[model]), str(BATCH), DATA, model]
    ours = ranks([str(BUILD / "tests/worker_rank"), *arguments])
    torch = ranks([sys.executable, str(Path(__file__).with_name("torch_rank.py")), *arguments],
                  LD_LIBRARY_PATH=openblas())
    figures.facts["PyTorch"] = f"{torch.told[0]}, BLAS {openblas()}"
    found = [figures.add(compare(f"step of the {model}, 2 ranks, {what}",
                                 *(side.side(name, 1, mean_losses, cost)
                                   for side, name in ((torch, "PyTorch DDP"), (ours, "pinstep-worker"))),
                                 "ms", PAIRS, still if number else alike))
             for number, (what, cost) in enumerate(COSTS.items())]
    for name, side in (("pinstep-worker", ours), ("PyTorch", torch)):
        figures.value(f"most memory of a rank of {name}, {model}", side.peak_bytes() / 2**20, "MiB")
    assert all(one.ratio.low <= MOST_OF_PYTORCH[model] for one in found if one.is_conclusive)


@pytest.mark.parametrize("floats", FLOATS)
def test_an_all_reduce(figures, ranks, floats):
    gloo, ours = (ranks([str(BUILD / "tests/gloo_loop"), how, str(floats)]) for how in ("bare", "transport"))
    count = max(2, 10_000_000 // (floats + 40_000))
    found = figures.add(compare(f"all-reduce of {floats * 4} bytes, 2 ranks",
                                gloo.side("Gloo", count, lambda answers: answers[0]["sum"]),
                                ours.side("Transport", count, lambda answers: answers[0]["sum"]), "ms", PAIRS))
    assert not found.is_conclusive or found.ratio.low <= MOST_OF_GLOO


def test_overlap(figures, ranks):
    """The worker's own paired measurement: steps with one all-reduce after the backward pass, and in buckets."""
    told = ranks([str(BUILD / "bin/pinstep-worker"), "bench", "overlap", "--json"], until_ready=False).all_lines()
    line, = (event for event in told if event["event"] == "overlap")
    figures.value("overlap gain, 40 MB of gradients, 2 ranks on this node",
                  100 * (1 - line["ratio"][0]), "% of a step" + (", inconclusive" if line["inconclusive"] else ""))
    assert line["inconclusive"] or line["ratio"][1] <= 1.05
