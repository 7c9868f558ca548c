"""The second-order parser: an arc-factored pruner, and weights of labelled arcs, siblings and
grandparents over the arcs that it keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from egparse.features.arcs import MAX_TEMPLATES
from egparse.features.word_table import Columns, Words
from egparse.parsing.arc_parser import Parser
from egparse.parsing.candidates import candidate_arcs
from egparse.parsing.columns import arc_column_names
from egparse.parsing.constraints import FREE, NO_TREE, ArcConstraints, constrain_arcs
from egparse.parsing.label_candidates import MOST_LABELS, ArcLabelDictionary
from egparse.parsing.long_sentences import LONGEST, WINDOW, parse_in_pieces
from egparse.parsing.parser import AnyParser, HeadsWithProbabilities, ScoredTree
from egparse.parsing.second_order.decode import (
    PARSED,
    SKIPPED,
    WAITING,
    Batch,
    Decoder,
)
from egparse.parsing.second_order.features import Templates, compile_templates
from egparse.parsing.second_order.k_best import k_best_trees
from egparse.parsing.second_order.parts import KernelModel, Pruning, Structure
from egparse.parsing.tree_inference import Trees
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
)
from egparse.structures.trees.dependency_trees import NO_HEAD
from egparse.types import Ints, Mask, Singles

_TEMPLATES = Strings(most=MAX_TEMPLATES, longest=500, distinct=False)

STORED_PARSER = Record(
    {
        "pruner": SECTION,
        "pruning": Record({"heads": Integer(1, 32), "share": Number(0.0, 1.0)}),
        "order": Record(dict.fromkeys(Structure._fields, FLAG)),
        "dictionary": Record(
            {
                "labels": Array("uint8", ("entries",)),
                "starts": Array("int32", ("starts",)),
                "column": Integer(0, len(arc_column_names()) - 1),
                "n_tags": Integer(1, 1 << 15),
            }
        ),
        "templates": Record(
            {"siblings": _TEMPLATES, "grandparents": _TEMPLATES, "labels": _TEMPLATES}
        ),
        "weights": HashedWeights(),
        "sharpness": Number(),
        "temperature": TEMPERATURE,
        "labels": Strings(most=MOST_LABELS),
    }
)
"""A second-order parser in a model file."""


@dataclass(frozen=True)
class SecondOrderParser(AnyParser):
    """The pruner, the weights of parts, and what lists candidate arcs, labels and pairs and
    extracts their features. A sentence gets the tree of the pruner, and its probabilities, if the
    arcs that the pruner keeps have no tree, or if constraints allow no projective tree over them.

    ``labels`` are the strings behind the label ranks of the dictionary; training that continues
    from this parser needs them.
    """

    pruner: Parser
    pruning: Pruning
    structure: Structure
    dictionary: ArcLabelDictionary
    texts: Mapping[str, tuple[str, ...]]
    templates: Templates
    weights: Singles
    mbr_scale: float
    temperature: float = 1.0
    labels: tuple[str, ...] = ()

    def over(self, columns: Columns) -> SecondOrderParser:
        """See ``AnyParser``."""
        return replace(self, pruner=self.pruner.over(columns))

    def reduced(self, config: Any = None, columns: Columns | None = None) -> SecondOrderParser:
        """See ``AnyParser``."""
        return replace(super().reduced(), pruner=self.pruner.reduced())

    def sentences(self, words: Words) -> Ragged[Ints]:
        """See ``AnyParser``."""
        return self.pruner.sentences(words)

    @property
    def trees(self) -> Trees:
        """The kind of trees."""
        return self.pruner.trees

    @property
    def single_root(self) -> bool:
        """Whether trees have just one root."""
        return self.pruner.single_root

    def k_best_of(self, values: Ints, k: int) -> list[ScoredTree]:
        """See ``AnyParser``: trees over the arcs that the pruner keeps, with labels summed out.

        Projective trees and their probabilities are exact, even if the parser itself uses loopy
        inference. Where arcs may cross, twice as many trees as asked for are listed by the product
        of their arcs' pseudo-marginals, and the ``k`` of highest score among them are returned.
        log Z is then the estimate of loopy belief propagation, but at least the log of the sum over
        the listed trees, and exactly that if these are all trees.
        """
        model = self.kernel_model(with_probabilities=True)
        return k_best_trees(values, k, model) or self.pruner.k_best_of(values, k)

    def kernel_model(self, with_probabilities: bool = False) -> KernelModel:
        """The parser as compiled kernels take it."""
        return KernelModel(
            self.pruner.arc_filter,
            self.pruner.weights,
            self.pruning,
            self.structure,
            self.dictionary,
            self.templates,
            self.weights,
            self.mbr_scale,
            self.temperature if with_probabilities else 0.0,
        )

    def _parse(
        self, words: Words, constraints: ArcConstraints | None, with_probabilities: bool
    ) -> HeadsWithProbabilities:
        """Sentences of up to ``LONGEST`` words are parsed all at once, then constrained ones, then
        long ones in pieces, then by the pruner what is left.
        """
        model = self.kernel_model(with_probabilities)
        n_words, lengths = len(words.form_ids), words.starts[1:] - words.starts[:-1]
        is_long = lengths > LONGEST
        is_short = (lengths > 0) & ~is_long
        is_free: Mask = is_short
        if constraints is not None:
            is_free, is_long = (each & ~constraints.constrained for each in (is_short, is_long))
        states = np.full(len(lengths), SKIPPED, dtype=np.uint8)
        states[is_free] = WAITING
        decoder = Decoder(model, int(lengths[is_short].max(initial=1)))
        batch = Batch(
            self.pruner.columns.values(words),
            words.starts,
            states,
            np.full(n_words, NO_HEAD, dtype=np.int32),
            np.ones(n_words),
        )
        decoder.parse(batch)
        parsed = batch.states == PARSED
        if constraints is not None:
            for i in (is_short & ~is_free).nonzero()[0]:
                parsed[i] = self._parse_constrained(batch, int(i), constraints, decoder)
        for i in is_long.nonzero()[0]:
            parsed[i] = self._parse_in_pieces(batch, int(i), model)
        left = np.repeat(~parsed, lengths)
        if np.count_nonzero(left):
            by_pruner = self.pruner.predict_with_probabilities(words, constraints)
            batch.heads[left] = by_pruner.heads[left]
            batch.probabilities[left] = by_pruner.probabilities[left]
        if constraints is not None:
            is_fixed = (constraints.heads != FREE) & (batch.heads == constraints.heads)
            batch.probabilities[is_fixed] = 1.0
        return HeadsWithProbabilities(batch.heads, batch.probabilities)

    def _parse_constrained(
        self, batch: Batch, i: int, constraints: ArcConstraints, decoder: Decoder
    ) -> bool:
        """Parse sentence ``i`` over the candidate arcs that its constraints allow; False if they
        have no tree.
        """
        first, end = batch.starts[i], batch.starts[i + 1]
        values, room = batch.values[first + i : end + i + 1], decoder.work.buffers.arcs
        count = candidate_arcs(values, self.pruner.arc_filter, room)
        fixed, forbidden = constraints.arcs(i, first, end)
        count = constrain_arcs(room, count, fixed, forbidden, self.single_root, room)
        return count != NO_TREE and decoder.parse_sentence(
            values, batch.heads[first:end], batch.probabilities[first:end], room[:count].copy()
        )

    def _parse_in_pieces(self, batch: Batch, i: int, model: KernelModel) -> bool:
        """Parse a long sentence ``i``; False if one of its pieces has no tree."""
        first, end = batch.starts[i], batch.starts[i + 1]
        values, probabilities = (
            batch.values[first + i : end + i + 1],
            batch.probabilities[first:end],
        )
        decoder, all_parsed = Decoder(model, WINDOW), True

        def parse(start: int, stop: int) -> Ints:
            nonlocal all_parsed
            piece = np.concatenate([values[:1], values[1 + start : 1 + stop]])
            heads = np.zeros(stop - start, dtype=np.int32)
            parsed = decoder.parse_sentence(piece, heads, probabilities[start:stop])
            all_parsed = all_parsed and parsed
            return heads

        batch.heads[first:end] = parse_in_pieces(
            int(end - first), parse, single_root=self.single_root
        )
        return all_parsed

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        return {
            "pruner": self.pruner.to_payload(),
            "pruning": {
                "heads": self.pruning.max_heads,
                "share": self.pruning.min_relative_marginal,
            },
            "order": dict(self.structure._asdict()),
            "dictionary": dict(self.dictionary._asdict()),
            "templates": {name: list(texts) for name, texts in self.texts.items()},
            "weights": pack_weights(self.weights),
            "sharpness": self.mbr_scale,
            "temperature": self.temperature,
            "labels": list(self.labels),
        }

    @classmethod
    def from_payload(cls, stored: Stored, columns: Columns) -> SecondOrderParser:
        """The parser of a model file, over the columns of its model.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_PARSER)
        pruner = Parser.from_payload(read["pruner"], columns)
        structure = Structure(**read["order"])
        stored.require(
            structure.projective == (pruner.trees == "projective")
            and structure.single_root == pruner.single_root
            and (structure.projective or not structure.exact),
            "order",
            f"{pruner.trees} trees with the roots of the pruner's, exact only if projective",
            structure,
        )
        dictionary = ArcLabelDictionary(**read["dictionary"])
        _check_dictionary(stored, dictionary, len(read["labels"]))
        texts = {kind: tuple(strings) for kind, strings in read["templates"].items()}
        with stored.naming("templates"):
            templates = compile_templates(pruner.templates, pruner.columns.names, **texts)
        return cls(
            pruner,
            Pruning(read["pruning"]["heads"], read["pruning"]["share"]),
            structure,
            dictionary._replace(labels=dictionary.labels.copy(), starts=dictionary.starts.copy()),
            texts,
            templates,
            read["weights"],
            read["sharpness"],
            read["temperature"],
            tuple(read["labels"]),
        )


class StoredParser:
    """A parser of either order in a model file."""

    @staticmethod
    def from_payload(stored: Stored, columns: Columns, name: str) -> Parser | SecondOrderParser:
        """See ``Parser.from_payload``."""
        is_second = isinstance(stored.value, Mapping) and "pruner" in stored.value
        return (SecondOrderParser if is_second else Parser).from_payload(stored, columns)


def _check_dictionary(stored: Stored, dictionary: ArcLabelDictionary, n_labels: int) -> None:
    """Check the lists of a dictionary: one for each kind of arcs, of different labels."""
    part, (labels, starts, _, n_tags) = stored.part("dictionary", None), dictionary
    n_kinds = 2 * n_tags * n_tags
    part.require(len(starts) == n_kinds + 1, "starts", str(n_kinds + 1), len(starts))
    lengths = np.diff(starts)
    part.require(
        starts[0] == 0 and starts[-1] == len(labels) and lengths.min() >= 0,
        "starts",
        f"numbers that do not decrease, from 0 to {len(labels)}",
    )
    part.require(lengths.max() <= MOST_LABELS, "starts", f"lists of at most {MOST_LABELS} labels")
    highest = int(labels.max()) if len(labels) else -1
    part.require(highest < n_labels, "labels", f"numbers from 0 to {n_labels - 1}", highest)
