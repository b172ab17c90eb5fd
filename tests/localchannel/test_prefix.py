"""A prefix made from the channel: programs run, and use nothing of the system but the libraries declared."""

import json
import os
import re
import subprocess

import pytest
from hidden import declared, hidden, is_elf, run, soname
from unpack import install

IMPORTS = "bz2, ctypes, curses, lzma, numpy, PIL.Image, readline, requests, sqlite3, ssl, torch, torchvision, uuid"

ALL_REDUCE = """
import torch
import torch.distributed as distributed

distributed.init_process_group("gloo")
value = torch.tensor([float(distributed.get_rank() + 1)])
distributed.all_reduce(value)
print(f"rank {distributed.get_rank()} of {distributed.get_world_size()} has {value.item()}\\n", end="", flush=True)
"""


def output(done):
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def python(prefix, code, **variables):
    return output(run(prefix / "bin/python", "-c", code, **variables))


def test_python_looks_for_packages_in_its_prefix_only(prefix):
    library = f"{prefix}/lib/python3.11"
    assert json.loads(python(prefix, "import json, sys; print(json.dumps(sys.path[1:]))")) == \
        [f"{prefix}/lib/python311.zip", library, f"{library}/lib-dynload", f"{library}/site-packages"]
    assert python(prefix, "import site; print(site.__file__, *site.getsitepackages())") == \
        f"{library}/site.py {library}/site-packages\n"


def test_a_sitecustomize_of_the_user_takes_nothing_away(prefix, tmp_path):
    (tmp_path / "sitecustomize.py").write_text("import builtins; builtins.mine = True\n")
    assert python(prefix, "import six; print(mine)", PYTHONPATH=str(tmp_path)) == "True\n"


def test_python_installs_into_its_prefix(prefix):
    site = f"{prefix}/lib/python3.11/site-packages"
    code = ("import sysconfig, warnings; warnings.simplefilter('ignore'); from distutils.sysconfig import "
            "get_python_lib; print(sysconfig.get_path('purelib'), sysconfig.get_path('platlib'), get_python_lib(),"
            "sysconfig.get_path('scripts'), sysconfig.get_config_var('LIBDIR'))")
    assert python(prefix, code).split() == [site, site, site, f"{prefix}/bin", f"{prefix}/lib"]


def test_setuptools_builds_and_pip_installs(channel, cache, tmp_path):
    prefix = tmp_path / "prefix"
    install(channel, prefix, cache, "pip")
    (tmp_path / "source/hello").mkdir(parents=True)
    (tmp_path / "source/hello/__init__.py").write_text("def main():\n    print(__file__)\n")
    (tmp_path / "source/setup.py").write_text(
        "from setuptools import setup\n"
        "setup(name='hello', version='1', packages=['hello'],\n"
        "      entry_points={'console_scripts': ['hello = hello:main']})\n")
    done = run(prefix / "bin/pip", "install", "--no-index", "--no-build-isolation", "--disable-pip-version-check",
               tmp_path / "source", PATH="/usr/bin:/bin")
    assert done.returncode == 0, done
    assert output(run(prefix / "bin/hello")) == f"{prefix}/lib/python3.11/site-packages/hello/__init__.py\n"


def test_a_venv_works_upon_it(prefix, tmp_path):
    output(run(prefix / "bin/python", "-m", "venv", "--without-pip", tmp_path / "venv"))
    shown = output(run(tmp_path / "venv/bin/python", "-c", "import site, sys; print(sys.base_prefix, *sys.path[1:])"))
    assert shown.split()[0] == str(prefix)
    assert shown.split()[-1] == f"{tmp_path}/venv/lib/python3.11/site-packages"


@pytest.mark.parametrize("command, text", [
    ("greet", "hello from greet 2.0 in {}\n"),
    ("greet-loud", "HELLO FROM GREET 2.0 IN {}\n"),
    ("greet-script", "hello from greet 2.0 in {}\n"),
    ("show-prefix", "{0}\n{0}/bin:{0}/sbin:/usr/bin\n"),
    ("prefix-text-python", "{0}\n{0}\n"),
    ("prefix-text", "# Twice in a line, at its beginning and at its end.\npath = {0}/bin:{0}/sbin\n"
                    "{0}/share/prefix-text\nroot = {0}\n"),
])
def test_programs_know_their_prefix(prefix, command, text):
    assert output(run(prefix / "bin" / command, PATH="/usr/bin:/bin")) == text.format(prefix)


def test_pip_knows_the_packages(prefix):
    listed = output(run(prefix / "bin/pip", "list", "--format=freeze", "--disable-pip-version-check"))
    assert {"torch==1.13.1", "torchvision==0.14.1", "numpy==1.24.2", "greet==2.0"} <= set(listed.split())
    assert output(run(prefix / "bin/pip", "check", "--disable-pip-version-check")) == "No broken requirements found.\n"


def test_no_link_leads_out_of_the_prefix(prefix):
    links = [path for path in prefix.rglob("*") if path.is_symlink()]
    assert links
    for path in links:
        assert path.resolve(strict=True).is_relative_to(prefix), path


def test_activation_scripts_do_and_undo(prefix):
    script = ("before=$(env | sort); for file in $CONDA_PREFIX/etc/conda/activate.d/*.sh; do . $file; done; "
              "echo $ACTIVATION_DEMO $ACTIVATION_DEMO_HOME $LESS; activation-demo | wc -l; "
              "for file in $CONDA_PREFIX/etc/conda/deactivate.d/*.sh; do . $file; done; "
              "PATH=/usr/bin:/bin; [ \"$before\" = \"$(env | sort)\" ] || echo something is left")
    home = f"{prefix}/share/activation-demo"
    for less in ({}, {"LESS": "-S"}):
        lines = output(run("sh", "-c", script, PATH="/usr/bin:/bin", CONDA_PREFIX=str(prefix), **less)).splitlines()
        assert lines[0] == f"1 {home} -R"
        assert len(lines) == 2, lines


@pytest.mark.skips("no root")
def test_torch_and_torchvision_run_with_the_system_s_hidden(prefix):
    code = ("import torch, torch.distributed.fsdp, torchgen.gen, torchvision; model = torchvision.models.resnet18(); "
            "print(torch.__version__, torchvision.__version__, *model(torch.zeros(1, 3, 64, 64)).shape)")
    assert output(hidden(prefix / "bin/python", "-c", code)) == "1.13.1 0.14.1 1 1000\n"


@pytest.mark.skips("no root")
def test_a_process_maps_only_declared_libraries_of_the_system(prefix, cache):
    code = (f"import {IMPORTS}\nnumpy.linalg.svd(numpy.eye(9)); torch.linalg.svd(torch.eye(9))\n"
            "print(open('/proc/self/maps').read())")
    mapped = {line.split(maxsplit=5)[5] for line in output(hidden(prefix / "bin/python", "-c", code)).splitlines()
              if line.count("/") and ".so" in line}
    inside = {path for path in mapped if path.startswith(f"{prefix}/")}
    assert {"libopenblas.so.0", "libblas.so.3", "libtorch_cpu.so.1.13", "libc10.so.1.13"} <= \
        {os.path.basename(path) for path in inside}
    assert {soname(path) for path in mapped - inside} <= declared(cache)


@pytest.mark.skips("no root")
def test_torchrun_starts_two_processes(prefix, tmp_path):
    (tmp_path / "program.py").write_text(ALL_REDUCE)
    done = hidden(prefix / "bin/torchrun", "--standalone", "--nproc_per_node=2", "program.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["rank 0 of 2 has 3.0", "rank 1 of 2 has 3.0"]


def test_declared_libraries_are_those_the_loader_finds(prefix, cache):
    """ldd follows the same search paths as a running program. It has no arrow behind the loader itself."""
    files = [path for path in prefix.rglob("*") if path.is_file() and is_elf(path)]
    lines = [line.strip().partition(" => ") for line in output(run("ldd", *files, PATH="/usr/bin:/bin")).splitlines()]
    found = {library for library, arrow, path in lines if arrow and not path.startswith(f"{prefix}/")}
    assert found | {"ld-linux-x86-64.so.2"} == declared(cache)
