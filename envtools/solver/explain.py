"""Why nothing fits, cut to what a user can act on: lines of the spec, names, versions, what the profile offers.

rattler draws a tree of all it has tried, which can be hundreds of lines. So the lines that matter are found
first: a name that no channel has, a line that no package fits, else the smallest set of lines that cannot be
had together, by leaving out one after the other. What rattler says of that set alone is short.
"""

import asyncio
import datetime
import difflib
import re
import time

import rattler
from rattler import exceptions

import contract
from contract import Refusal

TIME = 20        # seconds that finding out may take
SENTENCE = 500   # characters of rattler's words
VERSIONS = 4     # the newest that are told


async def why(question, text):
    """The Refusal for a SolverError with this text. `question`: see Question in solve_conda.py."""
    deadline = time.monotonic() + TIME
    try:
        refusal = await asyncio.wait_for(_lines_to_blame(question), TIME)
        if refusal is None:
            indexes, text = await _smallest(question, text, deadline)
            refusal = _not_together(question, indexes, text)
    except (asyncio.TimeoutError, exceptions.GatewayError):
        refusal = _not_together(question, range(len(question.specs)), text)
    return refusal


# ---- one line

async def _lines_to_blame(question):
    """For names that no channel has, and lines that no package fits."""
    exact = [(index, spec.name.normalized) for index, spec in enumerate(question.specs)
             if spec.name is not None and "*" not in spec.name.normalized]
    names = {name.normalized for name in await question.names()}
    for index, name in exact:
        if name not in names:
            return await _unknown(question, index, name, names)
    records = await question.records({name for _, name in exact})
    for index, name in exact:
        refusal = _no_candidate(question, index, [record for record in records if record.name.normalized == name])
        if refusal:
            return refusal
    return None


async def _unknown(question, index, name, names):
    if name.startswith("__"):
        return _not_offered(question, name, index=index)
    if not await question.names(question.request["platform"]):
        return Refusal("unsatisfiable", f"the channels have nothing for {question.request['platform']}: "
                       f"{question.channel_names()}", "is it the right channel, and the right platform?")
    near = difflib.get_close_matches(name, names, 1, 0.75)
    hint = f"did you mean '{near[0]}'?" if near else f"channels: {question.channel_names()}"
    return Refusal("unsatisfiable", f"no channel has a package '{name}'", hint, spec=index)


def _no_candidate(question, index, records):
    spec, text = question.specs[index], question.texts[index]
    base = spec.channel.base_url.rstrip("/") if spec.channel else None
    there = [record for record in records if base is None or record.channel.rstrip("/") == base]
    fitting = [record for record in there if spec.matches(record)]
    cutoff = question.cutoff
    if fitting and not (cutoff and all(record.timestamp and record.timestamp > cutoff for record in fitting)):
        return None
    if fitting:
        first = min(record.timestamp for record in fitting)
        return Refusal("unsatisfiable", f"'{text}' is there since {first:%Y-%m-%d} only, and newer packages than "
                       f"{cutoff:%Y-%m-%d} do not count", "--exclude-newer=DATE says up to when they count, none: always",
                       spec=index)
    if not there:
        name = spec.name.normalized
        subject, hint = "no channel has", f"channels: {question.channel_names()}"
        if base:
            subject, hint = f"'{text}': that channel has not", "without 'CHANNEL::' all channels count"
        return Refusal("unsatisfiable", f"{subject} a package '{name}'", hint, spec=index)
    versions = sorted({record.version for record in there}, reverse=True)
    told = ", ".join(str(version) for version in versions[:VERSIONS]) + (", …" if len(versions) > VERSIONS else "")
    of_version = rattler.MatchSpec(f"{spec.name.normalized} {spec.version or '*'}", strict=False)
    builds = sorted({str(record.build) for record in there if of_version.matches(record)})
    hint = f"there are {told}"
    if builds:
        hint = "its builds are " + ", ".join(builds[-VERSIONS:]) + (", …" if len(builds) > VERSIONS else "")
    return Refusal("unsatisfiable", f"no channel has '{text}'", hint, spec=index)


# ---- several lines

async def _smallest(question, text, deadline):
    """The lines that cannot be had together and of which none can be left out, and rattler's words for them; as far
    as time permits."""
    indexes = list(range(len(question.specs)))
    for index in range(len(question.specs)):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        fewer = [other for other in indexes if other != index]
        try:
            await asyncio.wait_for(question.solve(fewer, datetime.timedelta(seconds=left)), left + 1)
        except exceptions.SolverError as error:
            if not str(error).startswith(HEAD):     # it ran out of time
                break
            indexes, text = fewer, str(error)
        except asyncio.TimeoutError:
            break
    return indexes, text


def _not_together(question, indexes, text):
    wanted = [question.texts[index] for index in indexes]
    trunk = _trunk(text, len(wanted) == 1)
    if len(wanted) > 5:
        subject = "no set of packages fits"
    elif len(wanted) == 1:
        subject = f"'{wanted[0]}' cannot be had"
        trunk = re.sub(r"^[^,:;]* cannot be had: ", "", trunk)
    else:
        subject = " and ".join([", ".join(f"'{text}'" for text in wanted[:-1]), f"'{wanted[-1]}'"])
        subject += " do not go together"
    hint = "another version of one of them, or a line less"
    if len(wanted) == 1:
        hint = f"channels: {question.channel_names()}"
    virtual = re.search(r"(__\w+)( ?[<>=!~][^\s,]*)?", trunk)
    if virtual:
        return _not_offered(question, virtual[1], virtual[2] or "", f"{subject}: {trunk}", min(indexes, default=None))
    return Refusal("unsatisfiable", f"{subject}: {trunk}", hint, **_at(min(indexes, default=None)))


def _at(index):
    return {} if index is None else {"spec": index}


def _not_offered(question, name, wanted="", cause="", index=None):
    """What the profile decides about."""
    offered = next((package for package in question.virtual_packages if package["name"] == name), None)
    has = f"the profile has {name}={offered['version']}" if offered else f"the profile has no {name}"
    version = re.search(r"[>=]=?\s*([\w.]+)", wanted)
    return Refusal("unsatisfiable", cause or f"'{name}' is not there",
                   f"{has}; if the nodes differ say so: --profile=NAME, or --virtual-package={name}="
                   f"{version[1] if version else 'VERSION'}", **_at(index))


HEAD = "Cannot solve the request because of: "
WORDS = [(r"No candidates were found for (\S+( [^.]*)?)", r"no channel has \1"),
         (r"(which )?cannot be installed because there are no viable options:", r"\1cannot be had:"),
         (r"(which )?can be installed with any of the following options:", r"\1can be had:"),
         (r"is excluded because due to strict channel priority not using this option from: '[^']*'",
          "is in a channel that strict priority leaves out"),
         (r"conflicts with (the versions reported above|any installable versions previously reported)",
          "conflicts with that"),
         (r" \*(?=[,; ]|$)", "")]


def _trunk(text, alone):
    """The first branch from each root of rattler's tree, as one sentence."""
    several = "The following packages are incompatible"
    root = 1 if several in text else 0      # depth of the roots
    branches, taken = [], 0
    for line in text.removeprefix(HEAD).replace(several, "").splitlines():
        drawn = re.match(r"[\s│]*[├└]─ ", line)
        depth = drawn.end() // 3 if drawn else 0
        words = line[drawn.end():].rstrip(" .") if drawn else line.rstrip(" .")
        if not words:
            continue
        if depth == root:
            branches.append([words])
        elif branches and depth > taken:    # else a sibling of what is taken, or below one
            branches[-1].append(words)
        else:
            continue
        taken = depth
    text = "; ".join(contract.one_line(" ".join(branch)) for branch in branches)
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    text = re.sub(r"(__\S+( [^,;]*)?), for which no candidates were found", r"\1, which the profile does not offer", text)
    text = text.replace("for which no candidates were found",
                        "which no channel has" if alone else "which the others do not allow")
    if len(text) > SENTENCE:
        text = text[:SENTENCE].rpartition(" ")[0] + " …"
    return text
