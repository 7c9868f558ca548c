"""Texts of all kinds, gold Docs and Examples, and what Docs say, to be compared."""

from __future__ import annotations

from sample_treebank import sample
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from egparse.sentences import Sentence
from egparse.spacy_components.doc_conversion import doc_from_sentences

TEXTS = [
    "A dog barks at the cat. The cat runs away, and Mary sees it in London!",
    "",
    "Hello",
    "   ",
    "  \n\n Two blanks first.  Then\n\none more paragraph\t\tand no stop \n",
    "\U0001f600\U0001f600 yes \u2014 \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd. \u0645\u0631\u062d\u0628\u0627 "
    "\u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    'I can\'t. (Why not?) "No way!" she said... http://example.org/a?b=c',
    ".",
]

COLUMNS = ["ORTH", "TAG", "POS", "MORPH", "ENT_IOB", "ENT_TYPE", "HEAD", "DEP", "SENT_START"]

QUICK = {
    **{task: {"stop": {"iterations": 6}} for task in ("upos", "xpos", "feats", "labeller")},
    "spans": {"stop": {"iterations": 12}},
    "jackknife": {"folds": 0},
    "hold_out": 0.0,
    "parser": {"order": 1, "bits": 16, "c": 2.0, "stop": {"iterations": 14}},
}
"""Settings of training that take seconds."""


def said(doc: Doc) -> list[list[int]]:
    """Everything that our components set."""
    rows = doc.to_array(COLUMNS).reshape(len(doc), len(COLUMNS)).tolist()
    return [[int(value) for value in row] for row in rows]


def everything(nlp: Language) -> list[list[list[int]]]:
    """What a pipeline says of all texts."""
    return [said(nlp(text)) for text in TEXTS]


def made(nlp: Language, sentences: list[Sentence]) -> Doc:
    """One Doc of given words and sentences."""
    words = [form for own in sentences for form in own.forms]
    starts = [place == 0 for own in sentences for place in range(len(own))]
    return Doc(nlp.vocab, words=words, sent_starts=starts)


def annotate(nlp: Language, doc: Doc) -> Doc:
    """A Doc after all components of a pipeline."""
    for _, proc in nlp.pipeline:
        doc = proc(doc)
    return doc


def gold_docs(nlp: Language, part: str, count: int) -> list[Doc]:
    """Docs of three sentences of the sample treebank."""
    chosen = list(sample(part)[:count])
    docs = [chosen[first : first + 3] for first in range(0, count, 3)]
    return [doc_from_sentences(sentences, nlp.vocab) for sentences in docs]


def example_of(gold: Doc) -> Example:
    """An Example of the words and blanks of a gold Doc."""
    words, spaces = [t.text for t in gold], [bool(t.whitespace_) for t in gold]
    return Example(Doc(gold.vocab, words, spaces), gold)


def examples_of(nlp: Language, part: str = "train", count: int = 60) -> list[Example]:
    """Examples from the sample treebank."""
    return [example_of(gold) for gold in gold_docs(nlp, part, count)]


def check_sound(doc: Doc) -> None:
    """Sentences have one root each, heads stay inside, entities can be read."""
    for sentence in doc.sents:
        assert [token.i for token in sentence if token.head == token] == [sentence.root.i]
        assert all(token.head in sentence for token in sentence)
        assert all(token.dep_ for token in sentence)
    assert all(entity.text.strip() for entity in doc.ents)
    assert all(token.tag_ and token.pos_ for token in doc)
