"""Logs of a run, and what pinstep-worker report makes of them."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
import xml.etree.ElementTree as xml

import pytest

from ranks import ENDLESS, TIMEOUT, WORKER

QUICK = ["--images=1200", "--test-images=100", "--epochs=2", "--batch=30"]


def report(*arguments):
    return subprocess.run([WORKER, "report", *map(str, arguments)], text=True, capture_output=True)


def events(directory, rank, name):
    lines = (directory / f"rank-{rank}.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == name]


def test_each_rank_leaves_its_events(train, tmp_path):
    ended = train(2, *QUICK, "--json", f"--log={tmp_path}/a/log").ok()
    for rank in range(2):
        log = tmp_path / "a/log"
        start, = events(log, rank, "start")
        assert (start["rank"], start["ranks"]) == (rank, 2)
        steps = events(log, rank, "step")
        assert [step["step"] for step in steps] == list(range(1, 41))
        assert [step["epoch"] for step in steps] == [1] * 20 + [2] * 20
        assert all(0 <= step["waited"] <= step["seconds"] for step in steps)
        assert [(e["epoch"], e["loss"], e["accuracy"]) for e in events(log, rank, "epoch")] \
            == [(e["epoch"], e["loss"], e["accuracy"]) for e in ended.events("epoch")]
        end, = events(log, rank, "end")
        assert end["weights"] == ended.end["weights"]
        assert end["most_memory_bytes"] > 1 << 20
        assert abs(end["time"] - time.time()) < 600
    # A step's loss is that of one rank; their mean is the epoch's.
    both = [events(tmp_path / "a/log", rank, "step")[:20] for rank in range(2)]
    mean = sum(step["loss"] for rank in both for step in rank) / 40
    assert mean == pytest.approx(ended.events("epoch")[0]["loss"], abs=1e-4)


def test_a_rank_that_is_slow_is_found(start, tmp_path):
    """Rank 1 is stopped again and again, until the log has enough steps to tell."""
    ranks = start(3, ENDLESS, "--images=6000", "--test-images=100", "--hidden=512,512", "--batch=100",
                  f"--log={tmp_path}")
    ranks.wait_for("epoch 1")
    deadline = time.monotonic() + TIMEOUT
    while True:
        until = time.monotonic() + 2
        while time.monotonic() < until:
            for number in (signal.SIGSTOP, signal.SIGCONT):
                ranks.signal(1, number)
                time.sleep(0.05 if number == signal.SIGSTOP else 0.005)
        told = json.loads(report("--json", tmp_path).stdout)
        own = [rank["own_seconds_95"] for rank in told["ranks"]]
        if own[1] > 1.5 * max(own[0], own[2]):
            break
        assert time.monotonic() < deadline, told["ranks"]
    ranks.kill()
    assert told["unfinished"] == [0, 1, 2]


def test_the_report_is_text_and_a_picture(train, tmp_path):
    train(2, *QUICK, f"--log={tmp_path}").ok()
    done = report(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("2 ranks on 1 node, mlp with 235146 parameters, 40 steps\n")
    picture = xml.parse(tmp_path / "report.svg").getroot()
    words = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    for word in ("Loss", "Throughput", "Step time by rank", "step; dotted: an epoch ends", "waiting for others"):
        assert word in words
    assert len(picture.findall("{http://www.w3.org/2000/svg}polyline")) == 2
    other = tmp_path / "other.svg"
    assert f"picture: {other}" in report(f"--svg={other}", tmp_path).stdout
    assert other.read_text() == (tmp_path / "report.svg").read_text()


@pytest.fixture(scope="module")
def log(train, tmp_path_factory):
    """The log of a short run."""
    directory = tmp_path_factory.mktemp("log")
    train(1, *QUICK, f"--log={directory}").ok()
    return directory


def test_a_picture_goes_where_it_is_sent_and_takes_no_place(log, tmp_path):
    """A FIFO, and links to a file, to nothing and to devices; the machine's own are never given by name."""
    os.mkfifo(tmp_path / "fifo")
    reader = subprocess.Popen(["cat", tmp_path / "fifo"], text=True, stdout=subprocess.PIPE)
    assert report(f"--svg={tmp_path}/fifo", log).returncode == 0
    assert reader.communicate(timeout=TIMEOUT)[0].endswith("</svg>\n")
    assert (tmp_path / "fifo").is_fifo()
    (tmp_path / "file").write_text("old")
    for name, target, code in (("link", "file", 0), ("new", "missing", 0), ("null", "/dev/null", 0), ("full", "/dev/full", 1)):
        (tmp_path / name).symlink_to(target)
        done = report(f"--svg={tmp_path}/{name}", log)
        assert done.returncode == code, done
        assert (tmp_path / name).is_symlink()
        assert target.startswith("/dev") or (tmp_path / target).read_text().endswith("</svg>\n")
    assert "there is no picture" in done.stderr and "No space left on device" in done.stderr
    assert (tmp_path / "null").is_char_device() and (tmp_path / "full").is_char_device()


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_where_no_picture_can_be_made_the_report_is_there_all_the_same(log, tmp_path, form):
    done = report(*form, f"--svg={tmp_path}/none/x.svg", log)
    assert done.returncode == 1
    assert json.loads(done.stdout)["steps"] == 80 if form else done.stdout.startswith("1 rank on 1 node, mlp")
    assert "picture:" not in done.stdout
    assert done.stderr.splitlines() == [
        f"pinstep-worker: error: there is no picture: cannot write '{tmp_path}/none/x.svg': No such file or directory",
        "pinstep-worker: hint: --svg=FILE draws it elsewhere"]


@pytest.mark.parametrize("size", [1, 2])
def test_a_run_that_diverges_ends_and_says_so(train, tmp_path, size):
    """The end of an epoch or a checkpoint in it, whichever is first; what could not be gone on from is not kept."""
    ended = train(size, *QUICK, "--lr=1e30", f"--log={tmp_path}/log")
    assert set(ended.codes) == {1}, ended
    steps = 1200 // 30 // size
    assert f"the training diverged: the loss is not a number after step {steps}" in ended.error
    assert "epoch 1  loss nan" in ended.out[0] and "weights" not in ended.out[0]
    assert all(err == "" for err in ended.err[1:])
    done = report(tmp_path / "log")
    assert re.search(r"^ +1 +nan +nan ", done.stdout, re.M) and "rank 0: the training diverged" in done.stdout
    told, = json.loads(report("--json", tmp_path / "log").stdout)["epochs"]
    assert told["loss"] is None and told["test_loss"] is None
    ended = train(size, *QUICK, "--lr=1e30", f"--checkpoint={tmp_path}/c", "--checkpoint-steps=5")
    assert set(ended.codes) == {1} and "the training diverged" in ended.err[0], ended
    assert [path.name for path in (tmp_path / "c").iterdir()] == [".lock"]


def test_ranks_of_an_earlier_larger_run_are_not_compared(train, tmp_path):
    keep = [*QUICK, f"--checkpoint={tmp_path}/c", f"--log={tmp_path}/log"]
    train(2, *keep, "--steps=20").ok()
    train(1, *keep).ok()
    told = json.loads(report("--json", tmp_path / "log").stdout)
    assert (told["ranks_of_run"], told["former_logs"], told["unfinished"]) == (1, 1, [])
    assert [(rank["rank"], rank["factor"]) for rank in told["ranks"]] == [(0, 1)]


def test_a_run_that_failed_has_a_report(start, tmp_path):
    ranks = start(2, ENDLESS, "--test-images=100", "--timeout=10", f"--log={tmp_path}")
    ranks.wait_for("epoch 1")
    ranks.signal(1, signal.SIGKILL)
    ended = ranks.wait(besides=[1])
    done = report(tmp_path)
    assert done.returncode == 0, ended
    assert "2 ranks did not end well" in done.stdout
    assert "rank 0: rank 1" in done.stdout and "is gone" in done.stdout, ended


@pytest.mark.parametrize("arguments, code, words", [
    ([], 2, "no directory is given"), (["a", "b"], 2, "more than one directory"), (["/nonexistent"], 1, "/nonexistent")])
def test_what_cannot_be_read(arguments, code, words):
    done = report(*arguments)
    assert done.returncode == code and words in done.stderr


def test_a_directory_without_logs(tmp_path):
    done = report(tmp_path)
    assert done.returncode == 1 and "has no log of a rank" in done.stderr


# ---- progress

@pytest.fixture
def terminal():
    """(what a person sees, what a program writes to)"""
    both = pty.openpty()
    yield both
    for end in both:
        os.close(end)


@pytest.fixture
def endless(small):
    """endless(stderr, stdout, *options): training alone, until the test ends."""
    processes = []

    def begin(stderr, stdout, *options):
        processes.append(subprocess.Popen([WORKER, "train", f"--data={small}", ENDLESS, *options], stdin=subprocess.DEVNULL,
                                          stdout=stdout, stderr=stderr, env={"PATH": "/usr/bin:/bin"}))
        return processes[-1]

    yield begin
    for process in processes:
        process.kill()
        process.wait()


def read_at_once(terminal):
    """What there is to read, if anything."""
    seen = bytearray()
    while select.select([terminal], [], [], 0)[0]:
        seen += os.read(terminal, 4096)
    return bytes(seen)


def test_progress_is_shown_on_a_terminal(terminal, endless):
    seen, told = terminal
    process = endless(told, subprocess.DEVNULL)
    shown, deadline = b"", time.monotonic() + TIMEOUT
    while not re.search(rb"\r\x1b\[Kepoch \d+  step \d+  loss \d\.\d{4}  \d+ samples/s", shown):
        assert process.poll() is None and time.monotonic() < deadline, shown
        time.sleep(0.05)
        shown += read_at_once(seen)


@pytest.mark.parametrize("is_terminal, options", [(True, ["--json"]), (False, [])], ids=["json", "file"])
def test_progress_is_shown_nowhere_else(terminal, endless, tmp_path, is_terminal, options):
    """A line of progress would come a quarter of a second after the start, at the end of a step."""
    out, err = tmp_path / "out", tmp_path / "err"
    with open(out, "wb") as stdout, open(err, "wb") as stderr:
        process = endless(terminal[1] if is_terminal else stderr, stdout, *options)
    deadline = time.monotonic() + TIMEOUT
    until = None
    while until is None or out.read_text().count("epoch") < until:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(1)
        if until is None and "accuracy" in out.read_text():
            until = out.read_text().count("epoch") + 2
    assert read_at_once(terminal[0]) == b"" and err.read_bytes() == b""
