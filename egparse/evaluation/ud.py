"""The metrics of the CoNLL 2018 shared task, from raw text or given words to labelled trees.

For gold words ``g`` and system words ``s`` that are aligned (``alignment.py``), with relations cut
at the first colon and only the universal features kept (``universal.py``), ``s`` is correct for

    UPOS, XPOS, UFeats   if its tag or features are those of g
    AllTags              if all three are
    Lemmas               if its lemma is that of g, or g has none
    UAS                  if its head is aligned with the head of g, or both are the root
    LAS                  if UAS and the relations are equal
    CLAS                 if LAS; only words with a content relation count
    MLAS                 if CLAS, UPOS, UFeats, and the functional children agree: as many on both
                         sides, each aligned with one of the same relation, UPOS and UFeats
    BLEX                 if CLAS and Lemmas

Each metric is the F1 of the correct words against all gold and all system words (CLAS, MLAS and
BLEX: those with a content relation). Where both sides have the same words, it is an accuracy.
Punctuation counts. Tokens and Sentences compare ranges of characters; Words counts the aligned
words.

ELAS and EULAS compare enhanced dependencies (``enhanced.py``), on request.

Source: ``conll18_ud_eval.py`` 1.2; Zeman et al. (2018), section 4. We differ in one thing: the
official script refuses a gold file with a missing HEAD; here such a word, and the system word
aligned with it, take no part in UAS, LAS, CLAS, MLAS and BLEX. A system word without a head is
wrong. Several roots and cycles are not errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from egparse.evaluation import words
from egparse.evaluation.alignment import Alignment, Text, align, require_same_text, text_of
from egparse.evaluation.enhanced import edge_counts
from egparse.evaluation.scores import (
    CONTENT_DEPRELS,
    FUNCTIONAL_DEPRELS,
    Score,
    segment_counts,
    total,
    universal_deprel,
    universal_feats,
)
from egparse.sentences import MISSING, Sentence
from egparse.types import Longs, Mask

SEGMENTATION_METRICS = ("Tokens", "Sentences", "Words")
"""The metrics on segmentation, by their official names."""

_ROOT = -1
_NOT_ALIGNED = -2
_NO_HEAD = -3
_NO_LEMMA = -1


@dataclass(frozen=True)
class UDScores:
    """All metrics of one evaluation, by their official names.

    ``by_sentence[name]`` has shape (gold sentences, 3): correct, gold and system words (tokens,
    sentences); ``totals[name]`` is their sum. A system word counts in the gold sentence in which
    its first character stands. The metrics on segmentation are there only where the words of gold
    and system differ. ``aligned[name]`` is the number of aligned words that a metric on words
    counts, of which ``correct`` is the official script's AligndAcc.
    """

    totals: Mapping[str, Score]
    by_sentence: Mapping[str, Longs]
    aligned: Mapping[str, int]
    same_words: bool


def score(
    gold: Sequence[Sentence],
    system: Sequence[Sentence],
    *,
    always_align: bool = False,
    enhanced: bool = False,
) -> UDScores:
    """The metrics for two annotations of one text, whatever their sentences, tokens and words.

    With ``always_align`` there are metrics on segmentation also where both have the same words,
    with ``enhanced`` those of enhanced dependencies.

    Raises:
        EgparseError: the characters differ, a head lies outside its sentence, or enhanced
            dependencies are missing or faulty.
    """
    if not always_align and words.same_words(gold, system) and _same_multiword_tokens(gold, system):
        return score_aligned(gold, system, enhanced=enhanced)
    gold_text, system_text = text_of(gold), text_of(system)
    require_same_text(gold_text, system_text, gold, system)
    alignment = align(gold_text, system_text)
    sentence_ends = np.array(gold_text.sentence_starts[1:])
    places = _Places(
        gold=words.sentence_numbers(gold),
        system=np.searchsorted(sentence_ends, np.array(system_text.starts), side="right"),
        sentences=len(gold),
    )
    segmentation = _segmentation(gold_text, system_text, alignment, places)
    return _scores(gold, system, alignment, places, segmentation, enhanced)


def score_aligned(
    gold: Sequence[Sentence], system: Sequence[Sentence], *, enhanced: bool = False
) -> UDScores:
    """The metrics where word ``k`` of a system sentence is aligned with word ``k`` of the gold one,
    whatever their forms.

    Raises:
        ValueError: the numbers of sentences or words differ.
        EgparseError: as ``score``.
    """
    words.require_same_lengths(gold, system)
    sentence_numbers = words.sentence_numbers(gold)
    identity = np.arange(len(sentence_numbers))
    places = _Places(sentence_numbers, sentence_numbers, len(gold))
    return _scores(gold, system, Alignment(identity, identity), places, {}, enhanced)


class _Places(NamedTuple):
    """The number of the gold sentence in which each gold word and each system word is counted."""

    gold: Longs
    system: Longs
    sentences: int


class _Side(NamedTuple):
    """The ``m`` words of gold or of the system: interned columns, and which words count where.

    ``parents[w]`` is a word's number or a negative code. UAS and LAS count the words of
    ``attached``; CLAS, MLAS and BLEX count those of ``content``; those of ``functional`` are the
    functional child of some word. The last two are subsets of the first.
    """

    upos: Longs
    xpos: Longs
    feats: Longs
    lemmas: Longs
    deprels: Longs
    parents: Longs
    attached: Mask
    content: Mask
    functional: Mask


class _Pairs(NamedTuple):
    """For each pair of aligned words: their numbers in gold and system, and what is equal."""

    gold: Longs
    system: Longs
    upos: Mask
    xpos: Mask
    feats: Mask
    lemmas: Mask
    deprels: Mask
    heads: Mask


class _Metric(NamedTuple):
    """What a metric on words counts: ``correct`` and ``aligned`` of the aligned pairs, ``gold`` of
    the gold words and ``system`` of the system words.
    """

    correct: Mask
    aligned: Mask
    gold: Mask
    system: Mask


def _scores(
    gold: Sequence[Sentence],
    system: Sequence[Sentence],
    alignment: Alignment,
    places: _Places,
    segmentation: dict[str, Longs],
    enhanced: bool,
) -> UDScores:
    """The metrics of aligned words, with those of segmentation where the words differ."""
    on_words = _on_words(gold, system, alignment)
    by_sentence = segmentation | {
        name: _counts(alignment.gold, metric.correct, metric.gold, metric.system, places)
        for name, metric in on_words.items()
    }
    if enhanced:
        by_sentence |= edge_counts(gold, system, alignment, places.gold, places.system)
    return UDScores(
        {name: total(counts) for name, counts in by_sentence.items()},
        by_sentence,
        {name: int(np.count_nonzero(metric.aligned)) for name, metric in on_words.items()},
        same_words=not segmentation,
    )


def _on_words(
    gold: Sequence[Sentence], system: Sequence[Sentence], alignment: Alignment
) -> dict[str, _Metric]:
    """Which aligned words, gold words and system words each metric counts, and which are right."""
    g, s = _sides(gold, system, alignment)
    pairs = _compare(g, s, alignment)
    everything = [np.ones(len(of), np.bool_) for of in (pairs.gold, g.parents, s.parents)]
    attached, content = g.attached[pairs.gold], g.content[pairs.gold]
    arcs, content_arcs = (attached, g.attached, s.attached), (content, g.content, s.content)
    labelled = pairs.heads & pairs.deprels
    complete = labelled & pairs.upos & pairs.feats & _same_functional_children(g, s, pairs)
    return {
        "UPOS": _Metric(pairs.upos, *everything),
        "XPOS": _Metric(pairs.xpos, *everything),
        "UFeats": _Metric(pairs.feats, *everything),
        "AllTags": _Metric(pairs.upos & pairs.xpos & pairs.feats, *everything),
        "Lemmas": _Metric(pairs.lemmas, *everything),
        "UAS": _Metric(attached & pairs.heads, *arcs),
        "LAS": _Metric(attached & labelled, *arcs),
        "CLAS": _Metric(content & labelled, *content_arcs),
        "MLAS": _Metric(content & complete, *content_arcs),
        "BLEX": _Metric(content & labelled & pairs.lemmas, *content_arcs),
    }


def _counts(paired_gold: Longs, correct: Mask, gold: Mask, system: Mask, places: _Places) -> Longs:
    """``counts[sentence] = (correct pairs, gold words, system words)`` under the masks."""
    columns = (places.gold[paired_gold[correct]], places.gold[gold], places.system[system])
    return np.stack([np.bincount(column, minlength=places.sentences) for column in columns], axis=1)


def _sides(
    gold: Sequence[Sentence], system: Sequence[Sentence], alignment: Alignment
) -> tuple[_Side, _Side]:
    """The columns of both sides, with ids from common tables."""
    cells = words.cells
    upos = words.intern_pair(cells(gold, "upos"), cells(system, "upos"))
    xpos = words.intern_pair(cells(gold, "xpos"), cells(system, "xpos"))
    feats = words.intern_pair(cells(gold, "feats"), cells(system, "feats"), universal_feats)
    deprels = words.intern_pair(cells(gold, "deprels"), cells(system, "deprels"), universal_deprel)
    lemmas = words.intern_pair(cells(gold, "lemmas"), cells(system, "lemmas"))
    is_content = words.flags(deprels.ids, CONTENT_DEPRELS.__contains__)
    is_functional = words.flags(deprels.ids, FUNCTIONAL_DEPRELS.__contains__)
    gold_parents, system_parents = _parents(gold), _parents(system)
    attached = gold_parents != _NO_HEAD
    system_attached = np.ones(len(system_parents), np.bool_)
    system_attached[alignment.system[~attached[alignment.gold]]] = False

    def side(which: Literal[0, 1], parents: Longs, counted: Mask) -> _Side:
        labels = deprels[which]
        columns = (upos[which], xpos[which], feats[which], lemmas[which], labels, parents, counted)
        content = counted & is_content[labels]
        return _Side(*columns, content, counted & is_functional[labels] & (parents >= 0))

    lacking = lemmas.ids.get(MISSING, _NO_LEMMA)
    g, s = side(0, gold_parents, attached), side(1, system_parents, system_attached)
    return g._replace(lemmas=np.where(g.lemmas == lacking, _NO_LEMMA, g.lemmas)), s


def _parents(sentences: Sequence[Sentence]) -> Longs:
    """The number of each word's head among all words, or the code for the root or for no head."""
    heads = words.heads(sentences)
    lengths = words.lengths(sentences)
    offsets = np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.where(heads > 0, offsets + heads - 1, np.where(heads == 0, _ROOT, _NO_HEAD))


def _compare(gold: _Side, system: _Side, alignment: Alignment) -> _Pairs:
    g, s = alignment
    # Negative codes index the last entries: the root is aligned with the root, no head with
    # nothing.
    to_gold = np.full(len(system.parents) - _NO_HEAD, _NOT_ALIGNED)
    to_gold[_ROOT] = _ROOT
    to_gold[s] = g
    return _Pairs(
        gold=g,
        system=s,
        upos=gold.upos[g] == system.upos[s],
        xpos=gold.xpos[g] == system.xpos[s],
        feats=gold.feats[g] == system.feats[s],
        lemmas=(gold.lemmas[g] == system.lemmas[s]) | (gold.lemmas[g] == _NO_LEMMA),
        deprels=gold.deprels[g] == system.deprels[s],
        heads=gold.parents[g] == to_gold[system.parents[s]],
    )


def _same_functional_children(gold: _Side, system: _Side, pairs: _Pairs) -> Mask:
    """For each pair, whether both words have the same functional children.

    Alignment keeps the order and pairs a word at most once, so the two lists of children are equal
    if and only if both are as long as the list of gold children that agree with their partner in
    head, relation, UPOS and UFeats.
    """
    agree = gold.functional[pairs.gold] & pairs.heads & pairs.deprels & pairs.upos & pairs.feats
    in_gold = _children(gold.parents[gold.functional], gold)[pairs.gold]
    in_system = _children(system.parents[system.functional], system)[pairs.system]
    in_both = _children(gold.parents[pairs.gold[agree]], gold)[pairs.gold]
    same: Mask = (in_gold == in_both) & (in_system == in_both)
    return same


def _children(parents: Longs, side: _Side) -> Longs:
    return np.bincount(parents, minlength=len(side.parents))


def _segmentation(
    gold: Text, system: Text, alignment: Alignment, places: _Places
) -> dict[str, Longs]:
    """``counts[sentence]`` of tokens and sentences with equal ranges, and of aligned words."""
    ends = gold.sentence_starts[1:]
    lengths = len(alignment.gold), len(gold.starts), len(system.starts)
    aligned, gold_words, system_words = (np.ones(length, np.bool_) for length in lengths)
    return {
        "Tokens": segment_counts(gold.token_starts, system.token_starts, ends),
        "Sentences": segment_counts(gold.sentence_starts, system.sentence_starts, ends),
        "Words": _counts(alignment.gold, aligned, gold_words, system_words, places),
    }


def _same_multiword_tokens(gold: Sequence[Sentence], system: Sequence[Sentence]) -> bool:
    """Whether both sides group their equal words in the same tokens.

    A side that has neither source lines nor multiword tokens agrees with any other.
    """
    return all(
        not (g.source or g.tokens)
        or not (s.source or s.tokens)
        or g.tokens is s.tokens
        or [token[:3] for token in g.tokens] == [token[:3] for token in s.tokens]
        for g, s in zip(gold, system, strict=True)
    )
