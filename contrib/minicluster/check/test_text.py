"""The parts of minicluster that only compute: no root, no cluster.

    python3 -m unittest discover -s contrib/minicluster/check -p test_text.py
"""

import argparse
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import cgroups
import config
import devices
import enter
import plan as plans
import profiles
import rootfs
import start

MACHINE = profiles.Machine(cgroups=(("freezer", "/f"), ("cpuset", "/c"), ("devices", "/d")),
                           gpu_devices=((1, 7), (10, 1), (10, 2), (10, 3)),
                           checkout="/checkout")
NO_CGROUPS = profiles.Machine((), MACHINE.gpu_devices, "/checkout")


def options(**given):
    values = dict(directory="/x", profile="plain", nodes=None, cpus=8, gpus=None,
                  gpu_device="/dev/nvidia", topology=[], plugin=None, plugin_args="",
                  plugin_other=None, required=False, set_plugstack=[],
                  slurm_conf_line=[], bind=[], slurm_root=None)
    return argparse.Namespace(**{**values, **given})


def make_plan(machine=MACHINE, **given):
    return profiles.make_plan(options(**given), 3, machine)


class ThePlan(unittest.TestCase):
    def test_names_carry_the_cluster_s_index(self):
        plan = make_plan()
        self.assertEqual([node.name for node in plan.nodes],
                         ["c3ctl", "c3login", "c3n0", "c3n1"])
        self.assertEqual(len({node.address for node in plan.nodes}), 4)

    def test_a_node_is_found_by_either_name(self):
        plan = make_plan()
        self.assertEqual(plan.find("n1"), plan.find("c3n1"))
        self.assertIsNone(plan.find("n9"))

    def test_plain_falls_back_to_linuxproc(self):
        self.assertEqual(make_plan().proctrack, "cgroup")
        self.assertEqual(make_plan(NO_CGROUPS).proctrack, "linuxproc")

    def test_mixed_has_three_plugstacks(self):
        plan = make_plan(profile="mixed", plugin="/a.so", plugin_other="/b.so",
                         plugin_args="k=v")
        self.assertEqual([node.plugstack for node in plan.compute],
                         ["optional /a.so k=v\n", "optional /b.so k=v\n", ""])
        self.assertEqual(plan.login.plugstack, "optional /a.so k=v\n")

    def test_set_plugstack_wins(self):
        plan = make_plan(plugin="/a.so", required=True, set_plugstack=["n1=", "login=# x"])
        self.assertEqual([node.plugstack for node in plan.nodes],
                         ["required /a.so\n", "# x\n", "required /a.so\n", ""])

    def test_what_is_refused(self):
        for given, text in (
                (dict(nodes=0), "--nodes is from 1 to 16"),
                (dict(nodes=17), "--nodes is from 1 to 16"),
                (dict(gpus=5), "--gpus is from 0 to 4"),
                (dict(cpus=0), "--cpus is 1 or more"),
                (dict(profile="bare", plugin="/a.so"), "takes no --plugin"),
                (dict(profile="mixed", plugin="/a.so"), "needs --plugin-other"),
                (dict(plugin_other="/a.so"), "no other takes it"),
                (dict(profile="mixed", plugin_other="/b", nodes=2), "3 nodes or more"),
                (dict(profile="series"), "needs --slurm-root"),
                (dict(profile="series", slurm_root="/nowhere"), "no second Slurm"),
                (dict(slurm_root="/"), "is for the profile 'series'"),
                (dict(profile="cgroup", machine=NO_CGROUPS), "no cgroup v1"),
                (dict(bind=["/tmp"]), "--bind is SRC:DST"),
                (dict(bind=["/tmp:relative"]), "--bind is SRC:DST"),
                (dict(bind=["/nowhere:/x"]), "no '/nowhere'"),
                (dict(topology=["n7=/etc/passwd"]), "no compute node 'n7'"),
                (dict(topology=["/nowhere"]), "no file '/nowhere'"),
                (dict(set_plugstack=["n0"]), "NODE=TEXT")):
            with self.subTest(given), self.assertRaisesRegex(profiles.Refused, text):
                make_plan(**given)

    def test_bind(self):
        self.assertEqual(profiles.parse_bind("/tmp:/a/"), ("/tmp", "/a", "rw"))
        self.assertEqual(profiles.parse_bind("/tmp:/a:ro"), ("/tmp", "/a", "ro"))


class Configuration(unittest.TestCase):
    def test_a_user_s_line_replaces_ours(self):
        self.assertEqual(config.override(["A=1", "B=2"], ["a=3", "C=4"]),
                         ["B=2", "a=3", "C=4"])

    def test_a_user_s_partition_is_added(self):
        self.assertEqual(config.override(["PartitionName=m"], ["PartitionName=o"]),
                         ["PartitionName=m", "PartitionName=o"])

    def test_no_key_is_given_twice(self):
        text = config.slurm_conf(make_plan(profile="ports", slurm_conf_line=["KillWait=9"]))
        keys = [config.key(line) for line in text.splitlines()]
        once = [key for key in keys if key not in config.REPEATABLE]
        self.assertEqual(len(once), len(set(once)))
        self.assertIn("KillWait=9\n", text)
        self.assertIn("MpiParams=ports=20000-20999\n", text)

    def test_gres_files(self):
        for gpus, text in ((0, ""), (1, "Name=gpu File=/dev/nvidia0\n"),
                           (4, "Name=gpu File=/dev/nvidia[0-3]\n")):
            self.assertEqual(config.gres_conf(make_plan(gpus=gpus)), text)

    def test_no_name_is_a_loopback_address(self):
        lines = config.hosts(make_plan()).splitlines()
        self.assertEqual([line for line in lines if line.startswith("127.")],
                         ["127.0.0.1 localhost"])

    def test_every_account_has_a_shadow_entry(self):
        files = config.account_files()
        names = [[line.split(":")[0] for line in files[name].splitlines()]
                 for name in ("etc/passwd", "etc/shadow")]
        self.assertEqual(*names)


class Parsers(unittest.TestCase):
    def test_own_cgroups(self):
        self.assertEqual(cgroups.parse_own("3:cpuset:/a\n2:cpu,cpuacct:/\n1:name=systemd:/\n0::/\n"),
                         {"cpuset": "/a", "cpu": "/", "cpuacct": "/", "name=systemd": "/"})

    def test_listening_port(self):
        table = ("  sl local rem st\n 0: 00000000:1AA1 00000000:0000 0A\n"
                 " 1: 0100007F:1AA2 0100007F:9999 01\n")
        self.assertTrue(start.listens(table, 6817))
        self.assertFalse(start.listens(table, 6818))

    def test_mountinfo_with_a_space(self):
        self.assertEqual(rootfs.parse_mountinfo(r"1 0 8:1 / /a\040b rw - ext4 /dev/x rw"), ["/a b"])

    def test_submounts(self):
        self.assertEqual(rootfs.submounts(["/", "/dev", "/dev/pts", "/home", "/devel", "/home",
                                           "/c/nodes/n0/root"], "/c"), ["/home", "/devel"])

    def test_misc_devices(self):
        misc = devices.parse_misc("200 tun\n237 loop-control\n")
        self.assertEqual(list(devices.candidates(misc)),
                         [(1, 7), (10, 237), (10, 200), (1, 8), (1, 5)])

    def test_accounts(self):
        files = config.account_files()
        self.assertEqual(enter.find_account(files["etc/passwd"], "bob")["home"], "/home/bob")
        self.assertEqual(enter.find_groups(files["etc/group"], "bob", 20002),
                         [20002, plans.PROJECT_GID])
        with self.assertRaises(enter.Refused):
            enter.find_account(files["etc/passwd"], "bo")


if __name__ == "__main__":
    unittest.main()
