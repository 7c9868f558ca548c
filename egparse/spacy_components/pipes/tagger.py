"""``egparse_tagger``: TAG, POS and MORPH."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from spacy.symbols import SPACE

from egparse.layers import WORD_TAGS
from egparse.pipeline.annotate import Prediction
from egparse.spacy_components.component import TAG_ATTRIBUTES, EgparsePipe
from egparse.spacy_components.documents import Batch
from egparse.types import Ints, UInt64s

_ATTRIBUTES: Mapping[str, str] = dict(zip(WORD_TAGS, TAG_ATTRIBUTES, strict=True))
_PROBABILITIES: Mapping[str, str] = {"upos": "pos", "xpos": "tag", "feats": "morph"}

_SPACE_TAG = "_SP"
"""The tag of white space in spaCy's pipelines."""


class EgparseTagger(EgparsePipe):
    """Sets POS, TAG and MORPH to UPOS, XPOS and FEATS; TAG to UPOS if the model has no XPOS.

    Unless ``overwrite``, existing tags are kept, and later layers are predicted from them.
    """

    predicts = WORD_TAGS

    @property
    def labels(self) -> tuple[str, ...]:
        """The possible values of TAG."""
        sets = self.label_sets()
        return sets.get("xpos", sets.get("upos", ()))

    @property
    def reads_tags(self) -> bool:
        """Unless they are replaced."""
        return not self.overwrite

    def put(self, batch: Batch, found: Prediction) -> None:
        """Tag Docs in place."""
        attributes, columns = [], []
        for layer in WORD_TAGS:
            if layer in found:
                attributes.append(_ATTRIBUTES[layer])
                columns.append(self._column(batch, layer, found[layer].values))
                self.keep_probabilities(batch, _PROBABILITIES[layer], found[layer].probabilities)
        if "upos" in found and "xpos" not in found:
            attributes.append("TAG")
            columns.append(self._upos_as_tags(batch, found["upos"].values))
            self.keep_probabilities(batch, "tag", found["upos"].probabilities)
        batch.put(attributes, columns)

    def _column(self, batch: Batch, layer: str, labels: Ints) -> UInt64s:
        return self._kept(
            batch, _ATTRIBUTES[layer], self.tables.of[layer][labels], self._blank(layer)
        )

    def _upos_as_tags(self, batch: Batch, labels: Ints) -> UInt64s:
        return self._kept(batch, "TAG", self.tables.upos_as_tags[labels], self._blank("xpos"))

    def _kept(self, batch: Batch, attribute: str, values: UInt64s, blank: int) -> UInt64s:
        """Values of words as a column of tokens; values of the Docs win unless ``overwrite``."""
        column: UInt64s = batch.on_tokens(values, blank)
        if self.overwrite:
            return column
        before = batch.held[attribute]
        return np.where(before != 0, before, column)

    def _blank(self, layer: str) -> int:
        if layer == "upos":
            return int(SPACE)
        return int(
            self.vocab.strings.add(_SPACE_TAG) if layer == "xpos" else self.vocab.morphology.add("")
        )
