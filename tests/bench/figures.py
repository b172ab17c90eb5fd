"""The figures of a suite: collected, shown as a table, kept as JSON."""

import json
from dataclasses import asdict

import surroundings


class Figures:
    def __init__(self, facts):
        self.facts = facts                  # {what: text}, of the machine
        self.load_before = surroundings.load()
        self.comparisons = []
        self.values = []                    # (name, value, unit, limit), of what is no comparison

    def add(self, comparison):
        self.comparisons.append(comparison)
        return comparison

    def value(self, name, value, unit, limit=None):
        """A single figure beside the comparisons, such as the most memory a process had."""
        self.values.append((name, value, unit, limit))
        return value

    def text(self):
        facts = {**self.facts, "load": f"{self.load_before} before, {surroundings.load()} after"}
        width = max(map(len, facts))
        lines = [f"{name:{width}}  {text}" for name, text in facts.items()]
        for one in self.comparisons:
            lines += ["", f"{one.name}: {one.verdict}", *_rows(one)]
        lines += [""] * bool(self.values)
        for name, value, unit, limit in self.values:
            lines.append(f"{name}: {value:.4g} {unit}" + (f" (limit {limit:g})" if limit is not None else ""))
        return "\n".join(lines) + "\n"

    def json(self):
        return json.dumps({
            "surroundings": {**self.facts, "load": [self.load_before, surroundings.load()]},
            "comparisons": [{**asdict(one), "pairs": one.pairs, "spread": one.spread, "verdict": one.verdict}
                            for one in self.comparisons],
            "values": [dict(zip(("name", "value", "unit", "limit"), row)) for row in self.values],
        }, indent=1) + "\n"


def _rows(one):
    def row(head, cost, interval, unit=""):
        return f"  {head}  {cost:>12}  {interval.median:10.4g} [{interval.low:.4g}, {interval.high:.4g}]{unit}"

    def cost(costs):
        return f"{sorted(costs)[len(costs) // 2]:.4g} {one.unit}"

    width = max(map(len, (one.a, one.b, "A again")))
    yield f"  {'A ' + one.a:{width + 2}}  {cost(one.costs_a):>12}"
    yield row(f"{'B ' + one.b:{width + 2}}", cost(one.costs_b), one.ratio, " times A")
    yield row(" " * (width + 2), "", one.difference, f" {one.unit} more than A")
    yield row(f"{'A again':{width + 2}}", cost(one.costs_again), one.against_itself,
              f" times A; {one.pairs} pairs")
