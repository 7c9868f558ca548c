"""Exceptions on the command line: of files, and of a model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import complaint, run

from egparse.cli.annotating.work import Annotation
from egparse.pipeline.model import Model

MINE = "# why\n1\tgrok\tgrokk\tADV\t_\t_\t_\t_\t_\t_\n\n"
TEXT = "I grok it. See Fig. 3.\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.conllu"
    path.write_text(MINE)
    return path


def rows_of(trained: Trained, *options: object) -> list[list[str]]:
    shown = run("parse", trained.model, "-", *options, text=TEXT).stdout
    return [line.split("\t")[1:4] for line in shown.splitlines() if line[:1].isdigit()]


def test_a_file_goes_before_those_of_the_model(trained: Trained, mine: Path) -> None:
    with_own, with_mine = rows_of(trained), rows_of(trained, "--exceptions", mine)
    assert ["grok", "grokk", "ADV"] in with_mine
    assert ["grok", "grokk", "ADV"] not in with_own
    assert "Fig." in [form for form, *_ in with_mine]  # English: those of the package
    assert "Fig." not in [form for form, *_ in rows_of(trained, "--exceptions", "none")]


def test_a_process_that_loads_the_model_has_them_too(trained: Trained, mine: Path) -> None:
    model = Model.load(trained.model).with_exceptions(mine)
    load, given = Annotation(model, trained.model, {}, {}).__reduce__()
    assert load(*given).model.exceptions == model.exceptions


def test_evaluation_uses_them(trained: Trained, tmp_path: Path) -> None:
    path = tmp_path / "all.conllu"
    path.write_text("1\tthe\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n")

    def upos(*options: object) -> float:
        done = run("evaluate", trained.model, trained.dev, "--bootstrap", 0, "--json", *options)
        return float(json.loads(done.stdout)["UPOS"])

    assert upos("--exceptions", path) < upos()


def test_a_model_shows_them_as_a_file_to_edit(trained: Trained, tmp_path: Path) -> None:
    shown = run("inspect", trained.model).stdout
    assert "\nExceptions (" in shown
    path = tmp_path / "own.conllu"
    path.write_text(run("inspect", trained.model, "--exceptions").stdout, encoding="utf-8")
    model = Model.load(trained.model)
    assert model.with_exceptions("none").with_exceptions(path).exceptions == model.exceptions
    found = json.loads(run("inspect", trained.model, "--json").stdout)["exceptions"]
    assert found[0]["text"] == "<emoji>"
    refused = run("inspect", trained.model, "--exceptions", "--json", status=2)
    assert "cannot be combined with --json" in refused.stderr


def test_a_fault_in_the_file_is_named(trained: Trained, mine: Path) -> None:
    mine.write_text("1\t*\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    text = complaint("parse", trained.model, trained.dev, "--exceptions", mine)
    assert text == f"{mine}:1: expected text directly after *, got none"
