"""What several ranks of pinstep-worker learn, checked from outside."""

import re

import numpy
import pytest

import check
from ranks import MUTE

QUICK = ["--json"]


def test_deliberate_failure_is_seen(train):
    """Fails, as it must: see `deliberate` in tests/suites.ini."""
    assert train(1, "--nonsense").codes == [0]


@pytest.fixture(scope="module")
def run(train, tmp_path_factory):
    """All of Fashion-MNIST, twice, on two ranks: (what was said, the directory with the weights)."""
    directory = tmp_path_factory.mktemp("run")
    return train(2, f"--data={check.DATA}", "--epochs=2", "--json", f"--save={directory}").ok(), directory


def test_it_learns(run):
    ended, _ = run
    epochs = ended.events("epoch")
    assert [epoch["epoch"] for epoch in epochs] == [1, 2]
    assert epochs[-1]["accuracy"] >= 0.84
    assert epochs[1]["loss"] < epochs[0]["loss"] < 1
    assert all(epoch["samples"] == 60000 and epoch["samples_per_second"] > 0 for epoch in epochs)


def test_ranks_end_with_the_same_bits(run):
    _, directory = run
    one, other = (check.flat(check.weights(directory, rank)) for rank in range(2))
    assert one.size == 784 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10
    assert one.tobytes() == other.tobytes()


def test_numpy_finds_the_accuracy_that_was_printed(run):
    ended, directory = run
    assert abs(check.accuracy(directory, 1) - ended.events("epoch")[-1]["accuracy"]) <= 0.001


def test_each_epoch_deals_all_images_to_the_ranks(run):
    _, directory = run
    both = [check.samples(directory, rank).reshape(2, -1) for rank in range(2)]
    for epoch in range(2):
        assert sorted(numpy.concatenate([one[epoch] for one in both])) == list(range(60000))
    assert list(both[0][0]) != list(both[0][1])


def test_ranks_that_do_not_divide_the_data_repeat_its_beginning(train, tmp_path):
    train(3, "--images=100", "--epochs=1", "--batch=8", "--json", f"--save={tmp_path}").ok()
    dealt = [check.samples(tmp_path, rank) for rank in range(3)]
    assert [len(one) for one in dealt] == [34, 34, 34]
    order = numpy.stack(dealt, axis=1).ravel()
    assert sorted(order[:100]) == list(range(100))
    assert list(order[100:]) == list(order[:2])


def test_the_number_of_ranks_does_not_change_what_is_counted(train):
    """101 test images over 1, 2 and 3 ranks, before anything is learnt."""
    counted = {train(size, "--images=6", "--test-images=101", "--lr=0", "--epochs=1", "--json").ok()
               .events("epoch")[0]["accuracy"] for size in (1, 2, 3)}
    assert len(counted) == 1


# ---- many ranks do the steps of one

@pytest.fixture(scope="module")
def of_one_rank(train, tmp_path_factory):
    directory = tmp_path_factory.mktemp("one")
    train(1, *QUICK, "--batch=64", "--steps=20", f"--save={directory}").ok()
    return check.flat(check.weights(directory, 0))


@pytest.mark.parametrize("size", [2, 4])
def test_many_ranks_do_the_steps_of_one(train, tmp_path, of_one_rank, size):
    train(size, *QUICK, f"--batch={64 // size}", "--steps=20", "--first-bucket=1K", "--bucket=100K",
          f"--save={tmp_path}").ok()
    assert numpy.abs(check.flat(check.weights(tmp_path, size - 1)) - of_one_rank).max() < 1e-4


def test_a_worker_that_adds_no_gradients_up_is_noticed(train, tmp_path, of_one_rank):
    ended = train(2, *QUICK, "--batch=32", "--steps=20", f"--save={tmp_path}", program=MUTE)
    assert numpy.abs(check.flat(check.weights(tmp_path, 0)) - of_one_rank).max() > 1e-3
    assert ended.codes == [1, 1]
    assert "rank 1 has other weights than rank 0" in ended.error


def test_the_same_run_gives_the_same_bits(train):
    again = [train(2, *QUICK, "--epochs=1", *more).ok().end["weights"] for more in ([], [], ["--seed=2"])]
    assert again[0] == again[1] != again[2]


@pytest.mark.parametrize("more", [["--model=cnn"], ["--loaders=0"], ["--loaders=4"], ["--optimizer=adamw"]],
                         ids=lambda more: more[0])
def test_so_it_does_with(train, more):
    runs = [train(2, *QUICK, "--epochs=1", *more).ok().end["weights"] for _ in range(2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_with_virtual_shards_each_number_of_ranks_gives_the_same_bits(train, model):
    ended = [train(size, *QUICK, f"--model={model}", "--virtual-shards=4", "--batch=16", "--epochs=1",
                   "--images=2001").ok() for size in (1, 2, 4)]
    assert len({one.end["weights"] for one in ended}) == 1
    # Otherwise the check above would say nothing.
    assert ended[0].end != train(1, *QUICK, f"--model={model}", "--batch=64", "--epochs=1", "--images=2001").ok().end


def test_shards_that_the_ranks_cannot_share_are_refused(train):
    ended = train(2, *QUICK, "--virtual-shards=3")
    assert ended.codes == [1, 1]
    assert "3 virtual shards cannot be dealt evenly to 2 ranks" in ended.error


# ---- models and data

def test_a_cnn_learns_and_numpy_agrees(train, tmp_path):
    ended = train(2, f"--data={check.DATA}", "--model=cnn", "--images=12000", "--epochs=1", "--json",
                  f"--save={tmp_path}").ok()
    start, = ended.events("start")
    assert (start["model"], start["layers"]) == ("cnn", "28x28-c16-c32-128-10")
    printed = ended.events("epoch")[-1]["accuracy"]
    assert printed > 0.7
    assert abs(check.accuracy(tmp_path, 1) - printed) <= 0.001


def test_synthetic_models_have_the_size_that_is_asked_for(train):
    ended = train(2, "--data=synthetic", "--images=1000", "--test-images=100", "--model=synthetic:1M/3", "--epochs=2",
                  "--json").ok()
    start, = ended.events("start")
    assert abs(start["parameters"] / 1e6 - 1) < 0.01
    assert start["layers"].count("-") == 4
    assert ended.events("epoch")[1]["accuracy"] > 0.3      # by chance 0.1


def test_an_order_that_is_none_is_refused(train, tmp_path):
    (tmp_path / "order").write_text("0 1 1\n")
    ended = train(1, "--images=3", f"--order={tmp_path}/order")
    assert ended.codes == [1]
    assert "order:1: '1' is not a sample that is left, of 3" in ended.error


# ---- what it says

def test_people_get_lines(train):
    ended = train(2, "--images=600", "--test-images=100", "--epochs=1").ok()
    assert re.fullmatch(r"2 ranks on cpu, transport gloo: mlp 784-256-128-10, 235146 parameters in 1 bucket, 600 images\n"
                        r"epoch 1  loss \d\.\d{4}  accuracy 0\.\d{4}  \d+ samples/s\n"
                        r"weights [0-9a-f]{64}\n", ended.out[0])
    assert ended.out[1] == "" and ended.err == ["", ""]


def test_alone_it_needs_no_rendezvous(train):
    nothing = dict.fromkeys(["RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"])
    start, = train(1, "--images=64", "--test-images=10", "--epochs=1", "--json", **nothing).ok().events("start")
    assert (start["ranks"], start["transport"]) == (1, "none")


@pytest.mark.parametrize("size, asked, threads", [(2, None, 1), (2, "2", 2), (1, None, 0), (1, "1", 1)])
def test_ranks_that_share_a_node_use_one_thread_each(train, size, asked, threads):
    start, = train(size, "--images=64", "--test-images=10", "--epochs=1", "--json",
                   OMP_NUM_THREADS=asked).ok().events("start")
    assert start["threads"] == threads


def test_gradients_go_in_as_many_pieces_as_asked(train):
    start, = train(2, "--images=64", "--test-images=10", "--epochs=1", "--json", "--first-bucket=1",
                   "--bucket=1").ok().events("start")
    assert start["buckets"] == 6
