"""The arc-factored dependency parser: candidate arcs by tags and length, hashed features, and the
tree by minimum Bayes risk.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, get_args, overload

import numpy as np

from egparse.compilation import njit
from egparse.features.arcs import (
    MAX_TEMPLATES,
    ArcCodes,
    ArcTemplates,
    compile_arc_templates,
    encode_arcs,
    score_arcs,
)
from egparse.features.sentence_context import N_BETWEEN
from egparse.features.word_table import Columns, Words
from egparse.parsing.candidates import N_CELLS, ArcFilter, candidate_arcs
from egparse.parsing.columns import BETWEEN, ArcColumns, arc_column_names
from egparse.parsing.constraints import (
    FREE,
    NO_TREE,
    ArcConstraints,
    SentenceArcs,
    all_arcs,
    constrain_arcs,
)
from egparse.parsing.long_sentences import LONGEST, parse_in_pieces
from egparse.parsing.parser import (
    AnyParser,
    HeadsWithProbabilities,
    ScoredTree,
    sentence_values,
)
from egparse.parsing.tree_inference import INFERENCE, Inference, Trees, scatter
from egparse.storage.arrays import pack_weights
from egparse.storage.ragged import Ragged
from egparse.storage.schema import (
    FLAG,
    SECTION,
    TEMPERATURE,
    Array,
    HashedWeights,
    Integer,
    Number,
    Record,
    Stored,
    Strings,
    choice,
)
from egparse.structures.trees.dependency_trees import NO_HEAD
from egparse.types import Arcs, Floats, Ints, Mask, Singles, UInt32s

STORED_PARSER = Record(
    {
        "columns": SECTION,
        "templates": Strings(most=MAX_TEMPLATES, longest=500, distinct=False),
        "filter": Record(
            {
                "frequency": Array("float32", ("tags", "tags", N_CELLS), low=0.0, high=1.0),
                "column": Integer(0, len(arc_column_names()) - 1),
                "verb": Integer(-1),  # no verbs: -1
                "share": Number(0.0, 1.0),
            }
        ),
        "weights": HashedWeights(),
        "trees": choice(get_args(Trees)),
        "single_root": FLAG,
        "sharpness": Number(),
        "temperature": TEMPERATURE,
    }
)
"""An arc-factored parser in a model file."""


@dataclass(frozen=True)
class Parser(AnyParser):
    """An arc-factored parser: weights, and what lists candidate arcs and extracts their
    features.
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

    def over(self, columns: Columns) -> Parser:
        """See ``AnyParser``."""
        return replace(self, columns=self.columns.over(columns))

    def sentences(self, words: Words) -> Ragged[Ints]:
        """See ``AnyParser``."""
        return sentence_values(self.columns.values(words), words)

    def k_best_of(self, values: Ints, k: int) -> list[ScoredTree]:
        """See ``AnyParser``."""
        size = len(values)
        if size == 1:
            return [ScoredTree(np.empty(0, dtype=np.int32), 0.0)]
        decoder = _Decoder(self, size - 1)
        scores, marginals = decoder.scores(values), np.empty((size, size))
        scores /= self.temperature
        log_z = decoder.search.marginals(scores, self.single_root, marginals)
        trees = decoder.search.inference.k_best(scores, k, self.single_root)
        return [ScoredTree(tree.heads[1:], min(0.0, tree.score - log_z)) for tree in trees]

    def _parse(
        self, words: Words, constraints: ArcConstraints | None, with_probabilities: bool
    ) -> HeadsWithProbabilities:
        values, n_words = self.sentences(words), words.n_words
        heads, probabilities = np.empty(n_words, dtype=np.int32), np.full(n_words, np.nan)
        longest = min(int(np.diff(words.starts).max(initial=1)), LONGEST)
        decoder = _Decoder(self, longest, with_probabilities)
        for i, (first, end) in enumerate(itertools.pairwise(words.starts)):
            if first == end:
                continue
            if constraints is not None and constraints.constrained[i]:
                found = decoder.parse_constrained(values[i], constraints.arcs(i, first, end))
            else:
                found = decoder.parse(values[i])
            heads[first:end], probabilities[first:end] = found
        return HeadsWithProbabilities(heads, probabilities)

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
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
    def from_payload(cls, stored: Stored, columns: Columns) -> Parser:
        """The parser of a model file, over the columns of its model.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_PARSER)
        texts = tuple(read["templates"])
        with stored.naming("templates"):
            templates = compile_arc_templates(
                texts, arc_column_names(columns.class_names, columns.has_supertags), BETWEEN
            )
        return cls(
            ArcColumns.from_payload(read["columns"], columns),
            texts,
            templates,
            ArcFilter(**read["filter"]),
            read["weights"],
            read["trees"],
            read["single_root"],
            read["sharpness"],
            read["temperature"],
        )


class _Search(NamedTuple):
    """The algorithms for a kind of tree, and workspaces for them."""

    inference: Inference
    best_work: Any
    marginal_work: Any

    @classmethod
    def of(cls, trees: Trees, longest: int) -> _Search:
        """For sentences of up to ``longest`` words."""
        inference = INFERENCE[trees]
        return cls(
            inference, inference.best_workspace(longest), inference.marginal_workspace(longest)
        )

    def best(self, scores: Floats, single_root: bool, heads: Ints) -> float:
        """Write the ``heads`` (n + 1,) of the best tree and return its score."""
        return self.inference.best(scores, single_root, heads, self.best_work)

    def marginals(self, scores: Floats, single_root: bool, marginals: Floats) -> float:
        """Write the ``marginals`` [head, dependent] and return log Z."""
        return self.inference.marginals(scores, single_root, marginals, self.marginal_work)


class _Decoder:
    """Parses with one parser, and holds the buffers and workspaces for sentences of up to
    ``longest`` words.

    Without ``with_probabilities`` all probabilities are nan.
    """

    def __init__(self, parser: Parser, longest: int, with_probabilities: bool = False) -> None:
        self.parser, self.with_probabilities = parser, with_probabilities
        self.scratch = scratch_for(parser.templates, longest)
        self.search = _Search.of(parser.trees, longest)

    def parse(self, values: Ints) -> HeadsWithProbabilities:
        """The tree of a sentence with column values (n + 1, columns), in pieces if it is longer
        than ``LONGEST``; head -1 and nan for every word if there is none.
        """
        if len(values) > LONGEST + 1:
            return self._parse_in_pieces(values)
        return self._best_tree(self.scores(values), self.search) or _no_tree(len(values) - 1)

    def parse_constrained(self, values: Ints, constraints: SentenceArcs) -> HeadsWithProbabilities:
        """The tree of a sentence within its constraints; fixed heads have probability 1.

        Projective trees are searched for over the candidate arcs, then over all arcs; then the arcs
        of the tree may cross.
        """
        fixed, forbidden = constraints
        n, parser, is_fixed = len(values) - 1, self.parser, fixed[1:] != FREE
        if np.all(is_fixed):
            return HeadsWithProbabilities(fixed[1:], np.ones(n))
        for every_arc, crossing in ((False, False), (True, False), (False, True)):
            count = _constrained_arcs(
                values,
                parser.arc_filter,
                fixed,
                forbidden,
                parser.single_root,
                every_arc,
                self.scratch.arcs,
            )
            if count == NO_TREE:
                break
            scores = self._square(n + 1)
            _score_arcs(values, parser.templates, count, parser.weights, self.scratch, scores)
            search = _Search.of("non-projective", n) if crossing else self.search
            tree = self._best_tree(scores, search)
            if tree is not None:
                tree.probabilities[is_fixed] = 1.0
                return tree
        return _no_tree(n)

    def scores(self, values: Ints) -> Floats:
        """Scores [head, dependent] of the candidate arcs in a buffer; -inf for all others."""
        parser, scores = self.parser, self._square(len(values))
        _score_sentence(
            values, parser.templates, parser.arc_filter, parser.weights, self.scratch, scores
        )
        return scores

    def _best_tree(self, scores: Floats, search: _Search) -> HeadsWithProbabilities | None:
        """The tree that minimum Bayes risk selects by ``scores``, which are overwritten; None if
        there is no tree.
        """
        parser, size = self.parser, len(scores)
        marginals = self.scratch.marginals[: size * size].reshape(size, size)
        tempered = scores / parser.temperature if self.with_probabilities else None
        objective = scores
        if parser.mbr_scale:
            scores *= parser.mbr_scale
            if np.isfinite(search.marginals(scores, parser.single_root, marginals)):
                _exclude_absent(scores, marginals)
                objective = marginals
        heads = self.scratch.heads[:size]
        if not search.best(objective, parser.single_root, heads) > -np.inf:
            return None
        probabilities = np.full(size - 1, np.nan)
        if tempered is not None:
            log_z = search.marginals(tempered, parser.single_root, marginals)
            if np.isfinite(log_z):
                probabilities = np.clip(marginals[heads[1:], np.arange(1, size)], 0.0, 1.0)
        return HeadsWithProbabilities(heads[1:].copy(), probabilities)

    def _parse_in_pieces(self, values: Ints) -> HeadsWithProbabilities:
        probabilities = np.full(len(values) - 1, np.nan)

        def parse(first: int, end: int) -> Ints:
            piece = self.parse(np.concatenate([values[:1], values[first + 1 : end + 1]]))
            # a piece is parsed after the windows that contain it: its probabilities remain
            probabilities[first:end] = piece.probabilities
            return piece.heads

        heads = parse_in_pieces(len(values) - 1, parse, single_root=self.parser.single_root)
        return HeadsWithProbabilities(heads, probabilities)

    def _square(self, size: int) -> Floats:
        return self.scratch.square[: size * size].reshape(size, size)


def _no_tree(n: int) -> HeadsWithProbabilities:
    return HeadsWithProbabilities(np.full(n, NO_HEAD, dtype=np.int32), np.full(n, np.nan))


class Scratch(NamedTuple):
    """Buffers for one sentence of up to a given length."""

    codes: ArcCodes
    arcs: Arcs
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


class CodesOfSentences(Sequence[ArcCodes]):
    """The codes of sentences by their column ``values``, one after the other in a few arrays."""

    def __init__(self, values: Sequence[Ints], templates: ArcTemplates) -> None:
        starts = np.zeros(len(values) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, values), dtype=np.int64), out=starts[1:])
        self._starts, self._codes = starts, codes_for(templates, int(starts[-1]) - 1)
        for i, of_sentence in enumerate(values):
            encode_arcs(of_sentence, templates, self[i])

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, i: int) -> ArcCodes: ...

    @overload
    def __getitem__(self, i: slice) -> Sequence[ArcCodes]: ...

    def __getitem__(self, i: int | slice) -> ArcCodes | Sequence[ArcCodes]:
        if isinstance(i, slice):
            return [self[one] for one in range(*i.indices(len(self)))]
        head, dependent, tags, before = self._codes
        first, end = self._starts[i], self._starts[i + 1]
        return ArcCodes(head[first:end], dependent[first:end], tags[first:end], before[first:end])


def codes_for(templates: ArcTemplates, n: int) -> ArcCodes:
    """Buffers for the codes of a sentence of n words."""
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
    """Write the scores of the candidate arcs of one sentence to ``square[head, dependent]``, -inf
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
def _constrained_arcs(
    values: Ints,
    arc_filter: ArcFilter,
    fixed: Ints,
    forbidden: Mask,
    single_root: bool,
    every_arc: bool,
    arcs: Arcs,
) -> int:
    """List the candidate arcs, or all arcs if ``every_arc``, that the constraints allow; returns
    how many, or NO_TREE.
    """
    if every_arc:
        count = all_arcs(values.shape[0], arcs)
    else:
        count = candidate_arcs(values, arc_filter, arcs)
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
    """Write the scores of ``scratch.arcs[:count]`` to ``square``, -inf elsewhere."""
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
    """Set the marginals of arcs that are not candidates to -inf: with 0 they could be in a tree."""
    for head in range(square.shape[0]):
        for dependent in range(square.shape[0]):
            if square[head, dependent] == -np.inf:
                marginals[head, dependent] = -np.inf
