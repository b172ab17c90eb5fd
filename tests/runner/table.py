"""The table of suites, tests/suites.ini."""

import configparser
import re
from collections import namedtuple

import reasons

TIERS = ("check", "full", "fuzz", "bench")
KINDS = ("gtest", "pytest", "fuzz")

Suite = namedtuple("Suite", "name kind run make tiers skips budget tests deliberate")

REQUIRED = {"kind", "tiers", "budget", "tests", "deliberate"}
OPTIONAL = {"run", "make", "skips"}


class Wrong(Exception):
    """The table cannot be used; the text is for whoever edits it."""


def load(path, build):
    """The suites in the table's order, `{build}` filled in."""
    parser = configparser.ConfigParser(interpolation=None)
    with open(path) as file:
        try:
            parser.read_file(file)
        except configparser.Error as error:
            raise Wrong(str(error)) from None
    return [_suite(path, name, parser[name], build) for name in parser.sections()]


def _suite(path, name, section, build):
    def wrong(text):
        return Wrong(f"{path}: [{name}] {text}")

    for key in REQUIRED - set(section):
        raise wrong(f"'{key}' is missing")
    for key in set(section) - REQUIRED - OPTIONAL:
        raise wrong(f"'{key}' is unknown")
    words = {key: value.replace("{build}", build).split() for key, value in section.items()}
    suite = Suite(name, section["kind"], words.get("run", []), words.get("make", []),
                  words["tiers"], _list(section.get("skips", "")),
                  section.getfloat("budget"), section.getint("tests"), section["deliberate"])
    if suite.kind not in KINDS:
        raise wrong(f"kind '{suite.kind}' is none of {', '.join(KINDS)}")
    for tier in set(suite.tiers) - set(TIERS):
        raise wrong(f"tier '{tier}' is none of {', '.join(TIERS)}")
    for reason in set(suite.skips) - set(reasons.REASONS):
        raise wrong(f"'{reason}' is none of {', '.join(reasons.REASONS)}")
    if suite.kind != "fuzz" and not suite.run:
        raise wrong("'run' is missing")
    return suite


def _list(text):
    return [item.strip() for item in text.split(",") if item.strip()]


def with_count(text, name, count):
    """The table's text with another number of tests for one suite."""
    section = rf"^\[{re.escape(name)}\]$(?:(?!^\[).)*?"
    return re.sub(rf"(?ms)({section}^tests\s*=\s*)\d+", rf"\g<1>{count}", text, count=1)
