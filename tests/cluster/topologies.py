"""Topologies of the stand-in machine (tests/launcher/data/two-sockets.xml: 2 packages of 4 cores, 2 GPUs and a card on
each), changed as tests want them."""

import re

from cluster import TOP

TEXT = (TOP / "tests/launcher/data/two-sockets.xml").read_text()


def with_uuids(text, name):
    """Its GPUs are GPU-NAME-0 and so on, in bus order."""
    numbers = iter(range(64))

    def named(found):
        number = next(numbers)
        return (f'{found[1]}>\n<object type="OSDev" gp_index="{900 + number}" name="nvml{number}" osdev_type="1">'
                f'<info name="NVIDIAUUID" value="GPU-{name}-{number}"/></object>\n</object>')

    return re.sub(r'(<object type="PCIDev" [^>]*\[10de:[^>]*)/>', named, text)


def with_link_down(text, card):
    """The card has no link."""
    changed = re.sub(rf'(name="{card}"[^>]*>\s*<info name="Port1State" value=)"4"', r'\1"1"', text)
    assert changed != text
    return changed


def files(directory, texts):
    """Options of `minicluster up` that give node NODE the topology texts[NODE]."""
    directory.mkdir(parents=True, exist_ok=True)
    options = []
    for node, text in texts.items():
        path = directory / f"{node}.xml"
        path.write_text(text)
        options += ["--topology", f"{node}={path}"]
    return tuple(options)
