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


# This machine has two processors, 0 and 1: in TEXT they are beside each other. With these each package has one of
# them, as where a BIOS counts packages in turn; crossed, the second package has processor 0.
IN_TURN = (0, 2, 4, 6, 1, 3, 5, 7)
CROSSED = (1, 3, 5, 7, 0, 2, 4, 6)


def with_processors(text, numbers):
    """Processor i is numbered numbers[i]."""
    def renumbered(mask):
        old = int(mask, 16)
        return f"0x{sum(1 << number for i, number in enumerate(numbers) if old >> i & 1):08x}"

    text = re.sub(r'(cpuset=")(0x[0-9a-f]+)', lambda found: found[1] + renumbered(found[2]), text)
    return re.sub(r'("PU" os_index=")(\d+)', lambda found: f"{found[1]}{numbers[int(found[2])]}", text)


def with_cards(text, *names):
    """Its two cards are called so."""
    for number, name in enumerate(names):
        text = text.replace(f'"mlx5_{number}"', f'"{name}"')
    return text


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
