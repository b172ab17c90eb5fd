"""Channels and wheels for tests of solving: what an index says, without the archives behind it."""

import base64
import functools
import hashlib
import http.server
import json
import threading
import time
import zipfile


def record(name, version="1.0", build="0", depends=(), number=0):
    digest = hashlib.sha256(f"{name}-{version}-{build}".encode()).hexdigest()
    return {"name": name, "version": version, "build": build, "build_number": number, "depends": list(depends),
            "sha256": digest, "md5": digest[:32], "size": 1000, "subdir": "linux-64", "timestamp": 1700000000000}


def write_channel(directory, *records, subdir="linux-64"):
    """A channel of these records; more may be added to it later."""
    for name in {subdir, "noarch", "linux-64"}:
        path = directory / name / "repodata.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        known = json.loads(path.read_text())["packages.conda"] if path.exists() else {}
        if name == subdir:
            known |= {f"{r['name']}-{r['version']}-{r['build']}.conda": {**r, "subdir": subdir} for r in records}
        path.write_text(json.dumps({"info": {"subdir": name}, "packages": {}, "packages.conda": known}))
    return directory


def write_wheel(directory, name, version, tag="py3-none-any", requires=()):
    directory.mkdir(parents=True, exist_ok=True)
    stem = f"{name.replace('-', '_')}-{version}"
    path = directory / f"{stem}-{tag}.whl"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    metadata += "".join(f"Requires-Dist: {line}\n" for line in requires)
    with zipfile.ZipFile(path, "w") as archive:
        files = {"METADATA": metadata, "WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n"}
        recorded = f"{stem}.dist-info/RECORD,,\n"
        for file, content in files.items():
            archive.writestr(f"{stem}.dist-info/{file}", content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=").decode()
            recorded += f"{stem}.dist-info/{file},sha256={digest},{len(content)}\n"
        archive.writestr(f"{stem}.dist-info/RECORD", recorded)
    return path


class Serving:
    """A server on loopback while it is in use."""

    def __init__(self, handler):
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


class Server(Serving):
    """Serves a directory on loopback while it is in use; `asked` lists the paths that were."""

    def __init__(self, directory):
        self.asked = []
        asked = self.asked

        class Handler(http.server.SimpleHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                super().do_GET()

            def log_message(self, *_):
                pass

        super().__init__(functools.partial(Handler, directory=str(directory)))


class Guarded(Serving):
    """Serves a directory to those who show a login "user:password", or the token in "/t/TOKEN/"; `refused` lists the
    paths of the others."""

    def __init__(self, directory, login=None, token=None):
        self.asked, self.refused = [], []
        guard = self

        class Handler(http.server.SimpleHTTPRequestHandler):
            def send_head(self):
                wanted = "Basic " + base64.b64encode(login.encode()).decode() if login else None
                door = f"/t/{token}/" if token else "/"
                if self.headers.get("Authorization") == wanted and self.path.startswith(door):
                    self.path = "/" + self.path.removeprefix(door)
                    guard.asked.append(self.path)
                    return super().send_head()
                guard.refused.append(self.path)
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="mirror"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return None

            def log_message(self, *_):
                pass

        super().__init__(functools.partial(Handler, directory=str(directory)))

    def below(self, credentials):
        """Its URL with credentials "user:password@"."""
        return self.url.replace("://", f"://{credentials}")


class Stalling(Serving):
    """A channel without packages whose server stops, or does not stop, in the `manner` named."""

    def __init__(self, manner):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def absent(self):
                self.send_response(404)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_HEAD = absent

            def do_GET(self):
                asked_for = "shards" if "shards" in manner else "repodata.json"
                if asked_for not in self.path:
                    self.absent()
                    return
                if manner == "no answer":
                    time.sleep(60)
                subdir = self.path.split("/")[-2]
                index = {"info": {"subdir": subdir}, "packages": {}, "packages.conda": {}, "filler": "x" * 200_000}
                body = json.dumps(index).encode()
                self.send_response(200)
                if not manner.startswith("no end"):
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                for at in range(0, len(body), 5_000):
                    self.wfile.write(body[at:at + 5_000])
                    time.sleep(60 if manner == "half a body" else 0.1 if manner == "slowly" else 0)
                while manner.startswith("no end"):
                    self.wfile.write(b"x" * 65536)

        super().__init__(Handler)
