"""Training parsers: an arc-factored one (the parser itself, or the pruner of a second-order parser)
and a second-order one over the arcs that its pruner keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np

from egparse.config.sections import LearningConfig, ParserConfig, PrunerConfig, with_classes
from egparse.errors import ConfigError
from egparse.evaluation.scores import attachment
from egparse.features.arcs import (
    ArcCodes,
    ArcTemplates,
    codes_for,
    compile_arc_templates,
    encode_arcs,
    encode_sentence,
    score_arcs,
)
from egparse.features.default_templates import (
    ARC_LABEL_TEMPLATES,
    ARC_TEMPLATES,
    FURTHER_ARC_LABEL_TEMPLATES,
    FURTHER_ARC_TEMPLATES,
    FURTHER_PRUNER_TEMPLATES,
    GRANDPARENT_TEMPLATES,
    PRUNER_TEMPLATES,
    SIBLING_TEMPLATES,
    over_further,
)
from egparse.features.word_table import Columns, Words
from egparse.fitting.choose_learner import build_learner, is_probabilistic
from egparse.fitting.jobs import in_threads, present_jobs
from egparse.fitting.prepared import Prepared, require_finite
from egparse.fitting.task import Outcomes, Part
from egparse.learners.completion import set_completion
from egparse.learners.learner import State
from egparse.learners.offset_problem import scores_of
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.arc_problem import HashedProblem, TreeProblem
from egparse.parsing.candidates import (
    MOST_LABELS,
    NO_LABEL,
    build_arc_filter,
    build_dictionary,
    candidates_with_correct,
    label_ranks,
    rank_labels,
)
from egparse.parsing.columns import BETWEEN, ArcColumns, arc_column_names
from egparse.parsing.gold_trees import (
    GoldHeads,
    arc_frequencies,
    complete_by_frequency,
    complete_by_parser,
    heads_of_pieces,
    known_heads,
    ranks_of_pieces,
    training_pieces,
    values_of_pieces,
    warn_of_long,
)
from egparse.parsing.parser import AnyParser, sentence_values
from egparse.parsing.second_order.decode import BEST_TREE_MBR_SCALE, SCHEDULE
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.parsing.second_order.parts import (
    Parts,
    Pruning,
    Structure,
    compile_templates,
    new_work,
    training_parts,
)
from egparse.parsing.second_order.problem import SecondOrderProblem
from egparse.parsing.tree_inference import Trees
from egparse.sentences import MISSING_HEAD
from egparse.storage.arrays import Weights, quantise
from egparse.storage.ragged import Ragged
from egparse.storage.scratch import active
from egparse.types import Floats, Ints, Longs, Mask

ARC_THETA = 3.0
"""Initial theta of the correct arcs of an arc-factored parser, in addition to the logarithm of the
sentence's length.
"""

PART_THETA = 1.0
"""Initial theta of each part of a correct tree of a second-order parser: a word has four or five.
With more, the first passes are behind (docs/decisions/successors.md).
"""

STEPS = {
    "curvature": 35.0,
    "visit_cost": "examples",
    "prioritise_below_gain": 0.3,
    "round_fraction": 0.4,
    "min_visit_probability": 0.05,
}
"""Step sizes of online EG, and which sentences it visits from the second pass on
(docs/decisions/eg-steps.md).
"""


Parsing = TypeVar("Parsing", bound=AnyParser)
Item = TypeVar("Item")


class Learned(NamedTuple):
    """What is learned from: pieces of the training sentences, their column values and heads, and
    which of these are known (None: all).
    """

    pieces: Longs
    values: Sequence[Ints]
    heads: Sequence[Ints]
    known: list[Mask] | None


class ParserTask(Generic[Parsing]):
    """What the tasks of both orders share."""

    dev: Part
    heads: GoldHeads
    seed: int
    base: Parsing | None
    in_full: bool

    layer = "heads"

    def learned(self, values: Sequence[Ints], single_root: bool) -> Learned:
        """The training sentences, with these column ``values``, in pieces that can be learned."""
        pieces = training_pieces(self.heads.train)
        heads = heads_of_pieces(pieces, self.heads.train, single_root)
        return Learned(pieces, values_of_pieces(pieces, values), heads, known_heads(heads))

    def prepared(
        self,
        problem: HashedProblem,
        learning: LearningConfig,
        theta: float | Floats,
        untrained: Parsing,
    ) -> Prepared[Parsing]:
        """The learner of a problem at its start, from the weights of the base if there is one."""
        base, offsets = self.base, None
        if base is not None:
            problem.weights[:] = base.weights
            offsets = scores_of(problem)
        learner = build_learner(problem, learning, self.seed, offsets, **STEPS)

        def snapshot(state: State) -> Parsing:
            with np.errstate(over="ignore", invalid="ignore"):
                weights = problem.weights * np.float32(state.scale)
            weights = weights if base is None else base.weights + weights
            require_finite(weights)
            return untrained.with_weights(Weights(weights) if self.in_full else quantise(weights))

        return Prepared(learner, learner.initialise(theta), snapshot)

    def score(self) -> Callable[[Parsing], float] | None:
        """UAS in per cent; None without development trees."""
        if not self.heads.is_scored:
            return None
        return lambda parser: attachment(self.heads.dev, predicted_heads(parser, self.dev.words))

    def facts(self, predictor: Any) -> dict[str, Any]:
        """The kind of trees."""
        return {"trees": predictor.trees}

    def without_model(self) -> None:
        """There is always something to learn."""

    def outcomes(self, predictor: Parsing) -> Outcomes:
        """Every word with a gold head counts."""

        def probabilities(temperature: float) -> Floats:
            parser = predictor.with_temperature(temperature)
            found = _of_runs(parser.predict_with_probabilities, self.dev.words)
            return np.concatenate([of_run.probabilities for of_run in found])

        gold = self.heads.dev
        right = predicted_heads(predictor, self.dev.words) == gold
        return Outcomes(right, gold != MISSING_HEAD, probabilities)


@dataclass(frozen=True)
class ArcParserTask(ParserTask[ArcParser]):
    """The task of an arc-factored parser, on words with filled tag columns.

    It is the parser of ``settings``, or with ``pruner`` the pruner of the second-order parser that
    ``settings`` describes. With a ``base``, over the same columns, training continues from it, with
    its templates and kind of trees. With ``in_full`` the weights are not rounded as in a model
    file.
    """

    columns: Columns
    train: Part
    dev: Part
    heads: GoldHeads
    settings: ParserConfig
    trees: Trees
    seed: int
    pruner: PrunerConfig | None = None
    base: ArcParser | None = None
    in_full: bool = False

    @property
    def name(self) -> str:
        """``pruner`` or ``parser``."""
        return "parser" if self.pruner is None else "pruner"

    @property
    def config(self) -> ParserConfig | PrunerConfig:
        """The section with the learner's settings, the size of the table and the MBR scale."""
        return self.settings if self.pruner is None else self.pruner

    @property
    def keeps_last(self) -> bool:
        """A pruner makes all its passes: its UAS says little about the arcs that it prunes."""
        return self.pruner is not None

    def prepare(self, config: LearningConfig | None = None) -> Prepared[ArcParser]:
        """Compile the templates, build the arc filter, encode the sentences, lay out weights."""
        learning = self.config if config is None else config
        assert isinstance(learning, ParserConfig | PrunerConfig)
        settings, words, base = self.settings, self.train.words, self.base
        single_root, trees = settings.single_root, self.trees
        if base is None:
            columns = ArcColumns.build(words, self.columns, settings.min_form_count)
            texts = self._texts(self.columns.n_class_tables, self.columns.further)
        else:
            columns, texts = base.columns.extended(words, settings.min_form_count), base.texts
        templates = compile_arc_templates(texts, columns.names, BETWEEN)
        warn_of_long(self.train.sentences)
        values = sentence_values(columns.values(words), words)
        _, sentences, heads, known = self.learned(values, single_root)
        tags = self.columns.labels.get("upos")
        arc_filter = build_arc_filter(
            sentences,
            heads,
            columns.names.index("upos"),
            tags.values.get("VERB", -1) if tags else -1,
            settings.arc_share,
            None if base is None else base.arc_filter,
        )
        if known is not None:
            heads = [
                complete_by_frequency(*one, arc_filter, trees, single_root)
                for one in zip(sentences, heads, strict=True)
            ]
        codes = CodesOfSentences(sentences, templates)
        candidates = (
            candidates_with_correct(values, correct, arc_filter)
            for values, correct in zip(sentences, heads, strict=True)
        )
        arcs = Ragged.of(candidates, np.empty((0, 2), dtype=np.int16))
        problem = TreeProblem(
            codes=at_hand(codes),
            arcs=at_hand(arcs),
            heads=at_hand(heads),
            templates=templates,
            bits=learning.bits if base is None else base.bits,
            trees=trees,
            single_root=single_root,
            known=known,
        )
        for i in problem.partial.tolist():
            set_completion(problem, i, arc_frequencies(sentences[i], arcs[i], arc_filter))
        lengths = np.maximum(1, [len(of_piece) for of_piece in heads])
        untrained = ArcParser(
            columns,
            tuple(texts),
            templates,
            arc_filter,
            Weights(np.zeros(1, dtype=np.float32)),
            trees,
            single_root,
            learning.mbr_scale if is_probabilistic(learning) else 0.0,
        )
        return self.prepared(problem, learning, ARC_THETA + np.log(lengths), untrained)

    def _texts(self, n_tables: int, further: Sequence[str]) -> tuple[str, ...]:
        """The configured templates, or the built-in ones, with those over further
        columns.
        """
        if self.pruner is None:
            return arc_templates_of(self.settings, n_tables, further)
        if self.pruner.templates:
            return self.pruner.templates
        return (*PRUNER_TEMPLATES, *over_further(further, FURTHER_PRUNER_TEMPLATES))


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
    pruner: ArcParser
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
        pruner, base, all_heads = self.pruner, self.base, self.heads.train
        deprels = [sentence.deprels for sentence in self.train.sentences]
        labels = self._labels(deprels)
        ranks = label_ranks(deprels, labels, [len(heads) for heads in all_heads])
        single_root, values = pruner.single_root, pruner.sentences(self.train.words)
        pieces, sentences, correct, known = self.learned(values, single_root)
        if known is not None:
            trees = complete_by_parser(pruner, self.train, all_heads)
            correct = heads_of_pieces(pieces, trees, single_root)
        ranks = ranks_of_pieces(pieces, all_heads, ranks)
        if known is not None:
            ranks = [
                np.where(mask, of_piece, np.int32(NO_LABEL))
                for mask, of_piece in zip(known, ranks, strict=True)
            ]
        untrained = self._untrained(settings, labels, sentences, correct, ranks)
        longest = max(len(heads) for heads in correct)
        model = untrained.kernel_model()
        work = new_work(longest, untrained.structure)
        encoded = [
            training_parts(values, heads, own, model, work)
            for values, heads, own in zip(sentences, correct, ranks, strict=True)
        ]
        problem = SecondOrderProblem(
            codes=[codes for codes, _ in encoded],
            parts=[parts for _, parts in encoded],
            heads=correct,
            ranks=ranks,
            templates=untrained.templates,
            bits=settings.bits if base is None else base.bits,
            trees=pruner.trees,
            single_root=single_root,
            inference="exact" if untrained.structure.exact else "loopy",
            schedule=SCHEDULE,
            known=known,
        )
        for i in problem.partial.tolist():
            set_completion(problem, i, self._scores_of_pruner(sentences[i], encoded[i][1]))
        return self.prepared(problem, settings, PART_THETA, untrained)

    def _scores_of_pruner(self, values: Ints, parts: Parts) -> Floats:
        """The scores of arcs by the pruner, 0 for all other parts."""
        pruner, graph = self.pruner, parts.graph
        codes = encode_sentence(values, pruner.templates)
        scores = np.zeros(int(graph.pairs[-1]) + len(parts.labels.labels))
        of_arcs = scores[: len(graph.arcs)]
        places = np.empty(4096, dtype=np.uint32)
        score_arcs(codes, pruner.templates, graph.arcs, pruner.table, places, of_arcs)
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
        base, pruner, names = self.base, self.pruner, self.pruner.columns.names
        if base is None:
            texts = templates_of(settings, pruner.columns.n_class_tables, pruner.columns.further)
            is_exact = is_exact_for(settings, pruner.trees)
        else:
            texts, is_exact = dict(base.texts), base.structure.exact
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
            compile_templates(names, **texts),
            Weights(np.zeros(1, dtype=np.float32)),
            settings.mbr_scale if is_probabilistic(settings) else BEST_TREE_MBR_SCALE,
            labels=labels,
        )


def check_second_order(config: ParserConfig, trees: Trees, columns: Columns) -> None:
    """Check the templates and the kind of inference before anything is trained.

    Raises:
        ConfigError: a template that cannot be read, or exact inference for non-projective trees.
    """
    is_exact_for(config, trees)
    names = arc_column_names(columns.class_names, columns.further)
    compile_templates(names, **templates_of(config, columns.n_class_tables))


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


def arc_templates_of(
    config: ParserConfig, n_tables: int, further: Sequence[str]
) -> tuple[str, ...]:
    """See ``templates_of``: those of arcs, also of an arc-factored parser."""
    texts = with_classes(config, n_tables, ARC_TEMPLATES)
    return (*texts, *over_further(further, FURTHER_ARC_TEMPLATES))


def templates_of(
    config: ParserConfig, n_tables: int = 0, further: Sequence[str] = ()
) -> dict[str, tuple[str, ...]]:
    """The configured templates of all parts, or the built-in ones, with those over word classes for
    each of some tables, and with those over
    further columns (``Columns.further``).
    """
    labels = with_classes(config, n_tables, ARC_LABEL_TEMPLATES, "label_templates")
    return {
        "arcs": arc_templates_of(config, n_tables, further),
        "siblings": with_classes(config, n_tables, SIBLING_TEMPLATES, "sibling_templates"),
        "grandparents": with_classes(
            config, n_tables, GRANDPARENT_TEMPLATES, "grandparent_templates"
        ),
        "labels": (*labels, *over_further(further, FURTHER_ARC_LABEL_TEMPLATES)),
    }


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
        own = slice(self._starts[i], self._starts[i + 1])
        return ArcCodes(head[own], dependent[own], tags[own], before[own])


def at_hand(items: Sequence[Item]) -> Sequence[Item]:
    """A list of items that are made when they are asked for, unless memory is limited: a visit asks
    for them many times.
    """
    return list(items) if active() is None else items


def predicted_heads(parser: AnyParser, words: Words) -> Ints:
    """The heads of ``words`` by a parser; with several jobs, runs of sentences are parsed side by
    side.
    """
    return np.concatenate(_of_runs(parser.predict, words))


def _of_runs(predict: Callable[[Words], Item], words: Words) -> list[Item]:
    """The predictions for runs of sentences, one for each job."""
    return list(in_threads(predict, words.runs(present_jobs().threads)))
