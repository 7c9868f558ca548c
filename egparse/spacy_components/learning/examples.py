"""Sentences to learn from, out of spaCy's Examples: the words that spaCy will see, with the gold
that is aligned with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from spacy.tokens import Doc
from spacy.training import Example, biluo_to_iob

from egparse.io.trees import find_tree_fault
from egparse.sentences import MISSING, MISSING_HEAD, SPACE_AFTER_NO, Sentence, Source
from egparse.spacy_components.documents import BLANK_LINE, read
from egparse.spacy_components.label_tables import from_spacy
from egparse.text.rules import RuleSplitter

_PARAGRAPH = Source("<examples>", 1, ("# newpar",), (1,))
"""The source of a sentence that begins a paragraph, as the training of splitters knows it."""


class Complete(NamedTuple):
    """Sentences that have a value of some layers for each word; how many of them have the words of
    the gold, because those of spaCy do not match them; how many were left out.
    """

    sentences: list[Sentence]
    with_gold_words: int
    left_out: int


def complete_sentences(examples: Iterable[Example], layers: Sequence[str]) -> Complete:
    """The sentences of Examples that have everything."""
    kept: list[Sentence] = []
    replaced = left_out = 0
    for example in examples:
        chosen = best_sentences(example)
        complete = [one for one in chosen.sentences if is_complete(one, layers)]
        kept += complete
        replaced += chosen.with_gold_words
        left_out += len(chosen.sentences) - len(complete)
    return Complete(kept, replaced, left_out)


class Chosen(NamedTuple):
    """Sentences of an Example, and how many of them have the words of the gold."""

    sentences: list[Sentence]
    with_gold_words: int


def best_sentences(example: Example) -> Chosen:
    """The sentences of an Example with spaCy's words; as the gold has them where its words are
    others.

    Where they do not match, words of spaCy have no gold, or no head because that head is two words,
    or they share what the gold says of one word. With the words of the gold the treebank is not
    thinned out where text is difficult, and most of the words are the same.
    """
    own = list(sentences_of(example))
    if _same_words(example):
        return Chosen(own, 0)
    gold = list(gold_sentences(example))
    if not gold:
        return Chosen(own, 0)
    if len(gold) != len(own):  # a sentence of the gold begins within a token
        return Chosen(gold, len(gold))
    differs = [one.forms != other.forms for one, other in zip(own, gold, strict=True)]
    pairs = zip(own, gold, differs, strict=True)
    return Chosen([other if differ else one for one, other, differ in pairs], sum(differs))


def _same_words(example: Example) -> bool:
    predicted, gold = example.predicted, example.reference
    return len(predicted) == len(gold) and all(
        one.orth == other.orth for one, other in zip(predicted, gold, strict=True)
    )


class _Annotation(NamedTuple):
    """What is known of each token of a Doc; empty where nothing is known of any."""

    starts: Sequence[bool]
    upos: Sequence[str]
    xpos: Sequence[str]
    feats: Sequence[str]
    lemmas: Sequence[str]
    heads: Sequence[int | None]
    deprels: Sequence[str | None]
    spans: Sequence[str]


def sentences_of(example: Example) -> Iterator[Sentence]:
    """The sentences of an Example: the tokens that spaCy predicts on, without white space, with the
    gold that is aligned with them.

    What is not aligned is missing. Without gold sentence starts they are found by rule.
    """
    doc, gold = example.predicted, example.reference
    if not len(doc):
        return
    heads, deps = [], []
    if gold.has_annotation("DEP"):
        heads, deps = example.get_aligned_parse(projectivize=False)  # type: ignore[no-untyped-call]
    yield from _sentences(
        doc,
        _Annotation(
            _starts(example),
            _tags(example, "POS"),
            _tags(example, "TAG"),
            _tags(example, "MORPH"),
            _tags(example, "LEMMA"),
            heads,
            deps,
            _spans(example) if gold.has_annotation("ENT_IOB") else (),
        ),
    )


def gold_sentences(example: Example) -> Iterator[Sentence]:
    """The sentences of the gold of an Example, with its own words; none without sentence starts."""
    gold = example.reference
    if len(gold) and gold.has_annotation("SENT_START"):
        yield from sentences_of(Example(gold, gold))


def _sentences(doc: Doc, known: _Annotation) -> Iterator[Sentence]:
    """The sentences of a Doc, without white space."""
    words = [token.i for token in doc if not token.is_space]
    firsts = [place for place, token in enumerate(words) if known.starts[token] or place == 0]
    for first, end in zip(firsts, [*firsts[1:], len(words)], strict=True):
        own = words[first:end]
        positions = {token: place for place, token in enumerate(own, 1)}
        trees = own if known.heads else ()
        yield Sentence(
            forms=tuple(doc[token].text for token in own),
            lemmas=tuple(known.lemmas[token] for token in own),
            upos=tuple(known.upos[token] for token in own),
            xpos=tuple(known.xpos[token] for token in own),
            feats=tuple(known.feats[token] for token in own),
            heads=tuple(_head(token, known.heads[token], positions) for token in trees),
            deprels=tuple(from_spacy(known.deprels[token] or MISSING) for token in trees),
            spans=tuple(known.spans[token] for token in own) if known.spans else (),
            misc=tuple(MISSING if _is_spaced(doc, token) else SPACE_AFTER_NO for token in own),
            source=_PARAGRAPH if first == 0 or _opens_paragraph(doc, own[0]) else None,
        )


def _is_spaced(doc: Doc, token: int) -> bool:
    return bool(doc[token].whitespace_) or token + 1 == len(doc) or doc[token + 1].is_space


def _opens_paragraph(doc: Doc, token: int) -> bool:
    return bool(BLANK_LINE.search(doc[token - 1].text)) if token else True


def _starts(example: Example) -> Sequence[bool]:
    """Whether a sentence starts at each token; a start at white space is one at the word after
    it.
    """
    doc = example.predicted
    gold = example.get_aligned_sent_starts()  # type: ignore[no-untyped-call]
    starts = [False] * len(doc)
    if None in gold:
        batch = read([doc], RuleSplitter(), keep_starts=False)
        for token in batch.places[batch.starts[:-1]].tolist():
            starts[token] = True
        return starts
    pending = False
    for token in doc:
        pending = pending or bool(gold[token.i])
        if pending and not token.is_space:
            starts[token.i], pending = True, False
    return starts


def _tags(example: Example, attribute: str) -> list[str]:
    """The aligned values, ``_`` where there is none; in FEATS that is a value."""
    return [value or MISSING for value in example.get_aligned(attribute, as_string=True)]


def _spans(example: Example) -> list[str]:
    """The aligned tags of entities, ``_`` where there is none: for spaCy that is None, or ``-``
    where an entity does not end with a token.
    """
    tags = biluo_to_iob(example.get_aligned_ner())
    return [MISSING if tag in (None, "-") else tag for tag in tags]


def _head(token: int, head: int | None, positions: Mapping[int, int]) -> int:
    if head is None:
        return MISSING_HEAD
    return 0 if head == token else positions.get(head, MISSING_HEAD)


def is_complete(sentence: Sentence, layers: Sequence[str]) -> bool:
    """Whether every word has its tags, and the sentence a tree; lemmas may be missing."""
    tags = [layer for layer in ("upos", "xpos", "spans", "deprels") if layer in layers]
    if any(not getattr(sentence, layer) or MISSING in getattr(sentence, layer) for layer in tags):
        return False
    if "heads" not in layers:
        return True
    return (
        len(sentence.heads) == len(sentence)
        and MISSING_HEAD not in sentence.heads
        and find_tree_fault(sentence.heads, single_root=True) is None
    )
