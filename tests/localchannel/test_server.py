"""The server for tests: what it sends, what it counts, and the faults it can be told to have."""

import http.client
from contextlib import closing

import pytest
from channel import Server

CONTENT = bytes(range(256)) * 1000


@pytest.fixture
def served(tmp_path):
    """served(FAULT…): a server of a directory with one file, /sub/file."""
    (tmp_path / "root/sub").mkdir(parents=True)
    (tmp_path / "root/sub/file").write_bytes(CONTENT)
    (tmp_path / "secret").write_text("not below the root")
    servers = []

    def start(*faults):
        servers.append(Server(tmp_path / "root", tmp_path / "log", *faults))
        return servers[-1]

    yield start
    for server in servers:
        server.__exit__()


def get(server, path="/sub/file", method="GET", **headers):
    with closing(http.client.HTTPConnection("127.0.0.1", server.port)) as connection:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), answer.headers


def test_a_file_is_sent_and_counted(served):
    server = served()
    assert get(server)[:2] == (200, CONTENT)
    assert server.downloads() == [(200, len(CONTENT), "/sub/file")]


def test_a_part_is_sent(served):
    server = served()
    status, body, headers = get(server, Range="bytes=1000-")
    assert (status, body) == (206, CONTENT[1000:])
    assert headers["Content-Range"] == f"bytes 1000-{len(CONTENT) - 1}/{len(CONTENT)}"
    assert get(server, Range="bytes=10-19")[:2] == (206, CONTENT[10:20])
    assert get(server, Range="bytes=256000-")[0] == 416
    assert server.downloads() == [(206, len(CONTENT) - 1000, "/sub/file"), (206, 10, "/sub/file")]


def test_a_head_has_no_body_and_is_not_counted(served):
    server = served()
    status, body, headers = get(server, method="HEAD")
    assert (status, body, headers["Content-Length"]) == (200, b"", str(len(CONTENT)))
    assert server.downloads() == []


@pytest.mark.parametrize("path", ["/", "/sub", "/absent", "/../secret", "/%2e%2e/secret", "/sub/../../secret"])
def test_only_files_below_the_directory_are_there(served, path):
    server = served()
    assert get(server, path)[0] == 404
    assert server.downloads() == []


@pytest.mark.parametrize("status", [404, 429, 500, 503])
def test_a_status_is_answered_as_often_as_told(served, status):
    server = served(("/sub/*", f"status:{status}:2"))
    assert [get(server)[0] for _ in range(3)] == [status, status, 200]
    assert len(server.downloads()) == 1


def test_a_connection_is_dropped_and_the_rest_can_be_fetched(served):
    server = served(("/sub/file", "drop:100000:1"))
    with pytest.raises(http.client.IncompleteRead) as dropped:
        get(server)
    assert dropped.value.partial == CONTENT[:100000]
    assert server.downloads() == []
    assert get(server, Range="bytes=100000-")[1] == CONTENT[100000:]


def test_one_byte_is_changed(served):
    server = served(("*", "flip:70000"))
    body = get(server)[1]
    assert [at for at in range(len(CONTENT)) if body[at] != CONTENT[at]] == [70000]


def test_faults_are_for_the_paths_that_match(served):
    server = served(("/other/*", "status:500"))
    assert get(server)[0] == 200


def test_a_fault_nobody_knows_is_refused(tmp_path):
    with pytest.raises(ValueError):             # no port, so no server
        Server(tmp_path, tmp_path / "log", ("*", "explode:1"))
