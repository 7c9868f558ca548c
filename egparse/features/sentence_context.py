"""Columns for arc templates that describe the context of a word in its sentence.

A feature of an arc sees its two ends only, so that the relevant context of an end must be a column
of its word: the function word that marks its phrase, whether brackets or quotes surround it, and
its class as a word between two others. Each column is a guess from forms and tags by a bounded
search; docs/decisions/arc-features.md tells how much each improves the parser, and which others do
not.

A word is described by four numbers: ``tag`` (index in ``TAGS``), ``kind`` (bits, see below),
``mark`` (class of a punctuation mark) and ``form`` (value of the vocabulary). The cost is linear in
the length of the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.features.fine_tags import features_of
from egparse.types import Ints, Longs

TAGS = (
    "", "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN",
    "PUNCT", "SCONJ", "SYM", "VERB", "X",
)  # fmt: skip
"""Universal parts of speech; any other tag has index 0."""

COLUMNS = ("marker", "between", "bracket")

N_BETWEEN = 28
"""The number of values of the column ``between``."""

ADP, ADV, CCONJ, DET, INTJ, NOUN = map(TAGS.index, ("ADP", "ADV", "CCONJ", "DET", "INTJ", "NOUN"))
PART, PRON, PUNCT, SCONJ = map(TAGS.index, ("PART", "PRON", "PUNCT", "SCONJ"))
SYM, VERB, X = map(TAGS.index, ("SYM", "VERB", "X"))

QUESTION, FINITE, INFINITIVAL = 1, 2, 4
"""Bits of ``kind``: interrogative or relative; finite or bare verb; the particle of an infinitive.
"""

COMMA, OPENING, CLOSING, COLON, DASH, QUOTE, OTHER_MARK = range(1, 8)

_MARKS = {
    ",": COMMA,
    **dict.fromkeys(["(", "[", "{", "-lrb-"], OPENING),
    **dict.fromkeys([")", "]", "}", "-rrb-"], CLOSING),
    **dict.fromkeys([":", ";"], COLON),
    **dict.fromkeys(["-", "--", "...", "\u2013", "\u2014"], DASH),
    **dict.fromkeys(['"', "'", "''", "``", *"\u201c\u201d\u2018\u2019\u00ab\u00bb"], QUOTE),
}

_QUESTION_TAGS = {"WDT", "WP", "WP$", "WRB"}
_FINITE_TAGS = {"VBD", "VBP", "VBZ", "VB"}

KINDS = 2
"""The version of ``kind`` that is learned today."""

_MAX_DISTANCE = 6  # a marker is at most so many words to the left
_FAR, _START = 40, 41  # no marker within that distance; none before the sentence starts
_FORMS = 64  # values from here on are forms; below are tags and the two above


class TagKinds(NamedTuple):
    """Tables by the values of columns: ``tag`` by UPOS, bits of ``kind`` by XPOS and by FEATS,
    ``mark`` by form.
    """

    tag: Ints
    kind_of_xpos: Ints
    kind_of_feats: Ints
    mark: Ints


def tag_kinds(
    upos: Sequence[str],
    xpos: Sequence[str],
    feats: Sequence[str],
    forms: Sequence[str],
    first: int,
    version: int = KINDS,
) -> TagKinds:
    """The tables, from the strings of each column's values ``first``, ``first + 1``, ...

    In ``version`` 1 only the tag TO marked particles of infinitives, and question words had one of
    three bundles.
    """
    kind_of_feats = _kind_of_feats if version > 1 else _kind_of_feats_1
    return TagKinds(
        _table([TAGS.index(tag) if tag in TAGS else 0 for tag in upos], first),
        _table([_kind_of_xpos(tag) for tag in xpos], first),
        _table([kind_of_feats(bundle) for bundle in feats], first),
        _table([_MARKS.get(form, OTHER_MARK) for form in forms], first),
    )


def _table(entries: list[int], first: int) -> Ints:
    return np.array([0] * first + entries, dtype=np.int32)


def _kind_of_xpos(tag: str) -> int:
    return (
        QUESTION * (tag in _QUESTION_TAGS)
        | FINITE * (tag in _FINITE_TAGS)
        | INFINITIVAL * (tag == "TO")
    )


def _kind_of_feats(bundle: str) -> int:
    """The kind by the features of Universal Dependencies, in any language."""
    features = features_of(bundle)
    pronouns = features.get("PronType", "").split(",")
    return (
        QUESTION * ("Int" in pronouns or "Rel" in pronouns)
        | FINITE * (features.get("VerbForm") in ("Fin", "Inf"))
        | INFINITIVAL * (features.get("PartType") == "Inf")
    )


def _kind_of_feats_1(bundle: str) -> int:
    features = set(bundle.split("|"))
    question = bool(features & {"PronType=Int", "PronType=Rel", "PronType=Int,Rel"})
    finite = bool(features & {"VerbForm=Fin", "VerbForm=Inf"})
    return QUESTION * question | FINITE * finite


@njit
def fill_context(
    upos: Ints,
    xpos: Ints,
    feats: Ints,
    forms: Ints,
    starts: Longs,
    kinds: TagKinds,
    out: Ints,
) -> None:
    """Fill ``out`` (words, len(COLUMNS)) for consecutive sentences; sentence i has the words
    ``starts[i]:starts[i + 1]``.
    """
    n = upos.shape[0]
    tag = np.zeros(n, dtype=np.int32)
    kind = np.zeros(n, dtype=np.int32)
    mark = np.zeros(n, dtype=np.int32)
    tags, of_xpos, of_feats, marks = kinds.tag, kinds.kind_of_xpos, kinds.kind_of_feats, kinds.mark
    for k in range(n):
        if upos[k] < tags.shape[0]:
            tag[k] = tags[upos[k]]
        if xpos[k] < of_xpos.shape[0]:
            kind[k] = of_xpos[xpos[k]]
        if feats[k] < of_feats.shape[0]:
            kind[k] |= of_feats[feats[k]]
        if tag[k] == PUNCT:
            mark[k] = (
                marks[forms[k]] if forms[k] < marks.shape[0] and marks[forms[k]] > 0 else OTHER_MARK
            )
    for i in range(starts.shape[0] - 1):
        first, end = starts[i], starts[i + 1]
        if first == end:
            continue
        rows = out[first:end]
        _fill_markers(tag[first:end], kind[first:end], forms[first:end], rows)
        _fill_between(tag[first:end], kind[first:end], mark[first:end], rows)
        _fill_brackets(mark[first:end], rows)


@njit
def _fill_markers(tag: Ints, kind: Ints, forms: Ints, out: Ints) -> None:
    """Column 0: the form of the nearest word to the left that may mark the phrase of a word: an
    adposition, a conjunction, an infinitival particle or a question word.

    If a verb, a punctuation mark or a noun is nearer, the column holds its tag instead; the word
    just before does not count if it is a noun, because it may be part of a compound.
    """
    for k in range(tag.shape[0]):
        marker = _START
        for j in range(k - 1, -1, -1):
            if k - j > _MAX_DISTANCE:
                marker = _FAR
                break
            infinitival = tag[j] == PART and kind[j] & INFINITIVAL
            if tag[j] == ADP or tag[j] == SCONJ or tag[j] == CCONJ or infinitival:
                marker = _FORMS + forms[j]
                break
            if tag[j] == VERB or tag[j] == PUNCT or (tag[j] == NOUN and j < k - 1):
                marker = tag[j]
                break
            if kind[j] & QUESTION:
                marker = _FORMS + forms[j]
                break
        out[k, 0] = marker


@njit
def _fill_between(tag: Ints, kind: Ints, mark: Ints, out: Ints) -> None:
    """Column 1: the class of the word for arcs that pass over it: its tag, but finer for
    punctuation, verbs, question words and particles.
    """
    for k in range(tag.shape[0]):
        value = tag[k]
        if tag[k] == PUNCT:
            value = 17 + mark[k]
            if mark[k] == CLOSING:
                value = 17 + OPENING
        elif tag[k] == VERB and not kind[k] & FINITE:
            value = 25
        elif kind[k] & QUESTION and (tag[k] == PRON or tag[k] == ADV or tag[k] == DET):
            value = 26
        elif tag[k] == PART and kind[k] & INFINITIVAL:
            value = 27
        elif tag[k] == INTJ or tag[k] == SYM:
            value = X
        out[k, 1] = value


@njit
def _fill_brackets(mark: Ints, out: Ints) -> None:
    """Column 2: 1 to 3 inside brackets, by their number modulo 3, and at the brackets themselves;
    4 inside quotes, 5 at a quote; 0 elsewhere.
    """
    inside, brackets, quoted = 0, 0, False
    for k in range(mark.shape[0]):
        if mark[k] == OPENING:
            brackets += 1
            inside = 1 + brackets % 3
        if mark[k] == QUOTE:
            quoted = not quoted
            out[k, 2] = 5
        elif inside > 0:
            out[k, 2] = inside
        else:
            out[k, 2] = 4 if quoted and mark[k] != CLOSING else 0
        if mark[k] == CLOSING:
            inside = 0
