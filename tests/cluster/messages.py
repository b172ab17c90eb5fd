"""What a command has said, without what Slurm itself says about its end."""

import re


def said(text):
    """Lines that are not Slurm's own."""
    return [line for line in text.splitlines() if not re.match(r"srun: |slurmstepd-\w+: error: \*\*\* STEP ", line)]


def sentence(text):
    """The only line."""
    lines = said(text)
    assert len(lines) == 1, f"{len(lines)} lines:\n{text}"
    return lines[0]


def assert_refused(result, cause, hint):
    """A submission that was refused: one sentence with the cause and, unless the cause says it all (None),
    one with what to do."""
    assert result.rc == 1, str(result)
    lines = said(result.err)
    assert len(lines) == (1 if hint is None else 2), str(result)
    assert lines[0].startswith("pinstep: error: ") and cause in lines[0], str(result)
    assert hint is None or lines[1].startswith("pinstep: hint: ") and hint in lines[1], str(result)
    assert result.out == ""
