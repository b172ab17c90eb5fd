"""What the channel's packages are made of. A recipe fills a tree with files and returns the package's facts."""

import fnmatch
import json
import re
import shutil
import struct
import subprocess
import zipfile
from pathlib import Path

import debian
import elf
from debian import Error
from package import PLACEHOLDER, Package

STDLIB = "lib/python3.11"
SITE = f"{STDLIB}/site-packages"
PYTHON = "python >=3.11,<3.12.0a0"
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
OWN = Path(__file__).resolve().parent / "own"
# Programs whose version decides what some package looks like.
MAKERS = ("gcc", "patchelf", "zstd")


def mend(file, *changes):
    """Replace text in a file, each (old, new) exactly once, or this is not the file the change was made for."""
    text = file.read_text()
    for old, new in changes:
        if text.count(old) != 1:
            raise Error(f"'{file.name}' is not as this channel knows it: no single {old.strip().splitlines()[0]!r}\n"
                        "hint: the channel is made from Debian 12's packages")
        text = text.replace(old, new)
    file.write_text(text)


# ---- The interpreter

# Modules for CPython's own tests, and what makes sense in Debian's prefix only: its settings, the mark that apt
# manages this Python.
NOT_OF_PYTHON = ("*/__pycache__/*", "test/*", "*/test/*", "*/tests/*", "lib-dynload/_test*",
                 "lib-dynload/_ctypes_test*", "lib-dynload/_xx*", "lib-dynload/xx*", "sitecustomize.py",
                 "EXTERNALLY-MANAGED")

SITE_OF_DEBIAN = '''\
            if is_virtual_environment:
                sitepackages.append(os.path.join(prefix, "lib",
                                                 "python%d.%d" % sys.version_info[:2],
                                                 "site-packages"))
            sitepackages.append(os.path.join(prefix, "local/lib",
                                             "python%d.%d" % sys.version_info[:2],
                                             "dist-packages"))
            sitepackages.append(os.path.join(prefix, "lib",
                                             "python3",
                                             "dist-packages"))
            # this one is deprecated for Debian
            for libdir in libdirs:
                path = os.path.join(prefix, libdir,
                                    "python%d.%d" % sys.version_info[:2],
                                    "dist-packages")
'''
SITE_OF_PYTHON = '''\
            for libdir in libdirs:
                path = os.path.join(prefix, libdir,
                                    "python%d.%d" % sys.version_info[:2],
                                    "site-packages")
'''
# struct _frozen: name, code, size, is it a package, function that returns the code. The name is a null pointer
# in the last entry.
FROZEN_TABLE = "_PyImport_FrozenStdlib"
FROZEN = struct.Struct("<QQi?xxxQ")


def _thaw(program, module):
    """Take a module out of those compiled into the interpreter, so that it is read from its file.

    A frozen module wins over its file. Debian's site is one, and does not know of site-packages.
    """
    content = bytearray(program.read_bytes())
    table = elf.file_offset(content, *struct.unpack_from("<Q", content, elf.symbol_offset(content, FROZEN_TABLE)))
    entries = []
    while not entries or entries[-1][0]:
        entries.append(FROZEN.unpack_from(content, table + len(entries) * FROZEN.size))
    names = [content[at:content.index(0, at)].decode() for at in
             (elf.file_offset(content, entry[0]) for entry in entries[:-1])]
    if module not in names:
        raise Error(f"module '{module}' is not frozen in '{program.name}'")
    del entries[names.index(module)]
    content[table:table + len(entries) * FROZEN.size] = b"".join(FROZEN.pack(*entry) for entry in entries)
    program.write_bytes(content)


# Values of the build configuration that name a place in the prefix; others stay as the interpreter was built.
PLACES = {"BINDIR", "BINLIBDEST", "CONFINCLUDEDIR", "CONFINCLUDEPY", "DESTDIRS", "DESTLIB", "DESTSHARED",
          "INCLDIRSTOMAKE", "INCLUDEDIR", "INCLUDEPY", "LIBDEST", "LIBDIR", "LIBPC", "LIBPL", "MACHDESTLIB",
          "MANDIR", "SCRIPTDIR", "datarootdir", "exec_prefix", "prefix"}


def _mend_configuration(file):
    values = {}
    exec(file.read_text(), values)              # an assignment of a dictionary
    values = {name: value.replace(LIBRARIES, "/usr/lib").replace("/usr", PLACEHOLDER) if name in PLACES else value
              for name, value in values["build_time_vars"].items()}
    lines = "".join(f" {name!r}: {value!r},\n" for name, value in values.items())
    file.write_text("# system configuration generated and used by the sysconfig module\n"
                    f"build_time_vars = {{\n{lines}}}\n")


def python(tree, versions):
    sources = ("python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "python3-distutils",
               "python3-lib2to3")

    def place(path):
        if path == "/usr/bin/python3.11":
            return "bin/python3.11"
        name = path.removeprefix("/usr/lib/python3.11/")
        if name == path or any(fnmatch.fnmatch(name, pattern) for pattern in NOT_OF_PYTHON):
            return None
        return f"{STDLIB}/{name}"

    for source in sources:
        debian.copy(source, tree, place)
    for name in ("python3", "python"):
        (tree / "bin" / name).symlink_to("python3.11")
    _thaw(tree / "bin/python3.11", "site")
    library = tree / STDLIB
    mend(library / "site.py", (SITE_OF_DEBIAN, SITE_OF_PYTHON))
    mend(library / "sysconfig.py",
         ("os.environ.get('DEB_PYTHON_INSTALL_LAYOUT', 'posix_local')", "'posix_prefix'"),
         ("        if deb_build in ('deb', 'deb_system'):\n            prefix_scheme = 'deb_system'\n"
          "        else:\n            prefix_scheme = 'posix_local'\n", "        prefix_scheme = deb_build\n"),
         ("        # default to /usr for package builds, /usr/local otherwise\n", ""))
    # distutils, that of setuptools too, asks this before it installs into dist-packages or /usr/local.
    for file in ("distutils/sysconfig.py", "_distutils_system_mod.py"):
        mend(library / file, ('    return sys.base_prefix != sys.prefix or hasattr(sys, "real_prefix")\n',
                              "    return True     # as in one: all is in the prefix\n"))
    _mend_configuration(library / "_sysconfigdata__x86_64-linux-gnu.py")
    readme = tree / SITE / "README.txt"
    readme.parent.mkdir()
    readme.write_text("Packages of this environment.\n")
    return Package("python", debian.upstream(versions["python3.11-minimal"]), "0_cpython",
                   "Debian's interpreter and standard library, for any prefix", "Python-2.0",
                   site_packages=SITE, debian=sources)


# ---- BLAS and PyTorch

def libopenblas(tree, versions):
    """The names under which Debian's numpy and torch ask for BLAS and LAPACK, by default the slow reference ones."""
    def place(path):
        name = path.removeprefix(f"{LIBRARIES}/openblas-pthread/")
        if name in ("libblas.so.3", "liblapack.so.3"):
            return f"lib/{name}"
        return "lib/libopenblas.so.0" if re.fullmatch(r"libopenblasp-r.*\.so", name) else None

    debian.copy("libopenblas0-pthread", tree, place)
    return Package("libopenblas", debian.upstream(versions["libopenblas0-pthread"]), "0",
                   "OpenBLAS with threads, also as libblas.so.3 and liblapack.so.3", "BSD-3-Clause",
                   debian=("libopenblas0-pthread",))


def _not_compiled(pattern):
    """place() for dist-packages: the files whose name there matches, without compiled ones."""
    def place(path):
        name = path.removeprefix("/usr/lib/python3/dist-packages/")
        return f"{SITE}/{name}" if name != path and re.match(pattern, name) and "/__pycache__/" not in name else None
    return place


def _metadata(tree, name, version, requires=(), scripts=()):
    """What pip and importlib.metadata know of a package, where Debian's gives the version of a pre-release."""
    directory = tree / SITE / f"{name}-{version}.dist-info"
    directory.mkdir()
    (directory / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
                                        + "".join(f"Requires-Dist: {line}\n" for line in requires))
    (directory / "INSTALLER").write_text("conda\n")
    if scripts:
        (directory / "entry_points.txt").write_text("[console_scripts]\n" + "".join(f"{line}\n" for line in scripts))


def _script(tree, entry_point):
    """bin/COMMAND for "command = module:function", as installers write it for noarch packages."""
    command, module, function = re.fullmatch(r"(\S+) = ([\w.]+):(\w+)", entry_point).groups()
    path = tree / "bin" / command
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!{PLACEHOLDER}/bin/python3.11\nimport sys\n\nfrom {module} import {function}\n\n"
                    f"if __name__ == '__main__':\n    sys.exit({function}())\n")
    path.chmod(0o755)


STD_OF_TORCH = '''\
            v = int(v)
            for s in Std:
                if s == v:
                    return s
            # return None -> should NEVER reach here since we regex check input
'''


def pytorch(tree, versions):
    version = debian.upstream(versions["python3-torch"])
    # Headers belong to another package, the programs in torch/bin but one are its tests.
    debian.copy("python3-torch", tree, _not_compiled(
        r"functorch/|torchgen/|torch/(?!include/|lib/|share/|test$|bin/(?!torch_shm_manager$))"))

    def place(path):
        match = re.fullmatch(rf"{LIBRARIES}/(lib\w+\.so\.\d+\.\d+)\.\d+", path)
        return f"{SITE}/torch/lib/{match[1]}" if match else None

    debian.copy("libtorch1.13", tree, place)
    for library in (tree / SITE / "torch/lib").iterdir():
        library.with_name(library.name.partition(".so")[0] + ".so").symlink_to(library.name)
    # Iterating over a flag enumeration leaves out zero since Python 3.11, so that torchrun's default got lost.
    mend(tree / SITE / "torch/distributed/elastic/multiprocessing/api.py",
         (STD_OF_TORCH, "            return Std(int(v))\n"))
    # A default that can be changed is an error for a dataclass since 3.11: without this no import of torch's FSDP.
    mend(tree / SITE / "torch/distributed/_shard/sharded_tensor/metadata.py",
         ("field(default=TensorProperties())", "field(default_factory=TensorProperties)"))
    mend(tree / SITE / "torch/version.py", ("'1.13.0a0'", repr(version)))
    run = "torchrun = torch.distributed.run:main"
    _script(tree, run)
    _metadata(tree, "torch", version, ["typing-extensions"], [run])
    return Package("pytorch", version, "cpu_py311_0", "PyTorch for CPUs with its libraries, OpenBLAS below",
                   "BSD-3-Clause", debian=("python3-torch", "libtorch1.13"),
                   depends=("astunparse", "libopenblas", "numpy >=1.24,<2", PYTHON, "pyyaml", "six",
                            "typing_extensions"))


def torchvision(tree, versions):
    version = debian.upstream(versions["python3-torchvision"])
    torch = debian.upstream(versions["python3-torch"])
    debian.copy("python3-torchvision", tree, _not_compiled(r"torchvision/"))
    mend(tree / SITE / "torchvision/version.py", ("'0.14.1a0'", repr(version)))
    _metadata(tree, "torchvision", version, ["numpy", "requests", f"torch=={torch}", "pillow"])
    return Package("torchvision", version, "cpu_py311_0", "torchvision for CPUs", "BSD-3-Clause",
                   debian=("python3-torchvision",),
                   depends=("numpy >=1.24,<2", "pillow >=5.3.0", PYTHON, f"pytorch {torch}", "requests"))


# ---- Other Python packages, as they are

def numpy(tree, versions):
    debian.copy("python3-numpy", tree, _not_compiled(r"numpy(?!.*/tests/)"))
    _script(tree, "f2py = numpy.f2py.f2py2e:main")
    return Package("numpy", debian.upstream(versions["python3-numpy"]), "py311_0", "numpy upon OpenBLAS",
                   "BSD-3-Clause", debian=("python3-numpy",), depends=("libopenblas", PYTHON))


def pillow(tree, versions):
    debian.copy("python3-pil", tree, _not_compiled(r"(PIL|Pillow)"))
    return Package("pillow", debian.upstream(versions["python3-pil"]), "py311_0", "images in Python", "HPND",
                   debian=("python3-pil",), depends=(PYTHON,))


def pyyaml(tree, versions):
    debian.copy("python3-yaml", tree, _not_compiled(r"(_?yaml|PyYAML)"))
    return Package("pyyaml", debian.upstream(versions["python3-yaml"]), "py311_0", "YAML in Python", "MIT",
                   debian=("python3-yaml",), depends=(PYTHON,))


def _pure(name, source, modules, license, depends=(), entry_points=()):
    def recipe(tree, versions):
        place = _not_compiled(rf"({modules})\b")
        debian.copy(source, tree, lambda path: (to := place(path)) and to.removeprefix(f"{STDLIB}/"))
        return Package(name, debian.upstream(versions[source]), "py_0", f"{name} of Debian's {source}", license,
                       "noarch", "python", ("python >=3.7", *depends), entry_points, debian=(source,))
    return recipe


def _wheel(name, source, license, depends=(), entry_points=()):
    def recipe(tree, versions):
        wheel = next((Path("/usr/share/python-wheels")).glob(f"{name}-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tree / "site-packages")
        return Package(name, debian.upstream(versions[source]), "py_0", f"{name} of Debian's {source}", license,
                       "noarch", "python", ("python >=3.7", *depends), entry_points, debian=(source,))
    return recipe


# ---- Packages of our own

def _own(directory):
    """A package from a directory: recipe.json and tree/, whose text has @PREFIX@ for the prefix."""
    def recipe(tree, _):
        facts = json.loads((directory / "recipe.json").read_text())
        if (directory / "tree").is_dir():
            shutil.copytree(directory / "tree", tree, dirs_exist_ok=True, symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__"))
        for path in tree.rglob("*"):
            if path.is_file() and "@PREFIX@" in (text := path.read_text()):
                path.write_text(text.replace("@PREFIX@", PLACEHOLDER))
        for name in facts.pop("empty_directories", []):     # git keeps none
            (tree / name).mkdir(parents=True)
        for target, arguments in facts.pop("compile", {}).items():
            (tree / target).parent.mkdir(parents=True, exist_ok=True)
            # Without optimisation, or strlen() of a prefix would be a constant in the code.
            subprocess.run(["gcc", f'-DPREFIX="{PLACEHOLDER}"', "-O0", "-fno-builtin",
                            "-Wl,--build-id=none", "-o", tree / target, *arguments], cwd=directory, check=True)
        return Package(**{name: tuple(value) if isinstance(value, list) else value for name, value in facts.items()})
    return recipe


# In an order in which each comes after what it depends on: those must be known to find libraries in them.
RECIPES = {
    "python": python,
    "libopenblas": libopenblas,
    "numpy": numpy,
    "typing_extensions": _pure("typing_extensions", "python3-typing-extensions", "typing_extensions", "PSF-2.0"),
    "six": _pure("six", "python3-six", "six", "MIT"),
    "astunparse": _pure("astunparse", "python3-astunparse", "astunparse", "BSD-3-Clause", ("six >=1.6.1,<2",)),
    "pyyaml": pyyaml,
    "pytorch": pytorch,
    "idna": _pure("idna", "python3-idna", "idna", "BSD-3-Clause"),
    "certifi": _pure("certifi", "python3-certifi", "certifi", "MPL-2.0"),
    "chardet": _pure("chardet", "python3-chardet", "chardet", "LGPL-2.1-or-later",
                     entry_points=("chardetect = chardet.cli.chardetect:main",)),
    "charset-normalizer": _pure("charset-normalizer", "python3-charset-normalizer", "charset_normalizer", "MIT",
                                entry_points=("normalizer = charset_normalizer.cli.normalizer:cli_detect",)),
    "urllib3": _pure("urllib3", "python3-urllib3", "urllib3", "MIT", ("six",)),
    # It takes chardet before charset-normalizer, and warns if it has only Debian's version of the latter.
    "requests": _pure("requests", "python3-requests", "requests", "Apache-2.0",
                      ("certifi >=2017.4.17", "chardet >=3.0.2,<6", "charset-normalizer >=2,<4", "idna >=2.5,<4",
                       "urllib3 >=1.21.1,<1.27")),
    "pillow": pillow,
    "torchvision": torchvision,
    "setuptools": _wheel("setuptools", "python3-setuptools-whl", "MIT"),
    "wheel": _pure("wheel", "python3-wheel", "wheel", "MIT", entry_points=("wheel = wheel.cli:main",)),
    "pip": _wheel("pip", "python3-pip-whl", "MIT", ("setuptools", "wheel"),
                  ("pip = pip._internal.cli.main:main", "pip3 = pip._internal.cli.main:main")),
    **{directory.name: _own(directory) for directory in sorted(OWN.glob("*-*"))},
}

DEBIAN_PACKAGES = (
    "libopenblas0-pthread", "libpython3.11-minimal", "libpython3.11-stdlib", "libtorch1.13", "python3-astunparse",
    "python3-certifi", "python3-chardet", "python3-charset-normalizer", "python3-distutils", "python3-idna",
    "python3-lib2to3", "python3-numpy", "python3-pil", "python3-pip-whl", "python3-requests", "python3-setuptools-whl",
    "python3-six", "python3-torch", "python3-torchvision", "python3-typing-extensions", "python3-urllib3",
    "python3-wheel", "python3-yaml", "python3.11-minimal", *MAKERS)
