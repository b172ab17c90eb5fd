"""From what a suite did to what is wrong with it. Pure: nothing here reads or runs anything."""

from collections import namedtuple

import reasons

# What running a suite gave. cases: {name: report.Case}, or None if it left no report; ended: what is
# wrong with how the program ended, or None; seconds: how long it took.
Ran = namedtuple("Ran", "cases ended seconds")

# problems: faults of the suite as a whole, each counted as one failure; failures: cases
Outcome = namedtuple("Outcome", "suite passed skipped failures problems notes seconds")

TOLERANCE = 1.5     # times the budget


def failed(outcome):
    return len(outcome.failures) + len(outcome.problems)


def skip(suite, reason, expected):
    """The outcome of a suite that cannot run here at all."""
    return Outcome(suite, 0, suite.tests, [], _reason_problems([reason], expected), [reason], 0.0)


def judge(suite, ran, expected, whole=True):
    """`expected`: the reasons for which tests may be skipped, None for any of the list. `whole` is
    false when only part of the suite was asked for, so that its number of tests says nothing."""
    problems = [ran.ended] if ran.ended else []
    cases = dict(ran.cases or {})
    if ran.cases is None:
        problems.append("it left no report")
    deliberate = cases.pop(suite.deliberate, None)
    if ran.cases is not None and (whole or deliberate):
        problems += _deliberate_problems(suite, deliberate)
    if ran.cases is not None and whole:
        problems += _count_problems(suite, len(cases))
    by_outcome = {name: [case for case in cases.values() if case.outcome == name]
                  for name in ("passed", "skipped", "failed", "error")}
    why = [case.text for case in by_outcome["skipped"]]
    problems += _reason_problems(why, expected)
    notes = sorted(set(map(reasons.of, why)))
    if ran.seconds > suite.budget:
        text = f"took {ran.seconds:.0f} s, its budget is {suite.budget:.0f} s"
        (problems if ran.seconds > suite.budget * TOLERANCE else notes).append(text)
    return Outcome(suite, len(by_outcome["passed"]), len(by_outcome["skipped"]),
                   by_outcome["failed"] + by_outcome["error"], problems, notes, ran.seconds)


def _deliberate_problems(suite, case):
    if case is None:
        return [f"'{suite.deliberate}', which must fail, did not run"]
    if case.outcome == "failed":
        return []
    # An error is not good enough: it says that the suite's surroundings are broken.
    return [f"'{suite.deliberate}', which must fail, was not seen failing: {case.outcome} {case.text}"]


def _count_problems(suite, ran):
    if ran < suite.tests:
        return [f"tests got lost: the table says {suite.tests}, {ran} reported"]
    if ran > suite.tests:
        return [f"{ran} tests reported, the table says {suite.tests}: "
                f"raise it with tests/run --update-counts --suite {suite.name}"]
    return []


def _reason_problems(texts, expected):
    problems = []
    for reason in sorted(set(map(reasons.of, texts))):
        details = "; ".join(sorted({text for text in texts if reasons.of(text) == reason}))
        if reason not in reasons.REASONS:
            problems.append(f"skipped because of '{details}', which is no reason "
                            f"({', '.join(reasons.REASONS)} are)")
        elif expected is not None and reason not in expected:
            problems.append(f"skipped because of '{details}', not expected here "
                            "(PINSTEP_EXPECTED_SKIPS)")
    return problems
