"""``egparse_lemmatizer``: the lemmas of tokens."""

from __future__ import annotations

import numpy as np

from egparse.layers import LAYERS, LEMMAS, WORD_TAGS
from egparse.pipeline.annotate import Prediction
from egparse.spacy_components.component import EgparsePipe
from egparse.spacy_components.documents import Batch

_ATTRIBUTE = LAYERS[LEMMAS].spacy_attribute


class EgparseLemmatizer(EgparsePipe):
    """Sets LEMMA; that of white space is the white space, as in spaCy's lemmatizer.

    Unless ``overwrite``, existing lemmas are kept. The tags of the Doc are used; missing ones are
    predicted, but not set.
    """

    predicts = (LEMMAS,)
    uses = WORD_TAGS
    kept = (_ATTRIBUTE,)

    def put(self, batch: Batch, found: Prediction) -> None:
        """Set the lemmas of Docs."""
        lemmas = found[LEMMAS].values
        add = self.vocab.strings.add
        numbers = {lemma: add(lemma) for lemma in set(lemmas)}
        column = batch.held["ORTH"].copy()
        column[batch.places] = np.array([numbers[lemma] for lemma in lemmas], dtype=np.uint64)
        if not self.overwrite:
            before = batch.held[_ATTRIBUTE]
            column = np.where(before != 0, before, column)
        batch.put((_ATTRIBUTE,), (column,))
        self.keep_probabilities(batch, "lemma", found[LEMMAS].probabilities)

    @property
    def hide_labels(self) -> bool:
        """True, as the labels are edit scripts, which say nothing to users."""
        return True
