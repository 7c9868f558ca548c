"""The arc-factored dependency parser: candidate arcs by tags and length, hashed features, and the
tree by minimum Bayes risk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from egparse.compilation import njit
from egparse.features.arcs import (
    MAX_TEMPLATES,
    ArcTemplates,
    compile_arc_templates,
    encode_sentence,
    score_arcs,
)
from egparse.features.word_table import Columns, Words
from egparse.parsing.candidates import ALL_CANDIDATES, N_CELLS, ArcFilter, list_arcs
from egparse.parsing.columns import BETWEEN, ArcColumns, arc_column_names
from egparse.parsing.constraints import SentenceArcs, allowed_arcs
from egparse.parsing.parser import (
    AnyParser,
    Decoder,
    HeadsWithProbabilities,
    ScoredTree,
    sentence_values,
)
from egparse.parsing.tree_inference import Buffers, TreeInference, Trees, scatter
from egparse.storage.arrays import Weights, pack_weights
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
from egparse.types import Arcs, Floats, Ints

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
class ArcParser(AnyParser):
    """An arc-factored parser: weights, and what lists candidate arcs and extracts their
    features.
    """

    columns: ArcColumns
    texts: tuple[str, ...]
    templates: ArcTemplates
    arc_filter: ArcFilter
    table: Weights
    trees: Trees
    single_root: bool
    mbr_scale: float
    temperature: float = 1.0

    def over(self, columns: Columns) -> ArcParser:
        return replace(self, columns=self.columns.over(columns))

    def sentences(self, words: Words) -> Ragged[Ints]:
        return sentence_values(self.columns.values(words), words)

    def decoder(self, longest: int, with_probabilities: bool) -> ArcDecoder:
        return ArcDecoder(self, longest, with_probabilities)

    def k_best_of(self, values: Ints, k: int) -> list[ScoredTree]:
        size = len(values)
        if size == 1:
            return [ScoredTree(np.empty(0, dtype=np.int32), 0.0)]
        decoder = self.decoder(size - 1, False)
        scores = decoder.scores(values)
        scores /= self.temperature
        log_z = decoder.inference.marginals(scores, np.empty((size, size)))
        trees = decoder.inference.k_best(scores, k)
        return [ScoredTree(tree.heads[1:], min(0.0, tree.score - log_z)) for tree in trees]

    def to_payload(self) -> dict[str, Any]:
        return {
            "columns": self.columns.to_payload(),
            "templates": list(self.texts),
            "filter": dict(self.arc_filter._asdict()),
            "weights": pack_weights(self.table),
            "trees": self.trees,
            "single_root": self.single_root,
            "sharpness": self.mbr_scale,
            "temperature": self.temperature,
        }

    @classmethod
    def from_payload(cls, stored: Stored, columns: Columns) -> ArcParser:
        """The parser of a model file, over the columns of its model.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_PARSER)
        texts = tuple(read["templates"])
        names = arc_column_names(columns.class_names, columns.further)
        with stored.naming("templates"):
            templates = compile_arc_templates(texts, names, BETWEEN)
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


class ArcDecoder(Decoder):
    """Parses by the scores of arcs."""

    def __init__(self, parser: ArcParser, longest: int, with_probabilities: bool) -> None:
        self.single_root, self._with_probabilities = parser.single_root, with_probabilities
        self._parser, self._buffers = parser, Buffers.of(longest)
        self.inference = TreeInference(parser.trees, parser.single_root, longest)

    def whole(self, values: Ints, limits: SentenceArcs | None) -> HeadsWithProbabilities | None:
        """See ``Decoder``. Within constraints projective trees are searched for over the candidate
        arcs, then over all arcs; then the arcs of the tree may cross.
        """
        if limits is None:
            return self._best_tree(self.scores(values), self.inference)
        single_root, room = self.single_root, self._buffers.arcs
        for every_arc, crossing in ((False, False), (True, False), (False, True)):
            arcs = allowed_arcs(
                values, self._parser.arc_filter, limits, single_root, room, every_arc
            )
            if not len(arcs):
                return None
            inference = self.inference
            if crossing:
                inference = TreeInference("non-projective", single_root, len(values) - 1)
            tree = self._best_tree(self.scores(values, arcs), inference)
            if tree is not None:
                return tree
        return None

    def scores(self, values: Ints, candidates: Arcs = ALL_CANDIDATES) -> Floats:
        """Scores [head, dependent] of the given candidate arcs, or those of the filter, in a
        buffer; -inf for all others.
        """
        parser, size = self._parser, len(values)
        square = self._buffers.square[: size * size].reshape(size, size)
        _score_sentence(
            values,
            candidates,
            parser.arc_filter,
            parser.templates,
            parser.table,
            self._buffers,
            square,
        )
        return square

    def _best_tree(self, scores: Floats, inference: TreeInference) -> HeadsWithProbabilities | None:
        """The tree that minimum Bayes risk selects by ``scores``, which are overwritten; None if
        there is no tree.
        """
        parser, size = self._parser, len(scores)
        marginals = self._buffers.marginals[: size * size].reshape(size, size)
        tempered = scores / parser.temperature if self._with_probabilities else None
        objective = scores
        if parser.mbr_scale:
            scores *= parser.mbr_scale
            if np.isfinite(inference.marginals(scores, marginals)):
                # with a marginal of 0, an arc that is no candidate could be in a tree
                np.copyto(marginals, -np.inf, where=scores == -np.inf)
                objective = marginals
        heads = self._buffers.heads[:size]
        if not inference.best(objective, heads) > -np.inf:
            return None
        probabilities = np.full(size - 1, np.nan)
        if tempered is not None and np.isfinite(inference.marginals(tempered, marginals)):
            probabilities = np.clip(marginals[heads[1:], np.arange(1, size)], 0.0, 1.0)
        return HeadsWithProbabilities(heads[1:].copy(), probabilities)


@njit
def _score_sentence(
    values: Ints,
    candidates: Arcs,
    arc_filter: ArcFilter,
    templates: ArcTemplates,
    weights: Weights,
    buffers: Buffers,
    square: Floats,
) -> None:
    arcs = list_arcs(values, candidates, arc_filter, buffers.arcs)
    codes = encode_sentence(values, templates)
    score_arcs(codes, templates, arcs, weights, buffers.places, buffers.scores)
    scatter(arcs, buffers.scores, square)
