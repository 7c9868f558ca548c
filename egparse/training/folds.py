"""Folds of a corpus for jackknifing: whole documents, assigned to the folds in turn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egparse.sentences import Sentence
from egparse.types import Longs

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
