"""Who did not ask for pinstep has nothing of it, and root does next to nothing for those who did."""

import json
import re
import subprocess

import pytest

from cluster import BUILD, Wanted, minicluster, wait_until
from expect import PIN, assert_inside, assert_outside, ours

# One node has no plugin: what is the same there is not ours.
CLUSTER = Wanted("plain", plugin=True, more=("--set-plugstack", "n1="))


@pytest.fixture(scope="module")
def prefix(cluster):
    return cluster.prefix("asked")


def test_deliberate_failure_is_seen(cluster, prefix):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    record = cluster.recorder()
    cluster.srun("-w", cluster.nodes[0], "-n1", f"--env-spec={prefix}", *record.argv("step")).ok()
    assert_outside(record.one("step"))


# ---- without a pin

def test_jobs_without_a_pin_see_no_variable_of_ours(cluster):
    record = cluster.recorder()
    job = cluster.sbatch(f"{record('batch')}; srun -n2 {record('step')}", "-n2", "-w", cluster.nodes[0])
    cluster.srun("-n2", "-w", cluster.nodes[0], *record.argv("srun")).ok()
    cluster.salloc("-n1", "-w", cluster.nodes[0], "sh", "-c", f"{record('shell')}; srun {record('inner')}").ok()
    job.ok()
    for name in ("batch", "step", "srun", "shell", "inner"):
        assert record.of(name)
        for environment in record.of(name).values():
            assert_outside(environment)


def test_their_environment_is_what_it_is_without_the_plugin(cluster):
    record = cluster.recorder()
    for number, node in enumerate(cluster.nodes):
        cluster.srun("-n1", "-w", node, *record.argv(f"on{number}")).ok()
    with_plugin, without = record.one("on0"), record.one("on1")
    assert set(with_plugin) == set(without)


def test_commands_without_a_pin_start_no_program(cluster):
    for command in (["srun", "-n1", "true"], ["sbatch", "--wrap", "true"]):
        traced = cluster.run("strace", "-f", "-e", "trace=execve", "-o", "/tmp/trace", *command)
        assert traced.rc == 0, traced
        assert len(re.findall(r"execve\(.*\) = 0", cluster.run("cat", "/tmp/trace").ok().out)) == 1


# ---- what root does

def slurmd_pid(cluster, node):
    status = json.loads(minicluster("status", "--json", "--dir", cluster.directory).ok().out)
    return next(one["daemons"]["slurmd"]["pid"] for one in status["nodes"] if one["name"] == node)


class Trace:
    """System calls of a node's slurmd and of all it starts."""

    CALLS = "open,openat,openat2,stat,newfstatat,statx,access,faccessat2,readlink,execve,connect,setresuid,setreuid,setuid"

    def __init__(self, directory, cluster, node):
        self.directory = directory
        directory.mkdir()
        self._child = subprocess.Popen(
            ["strace", "-ff", "-qq", "-o", directory / "trace", "-e", f"trace={self.CALLS}", "-p",
             str(slurmd_pid(cluster, node))], stderr=subprocess.PIPE, text=True)

    def stop(self):
        self._child.terminate()
        self._child.communicate()

    def of_root(self):
        """{normalised call} of every process up to where it becomes the user for good."""
        found = set()
        for path in self.directory.iterdir():
            before = re.split(r"^set(?:re|res)?uid\(20001", path.read_text(errors="replace"), flags=re.MULTILINE)[0]
            for call, what in re.findall(r"^(\w+)\((.*)\) += ", before, re.MULTILINE):
                target = re.search(r'"([^"]*)"', what) or re.search(r"sin_port=htons\((?:\d+)\)", what)
                found.add((call, re.sub(r"\d+", "#", target.group(0) if target else what)))
        return found


@pytest.mark.parametrize("with_pin", [False, True], ids=["without a pin", "with a pin"])
def test_root_opens_nothing_but_the_plugin_and_its_configuration(cluster, prefix, stage, tmp_path, with_pin):
    option = [f"--env-spec={prefix}"] if with_pin else []
    traces = []
    wait_until(lambda: cluster.console.ask("squeue", "--noheader") == "", "earlier jobs are over")
    for number, node in enumerate(cluster.nodes):
        trace = Trace(tmp_path / f"on{number}", cluster, node)
        try:
            # Twice, so that what is done once by whoever comes first is not taken for a difference.
            for _ in range(2):
                cluster.srun("-n2", "-w", node, *option, "true").ok()
        finally:
            trace.stop()
        traces.append(trace.of_root())
    with_plugin, without = traces
    assert len(without) > 50, "the trace is empty"
    # Slurm looks at its cgroups until they are gone and calls its slurmstepd, once or more often.
    ours_only = {(call, what) for call, what in with_plugin - without
                 if "/sys/fs/cgroup/" not in what and "/var/spool/slurm/" not in what}
    plugin = re.sub(r"\d+", "#", stage().plugin)
    allowed = {plugin, "/etc/pinstep/disable", "/etc/pinstep/pinstep.conf"}
    assert {what.strip('"') for _, what in ours_only} <= allowed, ours_only
    assert f'"{plugin}"' in {what for _, what in ours_only}, "the plugin was not seen"


# ---- the file itself

EXPORTED = {"plugin_name", "plugin_type", "plugin_version", "slurm_spank_init", "slurm_spank_init_post_opt",
            "slurm_spank_user_init", "slurm_spank_task_init", "slurm_spank_exit"}


def test_the_plugin_exports_its_name_and_hooks_only(stage):
    path = stage().directory / stage().plugin.lstrip("/")
    table = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    assert {line.split()[-1] for line in table.splitlines()} == EXPORTED


def test_the_installed_plugin_has_no_faults_built_in(stage):
    marks = (b"/etc/pinstep/faults", b"injected fault")
    installed = (stage().directory / stage().plugin.lstrip("/")).read_bytes()
    for_tests = (BUILD / "tests/pinstep-faults.so").read_bytes()
    assert all(mark in for_tests and mark not in installed for mark in marks)


# ---- switched off

@pytest.fixture
def site(cluster):
    """site(NAME, TEXT, NODES): a file of /etc/pinstep for the length of a test."""
    written = []

    def write(name, text, nodes=None):
        written.append(name)
        cluster.site_file(name, text, nodes)

    yield write
    for name in written:
        cluster.site_file(name, None)


def test_the_disable_file_of_a_node_switches_pinstep_off_there(cluster, prefix, site):
    record = cluster.recorder()
    site("disable", "", ["n0"])
    cluster.srun("-n1", "-w", cluster.nodes[0], f"--env-spec={prefix}", *record.argv("off")).ok()
    assert set(ours(record.one("off"))) == {PIN, "SLURM_PINSTEP_OFFER"}
    site("disable", None)
    cluster.srun("-n1", "-w", cluster.nodes[0], f"--env-spec={prefix}", *record.argv("on")).ok()
    assert_inside(record.one("on"), prefix)


def test_the_disable_file_of_the_login_node_refuses_an_environment_and_nothing_else(cluster, prefix, site):
    site("disable", "", ["login"])
    refused = cluster.srun("-n1", f"--env-spec={prefix}", "true")
    assert refused.rc == 1 and "/etc/pinstep/disable" in refused.err
    assert cluster.srun("-n1", "true").ok().err == ""


# ---- the site's settings

def test_a_wrong_line_of_the_sites_file_is_logged_and_hurts_nobody(cluster, prefix, site):
    site("pinstep.conf", "adress=%h\ntask_timeout=soon\naddress=%h-ib\n", ["n0"])
    record = cluster.recorder()
    cluster.srun("-n1", "-w", cluster.nodes[0], *record.argv("bare")).ok()
    cluster.srun("-n1", "-w", cluster.nodes[0], f"--env-spec={prefix}", *record.argv("step")).ok()
    assert_outside(record.one("bare"))
    # The right line counts.
    assert record.one("step")["MASTER_ADDR"] == f"{cluster.nodes[0]}-ib"
    log = cluster.log("slurmd", cluster.nodes[0])
    assert "pinstep.conf:1" in log and "pinstep.conf:2" in log
