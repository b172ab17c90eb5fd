"""pinstep-fetch against a server on this machine that fails in the ways servers do."""

import hashlib
import json
import os
import random
import signal
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from conftest import BUILD

FETCH = BUILD / "libexec/pinstep/pinstep-fetch"
CONTENT = random.Random(1).randbytes(3_000_000)
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Answers with the server's `content`, after what its `faults` (a list per path) say about this request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        server, path = self.server, self.path
        with server.lock:
            server.requests.append((path, self.headers.get("Range"), self.headers.get("Authorization")))
            server.connections.add(self.client_address)
            fault = server.faults[path].pop(0) if server.faults.get(path) else {}
        content = server.content.get(path, CONTENT)
        if fault.get("status"):
            self.send_response(fault["status"])
            for name, value in fault.get("headers", {}).items():
                self.send_header(name, value)
            page = b"an error page that is no package"
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)
            return
        start = 0
        if (wanted := self.headers.get("Range")) and not fault.get("no_range"):
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                self.send_response(416)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        if not fault.get("no_length"):
            self.send_header("Content-Length", str(fault.get("length", len(content) - start)))
        else:
            self.close_connection = True
        self.end_headers()
        end = fault.get("drop_at", len(content))
        for at in range(start, end, 100_000):
            self.wfile.write(content[at:min(at + 100_000, end)])
            self.wfile.flush()
            if pause := fault.get("slow"):
                time.sleep(pause)
        while fault.get("endless"):
            self.wfile.write(content)
        if end < len(content) and not fault.get("no_length"):
            self.close_connection = True
        if stall := fault.get("stall"):
            time.sleep(stall)


@pytest.fixture
def server():
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    http.lock = threading.Lock()
    http.faults, http.content, http.requests, http.connections = {}, {}, [], set()
    http.url = f"http://127.0.0.1:{http.server_address[1]}"
    threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield http
    http.shutdown()
    http.server_close()


class Outcome:
    def __init__(self, rc, stdout, stderr):
        self.rc, self.stderr = rc, stderr
        self.events = [json.loads(line) for line in stdout.splitlines()]
        self.failed = [event for event in self.events if event["event"] == "failed"]
        self.done = [event for event in self.events if event["event"] == "done"]

    def __repr__(self):
        return f"rc {self.rc}, stderr {self.stderr!r}, events {self.events}"


@pytest.fixture
def fetch(tmp_path):
    def start(*files, variables=None, before=(), **job):
        text = json.dumps({"files": [entry(tmp_path, **file) for file in files], **job})
        process = subprocess.Popen([*before, FETCH], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True,
                                   env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **(variables or {})})
        process.stdin.write(text)
        process.stdin.close()
        process.stdin = None
        return process

    def run(*files, **more):
        process = start(*files, **more)
        stdout, stderr = process.communicate(timeout=60)
        return Outcome(process.returncode, stdout, stderr)

    run.start = start
    return run


def entry(directory, url, name="x.conda", sha256=DIGEST, size=len(CONTENT), **more):
    urls = [url] if isinstance(url, str) else url
    return {"urls": urls, "sha256": sha256, "size": size, "path": str(directory / name), **more}


def is_whole(path):
    return path.read_bytes() == CONTENT


def test_a_file_appears_with_its_digest_and_read_only(server, fetch, tmp_path):
    outcome = fetch({"url": f"{server.url}/x"})
    assert outcome.rc == 0, outcome
    assert outcome.done == [{"event": "done", "file": 0, "bytes": len(CONTENT), "sha256": DIGEST}], outcome
    assert is_whole(tmp_path / "x.conda")
    assert (tmp_path / "x.conda").stat().st_mode & 0o777 == 0o444
    assert os.listdir(tmp_path) == ["x.conda"]


def test_a_file_that_is_there_is_checked_and_not_fetched_again(server, fetch, tmp_path):
    (tmp_path / "x.conda").write_bytes(CONTENT)
    assert fetch({"url": f"{server.url}/x"}).rc == 0
    assert server.requests == []
    (tmp_path / "x.conda").write_bytes(b"?" + CONTENT[1:])
    assert fetch({"url": f"{server.url}/x"}).rc == 0
    assert is_whole(tmp_path / "x.conda") and len(server.requests) == 1


def test_a_dropped_connection_is_continued_where_it_broke(server, fetch, tmp_path):
    server.faults["/x"] = [{"drop_at": 1_000_000}, {"drop_at": 2_500_000}]
    outcome = fetch({"url": f"{server.url}/x"})
    assert outcome.rc == 0, outcome
    assert is_whole(tmp_path / "x.conda")
    assert [wanted for _, wanted, _ in server.requests] == [None, "bytes=1000000-", "bytes=2500000-"]


def test_an_end_without_content_length_is_not_taken_for_the_whole(server, fetch, tmp_path):
    server.faults["/x"] = [{"drop_at": 1_000_000, "no_length": True}]
    assert fetch({"url": f"{server.url}/x"}).rc == 0
    assert is_whole(tmp_path / "x.conda") and len(server.requests) == 2


def test_a_part_from_before_is_continued(server, fetch, tmp_path):
    (tmp_path / "x.conda.part").write_bytes(CONTENT[:2_000_000])
    assert fetch({"url": f"{server.url}/x"}).rc == 0
    assert [wanted for _, wanted, _ in server.requests] == ["bytes=2000000-"]
    assert is_whole(tmp_path / "x.conda") and os.listdir(tmp_path) == ["x.conda"]


@pytest.mark.parametrize("part", [b"other" * 1000, CONTENT[:-1] + b"?", CONTENT + b"more"],
                         ids=["another file", "last byte", "too long"])
@pytest.mark.parametrize("size", [len(CONTENT), 0], ids=["size known", "size unknown"])
def test_a_part_of_something_else_is_thrown_away_once(server, fetch, tmp_path, part, size):
    (tmp_path / "x.conda.part").write_bytes(part)
    outcome = fetch({"url": f"{server.url}/x", "size": size})
    assert outcome.rc == 0, outcome
    assert is_whole(tmp_path / "x.conda") and len(server.requests) <= 2


def test_a_server_that_cannot_continue_gives_the_whole(server, fetch, tmp_path):
    (tmp_path / "x.conda.part").write_bytes(CONTENT[:2_000_000])
    server.faults["/x"] = [{"no_range": True}] * 2
    assert fetch({"url": f"{server.url}/x"}).rc == 0
    assert is_whole(tmp_path / "x.conda")
    assert [wanted for _, wanted, _ in server.requests] == ["bytes=2000000-", None]


def test_a_server_that_cannot_continue_and_always_breaks_is_given_up(server, fetch):
    server.faults["/x"] = [{"no_range": True, "drop_at": 2_000_000}] * 20
    outcome = fetch({"url": f"{server.url}/x"})
    assert outcome.rc == 1 and outcome.failed[0]["kind"] == "network", outcome
    assert len(server.requests) < 10


@pytest.mark.parametrize("check", [{"sha256": "0" * 64}, {"sha256": "", "md5": "0" * 32}])
def test_another_content_is_never_shown(server, fetch, tmp_path, check):
    outcome = fetch({"url": f"{server.url}/x", **check})
    assert outcome.rc == 1 and outcome.failed[0]["kind"] == "corrupt", outcome
    assert "0" * 32 in outcome.failed[0]["cause"], outcome
    assert os.listdir(tmp_path) == [] and len(server.requests) == 1


def test_a_content_that_is_too_long_is_cut_short(server, fetch, tmp_path):
    outcome = fetch({"url": f"{server.url}/x", "size": 1000})
    assert outcome.rc == 1 and outcome.failed[0]["kind"] == "corrupt", outcome
    assert "is longer than the 1000 bytes" in outcome.failed[0]["cause"], outcome
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("check", [{}, {"sha256": ""}], ids=["digest", "size alone"])
def test_a_content_that_is_too_short_is_not_shown(server, fetch, tmp_path, check):
    server.content["/x"] = b"something else"
    outcome = fetch({"url": f"{server.url}/x", **check})
    assert outcome.rc == 1 and outcome.failed[0]["kind"] == "corrupt", outcome
    assert "was fetched with 14 bytes, not 3000000" in outcome.failed[0]["cause"], outcome
    assert os.listdir(tmp_path) == [] and len(server.requests) == 1


def test_a_file_without_digest_is_fetched_and_its_digest_told(server, fetch):
    outcome = fetch({"url": f"{server.url}/x", "sha256": "", "size": 0})
    assert outcome.rc == 0 and outcome.done[0]["sha256"] == DIGEST, outcome


@pytest.mark.parametrize("status, kind, requests", [(404, "not_found", 1), (410, "not_found", 1), (401, "refused", 1),
                                                    (403, "refused", 1), (503, "network", 3)])
def test_what_a_server_says_decides_what_is_told_and_whether_it_is_tried_again(server, fetch, tmp_path, status, kind,
                                                                                requests):
    server.faults["/x"] = [{"status": status}] * 5
    outcome = fetch({"url": f"{server.url}/x"})
    assert outcome.rc == 1 and outcome.failed[0]["kind"] == kind, outcome
    assert outcome.failed[0]["cause"] == f"'{server.url}/x' cannot be fetched: the server answers {status}", outcome
    assert len(server.requests) == requests and os.listdir(tmp_path) == []


def test_an_error_that_passes_is_no_failure(server, fetch):
    server.faults["/x"] = [{"status": 500}, {"status": 502}]
    assert fetch({"url": f"{server.url}/x"}).rc == 0


def test_a_server_that_asks_for_patience_gets_it(server, fetch):
    server.faults["/x"] = [{"status": 429, "headers": {"Retry-After": "2"}}]
    began = time.monotonic()
    assert fetch({"url": f"{server.url}/x"}).rc == 0
    assert 2 <= time.monotonic() - began < 10


def test_the_next_url_is_tried(server, fetch, tmp_path):
    server.faults["/a"] = [{"status": 404}]
    server.content["/b"] = b"something else"
    outcome = fetch({"url": [f"{server.url}/a", f"{server.url}/b", f"{server.url}/c"]})
    assert outcome.rc == 0, outcome
    assert is_whole(tmp_path / "x.conda")


def test_nobody_listening_is_found_out_once_for_all_files(fetch):
    began = time.monotonic()
    outcome = fetch(*({"url": f"http://127.0.0.1:1/{i}", "name": str(i)} for i in range(40)), connections=2)
    assert outcome.rc == 1 and len(outcome.failed) == 40, outcome
    assert {event["kind"] for event in outcome.failed} == {"network"}
    assert outcome.failed[0]["cause"].startswith("'http://127.0.0.1:1/"), outcome
    assert time.monotonic() - began < 10


def test_a_server_that_falls_silent_is_tried_again(server, fetch, tmp_path):
    server.faults["/x"] = [{"drop_at": 500, "stall": 20}]
    outcome = fetch({"url": f"{server.url}/x"}, stall_seconds=1)
    assert outcome.rc == 0, outcome
    assert is_whole(tmp_path / "x.conda")


def test_credentials_are_used_and_never_told(server, fetch, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login netrcuser password netrcword\n")
    assert fetch({"url": f"{server.url}/x"}).rc == 0
    assert server.requests[0][2].startswith("Basic ")
    server.faults["/y"] = [{"status": 403}]
    url = server.url.replace("//", "//someone:secret@")
    outcome = fetch({"url": f"{url}/y", "name": "y"})
    assert outcome.rc == 1, outcome
    assert "secret" not in str(outcome) and "netrcword" not in str(outcome)


def test_the_proxy_of_the_environment_is_used(server, fetch, tmp_path):
    outcome = fetch({"url": "http://example.org/x"}, variables={"http_proxy": server.url})
    assert outcome.rc == 0, outcome
    assert [path for path, *_ in server.requests] == ["http://example.org/x"]


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"])
def test_certificates_of_the_site_are_believed_when_named(server, fetch, tmp_path, variable):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", tmp_path / "key", "-out", tmp_path / "certificate", "-days", "2", "-subj", "/CN=x",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    url = server.url.replace("http:", "https:") + "/x"
    outcome = fetch({"url": url})
    assert outcome.rc == 1 and outcome.failed[0]["kind"] == "network", outcome
    assert "SSL_CERT_FILE" in outcome.failed[0]["hint"], outcome
    outcome = fetch({"url": url}, variables={variable: str(tmp_path / "certificate")})
    assert outcome.rc == 0, outcome
    outcome = fetch({"url": url, "name": "y"}, variables={variable: str(tmp_path / "absent")})
    assert outcome.rc == 1 and "SSL_CERT_FILE" in outcome.failed[0]["hint"], outcome


def test_many_files_come_over_several_connections(server, fetch, tmp_path):
    outcome = fetch(*({"url": f"{server.url}/{i}", "name": str(i)} for i in range(60)), connections=6)
    assert outcome.rc == 0 and len(outcome.done) == 60, outcome
    assert sorted(event["file"] for event in outcome.done) == list(range(60))
    assert len(server.connections) <= 6 and len(server.requests) == 60
    assert all(is_whole(tmp_path / str(i)) for i in range(60))


def test_one_bad_file_does_not_keep_the_others_away(server, fetch):
    server.faults["/2"] = [{"status": 404}]
    outcome = fetch(*({"url": f"{server.url}/{i}", "name": str(i)} for i in range(5)))
    assert outcome.rc == 1 and [event["file"] for event in outcome.failed] == [2] and len(outcome.done) == 4, outcome


def test_files_of_this_machine(fetch, tmp_path):
    (tmp_path / "source").write_bytes(CONTENT)
    assert fetch({"url": f"file://{tmp_path}/source"}).rc == 0
    assert is_whole(tmp_path / "x.conda")
    outcome = fetch({"url": f"file://{tmp_path}/absent", "name": "y"})
    assert outcome.rc == 1 and outcome.failed[0]["kind"] == "not_found", outcome


def test_what_is_no_regular_file_is_not_even_opened(fetch, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "a link").symlink_to("/dev/zero")
    for name in ("pipe", "a%20link"):
        outcome = fetch({"url": f"file://{tmp_path}/{name}", "size": 0})
        assert outcome.rc == 1 and outcome.failed[0]["kind"] == "refused", outcome
        assert "it is no regular file" in outcome.failed[0]["cause"], outcome
    assert sorted(os.listdir(tmp_path)) == ["a link", "pipe"]


def test_a_redirection_never_leads_to_a_local_file(server, fetch, tmp_path):
    (tmp_path / "source").write_bytes(CONTENT)
    server.faults["/x"] = [{"status": 302, "headers": {"Location": f"file://{tmp_path}/source"}}] * 5
    assert fetch({"url": f"{server.url}/x"}).rc == 1
    assert not (tmp_path / "x.conda").exists()


@pytest.fixture
def small(tmp_path):
    """A disk of 40 MiB."""
    directory = tmp_path / "small"
    directory.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", directory], check=True)
    yield directory
    subprocess.run(["umount", directory], check=True)


@pytest.mark.skips("no root")
@pytest.mark.parametrize("fault", [{"no_length": True, "endless": True}, {"length": 1 << 32, "endless": True}],
                         ids=["without end", "length told"])
def test_a_disk_is_never_filled_and_nothing_stays_of_what_is_too_much(server, fetch, small, fault):
    server.faults["/x"] = [fault]
    outcome = fetch({"url": f"{server.url}/x", "name": "small/x", "size": 0})
    assert outcome.rc == 1 and outcome.failed[0]["kind"] == "no_space", outcome
    assert "stay free" in outcome.failed[0]["cause"], outcome
    assert len(server.requests) == 1 and os.listdir(small) == []
    fetched = [event["bytes"] for event in outcome.events if event["event"] == "progress"]
    assert "length" not in fault or fetched == [], outcome


@pytest.mark.skips("no root")
def test_what_has_no_room_is_continued_when_there_is_some(server, fetch, small):
    (small / "other").write_bytes(bytes(35 << 20))
    outcome = fetch({"url": f"{server.url}/x", "name": "small/x"})
    assert outcome.rc == 1 and outcome.failed[0]["kind"] == "no_space", outcome
    (small / "other").unlink()
    assert fetch({"url": f"{server.url}/x", "name": "small/x"}).rc == 0


def test_more_bytes_than_any_artifact_has_are_not_begun(server, fetch, tmp_path):
    server.faults["/x"] = [{"length": 1 << 50, "endless": True}]
    outcome = fetch({"url": [f"{server.url}/x", f"{server.url}/y"], "size": 0})
    assert outcome.rc == 0 and is_whole(tmp_path / "x.conda"), outcome
    server.faults["/x"] = [{"length": 1 << 50, "endless": True}]
    outcome = fetch({"url": f"{server.url}/x", "name": "y", "size": 0})
    assert outcome.rc == 1 and outcome.failed[0]["kind"] == "corrupt", outcome
    assert "16 GiB" in outcome.failed[0]["cause"] and os.listdir(tmp_path) == ["x.conda"], outcome


def test_a_file_size_limit_ends_in_an_error(server, fetch):
    outcome = fetch({"url": f"{server.url}/x"}, before=["prlimit", "--fsize=1000000"])
    assert outcome.rc == 1 and "File too large" in outcome.failed[0]["cause"], outcome


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_what_was_stopped_goes_on_later(server, fetch, tmp_path, number):
    server.faults["/x"] = [{"slow": 0.1}]
    process = fetch.start({"url": f"{server.url}/x"})
    process.stdout.readline()  # some progress
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == -number
    outcome = fetch({"url": f"{server.url}/x"})
    assert outcome.rc == 0, outcome
    assert server.requests[1][1] is not None, "the second process must continue"
    assert is_whole(tmp_path / "x.conda") and os.listdir(tmp_path) == ["x.conda"]


def test_it_ends_with_whoever_started_it(server, fetch, tmp_path):
    server.faults["/x"] = [{"slow": 0.5}]
    job = tmp_path / "job"
    job.write_text(json.dumps({"files": [entry(tmp_path, f"{server.url}/x")]}))
    shell = subprocess.Popen(["bash", "-c", f"{FETCH} <{job} & echo $!; wait"], stdout=subprocess.PIPE, text=True)
    pid = int(shell.stdout.readline())
    shell.stdout.readline()  # some progress
    shell.kill()
    shell.wait()
    limit = time.monotonic() + 10
    while os.path.exists(f"/proc/{pid}") and "Z" not in open(f"/proc/{pid}/stat").read().split()[2]:
        assert time.monotonic() < limit
        time.sleep(0.05)
    shell.stdout.close()
    assert (tmp_path / "x.conda.part").exists()


def test_processes_that_fetch_one_path_at_once_all_succeed(server, fetch, tmp_path):
    processes = [fetch.start({"url": f"{server.url}/x"}) for _ in range(6)]
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert is_whole(tmp_path / "x.conda") and os.listdir(tmp_path) == ["x.conda"]


def test_progress_comes_a_few_times_a_second(server, fetch):
    server.faults["/x"] = [{"slow": 0.05}]
    outcome = fetch({"url": f"{server.url}/x"})
    amounts = [event["bytes"] for event in outcome.events if event["event"] == "progress"]
    assert amounts == sorted(amounts) and 3 <= len(amounts) <= 15, outcome


@pytest.mark.parametrize("text, why", [("{", "is not JSON"), ("{}", "has no list 'files'"),
                                       ('{"files": [{"urls": ["ftp://example.org/x"], "path": "/x"}]}', "neither http"),
                                       ('{"files": [{"urls": ["file:///x"], "path": "x"}]}', "not absolute")])
def test_a_job_that_makes_no_sense_is_refused(text, why):
    end = subprocess.run([FETCH], input=text, capture_output=True, text=True)
    assert end.returncode == 2 and why in end.stderr and end.stdout == "", end
