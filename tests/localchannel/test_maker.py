"""make-channel: the same bytes each time, nothing done twice, nothing of others touched."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from channel import MAKER

SMALL = ["--only=python", "--only=greet-1.0", "--only=show-prefix-1.0", "--only=prefix-text-1.0",
         "--only=activation-demo-1.0", "--only=six"]


def make(output, *options, **variables):
    return subprocess.run([MAKER, "--output", output, *options], capture_output=True, text=True,
                          env=variables)


def contents(directory):
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_two_runs_give_the_same_bytes(tmp_path, channel):
    assert make(tmp_path / "one", *SMALL).returncode == 0
    for tool in ("gcc", "ld", "zstd", "patchelf"):
        (tmp_path / tool).symlink_to("/bin/false")
    before = os.umask(0o077)
    try:
        assert make(tmp_path / "another/place", *SMALL, TZ="Asia/Tokyo", ZSTD_CLEVEL="19", CPATH="/",
                    PATH=f"{tmp_path}:/usr/bin:/bin").returncode == 0
    finally:
        os.umask(before)
    one = contents(tmp_path / "one")
    assert one == contents(tmp_path / "another/place")
    archives = {name: content for name, content in one.items() if name.endswith(".conda")}
    assert len(archives) == len(SMALL)
    assert archives == {name: (channel / name).read_bytes() for name in archives}


def test_a_second_run_does_nothing(tmp_path):
    make(tmp_path / "channel", "--only=six")
    before = (tmp_path / "channel").stat()
    again = make(tmp_path / "channel", "--only=six")
    assert again.stdout == f"{tmp_path}/channel is up to date\n"
    assert (tmp_path / "channel").stat() == before


def test_another_version_of_a_package_makes_it_anew(tmp_path):
    make(tmp_path / "channel", "--only=six")
    stamp = tmp_path / "channel/made-from.json"
    facts = json.loads(stamp.read_text())
    facts["debian"]["python3-six"] = "1.0-1"
    stamp.write_text(json.dumps(facts))
    again = make(tmp_path / "channel", "--only=six")
    assert again.stdout.startswith(f"{tmp_path}/channel: 1 packages")
    assert json.loads(stamp.read_text()) != facts
    assert sorted(path.name for path in tmp_path.iterdir()) == ["channel", "channel.lock"]


def make_with(tmp_path, file, over, *options):
    """make() with `file` in the place of another."""
    return subprocess.run(["unshare", "--mount", "sh", "-ec", 'mount --bind "$1" "$2"; shift 2; exec "$@"', "sh",
                           file, over, MAKER, "--output", tmp_path / "channel", *options],
                          capture_output=True, text=True)


@pytest.mark.skips("no root")
def test_a_file_that_was_changed_is_not_taken(tmp_path):
    changed, path = tmp_path / "six.py", "/usr/lib/python3/dist-packages/six.py"
    changed.write_text("changed = True\n")
    refused = make_with(tmp_path, changed, path, "--only=six")
    assert (refused.returncode, refused.stderr) == \
        (1, f"make-channel: '{path}' is not what package 'python3-six' shipped\n"
            "hint: apt-get install --reinstall python3-six\n")
    assert not (tmp_path / "channel").exists()


@pytest.mark.skips("no root")
def test_a_package_that_is_absent_is_named(tmp_path):
    packages = Path("/var/lib/dpkg/status").read_text().split("\n\n")
    status = tmp_path / "status"
    status.write_text("\n\n".join(text for text in packages if not text.startswith("Package: zstd\n")))
    refused = make_with(tmp_path, status, "/var/lib/dpkg/status")
    assert (refused.returncode, refused.stderr) == \
        (1, "make-channel: not installed: zstd\nhint: apt-get install --no-install-recommends zstd\n")


@pytest.mark.skips("no root")
def test_it_needs_no_privileges(tmp_path):
    """As root without any of root's capabilities, so that this checkout may be anywhere."""
    made = subprocess.run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", MAKER, "--output",
                           tmp_path / "channel", "--only=show-prefix-1.0"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def test_a_directory_of_others_is_left_alone(tmp_path):
    (tmp_path / "file").write_text("mine")
    refused = make(tmp_path, "--only=six")
    assert (refused.returncode, refused.stderr) == \
        (1, f"make-channel: '{tmp_path}' is not empty and not made by this program\n")
    assert (tmp_path / "file").read_text() == "mine"


def test_libraries_are_never_taken_from_elsewhere(tmp_path):
    refused = make(tmp_path / "channel", "--only=numpy")
    assert refused.returncode == 1
    assert refused.stderr.startswith("make-channel: 'numpy' has programs or libraries, which need those of libopenblas")


def test_two_at_once_make_one_channel(tmp_path):
    makers = [subprocess.Popen([MAKER, "--output", tmp_path / "channel", "--only=six"], stdout=subprocess.PIPE,
                               text=True) for _ in range(2)]
    said = [maker.communicate()[0] for maker in makers]
    assert [maker.returncode for maker in makers] == [0, 0]
    assert sorted(line.endswith("is up to date\n") for line in said) == [False, True]


def test_a_killed_maker_leaves_no_channel_and_the_next_one_tidies_up(tmp_path):
    maker = subprocess.Popen([MAKER, "--output", tmp_path / "channel", *SMALL], start_new_session=True)
    while not list(tmp_path.glob(".channel.*")):
        time.sleep(0.001)
    os.killpg(maker.pid, signal.SIGKILL)
    maker.wait()
    assert not (tmp_path / "channel").exists()
    assert make(tmp_path / "channel", "--only=six").returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["channel", "channel.lock"]
