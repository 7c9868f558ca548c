"""What the components of a model take and give: a batch of words, and the values of its layers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from egparse.features.word_table import Columns, Words
from egparse.types import Floats

ABSENT = -2
"""In place of a label number: no label is given."""


class Values(NamedTuple):
    """The value of each word in one layer, (words,): label numbers, -1 for none; for ``heads``
    positions in the sentence, 0 for the root; for lemmas a list of strings. ``probabilities``
    (words,), NaN where unknown, are None where nobody asked for them.
    """

    values: Any
    probabilities: Floats | None = None


class Request(NamedTuple):
    """Words to annotate, over some columns, with the values that earlier components ``found``.

    ``limits[layer]`` is what constraints and given tags leave to choose from: ``AllowedLabels``, or
    ``ArcConstraints`` for heads, or ``LemmaConstraints``. ``asked`` are the layers whose
    probabilities are wanted.
    """

    words: Words
    columns: Columns
    found: Mapping[str, Values] = {}
    limits: Mapping[str, Any] = {}
    asked: Collection[str] = ()
