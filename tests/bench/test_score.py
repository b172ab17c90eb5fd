"""The score table of launcher/SCORES.md: what rules come to on the machines of the test data. No time is measured.

PINSTEP_WRITE_GOLDEN=1 writes the table anew.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import BUILD, TOP

sys.path.append(str(TOP / "tests/launcher"))
from machines import GPUS, MACHINES     # noqa: E402

PAGE = TOP / "launcher/SCORES.md"
BEGIN, END = "<!-- table -->\n", "<!-- end -->\n"
RULES = ["pinstep", "round-robin", "block", "nearest", "nccl", "nccl-isolated"]
HEAD = ["machine", "GPUs x cards", "pinstep", "round robin", "block", "nearest", "NCCL, sees all", "NCCL, isolated",
        "off: pinstep", "off: linear cores"]


def scores(path, gpus):
    done = subprocess.run([BUILD / "bin/pinstep-launch", "--dry-run", "--json", "--score", "--ignore-link",
                           f"--ranks={gpus}", f"--topology={path}"], text=True, capture_output=True, check=True)
    found = json.loads(done.stdout)
    return found, {score["rule"]: score for score in found["scores"]}


def cell(score):
    worst = [level for level, gpus in score["gpus_at"].items() if gpus][-1]
    return f"{score['bandwidth']:.2f} {worst}"


def row(name, path, gpus):
    found, rules = scores(path, gpus)
    best = rules["pinstep"]["bandwidth"]
    cells = [cell(rules[rule]) for rule in RULES]
    cells = [text if rules[rule]["bandwidth"] == best else f"**{text}**" for rule, text in zip(RULES, cells)]
    return [name, f"{gpus} x {len(found['nics'])}", *cells, f"{found['objective']['off']} of {gpus}",
            f"{rules['linear-cores']['off']} of {gpus}"]


def table(topologies):
    rows = [HEAD, ["---"] * len(HEAD)]
    rows += [row(name, topologies / path, GPUS[name]) for name, path in MACHINES.items() if GPUS[name]]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in rows)


def test_deliberate_failure_is_seen():
    assert cell({"bandwidth": 2, "gpus_at": {"PIX": 1, "SYS": 1}}) == "2.00 PIX"


def test_the_table_in_the_docs(work):
    topologies = Path(os.environ.get("PINSTEP_TESTDATA", "/nonexistent")) / "topology"
    if not topologies.is_dir():
        pytest.skip(f"no test data: {topologies}")
    made = table(topologies)
    (work / "results.txt").write_text(made)
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    committed, after = rest.split(END)
    if os.environ.get("PINSTEP_WRITE_GOLDEN"):
        PAGE.write_text(before + BEGIN + made + END + after)
        committed = made
    assert committed == made
