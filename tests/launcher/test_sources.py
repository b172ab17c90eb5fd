"""What the node has, from all that tells it; and what happens where that is wrong."""

import os
import re
import subprocess

import pytest
from conftest import BUILD, TOP
from machines import MACHINES

DATA = TOP / "tests/launcher/data"
STUB = BUILD / "tests/libnvml-stub.so"


def names(found):
    return [nic["name"] for nic in found["nics"]]


def cards(found):
    return [gpu["nic"] for gpu in found["gpus"]]


def reasons(found):
    return {nic["name"]: nic["reason"] for nic in found["dropped"]}


def refused(done):
    """The one line that says why."""
    assert done.returncode == 125 and done.stdout == "", done
    assert len(done.stderr.splitlines()) == 1, done
    return done.stderr


# ---- hwloc

def test_xml_of_hwloc_3_is_read(launcher, topologies):
    found = launcher.map("--ranks=2", f"--topology={topologies / 'hwloc/hwloc--16intel64-manyVFs.xml'}")
    assert [rank["cpus"] for rank in found["ranks"]] == ["0-7", "8-15"]
    assert names(found) == ["usnic_0", "usnic_1", "usnic_2"]
    dropped = reasons(found)
    assert len(dropped) == 15
    assert [name for name in dropped if dropped[name] == "virtual function"] == [
        "0000:0b:00.1", "0000:0b:00.2", "0000:0b:00.3", "0000:0c:00.1", "0000:0c:00.4",
        "0000:88:00.1", "0000:88:00.2", "0000:88:00.3", "0000:88:00.4", "0000:88:00.5"]


def test_versions_2_and_3_of_one_machine_have_one_map(launcher, topologies, tmp_path):
    """Written as hwloc 3 does: other numbers for the kinds of devices."""
    old = topologies / MACHINES["turin"]
    text = old.read_text().replace('<topology version="2.0">', '<topology version="3.0">')
    for number, mask in (("3", "48"), ("2", "16"), ("5", "12"), ("4", "64"), ("1", "4"), ("0", "1")):
        text = text.replace(f'osdev_type="{number}"', f'osdev_type="{mask}"')
    new = tmp_path / "new.xml"
    new.write_text(text.replace("</topology>", '<pci_locality domain="0x0" bus_min="0x0" bus_max="0x5"/></topology>'))
    assert launcher.map("--ranks=4", f"--topology={new}") == launcher.map("--ranks=4", f"--topology={old}")


def test_a_newer_version_is_refused(launcher, tmp_path):
    path = tmp_path / "new.xml"
    path.write_text('<topology version="4.0"/>')
    assert refused(launcher.run("--dry-run", "--ranks=2", f"--topology={path}")) == (
        f"pinstep-launch: error: '{path}' is in version 4.0 of hwloc's XML, and this pinstep knows 1 to 3 (write it "
        "with an hwloc 3 or older)\n")


def test_a_machine_described_in_a_line(launcher):
    found = launcher.map("--ranks=4", "--topology=synthetic:package:2 numa:2 core:8 pu:2")
    assert [(rank["cpus"], rank["memory_node"]) for rank in found["ranks"]] == [
        ("0-15", 0), ("16-31", 1), ("32-47", 2), ("48-63", 3)]
    assert found["gpus"] == [] and found["nics"] == []
    assert "'core:no' is no synthetic topology" in refused(
        launcher.run("--dry-run", "--ranks=2", "--topology=synthetic:core:no"))


# ---- NCCL's files beside it

def test_a_file_of_nccl_says_where_devices_are(launcher, topologies, tmp_path):
    """A hypervisor that puts all devices at one place: hwloc's XML of NDv4 as it is seen inside."""
    nccl = (topologies / MACHINES["ndv4"]).read_text()
    devices = re.findall(r'busid="(0[01]0\w:00:00.0)" class="0x(0\d0\d)', nccl)
    assert len(devices) == 16
    flat = tmp_path / "flat.xml"
    flat.write_text(_hwloc(devices))
    alone = launcher.map("--ranks=8", f"--topology={flat}")
    corrected = launcher.map("--ranks=8", f"--topology={flat}", f"--nccl-topology={topologies / MACHINES['ndv4']}")
    assert {gpu["level"] for gpu in alone["gpus"]} == {"NODE"}
    assert {gpu["level"] for gpu in corrected["gpus"]} == {"PIX"}
    assert (alone["objective"]["bandwidth"], corrected["objective"]["bandwidth"]) == (5.6, 8.0)


def _hwloc(devices):
    pci = "".join(
        f'<object type="PCIDev" gp_index="{index}" pci_busid="{bus}" '
        f'pci_type="{kind} [{"10de" if kind == "0302" else "15b3"}:101c] [0000:0000] 00" pci_link_speed="0.0">'
        + (f'<object type="OSDev" gp_index="{100 + index}" name="mlx5_{index}" osdev_type="3"/>' if kind == "0207" else "")
        + "</object>" for index, (bus, kind) in enumerate(devices, 10))
    sets = 'cpuset="0x3" complete_cpuset="0x3" nodeset="0x1" complete_nodeset="0x1"'
    return (f'<?xml version="1.0" encoding="UTF-8"?>\n<topology version="2.0"><object type="Machine" os_index="0" {sets} '
            f'allowed_cpuset="0x3" allowed_nodeset="0x1" gp_index="1">'
            f'<object type="NUMANode" os_index="0" {sets} gp_index="2" local_memory="1"/>'
            + "".join(f'<object type="Core" os_index="{n}" cpuset="0x{n + 1}" complete_cpuset="0x{n + 1}" nodeset="0x1" '
                      f'complete_nodeset="0x1" gp_index="{3 + 2 * n}"><object type="PU" os_index="{n}" cpuset="0x{n + 1}" '
                      f'complete_cpuset="0x{n + 1}" nodeset="0x1" complete_nodeset="0x1" gp_index="{4 + 2 * n}"/></object>'
                      for n in (0, 1))
            + f"{pci}</object></topology>\n")


def test_a_file_that_the_user_names_must_be_right(launcher, tmp_path):
    path = tmp_path / "x.xml"
    for text, why in (("<topology/>", "is no topology file of NCCL"), ("<system><cpu", "line 1: "),
                      ("<system/>", "has no <cpu>")):
        path.write_text(text)
        assert why in refused(launcher.run("--dry-run", "--ranks=2", f"--nccl-topology={path}"))


def test_what_is_wrong_in_the_users_variables_is_a_note(launcher, tmp_path):
    path = tmp_path / "x.xml"
    path.write_text("<system/>")
    wrong = dict(os.environ, NCCL_TOPO_FILE=str(path), NCCL_IB_HCA="mlx5_0:one")
    done = launcher.run("--dry-run", "--ranks=1", env=wrong)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"note: NCCL_TOPO_FILE: '{path}' has no <cpu>\n" in done.stdout
    assert "note: NCCL_IB_HCA: 'mlx5_0:one' is no list of network cards\n" in done.stdout
    assert "NCCL_TOPO_FILE" in refused(launcher.run("--dry-run", "--strict", "--ranks=1", env=wrong))
    of_a_file = launcher.run("--dry-run", "--ranks=1", "--topology=synthetic:core:2 pu:1", env=wrong)
    assert (of_a_file.returncode, "note" in of_a_file.stdout) == (0, False)


# ---- which cards

def test_storage_cards_of_a_dgx_h100_are_left_out(launcher):
    found = launcher.map("--ranks=8", f"--topology={DATA / 'dgx-h100.xml'}")
    assert cards(found) == [f"mlx5_{n}" for n in (0, 3, 4, 5, 6, 9, 10, 11)]
    assert names(found) == cards(found)
    assert reasons(found) == dict.fromkeys([f"mlx5_{n}" for n in (1, 2, 7, 8)], "200 Gb/s beside 400 Gb/s")


def test_bluefields_of_a_gb200_tray_are_left_out(launcher):
    found = launcher.map("--ranks=4", f"--topology={DATA / 'gb200-tray.xml'}")
    assert cards(found) == names(found) == ["mlx5_0", "mlx5_1", "mlx5_4", "mlx5_5"]
    assert reasons(found) == dict.fromkeys([f"mlx5_{n}" for n in (2, 3, 6, 7)], "data processing unit beside cards")


@pytest.mark.parametrize("machine, link, nics, used, why", [
    ("turin", [], "mlx5_1,mlx5_2", [], {"mlx5_1": "link down", "mlx5_0": "not in --nics"}),
    ("turin", ["--ignore-link"], "mlx5_1,mlx5_2", ["mlx5_1", "mlx5_2"], {"mlx5_0": "not in --nics"}),
    ("turin", ["--ignore-link"], "^mlx5_0,mlx5_3", ["mlx5_4", "mlx5_5"],
     {"mlx5_0": "excluded by --nics", "mlx5_1": "roce beside fabric"}),
    ("turin", ["--ignore-link"], "^mlx5", ["eno6"], {"mlx5_5": "excluded by --nics"}),
    ("4p4h", [], "mlx5_1", [f"mlx5_{n}" for n in (13, 12, 11, 10, 14, 15, 16, 17, 18, 19)], {"mlx5_6": "not in --nics"}),
    ("4p4h", [], "=mlx5_1,mlx5_9:1,mlx5_8:2", ["mlx5_9"], {"mlx5_8": "not in --nics"}),
    ("4p2h-2nic", [], "mlx5_0,mlx5_1", ["mlx5_0", "mlx5_1"], {}),
    ("4p1h", [], "virbr0", [], {"virbr0": "not on the PCI bus", "eno1": "not in --nics"}),
])
def test_cards_by_a_list(launcher, topologies, machine, link, nics, used, why):
    found = launcher.map("--ranks=4", f"--topology={topologies / MACHINES[machine]}", f"--nics={nics}", *link)
    assert sorted(names(found)) == sorted(used)
    assert reasons(found).items() >= why.items()


def test_a_card_that_is_no_infiniband_beside_one_that_is_can_be_asked_for(launcher, topologies):
    """README of the test data: 2.00 with both."""
    path = topologies / MACHINES["4p2h-2nic"]
    both = launcher.map("--ranks=8", f"--topology={path}", "--nics=mlx5_0,mlx5_1")
    assert both["objective"]["bandwidth"] == 2.0
    assert reasons(launcher.map("--ranks=8", f"--topology={path}")) == {"mlx5_0": "roce beside fabric"}


@pytest.mark.parametrize("machine, nics", [("4p2h-2nic", "nosuch"), ("4p2h-2nic", "=mlx5"), ("turin", "mlx5_1,mlx5_2"),
                                           ("4p1h", "virbr0")])
def test_a_list_of_which_no_card_can_be_used_is_a_note_and_with_strict_an_error(launcher, topologies, machine, nics):
    arguments = ["--ranks=4", f"--topology={topologies / MACHINES[machine]}", f"--nics={nics}"]
    cause = "none of the network cards of --nics can be used here"
    assert launcher.map(*arguments)["notes"] == [cause]
    assert cause in refused(launcher.run("--dry-run", "--strict", *arguments))


def test_a_list_that_is_none_is_wrong_usage(launcher):
    for text in ("", "^", "mlx5_0:x"):
        assert launcher.run("--dry-run", "--ranks=1", f"--nics={text}").returncode == 2


# ---- NVML

def pinstep_map(*arguments, **environment):
    done = subprocess.run([BUILD / "libexec/pinstep/pinstep-map", *map(str, arguments)], text=True, capture_output=True,
                          env=dict(os.environ, **environment))
    assert done.stderr == ""
    return done


def lines(text, kind):
    return [line.split(" ")[1:] for line in text.splitlines() if line.startswith(kind + " ")]


def test_nvml_tells_uuids_numbers_and_memory(topologies):
    done = pinstep_map("--ranks=5", f"--topology={topologies / MACHINES['booster']}", f"--nvml={STUB}")
    gpus = {gpu[0]: gpu for gpu in lines(done.stdout, "gpu")}
    assert gpus["0000:03:00.0"][4] == "GPU-00000000-0000-0000-0000-000000000003"
    assert [gpus[f"0000:{bus}:00.0"][5] for bus in ("03", "44", "84", "99", "c4")] == ["3", "1", "6", "2", "5"]
    notes = [note[0].replace("%20", " ") for note in lines(done.stdout, "note")]
    assert "GPU '0000:44:00.0' is at memory node 1, but NVML says 5" in notes
    assert "NVML knows GPU '0000:99:00.0', which is not on the PCI bus" in notes
    assert "GPU '0000:03:00.0' is divided into 2 MIG instances" in notes


@pytest.mark.parametrize("function", ["nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2",
                                      "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetUUID"])
def test_without_nvml_the_map_is_that_of_the_bus(topologies, function):
    arguments = ["--ranks=4", f"--topology={topologies / MACHINES['booster']}"]
    without = pinstep_map(*arguments).stdout
    failing = pinstep_map(*arguments, f"--nvml={STUB}", NVML_STUB_FAIL=f"{function}:999")
    assert failing.returncode == 0
    note, = lines(failing.stdout, "note")
    assert re.fullmatch(r"NVML%20cannot%20.*:%20error%20999", note[0])
    assert failing.stdout.replace(f"note {note[0]}\n", "") == without
    strict = pinstep_map(*arguments, f"--nvml={STUB}", "--strict", NVML_STUB_FAIL=f"{function}:999")
    assert strict.returncode == 1 and strict.stdout.startswith("error corrupt NVML%20cannot%20")


def test_the_stand_in_has_what_is_looked_for_and_no_more():
    callers = ("launcher/topology/nvml.cc", "envtools/profile/cuda_driver.cc")
    wanted = {name for path in callers for name in re.findall(r'"(nvml\w+)"', (TOP / path).read_text())}
    symbols = subprocess.run(["nm", "-D", "--defined-only", STUB], text=True, capture_output=True, check=True).stdout
    assert {line.split()[-1] for line in symbols.splitlines()} == wanted


# ---- what cannot be read

BOMB = ('<!DOCTYPE {0} [<!ENTITY a "aaaaaaaaaa">'
        + "".join(f'<!ENTITY {b} "&{a};&{a};&{a};&{a};&{a};&{a};&{a};&{a};&{a};&{a};">' for a, b in zip("abcdefghi", "bcdefghij"))
        + "]><{0} version=\"2.0\"><cpu numaid=\"&j;\"/><object type=\"&j;\"/></{0}>")


@pytest.mark.parametrize("text", ["", "<topology", "<?xml version='1.0'?><html/>", "<topology version=\"2.0\">",
                                  "<topology version=\"x\"></topology>", "\0\1\2", "<system", "<system></cpu></system>",
                                  BOMB.format("topology"), BOMB.format("system"),
                                  "<topology version='2.0'>" + "<object type='Group'>" * 100_000,
                                  "<topology version='2.0'>" + "<object>" * 9999 + "</object>" * 9999 + "</topology>",
                                  "<system>" + "<cpu><pci busid='0:0:0.0'>" * 9999 + "</pci></cpu>" * 9999 + "</system>"],
                         ids=lambda text: text[:24])
def test_a_file_that_is_none_is_refused_in_one_line(launcher, tmp_path, text):
    path = tmp_path / "broken.xml"
    path.write_text(text)
    assert str(path) in refused(launcher.run("--dry-run", "--ranks=2", f"--topology={path}"))


def test_what_is_no_file_is_refused_in_one_line(launcher, tmp_path):
    loop = tmp_path / "loop.xml"
    loop.symlink_to(loop)
    huge = tmp_path / "huge.xml"
    with open(huge, "wb") as file:
        file.truncate(65 << 20)
    for path in (loop, huge, tmp_path, tmp_path / "none.xml"):
        assert str(path) in refused(launcher.run("--dry-run", "--ranks=2", f"--topology={path}"))


@pytest.mark.parametrize("machine", ["pascal", "meluxina", "8p1h"])
def test_a_file_cut_anywhere_is_read_or_refused(launcher, topologies, tmp_path, machine):
    whole = (topologies / MACHINES[machine]).read_bytes()
    path = tmp_path / "cut.xml"
    for part in range(1, 20):
        path.write_bytes(whole[:len(whole) * part // 20])
        assert f"'{path}', line " in refused(launcher.run("--dry-run", "--ranks=2", f"--topology={path}"))


# ---- this node

def test_gpus_that_nothing_tells_the_place_of(launcher, tmp_path):
    """Those whose bridge hangs at the machine, which has several memory nodes."""
    device = ('<object type="Bridge" gp_index="901" bridge_type="0-1" depth="0" bridge_pci="0000:[02-03]">'
              '<object type="PCIDev" gp_index="902" pci_busid="0000:03:00.0" pci_type="0302 [10de:20b0] [10de:144e] a1" '
              'pci_link_speed="0.0"/></object>')
    before, end, after = (DATA / "two-sockets.xml").read_text().rpartition("</object>")
    path = tmp_path / "nowhere.xml"
    path.write_text(before + device + end + after)
    found = launcher.text("--ranks=2", f"--topology={path}")
    assert "note: nothing tells which memory node GPU '0000:03:00.0' is near\n" in found
    assert "which memory node" in refused(launcher.run("--dry-run", "--strict", "--ranks=2", f"--topology={path}"))


def test_a_node_without_sys_has_a_map(launcher):
    """In a namespace of its own: a container may have none."""
    if os.getuid() != 0:
        pytest.skip("no root")
    done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys && exec "$0" "$@"',
                           BUILD / "bin/pinstep-launch", "--dry-run", "--ranks=1"], text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].split()[:2] == ["0", "-"]
