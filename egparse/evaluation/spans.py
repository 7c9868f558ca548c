"""Precision, recall and F1 of typed spans (entities, chunks), and tag accuracy, as in conlleval.

A span is correct if its type and both its ends are. Tags may be in any of the schemes IOB1, IOB2,
IOE1, IOE2 or IOBES (L and U stand for E and S, as in BILUO), and faulty sequences are repaired. At
each word that is not ``O`` a span starts if

    the tag is B- or S-, or the word before is O, has E- or S-, or has another type,

and a span ends before the next start, the next ``O``, or the end of the sentence. So an I- after
``O`` or after another type starts a span. A sentence whose gold column is empty is not annotated
and not scored; an empty system column is read as all ``O``.

``schemes.spans_of`` reads the clean IOB2 tags of a ``Sentence``. ``conlleval_spans`` differs: it
must read whatever two columns of tags hold as the official script does, with bare tags such as
``B``, tags of every scheme and the missing tag ``_``, so that scores can be compared with published
ones. ``ConllevalSpan`` has the type first, the order of the script's output.

Source: ``conlleval`` of CoNLL-2000 (version of 2004-01-26: the type is all that follows the first
hyphen). It knows B, I, O and E; S, L and U, and a B- after an E- of the same type, are read here as
their schemes define them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from egparse.errors import EgparseError
from egparse.evaluation.alignment import Text, text_of
from egparse.evaluation.scores import Score, scores_by_key
from egparse.sentences import MISSING, Sentence
from egparse.types import Longs

OUTSIDE = "O"
_STARTS = frozenset("BSU")
_ENDS = frozenset("ESLU")
_PREFIXES = _STARTS | _ENDS | {"I"}


class ConllevalSpan(NamedTuple):
    """A type, and the words ``start`` to ``end`` (0-based, ``end`` excluded) that have it."""

    type: str
    start: int
    end: int


class SpanScores(NamedTuple):
    """What conlleval prints: scores of all spans and by type, and the accuracy of the tags.

    ``tags`` includes ``O``; its gold and system counts are both the number of words.
    ``by_sentence`` has shape (sentences, 3): correct, gold and system spans; a row of zeros where
    gold has no tags. ``tags`` is None where the words of gold and system differ.
    """

    micro: Score
    per_type: dict[str, Score]
    tags: Score | None
    by_sentence: Longs


def conlleval_spans(tags: Iterable[str]) -> list[ConllevalSpan]:
    """The spans of a sequence of tags, in order. Raises EgparseError: a tag of no known scheme."""
    spans: list[ConllevalSpan] = []
    before, type_before, start = OUTSIDE, "", 0
    position = -1
    for position, tag in enumerate(tags):
        prefix, type_ = _split(tag)
        goes_on = prefix != OUTSIDE and not _starts(prefix, type_, before, type_before)
        if before != OUTSIDE and not goes_on:
            spans.append(ConllevalSpan(type_before, start, position))
        start = start if goes_on else position
        before, type_before = prefix, type_
    if before != OUTSIDE:
        spans.append(ConllevalSpan(type_before, start, position + 1))
    return spans


def score_spans(gold: Sequence[Sequence[str]], system: Sequence[Sequence[str]]) -> SpanScores:
    """The scores of predicted tags; ``gold[i]`` and ``system[i]`` are the tags of sentence ``i``.

    Raises:
        ValueError: numbers of sentences or tags that differ.
        EgparseError: a tag of no known scheme.
    """
    if len(gold) != len(system):
        raise ValueError(f"{len(gold)} gold sentences but {len(system)} system sentences")
    correct: list[str] = []
    wanted: list[str] = []
    predicted: list[str] = []
    by_sentence = np.zeros((len(gold), 3), dtype=np.int64)
    right_tags = words = 0
    for number, (gold_tags, given) in enumerate(zip(gold, system, strict=True)):
        if not len(gold_tags):
            continue
        system_tags = given if len(given) else [OUTSIDE] * len(gold_tags)
        if len(gold_tags) != len(system_tags):
            raise ValueError(
                f"sentence {number}: {len(gold_tags)} gold tags, {len(system_tags)} system tags"
            )
        gold_spans, system_spans = conlleval_spans(gold_tags), conlleval_spans(system_tags)
        common = set(gold_spans).intersection(system_spans)
        by_sentence[number] = len(common), len(gold_spans), len(system_spans)
        correct += [span.type for span in common]
        wanted += [span.type for span in gold_spans]
        predicted += [span.type for span in system_spans]
        words += len(gold_tags)
        right_tags += _equal_tags(gold_tags, system_tags)
    return SpanScores(
        micro=Score(len(correct), len(wanted), len(predicted)),
        per_type=scores_by_key(correct, wanted, predicted),
        tags=Score(right_tags, words, words),
        by_sentence=by_sentence,
    )


def score_spans_in_text(gold: Sequence[Sentence], system: Sequence[Sentence]) -> SpanScores:
    """The scores of spans in one text whose words and sentences may differ: a span is correct if
    its type and the characters of its words are those of a gold one.

    A system span counts in the gold sentence in which it starts.

    Raises:
        EgparseError: a tag of no known scheme.
    """
    gold_text, system_text = text_of(gold), text_of(system)
    ends = gold_text.sentence_starts[1:]
    annotated = [len(sentence.spans) > 0 for sentence in gold]
    by_sentence = np.zeros((len(gold), 3), dtype=np.int64)
    found: list[list[tuple[str, int, int]]] = []
    for sentences, text in ((gold, gold_text), (system, system_text)):
        spans = [
            span for span in _in_text(sentences, text) if annotated[bisect_right(ends, span[1])]
        ]
        found.append(spans)
    common = sorted((Counter(found[0]) & Counter(found[1])).elements())
    for column, spans in enumerate((common, *found)):
        for _, start, _ in spans:
            by_sentence[bisect_right(ends, start), column] += 1
    types = [[type_ for type_, _, _ in spans] for spans in (common, *found)]
    return SpanScores(
        micro=Score(*map(len, types)),
        per_type=scores_by_key(*types),
        tags=None,
        by_sentence=by_sentence,
    )


def _in_text(sentences: Sequence[Sentence], text: Text) -> Iterator[tuple[str, int, int]]:
    """Type, first character and end of each span."""
    first = 0
    for sentence in sentences:
        for type_, start, end in conlleval_spans(sentence.spans):
            yield type_, text.starts[first + start], text.ends[first + end - 1]
        first += len(sentence)


def _starts(prefix: str, type_: str, before: str, type_before: str) -> bool:
    return prefix in _STARTS or before == OUTSIDE or before in _ENDS or type_ != type_before


def _split(tag: str) -> tuple[str, str]:
    """Prefix and type of a tag."""
    if tag in (OUTSIDE, MISSING):
        return OUTSIDE, ""
    prefix, _, type_ = tag.partition("-")
    if prefix not in _PREFIXES:
        raise EgparseError(f"expected a span tag O, B-type, I-type, E-type or S-type, got {tag!r}")
    return prefix, type_


def _equal_tags(gold: Sequence[str], system: Sequence[str]) -> int:
    outside = (OUTSIDE, MISSING)
    return sum(g == s or (g in outside and s in outside) for g, s in zip(gold, system, strict=True))
