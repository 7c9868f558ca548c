"""Parts of a corpus: folds for jackknifing, which are whole documents, assigned to the folds in
turn; and sentences held out for development.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import TypeVar

import numpy as np

from egparse.sentences import Sentence
from egparse.types import Longs, Mask

Item = TypeVar("Item")

_LEAST_TO_HOLD_OUT = 20
_DOCUMENTS_PER_FOLD = 10
_BLOCK = 50  # sentences that count as a document if the corpus does not mark documents


def deal(sentences: Sequence[Sentence], folds: int) -> Longs:
    """The fold of each sentence, 0 to ``folds`` - 1.

    The documents of the corpus are assigned to the folds in turn. A fold of neighbouring documents
    would often be a separate genre, on which a tagger of the other folds does worse than on new
    text like the corpus; a fold that shares documents with others would be too easy. Where too few
    documents are marked, every ``_BLOCK`` consecutive sentences count as one.
    """
    opens = np.array([sentence.opens_document for sentence in sentences], dtype=np.int64)
    documents = np.cumsum(opens)
    if len(opens) and int(opens.sum()) < folds * _DOCUMENTS_PER_FOLD:
        block = max(1, min(_BLOCK, len(opens) // (folds * _DOCUMENTS_PER_FOLD)))
        documents = np.arange(len(opens)) // block
    return documents % folds


def hold_out(sentences: Sequence[Item], share: float, seed: int) -> tuple[list[Item], list[Item]]:
    """Split off a random development part of the given share, both parts in corpus order; empty for
    very small corpora.
    """
    out = held_out(len(sentences), share, seed)
    return list(compress(sentences, ~out)), list(compress(sentences, out))


def held_out(sentences: int, share: float, seed: int) -> Mask:
    """Which of so many sentences ``hold_out`` holds out, (sentences,)."""
    chosen = np.zeros(sentences, dtype=np.bool_)
    if count := held_out_of(sentences, share):
        chosen[np.random.default_rng(seed).permutation(sentences)[:count]] = True
    return chosen


def held_out_of(sentences: int, share: float) -> int:
    """The number of sentences that are held out for development; none of very few."""
    return int(sentences * share) if sentences >= _LEAST_TO_HOLD_OUT else 0
