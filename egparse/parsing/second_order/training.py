"""Training a second-order parser over the arcs that its pruner keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from egparse.config.sections import LearningConfig, ParserConfig, PrunerConfig, with_classes
from egparse.errors import ConfigError
from egparse.features.arcs import compile_arc_templates, score_arcs
from egparse.features.default_templates import (
    ARC_LABEL_SUPERTAG_TEMPLATES,
    ARC_LABEL_TEMPLATES,
    ARC_TEMPLATES,
    GRANDPARENT_TEMPLATES,
    SIBLING_TEMPLATES,
)
from egparse.features.word_table import Columns
from egparse.fitting.choose_learner import is_probabilistic
from egparse.fitting.prepared import Prepared
from egparse.fitting.task import Part
from egparse.learners.completion import set_completion
from egparse.parsing.arc_parser import Parser
from egparse.parsing.arc_training import GoldHeads, ParserTask
from egparse.parsing.columns import BETWEEN, SUPERTAG, arc_column_names
from egparse.parsing.label_candidates import (
    MOST_LABELS,
    NO_LABEL,
    build_dictionary,
    label_ranks,
    rank_labels,
)
from egparse.parsing.partial_trees import complete_by_parser, known_heads
from egparse.parsing.second_order.decode import BEST_TREE_MBR_SCALE, SCHEDULE
from egparse.parsing.second_order.features import (
    Codes,
    Parts,
    compile_templates,
)
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.parsing.second_order.parts import Pruning, Structure, new_work, training_parts
from egparse.parsing.second_order.problem import SecondOrderProblem
from egparse.parsing.training_pieces import (
    heads_of_pieces,
    ranks_of_pieces,
    training_pieces,
    values_of_pieces,
)
from egparse.parsing.tree_inference import Trees
from egparse.types import Floats, Ints

GOLD_THETA = 1.5
"""Initial theta of each part of a correct tree: a word has four or five."""


@dataclass(frozen=True)
class SecondOrderTask(ParserTask[SecondOrderParser]):
    """The task of a second-order parser, on words with tag columns and over the arcs that
    ``pruner`` keeps.

    With a ``base`` over the same columns, training continues from it, with its templates, pairs and
    inference. With ``in_full`` the weights are not rounded as in a model file.
    """

    train: Part
    dev: Part
    heads: GoldHeads
    pruner: Parser
    pruning: PrunerConfig
    config: ParserConfig
    seed: int
    base: SecondOrderParser | None = None
    in_full: bool = False

    name = "parser"
    keeps_last = False

    def prepare(self, config: LearningConfig | None = None) -> Prepared[SecondOrderParser]:
        """Rank the labels, prune, encode the sentences, lay out parts, weights and duals.

        Raises:
            ConfigError: see ``check_second_order``.
        """
        settings = self.config if config is None else config
        assert isinstance(settings, ParserConfig)
        deprels = [sentence.deprels for sentence in self.train.sentences]
        labels = self._labels(deprels)
        ranks = label_ranks(deprels, labels, [len(heads) for heads in self.heads.train])
        words, pieces = self.train.words, training_pieces(self.heads.train)
        sentences = values_of_pieces(pieces, self.pruner.sentences(words))
        single_root = self.pruner.single_root
        correct = heads_of_pieces(pieces, self.heads.train, single_root)
        known = known_heads(correct)
        if known is not None:
            trees = complete_by_parser(self.pruner, self.train, self.heads.train)
            correct = heads_of_pieces(pieces, trees, single_root)
        ranks = ranks_of_pieces(pieces, self.heads.train, ranks)
        if known is not None:
            ranks = [
                np.where(mask, of_piece, np.int32(NO_LABEL))
                for mask, of_piece in zip(known, ranks, strict=True)
            ]
        untrained = self._untrained(settings, labels, sentences, correct, ranks)
        longest = max(len(heads) for heads in correct)
        model, work = untrained.kernel_model(), new_work(longest, untrained.structure)
        encoded = [
            training_parts(values, heads, own, model, work)
            for values, heads, own in zip(sentences, correct, ranks, strict=True)
        ]
        base = self.base
        problem = SecondOrderProblem(
            codes=[codes for codes, _ in encoded],
            parts=[parts for _, parts in encoded],
            heads=correct,
            ranks=ranks,
            templates=untrained.templates,
            bits=settings.bits if base is None else len(base.weights).bit_length() - 1,
            trees=self.pruner.trees,
            single_root=self.pruner.single_root,
            inference="exact" if untrained.structure.exact else "loopy",
            schedule=SCHEDULE,
            known=known,
        )
        for i in problem.partial.tolist():
            codes, parts = encoded[i]
            set_completion(problem, i, self._scores_of_pruner(codes, parts))
        return self.prepared(problem, settings, GOLD_THETA, untrained)

    def _scores_of_pruner(self, codes: Codes, parts: Parts) -> Floats:
        """The scores of arcs by the pruner, 0 for all other parts."""
        pruner, graph = self.pruner, parts.graph
        scores = np.zeros(int(graph.pairs[-1]) + len(parts.labels.labels))
        of_arcs = scores[: len(graph.arcs)]
        places = np.empty(4096, dtype=np.uint32)
        score_arcs(codes.arcs, pruner.templates, graph.arcs, pruner.weights, places, of_arcs)
        return scores

    def _labels(self, deprels: Sequence[Sequence[str]]) -> tuple[str, ...]:
        """The labels that arcs are scored with, the base's first; none if labels are not scored."""
        base = self.base
        ranked = rank_labels(deprels) if self.config.labels else ()
        if base is None:
            return tuple(ranked)
        new = (label for label in ranked if label not in base.labels)
        return (*base.labels, *new)[:MOST_LABELS]

    def _untrained(
        self,
        settings: ParserConfig,
        labels: tuple[str, ...],
        sentences: Sequence[Ints],
        heads: Sequence[Ints],
        ranks: Sequence[Ints],
    ) -> SecondOrderParser:
        """The parser without weights."""
        base, pruner = self.base, self.pruner
        n_tables = pruner.columns.n_class_tables
        supertags = SUPERTAG in pruner.columns.names
        texts = templates_of(settings, n_tables, supertags) if base is None else dict(base.texts)
        is_exact = is_exact_for(settings, pruner.trees) if base is None else base.structure.exact
        names = pruner.columns.names
        dictionary = build_dictionary(
            sentences,
            heads,
            ranks,
            len(labels),
            names.index("upos"),
            None if base is None else base.dictionary,
        )
        return SecondOrderParser(
            pruner,
            Pruning(self.pruning.max_heads, self.pruning.min_relative_marginal),
            Structure(
                siblings=settings.siblings,
                grandparents=settings.grandparents,
                projective=pruner.trees == "projective",
                single_root=pruner.single_root,
                exact=is_exact,
            ),
            dictionary,
            texts,
            compile_templates(pruner.templates, names, **texts),
            np.zeros(1, dtype=np.float32),
            settings.mbr_scale if is_probabilistic(settings) else BEST_TREE_MBR_SCALE,
            labels=labels,
        )


def check_second_order(config: ParserConfig, trees: Trees, columns: Columns) -> None:
    """Check the templates and the kind of inference before anything is trained.

    Raises:
        ConfigError: a template that cannot be read, or exact inference for non-projective trees.
    """
    is_exact_for(config, trees)
    names, n_tables = (
        arc_column_names(columns.class_names, columns.has_supertags),
        columns.n_class_tables,
    )
    texts = with_classes(config, n_tables, ARC_TEMPLATES)
    arcs = compile_arc_templates(texts, names, BETWEEN)
    compile_templates(arcs, names, **templates_of(config, n_tables))


def is_exact_for(config: ParserConfig, trees: Trees) -> bool:
    """Whether inference is exact.

    Raises:
        ConfigError: exact inference for non-projective trees.
    """
    if config.inference == "exact" and trees != "projective":
        raise ConfigError(
            'parser.inference: expected "loopy" (or "auto") for non-projective trees, got "exact"'
        )
    return config.inference != "loopy" and trees == "projective"


def templates_of(
    config: ParserConfig, n_tables: int = 0, supertags: bool = False
) -> dict[str, tuple[str, ...]]:
    """The configured templates of pairs and labelled arcs, or the built-in ones, with those over
    word classes for each of some tables, and with those over supertags.
    """
    of_supertags = ARC_LABEL_SUPERTAG_TEMPLATES if supertags else ()
    labels = with_classes(config, n_tables, ARC_LABEL_TEMPLATES, "label_templates")
    return {
        "siblings": with_classes(config, n_tables, SIBLING_TEMPLATES, "sibling_templates"),
        "grandparents": with_classes(
            config, n_tables, GRANDPARENT_TEMPLATES, "grandparent_templates"
        ),
        "labels": (*labels, *of_supertags),
    }
