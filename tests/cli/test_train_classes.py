"""``--classes`` of ``egparse train`` and ``egparse tune``: tables are read, named, and stay in the
model.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.program import CORPORA, first_sentences, run, run_process
from sample_treebank import sample

QUICK = (
    "--set", 'layers=["upos"]', "--set", "splitter.train=false", "--set", "upos.stop.iterations=3",
    "--quiet",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus and a table of word classes, by the first letter of each form."""
    folder = tmp_path_factory.mktemp("classes")
    first_sentences(CORPORA / "en_sample-train.conllu", 40, folder / "train.conllu")
    forms = sorted({form for sentence in sample("train") for form in sentence.forms})
    lines = [f"{ord(form[0]) % 32:05b}\t{form}\t{k}" for k, form in enumerate(forms)]
    (folder / "letters.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Path:
    """A model with two tables, trained in a process of its own."""
    path = folder / "model.msgpack"
    table = folder / "letters.tsv"
    options = ("--classes", table, "--classes", table, "--set", 'classes.licences=["CC0", "MIT"]')
    run_process("train", folder / "train.conllu", "-o", path, *QUICK, *options)
    return path


def test_the_table_is_inside_the_model(model: Path, folder: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved.msgpack"
    moved.write_bytes(model.read_bytes())
    parsed = run("parse", moved, folder / "train.conllu").stdout
    assert parsed == run("parse", model, folder / "train.conllu").stdout
    assert "\tNOUN\t" in parsed


def test_inspect_and_card_name_tables_and_licences(model: Path) -> None:
    shown = run("inspect", model).stdout
    lines = [line for line in shown.splitlines() if line.startswith("word classes ")]
    assert [line.split("letters.tsv, ")[1].split(",")[0] for line in lines] == ["CC0", "MIT"]
    assert all(" forms in " in line for line in lines)
    card = run("inspect", model, "--card").stdout
    assert "| table | licence | forms | classes |" in card
    assert "| letters.tsv | CC0 |" in card
    assert "| letters.tsv | MIT |" in card
    found = json.loads(run("inspect", model, "--json").stdout)
    assert [table["licence"] for table in found["record"]["classes"]] == ["CC0", "MIT"]
    assert str(model.parent) not in json.dumps(found["configuration"])


def test_a_configuration_names_tables_too(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "mine.toml"
    config.write_text(f'[classes]\ntables = ["{folder / "letters.tsv"}"]\n', encoding="utf-8")
    output = tmp_path / "model.msgpack"
    run("train", folder / "train.conllu", "-o", output, *QUICK, "--config", config)
    assert "letters.tsv, licence not stated" in run("inspect", output).stdout


def test_tuning_with_classes(folder: Path) -> None:
    tune = f"tune {folder}/train.conllu --task upos --classes {folder}/letters.tsv"
    done = run(f"{tune} --c-from 1 --c-to 0.5 --decay 0.5 --json", *QUICK)
    assert len(json.loads(done.stdout)["tasks"]["upos"]["points"]) == 2


def test_a_base_keeps_its_tables(model: Path, folder: Path, tmp_path: Path) -> None:
    corpus, output = folder / "train.conllu", tmp_path / "new.msgpack"
    run("train", "--base", model, corpus, "-o", output, "--quiet")
    assert run("inspect", output).stdout.count("word classes ") == 2
