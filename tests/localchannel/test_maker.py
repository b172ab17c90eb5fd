"""make-channel: the same bytes each time, nothing done twice, nothing of others touched."""

import json
import os
import signal
import subprocess
import time

from channel import MAKER

SMALL = ["--only=python", "--only=greet-1.0", "--only=show-prefix-1.0", "--only=prefix-text-1.0",
         "--only=activation-demo-1.0", "--only=six"]


def make(output, *options, **variables):
    return subprocess.run([MAKER, "--output", output, *options], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", **variables})


def contents(directory):
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_two_runs_give_the_same_bytes(tmp_path, channel):
    assert make(tmp_path / "one", *SMALL).returncode == 0
    before = os.umask(0o077)
    try:
        assert make(tmp_path / "another/place", *SMALL, TZ="Asia/Tokyo", LC_ALL="C.UTF-8").returncode == 0
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
