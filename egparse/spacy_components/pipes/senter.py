"""``egparse_senter``: sentence starts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from spacy.tokens import Doc

from egparse.pipeline.model import Model
from egparse.spacy_components.component import EgparsePipe
from egparse.spacy_components.documents import Batch

STARTS, CONTINUES = 1, -1
"""spaCy's codes of SENT_START."""


class EgparseSenter(EgparsePipe):
    """Sets sentence starts, by the model's sentence splitter or, if it has none, by rule.

    Unless ``overwrite``, tokens that a Doc marks as starting a sentence, or as not starting one,
    are kept so. A parsed Doc is not changed: its sentences are those of its trees.
    """

    def _require_layers(self, model: Model) -> None:
        """Accept any model."""

    def annotate(self, docs: Sequence[Doc]) -> None:
        """Split Docs into sentences."""
        open_docs = [doc for doc in docs if len(doc) and not is_parsed(doc)]
        if open_docs:
            write_starts(self.read(open_docs, keep_starts=not self.overwrite))

    @property
    def hide_labels(self) -> bool:
        """True, as there are no labels."""
        return True


def is_parsed(doc: Doc) -> bool:
    """Whether a Doc has a tree."""
    return len(doc) > 0 and bool(doc.has_annotation("DEP"))


def write_starts(batch: Batch) -> None:
    """Write the sentence starts of all tokens into Docs."""
    batch.put(("SENT_START",), (start_codes(batch).view(np.uint64),))


def start_codes(batch: Batch) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """``STARTS`` or ``CONTINUES`` for each token, shape (tokens,).

    A sentence starts at the first white space that belongs to its first word.
    """
    codes = np.full(batch.n_tokens, CONTINUES, dtype=np.int64)
    owners = batch.owners()
    first_of = np.zeros(len(batch.forms) + 1, dtype=np.int64)
    tokens = np.arange(batch.n_tokens)[::-1]
    first_of[owners[::-1]] = tokens  # written backwards: the first token of a word is written last
    codes[first_of[batch.starts[:-1]]] = STARTS
    codes[batch.token_starts[:-1][np.diff(batch.token_starts) > 0]] = STARTS
    return codes
