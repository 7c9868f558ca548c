"""The columns of templates of arcs: words, tags and their context in a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from egparse.features.sentence_context import COLUMNS as CONTEXT
from egparse.features.sentence_context import KINDS, TagKinds, fill_context, tag_kinds
from egparse.features.vocabulary import BOUNDARY, FIRST_VALUE, UNKNOWN
from egparse.features.word_table import Columns, Words
from egparse.sentences import HIDDEN
from egparse.storage.schema import Array, Integer, Record, Stored, TableOf
from egparse.types import Ints

BETWEEN = "between"
"""The column whose values are counted between the ends of an arc."""

_COPIED = {
    "form": "lower",
    "stem": "stem",
    "xpos": "xpos",
    "upos": "upos",
    "feats": "feats",
    "shape": "shape",
}
PARSER_INPUTS = tuple(_COPIED.values())
"""The columns of words that the parser reads."""

_RARE_UNKNOWN = ("lower", "stem")
_ROOT = 0  # in the context columns of the root, which differs from words by its tags

STORED_COLUMNS = Record(
    {
        "limits": Record(dict.fromkeys(_RARE_UNKNOWN, Integer())),
        "beyond": TableOf(Array("int32", (None,), below=1 << 31), _RARE_UNKNOWN),
        "kinds": Integer(1, KINDS),
    },
    absent={"beyond": None, "kinds": 1},
)
"""The columns of a parser in a model file: see ``ArcColumns``."""


def arc_column_names(classes: Sequence[str] = (), further: Sequence[str] = ()) -> tuple[str, ...]:
    """The columns of the parser, with these columns of word classes and ``Columns.further``."""
    names = (HIDDEN[name].column if name in HIDDEN else name for name in further)
    return (*_COPIED, *CONTEXT, *classes, *names)


class ArcColumns:
    """Computes the columns of the parser for a batch of words: a row for each word, and before each
    sentence a row for its root.

    Values above the ``limits`` of their columns are unknown, except the values ``beyond``, which
    continued training has added. ``kinds`` is the version of ``sentence_context.tag_kinds``.
    """

    def __init__(
        self,
        columns: Columns,
        limits: Mapping[str, int],
        beyond: Mapping[str, Sequence[int]] | None = None,
        kinds: int = KINDS,
    ) -> None:
        self._columns = columns
        self.names = arc_column_names(columns.class_names, columns.further)
        self._limits = dict(limits)
        self._beyond = {
            name: np.array(values, dtype=np.int32) for name, values in (beyond or {}).items()
        }
        self._version = kinds
        self._kinds = _kinds(columns, kinds)
        read = (*PARSER_INPUTS, *columns.class_names, *columns.further)
        self._numbers = [columns.number(name) for name in read]

    @property
    def n_class_tables(self) -> int:
        """The number of tables of word classes."""
        return self._columns.n_class_tables

    @property
    def further(self) -> tuple[str, ...]:
        """See ``Columns.further``."""
        return self._columns.further

    @classmethod
    def build(cls, words: Words, columns: Columns, min_form_count: int) -> ArcColumns:
        """Columns in which forms rarer than ``min_form_count`` in ``words`` are unknown."""
        limits = {}
        for name in _RARE_UNKNOWN:
            counts = np.bincount(words.values[:, columns.number(name)])
            # vocabularies are sorted by count: all values above a limit are rare
            limits[name] = int(np.flatnonzero(counts >= min_form_count).max(initial=0))
        return cls(columns, limits)

    def over(self, columns: Columns) -> ArcColumns:
        """The same over other columns of words that give the values read here the same numbers."""
        beyond = {name: values.tolist() for name, values in self._beyond.items()}
        return ArcColumns(columns, self._limits, beyond, self._version)

    def extended(self, words: Words, min_form_count: int) -> ArcColumns:
        """The same, with the unknown values that ``words`` have at least ``min_form_count`` times
        made known.
        """
        beyond = {}
        for name, limit in self._limits.items():
            counts = np.bincount(words.values[:, self._columns.number(name)])
            frequent = np.flatnonzero(counts >= min_form_count)
            before = self._beyond.get(name, np.empty(0, dtype=np.int32))
            beyond[name] = np.union1d(before, frequent[frequent > limit]).tolist()
        return ArcColumns(self._columns, self._limits, beyond, self._version)

    def values(self, words: Words) -> Ints:
        """Values of shape (words + sentences, columns): sentence i starts with its root, in row
        ``starts[i] + i``.
        """
        copied, n_read = words.values[:, self._numbers], len(_COPIED)
        for name, limit in self._limits.items():
            column = copied[:, PARSER_INPUTS.index(name)]
            unknown = column > limit
            if name in self._beyond:
                unknown &= ~np.isin(column, self._beyond[name])
            column[unknown] = UNKNOWN
        context = np.zeros((len(copied), len(CONTEXT)), dtype=np.int32)
        upos, xpos, feats, forms = (
            copied[:, PARSER_INPUTS.index(name)].copy()
            for name in ("upos", "xpos", "feats", "lower")
        )
        fill_context(upos, xpos, feats, forms, words.starts, self._kinds, context)
        out = np.empty((words.n_words + words.n_sentences, len(self.names)), dtype=np.int32)
        roots = words.starts[:-1] + np.arange(words.n_sentences)
        first_class = n_read + len(CONTEXT)
        out[roots] = BOUNDARY
        out[roots, n_read:first_class] = _ROOT
        is_word = np.ones(len(out), dtype=np.bool_)
        is_word[roots] = False
        rows = is_word.nonzero()[0]
        out[rows, :n_read] = copied[:, :n_read]
        out[rows, n_read:first_class] = context
        out[rows, first_class:] = copied[:, n_read:]
        return out

    def to_payload(self) -> dict[str, Any]:
        beyond = {name: values for name, values in self._beyond.items() if len(values)}
        kinds = {"kinds": self._version} if self._version > 1 else {}
        return {"limits": self._limits, **({"beyond": beyond} if beyond else {}), **kinds}

    @classmethod
    def from_payload(cls, stored: Stored, columns: Columns) -> ArcColumns:
        """The columns of a stored parser.

        Raises:
            Misfit: content that the declaration does not allow, or columns that it needs are not
                in the model.
        """
        read = stored.read(STORED_COLUMNS)
        missing = [name for name in PARSER_INPUTS if name not in columns.names]
        stored.require(not missing, "", f"a model with the columns {', '.join(missing)}", "others")
        return cls(columns, read["limits"], read["beyond"], read["kinds"])


def _kinds(columns: Columns, version: int) -> TagKinds:
    upos, xpos, feats = (
        columns.labels[name].strings if name in columns.labels else ()
        for name in ("upos", "xpos", "feats")
    )
    if columns.fine_tags is not None:  # the column does not hold XPOS
        xpos = ()
    forms = columns.lexicon.vocabularies["lower"].strings
    return tag_kinds(upos, xpos, feats, forms, FIRST_VALUE, version)
