"""The labeller: a log-linear classifier of the arcs of a tree, the second stage after the parser;
and its columns: of a word, its head and its neighbours in the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.features.request import Request, Values
from egparse.features.tag_dictionary import AllowedLabels, Candidates, lay_out, restrict
from egparse.features.vocabulary import BOUNDARY, FIRST_VALUE, Vocabulary
from egparse.features.word_table import Columns, Words
from egparse.sequences.model import SequenceModel, SequencePredictor
from egparse.storage.schema import SECTION, Integers, Record, Stored
from egparse.types import Ints, Longs, Mask

_OF_HEAD = ("lower", "stem", "suffix3", "xpos", "upos", "feats")
_OF_KIN = ("lower", "xpos", "upos")
LABELLER_INPUTS = tuple(dict.fromkeys((*_OF_HEAD, *_OF_KIN)))
"""The columns of words that the labeller reads."""

_RELATIVES = ("grand", "inner", "outer", "first", "last")
_MEASURES = ("side", "distance", "lefts", "rights")


_DISTANCES = np.array([1, 2, 3, 4, 6, 10, 20])

STORED_LABELLER = Record(
    {"model": SECTION, "of_root": Integers("labels", 1), "of_words": Integers("labels", 1)}
)
"""A labeller in a model file, with ``labels`` labels."""


@dataclass(frozen=True)
class Labeller(SequencePredictor):
    """A sequence model without label bigrams; ``of_root`` and ``of_words`` are the labels seen
    below the root and below words.
    """

    model: SequenceModel
    of_root: tuple[int, ...]
    of_words: tuple[int, ...]

    name = "labeller"
    layers = ("deprels",)

    def annotate(self, request: Request) -> dict[str, Values]:
        """The labels of the arcs that were found, and if asked for the probability of each given
        the tree, among the candidate labels of its arc.
        """
        words, heads = request.words, request.found["heads"].values
        values = tree_values(words, heads, request.columns)
        candidates = self._candidates(heads, request.limits.get("deprels"))
        labels = self.model.choose(values, words.starts, candidates)
        probabilities = None
        if request.asked:
            probabilities = self.model.probabilities(values, words.starts, candidates, labels)
        return {"deprels": Values(labels, probabilities)}

    def part_labels(self, layer: str, labels: Mapping[str, Vocabulary]) -> Sequence[str | None]:
        """The text of each label."""
        return labels[layer].strings

    def predict(self, words: Words, heads: Ints, columns: Columns) -> Ints:
        """The label number of each word's arc."""
        values = tree_values(words, heads, columns)
        return self.model.choose(values, words.starts, self._candidates(heads, None))

    def over(self, columns: Columns) -> Labeller:
        """The same labeller over columns that extend its own; new labels score 0."""
        n_labels = len(columns.labels["deprels"])
        return replace(self, model=self.model.over(tree_column_names(columns), n_labels))

    def _candidates(self, heads: Ints, allowed: AllowedLabels | None) -> Candidates:
        """``allowed`` may include, for an arc below the root, labels that training saw only below
        words, and vice versa.
        """
        candidates = lay_out([self.of_words, self.of_root], (heads == 0).astype(np.int32))
        return candidates if allowed is None else restrict(candidates, allowed)

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        return {
            "model": self.model.to_payload(),
            "of_root": list(self.of_root),
            "of_words": list(self.of_words),
        }

    @classmethod
    def from_payload(cls, stored: Stored, columns: Columns, section: str = "") -> Labeller:
        """The labeller over the columns of its model.

        Raises:
            Misfit: content that the declaration does not allow, or columns that it needs are not
                in the model.
        """
        stored.require("deprels" in columns.labels, "", "labels of deprels", "none")
        n_labels = len(columns.labels["deprels"])
        read = stored.read(STORED_LABELLER, labels=n_labels)
        missing = [name for name in LABELLER_INPUTS if name not in columns.names]
        stored.require(not missing, "", f"a model with the columns {', '.join(missing)}", "others")
        model = SequenceModel.from_payload(read["model"], tree_column_names(columns), n_labels)
        return cls(model, tuple(read["of_root"]), tuple(read["of_words"]))


def tree_columns(classes: Sequence[str]) -> tuple[str, ...]:
    """The columns of the tree; all relatives have these columns of word classes."""
    return (
        *(f"head_{name}" for name in (*_OF_HEAD, *classes)),
        *(f"{relative}_{name}" for relative in _RELATIVES for name in (*_OF_KIN, *classes)),
        *_MEASURES,
    )


class _Kin(NamedTuple):
    """For each word the row of each relative (the number of words if there is none), and its number
    of children.

    ``inner`` and ``outer`` are the nearest sibling towards the head and away from it, on the same
    side of the head; ``first`` and ``last`` are the leftmost and the rightmost child.
    """

    head: Longs
    grand: Longs
    inner: Longs
    outer: Longs
    first: Longs
    last: Longs
    lefts: Longs
    rights: Longs


def tree_column_names(columns: Columns) -> tuple[str, ...]:
    """The columns of words, then the columns of the tree."""
    return (*columns.names, *tree_columns(columns.class_names))


def tree_values(words: Words, heads: Ints, columns: Columns) -> Ints:
    """Values of shape (words, columns); ``heads`` are positions in the sentence, 0 for the root, -1
    (missing) as the root.
    """
    n, classes = len(words.form_ids), columns.class_names
    begins = np.repeat(words.starts[:-1], np.diff(words.starts))
    kin = _find_kin(begins + np.maximum(heads, 0) - 1, heads <= 0, words.starts)
    values = np.empty((n, len(tree_column_names(columns))), dtype=np.int32)
    relatives = (kin.grand, kin.inner, kin.outer, kin.first, kin.last)
    _fill_values(
        words.values,
        np.array([columns.number(name) for name in (*_OF_HEAD, *classes)], dtype=np.int64),
        np.array([columns.number(name) for name in (*_OF_KIN, *classes)], dtype=np.int64),
        kin.head,
        relatives,
        kin.lefts,
        kin.rights,
        values,
    )
    return values


@njit
def _fill_values(
    words: Ints,
    of_head: Longs,
    of_kin: Longs,
    heads: Longs,
    relatives: tuple[Longs, Longs, Longs, Longs, Longs],
    lefts: Longs,
    rights: Longs,
    values: Ints,
) -> None:
    """Fill the columns of words and of the tree; ``of_head`` and ``of_kin`` are the columns of
    words that are repeated from relatives.
    """
    n, n_columns = words.shape
    for k in range(n):
        copy_numbers(words[k], values[k, :n_columns])
        place = n_columns
        for column in of_head:
            values[k, place] = words[heads[k], column] if heads[k] < n else BOUNDARY
            place += 1
        for rows in relatives:
            for column in of_kin:
                values[k, place] = words[rows[k], column] if rows[k] < n else BOUNDARY
                place += 1
        side, distance = 2, 0
        if heads[k] < n:
            side = 1 if heads[k] < k else 0
            while distance < _DISTANCES.shape[0] and _DISTANCES[distance] < abs(heads[k] - k):
                distance += 1
        values[k, place] = side + FIRST_VALUE
        values[k, place + 1] = 3 * distance + side + FIRST_VALUE
        values[k, place + 2] = min(lefts[k], 4) + FIRST_VALUE
        values[k, place + 3] = min(rights[k], 4) + FIRST_VALUE


def _find_kin(heads: Longs, at_root: Mask, starts: Longs) -> _Kin:
    n = len(heads)
    table = np.full((5, n + 1), n, dtype=np.int64)
    counts = np.zeros((2, n + 1), dtype=np.int64)
    rows = np.where(at_root, n, heads)
    _fill_kin(rows, starts, table, counts)
    return _Kin(rows, *table[:, :n], *counts[:, :n])


@njit
def _fill_kin(
    heads: Longs,
    starts: Longs,
    table: Longs,
    counts: Longs,
) -> None:
    """``table`` has a row for grand, inner, outer, first, last; ``counts`` for left and right
    children.
    """
    n = heads.shape[0]
    latest = np.full(
        n + 1, n, dtype=np.int64
    )  # the child of each head that was met last on the side at hand
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            head = heads[k]
            if head == n:
                continue
            table[0, k] = heads[head]
            if table[3, head] == n:
                table[3, head] = k
            table[4, head] = k
            if k < head:
                counts[0, head] += 1
            else:
                counts[1, head] += 1
            before = latest[head]
            if before != n and (before < head) == (k < head):
                # of two neighbours on one side, the one nearer to the head is the inner sibling of
                # the other
                if k < head:
                    table[1, before] = k
                    table[2, k] = before
                else:
                    table[1, k] = before
                    table[2, before] = k
            latest[head] = k
