"""Multiword tokens of Docs: the model sees their words, the Doc keeps its text."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy_components.texts import annotate

import egparse
from egparse.spacy_components.documents import read
from egparse.spacy_components.multiword import expanded, put_words, register, words_of
from egparse.text.rules import RuleSplitter

TEXT = "Il parle du chat des voisins.  Elle rit aux éclats."
WORDS = {"du": ["de", "le"], "des": ["de", "les"], "aux": ["à", "les"]}


@pytest.fixture(scope="module")
def nlp() -> Language:
    nlp = spacy.blank("fr")
    for name in ("egparse_tagger", "egparse_parser"):
        nlp.add_pipe(name, config={"model": "fr_sequoia"})
    return nlp


def with_words(nlp: Language, text: str = TEXT) -> Doc:
    doc = nlp.make_doc(text)
    for token in doc:
        if token.text in WORDS:
            put_words(doc, token.idx, token.text, WORDS[token.text])
    return doc


def test_the_text_stays_and_a_token_has_the_head_of_its_words(nlp: Language) -> None:
    doc = annotate(nlp, with_words(nlp))
    assert doc.text == TEXT
    du = doc[2]
    assert (du.text, du.pos_, du.dep_, du.head.text) == ("du", "ADP", "case", "chat")
    assert [(word["form"], word["upos"], word["deprel"]) for word in words_of(du) or ()] == [
        ("de", "ADP", "case"),
        ("le", "DET", "det"),
    ]
    assert words_of(doc[3]) is None


def test_sentences_of_a_doc_are_those_of_the_model(nlp: Language) -> None:
    model = egparse.load("fr_sequoia")
    found = egparse.sentences_from_doc(annotate(nlp, with_words(nlp)))
    (first, second) = model.annotate(
        [
            egparse.Sentence(
                forms=["Il", "parle", "de", "le", "chat", "de", "les", "voisins", "."]
            ),
            egparse.Sentence(forms=["Elle", "rit", "à", "les", "éclats", "."]),
        ]
    )
    for sentence, expected in zip(found, (first, second), strict=True):
        assert list(sentence.forms) == list(expected.forms)
        assert sentence.upos == expected.upos
        assert sentence.heads == expected.heads
        assert sentence.deprels == expected.deprels
    assert [token[:3] for token in found[0].tokens] == [(2, 3, "du"), (5, 6, "des")]


def test_a_pipe_and_bytes_keep_the_words(nlp: Language) -> None:
    docs = [with_words(nlp), nlp.make_doc("Bonjour."), with_words(nlp, "Le prix du pain.")]
    stream = iter(docs)
    for _, component in nlp.pipeline:
        stream = component.pipe(stream)
    for doc, text in zip(list(stream), (TEXT, "Bonjour.", "Le prix du pain."), strict=True):
        alone = annotate(nlp, with_words(nlp, text))
        assert [token.head.i for token in doc] == [token.head.i for token in alone]
        copy = Doc(nlp.vocab).from_bytes(doc.to_bytes())
        assert [words_of(token) for token in copy] == [words_of(token) for token in alone]
    joined = Doc.from_docs([docs[2], docs[0]])
    assert joined is not None
    of_du = [words_of(token) for token in joined if token.text == "du"]
    assert [word["form"] for words in of_du for word in words or ()] == ["de", "le", "de", "le"]


def test_a_token_that_is_no_longer_there_has_no_words(nlp: Language) -> None:
    doc = with_words(nlp)
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[1:3])
    assert words_of(doc[1]) is None
    assert annotate(nlp, doc)[1].text == "parle du"


def test_k_best_trees_are_over_tokens(nlp: Language) -> None:
    doc = annotate(nlp, with_words(nlp))
    best = nlp.get_pipe("egparse_parser").k_best(doc, 3)  # type: ignore[attr-defined]
    assert [len(trees[0].heads) for trees in best] == [len(sentence) for sentence in doc.sents]
    assert best[0][0].heads == tuple(token.head.i for token in next(iter(doc.sents)))


def test_the_attribute_gives_the_words(nlp: Language) -> None:
    register()
    doc = with_words(nlp)
    assert [word["form"] for word in doc[2]._.egparse_words] == ["de", "le"]
    assert doc[0]._.egparse_words is None


def trees(n: int) -> list[tuple[int, ...]]:
    """All trees with one root over n words, as heads."""
    found = []
    for heads in product(range(n + 1), repeat=n):
        seen = {0}
        while grown := {w for w, head in enumerate(heads, 1) if head in seen} - seen:
            seen |= grown
        if heads.count(0) == 1 and len(seen) == n + 1:
            found.append(heads)
    return found


@pytest.mark.parametrize("token", [0, 1, 2])
def test_a_tree_of_words_is_a_tree_of_tokens(token: int) -> None:
    """All trees of four words of which two are one token."""
    nlp = spacy.blank("xx")
    doc = Doc(nlp.vocab, words=["a", "b", "c"], sent_starts=[True, False, False])
    put_words(doc, doc[token].idx, doc[token].text, ["x", "y"])
    of_words = expanded(read([doc], RuleSplitter()))
    assert of_words is not None
    assert [len(forms) for forms in of_words.sentences()] == [4]
    for heads in trees(4):
        of_tree = np.array(heads, dtype=np.int32)
        merged = of_words.token_heads(of_tree, of_words.highest(of_tree)).tolist()
        reached, steps = {0}, 0
        while steps < 4:
            reached |= {t for t, head in enumerate(merged, 1) if head in reached}
            steps += 1
        assert merged.count(0) == 1
        assert reached == {0, 1, 2, 3}, heads
