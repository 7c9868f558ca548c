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
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.candidates import MOST_LABELS, ArcLabelDictionary
from egparse.parsing.columns import arc_column_names
from egparse.parsing.parser import AnyParser, ScoredTree
from egparse.parsing.second_order.decode import SecondOrderDecoder, k_best_trees
from egparse.parsing.second_order.parts import (
    KernelModel,
    KernelPruner,
    Pruning,
    Structure,
    Templates,
    compile_templates,
)
from egparse.parsing.tree_inference import Trees
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
)
from egparse.types import Ints

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
            {
                "arcs": _TEMPLATES,
                "siblings": _TEMPLATES,
                "grandparents": _TEMPLATES,
                "labels": _TEMPLATES,
            },
            absent={"arcs": None},  # those of the pruner
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

    pruner: ArcParser
    pruning: Pruning
    structure: Structure
    dictionary: ArcLabelDictionary
    texts: Mapping[str, tuple[str, ...]]
    templates: Templates
    table: Weights
    mbr_scale: float
    temperature: float = 1.0
    labels: tuple[str, ...] = ()

    def over(self, columns: Columns) -> SecondOrderParser:
        return replace(self, pruner=self.pruner.over(columns))

    def reduced(self, config: Any = None, columns: Columns | None = None) -> SecondOrderParser:
        return replace(super().reduced(), pruner=self.pruner.reduced())

    def sentences(self, words: Words) -> Ragged[Ints]:
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

    def decoder(self, longest: int, with_probabilities: bool) -> SecondOrderDecoder:
        return SecondOrderDecoder(
            self.kernel_model(with_probabilities),
            longest,
            lambda: self.pruner.decoder(longest, with_probabilities),
        )

    def kernel_model(self, with_probabilities: bool = False) -> KernelModel:
        """The parser as compiled kernels take it."""
        return KernelModel(
            KernelPruner(self.pruner.arc_filter, self.pruner.templates, self.pruner.table),
            self.pruning,
            self.structure,
            self.dictionary,
            self.templates,
            self.table,
            self.mbr_scale,
            self.temperature if with_probabilities else 0.0,
        )

    def to_payload(self) -> dict[str, Any]:
        return {
            "pruner": self.pruner.to_payload(),
            "pruning": {
                "heads": self.pruning.max_heads,
                "share": self.pruning.min_relative_marginal,
            },
            "order": dict(self.structure._asdict()),
            "dictionary": dict(self.dictionary._asdict()),
            "templates": {name: list(texts) for name, texts in self.texts.items()},
            "weights": pack_weights(self.table),
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
        pruner = ArcParser.from_payload(read["pruner"], columns)
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
        texts = {
            kind: pruner.texts if strings is None else tuple(strings)
            for kind, strings in read["templates"].items()
        }
        with stored.naming("templates"):
            templates = compile_templates(pruner.columns.names, **texts)
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
    def from_payload(stored: Stored, columns: Columns, name: str) -> ArcParser | SecondOrderParser:
        is_second = isinstance(stored.value, Mapping) and "pruner" in stored.value
        return (SecondOrderParser if is_second else ArcParser).from_payload(stored, columns)


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
