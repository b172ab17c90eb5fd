"""The statistics of the benchmarks (tests/bench/paired.py): properties, on random numbers."""

import json
import math
import random
import sys
from pathlib import Path
from statistics import median

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))

import paired                   # noqa: E402
from figures import Figures     # noqa: E402

SEED = 20260101                 # the same in every run: whether a test holds is no matter of luck
COUNTS = range(15, 60)

# Name: (draws one value, the true median)
DISTRIBUTIONS = {
    "normal": (lambda dice: dice.gauss(1, 0.1), 1.0),
    "skewed": (lambda dice: dice.expovariate(1), math.log(2)),
    "with outliers": (lambda dice: dice.gauss(1, 0.01) * (1 if dice.random() > 0.2 else 10), None),
    "long tail": (lambda dice: dice.paretovariate(1), 2.0),
}


def sample(dice, count):
    return [dice.lognormvariate(0, 1) for _ in range(count)]


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("count", [15, 18, 30])
def test_intervals_hold_the_true_median_as_often_as_they_say(name, count):
    draw, true = DISTRIBUTIONS[name]
    dice = random.Random(SEED)
    if true is None:
        true = median(draw(dice) for _ in range(100_001))
    tries = 4000
    held = 0
    for _ in range(tries):
        interval = paired.median_interval([draw(dice) for _ in range(count)])
        held += interval.low <= true <= interval.high
    # Three standard deviations of the number of tries.
    assert held / tries >= paired.CONFIDENCE - 3 * math.sqrt(0.95 * 0.05 / tries)


def test_intervals_are_no_wider_than_they_must_be():
    """One value nearer to the middle and they would hold the median in less than 95 % of all cases."""
    for count in COUNTS:
        k = paired.rank_of_bounds(count)
        tail = sum(math.comb(count, i) for i in range(k)) / 2 ** count
        wider = sum(math.comb(count, i) for i in range(k + 1)) / 2 ** count
        assert 2 * tail <= 1 - paired.CONFIDENCE < 2 * wider, count


def test_known_ranks():
    """As in tables of the sign test: 5 % on two sides."""
    assert [paired.rank_of_bounds(count) for count in (5, 6, 9, 12, 15, 20, 25, 30)] == [0, 1, 2, 3, 4, 6, 8, 10]


def test_too_few_values_have_no_interval():
    for count in range(6):
        with pytest.raises(ValueError):
            paired.median_interval([1.0] * count)


def test_intervals_do_not_depend_on_order_and_follow_the_unit():
    dice = random.Random(SEED)
    for count in COUNTS:
        values = sample(dice, count)
        interval = paired.median_interval(values)
        assert interval.low <= interval.median <= interval.high
        assert paired.median_interval(dice.sample(values, count)) == interval
        assert paired.median_interval([4 * value for value in values]) == tuple(4 * bound for bound in interval)


def comparison(costs_a, costs_b, costs_again):
    return paired.Comparison("c", "a", "b", "ms", costs_a, costs_b, costs_again)


def test_swapping_the_sides_inverts_the_result():
    dice = random.Random(SEED)
    opposite = {"B costs more": "B costs less", "B costs less": "B costs more"}
    for factor in (0.8, 1.0, 1.25):
        a = [dice.gauss(1, 0.01) for _ in range(19)]
        b = [factor * dice.gauss(1, 0.01) for _ in range(19)]
        there, back = comparison(a, b, a), comparison(b, a, b)
        assert back.verdict == opposite.get(there.verdict, there.verdict)
        assert back.ratio == pytest.approx((1 / there.ratio.median, 1 / there.ratio.high, 1 / there.ratio.low))
        assert back.difference == pytest.approx((-there.difference.median, -there.difference.high, -there.difference.low))


def test_what_disturbs_both_sides_of_a_pair_does_not_count():
    """A machine that gets slower and slower, ten times in all: the ratio is exact."""
    load = [1 + i / 2 for i in range(18)]
    found = comparison(load, [1.1 * one for one in load], load)
    assert found.ratio == pytest.approx((1.1, 1.1, 1.1)) and found.verdict == "B costs more"


@pytest.mark.parametrize("spread, verdict", [(0.0, "B costs more"), (0.04, "B costs more"), (0.06, "inconclusive"),
                                             (-0.04, "B costs more"), (-0.06, "inconclusive")])
def test_a_against_a_decides_whether_anything_can_be_told(spread, verdict):
    found = comparison([1.0] * 15, [2.0] * 15, [1 + spread] * 15)
    assert found.verdict == verdict and found.is_conclusive == (verdict != "inconclusive")


def test_equal_sides_are_seldom_called_different():
    dice = random.Random(SEED)
    tries = 1000
    wrong = sum(comparison(*([dice.gauss(1, 0.02) for _ in range(18)] for _ in range(3))).verdict
                not in ("no difference seen", "inconclusive") for _ in range(tries))
    assert wrong / tries <= 0.05 + 3 * math.sqrt(0.95 * 0.05 / tries)


# ---- measuring

class Worker:
    """A side that keeps a record and takes no time."""

    def __init__(self, name, record, cost=1.0, result="done", spawns=20):
        self.side = paired.Side(name, self.work, self.look)
        self.name, self.record, self.cost, self.outcome, self.spawns = name, record, cost, result, spawns

    def work(self):
        self.record.append(self.name)
        return paired.Portion(self.cost, self.spawns)

    def look(self):
        self.record.append(self.name.upper())
        return self.outcome


def test_the_sides_take_turns_and_each_does_enough():
    record = []
    found = paired.compare("c", Worker("a", record).side, Worker("b", record, 3.0).side, "ms")
    assert record[:2] == ["A", "B"]
    rounds = ["".join(record[i:i + 3]) for i in range(2, len(record), 3)]
    assert found.pairs == len(rounds) == 18 and set(map("".join, map(sorted, rounds))) == {"aab"}
    assert {order: rounds.count(order) for order in rounds} == {"aba": 6, "aab": 6, "baa": 6}
    assert found.ratio == (3.0, 3.0, 3.0) and found.difference == (2.0, 2.0, 2.0)
    assert found.against_itself == (1.0, 1.0, 1.0)


def test_small_portions_are_repeated_until_there_are_enough_spawns():
    record = []
    found = paired.compare("c", Worker("a", record, spawns=5).side, Worker("b", record, spawns=7).side, "ms")
    assert found.pairs == paired.LEAST_SPAWNS / 5


def test_without_spawns_time_is_what_counts():
    moments = iter(range(10 ** 6))
    side = Worker("a", [], spawns=0).side
    found = paired.compare("c", side, side, "s", clock=lambda: next(moments) / 64)      # a turn takes 1/64 s
    assert found.pairs == paired.LEAST_SECONDS * 64


def test_sides_with_different_results_are_not_measured():
    record = []
    with pytest.raises(paired.ResultsDiffer, match="'a' gave 'one', 'b' gave 'two'"):
        paired.compare("c", Worker("a", record, result="one").side, Worker("b", record, result="two").side, "ms")
    assert record == ["A", "B"]
    near = paired.compare("c", Worker("a", record, result=1.0).side, Worker("b", record, result=1.01).side, "ms",
                          same=lambda left, right: abs(left - right) < 0.1)
    assert near.pairs == 18


def test_few_pairs_are_refused():
    with pytest.raises(ValueError):
        paired.compare("c", Worker("a", []).side, Worker("b", []).side, "ms", pairs=14)


# ---- showing

def test_figures_as_text_and_as_json():
    figures = Figures({"system": "Linux", "file system": "ext4 at /"})
    figures.add(comparison([1.0] * 15, [2.0] * 15, [1.0] * 15))
    figures.value("most memory", 1024, "KiB", 8192)
    text = figures.text()
    assert text.startswith("system       Linux\nfile system  ext4 at /\nload         ")
    assert text.partition("\n\n")[2] == (
        "c: B costs more\n"
        "  A a                1 ms\n"
        "  B b                2 ms           2 [2, 2] times A\n"
        "                                    1 [1, 1] ms more than A\n"
        "  A again            1 ms           1 [1, 1] times A; 15 pairs\n"
        "\n"
        "most memory: 1024 KiB (limit 8192)\n")
    read = json.loads(figures.json())
    assert read["surroundings"]["system"] == "Linux" and len(read["surroundings"]["load"]) == 2
    one, = read["comparisons"]
    assert (one["verdict"], one["pairs"], one["spread"]) == ("B costs more", 15, 0)
    assert one["ratio"] == [2, 2, 2]
    assert read["values"] == [{"name": "most memory", "value": 1024, "unit": "KiB", "limit": 8192}]
