"""Channels and indexes behind a login, and the mirrors of a channel: what opens them gets to those who fetch, and nowhere
else."""

import base64
import functools
import http.server
import os
import threading
import time

import pytest

from builds import Builder, made
from channels import Guarded, Server, Serving, record, write_channel, write_wheel
from test_lock import Locker, Ordinary

SECRET = "s3cret-Pa55"
TOKEN = "tk-7oken-9"
LOGIN = f"me:{SECRET}"


class Watch:
    """Looks at the arguments and environments of all processes while it is in use."""

    def __init__(self, *secrets):
        self.secrets = [secret.encode() for secret in secrets]
        self.found, self.seen = set(), set()

    def __enter__(self):
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def _look(self):
        while not self._end.is_set():
            for pid in filter(str.isdigit, os.listdir("/proc")):
                for file in ("cmdline", "environ"):
                    try:
                        with open(f"/proc/{pid}/{file}", "rb") as opened:
                            text = opened.read()
                    except OSError:
                        continue
                    if file == "cmdline":
                        self.seen.update(os.path.basename(word) for word in text.split(b"\0")[:6])
                    if any(secret in text for secret in self.secrets):
                        self.found.add((file, text.split(b"\0")[0]))
            time.sleep(0.002)


def written(directory, *secrets, besides=()):
    """Files below a directory, but for those that the user has put the secret into, that have one of the secrets."""
    found = []
    for where, _, names in os.walk(directory):
        for path in (os.path.join(where, name) for name in names):
            if os.path.isfile(path) and not os.path.islink(path) and path not in map(str, besides):
                with open(path, "rb") as file:
                    content = file.read()
                found += [path for secret in secrets if secret.encode() in content]
    return found


@pytest.fixture
def locker(solver):
    with Builder() as builder:
        yield Locker(Ordinary(builder), solver)


def by_netrc(user, server, solver):
    netrc = user.write(".netrc", f"machine 127.0.0.1 login me password {SECRET}\n")
    netrc.chmod(0o600)
    user.write(".config/pinstep/config", f"solver={solver}\n")
    return [netrc, user.write(".condarc", f"custom_channels: {{main: {server.url}}}\n")]


def by_url_in_condarc(user, server, solver):
    user.write(".config/pinstep/config", f"solver={solver}\n")
    return [user.write(".condarc", f"custom_channels:\n  main: {server.below(LOGIN + '@')}\n")]


def by_alias_with_token(user, server, solver):
    user.write(".config/pinstep/config", f"solver={solver}\n")
    return [user.write(".condarc", f"channel_alias: {server.url}/t/{TOKEN}\n")]


def by_pinsteps_setting(user, server, solver):
    return [user.write(".config/pinstep/config", f"solver={solver}\nchannel.main={server.below(LOGIN + '@')}/main\n")]


@pytest.mark.parametrize("manner, guard", [
    (by_netrc, {"login": LOGIN}), (by_url_in_condarc, {"login": LOGIN}), (by_alias_with_token, {"token": TOKEN}),
    (by_pinsteps_setting, {"login": LOGIN})])
def test_a_lock_made_through_a_guarded_mirror_is_built_through_another_and_no_secret_is_left(solver, tmp_path, manner,
                                                                                            guard):
    (tmp_path / "served").mkdir()
    (tmp_path / "served/main").symlink_to(made())
    with Guarded(tmp_path / "served", **guard) as first, Server(tmp_path / "served") as second, Builder() as alice, \
            Watch(SECRET, TOKEN) as watch:
        given = manner(alice, first, solver)
        alice.write("environment.yml", "channels: [main]\ndependencies: [greet]\n")
        locked = alice("lock")
        assert locked.returncode == 0, locked
        built = alice("build", "-v", f"--store={alice.home}/one")
        assert built.returncode == 0, built
        assert any(path.endswith(".conda") for path in first.asked), first.asked
        told = locked.stdout + locked.stderr + built.stdout + built.stderr
        assert SECRET not in told and TOKEN not in told
        assert written(alice.home, SECRET, TOKEN, besides=given) == []
        lock = (alice.home / "environment-lock.yml").read_text()
        assert f"pinstep.channel.main: {first.url}/main" in lock

        # Another place: the same lock, no credentials, another mirror.
        asked = len(first.asked) + len(first.refused)
        for path in given:
            path.unlink()
        alice.write(".config/pinstep/config", f"channel.main={second.url}/main\n")
        again = alice("build", f"--store={alice.home}/two")
        assert again.returncode == 0, again
        assert len(first.asked) + len(first.refused) == asked and any(path.endswith(".conda") for path in second.asked)
    assert {b"pinstep", b"pinstep-build", b"pinstep-fetch", b"solve_conda.py"} <= watch.seen
    assert watch.found == set()


def test_who_has_no_login_is_told_where_one_would_be_read(locker, solver):
    with Guarded(locker.user.home, login=LOGIN) as server:
        locker.config(f"channel.local={server.url}/channel\nsolver={solver}\n")
        locker.spec("xz")
        kind, cause = locker.refused()
        assert kind == "network" and cause.startswith("cannot read channel 'local' at ") and "401" in cause
        assert "hint: does the channel want a login? pinstep reads ~/.netrc" in locker.lock().stderr


def test_a_wrong_password_is_in_no_message(locker, solver):
    with Guarded(locker.user.home, login=LOGIN) as server:
        for url in (server.below("me:wr0ng-one@"), f"{server.url}/t/wr0ng-one"):
            locker.config(f"channel.local={url}/channel\nsolver={solver}\n")
            locker.spec("xz")
            done = locker.lock("--json")
            assert done.returncode == 1 and "channel 'local'" in done.stdout, done
            assert "wr0ng-one" not in done.stdout + done.stderr


def test_the_next_mirror_is_tried_where_one_is_away(locker, solver):
    with Server(locker.user.home) as server:
        locker.config(f"solver={solver}\n")
        locker.user.write(".condarc", "mirrored_channels:\n  local:\n"
                          f"  - http://127.0.0.1:9/channel\n  - {server.url}/channel\n")
        locker.spec("xz")
        done = locker.lock()
        assert done.returncode == 0, done
        assert "url: http://127.0.0.1:9/channel/linux-64/xz-5.4.0-0.conda" in \
            (locker.user.home / "environment-lock.yml").read_text()
        assert server.asked != []


def test_a_build_tries_the_locks_url_where_the_configured_mirror_lacks_a_file(solver):
    with Builder() as alice, Server(made()) as whole, Server(alice.home) as empty:
        alice.write(".config/pinstep/config", f"channel.main={whole.url}\nsolver={solver}\n")
        alice.write("environment.yml", "channels: [main]\ndependencies: [greet]\n")
        assert alice("lock").returncode == 0
        alice.write(".config/pinstep/config", f"channel.main={empty.url}/none\n")
        done = alice("build")
        assert done.returncode == 0, done
        assert any(path.startswith("/none/") for path in empty.asked)


def test_a_mirrors_url_is_the_channel_that_it_mirrors(locker, solver):
    write_channel(locker.user.home / "anaconda/pkgs/main", record("mained", "1.0"))
    write_channel(locker.user.home / "anaconda/cloud/conda-forge", record("forged", "1.0"))
    with Server(locker.user.home) as server:
        locker.config(f"solver={solver}\n")
        locker.user.write("environment.yml", f"channels:\n- {server.url}/anaconda/cloud/conda-forge/\n"
                          f"- {server.url}/anaconda/pkgs/main\n- {server.url}/channel\n"
                          "dependencies: [mained, forged, xz]\n")
        assert locker.lock().returncode == 0
        lock = (locker.user.home / "environment-lock.yml").read_text()
        for line in ("- url: conda-forge", "- url: pkgs/main", f"- url: {server.url}/channel"):
            assert line in lock
        bare = lock
        # The same as custom_channels and default_channels say it.
        locker.user.write(".condarc", f"default_channels: ['{server.url}/anaconda/pkgs/main']\n"
                          f"custom_channels: {{conda-forge: '{server.url}/anaconda/cloud'}}\n")
        locker.user.write("environment.yml", f"channels: [conda-forge, defaults, '{server.url}/channel']\n"
                          "dependencies: [mained, forged, xz]\n")
        assert locker.lock("--update-all").returncode == 0
        again = (locker.user.home / "environment-lock.yml").read_text()

        def packages(text):
            return text[text.index("\npackage:"):]
        assert packages(bare) == packages(again) and "- url: pkgs/main" in again


def test_credentials_in_a_spec_open_its_channels_and_are_not_in_the_lock(locker, solver):
    with Guarded(locker.user.home, login=LOGIN) as server:
        locker.config(f"solver={solver}\n")
        spec = locker.user.write("environment.yml", f"channels: ['{server.below(LOGIN + '@')}/channel']\ndependencies: [xz]\n")
        assert locker.lock().returncode == 0
        assert written(locker.user.home, SECRET, besides=[spec]) == []
        assert locker.json("--check")["state"] == "fits"
        locker.user.write("environment.yml", "channels: ['" + server.url.replace("://", "://me:${PASSWORD}@") +
                          "/channel']\ndependencies: [xz]\n")
        assert locker.lock("--update-all", PASSWORD=SECRET).returncode == 0


def test_a_guarded_index_is_read_by_pips_configuration(solver):
    with Builder() as alice:
        write_wheel(alice.home / "index/simple/tool", "tool", "3.0")
        (alice.home / "index/main").symlink_to(made())
        with Guarded(alice.home / "index", login=LOGIN) as server, Watch(SECRET) as watch:
            given = [alice.write(".config/pinstep/config", f"solver={solver}\nchannel.main={server.below(LOGIN + '@')}/main\n"),
                     alice.write(".config/pip/pip.conf", f"[global]\nindex-url = {server.below(LOGIN + '@')}/simple\n")]
            alice.write("environment.yml", "channels: [main]\ndependencies: [python, {pip: [tool]}]\n")
            for verb in ("lock", "build"):
                done = alice(verb)
                assert done.returncode == 0 and SECRET not in done.stdout + done.stderr, done
            assert "/simple/tool/tool-3.0-py3-none-any.whl" in server.asked
            assert written(alice.home, SECRET, besides=given) == []
            assert alice("run", "python", "-c", "import importlib.metadata as m; assert m.version('tool') == '3.0'").returncode == 0
        assert b"uv" in watch.seen and watch.found == set()


class Proxy(Serving):
    """Answers whatever host it is asked for from a directory; `logins` are those that it was shown."""

    def __init__(self, directory):
        self.logins = set()
        logins = self.logins

        class Handler(http.server.SimpleHTTPRequestHandler):
            def send_head(self):
                logins.add(self.headers.get("Proxy-Authorization"))
                self.path = "/" + self.path.partition("://")[2].partition("/")[2]
                return super().send_head()

            def log_message(self, *_):
                pass

        super().__init__(functools.partial(Handler, directory=str(directory)))


def test_a_proxys_password_in_condarc_reaches_all_who_fetch_and_nothing_else(locker, solver):
    home = locker.user.home
    write_wheel(home / "simple/tool", "tool", "3.0")
    with Proxy(home) as proxy, Watch(SECRET) as watch:
        url = proxy.url.replace("://", f"://{LOGIN}@")
        given = [locker.user.write(".condarc", f"proxy_servers: {{http: '{url}'}}\n")]
        locker.config(f"solver={solver}\nchannel.local=http://mirror.invalid/channel\n")
        locker.user.write("environment.yml", "channels: [local]\ndependencies:\n- python\n- pip:\n"
                          "  - --index-url http://index.invalid/simple\n  - tool\n")
        done = locker.lock()
        assert done.returncode == 0, done
        assert proxy.logins == {"Basic " + base64.b64encode(LOGIN.encode()).decode()}
        assert written(home, SECRET, besides=given) == [] and SECRET not in done.stdout + done.stderr
    assert b"uv" in watch.seen and watch.found == set()
