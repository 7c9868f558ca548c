"""Model cards and the facts that they are made from."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from sample_treebank import quick_model, sample

from egparse.errors import ConfigError, ModelFileError
from egparse.evaluation.report import evaluate, report_as_json
from egparse.service.hub.cards import card
from egparse.service.hub.facts import CardMetadata, DataSource, Scores, load_metadata
from egparse.service.hub.recipes import metadata_of

FACTS = """
description = "Something for tests."
licence = "CC BY-SA 4.0"
commit = "0123abc"
limits = ["Only for tests.", "Not for print | not for show."]

[[sources]]
name = "A | B"
licence = "CC BY 4.0"
address = "https://example.org/treebank"

[scores]
test = "ten sentences"
predicted = "scores/predicted.json"
gold_tags = "scores/gold.json"
raw_text = "scores/raw.json"
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model file with facts and scores beside it."""
    path = tmp_path_factory.mktemp("cards") / "en_test.msgpack"
    quick_model().save(path)
    (path.parent / "scores").mkdir()
    gold = sample("test")[:10]
    for name in ("predicted", "gold", "raw"):
        system = list(quick_model().annotate(gold, gold_tags=name == "gold"))
        report = evaluate(gold, system, bootstrap=50, from_text=name == "raw")
        scores = json.dumps(report_as_json(report))
        (path.parent / "scores" / f"{name}.json").write_text(scores, encoding="utf-8")
    path.with_suffix(".toml").write_text(FACTS, encoding="utf-8")
    return path


def rows_of(text: str, first: str) -> list[list[str]]:
    """The rows of the tables that start with this cell."""
    rows = [
        re.split(r"(?<!\\) ?\| ?", line)[1:-1]
        for line in text.splitlines()
        if line.startswith("| ")
    ]
    return [row for row in rows if row[0] == first]


def test_the_facts_beside_a_model_are_found(model: Path) -> None:
    facts = metadata_of(model)
    assert facts.licence == "CC BY-SA 4.0"
    assert facts.sources == (
        DataSource(name="A | B", licence="CC BY 4.0", address="https://example.org/treebank"),
    )
    assert facts == load_metadata(model.with_suffix(".toml"))
    assert metadata_of(model.with_name("other.msgpack")) == CardMetadata()


def test_a_card_says_what_file_it_is_about(model: Path) -> None:
    text = card(model, metadata_of(model))
    assert text.startswith("# en_test\n\nSomething for tests.\n")
    assert rows_of(text, "SHA-256") == [
        ["SHA-256", f"`{hashlib.sha256(model.read_bytes()).hexdigest()}`"]
    ]
    assert rows_of(text, "Licence") == [["Licence", "CC BY-SA 4.0"]]
    assert rows_of(text, "Layers")[0][1].startswith(
        "tokens, sentence starts, multiword tokens, UPOS, XPOS, FEATS, lemmas, entities, heads"
    )
    assert "commit 0123abc" in rows_of(text, "Trained with")[0][1]
    assert rows_of(text, "training") == [
        ["training", "60", f"{sum(map(len, sample('train')[:60])):,}"]
    ]
    assert "parser.bits = 16" in text
    assert "Parser: arc-factored, projective trees." in text
    assert text.endswith("* Only for tests.\n* Not for print | not for show.\n")


def test_scores_come_with_intervals_and_with_what_was_given(model: Path) -> None:
    facts = metadata_of(model)
    text = card(model, facts)
    predicted, gold = facts.scores.predicted, facts.scores.gold_tags
    assert predicted is not None
    assert gold is not None
    (las,) = rows_of(text, "LAS")
    low, high = predicted["intervals"]["LAS"]
    assert las[:2] == ["LAS", f"{predicted['LAS']:.2f} [{low:.2f}, {high:.2f}]"]
    assert las[2].startswith(f"{gold['LAS']:.2f} [")
    assert rows_of(text, "UPOS")[-1][2] == "given"
    assert rows_of(text, "entities, F1")[0][1].startswith(f"{predicted['NE']['f']:.2f} [")
    spacy = predicted["conventions"]["spacy"]
    convention = rows_of(text, "spaCy: without the label `punct`, whole labels")[0]
    assert convention[1] == f"{spacy['UAS']:.2f} / {spacy['LAS']:.2f}"
    assert "Per cent on ten sentences" in text
    assert rows_of(text, "words, F1") == [["words, F1", "", "", "100.00"]]
    assert rows_of(text, "LAS")[0][3].startswith(f"{predicted['LAS']:.2f} [")


def test_a_card_needs_no_facts(model: Path) -> None:
    text = card(model, CardMetadata(), "another")
    assert text.startswith(
        "# another\n\nA model of egparse for the language `en`: tokens, sentence starts, "
    )
    assert rows_of(text, "Licence") == [["Licence", "not stated"]]
    assert "## Scores" not in text
    assert "No test scores were given" in text


def test_every_table_has_as_many_cells_in_each_row(model: Path) -> None:
    for block in card(model, metadata_of(model)).split("\n\n"):
        if block.startswith("| "):
            assert len({len(re.split(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1, (
                block
            )


def test_what_the_model_was_trained_on_from_is_named(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "next.msgpack"
    record = {**quick_model().record, "bases": [{"name": "en_test", "payload_sha256": "ab12"}]}
    replace(quick_model(), record=record).save(path)
    assert "Training continued from en_test (SHA-256 of its content `ab12`)." in card(
        path, CardMetadata()
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("licence = 3", "licence: input should be a valid string, got 3"),
        ("license = 'x'", "license: unexpected keyword argument, got 'x'"),
        ("[[sources]]\nlicence = 'x'", "sources.0.name: field required"),
        ("licence = ", "expected facts of a model in TOML, got: "),
        ("[scores]\npredicted = 'no.json'", "no.json: expected scores in JSON, got: "),
        (
            "[scores]\npredicted = 'a.json'",
            "a.json: expected what 'egparse evaluate --json' writes",
        ),
        ("scores = 1", "scores: input should be a dictionary or an instance of scores, got 1"),
    ],
)
def test_faulty_facts_are_refused_by_name(tmp_path: Path, text: str, fault: str) -> None:
    (tmp_path / "a.json").write_text("{}", encoding="utf-8")
    path = tmp_path / "facts.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(fault)) as raised:
        load_metadata(path)
    assert str(tmp_path) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_is_no_model_has_no_card(tmp_path: Path) -> None:
    path = tmp_path / "x.msgpack"
    path.write_bytes(b"x")
    with pytest.raises(ModelFileError):
        card(path, CardMetadata(scores=Scores(test="nothing")))
