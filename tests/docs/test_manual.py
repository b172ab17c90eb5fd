"""The documentation against the programs: what one has the other has, in the same words."""

import re
import subprocess

import pytest

import manual

# What the pages say of programs that are not ours.
FOREIGN_OPTIONS = {
    "conda": {"explicit", "sha"},
    "pip": {"extra-index-url", "hash", "index-url", "no-binary", "no-index", "pre"},
    "srun": {"bcast", "chdir", "cpu-bind", "cpus-per-task", "export", "gpu-bind", "gpus-per-node", "gpus-per-task",
             "gres-flags", "jobid", "kill-on-bad-exit", "mpi", "no-shell", "nodes", "ntasks", "ntasks-per-node",
             "uid"},
    "sbatch": {"open-mode", "requeue"},
    "torchrun": {"no", "no_python", "standalone"},
    "configure": {"prefix", "with-slurm", "without-plugin"},
}


def test_deliberate_failure_is_seen():
    assert manual.items(".It Cm one\nBody of one.\n.El\n") == [("one", "Body of two.")]


@pytest.mark.parametrize("path", manual.PAGES, ids=lambda path: path.name)
def test_mandoc_finds_nothing(path):
    done = subprocess.run(["mandoc", "-T", "lint", path], text=True, capture_output=True)
    # Slurm's pages need not be installed; ours are looked for below.
    assert [line for line in done.stdout.splitlines() if "referenced manual not found" not in line] == []


@pytest.mark.parametrize("path", manual.PAGES, ids=lambda path: path.name)
def test_references_to_our_pages_lead_somewhere(path):
    names = {page.name for page in manual.PAGES}
    for name, number in re.findall(r"\bXr (pinstep\S*|environment-lock) (\d)", path.read_text()):
        assert f"{name}.{number}" in names


# ---- pinstep

def test_verbs():
    text = manual.page("pinstep.1")
    named = re.findall(r"^\.Nm\n\.Cm (\w+)", manual.section(text, "Sh", "SYNOPSIS"), re.MULTILINE)
    described = re.findall(r"^\.Ss (\w+)$", text, re.MULTILINE)
    completed = re.search(r"1:\*\) _pinstep_offer '([^']*)'", manual.COMPLETION)[1].split()
    assert named == described == list(manual.verbs())
    assert completed == [*named, "--help", "--version"]


@pytest.mark.parametrize("verb", manual.verbs())
def test_options_of_a_verb(verb):
    told = manual.options(manual.program("pinstep", verb, "--help"))
    body = manual.section(manual.page("pinstep.1"), "Ss", verb)
    listed = {option for head, _ in manual.items(body) for option in re.findall(r"^-([a-z-]+)", head)}
    synopsis = re.search(rf"^\.Cm {verb}\n(.*?)(?=^\.Nm|\Z)",
                         manual.section(manual.page("pinstep.1"), "Sh", "SYNOPSIS"), re.MULTILINE | re.DOTALL)[1]
    offered = re.search(rf"\*:{verb}\).*?_pinstep_offer '(--[^']*)'", manual.COMPLETION, re.DOTALL)[1]
    assert told == listed == manual.mdoc_options(synopsis) == manual.options(offered)


def test_options_of_pinstep_launch():
    told = manual.options(manual.program("pinstep-launch", "--help"))
    offered = re.search(r"_pinstep_launch\(\).*?_pinstep_offer '(--env-spec[^']*)'", manual.COMPLETION, re.DOTALL)[1]
    described = manual.mdoc_options(manual.section(manual.page("pinstep-launch.1"), "Sh", "SYNOPSIS"))
    assert told == manual.options(offered) == described


@pytest.mark.parametrize("verb", manual.worker_usages())
def test_options_of_pinstep_worker(verb):
    told = manual.options(manual.worker_usages()[verb])
    offered = re.search(rf"\*:{verb}\)\s+_pinstep_offer '([^']*)'", manual.worker_completion())[1]
    page = manual.page("pinstep-worker.1")
    synopsis = re.search(rf"^\.Cm {verb}\n(.*?)(?=^\.Nm|\Z)", manual.section(page, "Sh", "SYNOPSIS"),
                         re.MULTILINE | re.DOTALL)[1]
    listed = {option for head, _ in manual.items(manual.section(page, "Sh", "VERB " + verb.upper()))
              for option in re.findall(r"(?:^| )-([a-z-]+)", head)}
    assert told == manual.options(offered) == manual.mdoc_options(synopsis) == listed


def test_verbs_of_pinstep_worker():
    offered = re.search(r"_pinstep_offer '([^']*) --help --version'", manual.worker_completion())[1].split()
    table = (manual.TOP / "launcher/worker/cli/worker_main.cc").read_text()
    assert offered == re.findall(r'^    \{"(\w+)", "', table, re.MULTILINE)
    assert sorted(offered) == sorted(manual.worker_usages())


def test_shapes():
    shapes = [name for name, in manual.tables()["shape"]]
    offered = re.search(r"\*:--shape:resolve\) _pinstep_offer '([^']*)'", manual.COMPLETION)[1].split()
    assert offered == shapes
    described = manual.items(manual.section(manual.page("pinstep.8"), "Ss", "Variables"))
    assert ["auto", *(head for head, _ in described)] == shapes


# ---- the plugin

def test_options_of_the_plugin():
    header = (manual.TOP / "plugin/options.h").read_text()
    described = manual.items(manual.section(manual.page("pinstep.8"), "Sh", "OPTIONS"))
    listed = {re.match(r"-([a-z-]+)", head)[1] for head, _ in described if head.startswith("-")}
    assert listed == set(re.findall(r'Option = "([a-z-]+)"', header))


def test_variables():
    described = manual.items(manual.section(manual.page("pinstep.8"), "Sh", "ENVIRONMENT"))
    assert described == [(name, f"Set by {set_by}: {meaning}.") for name, set_by, meaning in
                         manual.tables()["variable"]]


def test_ports_and_exit_code():
    page = manual.page("pinstep.8")
    assert "a port from {} to {} derived".format(*manual.tables()["ports"][0]) in page
    (code,), = manual.tables()["failure"]
    for name in ("pinstep.8", "pinstep-launch.1"):
        described = manual.items(manual.section(manual.page(name), "Sh", "EXIT STATUS"))
        assert code in [head for head, _ in described]


def test_launcher_daemons():
    text = re.search(r"kLauncherDaemons\{(.*?)\}", manual.sources(), re.DOTALL)[1]
    daemons = set(re.findall(r'"([^"]+)"', text))
    listed = re.search(r"MPI launcher starts the real ranks\n\.Po\n(.*?)\n\.Pc", manual.page("pinstep.8"), re.DOTALL)
    assert set(manual.plain(listed[1]).replace(",", " ").split()) == daemons


def test_messages_are_the_programs():
    for head, _ in manual.items(manual.section(manual.page("pinstep.8"), "Ss", "Messages")):
        if head.startswith("cannot "):     # the operating system's
            continue
        fragment = max(re.split(r"'[^']*'|\d+|[A-Z]+=", head), key=len).strip()
        assert fragment in manual.sources(), head


# ---- pinstep.conf

def test_settings():
    described = manual.items(manual.section(manual.page("pinstep.conf.5"), "Sh", "KEYS"))
    keys = manual.tables()["setting"]
    assert [head for head, _ in described] == [name for name, *_ in keys]
    for (_, set_by, values, fallback, meaning), (name, body) in zip(keys, described):
        assert meaning.lower() in body.lower(), name
        assert f"Value: {values}." in body, name
        assert re.search(rf"Default: {re.escape(fallback) or 'none'}[.,]", body), name
        assert body.endswith(" Site.") == (set_by == "site"), name


def test_settings_by_variable():
    names = ["PINSTEP_" + name.upper() for name, set_by, *_ in manual.tables()["setting"]
             if set_by == "anyone" and name != "channel.NAME"]
    described = manual.items(manual.section(manual.page("pinstep.1"), "Sh", "ENVIRONMENT"))
    assert ", ".join(names) in [head for head, _ in described]


# ---- nothing is named that does not exist

@pytest.mark.parametrize("path", [*manual.PAGES, *manual.TEXTS], ids=lambda path: path.name)
def test_commands_exist(path):
    text = path.read_text()
    named = re.findall(r"(?:\.(?:Ql|Ic|Dl) |`|\$\(|^ {4,}|^\t)(?:\S*/)?pinstep ([a-z]+)", text, re.MULTILINE)
    assert set(named) <= set(manual.verbs())


@pytest.mark.parametrize("path", [*manual.PAGES, *manual.TEXTS], ids=lambda path: path.name)
def test_options_exist(path):
    known = set().union(*FOREIGN_OPTIONS.values(),
                        {"env-spec", "env-lock", "env-build", "env-rendezvous", "env-gpu-share", "help", "version"},
                        manual.options(manual.program("pinstep-launch", "--help")),
                        *(manual.options(usage) for usage in manual.worker_usages().values()),
                        *(manual.options(manual.program("pinstep", verb, "--help")) for verb in manual.verbs()))
    text = path.read_text()
    named = manual.options(text.replace(r"\-", "-"))
    if path in manual.PAGES:
        named |= manual.mdoc_options(text)
    assert named <= known


def test_make_targets_exist():
    makefile = (manual.TOP / "Makefile").read_text()
    targets = {word for rule in re.findall(r"^([a-z][a-z -]*):(?!=)", makefile, re.MULTILINE) for word in rule.split()}
    for path in manual.TEXTS:
        named = re.findall(r"(?:`|^ {4,}|&& )make ([a-z][a-z-]*)", path.read_text(), re.MULTILINE)
        assert set(named) <= targets, path


def test_the_readme_names_all_dependencies():
    rows = (manual.TOP / "contrib/packaging/debian.list").read_text().splitlines()
    packages = {row.split()[0] for row in rows if row and not row.startswith("#")}
    readme = manual.TEXTS[0].read_text()
    assert {name for name in packages if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", readme)} == set()


def test_files_of_the_readme_exist():
    text = manual.TEXTS[0].read_text()
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (manual.TOP / target).exists(), target
