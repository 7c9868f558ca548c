"""``egparse_ner``: the entities of Docs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egparse.layers import WORD_TAGS
from egparse.pipeline.annotate import Prediction
from egparse.spacy_components.component import EgparsePipe
from egparse.spacy_components.documents import Batch
from egparse.spacy_components.label_tables import BEGINS, INSIDE, OUTSIDE, SpanTags
from egparse.types import Ints, UInt64s

_HELD = ("ENT_IOB", "ENT_TYPE")


class EgparseNer(EgparsePipe):
    """Sets entities, with the types of the model's training data.

    Unless ``overwrite``, the entities of a Doc are kept, predicted entities that overlap them are
    dropped, and blocked tokens (in spaCy's sense) stay blocked.
    """

    predicts = ("spans",)
    uses = WORD_TAGS
    kept = _HELD

    def put(self, batch: Batch, found: Prediction) -> None:
        """Set the entities of Docs."""
        spans = self.tables.spans
        assert spans is not None
        codes, types = entity_columns(batch, found["spans"].values, spans)
        if not self.overwrite:
            codes, types = _keeping(batch, codes, types)
        batch.put(_HELD, (codes, types))
        self.keep_probabilities(batch, "ent", found["spans"].probabilities)

    def as_spacy(self, layer: str, labels: Sequence[str]) -> tuple[str, ...]:
        """The types of entities."""
        if layer != "spans":
            return super().as_spacy(layer, labels)
        return tuple(sorted({label[2:] for label in labels if label[2:]}))


def entity_columns(batch: Batch, labels: Ints, spans: SpanTags) -> tuple[UInt64s, UInt64s]:
    """ENT_IOB and ENT_TYPE of tokens from label numbers of words.

    An entity may contain white space, but does not begin or end with it. An I tag that continues
    nothing becomes B, because spaCy refuses it.
    """
    codes, types = spans.codes[labels], spans.types[labels]
    first = np.zeros(len(labels), dtype=np.bool_)
    first[batch.starts[:-1]] = True
    goes_on = (
        ~first[1:] & (codes[:-1] != OUTSIDE) & ~spans.ends[labels[:-1]] & (types[1:] == types[:-1])
    )
    lost = codes == INSIDE
    lost[1:] &= ~goes_on
    codes[lost] = BEGINS
    if len(labels) == batch.n_tokens:
        return codes, types
    owners = batch.owners()
    is_word = np.zeros(batch.n_tokens, dtype=np.bool_)
    is_word[batch.places] = True
    after = np.append(np.cumsum(is_word), 0)[:-1]  # for white space: the word after it
    continued = np.append(codes == INSIDE, False)[np.minimum(after, len(codes))]
    over = ~is_word & (owners >= 0) & continued
    padded = np.append(types, np.uint64(0))
    on_blanks = np.where(over, INSIDE, OUTSIDE).astype(np.uint64)
    token_codes = on_blanks.copy()
    token_codes[batch.places] = codes
    token_types = np.where(over, padded[np.minimum(after, len(codes))], 0).astype(np.uint64)
    token_types[batch.places] = types
    return token_codes, token_types


def _keeping(batch: Batch, codes: UInt64s, types: UInt64s) -> tuple[UInt64s, UInt64s]:
    """The entities of the Docs, and those predicted ones that do not overlap them."""
    before, types_before = (batch.held[attribute] for attribute in _HELD)
    held = (before == BEGINS) | (before == INSIDE)
    if not held.any():
        return codes, types
    # Number the predicted entities, and drop those with a token of an entity of the Doc.
    numbers = np.cumsum(codes == BEGINS) * (codes != OUTSIDE)
    lost = np.isin(numbers, np.unique(numbers[held & (numbers > 0)])) & (numbers > 0)
    codes = np.where(held, before, np.where(lost, OUTSIDE, codes)).astype(np.uint64)
    types = np.where(held, types_before, np.where(lost, 0, types)).astype(np.uint64)
    return codes, types
