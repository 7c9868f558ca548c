"""What the words around a word say about its part in the sentence: columns for arc templates, computed left to right.

Graph-based scores see one arc at a time, so what is known of a clause must be brought to its words beforehand: which function
word marks a phrase, what follows it, whether a verb seems finite and which it is in order, what stands where a subject would,
which brackets and punctuation surround a word. Each column is a guess from forms and tags by a bounded search; the
weights learn what it is worth.

Words are seen through four arrays: ``tag`` (places in ``TAGS``), ``kind`` (bits, see below), ``mark`` (class of a punctuation mark) and
``form`` (values of the vocabulary). Linear in the length of the sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit

Ints = npt.NDArray[np.int32]

TAGS = (
    "", "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT", "SCONJ",
    "SYM", "VERB", "X",
)  # fmt: skip
"""Universal parts of speech; any other tag is at place 0."""

COLUMNS = ("marker", "between", "bracket", "role", "subject", "right", "left_mark", "right_mark", "ending")

ADJ, ADP, ADV, AUX, CCONJ, NOUN, NUM = (TAGS.index(tag) for tag in ("ADJ", "ADP", "ADV", "AUX", "CCONJ", "NOUN", "NUM"))
DET, INTJ, PART, PRON, PROPN, PUNCT = (TAGS.index(tag) for tag in ("DET", "INTJ", "PART", "PRON", "PROPN", "PUNCT"))
SCONJ, SYM, VERB, X = (TAGS.index(tag) for tag in ("SCONJ", "SYM", "VERB", "X"))

QUESTION, FINITE, INFINITIVAL, PERSONAL = 1, 2, 4, 8
"""Bits of ``kind``: interrogative or relative; finite or bare verb; the particle of an infinitive; personal pronoun."""

COMMA, OPENING, CLOSING, COLON, DASH, QUOTE, OTHER_MARK = range(1, 8)

_MARKS = {
    ",": COMMA, "(": OPENING, "[": OPENING, "-lrb-": OPENING, "{": OPENING, ")": CLOSING, "]": CLOSING, "-rrb-": CLOSING,
    "}": CLOSING, ":": COLON, ";": COLON, "-": DASH, "--": DASH, "...": DASH, "\u2013": DASH, "\u2014": DASH,
    **dict.fromkeys(['"', "'", "''", "``", *"\u201c\u201d\u2018\u2019\u00ab\u00bb"], QUOTE),
}  # fmt: skip

_QUESTION_TAGS = {"WDT", "WP", "WP$", "WRB"}
_FINITE_TAGS = {"VBD", "VBP", "VBZ", "VB", "MD"}

_REACH_LEFT, _REACH_RIGHT, _REACH_SUBJECT = 6, 6, 8
_FAR, _START = 40, 41
_FORMS = 64  # values from here on are forms; below are tags and the two above


class TagKinds(NamedTuple):
    """For each value of a column what it stands for: ``tag`` by UPOS, bits of ``kind`` by XPOS and by FEATS, ``mark`` by form."""

    tag: Ints
    kind_of_xpos: Ints
    kind_of_feats: Ints
    mark: Ints


def tag_kinds(upos: Sequence[str], xpos: Sequence[str], feats: Sequence[str], forms: Sequence[str], first: int) -> TagKinds:
    """Tables over values ``first``, ``first + 1``, ... of the strings of each column."""
    return TagKinds(
        _table([TAGS.index(tag) if tag in TAGS else 0 for tag in upos], first),
        _table([_kind_of_xpos(tag) for tag in xpos], first),
        _table([_kind_of_feats(bundle) for bundle in feats], first),
        _table([_MARKS.get(form, OTHER_MARK) for form in forms], first),
    )


def _table(entries: list[int], first: int) -> Ints:
    return np.array([0] * first + entries, dtype=np.int32)


def _kind_of_xpos(tag: str) -> int:
    return (
        QUESTION * (tag in _QUESTION_TAGS)
        | FINITE * (tag in _FINITE_TAGS)
        | INFINITIVAL * (tag == "TO")
        | PERSONAL * (tag == "PRP")
    )


def _kind_of_feats(bundle: str) -> int:
    features = set(bundle.split("|"))
    question = bool(features & {"PronType=Int", "PronType=Rel", "PronType=Int,Rel"})
    finite = bool(features & {"VerbForm=Fin", "VerbForm=Inf"})
    personal = "PronType=Prs" in features and "Poss=Yes" not in features
    return QUESTION * question | FINITE * finite | PERSONAL * personal


@njit
def fill_context(
    upos: Ints, xpos: Ints, feats: Ints, forms: Ints, starts: npt.NDArray[np.int64], kinds: TagKinds, out: Ints
) -> None:
    """Fill ``out`` (words, COLUMNS) for sentences laid end to end; sentence i has the words ``starts[i]:starts[i + 1]``."""
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
            mark[k] = marks[forms[k]] if forms[k] < marks.shape[0] and marks[forms[k]] > 0 else OTHER_MARK
    for i in range(starts.shape[0] - 1):
        first, end = starts[i], starts[i + 1]
        if first == end:
            continue
        own = out[first:end]
        _fill_markers(tag[first:end], kind[first:end], forms[first:end], own)
        _fill_between(tag[first:end], kind[first:end], mark[first:end], own)
        _fill_brackets(mark[first:end], own)
        _fill_subjects(tag[first:end], kind[first:end], own)
        _fill_right(tag[first:end], forms[first:end], own)
        _fill_marks(tag[first:end], forms[first:end], own)
        length = 0
        while (min(end - first, 31) >> length) > 0:
            length += 1
        ending = forms[end - 1] + 1 if tag[end - 1] == PUNCT else 0
        own[:, 8] = 8 * ending + length


@njit
def _fill_markers(tag: Ints, kind: Ints, forms: Ints, out: Ints) -> None:
    """Columns 0 and 3: the function word to the left that may mark a word's phrase; the part that the word seems to play.

    The role of a verb is subordinated (it has a marker other than a coordinator), finite (or with an auxiliary just before), or other, with
    the number of finite, unsubordinated verbs before it (0, 1, 2 and more); other content words have that number, and whether
    the sentence has any verb.
    """
    n = tag.shape[0]
    any_verb = False
    for k in range(n):
        any_verb |= tag[k] == VERB
    seen = 0
    for k in range(n):
        marker, place = _START, -1
        for j in range(k - 1, -1, -1):
            if k - j > _REACH_LEFT:
                marker = _FAR
                break
            if tag[j] == ADP or tag[j] == SCONJ or tag[j] == CCONJ or (tag[j] == PART and kind[j] & INFINITIVAL):
                marker, place = _FORMS + forms[j], j
                break
            if tag[j] == VERB or tag[j] == PUNCT or (tag[j] == NOUN and j < k - 1):
                marker = tag[j]
                break
            if kind[j] & QUESTION:
                marker, place = _FORMS + forms[j], j
                break
        out[k, 0] = marker
        few = min(seen, 2)
        if tag[k] == VERB:
            auxiliary = (k > 0 and tag[k - 1] == AUX) or (k > 1 and tag[k - 2] == AUX)
            if place >= 0 and tag[place] != CCONJ:
                out[k, 3] = 1 + few
            elif kind[k] & FINITE or auxiliary:
                out[k, 3] = 4 + few
                seen += 1
            else:
                out[k, 3] = 7 + few
        elif tag[k] == NOUN or tag[k] == PROPN or tag[k] == ADJ or tag[k] == PRON:
            out[k, 3] = (10 if any_verb else 13) + few
            nominal_next = k + 1 < n and (tag[k + 1] == NOUN or tag[k + 1] == PROPN or tag[k + 1] == ADJ)
            if not any_verb and tag[k] != PRON and not nominal_next:
                seen += 1
        elif tag[k] == NUM or tag[k] == INTJ or tag[k] == SYM or tag[k] == X or tag[k] == ADV:
            out[k, 3] = 16 + min(seen, 1)
        else:
            out[k, 3] = 0


@njit
def _fill_between(tag: Ints, kind: Ints, mark: Ints, out: Ints) -> None:
    """Column 1: the class that counts between the ends of an arc: the tag, finer for punctuation, verbs and question words."""
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
    """Column 2: inside which bracket (modulo 3), inside quotes, or neither; brackets belong to their inside."""
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


@njit
def _fill_subjects(tag: Ints, kind: Ints, out: Ints) -> None:
    """Column 4, for possible predicates: what stands to the left where a subject would, and whether an auxiliary is in between."""
    for k in range(tag.shape[0]):
        out[k, 4] = 0
        if not (tag[k] == VERB or tag[k] == AUX or tag[k] == ADJ or tag[k] == NOUN or tag[k] == PROPN):
            continue
        found, auxiliary = 1, 0
        for j in range(k - 1, max(-1, k - 1 - _REACH_SUBJECT), -1):
            if tag[j] == AUX:
                auxiliary = 1
            elif tag[j] == PRON:
                found = 3 if kind[j] & QUESTION else (4 if kind[j] & PERSONAL else 5)
                break
            elif tag[j] == PART and kind[j] & INFINITIVAL:
                found = 6
                break
            elif tag[j] == NOUN or tag[j] == PROPN:
                found = 2
                break
            elif tag[j] == VERB or tag[j] == SCONJ or tag[j] == CCONJ or tag[j] == ADP or tag[j] == PUNCT:
                found = 6 + tag[j]
                break
        out[k, 4] = 2 * found + auxiliary


@njit
def _fill_right(tag: Ints, forms: Ints, out: Ints) -> None:
    """Column 5: what follows: a preposition, coordinator or punctuation mark by its form, a clause word by its tag, or a nominal."""
    n = tag.shape[0]
    for k in range(n):
        out[k, 5] = 0
        modifier = tag[k] == DET or tag[k] == ADJ or tag[k] == NUM
        nominal = tag[k] == NOUN or tag[k] == PROPN
        for j in range(k + 1, min(n, k + 1 + _REACH_RIGHT)):
            if tag[j] == ADP or tag[j] == CCONJ or tag[j] == PUNCT:
                out[k, 5] = _FORMS + forms[j]
                break
            if tag[j] == SCONJ or tag[j] == VERB or tag[j] == AUX or tag[j] == PART:
                out[k, 5] = tag[j]
                break
            compound = nominal and j == k + 1 and tag[j] != PRON
            if (tag[j] == NOUN or tag[j] == PROPN or tag[j] == PRON) and not modifier and not compound:
                out[k, 5] = NOUN
                break


@njit
def _fill_marks(tag: Ints, forms: Ints, out: Ints) -> None:
    """Columns 6 and 7: the nearest punctuation mark to the left and to the right, by its form."""
    n = tag.shape[0]
    nearest = 0
    for k in range(n):
        out[k, 6] = nearest
        if tag[k] == PUNCT:
            nearest = 1 + forms[k]
    nearest = 0
    for k in range(n - 1, -1, -1):
        out[k, 7] = nearest
        if tag[k] == PUNCT:
            nearest = 1 + forms[k]
