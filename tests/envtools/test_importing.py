"""pinstep lock of a file that another program has locked: uv.lock, pylock.toml, requirements, lists without hashes."""

import base64
import hashlib
import json
import zipfile

import pytest

from builds import SMALL, Builder, Server, chosen, explicit, made
from channels import write_wheel
from test_explicit import by_md5
from test_lock import locker     # noqa: F401


@pytest.fixture
def alice():
    with Builder() as builder:
        yield builder


def whole_wheel(builder, name, version):
    """A wheel that can be installed: (URL, sha256)."""
    stem, code = f"{name}-{version}", f"version = {version!r}\n".encode()
    info = f"{stem}.dist-info"
    members = {f"{name}.py": code, f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
               f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    lines = [f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n"
             for path, data in members.items()]
    members[f"{info}/RECORD"] = "".join([*lines, f"{info}/RECORD,,\n"]).encode()
    path = builder.write(f"w/{stem}-py3-none-any.whl", "")
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return path.as_uri(), hashlib.sha256(path.read_bytes()).hexdigest()


def pylock(url, digest, version="1.0"):
    return (f'lock-version = "1.0"\nrequires-python = ">=3.9"\n[[packages]]\nname = "tiny"\nversion = "{version}"\n'
            f'wheels = [{{ url = "{url}", hashes = {{ sha256 = "{digest}" }} }}]\n')


def uv_lock(url, digest, version="1.0"):
    return (f'version = 1\nrequires-python = ">=3.9"\n[[package]]\nname = "mine"\nversion = "0"\n'
            f'source = {{ virtual = "." }}\ndependencies = [{{ name = "tiny" }}]\n[[package]]\nname = "tiny"\n'
            f'version = "{version}"\nsource = {{ registry = "https://channel.example/simple" }}\n'
            f'wheels = [{{ url = "{url}", hash = "sha256:{digest}" }}]\n')


@pytest.mark.parametrize("name, text", [("pylock.toml", pylock), ("uv.lock", uv_lock)])
def test_python_packages_get_the_python_of_a_lock(alice, name, text):
    packages = chosen(made(), SMALL)
    alice.write("base.txt", explicit(made().as_uri(), packages))
    alice.write(name, text(*whole_wheel(alice, "tiny", "1.0")))
    stem = name.partition(".")[0]
    refused = alice("build", "--store=s", name)
    assert refused.returncode == 1 and "names no Python" in refused.stderr and "--python=" in refused.stderr, refused
    nothing = alice("lock", name)
    assert nothing.returncode == 2 and f"{name}:1: nothing says which Python" in nothing.stderr, nothing

    done = alice("lock", "--python=base.txt", name)
    assert done.returncode == 0 and f"{stem}-lock.yml: {len(packages) + 1} packages" in done.stdout, done
    assert alice("lock", "--check", name).returncode == 0
    built = alice.build("--store=s", name)
    assert built["packages"] == len(packages) + 1
    ran = alice("run", "--store=s", "-e", name, "python3", "-c", "import tiny; print(tiny.version)")
    assert ran.stdout == "1.0\n", ran

    # Another file: the lock of the first does not stand for it, and its Python stays.
    alice.write(name, text(*whole_wheel(alice, "tiny", "2.0"), "2.0"))
    stale = alice("build", "--store=s", name)
    assert stale.returncode == 1 and "is another file than" in stale.stderr, stale
    assert alice("lock", "--check", name).returncode == 1
    again = alice("lock", name)
    assert again.returncode == 0 and "tiny" in again.stdout, again
    assert alice.build("--store=s", name)["id"] != built["id"]


def test_requirements_are_resolved_and_checked(locker):     # noqa: F811
    one = write_wheel(locker.wheels, "tool", "1.0", requires=["helper"])
    two = write_wheel(locker.wheels, "helper", "2.0")
    locker.user.write(".condarc", "channels: [local]\n")

    def requirements(*pairs):
        lines = [f"{name} \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n" for name, path in pairs]
        return f"--no-index\n--find-links {locker.wheels}\n" + "".join(lines)
    locker.user.write("requirements.txt", requirements(("tool==1.0", one), ("helper==2.0", two)))
    done = locker.json("--python=3.11", "requirements.txt")
    assert done["lock"].endswith("/requirements-lock.yml") and done["state"] == "made", done
    packages = locker.packages("requirements-lock.yml")
    assert packages == {"python": "3.11.2", "libc": "2.0", "tool": "1.0", "helper": "2.0"}
    locker.user.write("requirements.txt", requirements(("tool==1.0", two), ("helper==2.0", two)))
    before = (locker.user.home / "requirements-lock.yml").read_bytes()
    assert locker.json("requirements.txt", code=1)["error"] in ("invalid", "unsatisfiable")
    assert (locker.user.home / "requirements-lock.yml").read_bytes() == before


def test_a_list_without_hashes_is_trusted_only_when_asked(alice, tmp_path):
    packages = chosen(made(), ["show-prefix", "activation-demo"])
    with Server(made(), tmp_path / "log") as server:
        lines = [line.partition("#")[0] for line in by_md5(server.url, packages).splitlines()[2:]]
        alice.write("list.txt", "@EXPLICIT\n# platform: linux-64\n" + "\n".join(lines) + "\n")
        refused = alice("lock", "list.txt")
        assert refused.returncode == 1 and "list.txt:3: '" in refused.stderr and "--fetch-hashes" in refused.stderr, refused
        done = alice("lock", "--fetch-hashes", "list.txt")
        assert done.returncode == 0, done
    text = (alice.home / "list-lock.yml").read_text()
    assert all(digest in text for _, digest in packages)
    # What was fetched is in the cache of the usual store: the server is gone.
    hashed = alice.write("hashed.txt", explicit(made().as_uri(), packages))
    assert alice.build("list-lock.yml")["id"] == alice.build(hashed)["id"]


def test_options_go_with_the_files_that_need_them(alice):
    alice.write("environment.yml", "dependencies: [xz]\n")
    alice.write("list.txt", explicit(made().as_uri(), chosen(made(), ["show-prefix"])))
    for words, told in ((["--python=3.12"], "--python goes with a lock of another program"),
                        (["--python=3.12", "list.txt"], "--python goes with a lock of Python packages")):
        done = alice("lock", *words)
        assert done.returncode == 2 and told in done.stderr, done
    taken = json.loads(alice("lock", "--json", "list.txt").stdout)
    assert taken["lock"].endswith("/list-lock.yml") and taken["packages"] == 1
