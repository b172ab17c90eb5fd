"""minicluster itself, on real clusters: root only, half a minute.

    python3 -m unittest discover -s contrib/minicluster/check -p test_cluster.py

The two programs beside this file are looked for in build/tests, or in the
directory that MINICLUSTER_PROGRAMS names; a second Slurm in build/slurm-24.11,
or where MINICLUSTER_SLURM_ROOT says.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
MINICLUSTER = os.path.join(os.path.dirname(HERE), "minicluster")
CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
PROGRAMS = os.environ.get("MINICLUSTER_PROGRAMS", os.path.join(CHECKOUT, "build", "tests"))
SLURM_ROOT = os.environ.get("MINICLUSTER_SLURM_ROOT",
                            os.path.join(CHECKOUT, "build", "slurm-24.11"))

sys.path.insert(0, os.path.dirname(HERE))
import cgroups


class Cluster:
    """One cluster in a directory of its own."""

    def __init__(self):
        # Beneath a 0700 directory, as a private checkout would be.
        self.above = tempfile.mkdtemp(prefix="minicluster-check-")
        self.directory = os.path.join(self.above, "c")

    def call(self, verb, *arguments, **more):
        return subprocess.run([MINICLUSTER, verb, "--dir", self.directory, *arguments],
                              text=True, capture_output=True, **more)

    def up(self, *arguments):
        result = self.call("up", *arguments)
        if result.returncode:
            raise AssertionError(result.stderr)

    def run(self, *command, user="alice", node="login", timeout=60):
        return self.call("exec", "--user", user, "--node", node, "--", *command,
                         timeout=timeout)

    def lines(self, *command, **more):
        result = self.run(*command, **more)
        if result.returncode:
            raise AssertionError(result.stderr)
        return sorted(result.stdout.splitlines())

    def batch(self, script, *options):
        """Run a batch script to its end; its output. A marker file is quicker
        than `sbatch --wait`, which polls every 2 s."""
        home = os.path.join(self.directory, "home", "alice")
        for name in ("out", "done"):
            if os.path.exists(os.path.join(home, name)):
                os.unlink(os.path.join(home, name))
        with open(os.path.join(home, "script"), "w") as file:
            file.write(f"#!/bin/sh\n{script}\n/bin/echo > /home/alice/done\n")
        result = self.run("sbatch", "--output=out", *options, "script")
        if result.returncode:
            raise AssertionError(result.stderr)
        wait_until(lambda: os.path.exists(os.path.join(home, "done")))
        with open(os.path.join(home, "out")) as file:
            return file.read()

    def status(self):
        return json.loads(self.call("status", "--json").stdout)

    def names(self):
        return [node["name"] for node in self.status()["nodes"] if node["state"]]

    def end(self):
        result = self.call("down")
        shutil.rmtree(self.above, ignore_errors=True)
        return result


def read(path):
    with open(path) as file:
        return file.read()


def wait_until(ready, limit=30):
    deadline = time.monotonic() + limit
    while not ready():
        if time.monotonic() > deadline:
            raise AssertionError("timed out")
        time.sleep(0.05)


class WithCluster(unittest.TestCase):
    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.addClassCleanup(cls.cluster.end)
        cls.cluster.up(*cls.arguments)


class Plain(WithCluster):
    arguments = ("--bind", f"{PROGRAMS}:/opt/check", "--gpus", "2")

    def test_the_nodes_have_names_and_addresses_of_their_own(self):
        names = self.cluster.names()
        found = self.cluster.lines("srun", "-N2", "sh", "-c",
                                   "echo $(hostname) $(getent hosts $(hostname))")
        for name, line in zip(names, found):
            self.assertRegex(line, rf"^{name} 10\.199\.\d+\.\d+ {name}$")

    def test_tmp_and_shm_are_each_node_s_own_and_home_is_shared(self):
        self.cluster.lines("srun", "-N1", "sh", "-c", "touch /tmp/a /dev/shm/a ~/a")
        self.assertEqual(
            self.cluster.lines("sh", "-c", "ls /tmp/a /dev/shm/a ~/a 2>/dev/null; :"),
            ["/home/alice/a"])

    def test_pmix_client_over_two_nodes(self):
        if not os.path.exists(os.path.join(PROGRAMS, "pmix_client")):
            self.skipTest("pmix_client is not built")
        lines = self.cluster.lines("srun", "-N2", "-n4", "--ntasks-per-node=2",
                                   "/opt/check/pmix_client")
        a, b = self.cluster.names()
        self.assertEqual(lines, [f"pmix rank 0 of 4 on {a} next on {a}",
                                 f"pmix rank 1 of 4 on {a} next on {b}",
                                 f"pmix rank 2 of 4 on {b} next on {b}",
                                 f"pmix rank 3 of 4 on {b} next on {a}"])

    def test_open_mpi_over_two_nodes(self):
        if not os.path.exists(os.path.join(PROGRAMS, "hello_mpi")):
            self.skipTest("hello_mpi is not built")
        lines = self.cluster.lines("srun", "-N2", "-n4", "--ntasks-per-node=2",
                                   "/opt/check/hello_mpi")
        a, b = self.cluster.names()
        self.assertEqual(lines, [f"mpi rank {rank} of 4 on {node} sum 6"
                                 for rank, node in enumerate((a, a, b, b))])

    def test_pmix_uses_munge(self):
        self.assertEqual(self.cluster.lines("srun", "-n1", "printenv", "PMIX_SECURITY_MODE"),
                         ["munge,native"])

    def test_without_constraint_gpu_indices_differ(self):
        self.assertEqual(self.cluster.lines("srun", "-N1", "-n2", "--gpus-per-task=1",
                                            "printenv", "CUDA_VISIBLE_DEVICES"), ["0", "1"])

    def test_a_job_with_export_none_gets_the_user_s_environment(self):
        text = self.cluster.batch("echo $HOME $USER $UNWANTED; srun -N2 /bin/hostname",
                                  "-N2", "--export=NONE")
        self.assertEqual(sorted(text.split()),
                         sorted(["/home/alice", "alice"] + self.cluster.names()))

    def test_salloc_without_a_terminal(self):
        self.assertEqual(self.cluster.lines("salloc", "-Q", "-N2", "srun", "hostname"),
                         self.cluster.names())

    def test_array(self):
        self.cluster.run("sbatch", "--array=0-3", "--output=array-%a", "--wrap",
                         "echo $SLURM_ARRAY_TASK_ID; touch array-$SLURM_ARRAY_TASK_ID.done")
        home = os.path.join(self.cluster.directory, "home", "alice")
        wait_until(lambda: all(os.path.exists(f"{home}/array-{i}.done") for i in range(4)))

    def test_scancel_leaves_the_nodes_idle(self):
        job = self.cluster.lines("sbatch", "--parsable", "-N2", "--output=/dev/null",
                                 "--wrap", "srun sleep 1000")[0]
        wait_until(lambda: self.cluster.lines("squeue", "-hs", "-j", job))
        self.cluster.run("scancel", job)
        wait_until(lambda: not self.cluster.lines("squeue", "-h", "-j", job, "-t", "all",
                                                  "-o", "%T") or self.cluster.lines(
            "squeue", "-h", "-j", job, "-t", "all", "-o", "%T") == ["CANCELLED"])
        self.assertEqual({node["state"] for node in self.cluster.status()["nodes"]} - {""},
                         {"idle"})

    def test_users_are_apart_and_unprivileged(self):
        refused = self.cluster.run("sh", "-c", "ls /home/alice; cat /etc/munge/munge.key; "
                                   "touch /etc/pinstep/x; kill -9 1", user="bob")
        self.assertEqual(refused.stderr.count("ermitted") + refused.stderr.count("denied"), 4)
        self.assertEqual(self.cluster.lines("id", "-nG", user="bob"), ["bob project"])
        self.assertEqual(self.cluster.lines("grep", "CapEff", "/proc/self/status"),
                         ["CapEff:\t0000000000000000"])

    def test_a_file_in_etc_pinstep_is_one_node_s(self):
        path = os.path.join(self.cluster.directory, "nodes", "n1", "pinstep", "disable")
        open(path, "w").close()
        self.addCleanup(os.unlink, path)
        self.assertEqual(self.cluster.lines("srun", "-N2", "ls", "/etc/pinstep"), ["disable"])

    def test_exit_codes(self):
        for command, code in ((("true",), 0), (("sh", "-c", "exit 77"), 77),
                              (("sh", "-c", "kill -9 $$"), 137), (("no-such",), 127),
                              (("/etc/passwd",), 126)):
            self.assertEqual(self.cluster.run(*command).returncode, code, command)
        self.assertEqual(self.cluster.call("exec").returncode, 2)
        self.assertEqual(self.cluster.run("true", node="n9").returncode, 1)
        self.assertEqual(self.cluster.run("true", user="eve").returncode, 1)
        self.assertEqual(self.cluster.call("up").returncode, 1)

    def test_a_signal_reaches_the_command(self):
        process = subprocess.Popen([MINICLUSTER, "exec", "--dir", self.cluster.directory, "--",
                                    "sh", "-c", "trap 'exit 5' TERM; echo ready; sleep 60 & wait"],
                                   stdout=subprocess.PIPE)
        process.stdout.readline()
        process.terminate()
        self.assertEqual(process.wait(10), 5)
        process.stdout.close()


class Constrained(WithCluster):
    arguments = ("--profile", "cgroup")
    PROBE = ("sh", "-c", "for i in 0 1 2 3; do (: </dev/nvidia$i) 2>/dev/null && o=$o$i; done; "
             "echo $SLURM_PROCID ${CUDA_VISIBLE_DEVICES-unset} ${SLURM_STEP_GPUS-unset} $o")

    @classmethod
    def setUpClass(cls):
        if not cgroups.find("/"):
            raise unittest.SkipTest("no cgroup v1")
        super().setUpClass()

    def test_gpu_isolation(self):
        for options, lines in (
                (("--gpus-per-task=1",), ["0 0 0 0", "1 0 0 1"]),
                (("--gpus-per-node=2",), ["0 0,1 0,1 01", "1 0,1 0,1 01"]),
                (("--gpus-per-node=2", "--gpu-bind=none"),
                 ["0 unset unset 01", "1 unset unset 01"]),
                ((), ["0 unset unset", "1 unset unset"])):
            self.assertEqual(self.cluster.lines("srun", "-N1", "-n2", *options, *self.PROBE),
                             lines, options)

    def test_status_names_profile_and_proctrack(self):
        status = self.cluster.status()
        self.assertEqual((status["profile"], status["proctrack"]), ("cgroup", "cgroup"))
        self.assertTrue(all(daemon["alive"] for node in status["nodes"]
                            for daemon in node["daemons"].values()))


class Ports(WithCluster):
    arguments = ("--profile", "ports")

    def test_each_step_has_reserved_ports(self):
        for line in self.cluster.lines("srun", "-N2", "printenv", "SLURM_STEP_RESV_PORTS"):
            self.assertRegex(line, r"^20\d\d\d")


class LinuxProc(WithCluster):
    arguments = ("--profile", "linuxproc")

    def test_steps_run_and_no_cgroup_is_seen(self):
        self.assertEqual(self.cluster.lines("srun", "-N2", "hostname"), self.cluster.names())
        self.assertEqual(self.cluster.lines("ls", "/sys/fs/cgroup"), [])


class Series(WithCluster):
    arguments = ("--profile", "series", "--slurm-root", SLURM_ROOT)

    @classmethod
    def setUpClass(cls):
        if not os.path.exists(os.path.join(SLURM_ROOT, "etc", "minicluster-root")):
            raise unittest.SkipTest("no second Slurm")
        super().setUpClass()

    def test_the_other_slurm_runs_steps(self):
        self.assertIn("24.11", self.cluster.status()["version"])
        self.assertEqual(self.cluster.lines("srun", "-N2", "hostname"), self.cluster.names())


class SideBySide(unittest.TestCase):
    def test_clusters_started_at_once_do_not_meet(self):
        clusters = [Cluster() for _ in range(3)]
        for cluster in clusters:
            self.addCleanup(cluster.end)
        starts = [subprocess.Popen([MINICLUSTER, "up", "--dir", cluster.directory],
                                   stdout=subprocess.DEVNULL) for cluster in clusters]
        self.assertEqual([start.wait(60) for start in starts], [0, 0, 0])
        jobs = [cluster.lines("srun", "-n1", "printenv", "SLURM_JOB_ID") for cluster in clusters]
        names = sum((cluster.names() for cluster in clusters), [])
        self.assertEqual((len(set(map(tuple, jobs))), len(set(names))), (3, 6))


class NothingStays(unittest.TestCase):
    """`down` after whatever happened. Other clusters may run at the same time,
    so only what is this one's, and what no cluster may touch, is compared."""

    def setUp(self):
        self.cluster = Cluster()
        self.addCleanup(shutil.rmtree, self.cluster.above, ignore_errors=True)
        self.before = self.host()

    def host(self):
        links = subprocess.run(["ip", "-brief", "link"], text=True, capture_output=True).stdout
        return {"links": sorted(line.split()[0] for line in links.splitlines()),
                "mounts": read("/proc/self/mounts").splitlines(),
                # A bare root need not have all of them.
                "accounts": [os.path.exists(path) and os.stat(path).st_mtime_ns
                             for path in ("/etc/passwd", "/etc/group", "/etc/shadow", "/etc/hosts")],
                "devices": sorted(os.listdir("/dev")),
                "etc": sorted(os.listdir("/etc")),
                "netns": os.path.exists("/run/netns") and os.listdir("/run/netns")}

    def processes(self):
        """Those within the cluster's mounts, or with its directory as argument."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                text = read(f"/proc/{pid}/mountinfo") + read(f"/proc/{pid}/cmdline")
            except OSError:
                continue
            if self.cluster.directory in text:
                found.append(pid)
        return found

    def assert_nothing_stays(self):
        result = self.cluster.call("down", timeout=30)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.processes(), [])
        self.assertEqual(self.host(), self.before)
        self.assertFalse(os.path.exists(self.cluster.directory))
        for _, path in cgroups.find(self.cluster.directory):
            self.assertFalse(os.path.exists(path))

    def pids(self):
        with open(os.path.join(self.cluster.directory, "pids.json")) as file:
            return json.load(file)

    def test_down_on_nothing(self):
        self.assert_nothing_stays()

    def test_down_with_a_job_running(self):
        self.cluster.up()
        self.cluster.run("sbatch", "-N2", "--output=/dev/null", "--wrap", "srun sleep 1000")
        wait_until(lambda: self.cluster.lines("squeue", "-hs"))
        self.assert_nothing_stays()

    def test_kill_in_mid_start(self):
        for delay in (0.02, 0.05, 0.08, 0.1, 0.13, 0.16, 0.2, 0.3):
            start = subprocess.Popen([MINICLUSTER, "up", "--dir", self.cluster.directory],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(delay)
            start.kill()
            start.wait()
            self.assert_nothing_stays()

    def test_kill_in_mid_start_ends_all_processes_without_down(self):
        start = subprocess.Popen([MINICLUSTER, "up", "--dir", self.cluster.directory],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(os.path.join(self.cluster.directory, "init")))
        start.kill()
        start.wait()
        wait_until(lambda: not self.processes(), 5)
        self.cluster.up()
        self.assert_nothing_stays()

    def test_every_daemon_killed(self):
        self.cluster.up()
        for roles in self.pids().values():
            for pid, _ in roles.values():
                os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.cluster.call("status").returncode, 1)
        self.assert_nothing_stays()

    def test_init_killed(self):
        self.cluster.up()
        with open(os.path.join(self.cluster.directory, "init")) as file:
            os.kill(int(file.read().split()[0]), signal.SIGKILL)
        wait_until(lambda: not self.processes(), 5)
        self.assert_nothing_stays()

    def test_the_directory_removed(self):
        self.cluster.up()
        shutil.rmtree(self.cluster.directory)
        wait_until(lambda: not self.processes(), 15)
        self.assert_nothing_stays()

    def test_a_start_that_fails_tells_why_and_cleans_up(self):
        result = self.cluster.call("up", "--slurm-conf-line", "SelectType=select/nonsense")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"slurmctld on ctl has ended\nlast lines of slurmctld")
        self.assertFalse(os.path.exists(self.cluster.directory))
        self.assert_nothing_stays()


if __name__ == "__main__":
    unittest.main()
