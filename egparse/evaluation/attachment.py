"""Unlabelled and labelled attachment scores (UAS, LAS) under the conventions of four evaluations.

============  ==========================  =====================================================
convention    label                       words that count
============  ==========================  =====================================================
``ud18``      up to the first colon       all
``conllx06``  whole                       those whose gold FORM has a character that is not of
                                          Unicode category P
``conll07``   whole                       all
``spacy``     whole, lower-cased          gold: those whose gold label is not ``punct`` or ``p``;
                                          system: those whose system label is not, and whose
                                          FORM is not white space
============  ==========================  =====================================================

Sources: CoNLL 2018; ``eval.pl`` of CoNLL-X 2006; ``eval07.pl -p`` of CoNLL 2007;
``Scorer.score_deps`` with the settings of ``parser_score`` in spaCy 3.8.

``$``, ``+`` and the like are of category S and hence count in ``conllx06``. Under ``spacy`` gold
and system may count different words, so UAS and LAS are F1 scores there; elsewhere they are
accuracies. A word whose gold head is missing counts nowhere. Two things are not copied from spaCy:
it applies the positions of such words to all later texts too, and it has rules for tokens that
differ; here both sides must have the same words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from egparse.evaluation import words
from egparse.evaluation.scores import Score, universal_deprel
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.types import Mask

Convention = Literal["ud18", "conllx06", "conll07", "spacy"]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
"""All conventions, by name."""

_SPACY_IGNORES = frozenset(["p", "punct"])


class AttachmentScores(NamedTuple):
    """Unlabelled and labelled attachment under one convention."""

    convention: Convention
    uas: Score
    las: Score


def score_attachment(
    gold: Sequence[Sentence], system: Sequence[Sentence], convention: Convention
) -> AttachmentScores:
    """UAS and LAS of sentences with the same words under the named convention. Raises ValueError:
    an unknown convention, or numbers of sentences or words that differ.
    """
    if convention not in CONVENTIONS:
        raise ValueError(
            f"expected a convention among {', '.join(CONVENTIONS)}, got {convention!r}"
        )
    words.require_same_lengths(gold, system)
    counted_gold, counted_system = _counted(gold, system, convention)
    labels = words.intern_pair(_labels(gold, convention), _labels(system, convention))
    right = counted_gold & counted_system & (words.heads(gold) == words.heads(system))
    totals = int(counted_gold.sum()), int(counted_system.sum())
    return AttachmentScores(
        convention,
        uas=Score(int(right.sum()), *totals),
        las=Score(int((right & (labels.gold == labels.system)).sum()), *totals),
    )


def is_punctuation(form: str) -> bool:
    """Whether a form has characters, and all are of Unicode category P, as in ``eval.pl``."""
    return bool(form) and all(unicodedata.category(character).startswith("P") for character in form)


def _counted(
    gold: Sequence[Sentence], system: Sequence[Sentence], convention: Convention
) -> tuple[Mask, Mask]:
    """Which words count in gold and which in the system's output, shape (m,) each."""
    annotated = words.heads(gold) != MISSING_HEAD
    forms = words.cells(gold, "forms")
    if convention == "conllx06":
        counted = annotated & ~words.accepted(forms, is_punctuation)
        return counted, counted
    if convention == "spacy":
        labels, system_labels = words.cells(gold, "deprels"), words.cells(system, "deprels")
        annotated = annotated & words.accepted(labels, lambda label: label != MISSING)
        written = words.accepted(forms, lambda form: not form.isspace())
        scored_gold = words.accepted(labels, _scored_by_spacy)
        scored_system = words.accepted(system_labels, _scored_by_spacy)
        return annotated & scored_gold, annotated & written & scored_system
    return annotated, annotated


def _labels(sentences: Sequence[Sentence], convention: Convention) -> list[str]:
    labels = words.cells(sentences, "deprels")
    if convention == "ud18":
        return [universal_deprel(label) for label in labels]
    return [label.lower() for label in labels] if convention == "spacy" else labels


def _scored_by_spacy(label: str) -> bool:
    return label.lower() not in _SPACY_IGNORES
