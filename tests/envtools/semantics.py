"""What a solution must be, in a reading of conda's rules of its own: versions (CEP 33), match specs (CEP 29),
a checker of solutions, and for small channels the best one by trying all. Nothing of a solver is in it.
"""

import fnmatch
import functools
import itertools
import re

INFINITE = float("inf")


# ---- versions

def _pieces(text):
    """"1.0a1" as [[1], [0, "a", 1]]; a piece that begins with a letter has a 0 before it."""
    components = []
    for component in text.split("."):
        found = re.findall(r"\d+|\*|[^\d*]+", component)
        values = [int(part) if part.isdigit() else INFINITE if part == "post" else part for part in found]
        if values and not isinstance(values[0], int):
            values.insert(0, 0)
        components.append(values)
    return components


def _key(value):
    """dev below all texts, texts below numbers."""
    if isinstance(value, str):
        return (0, "") if value == "dev" else (1, value)
    return (2, value)


@functools.total_ordering
class Version:
    def __init__(self, text):
        text = text.strip().lower()
        if "-" in text and "_" not in text:
            text = text.replace("-", "_")
        epoch, _, rest = text.rpartition("!")
        main, _, local = rest.partition("+")
        self.text = text
        self.epoch = int(epoch or 0)
        self.parts = _pieces(main.replace("_", "."))
        self.local = _pieces(local.replace("_", ".")) if local else []

    @staticmethod
    def _compare(ours, theirs):
        for one, other in itertools.zip_longest(ours, theirs, fillvalue=[0]):
            for a, b in itertools.zip_longest(one, other, fillvalue=0):
                if _key(a) != _key(b):
                    return -1 if _key(a) < _key(b) else 1
        return 0

    def _against(self, other):
        if self.epoch != other.epoch:
            return -1 if self.epoch < other.epoch else 1
        return self._compare(self.parts, other.parts) or self._compare(self.local, other.local)

    def __eq__(self, other):
        return self._against(other) == 0

    def __lt__(self, other):
        return self._against(other) < 0

    def begins_with(self, other):
        """1.8.3 and 1.8 begin with 1.8; 1.80 does not."""
        if self.epoch != other.epoch:
            return False
        mine = self.parts + [[0]] * (len(other.parts) - len(self.parts))
        *whole, last = other.parts
        return mine[:len(whole)] == whole and mine[len(whole)][:len(last)] == last


# ---- match specs

def _one_constraint(text, version):
    text = text.strip()
    if text in ("", "*"):
        return True
    operator, value = re.fullmatch(r"(===|~=|==|!=|<=|>=|<|>|=)?\s*(.*)", text).groups()
    if value.endswith("*") and operator in (None, "=", "==", "!=", ">=", "<", ">", "<="):
        value = value.rstrip("*").rstrip(".")
        if operator in (None, "=", "=="):
            operator = "="
        elif operator == "!=":
            return not version.begins_with(Version(value))
    given = Version(value)
    if operator == "~=":
        shorter = Version(value.rpartition(".")[0])
        return version >= given and version.begins_with(shorter)
    return {"=": version.begins_with, None: version.__eq__, "==": version.__eq__,
            "!=": lambda other: not version == other, "<": version.__lt__, ">": lambda other: other < version,
            "<=": lambda other: not other < version, ">=": lambda other: not version < other}[operator](given)


def version_fits(constraint, text):
    version = Version(text)
    return any(all(_one_constraint(part, version) for part in alternative.split(","))
               for alternative in constraint.split("|"))


def _text_fits(pattern, text):
    if pattern.startswith("^"):
        return re.fullmatch(pattern, text) is not None
    return fnmatch.fnmatchcase(text, pattern)


class MatchSpec:
    """`channel::name version build[key=value]`; what is in brackets counts more than what stands outside."""

    def __init__(self, text):
        self.text = text
        self.fields = {}
        head, _, brackets = text.strip().partition("[")
        for key, _, quoted, plain in re.findall(r"""(\w+)\s*=\s*(?:(['"])(.*?)\2|([^,\]]*))""", brackets):
            self.fields[key] = quoted or plain.strip()
        channel, _, head = head.rpartition("::")
        self.channel, _, self.subdir = channel.partition("/")
        name, rest = re.fullmatch(r"\s*([\w.*-]+)\s*(.*?)\s*", head).groups()
        self.name = name.lower()
        version, self.build = self._version_and_build(rest)
        self.version = self.fields.get("version", version)
        self.build = self.fields.get("build", self.build)
        self.channel = self.fields.get("channel", self.channel)
        self.subdir = self.fields.get("subdir", self.subdir)

    @staticmethod
    def _version_and_build(rest):
        joined = re.sub(r"\s*([,|])\s*", r"\1", rest)
        joined = re.sub(r"(^|[,|]|[<>=!~])\s+", r"\1", joined)
        version, _, build = joined.partition(" ")
        if not build and re.fullmatch(r"=[^=<>!~,|]+=[^=]+", version):
            _, version, build = version.split("=")
            return version, build
        return version, build or "*"

    def fits(self, record):
        return (self.name in ("*", record["name"].lower())
                and version_fits(self.version, record["version"])
                and _text_fits(self.build, record["build"])
                and self.channel in ("", "*", record.get("channel", self.channel))
                and self.subdir in ("", record["subdir"])
                and ("build_number" not in self.fields
                     or version_fits(self.fields["build_number"], str(record["build_number"])))
                and all(self.fields.get(key, record[key]) == record[key] for key in ("md5", "sha256")))


# ---- solutions

class Problem:
    """What is asked for: `channels` are [(NAME, records)], the first with the highest priority."""

    def __init__(self, channels, specs, virtual=(), priority="flexible"):
        self.specs = [MatchSpec(text) for text in specs]
        self.virtual = [dict(zip(("name", "version", "build"), [*package.split("="), "0"])) |
                        {"build_number": 0, "subdir": "", "md5": "", "sha256": ""} for package in virtual]
        self.records = []
        for rank, (name, records) in enumerate(channels):
            self.records += [{**record, "channel": name, "rank": rank} for record in records]
        self.priority = priority
        if priority == "strict":
            best = {}
            for record in self.records:
                best[record["name"]] = min(record["rank"], best.get(record["name"], record["rank"]))
            self.records = [record for record in self.records if record["rank"] == best[record["name"]]]

    def faults(self, chosen):
        """Everything that is wrong with a set of records as an answer."""
        faults = []
        names = [record["name"] for record in chosen]
        faults += [f"{name} is there {names.count(name)} times" for name in set(names) if names.count(name) > 1]
        faults += [f"nothing fits {spec.text}" for spec in self.specs if not any(map(spec.fits, chosen))]
        there = [*chosen, *self.virtual]
        for record in chosen:
            label = f"{record['name']} {record['version']}"
            faults += [f"{label} depends on {text}" for text in record["depends"]
                       if not any(map(MatchSpec(text).fits, there))]
            for text in record.get("constrains", []):
                spec = MatchSpec(text)
                faults += [f"{label} does not go with {other['name']} {other['version']}" for other in there
                           if other["name"] == spec.name and not spec.fits(other)]
        wanted = {spec.name for spec in self.specs}
        while True:
            more = {MatchSpec(text).name for record in chosen if record["name"] in wanted
                    for text in record["depends"]} - wanted
            if not more:
                break
            wanted |= more
        faults += [f"nobody asked for {name}" for name in set(names) - wanted]
        return faults

    def solutions(self):
        """All of them, by trying everything: for channels of a dozen packages."""
        names = sorted({record["name"] for record in self.records})
        choices = [[None, *(record for record in self.records if record["name"] == name)] for name in names]
        for chosen in itertools.product(*choices):
            records = [record for record in chosen if record is not None]
            if not self.faults(records):
                yield records

    def _quality(self, record):
        channel = 0 if self.priority == "disabled" else -record["rank"]
        return (-len(record.get("track_features", "").split()), channel, Version(record["version"]),
                record["build_number"])

    def _is_better(self, one, other, names):
        """As good for all of these names and better for one of them."""
        ours = {record["name"]: self._quality(record) for record in one}
        theirs = {record["name"]: self._quality(record) for record in other}
        common = [name for name in names if name in ours and name in theirs]
        return (all(ours[name] >= theirs[name] for name in common)
                and any(ours[name] > theirs[name] for name in common))

    def best(self):
        """The solutions that no other is better than: in the packages asked for, then in the others."""
        solutions = list(self.solutions())
        asked = {spec.name for spec in self.specs}
        front = [one for one in solutions if not any(self._is_better(other, one, asked) for other in solutions)]

        def same(one, other):
            return all(record in other for record in one if record["name"] in asked)

        return [one for one in front
                if not any(same(one, other) and self._is_better(other, one, {r["name"] for r in one})
                           for other in front)]
