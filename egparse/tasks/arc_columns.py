"""The columns that arc templates name: words, tags and what can be read off them about a word's place in the sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from egparse.compilation import njit
from egparse.features.vocabulary import BOUNDARY, FIRST_VALUE, UNKNOWN
from egparse.tasks.word_columns import Columns, Words

Ints = npt.NDArray[np.int32]

BETWEEN = "upos"
"""The column whose tags are counted between the ends of an arc."""

_COPIED = {"form": "lower", "stem": "stem", "xpos": "xpos", "upos": "upos", "feats": "feats"}
PARSER_INPUTS = tuple(_COPIED.values())
"""The columns of words that the parser reads."""

_RARE_UNKNOWN = ("lower", "stem")

ARC_TEMPLATES = (
    "h.xpos + d.xpos",
    "h.upos + d.upos",
    "h.form h.xpos +",
    "h.form +",
    "h.xpos +",
    "+ d.form d.xpos",
    "+ d.form",
    "+ d.xpos",
    "h.form h.xpos + d.form d.xpos",
    "h.xpos + d.form d.xpos",
    "h.form + d.form d.xpos",
    "h.form h.xpos + d.form",
    "h.form h.xpos + d.xpos",
    "h.form + d.form",
    "h.stem + d.stem",
    "h.stem + d.xpos",
    "h.xpos + d.stem",
    "h.xpos h.xpos[+1] + d.xpos[-1] d.xpos",
    "h.xpos[-1] h.xpos + d.xpos[-1] d.xpos",
    "h.xpos h.xpos[+1] + d.xpos d.xpos[+1]",
    "h.xpos[-1] h.xpos + d.xpos d.xpos[+1]",
    "h.xpos h.xpos[+1] + d.xpos",
    "h.xpos[-1] h.xpos + d.xpos",
    "h.xpos + d.xpos d.xpos[+1]",
    "h.xpos + d.xpos[-1] d.xpos",
    "h.upos h.upos[+1] + d.upos[-1] d.upos",
    "h.upos[-1] h.upos + d.upos[-1] d.upos",
    "h.upos h.upos[+1] + d.upos d.upos[+1]",
    "h.upos[-1] h.upos + d.upos d.upos[+1]",
    "h.xpos[-1] h.xpos h.xpos[+1] + d.xpos",
    "h.xpos + d.xpos[-1] d.xpos d.xpos[+1]",
    "h.feats + d.feats",
    "h.form + d.marker",
    "h.xpos + d.marker d.xpos",
    "h.form + d.marker d.xpos",
    "h.stem + d.marker d.stem",
    "h.upos h.marker + d.marker d.upos",
    "h.xpos h.marker + d.marker d.xpos",
    "h.xpos h.marker + d.xpos",
    "h.xpos + d.marker d.form",
    "h.xpos[-2] h.xpos[-1] h.xpos + d.xpos",
    "h.xpos h.xpos[+1] h.xpos[+2] + d.xpos",
    "h.xpos + d.xpos[-2] d.xpos[-1] d.xpos",
    "h.xpos + d.xpos d.xpos[+1] d.xpos[+2]",
    "h.xpos + d.form[-1] d.xpos",
    "h.xpos + d.form[+1] d.xpos",
    "h.form[-1] h.xpos + d.xpos",
    "h.form[+1] h.xpos + d.xpos",
)
"""Pairs of conjunctions at the head and at the dependent (McDonald et al. 2005, table 1, and wider contexts)."""


class ArcColumns:
    """Turns the words of a batch into the columns of the parser: one row a word, and one before each sentence for the root."""

    names = (*_COPIED, "marker")

    def __init__(self, columns: Columns, limits: Mapping[str, int], roles: npt.NDArray[np.int32]) -> None:
        self._columns = columns
        self._limits = dict(limits)
        self._roles = roles

    @classmethod
    def build(cls, words: Words, columns: Columns, min_form_count: int) -> ArcColumns:
        """Words rarer than ``min_form_count`` in ``words`` are unknown to the parser."""
        limits = {}
        for name in _RARE_UNKNOWN:
            counts = np.bincount(words.values[:, columns.number(name)])
            frequent = np.flatnonzero(counts >= min_form_count)
            # vocabularies are sorted by count, so the rare ones are those above a limit
            limits[name] = int(frequent.max(initial=0))
        return cls(columns, limits, _roles(columns))

    def values(self, words: Words) -> Ints:
        """Values of shape (words + sentences, columns): sentence i begins with its root, at row ``starts[i] + i``."""
        n = len(words.form_ids)
        rows = np.arange(n) + np.repeat(np.arange(1, words.n_sentences + 1), np.diff(words.starts))
        out = np.full((n + words.n_sentences, len(self.names)), BOUNDARY, dtype=np.int32)
        for place, name in enumerate(_COPIED.values()):
            column = words.values[:, self._columns.number(name)]
            if name in self._limits:
                column = np.where(column > self._limits[name], UNKNOWN, column)
            out[rows, place] = column
        forms, upos = self._columns.number("lower"), self._columns.number("upos")
        markers = np.empty(n, dtype=np.int32)
        _markers(words.values[:, upos], words.values[:, forms], words.starts, self._roles, markers)
        out[rows, self.names.index("marker")] = markers
        return out

    def to_payload(self) -> dict[str, Any]:
        """What the model file holds of it."""
        return {"limits": self._limits}

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], columns: Columns) -> ArcColumns:
        """The columns of a stored parser."""
        return cls(columns, payload["limits"], _roles(columns))


_PLAIN, _MARKS, _STOPS = 0, 1, 2
_REACH = 6
_FAR, _START = FIRST_VALUE, FIRST_VALUE + 1
_MARKER_VALUES = FIRST_VALUE + 2


def _roles(columns: Columns) -> Ints:
    """For each UPOS value: whether such a word marks what follows it, stops the search for a marker, or neither."""
    tags = columns.labels["upos"].strings if "upos" in columns.labels else ()
    roles = np.full(FIRST_VALUE + len(tags), _PLAIN, dtype=np.int32)
    for number, tag in enumerate(tags, FIRST_VALUE):
        if tag in ("ADP", "SCONJ", "CCONJ", "PART"):
            roles[number] = _MARKS
        elif tag in ("VERB", "PUNCT", "NOUN"):
            roles[number] = _STOPS
    return roles


@njit
def _markers(upos: Ints, forms: Ints, starts: npt.NDArray[np.int64], roles: Ints, markers: Ints) -> None:
    """markers[k]: the nearest word to the left of word k that marks its phrase (a preposition, conjunction or particle).

    Where a verb, noun or punctuation mark comes first, its tag stands for it; else whether the sentence begins.
    """
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            markers[k] = _START
            for place in range(k - 1, starts[i] - 1, -1):
                role = roles[upos[place]] if upos[place] < roles.shape[0] else _PLAIN
                if k - place > _REACH:
                    markers[k] = _FAR
                    break
                if role == _MARKS:
                    markers[k] = _MARKER_VALUES + 64 + forms[place]
                    break
                if role == _STOPS and k - place > 1:
                    markers[k] = _MARKER_VALUES + upos[place]
                    break
