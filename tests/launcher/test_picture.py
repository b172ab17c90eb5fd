"""`--svg`: what is drawn is whole, inside what holds it, beside its neighbours, and says what the map says."""

import os
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import pytest
from machines import GPUS, MACHINES

DATA = Path(__file__).parent / "data"
EXAMPLES = Path(__file__).resolve().parents[2] / "launcher/picture"
SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {"svg", "g", "rect", "text", "title", "desc"}


@dataclass
class Area:
    left: float
    top: float
    right: float
    bottom: float

    def holds(self, other):
        return (self.left - 0.2 <= other.left and self.top - 0.2 <= other.top and other.right <= self.right + 0.2
                and other.bottom <= self.bottom + 0.2)

    def meets(self, other):
        return (min(self.right, other.right) - max(self.left, other.left) > 0.2
                and min(self.bottom, other.bottom) - max(self.top, other.top) > 0.2)


def area_of_rect(rect):
    x, y = float(rect.get("x", 0)), float(rect.get("y", 0))
    return Area(x, y, x + float(rect.get("width")), y + float(rect.get("height")))


def area_of_text(text, size=13):
    """Narrower than any font draws it would be wrong, so a mean width of DejaVu Sans, the widest of those named."""
    x, y = float(text.get("x")), float(text.get("y"))
    width = len(text.text) * size * (0.66 if text.get("font-weight") == "bold" else 0.58)
    left = x - width / 2 if text.get("text-anchor") == "middle" else x
    return Area(left, y - 0.72 * size, left + width, y + 0.2 * size)


def union(areas):
    return Area(min(a.left for a in areas), min(a.top for a in areas), max(a.right for a in areas),
                max(a.bottom for a in areas))


def check_group(group):
    """Returns the area of a box: what is in it is inside it and apart from each other."""
    rects = [area_of_rect(rect) for rect in group.findall(f"{SVG}rect")]
    texts = [area_of_text(text) for text in group.findall(f"{SVG}text")]
    boxes = [area for area in map(check_group, group.findall(f"{SVG}g")) if area]
    inside = texts + boxes
    for i, one in enumerate(inside):
        assert not any(one.meets(other) for other in inside[i + 1:])
    if not rects:
        return union(inside) if inside else None
    own = union(rects)
    assert all(own.holds(area) for area in inside), group.findtext(f"{SVG}text")
    return own


def draw(launcher, tmp_path, *arguments):
    path = tmp_path / "node.svg"
    found = launcher.map(f"--svg={path}", *arguments)
    return found, ElementTree.parse(path).getroot()


def check(root):
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= ALLOWED
    assert not any(name.startswith("on") or "href" in name for element in root.iter() for name in element.keys())
    whole = Area(0, 0, float(root.get("width")), float(root.get("height")))
    boxes = [check_group(group) for group in root.findall(f"{SVG}g")]
    heads = [area_of_text(text, float(text.get("font-size"))) for text in root.findall(f"{SVG}text")]
    parts = boxes + heads
    assert all(whole.holds(part) for part in parts)
    for i, one in enumerate(parts):
        assert not any(one.meets(other) for other in parts[i + 1:])


def texts(root):
    return [text.text for text in root.iter(f"{SVG}text")]


SHAPES = [lambda gpus: [f"--ranks={gpus}"], lambda gpus: ["--ranks=1"], lambda gpus: [f"--ranks={3 * gpus}"],
          lambda gpus: [f"--ranks={gpus}", "--gpus=none"], lambda gpus: ["--ranks=1", "--gpus=1", "--cpus=0-5"]]


@pytest.mark.parametrize("shape", range(len(SHAPES)))
@pytest.mark.parametrize("machine", [machine for machine in MACHINES if GPUS[machine]])
def test_everything_has_its_place(launcher, topologies, tmp_path, machine, shape):
    found, root = draw(launcher, tmp_path, f"--topology={topologies / MACHINES[machine]}", "--ignore-link",
                       *SHAPES[shape](GPUS[machine]))
    check(root)
    labels = texts(root)
    for rank, mapped in enumerate(found["ranks"]):
        # Once in the legend, once on each of its cores.
        assert labels.count(str(rank)) == 1 + mapped["cores"]
        assert any(label.startswith(f"rank {rank}: {'cpus ' + mapped['cpus'] if mapped['cpus'] else 'not bound'}"[:120])
                   for label in labels)
    for index, gpu in enumerate(found["gpus"]):
        ranks = [rank for rank, mapped in enumerate(found["ranks"]) if index in mapped["gpus"]]
        assert gpu["bus"] in labels
        if ranks and gpu["nic"]:
            assert labels.count(f"to {gpu['nic']}, {gpu['level']}") >= 1
            assert any(re.search(rf"ranks? (\d+, )*{ranks[0]}\b", label) for label in labels)
    assert all(f"NIC {nic['name']}" in labels for nic in found["nics"])


@pytest.mark.parametrize("name, arguments", [("four-gpus", ["--ranks=8", "--cpus=0-45"]),
                                             ("eight-gpus", ["--ranks=8", "--system-cores=8"])])
def test_the_committed_pictures(launcher, tmp_path, name, arguments):
    """PINSTEP_WRITE_GOLDEN=1 draws them anew: look at them."""
    _, root = draw(launcher, tmp_path, f"--topology={DATA / name}.xml", *arguments)
    check(root)
    drawn = (tmp_path / "node.svg").read_text()
    if os.environ.get("PINSTEP_WRITE_GOLDEN"):
        (EXAMPLES / f"{name}.svg").write_text(drawn)
    assert drawn == (EXAMPLES / f"{name}.svg").read_text()


def test_names_cannot_break_out(launcher, topologies, tmp_path):
    text = (topologies / MACHINES["pascal"]).read_text()
    path = tmp_path / "<b>&.xml"
    path.write_text(text.replace('name="mlx5_0"', 'name="&lt;script&gt;&quot;&amp;"'))
    found, root = draw(launcher, tmp_path, f"--topology={path}", "--ranks=2")
    check(root)
    assert found["nics"][0]["name"] == '<script>"&'
    assert 'NIC <script>"&' in texts(root) and root.findtext(f"{SVG}title") == "<b>&.xml, 2 ranks"


def test_a_file_that_cannot_be_written(launcher, tmp_path):
    done = launcher.run("--dry-run", "--ranks=1", f"--svg={tmp_path}/none/x.svg")
    assert done.returncode == 125 and f"cannot write '{tmp_path}/none/x.svg': No such file" in done.stderr


def test_the_node_is_named_in_the_file(launcher, tmp_path):
    host = os.uname().nodename
    launcher.text("--ranks=1", f"--svg={tmp_path}/%N.svg")
    assert (tmp_path / f"{host}.svg").read_text().startswith("<svg ")
