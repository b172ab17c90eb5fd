"""pinstep init: an environment.yml out of what somebody has already."""

import json

import pytest

REQUIREMENTS = "numpy>=2\nrequests[socks]\n"


def test_a_new_spec_is_written_once_and_says_what_is_next(pinstep):
    done = pinstep("init", "python=3.12", "numpy>=2", "--channel=conda-forge", "--channel", "nvidia")
    assert done.returncode == 0 and done.stdout.endswith("next: pinstep lock\n"), done
    spec = pinstep.home / "environment.yml"
    assert spec.read_text() == ("name: home\nchannels:\n  - conda-forge\n  - nvidia\ndependencies:\n"
                                "  - python=3.12\n  - 'numpy>=2'\n")
    before = spec.read_bytes()
    again = pinstep("init", "--json", "scipy")
    assert again.returncode == 1 and json.loads(again.stdout)["error"] == "conflict"
    assert "--output" in json.loads(again.stdout)["hint"] and spec.read_bytes() == before
    other = pinstep("init", "--output=other.yml", "--from=environment.yml")
    assert other.returncode == 2 and not (pinstep.home / "other.yml").exists(), other


@pytest.mark.parametrize("name, text, wanted", [
    ("requirements.txt", REQUIREMENTS, ["  - python\n", "      - 'numpy>=2'\n", "      - 'requests[socks]'\n"]),
    ("pixi.toml", '[workspace]\nname = "p"\nchannels = ["c"]\n[dependencies]\nnumpy = "2.*"\n',
     ["name: p\n", "  - c\n", "  - numpy=2.*\n"]),
    ("pyproject.toml", '[project]\nname = "q"\nrequires-python = ">=3.11"\ndependencies = ["numpy"]\n',
     ["name: q\n", "  - 'python>=3.11'\n", "      - numpy\n"]),
])
def test_what_there_is_is_taken_over(pinstep, name, text, wanted):
    pinstep.write(name, text)
    done = pinstep("init", f"--from={name}", "--json")
    assert done.returncode == 0, done
    written = (pinstep.home / "environment.yml").read_text()
    assert json.loads(done.stdout)["spec"] == str(pinstep.home / "environment.yml")
    for line in wanted:
        assert line.replace("'", "") in written.replace("'", ""), written


def record(pinstep, prefix, name, more=""):
    pinstep.write(f"{prefix}/conda-meta/{name}-1-0.json",
                  json.dumps({"name": name, "version": "1", "channel": "https://h.example.org/anaconda/cloud/conda-forge"}))


def test_an_environment_of_conda_is_found_by_its_name(pinstep):
    for prefix in ("miniforge3/envs/train", "miniforge3"):
        record(pinstep, prefix, "python")
        pinstep.write(f"{prefix}/conda-meta/history", "# update specs: ['python=1']\n")
    record(pinstep, "elsewhere/other", "numpy")
    pinstep.write(".conda/environments.txt", f"{pinstep.home}/gone/other\n{pinstep.home}/elsewhere/other\n")
    for name, wanted in (("train", "python=1"), ("base", "python=1"), ("other", "numpy=1")):
        done = pinstep("init", f"--from=conda:{name}", f"--output={name}.yml")
        assert done.returncode == 0, done
        text = (pinstep.home / f"{name}.yml").read_text()
        assert f"- {wanted}\n" in text and "- conda-forge\n" in text, text
    by_path = pinstep("init", "--from=elsewhere/other/", "--output=p.yml")
    assert by_path.returncode == 0 and "name: other\n" in (pinstep.home / "p.yml").read_text(), by_path
    missing = pinstep("init", "--from=conda:nope")
    assert missing.returncode == 1 and "conda env list" in missing.stderr, missing


def test_nothing_is_written_where_the_source_cannot_be_read(pinstep):
    pinstep.write("bad.toml", "a = \n")
    pinstep.write("empty/x", "")
    for source, code in (("bad.toml", 1), ("empty", 1), ("nowhere.txt", 1), ("conda:", 2)):
        done = pinstep("init", f"--from={source}")
        assert done.returncode == code, done
        assert not (pinstep.home / "environment.yml").exists()
