"""Tables from a model's labels to the numbers that spaCy stores, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from spacy.parts_of_speech import IDS
from spacy.vocab import Vocab

from egparse.features.request import ABSENT
from egparse.types import Ints, Mask, UInt64s

if TYPE_CHECKING:
    from egparse.pipeline.model import Model

UNKNOWN = -1
"""In place of the number of a label that the model does not have."""

OUTSIDE, INSIDE, BEGINS = 2, 1, 3
"""spaCy's codes of ENT_IOB."""

STARTS, CONTINUES = 1, -1
"""spaCy's codes of SENT_START."""

UD_ROOT, SPACY_ROOT = "root", "ROOT"
"""The label of the root of a sentence in UD and in spaCy."""

ATTACHED = "dep"
"""The label of arcs to white space, and of all arcs of a parser without labels: spaCy ignores heads
without labels.
"""


class SpanTags(NamedTuple):
    """For each label of spans: its ENT_IOB and ENT_TYPE, and whether it ends a span."""

    codes: UInt64s
    types: UInt64s
    ends: Mask


class LabelTables:
    """The tables of a model for a vocabulary; makes the vocabulary know the labels."""

    def __init__(self, model: Model, vocab: Vocab) -> None:
        self.model, add = model, vocab.strings.add
        self.attached, self.root = add(ATTACHED), add(SPACY_ROOT)
        number_of: dict[str, Callable[[str], int]] = {
            "upos": lambda label: IDS.get(label, 0),
            "xpos": add,
            "feats": lambda label: vocab.morphology.add(feats_to_spacy(label)),
            "deprels": lambda label: add(to_spacy(label)),
        }
        labels = {layer: labels.strings for layer, labels in model.columns.labels.items()}
        self.of = {
            layer: _hashes(map(number, labels[layer]))
            for layer, number in number_of.items()
            if layer in labels
        }
        self.upos_as_tags = _hashes(map(add, labels.get("upos", ())))
        self.spans = span_tags(labels["spans"], add) if "spans" in labels else None
        self._numbers = {layer: _numbers_of(hashes) for layer, hashes in self.of.items()}

    def numbers(self, layer: str, values: UInt64s) -> Ints:
        """The label numbers of values in a Doc: ``UNKNOWN`` for labels that the model lacks,
        ``ABSENT`` where the Doc has none.
        """
        get = self._numbers[layer].get
        return np.array([get(value, UNKNOWN) for value in values.tolist()], dtype=np.int32)


def to_spacy(deprel: str) -> str:
    """The label of an arc in spaCy's terms."""
    return SPACY_ROOT if deprel == UD_ROOT else deprel


def from_spacy(dep: str) -> str:
    """The label of an arc in UD's terms."""
    return UD_ROOT if dep == SPACY_ROOT else dep


def feats_to_spacy(label: str) -> str:
    """FEATS as spaCy can hold them: only pairs ``name=value``, else none."""
    return label if label != "_" and all("=" in part for part in label.split("|")) else ""


def span_tags(labels: Sequence[str], add: Callable[[str], int]) -> SpanTags:
    """The tables of labels in any scheme; ``add`` gives the number of a type."""
    codes = {"O": OUTSIDE, "B": BEGINS, "S": BEGINS, "U": BEGINS}
    return SpanTags(
        _hashes(codes.get(label[:1], INSIDE) for label in labels),
        _hashes(add(label[2:]) if label[2:] else 0 for label in labels),
        np.array([label[:1] in "OESLU" for label in labels], dtype=np.bool_),
    )


def _numbers_of(hashes: UInt64s) -> dict[int, int]:
    # Several labels may be the same to spaCy: then the first one.
    numbered = reversed(list(enumerate(hashes.tolist())))
    return {**{value: number for number, value in numbered}, 0: ABSENT}


def _hashes(values: Iterable[int]) -> UInt64s:
    return np.array(list(values), dtype=np.uint64)
