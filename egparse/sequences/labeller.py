"""The labeller: a log-linear classifier of the arcs of a tree, the second stage after the parser;
and its columns: of a word, its head and its neighbours in the tree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from egparse.compilation import njit
from egparse.features.request import Request, Values
from egparse.features.tag_dictionary import AllowedLabels, Candidates, lay_out, restrict
from egparse.features.vocabulary import BOUNDARY, FIRST_VALUE, Vocabulary
from egparse.features.word_table import Columns, Words
from egparse.sequences.model import SequenceModel, SequencePredictor
from egparse.sequences.valid_labels import LabelRules
from egparse.storage.schema import SECTION, Integers, Record, Stored
from egparse.types import Floats, Ints, Longs

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
    below the root and below words. With ``rules`` labels keep those of Universal Dependencies.
    """

    model: SequenceModel
    of_root: tuple[int, ...]
    of_words: tuple[int, ...]
    rules: LabelRules | None = field(default=None, compare=False)

    name = "labeller"
    layers = ("deprels",)

    def annotate(self, request: Request) -> dict[str, Values]:
        """The labels of the arcs that were found, and if asked for the probability of each given
        the tree, among the candidate labels of its arc.
        """
        starts, (candidates, scores) = request.words.starts, self.scored(request)
        labels, probabilities = self.model.choose(scores, starts, candidates), None
        if self.rules is not None:
            heads = request.found["heads"].values
            labels = self.rules.settle(request.words, heads, labels, candidates, scores)
        if request.asked:
            probabilities = self.model.probabilities(scores, starts, candidates, labels)
        return {"deprels": Values(labels, probabilities)}

    def scored(self, request: Request) -> tuple[Candidates, Floats]:
        """The candidate labels of the arcs that were found, and their scores."""
        words, heads = request.words, request.found["heads"].values
        values = tree_values(words, heads, request.columns)
        candidates = self._candidates(words, heads, request.limits.get("deprels"))
        return candidates, self.model.scores(values, words.starts, candidates)

    def part_labels(self, layer: str, labels: Mapping[str, Vocabulary]) -> Sequence[str | None]:
        """The text of each label."""
        return labels[layer].strings

    def predict(self, words: Words, heads: Ints, columns: Columns) -> Ints:
        """The label number of each word's arc."""
        request = Request(words, columns, {"heads": Values(heads)})
        labels: Ints = self.annotate(request)["deprels"].values
        return labels

    def over(self, columns: Columns) -> Labeller:
        """The same labeller over columns that extend its own; new labels score 0."""
        n_labels = len(columns.labels["deprels"])
        model = self.model.over(tree_column_names(columns), n_labels)
        return replace(self, model=model, rules=self.rules and LabelRules(columns))

    def keeping_rules(self, columns: Columns) -> Labeller:
        """The same labeller, whose labels keep the rules of Universal Dependencies."""
        return replace(self, rules=LabelRules(columns))

    def _candidates(self, words: Words, heads: Ints, allowed: AllowedLabels | None) -> Candidates:
        """``allowed`` may include, for an arc below the root, labels that training saw only below
        words, and vice versa, and labels that break rules.
        """
        if self.rules is None:
            candidates = lay_out([self.of_words, self.of_root], (heads == 0).astype(np.int32))
        else:
            candidates = self.rules.candidates(words, heads, self.of_root, self.of_words)
        return candidates if allowed is None else restrict(candidates, allowed)

    def to_payload(self) -> dict[str, Any]:
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


def tree_column_names(columns: Columns) -> tuple[str, ...]:
    """The columns of words, then the columns of the tree."""
    return (*columns.names, *tree_columns(columns.class_names))


def tree_values(words: Words, heads: Ints, columns: Columns) -> Ints:
    """Values of shape (words, columns); ``heads`` are positions in the sentence, 0 for the root, -1
    (missing) as the root.
    """
    n, width = words.values.shape
    of_head, of_kin = _numbers(columns, _OF_HEAD), _numbers(columns, _OF_KIN)
    more = len(of_head) + len(_RELATIVES) * len(of_kin) + len(_MEASURES)
    values: Ints = np.empty((n, width + more), dtype=np.int32)
    relatives = np.full((len(_RELATIVES), n + 1), n, dtype=np.int64)
    _fill(words.values, words.starts, heads, relatives, of_head, of_kin, values)
    return values


def _numbers(columns: Columns, names: Sequence[str]) -> Longs:
    return np.array([columns.number(name) for name in (*names, *columns.class_names)])


@njit
def _fill(
    values: Ints,
    starts: Longs,
    heads: Ints,
    relatives: Longs,
    of_head: Longs,
    of_kin: Longs,
    out: Ints,
) -> None:
    """Write the columns of words, of their heads and relatives, and the measures. ``relatives``, as
    in ``_find_relatives``, is filled with the number of words, which stands for none.
    """
    n, width = values.shape
    rows, children = np.empty(n, dtype=np.int64), np.zeros((2, n + 1), dtype=np.int64)
    for i in range(starts.shape[0] - 1):
        for k in range(starts[i], starts[i + 1]):
            rows[k] = starts[i] + heads[k] - 1 if heads[k] > 0 else n
    _find_relatives(rows, starts, relatives, children)
    for k in range(n):
        for c in range(width):
            out[k, c] = values[k, c]
        place, head = width, rows[k]
        for c in of_head:
            out[k, place] = values[head, c] if head < n else BOUNDARY
            place += 1
        for r in range(relatives.shape[0]):
            relative = relatives[r, k]
            for c in of_kin:
                out[k, place] = values[relative, c] if relative < n else BOUNDARY
                place += 1
        side, distance = 2, 0
        if head < n:
            side = 1 if head < k else 0
            while distance < _DISTANCES.shape[0] and _DISTANCES[distance] < abs(head - k):
                distance += 1
        out[k, place] = side + FIRST_VALUE
        out[k, place + 1] = 3 * distance + side + FIRST_VALUE
        out[k, place + 2] = min(children[0, k], 4) + FIRST_VALUE
        out[k, place + 3] = min(children[1, k], 4) + FIRST_VALUE


@njit
def _find_relatives(heads: Longs, starts: Longs, table: Longs, counts: Longs) -> None:
    """Write the row of each relative of each word, and its numbers of left and right children;
    ``heads`` are rows, n for the root, which also says that there is no such relative.

    The inner and the outer sibling are the nearest ones towards the head and away from it, on the
    same side of the head; the first and last child are the leftmost and the rightmost.
    """
    n = heads.shape[0]
    latest = np.full(n + 1, n, dtype=np.int64)  # the child of each head that was met last
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
