"""The models that come with the package: whole, small, described by their cards, and of use."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from house.package import ROOT

import egparse
from egparse.io.corpus import read_corpus
from egparse.sentences import Sentence
from egparse.service.hub.cards import card, metadata_of

MODELS = sorted((ROOT / "models").glob("*.msgpack"))
LARGEST = 23_000_000  # bytes, of which three millions are for tokens, words and lemmas


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_the_card_is_that_of_the_file(path: Path) -> None:
    written = path.with_suffix(".md").read_text(encoding="utf-8")
    assert hashlib.sha256(path.read_bytes()).hexdigest() in written
    assert card(path, metadata_of(path)).rstrip() == written.rstrip()
    assert path.stat().st_size <= LARGEST


def test_english_is_parsed_as_the_sample_treebank_has_it() -> None:
    with open(ROOT / "corpora" / "en_sample-test.conllu", "rb") as file:
        gold = list(read_corpus(file, name="en_sample-test.conllu"))
    model = egparse.load("en_ewt")
    found = list(model.annotate(gold))
    words = sum(map(len, gold))
    assert sum(map(same_heads, gold, found)) > 0.9 * words
    assert "splitter" in model.components
    assert model.components["splitter"].starts(
        ["It", "rains", ".", "We", "wait", "."], [True, False, True] * 2
    ).tolist() == [
        *(True, False, False),
        *(True, False, False),
    ]


def same_heads(gold: Sentence, found: Sentence) -> int:
    """How many words have the head that they should."""
    return sum(head == own for head, own in zip(gold.heads, found.heads, strict=True))
