"""Sentences in a file are those that were read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from egparse.errors import EgparseError
from egparse.io.corpus import read_whole
from egparse.io.stored_sentences import StoredSentences
from egparse.sentences import Sentence, select
from egparse.storage import scratch
from egparse.storage.scratch import LEAST, limited

CORPORA = Path(__file__).resolve().parents[2] / "corpora"


@pytest.fixture(autouse=True)
def small_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever other tests of this process have left in memory."""
    monkeypatch.setattr(scratch, "anonymous_memory", lambda: 0)


@pytest.fixture
def read() -> list[Sentence]:
    return list(read_whole(CORPORA / "en_sample-train.conllu", None).sentences)


def test_they_are_what_was_read(read: list[Sentence]) -> None:
    with limited(LEAST):
        stored = read_whole(CORPORA / "en_sample-train.conllu", None).sentences
        assert isinstance(stored, StoredSentences)
        assert stored == read
        assert [stored[i] for i in range(-1, len(read))] == [read[-1], *read]
        for one, other in zip(stored, read, strict=True):
            assert one.source is not None
            assert other.source is not None
            assert replace(one.source, word_lines=()) == replace(other.source, word_lines=())
            assert list(one.source.word_lines) == list(other.source.word_lines)
            assert one.tokens == other.tokens
            assert one.opens_document == other.opens_document


def test_selections_and_slices_are_those_of_a_list(read: list[Sentence]) -> None:
    with limited(LEAST) as files:
        stored = StoredSentences.of(read, files)
        chosen = np.random.default_rng(0).random(len(read)) < 0.5
        some = select(stored, chosen.tolist())
        assert isinstance(some, StoredSentences)
        assert some == select(read, chosen.tolist())
        assert some[3:20:4] == select(read, chosen.tolist())[3:20:4]
        assert stored[::-1] == read[::-1]
        assert not stored[5:5]


def test_sentences_from_elsewhere(read: list[Sentence]) -> None:
    plain = [
        Sentence(("a", "b"), comments=("# one",)),
        Sentence(()),
        Sentence(("",), lemmas=("a\nb",)),
        Sentence(("", "\n"), lemmas=("\n", "a\tb")),
        Sentence(("\u00e9\ud800",), spans=("O",), heads=(-1,)),
    ]
    with limited(LEAST) as files:
        stored = StoredSentences.of(plain, files)
        assert stored == plain
        assert stored[0].comments == ("# one",)
        with pytest.raises(ValueError, match="one with probabilities"):
            StoredSentences.of([Sentence(("a",), probabilities={})], files)


def test_more_sentences_than_memory_can_do_with(
    read: list[Sentence], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch, "anonymous_memory", lambda: LEAST)
    with limited(LEAST) as files, pytest.raises(EgparseError, match=f"for {len(read)} sentences"):
        StoredSentences.of(read, files)
