"""The arc-factored dependency parser: candidate arcs by tags and length, hashed features, best
trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.errors import EgparseError
from egparse.features.arcs import (
    ArcCodes,
    ArcTemplates,
    compile_arc_templates,
    encode_arcs,
    score_arcs,
)
from egparse.features.sentence_context import N_BETWEEN
from egparse.features.word_table import Columns, Words
from egparse.parsing.arc_problem import INFERENCE, Inference, scatter
from egparse.parsing.candidates import (
    ArcFilter,
    candidate_arcs,
)
from egparse.parsing.columns import BETWEEN, ArcColumns
from egparse.parsing.constraints import (
    FREE,
    NO_TREE,
    ArcConstraints,
    SentenceArcs,
    all_arcs,
    constrain_arcs,
)
from egparse.parsing.long_sentences import LONGEST, parse_in_pieces
from egparse.storage.quantised_weights import pack_weights, unpack_weights
from egparse.structures.trees.dependency_trees import NO_HEAD, checked_count
from egparse.types import Floats, Ints, Mask, Shorts, Singles, UInt32s

Trees = Literal["projective", "non-projective"]


@dataclass(frozen=True)
class Parser:
    """Weights and what is needed to find the candidate arcs and their features; immutable.

    ``mbr_scale`` is for choosing trees, ``temperature`` for telling how probable their arcs are: a
    distribution that is good for the one is too sure for the other.
    """

    columns: ArcColumns
    texts: tuple[str, ...]
    templates: ArcTemplates
    arc_filter: ArcFilter
    weights: Singles
    trees: Trees
    single_root: bool
    mbr_scale: float
    temperature: float = 1.0

    @property
    def bits(self) -> int:
        """The binary logarithm of the size of the table of weights."""
        return len(self.weights).bit_length() - 1

    def predict(self, words: Words, constraints: ArcConstraints | None = None) -> Ints:
        """The head of each word: its position in the sentence from 1 on, 0 for the root.

        The tree with the most expected correct heads under the tree distribution with scores times
        ``mbr_scale`` (minimum Bayes risk, as Goodman 1996 decodes constituents), or for
        ``mbr_scale`` 0 the tree of highest score. Sentences of more than ``LONGEST`` words are
        parsed in pieces (see ``long_sentences``).

        With ``constraints`` the tree is one that they allow: a projective one if there is any, else
        a non-projective one; if there is none at all, the words have the head -1. Sentences of more
        than ``LONGEST`` words must have all heads fixed or no constraints.
        """
        return self._parse(words, constraints, None)

    def predict_with_probabilities(
        self, words: Words, constraints: ArcConstraints | None = None
    ) -> HeadsWithProbabilities:
        """What ``predict`` gives, and how probable the arc from each head is: its marginal under
        scores divided by ``temperature``.

        With ``constraints`` the marginals are those of the trees that they allow; fixed heads have
        probability 1. In a sentence that is parsed in pieces they are those of the word's piece.
        """
        probabilities = np.full(len(words.form_ids), np.nan)
        return HeadsWithProbabilities(self._parse(words, constraints, probabilities), probabilities)

    def with_temperature(self, temperature: float) -> Parser:
        """The same parser, whose probabilities are those of scores divided by a temperature."""
        return replace(self, temperature=temperature)

    def k_best(self, words: Words, k: int) -> list[list[ScoredTree]]:
        """For each sentence its ``k`` most probable trees over the candidate arcs, best first;
        fewer where fewer exist.

        Their distribution is that of ``predict_with_probabilities``, of scores divided by
        ``temperature``: the probabilities of all trees with an arc add up to the arc's. The first
        tree has the highest score: ``predict`` gives it for ``mbr_scale`` 0. After max-margin or
        the perceptron, log probabilities are scores less a constant, and no more. A sentence
        without words has one tree, without heads.

        Raises:
            ValueError: k < 1.
            EgparseError: a sentence of more than ``LONGEST`` words.
        """
        check_k_best(words, k)
        values = self.columns.values(words)
        return [self.k_best_of(own, k) for own in sentence_values(values, words)]

    def k_best_of(self, own: Ints, k: int) -> list[ScoredTree]:
        """As ``k_best``, for one sentence of which the column values (n + 1, columns) are given,
        those of the root first.
        """
        size = len(own)
        if size == 1:
            return [ScoredTree(np.empty(0, dtype=np.int32), 0.0)]
        scratch, search = scratch_for(self.templates, size - 1), self._search(self.trees, size - 1)
        square, marginals = (
            scratch.square.reshape(size, size),
            scratch.marginals.reshape(size, size),
        )
        _score_sentence(own, self.templates, self.arc_filter, self.weights, scratch, square)
        square /= self.temperature
        log_z = search.inference.marginals(
            square, self.single_root, marginals, search.marginal_work
        )
        trees = search.inference.k_best(square, k, self.single_root)
        return [ScoredTree(tree.heads[1:], min(0.0, tree.score - log_z)) for tree in trees]

    def _parse(
        self, words: Words, constraints: ArcConstraints | None, probabilities: Floats | None
    ) -> Ints:
        """The heads; how probable they are is written into ``probabilities`` (words,), unless
        None.
        """
        values = self.columns.values(words)
        heads = np.empty(len(words.form_ids), dtype=np.int32)
        longest = min(int(np.diff(words.starts).max(initial=1)), LONGEST)
        search = self._search(self.trees, longest)
        scratch = scratch_for(self.templates, longest)

        def best_heads(own: Ints, found: Floats | None) -> Ints:
            size = len(own)
            square = scratch.square[: size * size].reshape(size, size)
            _score_sentence(own, self.templates, self.arc_filter, self.weights, scratch, square)
            self._choose(square, scratch, search, found)
            return scratch.heads[1:size].copy()

        for i in range(words.n_sentences):
            first, end = words.starts[i], words.starts[i + 1]
            if first == end:
                continue
            own = values[first + i : end + i + 1]
            found = None if probabilities is None else probabilities[first:end]
            if constraints is not None and constraints.constrained[i]:
                heads[first:end] = self._heads_within(
                    constraints.arcs(i, first, end), own, scratch, search, found
                )
                continue
            heads[first:end] = (
                best_heads(own, found)
                if len(own) <= LONGEST + 1
                else _heads_in_pieces(own, best_heads, self.single_root, found)
            )
        return heads

    def _search(self, trees: Trees, longest: int) -> _Search:
        inference = INFERENCE[trees]
        return _Search(
            inference, inference.best_workspace(longest), inference.marginal_workspace(longest)
        )

    def _choose(
        self,
        square: Floats,
        scratch: Scratch,
        search: _Search,
        probabilities: Floats | None = None,
    ) -> float:
        """Write the tree that the scores in ``square``, which change, choose into
        ``scratch.heads``; -inf if there is none.

        The probabilities of its arcs are written into ``probabilities`` (n,), unless None: nan if
        there are none.
        """
        size = len(square)
        scores = None if probabilities is None else square / self.temperature
        marginals = scratch.marginals[: size * size].reshape(size, size)
        best = square
        if self.mbr_scale:
            square *= self.mbr_scale
            log_z = search.inference.marginals(
                square, self.single_root, marginals, search.marginal_work
            )
            if np.isfinite(log_z):
                _exclude_absent(square, marginals)
                best = marginals
        heads = scratch.heads[:size]
        score = search.inference.best(best, self.single_root, heads, search.work)
        if probabilities is not None and scores is not None:
            log_z = search.inference.marginals(
                scores, self.single_root, marginals, search.marginal_work
            )
            found = np.clip(marginals[heads[1:], np.arange(1, size)], 0.0, 1.0)
            probabilities[:] = found if np.isfinite(log_z) and score > -np.inf else np.nan
        return score

    def _heads_within(
        self,
        constraints: SentenceArcs,
        own: Ints,
        scratch: Scratch,
        search: _Search,
        probabilities: Floats | None = None,
    ) -> Ints:
        """Heads that the constraints allow, -1 if there are none; probabilities as in ``_choose``.

        Projective trees are looked for among the candidate arcs, then among all; then arcs may
        cross.
        """
        fixed, forbidden = constraints
        if np.all(fixed[1:] != FREE):
            if probabilities is not None:
                probabilities[:] = 1.0
            return fixed[1:]
        size = len(own)
        for every, crossing in ((False, False), (True, False), (False, True)):
            count = _limited_arcs(
                own, self.arc_filter, fixed, forbidden, self.single_root, every, scratch.arcs
            )
            if count == NO_TREE:
                break
            square = scratch.square[: size * size].reshape(size, size)
            _score_arcs(own, self.templates, count, self.weights, scratch, square)
            found = self._choose(
                square,
                scratch,
                self._search("non-projective", size) if crossing else search,
                probabilities,
            )
            if found > -np.inf:
                if probabilities is not None:
                    probabilities[fixed[1:] != FREE] = 1.0
                return scratch.heads[1:size].copy()
        return np.full(size - 1, NO_HEAD, dtype=np.int32)

    def to_payload(self) -> dict[str, Any]:
        """What the model file holds of it."""
        return {
            "columns": self.columns.to_payload(),
            "templates": list(self.texts),
            "filter": dict(self.arc_filter._asdict()),
            "weights": pack_weights(self.weights),
            "trees": self.trees,
            "single_root": self.single_root,
            "sharpness": self.mbr_scale,
            "temperature": self.temperature,
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], columns: Columns) -> Parser:
        """The parser over the columns of its model."""
        texts = tuple(payload["templates"])
        arc_columns = ArcColumns.from_payload(payload["columns"], columns)
        return cls(
            arc_columns,
            texts,
            compile_arc_templates(texts, arc_columns.names, BETWEEN),
            ArcFilter(**payload["filter"]),
            unpack_weights(payload["weights"]),
            payload["trees"],
            payload["single_root"],
            payload["sharpness"],
            payload.get("temperature", 1.0),  # none: egparse 0.1.0
        )


class HeadsWithProbabilities(NamedTuple):
    """The head of each word and how probable it is, nan where that cannot be said; both of shape
    (words,).
    """

    heads: Ints
    probabilities: Floats


class ScoredTree(NamedTuple):
    """A tree, ``heads[d - 1]`` being the head of word d (0 for the root), shape (n,), and the log
    of its probability in nats.
    """

    heads: Ints
    log_probability: float


def check_k_best(words: Words, k: int) -> None:
    """Raise ValueError for k < 1, EgparseError for a sentence of more than ``LONGEST`` words."""
    checked_count(k)
    longest = int(np.diff(words.starts).max(initial=0))
    if longest > LONGEST:
        raise EgparseError(
            f"k best trees: expected sentences of at most {LONGEST} words, got one of {longest}"
        )


def sentence_values(values: Ints, words: Words) -> list[Ints]:
    """The rows of column values that belong to each sentence, the root's first."""
    return [
        values[first + i : end + i + 1]
        for i, (first, end) in enumerate(zip(words.starts, words.starts[1:], strict=False))
    ]


def _heads_in_pieces(
    values: Ints,
    best_heads: Callable[[Ints, Floats | None], Ints],
    single_root: bool,
    probabilities: Floats | None = None,
) -> Ints:
    """Heads of a sentence too long for ``best_heads``; like it takes values whose first row is the
    root.

    A word's piece is parsed after the windows that it has been part of, so what is left in
    ``probabilities`` is its piece's.
    """

    def parse(first: int, end: int) -> Ints:
        found = None if probabilities is None else probabilities[first:end]
        return best_heads(np.concatenate([values[:1], values[first + 1 : end + 1]]), found)

    return parse_in_pieces(len(values) - 1, parse, single_root=single_root)


class _Search(NamedTuple):
    """The algorithms for a kind of tree and what they work with."""

    inference: Inference
    work: Any
    marginal_work: Any


class Scratch(NamedTuple):
    """Buffers for one sentence of up to a given length."""

    codes: ArcCodes
    arcs: Shorts
    scores: Floats
    places: UInt32s
    square: Floats
    marginals: Floats
    heads: Ints


def scratch_for(templates: ArcTemplates, longest: int) -> Scratch:
    """Buffers for sentences of up to ``longest`` words."""
    cells = (longest + 1) ** 2
    return Scratch(
        codes_for(templates, longest),
        np.empty((cells, 2), dtype=np.int16),
        np.empty(cells),
        np.empty(4096, dtype=np.uint32),
        np.empty(cells),
        np.empty(cells),
        np.empty(longest + 1, dtype=np.int32),
    )


def codes_for(templates: ArcTemplates, n: int) -> ArcCodes:
    """Room for the codes of a sentence of n words."""
    return ArcCodes(
        np.empty((n + 1, len(templates.head_columns)), dtype=np.uint64),
        np.empty((n + 1, len(templates.dependent_columns)), dtype=np.uint64),
        np.empty(n + 1, dtype=np.int32),
        np.zeros((n + 1, N_BETWEEN), dtype=np.int16),
    )


@njit
def _score_sentence(
    values: Ints,
    templates: ArcTemplates,
    arc_filter: ArcFilter,
    weights: Singles,
    scratch: Scratch,
    square: Floats,
) -> None:
    """Scores of the candidate arcs of one sentence into ``square[head, dependent]``, -inf
    elsewhere.
    """
    _score_arcs(
        values,
        templates,
        candidate_arcs(values, arc_filter, scratch.arcs),
        weights,
        scratch,
        square,
    )


@njit
def _limited_arcs(
    values: Ints,
    arc_filter: ArcFilter,
    fixed: Ints,
    forbidden: Mask,
    single_root: bool,
    every: bool,
    arcs: Shorts,
) -> int:
    """List the candidate arcs, or ``every`` arc, that the constraints leave; returns how many, or
    NO_TREE.
    """
    count = all_arcs(values.shape[0], arcs) if every else candidate_arcs(values, arc_filter, arcs)
    return constrain_arcs(arcs, count, fixed, forbidden, single_root, arcs)


@njit
def _score_arcs(
    values: Ints,
    templates: ArcTemplates,
    count: int,
    weights: Singles,
    scratch: Scratch,
    square: Floats,
) -> None:
    """Scores of ``scratch.arcs[:count]`` into ``square[head, dependent]``, -inf elsewhere."""
    size = values.shape[0]
    codes = ArcCodes(
        scratch.codes.head[:size],
        scratch.codes.dependent[:size],
        scratch.codes.tags[:size],
        scratch.codes.before[:size],
    )
    encode_arcs(values, templates, codes)
    arcs = scratch.arcs[:count]
    score_arcs(codes, templates, arcs, weights, scratch.places, scratch.scores)
    scatter(arcs, scratch.scores, square)


@njit
def _exclude_absent(square: Floats, marginals: Floats) -> None:
    """-inf for the arcs that are no candidates: nearly impossible is not the same as impossible."""
    for head in range(square.shape[0]):
        for dependent in range(square.shape[0]):
            if square[head, dependent] == -np.inf:
                marginals[head, dependent] = -np.inf
