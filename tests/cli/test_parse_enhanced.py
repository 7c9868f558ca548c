"""``parse --enhanced``, ``evaluate --enhanced`` and the service: DEPS by rules."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from cli.program import run
from sample_treebank import CORPORA, quick_model

from egparse.enhanced.rules import enhanced_dependencies
from egparse.errors import EgparseError
from egparse.io.corpus import read_corpus

DEV = CORPORA / "en_sample-dev.conllu"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("enhanced") / "model.msgpack"
    quick_model().save(path)
    return path


def deps_of(conllu: str) -> list[list[str]]:
    blocks = conllu.strip().split("\n\n")
    rows = [[row.split("\t") for row in one.split("\n")] for one in blocks]
    return [[row[8] for row in one if row[0].isdigit()] for one in rows]


def test_deps_follow_the_predicted_trees(model: Path) -> None:
    written = run("parse --enhanced", model, DEV).stdout
    parsed = read_corpus(io.StringIO(written), "conllu", name="x")
    assert deps_of(written) == [[*enhanced_dependencies(one, "en")] for one in parsed]
    assert written == run("parse --enhanced --jobs 2", model, DEV).stdout
    objects = json.loads(run("parse --enhanced --output-format json", model, DEV).stdout)
    words = [[word["deps"] for word in one["words"]] for one in objects["sentences"]]
    assert words == deps_of(written)


def test_deps_follow_given_trees_and_go_with_another_one(model: Path, tmp_path: Path) -> None:
    given = tmp_path / "given.conllu"
    written = run("parse --respect-input --enhanced", model, DEV).stdout
    expected = [[*enhanced_dependencies(one, "en")] for one in read_corpus(DEV)]
    assert deps_of(written) == expected
    given.write_text(written, encoding="utf-8")
    assert run("parse --respect-input", model, given).stdout == written
    (before,) = quick_model().annotate([next(read_corpus(DEV))], enhanced=True)
    (after,) = quick_model().annotate([before])
    assert before.deps
    assert after.deps == ()


def test_text_gets_them(model: Path) -> None:
    written = run("parse --enhanced", model, "-", text="She sat in the house and slept.").stdout
    assert all("_" not in cells for cells in deps_of(written))


def test_what_has_no_place_for_them_is_refused(model: Path) -> None:
    done = run("parse --enhanced --output-format conllx", model, DEV, status=2)
    assert "expected CoNLL-U, JSON or tables for --enhanced" in done.stderr
    with pytest.raises(EgparseError, match="expected one of the languages"):
        replace(quick_model(), language="xx").annotate([], enhanced=True)
    tagger = replace(quick_model(), components=quick_model().components.without("labeller"))
    with pytest.raises(EgparseError, match="expected a model of heads and labels of arcs, got one"):
        tagger.annotate([], enhanced=True)


def test_a_model_is_scored(model: Path, tmp_path: Path) -> None:
    done = run("evaluate --enhanced --bootstrap 0", model, DEV, status=2)
    assert "expected enhanced dependencies in the column DEPS of the gold corpus" in done.stderr
    gold = tmp_path / "gold.conllu"
    run("parse --respect-input --enhanced", model, DEV, "--output", gold)
    words, text = (
        json.loads(
            run("evaluate --enhanced --json --bootstrap 0", model, gold, "--from", start).stdout
        )
        for start in ("words", "text")
    )
    assert words["UAS"] > words["ELAS"] > 0
    assert text["alignment"]["ELAS"]["f1"] == text["ELAS"]
