"""Reading the JUnit XML that GoogleTest and pytest both write.

XML and not GoogleTest's JSON, which in 1.12 does not tell why a test was skipped.
"""

import xml.etree.ElementTree
from collections import namedtuple

# outcome: passed, failed, error (it broke outside its own body) or skipped; text: why
Case = namedtuple("Case", "name outcome text")

_WORST_FIRST = ("error", "failed", "skipped", "passed")


def read(path):
    """The cases of the report at `path`, by name; None if there is no whole report."""
    try:
        tree = xml.etree.ElementTree.parse(path)
    except (FileNotFoundError, xml.etree.ElementTree.ParseError):
        return None
    cases = {}
    for element in tree.iter("testcase"):
        if element.get("status") == "notrun":       # DISABLED_: as if it were not there
            continue
        case = _case(element)
        # pytest lists a test twice when it fails and its teardown breaks as well.
        known = cases.get(case.name, case)
        cases[case.name] = min(known, case, key=lambda one: _WORST_FIRST.index(one.outcome))
    return cases


def _case(element):
    scope = element.get("classname", "").rpartition(".")[2]
    name = f"{scope}.{element.get('name')}".lstrip(".")
    for tag, outcome in (("error", "error"), ("failure", "failed")):
        if found := element.findall(tag):
            return Case(name, outcome, "\n".join(item.text or item.get("message", "")
                                                 for item in found))
    skipped = element.find("skipped")
    if skipped is not None:
        # GoogleTest puts file and line in front of the reason, on a line of its own.
        return Case(name, "skipped", skipped.get("message", "").rpartition("\n")[2])
    return Case(name, "passed", "")
