"""The second-order parser: a pruner, then arcs with their labels, siblings and grandparents over
the arcs that are left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from egparse.features.word_table import Columns, Words
from egparse.parsing.arc_parser import (
    HeadsWithProbabilities,
    Parser,
    ScoredTree,
    check_k_best,
    sentence_values,
)
from egparse.parsing.arc_problem import Trees
from egparse.parsing.candidates import candidate_arcs
from egparse.parsing.constraints import FREE, NO_TREE, ArcConstraints, constrain_arcs
from egparse.parsing.label_candidates import ArcLabelDictionary
from egparse.parsing.long_sentences import LONGEST, parse_in_pieces
from egparse.parsing.second_order.decode import ANY_ARCS, Pieces, parse_one, parse_sentences
from egparse.parsing.second_order.features import (
    Templates,
    compile_templates,
    sum_labels,
    visit_parts,
)
from egparse.parsing.second_order.k_best import k_best_crossing
from egparse.parsing.second_order.parts import Kernel, Order, Pruning, parts_of, scratch_for
from egparse.storage.quantised_weights import pack_weights, unpack_weights
from egparse.structures.second_order.projective import inside_outside
from egparse.structures.second_order.projective_log import k_best
from egparse.structures.trees.dependency_trees import NO_HEAD
from egparse.types import Floats, Ints, Singles


@dataclass(frozen=True)
class SecondOrderParser:
    """Weights and what is needed to find candidate arcs, their labels and pairs, and their
    features; immutable.

    ``labels`` are those behind the ranks of the dictionary, for training to go on from.
    """

    pruner: Parser
    pruning: Pruning
    order: Order
    dictionary: ArcLabelDictionary
    texts: Mapping[str, tuple[str, ...]]
    templates: Templates
    weights: Singles
    mbr_scale: float
    temperature: float = 1.0
    labels: tuple[str, ...] = ()

    @property
    def trees(self) -> Trees:
        """The kind of trees."""
        return self.pruner.trees

    @property
    def single_root(self) -> bool:
        """Whether trees have just one root."""
        return self.pruner.single_root

    def predict(self, words: Words, constraints: ArcConstraints | None = None) -> Ints:
        """The head of each word: its position in the sentence from 1 on, 0 for the root; see
        ``Parser.predict``.

        The tree with the most expected correct heads under the marginals of arcs (minimum Bayes
        risk). A sentence gets the tree of the pruner where the arcs that it leaves have none, or
        where ``constraints`` leave none that is projective.
        """
        return self._predict(words, constraints, self.kernel())[0]

    def predict_with_probabilities(
        self, words: Words, constraints: ArcConstraints | None = None
    ) -> HeadsWithProbabilities:
        """The heads, and the marginal probability of each chosen arc under scores divided by
        ``temperature``.

        Fixed heads have probability 1. In a sentence whose tree is the pruner's, probabilities are
        the pruner's.
        """
        heads, probabilities = self._predict(
            words, constraints, self.kernel(with_probabilities=True)
        )
        if constraints is not None:
            probabilities[(constraints.heads != FREE) & (heads == constraints.heads)] = 1.0
        return HeadsWithProbabilities(heads, probabilities)

    def with_temperature(self, temperature: float) -> SecondOrderParser:
        """The same parser, whose probabilities are those of scores divided by a temperature."""
        return replace(self, temperature=temperature)

    def k_best(self, words: Words, k: int) -> list[list[ScoredTree]]:
        """For each sentence its ``k`` most probable trees over the arcs that the pruner leaves,
        best first; fewer where fewer exist.

        Their distribution is that of scores divided by ``temperature``, labels summed out.
        Projective trees and their probabilities are exact, however expectations are taken in
        parsing. Where arcs may cross, more than ``k`` trees are found by the product of their arcs'
        pseudo-marginals, and the ``k`` of highest score among them are listed. log Z is then the
        estimate of loopy belief propagation, but never less than the trees that have been found add
        up to, and just that where all have been found.

        See ``Parser.k_best`` for the rest. A sentence gets the trees of the pruner where the arcs
        that it leaves have none.

        Raises:
            ValueError: k < 1.
            EgparseError: a sentence of more than ``LONGEST`` words.
        """
        check_k_best(words, k)
        kernel = self.kernel(with_probabilities=True)
        values = sentence_values(self.pruner.columns.values(words), words)
        return [self._k_best_of(own, k, kernel) or self.pruner.k_best_of(own, k) for own in values]

    def _k_best_of(self, own: Ints, k: int, kernel: Kernel) -> list[ScoredTree]:
        """Of one sentence with the given column values; none where it is to be left to the
        pruner.
        """
        if len(own) == 1:
            return []
        scratch = scratch_for(len(own) - 1, self.order)
        codes, parts = parts_of(own, kernel, scratch)
        graph = parts.graph
        if len(graph.arcs) == 0:
            return []
        n = graph.pairs[-1]
        scores = np.empty(n + len(parts.labels.labels))
        visit_parts(
            codes, kernel.templates, parts, scores, kernel.weights, scratch.buffers.places, False
        )
        pooled, shares = np.empty(n), np.empty(len(parts.labels.labels))
        sum_labels(parts, scores / kernel.temperature, pooled, shares)
        if self.order.projective:
            log_z = inside_outside(graph, pooled, self.single_root, np.empty(n))
            trees = k_best(graph, pooled, k, self.single_root)
        else:
            log_z, trees = k_best_crossing(graph, pooled, k, self.single_root)
        return [ScoredTree(tree.heads[1:], min(0.0, tree.score - log_z)) for tree in trees]

    def _predict(
        self, words: Words, constraints: ArcConstraints | None, kernel: Kernel
    ) -> tuple[Ints, Floats]:
        values = self.pruner.columns.values(words)
        heads = np.full(len(words.form_ids), NO_HEAD, dtype=np.int32)
        probabilities = np.ones(len(heads))
        lengths = np.diff(words.starts)
        constrained = (
            np.zeros(len(lengths), dtype=np.bool_)
            if constraints is None
            else constraints.constrained
        )
        whole = (lengths <= LONGEST) & (lengths > 0)
        scratch = scratch_for(int(lengths[whole].max(initial=1)), self.order)
        done = whole & ~constrained
        parse_sentences(values, words.starts, done, ANY_ARCS, kernel, scratch, heads, probabilities)
        for i in np.flatnonzero(whole & constrained):
            assert constraints is not None
            first, end = words.starts[i], words.starts[i + 1]
            own = values[first + i : end + i + 1]
            count = candidate_arcs(own, kernel.arc_filter, scratch.buffers.arcs)
            count = constrain_arcs(
                scratch.buffers.arcs,
                count,
                *constraints.arcs(int(i), first, end),
                self.single_root,
                scratch.buffers.arcs,
            )
            if count != NO_TREE:
                arcs = scratch.buffers.arcs[:count].copy()
                done[i] = parse_one(
                    own, arcs, kernel, scratch, heads[first:end], probabilities[first:end]
                )
        for i in np.flatnonzero(~whole & ~constrained & (lengths > 0)):
            first, end = words.starts[i], words.starts[i + 1]
            pieces = Pieces(values[first + i : end + i + 1], kernel)
            heads[first:end] = parse_in_pieces(
                int(end - first), pieces.heads, single_root=self.single_root
            )
            probabilities[first:end] = pieces.probabilities
            done[i] = pieces.all_parsed
        left = np.repeat(~done, lengths)
        if left.any():
            of_pruner = self.pruner.predict_with_probabilities(words, constraints)
            heads[left], probabilities[left] = of_pruner[0][left], of_pruner[1][left]
        return heads, probabilities

    def kernel(self, with_probabilities: bool = False) -> Kernel:
        """What compiled loops take."""
        return Kernel(
            self.pruner.arc_filter,
            self.pruner.weights,
            self.pruning,
            self.order,
            self.dictionary,
            self.templates,
            self.weights,
            self.mbr_scale,
            self.temperature if with_probabilities else 0.0,
        )

    def to_payload(self) -> dict[str, Any]:
        """What the model file holds of it."""
        return {
            "pruner": self.pruner.to_payload(),
            "pruning": dict(self.pruning._asdict()),
            "order": dict(self.order._asdict()),
            "dictionary": dict(self.dictionary._asdict()),
            "templates": {name: list(texts) for name, texts in self.texts.items()},
            "weights": pack_weights(self.weights),
            "sharpness": self.mbr_scale,
            "temperature": self.temperature,
            "labels": list(self.labels),
        }

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], columns: Columns) -> SecondOrderParser:
        """The parser over the columns of its model."""
        pruner = Parser.from_payload(payload["pruner"], columns)
        texts = {name: tuple(own) for name, own in payload["templates"].items()}
        dictionary = payload["dictionary"]
        return cls(
            pruner,
            Pruning(**payload["pruning"]),
            Order(**payload["order"]),
            ArcLabelDictionary(
                dictionary["labels"].copy(),
                dictionary["starts"].copy(),
                dictionary["column"],
                dictionary["n_tags"],
            ),
            texts,
            compile_templates(pruner.templates, pruner.columns.names, **texts),
            unpack_weights(payload["weights"]),
            payload["sharpness"],
            payload["temperature"],
            tuple(payload.get("labels", ())),  # none: egparse 0.1.0
        )
