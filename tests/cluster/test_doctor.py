"""pinstep doctor on a real cluster: what it says where all is well, and of one thing wrong at a time."""

import json
import re

import pytest

from cluster import Wanted

CLUSTER = Wanted("ports", plugin=True)
PINSTEP = "/usr/local/bin/pinstep"


@pytest.fixture
def site(cluster):
    yield cluster.site_file
    for name in ("disable", "pinstep.conf"):
        cluster.site_file(name, None)


@pytest.fixture
def store(cluster):
    """A store in the home directory, which all nodes have, with one environment as far as its name goes."""
    path = f"/home/alice/{cluster.new_name('store')}"
    cluster.write(f"{path}/VERSION", "1\n")
    cluster.directory_of(cluster.path(f"{path}/e/0123456789abcdef"), "alice")
    return path


def doctor(cluster, *arguments, path="/usr/local/bin:/usr/bin:/bin", **where):
    """(exit code, {(level, check, nodes): text}) of everything that is not ok. Nobody here has set up a solver."""
    done = cluster.run("env", f"PATH={path}", PINSTEP, "doctor", "--json", *arguments, **where)
    assert done.rc in (0, 1) and done.err == "", done
    told = json.loads(done.out)
    found = {(one["level"], one["check"], ",".join(one["nodes"])): one["text"] for one in told["findings"]
             if one["level"] != "ok" and one["check"] != "solver"}
    assert (done.rc == 0) == (told["errors"] == 0) == (not any(level == "error" for level, *_ in found))
    return done.rc, found


def nodes(cluster):
    return f"--nodes={','.join(cluster.nodes)}"


def test_deliberate_failure_is_seen(cluster):
    assert doctor(cluster)[0] == 1


def test_a_sound_cluster_has_no_findings(cluster, store):
    assert doctor(cluster, nodes(cluster), env={"PINSTEP_STORE": store}) == (0, {})


def test_each_thing_is_one_line_of_text(cluster, store):
    done = cluster.run(PINSTEP, "doctor", nodes(cluster), env={"PINSTEP_STORE": store}).ok()
    assert all(re.match(r"(ok|warning|error) +[a-z-]+: ", line) for line in done.lines[:-1]), done
    assert done.lines[-1] == "0 errors, 1 warning"      # nobody has set up a solver
    checks = [line.split()[1].rstrip(":") for line in done.lines[:-1]]
    assert checks == ["pinstep", "slurm", "plugstack", "plugin", "store", "mpi-params", "task-prolog", "solver", "node"]
    assert f"node: {','.join(cluster.nodes)}: fits this host" in done.lines[-2]


def test_it_leaves_no_trace_and_takes_no_pin_along(cluster, store):
    prefix = cluster.prefix()
    before = cluster.console.ask("find", store)
    job = cluster.sbatch("pinstep doctor --nodes=$SLURM_JOB_NODELIST", "-N2", f"--env-spec={prefix}")
    assert "fits this host" in job.ok().output
    assert cluster.console.ask("find", store) == before


@pytest.mark.parametrize("name, text, level, check, said", [
    ("pinstep.conf", "task_timeout = 5\n", "error", "settings", "is there, and here there is none"),
    ("disable", "", "warning", "disable", "switches pinstep off"),
])
def test_one_node_is_not_like_this_host(cluster, store, site, name, text, level, check, said):
    site(name, text, ["n1"])
    rc, found = doctor(cluster, nodes(cluster), env={"PINSTEP_STORE": store})
    assert rc == (level == "error") and list(found) == [(level, check, cluster.nodes[1])]
    assert said in found[level, check, cluster.nodes[1]]


def test_settings_that_are_wrong_everywhere_are_named_once_for_the_nodes(cluster, store, site):
    site("pinstep.conf", "adress = %h\n")
    rc, found = doctor(cluster, nodes(cluster), env={"PINSTEP_STORE": store})
    assert rc == 1 and list(found) == [("error", "settings", ""), ("error", "settings", ",".join(cluster.nodes))]
    assert set(found.values()) == {"/etc/pinstep/pinstep.conf:1: there is no setting 'adress'"}


def test_a_store_that_each_node_has_of_its_own(cluster):
    path = "/var/tmp/store"
    make = f"mkdir -p {path}/e/$0 && echo 1 > {path}/VERSION"
    cluster.run("sh", "-c", make, "here").ok()
    cluster.run("sh", "-c", make, "there", node="n0").ok()
    rc, found = doctor(cluster, nodes(cluster), env={"PINSTEP_STORE": path})
    assert rc == 1 and found == {
        ("error", "store", cluster.nodes[0]): f"'{path}' has 1 environment there, other than here",
        ("error", "store", cluster.nodes[1]): f"'{path}' is not there"}


def test_a_store_that_is_not_there_yet_is_not_compared(cluster):
    rc, found = doctor(cluster, nodes(cluster), env={"PINSTEP_STORE": "/home/alice/none"})
    assert rc == 0 and list(found) == [("warning", "store", "")]


def test_nodes_that_do_not_exist(cluster):
    rc, found = doctor(cluster, "--nodes=nowhere[0-1]")
    assert rc == 1 and "Invalid node name" in found["error", "node", "nowhere0,nowhere1"]


def test_a_list_that_cannot_be_read(cluster):
    rc, found = doctor(cluster, "--nodes=n[0-")
    assert rc == 1 and any(level == "error" for level, *_ in found)


# ---- clusters that are set up otherwise

@pytest.mark.parametrize("line, check, said", [
    ("required {plugin}", "plugstack", "the word is 'required'"),
    ("optional pinstep.so", "plugin", "is not absolute"),
    ("optional /nowhere/pinstep.so", "plugin", "cannot open '/nowhere/pinstep.so': No such file or directory"),
    ("optional {plugin}\noptional {plugin}", "plugstack", "plugstack.conf has 2 lines for pinstep"),
], ids=["required", "relative", "missing", "twice"])
def test_a_line_that_is_wrong(own_cluster, stage, line, check, said):
    line = line.format(plugin=stage().plugin)
    cluster = own_cluster(Wanted("ports", installed=True, more=("--set-plugstack", f"login={line}\n")))
    rc, found = doctor(cluster)
    assert rc == 1 and list(found) == [("error", check, "")] and said in found["error", check, ""]


def test_a_node_without_the_line_and_one_with_the_wrong_word(own_cluster, stage):
    plugin = stage().plugin
    cluster = own_cluster(Wanted("ports", plugin=True, more=(
        "--set-plugstack", "n0=\n", "--set-plugstack", f"n1=required {plugin}\n")))
    rc, found = doctor(cluster, nodes(cluster))
    errors = {(check, where): text for (level, check, where), text in found.items() if level == "error"}
    assert rc == 1 and set(errors) == {("plugstack", cluster.nodes[0]), ("plugstack", cluster.nodes[1])}
    assert "jobs run bare" in errors["plugstack", cluster.nodes[0]]
    assert "'required'" in errors["plugstack", cluster.nodes[1]]


def test_a_cluster_without_plugin_ports_and_programs_on_nodes(own_cluster):
    cluster = own_cluster(Wanted("bare", installed=True))
    rc, found = doctor(cluster)
    assert rc == 0 and list(found) == [("warning", "plugstack", ""), ("warning", "mpi-params", "")]


def test_ports_that_the_kernel_gives_away(own_cluster):
    cluster = own_cluster(Wanted("plain", plugin=True, more=("--slurm-conf-line", "MpiParams=ports=40000-41000")))
    rc, found = doctor(cluster)
    assert rc == 0 and "overlap the ephemeral range" in found["warning", "mpi-params", ""]


def test_without_the_controller_the_rest_is_still_told(own_cluster):
    cluster = own_cluster(Wanted("ports", plugin=True, more=("--slurm-conf-line", "MessageTimeout=2")))
    cluster.console.ask("pkill", "-x", "slurmctld")
    rc, found = doctor(cluster)
    assert rc == 1 and list(found) == [("error", "slurm", "")]


def test_without_slurm_it_says_so(cluster):
    rc, found = doctor(cluster, path="/nowhere")
    assert rc == 0 and found == {("warning", "slurm", ""): "Slurm's commands are not on PATH"}
