"""pinstep gc, tag and untag, where there is no Slurm."""

import json
import os
import time

import pytest

from builds import PINSTEP, Builder, chosen, explicit, made, remove, visible

DAY = 86400


class Keeper:
    """A user with two environments in a store."""

    def __init__(self, alice):
        self.alice, self.store = alice, alice.home / "store"
        channel = made()
        for name, packages in (("one", ["show-prefix"]), ("two", ["prefix-text"])):
            alice.write(f"{name}.lock", explicit(channel.as_uri(), chosen(channel, packages)))
            setattr(self, name, alice.build(f"--store={self.store}", f"{name}.lock")["id"][:16])

    def __call__(self, verb, *arguments, **more):
        return self.alice(verb, f"--store={self.store}", *arguments, **more)

    def age(self, id16, days):
        origin = self.store / "e" / id16 / "conda-meta/pinstep/origin"
        told = json.loads(origin.read_text()) | {"built": int(time.time() - days * DAY)}
        owner = origin.stat()
        origin.parent.chmod(0o755), origin.unlink(), origin.write_text(json.dumps(told))
        os.chown(origin, owner.st_uid, owner.st_gid)

    def there(self):
        return visible(self.store)


@pytest.fixture
def keeper():
    with Builder() as alice:
        yield Keeper(alice)


def test_what_was_not_used_for_long_goes(keeper):
    keeper.age(keeper.one, 31)
    dry = keeper("gc", "--dry-run")
    assert dry.returncode == 0 and f"would go  {keeper.one}" in dry.stdout and f"kept      {keeper.two}" in dry.stdout
    assert len(keeper.there()) == 2
    done = keeper("gc")
    assert done.returncode == 0, done
    assert done.stdout.splitlines()[-1].startswith("1 of 2 environments removed, with ")
    assert keeper.there() == [keeper.two]
    assert [name for name in os.listdir(keeper.store / "e") if name.startswith(".")] == []


def test_running_in_it_by_hand_is_using_it(keeper):
    keeper.age(keeper.one, 31)
    assert keeper("run", "-e", keeper.one, "--", "true").returncode == 0
    assert json.loads(keeper("gc", "--json").stdout)["environments"][0]["reason"] == "last used today"
    assert len(keeper.there()) == 2


def test_a_tag_names_an_environment_and_keeps_it(keeper):
    tagged = keeper("tag", "train", keeper.one)
    assert tagged.returncode == 0 and tagged.stdout == f"train is {keeper.store}/e/{keeper.one}\n", tagged
    assert keeper("show", "train").stdout.splitlines()[0].split()[1].startswith(keeper.one)
    done = keeper("gc", "--keep-days=0", "--quiet")
    assert done.stdout == f"{keeper.store}/e/{keeper.two}\n"
    assert keeper("untag", "train").stdout == f"train was {keeper.store}/e/{keeper.one}\n"
    assert keeper("untag", "train").returncode == 1
    assert keeper("gc", "--keep-days=0", "--quiet").stdout == f"{keeper.store}/e/{keeper.one}\n"
    assert keeper.there() == []


def test_a_tag_is_moved(keeper):
    for id16 in (keeper.one, keeper.two):
        keeper("tag", "train", id16)
        assert json.loads(keeper("show", "--json", "train").stdout)["id"].startswith(id16)


@pytest.mark.parametrize("name", ["none", "job", "Train", "abcdef", "a/b", "env.yml", "-x", "1st", "", "a" * 65])
def test_what_means_something_else_is_no_tag(keeper, name):
    done = keeper("tag", "--", name, keeper.one)
    assert done.returncode == 2 and "cannot be a tag" in done.stderr, done


def test_the_least_recently_used_go_until_the_rest_fits(keeper):
    keeper.age(keeper.one, 2), keeper.age(keeper.two, 1)
    sizes = {one["id"][:16]: one["bytes"] for one in json.loads(keeper("list", "--json").stdout)}
    keeper("gc", f"--max-size={sum(sizes.values())}")
    assert len(keeper.there()) == 2
    keeper("gc", f"--max-size={sum(sizes.values()) - 1}")
    assert keeper.there() == [keeper.two]


def test_an_environment_lives_on_without_the_cache(keeper):
    done = keeper("gc", "--cache")
    assert done.returncode == 0, done
    assert [name for name in os.listdir(keeper.store / "c") if os.listdir(keeper.store / "c" / name)] == []
    assert keeper("run", "-e", keeper.one, "--", "show-prefix").returncode == 0
    again = keeper.alice.build(f"--store={keeper.store}", "one.lock")
    assert not again["built"]
    keeper("gc", "--keep-days=0")
    assert keeper.alice.build(f"--store={keeper.store}", "one.lock")["built"]


def test_what_killed_builds_and_removals_left_goes(keeper):
    for name in (f".stage-{keeper.one}-0123456789abcdef", f".removed-{keeper.one}-0123456789abcdef"):
        keeper.alice.write(f"store/e/{name}/bin/x", "")
    done = keeper("gc")
    assert done.returncode == 0, done
    assert [name for name in os.listdir(keeper.store / "e") if name.startswith(".")] == []


def test_a_damaged_prefix_stays_while_jobs_may_run_in_it(keeper):
    damaged = keeper.alice.write(f"store/e/.broken-{keeper.one}-0123456789abcdef/bin/x", "").parents[1]
    assert keeper("gc").returncode == 0 and damaged.exists()
    token = "0123456789abcdef"
    note = keeper.alice.write(f"store/u/{keeper.one}.job.{token}.7.big", "")
    without_slurm = ["env", "PATH=/nonexistent", PINSTEP, "gc", f"--store={keeper.store}", "--keep-days=0"]
    assert keeper.alice.run(*without_slurm).returncode == 0 and damaged.exists()
    note.unlink()
    assert keeper("gc", "--keep-days=0").returncode == 0 and not damaged.exists()


def test_others_who_may_use_it_must_be_able_to_say_so(keeper):
    keeper.age(keeper.one, 31)
    (keeper.store / "u").chmod(0o755)
    done = keeper("gc")
    assert done.returncode == 1 and f"chmod 1777 {keeper.store}/u" in done.stderr, done
    assert len(keeper.there()) == 2
    keeper.store.chmod(0o700)
    assert keeper("gc").returncode == 0 and keeper.there() == [keeper.two]


@pytest.mark.skipif(os.geteuid() != 0, reason="no root")
def test_what_is_not_ones_own_is_left_alone(keeper):
    keeper.age(keeper.one, 31)
    os.chown(keeper.store / "e" / keeper.one, 4242, 4242)
    done = keeper("gc", "--keep-days=0", "--quiet")
    assert done.returncode == 0 and done.stdout == f"{keeper.store}/e/{keeper.two}\n", done
    assert keeper.one in os.listdir(keeper.store / "e")


def test_while_something_is_built_the_cache_stays(keeper):
    lease = keeper.alice.write("store/b/0123456789abcdef/token", "elsewhere 1 bob\nx 1\n1\n").parent
    done = keeper("gc", "--cache")
    assert done.returncode == 1 and "something is being built" in done.stderr
    assert os.listdir(keeper.store / "c/pkgs")
    remove(lease)


@pytest.mark.parametrize("arguments, words", [
    (["--keep-days=soon"], "--keep-days cannot be 'soon'"), (["--max-size=5X"], "--max-size cannot be '5X'"),
    (["--max-size=99999999999999999999"], "--max-size cannot be"), (["train"], "gc takes no argument")])
def test_wrong_usage(keeper, arguments, words):
    done = keeper("gc", *arguments)
    assert done.returncode == 2 and words in done.stderr and len(keeper.there()) == 2


def test_a_store_that_is_not_there_is_empty(keeper):
    done = keeper.alice("gc", "--store=/nonexistent/store")
    assert done.returncode == 0 and done.stdout == "0 of 0 environments removed, with 0 B of files\n", done
