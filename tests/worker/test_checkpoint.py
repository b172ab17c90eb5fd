"""Runs that stop and go on: from checkpoints that other programs can read, and as if they had never stopped."""

import hashlib
import json
import re
import signal
import struct
import time
from pathlib import Path

import numpy
import pytest

import check
from ranks import ENDLESS, TIMEOUT

STOPPED = 75        # exit code
SHORT = ["--images=600", "--test-images=100", "--batch=10", "--json"]     # 2 ranks: 30 steps an epoch


def read(path):
    """(texts, {name: array}), by the rules of safetensors alone."""
    content = path.read_bytes()
    length, = struct.unpack("<Q", content[:8])
    head = json.loads(content[8:8 + length])
    texts = head.pop("__metadata__")
    data = content[8 + length:]
    arrays = {}
    for name, entry in head.items():
        begin, end = entry["data_offsets"]
        kind = {"F32": "<f4", "F64": "<f8"}[entry["dtype"]]
        arrays[name] = numpy.frombuffer(data[begin:end], kind).reshape(entry["shape"])
    digest = texts["sha256"].encode()
    assert hashlib.sha256(content.replace(digest, b"0" * 64, 1)).hexdigest().encode() == digest
    return texts, arrays


def names(directory):
    """Of all but the lock, which stays."""
    return sorted(path.name for path in directory.iterdir() if path.name != ".lock")


def stop(start, size, directory, number=signal.SIGTERM, *options, rank=0, **more):
    """Starts ranks, stops them by a signal to one of them somewhere after the third checkpoint; how they ended."""
    ranks = start(size, *SHORT, ENDLESS, "--lr=0.001", f"--checkpoint={directory}", "--checkpoint-steps=7", *options, **more)
    ranks.wait_for('"steps":21,', 0)
    ranks.signal(rank, number)
    ended = ranks.wait()
    assert set(ended.codes) == {STOPPED}, ended
    return ended


@pytest.mark.parametrize("rank", [0, 1])
def test_a_signal_to_any_rank_stops_all_at_the_same_step(start, tmp_path, rank):
    ended = stop(start, 2, tmp_path, rank=rank)
    last = ended.events("checkpoint")[-1]
    assert last["signal"] == "TERM"
    texts, _ = read(tmp_path / last["checkpoint"].rpartition("/")[2])
    assert int(texts["steps"]) == last["steps"]
    assert ended.seconds < 20


def test_the_signal_can_be_chosen(start, tmp_path):
    ended = stop(start, 1, tmp_path, signal.SIGUSR1, "--signal=USR1")
    assert ended.events("checkpoint")[-1]["signal"] == "USR1"


def test_a_checkpoint_is_a_safetensors_file_with_all_that_steps_change(train, tmp_path):
    ended = train(2, *SHORT, "--epochs=1", "--hidden=12", f"--checkpoint={tmp_path}/c", f"--save={tmp_path}/w").ok()
    name, = names(tmp_path / "c")
    texts, arrays = read(tmp_path / "c" / name)
    assert name == "step-000000000030.safetensors"
    assert {key: texts[key] for key in ("format", "epoch", "consumed", "steps", "ranks", "setting.seed")} == {
        "format": "pinstep-checkpoint 1", "epoch": "2", "consumed": "0", "steps": "30", "ranks": "2",
        "setting.seed": "1"}
    parameters = [f"layer{layer}.{part}" for layer in (1, 2) for part in ("weight", "bias")]
    assert {*parameters, *(f"momentum.{name}" for name in parameters), "totals"} == set(arrays)
    saved = numpy.load(tmp_path / "w/rank-1/layer1.weight.npy")
    assert (arrays["layer1.weight"] == saved).all() and saved.shape == (12, 784)
    assert numpy.abs(arrays["momentum.layer1.weight"]).max() > 0
    assert ended.events("checkpoint")[-1]["checkpoint"] == f"{tmp_path}/c/{name}"


def test_a_run_that_was_stopped_ends_with_the_bits_of_one_that_was_not(start, train, tmp_path):
    """Momentum included; stopped twice, in the middle of an epoch."""
    rest = [*SHORT, "--epochs=3"]
    whole = train(2, *rest, f"--save={tmp_path}/whole").ok()
    keep = [*rest, f"--checkpoint={tmp_path}/c"]
    for number, steps in enumerate((7, 41)):
        ended = train(2, *keep, f"--steps={steps}", f"--save={tmp_path}/{number}").ok()
    assert [event["consumed"] for event in ended.events("resume")] == [7 * 20]
    ended = train(2, *keep, f"--save={tmp_path}/2").ok()
    assert ended.end["weights"] == whole.end["weights"]
    # Means over an epoch are of all of it, wherever the run was stopped.
    for then, now in zip(whole.events("epoch")[1:], ended.events("epoch"), strict=True):
        assert (now["epoch"], now["accuracy"]) == (then["epoch"], then["accuracy"])
        assert now["loss"] == pytest.approx(then["loss"], rel=1e-9)
    for rank in range(2):
        parts = numpy.concatenate([check.samples(tmp_path / part, rank) for part in "012"])
        assert (parts == check.samples(tmp_path / "whole", rank)).all()


# Options, and by how many ranks in turn a run is done: with virtual shards their number makes no difference.
RESUMED = {
    "sgd with decay": (["--weight-decay=0.01"], (2, 2, 2)),
    "sgd, accumulated": (["--accumulate=3"], (2, 2, 2)),
    "sgd, virtual shards": (["--virtual-shards=4", "--batch=5"], (2, 4, 1)),
    "adamw": (["--optimizer=adamw"], (2, 2, 2)),
    "adamw, accumulated": (["--optimizer=adamw", "--accumulate=3"], (2, 2, 2)),
    "adamw, accumulated, virtual shards": (["--optimizer=adamw", "--accumulate=2", "--virtual-shards=4",
                                            "--batch=5"], (1, 2, 4)),
    "cnn, adamw, virtual shards": (["--model=cnn", "--optimizer=adamw", "--virtual-shards=2"], (2, 1, 2)),
    "in an order that is given, without the rest": (["--drop-last", "--order={}/order", "--batch=7"], (2, 2, 2)),
}


@pytest.mark.parametrize("case", RESUMED)
def test_a_run_in_parts_ends_with_the_bits_of_one_that_was_not_stopped(train, tmp_path, case):
    """Stopped twice, in the middle of the first and of the second epoch."""
    options, sizes = RESUMED[case]
    orders = numpy.random.default_rng(3)
    (tmp_path / "order").write_text("".join(" ".join(map(str, orders.permutation(600))) + "\n" for _ in range(2)))
    options = [*SHORT, "--epochs=3", *(option.format(tmp_path) for option in options)]
    whole = train(2, *options).ok()
    keep = [*options, f"--checkpoint={tmp_path}/c"]
    epoch = whole.events("epoch")[0]["steps"]
    for size, stop in zip(sizes, (epoch // 3, epoch + epoch // 2, None), strict=True):
        ended = train(size, *keep, *([f"--steps={stop}"] if stop else [])).ok()
        if stop:
            assert ended.end["weights"] != whole.end["weights"]
            assert ended.events("checkpoint")[-1]["consumed"] > 0
    assert [event["steps"] for event in ended.events("resume")] == [epoch + epoch // 2]
    assert ended.events("resume")[0]["changes"] == []
    assert ended.end["weights"] == whole.end["weights"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["TERM", "KILL"])
@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_so_does_a_run_that_a_signal_ended_anywhere(start, train, tmp_path, optimizer, number):
    """Killed, it goes on from its last checkpoint, and does again what came after."""
    options = [*SHORT, f"--optimizer={optimizer}", "--lr=0.001"]     # however long it runs, it does not diverge
    ranks = start(2, *options, ENDLESS, f"--checkpoint={tmp_path}", "--checkpoint-steps=7")
    ranks.wait_for('"steps":21,')
    for rank in range(2):
        ranks.signal(rank, number)
    ended = ranks.wait()
    if number == signal.SIGTERM:
        assert set(ended.codes) == {STOPPED}, ended
    steps = ended.events("checkpoint")[-1]["steps"] + 40
    ended = train(2, *options, f"--epochs={steps}", f"--steps={steps}", f"--checkpoint={tmp_path}").ok()
    assert ended.events("resume")
    whole = train(2, *options, f"--epochs={steps}", f"--steps={steps}").ok()
    assert ended.end["weights"] == whole.end["weights"]


def test_another_number_of_ranks_loses_no_sample_and_doubles_none(train, tmp_path):
    """2, then 3, then 1 ranks; 600 images, so that 3 ranks divide what is left by then."""
    keep = [*SHORT, "--epochs=2", f"--checkpoint={tmp_path}/c"]
    for number, (size, steps) in enumerate([(2, 6), (3, 12), (1, 0)]):
        limit = [f"--steps={steps}"] if steps else []
        ended = train(size, *keep, *limit, f"--save={tmp_path}/{number}").ok()
    used = [check.samples(tmp_path / str(number), rank) for number, size in enumerate((2, 3, 1)) for rank in range(size)]
    assert [len(part) for part in used] == [60, 60, 60, 60, 60, 300 + 600]
    first = numpy.concatenate([*used[:5], used[5][:300]])
    assert sorted(first) == sorted(used[5][300:]) == list(range(600))
    assert ended.events("epoch")[-1]["accuracy"] > 0.3


@pytest.fixture(scope="module")
def kept(train, tmp_path_factory):
    """A directory with two checkpoints, of 14 and 20 steps; and the weights that 20 steps give."""
    directory = tmp_path_factory.mktemp("kept")
    ended = train(1, *SHORT, "--steps=20", f"--checkpoint={directory}", "--checkpoint-steps=7").ok()
    assert names(directory) == ["step-000000000014.safetensors", "step-000000000020.safetensors"]
    return directory, ended.end["weights"]


def cut(content):
    return content[:-1]


def flip(content):
    return content[:5000] + bytes([content[5000] ^ 1]) + content[5001:]


def flip_the_head(content):
    return content.replace(b'"consumed":"200"', b'"consumed":"000"')


def empty(content):
    return b""


@pytest.mark.parametrize("damage", [cut, flip, flip_the_head, empty])
def test_the_one_before_is_used_where_the_newest_is_damaged(train, kept, tmp_path, damage):
    directory, weights = kept
    for path in directory.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    newest = tmp_path / "step-000000000020.safetensors"
    newest.write_bytes(damage(newest.read_bytes()))
    ended = train(1, *SHORT, "--steps=20", f"--checkpoint={tmp_path}").ok()
    resume, = ended.events("resume")
    assert resume["steps"] == 14 and f"'{newest}' is damaged: " in resume["damaged"][0]
    assert ended.end["weights"] == weights
    assert names(tmp_path) == ["step-000000000014.safetensors", newest.name, newest.name + ".damaged"]


def test_where_none_can_be_read_it_does_not_begin_anew(train, kept, tmp_path):
    for path in kept[0].iterdir():
        (tmp_path / path.name).write_bytes(b"")
    for why in ("the newest: checkpoint ", "2 damaged, such as '", "2 damaged, such as '"):     # not the next time either
        ended = train(2, *SHORT, "--steps=20", "--timeout=3", f"--checkpoint={tmp_path}")
        assert ended.codes == [1, 3]
        assert f"no checkpoint in '{tmp_path}' can be read; {why}" in ended.error
        assert "hint: to begin anew, remove the files *.damaged there, or give another directory" in ended.error
    assert all(name.endswith(".safetensors.damaged") for name in names(tmp_path))
    for path in tmp_path.iterdir():
        path.unlink()
    assert not train(1, *SHORT, "--steps=20", f"--checkpoint={tmp_path}").ok().events("resume")


@pytest.mark.parametrize("option, said", [
    ("--seed=2", "seed: 1, not 2"),
    ("--hidden=5", "model: mlp 784-256-128-10, not mlp 784-5-10"),
    ("--model=cnn", "model: mlp 784-256-128-10, not cnn 28x28-c16-c32-128-10"),
    ("--images=599", "data"),
    ("--optimizer=adamw", "optimizer: sgd, not adamw"),
    ("--drop-last", "drop-last: no, not yes"),
    ("--virtual-shards=2", "virtual-shards: 0, not 2"),
    ("--order={}", "order"),
])
def test_the_checkpoint_of_another_run_is_refused(train, kept, tmp_path, option, said):
    (tmp_path / "order").write_text(" ".join(map(str, range(600))) + "\n")
    ended = train(1, *SHORT, "--steps=20", f"--checkpoint={kept[0]}", option.format(tmp_path / "order"))
    assert ended.codes == [1]
    assert ended.error.startswith(f"pinstep-worker: error: the checkpoint is of a run with another {said}\n"), ended


@pytest.mark.parametrize("option, said", [
    ("--batch=4", "batch 4 instead of 10"),
    ("--accumulate=2", "accumulate 2 instead of 1"),
    ("--lr=0.2", "lr 0.2 instead of 0.05"),
    ("--momentum=0.5", "momentum 0.5 instead of 0.9"),
    ("--weight-decay=0.1", "weight-decay 0.1 instead of 0"),
    ("--bucket=100", "bucket 100 instead of 26214400"),
    ("--first-bucket=100", "first-bucket 100 instead of 1048576"),
])
def test_what_may_be_changed_is_told(train, kept, option, said):
    resume, = train(1, *SHORT, "--steps=20", f"--checkpoint={kept[0]}", option).ok().events("resume")
    assert resume["changes"] == [said]


def test_a_run_that_is_over_says_the_same_again(train, kept):
    ended = train(1, *SHORT, "--steps=20", f"--checkpoint={kept[0]}").ok()
    assert ended.end["weights"] == kept[1] and not ended.events("checkpoint")


@pytest.mark.parametrize("where, said", [("file", "Not a directory"), ("file/c", "Not a directory"),
                                         ("none/c", "No such file or directory")])
def test_where_no_checkpoint_can_be_written_nothing_is_trained(train, tmp_path, where, said):
    (tmp_path / "file").write_text("")
    ended = train(2, *SHORT, "--steps=20", "--timeout=3", f"--checkpoint={tmp_path}/{where}")
    assert ended.codes == [1, 3]
    assert f"'{tmp_path}/{where}': {said}" in ended.error
    assert not ended.events("epoch")


@pytest.mark.parametrize("where, said", [("file", "Not a directory"), ("file/c", "Not a directory"),
                                         ("none/c", "No such file or directory"), ("taken", "Not a directory")])
def test_where_no_weights_can_be_saved_nothing_is_trained(train, tmp_path, where, said):
    (tmp_path / "file").write_text("")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken/rank-1").write_text("")
    ended = train(2, *SHORT, "--epochs=1", "--timeout=3", f"--save={tmp_path}/{where}")
    assert sorted(ended.codes) in ([1, 1], [1, 3]), ended
    assert said in ended.err[0] + ended.err[1]
    assert not ended.events("epoch")


def test_what_an_earlier_run_saved_is_not_taken_for_this_ones(train, tmp_path):
    """Ranks and layers that only that one had go; what is somebody else's stays."""
    train(3, *SHORT, "--steps=1", "--hidden=8,8,8", f"--save={tmp_path}").ok()
    assert check.model(tmp_path, 2)["ranks"] == 3
    (tmp_path / "rank-2/mine").write_text("")
    (tmp_path / "rank-x").mkdir()
    train(1, *SHORT, "--steps=1", "--hidden=8", f"--save={tmp_path}").ok()
    assert names(tmp_path) == ["rank-0", "rank-2", "rank-x"]
    assert names(tmp_path / "rank-2") == ["mine"]
    assert names(tmp_path / "rank-0") == [*(f"layer{layer}.{part}.npy" for layer in (1, 2) for part in ("bias", "weight")),
                                          "model.json", "samples.npy"]


def test_two_runs_do_not_share_a_directory(start, train, tmp_path):
    first = start(1, *SHORT, "--lr=0.001", ENDLESS, f"--checkpoint={tmp_path}", SLURM_JOB_ID=12, SLURM_STEP_ID=0)
    first.wait_for('"event":"checkpoint"')
    ended = train(1, *SHORT, "--steps=3", f"--checkpoint={tmp_path}")
    assert ended.codes == [1]
    assert ended.err[0].startswith(f"pinstep-worker: error: another run keeps its checkpoints in '{tmp_path}': "
                                   f"job 12.0, process {first.processes[0].pid} on ")
    assert "hint: wait until it has ended, or give each run a directory of its own" in ended.err[0]
    first.signal(0, signal.SIGTERM)
    last = first.wait().events("checkpoint")[-1]["steps"]
    train(1, *SHORT, f"--steps={last + 1}", ENDLESS, f"--checkpoint={tmp_path}").ok()    # the lock ends with its process


# ---- a signal before there is anything to keep

@pytest.mark.parametrize("stopped", [[0], [1], [0, 1]], ids=str)
@pytest.mark.parametrize("number, name", [(signal.SIGTERM, "TERM"), (signal.SIGUSR1, "USR1")], ids=["TERM", "USR1"])
def test_a_signal_while_ranks_gather_stops_all_that_have_come(start, tmp_path, stopped, number, name):
    ranks = start(3, *SHORT, ENDLESS, f"--checkpoint={tmp_path}", "--signal=USR1", only=[0, 1])
    for rank in (0, 1):
        ranks.wait_until_connecting(rank)
    for rank in stopped:
        ranks.signal(rank, number)
    ended = ranks.wait()
    assert ended.codes == [STOPPED, STOPPED], ended
    assert "".join(ended.err) == f"pinstep-worker: stopped by {name} before all ranks had come: nothing is trained\n"
    said = [json.loads(line) for out in ended.out for line in out.splitlines()]
    assert [event["event"] for event in said] == ["stop"]
    assert ended.seconds < 60 and names(tmp_path) == []


def test_a_rank_that_comes_only_then_is_told(start, tmp_path):
    ranks = start(3, *SHORT, ENDLESS, f"--checkpoint={tmp_path}", only=[0, 1])
    ranks.wait_until_connecting(1)
    ranks.signal(1, signal.SIGTERM)
    ranks.begin(2)
    ended = ranks.wait(besides=[2])
    assert ended.codes == [STOPPED, STOPPED], ended


def test_a_rank_that_finds_nobody_stops_too(start, tmp_path):
    ranks = start(2, *SHORT, ENDLESS, f"--checkpoint={tmp_path}", only=[1])
    deadline = time.monotonic() + TIMEOUT
    while not catches(ranks.processes[1].pid, signal.SIGTERM):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    ranks.signal(1, signal.SIGTERM)
    assert ranks.wait().codes == [STOPPED]


def catches(pid, number):
    status = Path(f"/proc/{pid}/status").read_text()
    caught = re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE)
    return bool(caught and int(caught[1], 16) & 1 << (number - 1))


def test_then_the_job_is_queued_again_too(start, tmp_path):
    """By rank 0; here there is none, and it says so."""
    ranks = start(2, *SHORT, ENDLESS, f"--checkpoint={tmp_path}", "--requeue", only=[0])
    ranks.wait_until_connecting(0)
    ranks.signal(0, signal.SIGTERM)
    ended = ranks.wait()
    assert ended.codes == [1]
    assert "stopped by TERM before" in ended.err[0] and "there is no job to queue again" in ended.err[0]


def test_without_checkpoints_signals_do_what_they_always_do(start):
    ranks = start(2, *SHORT, only=[0])
    ranks.wait_until_connecting(0)
    ranks.signal(0, signal.SIGTERM)
    assert ranks.wait().codes == [-signal.SIGTERM]


@pytest.mark.skips("no root")
def test_a_disk_that_gets_full_ends_the_run_and_leaves_the_checkpoints_before(train, tmp_path):
    """Three of them have no room."""
    (tmp_path / "small").mkdir()
    (tmp_path / "found").mkdir()
    script = f"""mount -t tmpfs -o size=5M none {tmp_path}/small
                 "$@"; code=$?; cp {tmp_path}/small/* {tmp_path}/found; exit $code"""
    ended = train(2, *SHORT, "--steps=20", "--timeout=3", f"--checkpoint={tmp_path}/small", "--checkpoint-steps=4",
                  wrapper={0: ["unshare", "-m", "sh", "-c", script, "sh"], 1: []})
    assert ended.codes == [1, 3], ended
    assert "No space left on device" in ended.error
    assert names(tmp_path / "found") == ["step-000000000004.safetensors", "step-000000000008.safetensors"]
    for name in names(tmp_path / "found"):
        read(tmp_path / "found" / name)


def test_what_a_killed_write_left_goes_with_the_next_checkpoint(train, tmp_path):
    for left in ("step-000000000003.safetensors+", "step-000000000007.safetensors+1234567890"):
        (tmp_path / left).write_bytes(b"half")
    (tmp_path / "mine+").write_bytes(b"mine")
    train(1, *SHORT, "--steps=4", f"--checkpoint={tmp_path}").ok()
    assert names(tmp_path) == ["mine+", "step-000000000004.safetensors"]


def test_the_restart_is_counted(train, tmp_path):
    started, = train(1, *SHORT, "--steps=1", SLURM_RESTART_COUNT=3).ok().events("start")
    assert started["restart"] == 3


def test_wrong_usage(train):
    assert "without --checkpoint" in train(1, "--requeue").error
    assert "wants a signal's name" in train(1, "--checkpoint=x", "--signal=KILL").error
