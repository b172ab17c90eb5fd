"""What the documentation says, and what the programs say, in a form that can be compared."""

import functools
import os
import re
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("PINSTEP_TEST_BUILD", TOP / "build"))
PAGES = sorted((TOP / "man").glob("*.[1-8]"))
TEXTS = [TOP / "README.md", TOP / "CHANGELOG.md"]
COMPLETION = (TOP / "contrib/completions/pinstep.bash").read_text()


def run(*argv):
    return subprocess.run(argv, text=True, capture_output=True, check=True).stdout


@functools.cache
def program(name, *arguments):
    return run(BUILD / "bin" / name, *arguments)


def verbs():
    """{verb: summary} as `pinstep --help` lists them."""
    return dict(re.findall(r"^  (\w+) +(.+)$", program("pinstep", "--help"), re.MULTILINE))


@functools.cache
def tables():
    """{table: its rows} of tests/programs/print_tables.cc."""
    found = {}
    for line in run(BUILD / "tests/print_tables").splitlines():
        name, *fields = line.split("\t")
        found.setdefault(name, []).append(fields)
    return found


def options(text):
    """The long options in a program's help or a shell script."""
    return set(re.findall(r"(?<![\w-])--([a-z][a-z-]*)", text)) - {"help", "version"}


def worker_usages():
    """{verb: what pinstep-worker VERB --help prints}: from the sources, as it is not built everywhere."""
    texts = [path.read_text() for path in sorted((TOP / "launcher/worker/cli").glob("*.cc"))]
    found = [usage for text in texts for usage in re.findall(r'R"\((usage: .*?)\)"', text, re.DOTALL)]
    return {re.match(r"usage: pinstep-worker (\w+)", usage)[1]: usage for usage in found}


def worker_completion():
    return re.search(r"^_pinstep_worker\(\) \{\n(.*?)^\}", COMPLETION, re.MULTILINE | re.DOTALL)[1]


# ---- mdoc

@functools.cache
def page(name):
    return (TOP / "man" / name).read_text()


def section(text, macro, title):
    """The lines of a page from `.Sh title` or `.Ss title` to the next heading of its kind or above."""
    ends = r"\.Sh " if macro == "Sh" else r"\.S[hs] "
    found = re.search(rf"^\.{macro} {re.escape(title)}\n(.*?)(?=^{ends}|\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"no .{macro} {title}"
    return found[1]


def items(text):
    """[(head, body)] of the lists in a part of a page, as plain text."""
    found = re.findall(r"^\.It (.*?)\n(.*?)(?=^\.It |^\.El|\Z)", text, re.MULTILINE | re.DOTALL)
    return [(plain("." + head), plain(body)) for head, body in found]


def plain(text):
    """mdoc without its macros. Spaces before punctuation go, as Ns and Pq are not obeyed."""
    words = []
    for line in text.splitlines():
        if line.startswith("."):
            parts = [part for part in line[1:].split() if not re.fullmatch("[A-Z][a-z]|br", part)]
        else:
            parts = line.split()
        words += parts
    text = " ".join(words).replace(r"\&", "").replace(r"\(ti", "~").replace(r"\(dq", '"').replace(r"\-", "-")
    return re.sub(r" ([,.:;)])", r"\1", text)


def mdoc_options(text):
    """The options that a part of a page has as Fl: `Fl -json`."""
    return {name for name in re.findall(r"(?:\bFl|\|) -([a-z][a-z-]*)", text)} - {"help", "version"}


# ---- the sources

@functools.cache
def sources():
    """All of the programs' sources as one text, with each string literal in one piece."""
    files = [path for part in ("envtools", "launcher", "plugin") for path in sorted((TOP / part).rglob("*.cc"))]
    return re.sub(r'"\s*\n\s*"', "", "\n".join(path.read_text() for path in files))
