"""The arc-factored dependency parser: candidate arcs by tags and length, hashed features, best
trees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
from egparse.fitting.choose_learner import build_learner, is_probabilistic
from egparse.fitting.config import ParserConfig
from egparse.fitting.optimise import Best, optimise
from egparse.fitting.progress import Listener
from egparse.learners.learner import Learner, State
from egparse.learners.offset_problem import scores_of
from egparse.parsing.arc_problem import INFERENCE, Inference, TreeProblem, scatter
from egparse.parsing.candidates import (
    ArcFilter,
    build_arc_filter,
    candidate_arcs,
    candidates_with_correct,
)
from egparse.parsing.columns import ARC_TEMPLATES, BETWEEN, ArcColumns
from egparse.parsing.constraints import (
    FREE,
    NO_TREE,
    ArcLimits,
    SentenceArcs,
    all_arcs,
    constrain_arcs,
)
from egparse.parsing.long_sentences import LONGEST, parse_in_pieces
from egparse.storage.quantised_weights import as_stored, pack_weights, unpack_weights
from egparse.structures.trees.dependency_trees import NO_HEAD, checked_count
from egparse.types import Floats, Ints, Mask, Shorts, Singles, UInt32s

Trees = Literal["projective", "non-projective"]

GOLD_THETA = 3.0
"""Initial theta of correct arcs, above the logarithm of the sentence's length (DESIGN: the gap
closes in ten passes).
"""

STEPS = {"curvature": 35.0, "work": "examples", "settled": 0.3, "share": 0.4, "least": 0.05}
"""How online EG steps, and whom it visits from the second pass on (docs/decisions/eg-steps.md)."""


@dataclass(frozen=True)
class Parser:
    """Weights and what is needed to find the candidate arcs and their features; immutable.

    ``sharpness`` is for choosing trees, ``temperature`` for telling how probable their arcs are: a
    distribution that is good for the one is too sure for the other.
    """

    columns: ArcColumns
    texts: tuple[str, ...]
    templates: ArcTemplates
    arc_filter: ArcFilter
    weights: Singles
    trees: Trees
    single_root: bool
    sharpness: float
    temperature: float = 1.0

    @property
    def bits(self) -> int:
        """The binary logarithm of the size of the table of weights."""
        return len(self.weights).bit_length() - 1

    def predict(self, words: Words, limits: ArcLimits | None = None) -> Ints:
        """The head of each word: its position in the sentence from 1 on, 0 for the root.

        The tree with the most expected correct heads under the tree distribution with scores times
        ``sharpness`` (minimum Bayes risk, as Goodman 1996 decodes constituents), or for
        ``sharpness`` 0 the tree of highest score. Sentences of more than ``LONGEST`` words are
        parsed in pieces (see ``long_sentences``).

        With ``limits`` the tree is one that they allow: projective if there is such a one, else
        non-projective, and if there is none at all the words have the head -1. Longer sentences
        than ``LONGEST`` must have all heads fixed or no limits.
        """
        return self._parse(words, limits, None)

    def predict_with_probabilities(
        self, words: Words, limits: ArcLimits | None = None
    ) -> HeadsWithProbabilities:
        """What ``predict`` gives, and how probable the arc from each head is: its marginal under
        scores divided by ``temperature``.

        With ``limits`` the marginals are those of the trees that they allow; fixed heads have
        probability 1. In a sentence that is parsed in pieces they are those of the word's piece.
        """
        probabilities = np.full(len(words.form_ids), np.nan)
        return HeadsWithProbabilities(self._parse(words, limits, probabilities), probabilities)

    def k_best(self, words: Words, k: int) -> list[list[ScoredTree]]:
        """For each sentence its ``k`` most probable trees over the candidate arcs, best first;
        fewer where fewer exist.

        Their distribution is that of ``predict_with_probabilities``, of scores divided by
        ``temperature``: the probabilities of all trees with an arc add up to the arc's. The first
        tree has the highest score: ``predict`` gives it for ``sharpness`` 0. After max-margin or
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

    def _parse(self, words: Words, limits: ArcLimits | None, probabilities: Floats | None) -> Ints:
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
            if limits is not None and limits.limited[i]:
                heads[first:end] = self._heads_within(
                    limits.arcs(i, first, end), own, scratch, search, found
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
        if self.sharpness:
            square *= self.sharpness
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
        limits: SentenceArcs,
        own: Ints,
        scratch: Scratch,
        search: _Search,
        probabilities: Floats | None = None,
    ) -> Ints:
        """Heads that the limits allow, -1 if there are none; their probabilities as in ``_choose``.

        Projective trees are looked for among the candidate arcs, then among all; then arcs may
        cross.
        """
        fixed, forbidden = limits
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
            "sharpness": self.sharpness,
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


class PreparedParser(NamedTuple):
    """A learner at its first point, and how to copy the parser out of it."""

    learner: Learner
    state: Any
    snapshot: Callable[[State], Parser]


def train_parser(
    words: Words,
    heads: Sequence[Ints],
    columns: Columns,
    config: ParserConfig,
    *,
    trees: Trees,
    seed: int,
    listener: Listener,
    score: Callable[[Parser], float] | None = None,
    task: str = "parser",
    base: Parser | None = None,
) -> Best[Parser]:
    """Train on words with filled tag columns; ``heads[i]`` holds the heads of sentence i (see
    ``Parser.predict``).

    With a ``base``, over the same columns, training goes on from it, with its templates and its
    kind of trees.
    """
    learner, state, snapshot = prepare_parser(
        words, heads, columns, config, trees=trees, seed=seed, base=base
    )
    return optimise(learner, state, config.stop, snapshot, score, task, listener)


def prepare_parser(
    words: Words,
    heads: Sequence[Ints],
    columns: Columns,
    config: ParserConfig,
    *,
    trees: Trees,
    seed: int,
    base: Parser | None = None,
) -> PreparedParser:
    """Compile the templates, build the filter, encode the sentences, lay out weights and duals."""
    arc_columns = (
        base.columns.extended(words, config.min_form_count)
        if base
        else ArcColumns.build(words, columns, config.min_form_count)
    )
    texts = base.texts if base else config.templates or ARC_TEMPLATES
    templates = compile_arc_templates(texts, arc_columns.names, BETWEEN)
    sentences = sentence_values(arc_columns.values(words), words)
    upos = arc_columns.names.index("upos")
    tags = columns.labels.get("upos")
    verb = tags.values.get("VERB", -1) if tags else -1
    filter_of_base = None if base is None else base.arc_filter
    arc_filter = build_arc_filter(sentences, heads, upos, verb, config.arc_share, filter_of_base)
    codes = []
    for own in sentences:
        codes.append(codes_for(templates, len(own) - 1))
        encode_arcs(own, templates, codes[-1])
    problem = TreeProblem(
        codes=codes,
        arcs=[
            candidates_with_correct(own, correct, arc_filter)
            for own, correct in zip(sentences, heads, strict=True)
        ],
        heads=heads,
        templates=templates,
        bits=base.bits if base else config.bits,
        trees=trees,
        single_root=config.single_root,
    )
    offsets = None
    if base is not None:
        problem.weights[:] = base.weights
        offsets = scores_of(problem)
    learner = build_learner(problem, config, seed, offsets, **STEPS)
    lengths = np.maximum(1, np.diff(words.starts))
    state = learner.initialise(GOLD_THETA + np.log(lengths))

    def snapshot(state: State) -> Parser:
        weights = problem.weights * np.float32(state.scale)
        weights = as_stored(weights if base is None else base.weights + weights)
        sharpness = config.sharpness if is_probabilistic(config) else 0.0
        return Parser(
            arc_columns,
            tuple(texts),
            templates,
            arc_filter,
            weights,
            trees,
            config.single_root,
            sharpness,
        )

    return PreparedParser(learner, state, snapshot)


def choose_trees(heads: Sequence[Ints], config: ParserConfig) -> Trees:
    """Projective unless told otherwise or more than the configured share of arcs cross others."""
    if config.trees != "auto":
        return config.trees
    crossing = sum(crossing_arcs(own) for own in heads)
    total = sum(len(own) for own in heads)
    return (
        "non-projective" if crossing > config.non_projective_above * max(1, total) else "projective"
    )


@njit
def crossing_arcs(heads: Ints) -> int:
    """How many words hang on an arc that is not projective: some word under the arc does not
    descend from its head.
    """
    n = heads.shape[0]
    count = 0
    for dependent in range(1, n + 1):
        head = heads[dependent - 1]
        for between in range(min(head, dependent) + 1, max(head, dependent)):
            above = between
            while above > 0 and above != head:
                above = heads[above - 1]
            if above != head:
                count += 1
                break
    return count
