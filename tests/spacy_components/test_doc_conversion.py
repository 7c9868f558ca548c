"""Sentences become Docs and Docs become sentences, without loss but for what neither can hold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import spacy
from house.package import ROOT
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from egparse.evaluation.ud import score
from egparse.io.corpus import read_corpus
from egparse.sentences import MISSING_HEAD, Sentence
from egparse.spacy_components.doc_conversion import (
    doc_from_sentences,
    sentences_from_doc,
)

CORPORA = sorted((ROOT / "corpora").glob("*.conllu"))
CROSSING = Sentence(
    forms=("A", "hearing", "is", "set", "on", "it", "today"),
    heads=(2, 4, 4, 0, 6, 2, 4),
    deprels=("det", "nsubj:pass", "aux:pass", "root", "case", "nmod", "obl"),
)


def new_vocab() -> Vocab:
    """A vocabulary that knows what white space is."""
    return spacy.blank("xx").vocab


def as_in_docs(sentence: Sentence) -> Sentence:
    """A sentence of CoNLL-U without what no Doc holds; the words of its multiword tokens are
    written together if they spell them.
    """
    misc = [
        "SpaceAfter=No" if "SpaceAfter=No" in cell.split("|") else "_" for cell in sentence.misc
    ]
    for first, last, form, of_token in sentence.tokens:
        spelled = "".join(sentence.forms[first : last + 1]) == form
        misc[first:last] = ["SpaceAfter=No" if spelled else "_"] * (last - first)
        misc[last] = "SpaceAfter=No" if "SpaceAfter=No" in of_token.split("|") else "_"
    return replace(sentence, misc=tuple(misc), sentence_id=None, source=None, tokens=())


@pytest.mark.parametrize("path", CORPORA, ids=lambda path: path.stem)
def test_a_corpus_comes_back_from_a_doc(path: Path) -> None:
    sentences = [as_in_docs(sentence) for sentence in read_corpus(path)]
    doc = doc_from_sentences(sentences, new_vocab())
    assert sentences_from_doc(doc) == sentences
    assert {metric.f1 for metric in score(sentences, sentences_from_doc(doc)).totals.values()} == {
        100.0
    }


def test_a_doc_comes_back_from_its_sentences() -> None:
    (path,) = (path for path in CORPORA if path.stem.endswith("-dev"))
    doc = doc_from_sentences(read_corpus(path), new_vocab())
    again = doc_from_sentences(sentences_from_doc(doc), doc.vocab)
    assert again.to_bytes() == doc.to_bytes()
    assert again.text == doc.text


def test_a_tree_is_said_in_the_terms_of_spacy() -> None:
    doc = doc_from_sentences([CROSSING, CROSSING], new_vocab())
    assert [token.head.i for token in doc] == [1, 3, 3, 3, 5, 1, 3, 8, 10, 10, 10, 12, 8, 10]
    assert doc[3].dep_ == doc[10].dep_ == "ROOT"
    assert [span.start for span in doc.sents] == [0, 7]
    assert [own.heads for own in sentences_from_doc(doc)] == [CROSSING.heads] * 2
    assert [own.deprels for own in sentences_from_doc(doc)] == [CROSSING.deprels] * 2


def test_spaces_and_the_end_of_the_doc() -> None:
    (sentence,) = sentences_from_doc(spacy.blank("en")("One  dog barks.\n"))
    assert sentence.forms == ("One", "dog", "barks", ".")
    assert sentence.misc == ("_", "_", "SpaceAfter=No", "_")
    assert doc_from_sentences([sentence], new_vocab()).text == "One dog barks. "
    (sentence,) = sentences_from_doc(spacy.blank("en")("It runs"))
    assert sentence.misc == ("_", "SpaceAfter=No")
    assert sentences_from_doc(Doc(new_vocab())) == []
    assert sentences_from_doc(Doc(new_vocab(), words=[" ", "\n"])) == []
    assert len(doc_from_sentences([], new_vocab())) == 0


def test_what_is_not_annotated_stays_open() -> None:
    words = Sentence(("It", "runs"))
    doc = doc_from_sentences([words], new_vocab())
    for attribute in ("POS", "TAG", "MORPH", "LEMMA", "DEP", "ENT_IOB"):
        assert not doc.has_annotation(attribute)
    (sentence,) = sentences_from_doc(doc)
    assert sentence.upos == sentence.feats == sentence.deprels == ("_", "_")
    assert (sentence.heads, sentence.spans) == ((MISSING_HEAD, MISSING_HEAD), ())


def test_partial_annotation() -> None:
    sentence = Sentence(
        ("It", "runs", "fast"),
        upos=("PRON", "_", "X1"),
        heads=(2, 0, MISSING_HEAD),
        deprels=("_", "_", "advmod"),
        misc=("_", "_", "SpaceAfter=No"),
        spans=("_", "I-X", "I-X"),
    )
    (found,) = sentences_from_doc(doc_from_sentences([sentence], new_vocab()))
    assert found.upos == ("PRON", "_", "_")  # X1 is no part of speech of UD
    assert found.heads == sentence.heads
    assert found.deprels == ("dep", "root", "_")
    assert found.spans == ("_", "B-X", "I-X")
    mixed = sentences_from_doc(doc_from_sentences([sentence, Sentence(("No",))], new_vocab()))
    assert mixed[1].spans == ()


def test_entities() -> None:
    doc = Doc(new_vocab(), words=["New", " ", "York", "is", "big"], sent_starts=[1, -1, -1, -1, -1])
    doc.ents = [Span(doc, 0, 3, label="LOC")]
    assert sentences_from_doc(doc)[0].spans == ("B-LOC", "I-LOC", "O", "O")
    doc = Doc(new_vocab(), words=["New", "York"], sent_starts=[1, 1], ents=["B-LOC", "I-LOC"])
    assert [own.spans for own in sentences_from_doc(doc)] == [("B-LOC",), ("B-LOC",)]


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        (Sentence(("a", "b"), upos=("X",)), "sentence 2: expected 2 upos, got 1"),
        (Sentence(("a", "b"), heads=(0, 3)), "sentence 2: expected heads from 0 to 2, got 3"),
    ],
)
def test_faulty_sentences_are_refused(sentence: Sentence, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        doc_from_sentences([Sentence(("a",)), sentence], new_vocab())
