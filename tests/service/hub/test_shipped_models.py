"""The models that come with the package: whole, small, described by their cards, and of use; their
licences stand beside them and in the metadata of the wheel.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from pathlib import Path

import pytest
from house.package import ROOT

import egparse
from egparse.cli.commands.models import index_of
from egparse.io.corpus import read_corpus
from egparse.sentences import Sentence
from egparse.service.hub.cards import card
from egparse.service.hub.recipes import NAME, metadata_of, read_recipes
from egparse.spacy_components.packaging import licence_expression
from egparse.text.word_columns import Paragraph

MODELS = sorted((ROOT / "models").glob("*.msgpack"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LARGEST, MOST = 23_000_000, 120_000_000
"""Bytes of a model, and of all."""


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_card_is_that_of_the_file(path: Path) -> None:
    written = path.with_suffix(".md").read_text(encoding="utf-8")
    assert hashlib.sha256(path.read_bytes()).hexdigest() in written
    assert card(path, metadata_of(path)).rstrip() == written.rstrip()
    assert path.stem in read_recipes(path.with_name(NAME)).models
    assert path.stat().st_size <= LARGEST


def test_the_index_lists_the_models() -> None:
    """From it they are downloaded: ``egparse models --index models > models/index.json``."""
    folder = ROOT / "models"
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    assert index == {"models": index_of(folder)}
    assert sum(one["bytes"] for one in index["models"]) <= MOST


def test_english_is_parsed_as_the_sample_treebank_has_it() -> None:
    with open(ROOT / "corpora" / "en_sample-test.conllu", "rb") as file:
        gold = list(read_corpus(file, name="en_sample-test.conllu"))
    model = egparse.load("en_ewt")
    found = list(model.annotate(gold))
    words = sum(map(len, gold))
    assert sum(map(same_heads, gold, found)) > 0.9 * words
    assert "splitter" in model.components
    paragraph = Paragraph(["It", "rains", ".", "We", "wait", "."], [True, False, True] * 2)
    (starts,) = model.components["splitter"].split([paragraph])
    assert starts.tolist() == [True, False, False] * 2


def same_heads(gold: Sentence, found: Sentence) -> int:
    """How many words have the head that they should."""
    return sum(head == own for head, own in zip(gold.heads, found.heads, strict=True))


def expression_of(model: Path) -> str:
    """The SPDX identifier that the notice beside a model starts with."""
    notice = model.with_suffix(".LICENSE").read_text(encoding="utf-8")
    match = re.match(r"SPDX-License-Identifier: (.+)\n\n", notice)
    assert match is not None
    return match[1]


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_the_notice_beside_a_model_names_its_sources(model: Path) -> None:
    notice = model.with_suffix(".LICENSE").read_text(encoding="utf-8")
    facts = metadata_of(model)
    assert model.name in notice
    for source in facts.sources:
        assert source.name in notice
        assert source.address in notice
        assert source.licence in notice
    assert licence_expression(facts.licence) == expression_of(model)


def test_the_metadata_name_every_licence_and_hold_every_notice() -> None:
    expressions = {one for model in MODELS for one in expression_of(model).split(" AND ")}
    assert PROJECT["license"].split(" AND ") == ["MIT", *sorted(expressions)]
    held = {path for pattern in PROJECT["license-files"] for path in ROOT.glob(pattern)}
    assert held == {ROOT / "LICENSE", *(model.with_suffix(".LICENSE") for model in MODELS)}
