"""Paired comparisons: what does B cost against A?

A and B take turns in one run, so that whatever disturbs the machine disturbs both. What counts is the median
over the pairs, of B's cost divided by A's and of B's cost less A's, each with an interval that holds the true
median with a probability of 95 % whatever the distribution: the order statistics of the sign test. In every
round A runs a second time, and A against A is judged like B against A: an interval that reaches further than
5 % from 1 says that the machine was too busy to tell anything, and the comparison is inconclusive.

The statistics are pure functions of lists; compare() alone runs something.
"""

import itertools
import math
import operator
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Callable, NamedTuple

CONFIDENCE = 0.95
MOST_SPREAD = 0.05      # of A against A
LEAST_PAIRS = 15
LEAST_SECONDS = 1.0     # of each side's work in all; or
LEAST_SPAWNS = 300


class Portion(NamedTuple):
    """What a side did in its turn. `cost` is per piece of work, so that portions may differ in size; smaller
    is better. For processes CPU time, never the time on the clock. `spawns`: processes started, if that is
    what is measured."""
    cost: float
    spawns: int = 0


class Side(NamedTuple):
    name: str
    work: Callable[[], Portion]
    result: Callable[[], Any]       # does the work once and tells what came out of it


class Interval(NamedTuple):
    median: float
    low: float
    high: float


class ResultsDiffer(AssertionError):
    """The two sides do not do the same work: nothing was measured."""


# ---- statistics

def rank_of_bounds(count):
    """The k for which the k-th smallest and the k-th largest of `count` values bound their median with CONFIDENCE:
    fewer than k values lie below it with a probability of at most half of what is left. 0: too few values."""
    k, below = 0, 0.0
    while (below := below + math.comb(count, k) * 0.5 ** count) <= (1 - CONFIDENCE) / 2:
        k += 1
    return k


def median_interval(values):
    k = rank_of_bounds(len(values))
    if k == 0:
        raise ValueError(f"{len(values)} values are too few for an interval")
    ordered = sorted(values)
    return Interval(median(ordered), ordered[k - 1], ordered[-k])


@dataclass(frozen=True)
class Comparison:
    """Costs by round, and what follows from them."""
    name: str
    a: str
    b: str
    unit: str                   # of the costs
    costs_a: list
    costs_b: list
    costs_again: list           # A's second turns
    ratio: Interval = field(init=False)
    difference: Interval = field(init=False)
    against_itself: Interval = field(init=False)

    def __post_init__(self):
        def pairs(operation, left, right):
            return median_interval([operation(*pair) for pair in zip(left, right, strict=True)])

        # Frozen for everybody else.
        object.__setattr__(self, "ratio", pairs(operator.truediv, self.costs_b, self.costs_a))
        object.__setattr__(self, "difference", pairs(operator.sub, self.costs_b, self.costs_a))
        object.__setattr__(self, "against_itself", pairs(operator.truediv, self.costs_again, self.costs_a))

    @property
    def pairs(self):
        return len(self.costs_a)

    @property
    def spread(self):
        return max(self.against_itself.high - 1, 1 - self.against_itself.low)

    @property
    def is_conclusive(self):
        return self.spread <= MOST_SPREAD

    @property
    def verdict(self):
        if not self.is_conclusive:
            return "inconclusive"
        if self.ratio.low > 1:
            return "B costs more"
        return "B costs less" if self.ratio.high < 1 else "no difference seen"


# ---- measuring

def compare(name, a, b, unit, pairs=18, same=operator.eq, clock=time.monotonic):
    """Lets the sides take turns, at least `pairs` times and until each has done enough. `same` says whether
    their results are equal. Raises ResultsDiffer."""
    if pairs < LEAST_PAIRS:
        raise ValueError(f"{pairs} pairs are too few: {LEAST_PAIRS}")
    results = a.result(), b.result()
    if not same(*results):
        raise ResultsDiffer(f"{name}: '{a.name}' gave {results[0]!r}, '{b.name}' gave {results[1]!r}")
    turns = [_Turns(side, clock) for side in (a, b, a)]
    # Every order as often as every other: neither side always comes after the same one.
    orders = itertools.cycle(itertools.permutations(turns))
    while len(turns[0].costs) < pairs or not all(side.is_enough for side in turns):
        for side in next(orders):
            side.take()
    return Comparison(name, a.name, b.name, unit, *(side.costs for side in turns))


class _Turns:
    """What a side has done so far."""

    def __init__(self, side, clock):
        self.work, self.clock = side.work, clock
        self.costs, self.seconds, self.spawns = [], 0.0, 0

    def take(self):
        began = self.clock()
        portion = self.work()
        self.seconds += self.clock() - began
        self.spawns += portion.spawns
        self.costs.append(portion.cost)

    @property
    def is_enough(self):
        return self.spawns >= LEAST_SPAWNS if self.spawns else self.seconds >= LEAST_SECONDS
