"""pinstep-worker bench: what it measures is real, complete and checked. How fast is not tested."""

import json

import pytest

from ranks import Ranks

FEW = ["--max=512", "--factor=8", "--iterations=3"]
SMALL_STEPS = ["--hidden=16", "--batch=4"]


def bench(size, *options):
    ended = Ranks(size, [*options, "--start-timeout=50"], verb="bench").wait().ok()
    assert all(text == "" for text in ended.out[1:]), ended
    return ended


def test_every_operation_is_measured_at_every_size():
    found = bench(3, *FEW, *SMALL_STEPS, "--json").events("exchange")
    of = {name: [line["bytes"] for line in found if line["operation"] == name]
          for name in ("all-reduce", "broadcast", "all-gather", "send-receive")}
    assert of == {"all-reduce": [8, 64, 512], "broadcast": [8, 64, 512], "all-gather": [12, 72, 516],
                  "send-receive": [8, 64, 512]}
    assert len(found) == 12
    factor = {"all-reduce": 4 / 3, "broadcast": 1, "all-gather": 2 / 3, "send-receive": 1}
    for line in found:
        assert line["wrong"] == 0 and line["iterations"] == 3 and line["ranks"] == 3
        assert line["algorithm_bandwidth"] == pytest.approx(line["bytes"] / line["seconds"])
        assert line["bus_bandwidth"] == pytest.approx(line["algorithm_bandwidth"] * factor[line["operation"]])


@pytest.mark.parametrize("size, groups", [(1, [1]), (3, [1, 2, 3]), (4, [1, 2, 4])])
def test_scaling_goes_over_groups_of_the_ranks(size, groups):
    ended = bench(size, "scaling", *SMALL_STEPS, "--json")
    found = ended.events("scaling")
    assert [line["ranks"] for line in found] == groups
    for line in found:
        assert line["samples_per_second"] == pytest.approx(4 * line["ranks"] / line["step_seconds"])
        assert line["efficiency"] == pytest.approx(line["samples_per_second"] / line["ranks"]
                                                   / found[0]["samples_per_second"])
    assert ended.end["most_memory_bytes"] > 1 << 20


def test_overlap_compares_one_all_reduce_with_buckets():
    line, = bench(2, "overlap", "--hidden=600,600", "--batch=4", "--json").events("overlap")
    assert line["ranks"] == 2 and line["buckets"] == 2
    assert line["gradient_bytes"] == 4 * (784 * 600 + 600 + 600 * 600 + 600 + 600 * 10 + 10)
    low, high = line["ratio"][1:]
    assert low <= line["ratio"][0] <= high
    assert line["overlapped_seconds"] > 0 and line["single_seconds"] > 0 and line["reduce_seconds"] > 0


def test_a_size_that_memory_does_not_allow_is_refused():
    ended = Ranks(2, ["all-reduce", "--min=1000G", "--max=1000G", "--start-timeout=50"], verb="bench").wait()
    assert ended.codes[0] == 1
    assert "the largest size needs " in ended.error and "--max=BYTES sets a smaller one" in ended.error


def test_people_get_tables():
    out = bench(2, *FEW, *SMALL_STEPS).out[0]
    blocks = [block.splitlines()[0].split()[0] for block in out.strip().split("\n\n")]
    assert blocks == ["2", "operation", "overlap:", "ranks", "most"]
    assert not out.lstrip().startswith("{")


def test_json_has_one_object_a_line():
    lines = bench(2, *FEW, *SMALL_STEPS, "--json").out[0].splitlines()
    assert {json.loads(line)["event"] for line in lines} == {"start", "exchange", "overlap", "scaling", "end"}


def test_sizes_that_come_to_one_are_measured_once():
    ended = bench(2, "--json", "--min=1", "--max=20", "--iterations=1", "all-gather")
    assert [event["bytes"] for event in ended.events("exchange")] == [8, 16]


def test_a_rank_that_is_alone_has_nothing_to_exchange():
    ended = Ranks(1, ["all-reduce"], verb="bench").wait()
    assert ended.codes == [1] and "one rank has nobody to exchange anything with" in ended.err[0]
