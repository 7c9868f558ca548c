"""The commands as users run them: ``models``, ``download``, and a model by its name everywhere."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from cli.program import CORPORA, complaint, first_sentences, run
from sample_treebank import quick_model
from service.hub.local_server import Site

from egparse import __version__
from egparse.cli.app import main


def run_process(
    *arguments: object, text: str | None = None, status: int = 0
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m egparse`` in the environment as it is now."""
    command = [sys.executable, "-m", "egparse", *map(str, arguments)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def named(home: Path) -> Path:
    """A model of the user's with the name xx_test."""
    path = home / "models" / "xx_test.msgpack"
    path.parent.mkdir(parents=True)
    quick_model().save(path)
    return path


def shown(*arguments: object) -> str:
    """What the program shows when run in this process, which has imported numba already."""
    output = io.StringIO()
    with redirect_stdout(output), pytest.raises(SystemExit) as left:
        main([*map(str, arguments)])
    assert left.value.code == 0
    return output.getvalue()


def test_parse_takes_a_name(named: Path) -> None:
    done = run_process("parse", "xx_test", "-", text="A dog barks.")
    forms = [line.split("\t")[1] for line in done.stdout.splitlines() if line[:1].isdigit()]
    assert forms == ["A", "dog", "barks", "."]


def test_evaluate_inspect_and_jobs_take_a_name(named: Path, tmp_path: Path) -> None:
    gold = first_sentences(CORPORA / "en_sample-dev.conllu", 10, tmp_path / "gold.conllu")
    assert shown("parse", "xx_test", gold, "--jobs", 2) == shown("parse", named, gold)
    assert "\nxx_test, from the words alone\n" in shown(
        "evaluate", "xx_test", gold, "--bootstrap", 0
    )
    assert json.loads(shown("inspect", "xx_test", "--json"))["path"] == str(named)


@pytest.mark.parametrize(
    "arguments", [("parse", "yy_test", "-"), ("evaluate", "yy_test", "-"), ("inspect", "yy_test")]
)
def test_an_unknown_name_is_one_line(named: Path, arguments: tuple[str, ...]) -> None:
    text = complaint(*arguments)
    assert text.startswith(
        "yy_test: expected the path, the name or the language of a model, got none; installed: "
    )
    assert text.endswith("did you mean xx_test?")


def test_models_shows_what_is_there(named: Path) -> None:
    (named.parent / "zz_bad.msgpack").write_text("no model")
    text = run_process("models").stdout
    (row,) = (
        line
        for line in text.splitlines()
        if line.startswith("xx_test  ") and line.endswith(named.name)
    )
    assert row.split()[1] == "en"
    assert ["name", *quick_model().layers] in [line.split() for line in text.splitlines()]
    assert f"{named.parent / 'zz_bad.msgpack'}: not an egparse model: it looks like text" in text
    assert "UD_French-Sequoia" in text
    found = json.loads(run("models", "--json").stdout)
    one = next(one for one in found["installed"] if one["name"] == "xx_test")
    assert (one["path"], one["place"], one["hidden"]) == (str(named), "user", False)
    assert one["layers"] == list(quick_model().layers)
    assert len(one["sha256"]) == 64
    assert {entry["kind"] for entry in found["available"]} >= {"treebank"}


def test_models_reads_no_weights() -> None:
    program = (
        "import sys; from egparse.cli.commands.models import found_models; found_models(); "
        "print({'numba', 'spacy', 'scipy'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


def test_download_prints_paths_and_little_else(site: Site, home: Path) -> None:
    done = run("download", "UD_French-Sequoia")
    folder = home / "treebanks" / "r2.16" / "UD_French-Sequoia"
    assert done.stdout.splitlines() == [
        str(folder / f"fr_sequoia-ud-{part}.conllu") for part in ("train", "dev", "test")
    ]
    assert done.stderr == (
        "UD_French-Sequoia r2.16, LGPL-LR: 3 files, checked against the SHA-256 of the first "
        "download (.sha256 files)\n"
    )
    again = run("download", "UD_French-Sequoia", "--quiet")
    assert (again.stdout, again.stderr) == (done.stdout, "")
    assert len(site.requests) == 3
    (row,) = (
        line for line in run("models").stdout.splitlines() if line.startswith("UD_French-Sequoia ")
    )
    assert row.endswith("yes")


def test_download_faults_are_one_line(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert complaint("download", "UD_French-Sequioa") == (
        "UD_French-Sequioa: expected a name that 'egparse models' lists; did you "
        "mean UD_French-Sequoia?"
    )
    site.files.clear()
    assert complaint("download", "UD_French-Sequoia", "--output", tmp_path / "own").endswith(
        "got 404 Not Found"
    )
    monkeypatch.setenv("EGPARSE_MIRROR", "http://127.0.0.1:9")
    text = complaint("download", "UD_French-Sequoia", "--output", tmp_path / "own")
    assert "cannot be reached: Connection refused" in text
    assert os.listdir(tmp_path / "own") == []


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A folder with two models and their index."""
    folder = tmp_path / "published"
    folder.mkdir()
    for name in ("xx_test", "xx_other"):
        quick_model().save(folder / f"{name}.msgpack")
    (folder / "xx_test.toml").write_text('licence = "CC0-1.0"', encoding="utf-8")
    (folder / "index.json").write_text(run("models", "--index", folder).stdout, encoding="utf-8")
    return folder


def test_models_of_an_index_are_had_from_a_folder(
    published: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "EGPARSE_INDEX names no index" in run("models").stdout
    monkeypatch.setenv("EGPARSE_INDEX", str(published))
    assert complaint("parse", "xx", published / "xx_test.toml").endswith(
        "'egparse download xx' gets xx_other, a model of that language"
    )
    (row,) = (one for one in run("models").stdout.splitlines() if one.startswith("xx_test "))
    assert row.split() == ["xx_test", "model", "en", __version__, "CC0-1.0", "-"]
    done = run("download", "xx_test")
    model = home / "models" / "xx_test.msgpack"
    assert done.stdout == f"{model}\n"
    assert "CC0-1.0: 1 file, checked against the SHA-256 of the catalogue" in done.stderr
    assert model.read_bytes() == (published / "xx_test.msgpack").read_bytes()
    model.unlink()
    monkeypatch.chdir(published)
    monkeypatch.setenv("EGPARSE_INDEX", "index.json")
    assert run("download", "xx_test").stdout == done.stdout
    (published / "xx_other.msgpack").write_bytes(b"other")
    assert "expected SHA-256" in complaint("download", "xx_other")
    (published / "index.json").write_text('{"models": [{"name": "../x"}]}', encoding="utf-8")
    assert "expected an index of models, got: 'file'" in complaint("download", "xx_other")


def test_models_of_an_index_are_had_from_a_server(
    published: Path, site: Site, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in published.iterdir():
        site.files[f"/models/{path.name}"] = path.read_bytes()
    monkeypatch.setenv("EGPARSE_INDEX", "http://nowhere.invalid/models/index.json")
    assert "xx_other" not in run("models").stdout
    assert site.requests == []
    assert run("download", "xx").stdout == f"{home / 'models' / 'xx_other.msgpack'}\n"
    asked = [request.path for request in site.requests]
    assert asked == ["/models/index.json", "/models/xx_other.msgpack"]
    assert "xx_test" in run("models").stdout
    assert len(site.requests) == 2
    parsed = run("parse", "xx", "-", text="A dog barks.").stdout
    assert "\tdog\t" in parsed


def test_a_model_that_is_there_needs_no_download(named: Path) -> None:
    assert run("download", "xx_test").stdout == f"{named}\n"


def test_a_treebank_is_trained_on_by_its_name(site: Site, home: Path, tmp_path: Path) -> None:
    first_sentences(CORPORA / "en_sample-train.conllu", 40, tmp_path / "some.conllu")
    for path in site.files:
        site.files[path] = (tmp_path / "some.conllu").read_bytes()
    model = tmp_path / "model.msgpack"
    quickly = ("--set", 'layers=["upos"]', "--set", "upos.stop.iterations=2")
    done = run("train", "UD_French-Sequoia", "--output", model, *quickly)
    folder = home / "treebanks" / "r2.16" / "UD_French-Sequoia"
    assert "download     UD_French-Sequoia r2.16, LGPL-LR" in done.stderr
    assert f"corpus       {folder / 'fr_sequoia-ud-train.conllu'}: 40 sentences" in done.stderr
    assert f"development  {folder / 'fr_sequoia-ud-dev.conllu'}: 40 sentences" in done.stderr
    assert "got no such file" in complaint("train", "UD_French-Sequioa", "--output", model)
