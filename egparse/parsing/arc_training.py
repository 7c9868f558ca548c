"""Training an arc-factored parser: the parser itself, or the pruner of a second-order parser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from egparse.compilation import njit
from egparse.config.sections import LearningConfig, ParserConfig, PrunerConfig, with_classes
from egparse.evaluation.scores import attachment
from egparse.features.arcs import compile_arc_templates
from egparse.features.default_templates import ARC_SUPERTAG_TEMPLATES, ARC_TEMPLATES
from egparse.features.word_table import Columns, Words
from egparse.fitting.choose_learner import build_learner, is_probabilistic
from egparse.fitting.jobs import in_threads, present_jobs
from egparse.fitting.prepared import Prepared, require_finite
from egparse.fitting.task import Outcomes, Part
from egparse.learners.completion import set_completion
from egparse.learners.learner import State
from egparse.learners.offset_problem import scores_of
from egparse.parsing.arc_parser import (
    CodesOfSentences,
    Parser,
)
from egparse.parsing.arc_problem import TreeProblem
from egparse.parsing.candidates import build_arc_filter, candidates_with_correct
from egparse.parsing.columns import BETWEEN, ArcColumns
from egparse.parsing.parser import AnyParser, sentence_values
from egparse.parsing.partial_trees import (
    arc_frequencies,
    complete_by_frequency,
    crossing_known_arcs,
    known_heads,
)
from egparse.parsing.training_pieces import (
    heads_of_pieces,
    training_pieces,
    values_of_pieces,
    warn_of_long,
)
from egparse.parsing.tree_inference import Trees
from egparse.sentences import MISSING_HEAD, Sentence
from egparse.storage.arrays import quantise
from egparse.storage.ragged import Ragged
from egparse.storage.scratch import active
from egparse.types import Floats, Ints

GOLD_THETA = 3.0
"""Initial theta of correct arcs, in addition to the logarithm of the sentence's length."""

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


class GoldHeads(NamedTuple):
    """The gold heads of both parts: one array for each training sentence that has some; flat for
    the development part; ``MISSING_HEAD`` where unknown. ``is_scored`` says whether any is known in
    the development part.
    """

    train: Sequence[Ints]
    dev: Ints
    is_scored: bool


def gold_heads_of(train: Sequence[Ints], dev: Sequence[Sentence]) -> GoldHeads:
    """The heads of the training sentences, and those of the development sentences."""
    heads = [head for one in dev for head in one.heads or (MISSING_HEAD,) * len(one)]
    known = np.array(heads, dtype=np.int32)
    return GoldHeads(train, known, bool((known != MISSING_HEAD).any()))


class ParserTask(Generic[Parsing]):
    """What the tasks of both orders share."""

    dev: Part
    heads: GoldHeads
    seed: int
    base: Parsing | None
    in_full: bool

    layer = "heads"

    def prepared(
        self,
        problem: Any,  # of either order
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
            return untrained.with_weights(weights if self.in_full else quantise(weights))

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

    def outcomes(self, predictor: Parsing) -> Outcomes[Parsing]:
        """Every word with a gold head counts."""

        def probabilities(parser: Parsing) -> Floats:
            found = _of_runs(parser.predict_with_probabilities, self.dev.words)
            return np.concatenate([of_run.probabilities for of_run in found])

        gold = self.heads.dev
        right = predicted_heads(predictor, self.dev.words) == gold
        return Outcomes(right, gold != MISSING_HEAD, probabilities)


@dataclass(frozen=True)
class ArcParserTask(ParserTask[Parser]):
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
    base: Parser | None = None
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

    def prepare(self, config: LearningConfig | None = None) -> Prepared[Parser]:
        """Compile the templates, build the arc filter, encode the sentences, lay out weights."""
        learning = self.config if config is None else config
        assert isinstance(learning, ParserConfig | PrunerConfig)
        settings, words, base = self.settings, self.train.words, self.base
        columns = (
            ArcColumns.build(words, self.columns, settings.min_form_count)
            if base is None
            else base.columns.extended(words, settings.min_form_count)
        )
        texts = (
            (
                *with_classes(settings, self.columns.n_class_tables, ARC_TEMPLATES),
                *(ARC_SUPERTAG_TEMPLATES if self.columns.has_supertags else ()),
            )
            if base is None
            else base.texts
        )
        templates = compile_arc_templates(texts, columns.names, BETWEEN)
        warn_of_long(self.train.sentences)
        pieces = training_pieces(self.heads.train)
        sentences = values_of_pieces(pieces, sentence_values(columns.values(words), words))
        heads = heads_of_pieces(pieces, self.heads.train, settings.single_root)
        upos, single_root = columns.names.index("upos"), settings.single_root
        tags = self.columns.labels.get("upos")
        arc_filter = build_arc_filter(
            sentences,
            heads,
            upos,
            tags.values.get("VERB", -1) if tags else -1,
            settings.arc_share,
            None if base is None else base.arc_filter,
        )
        known = known_heads(heads)
        if known is not None:
            heads = [
                complete_by_frequency(values, of_sentence, arc_filter, self.trees, single_root)
                for values, of_sentence in zip(sentences, heads, strict=True)
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
            trees=self.trees,
            single_root=settings.single_root,
            known=known,
        )
        for i in problem.partial.tolist():
            set_completion(problem, i, arc_frequencies(sentences[i], arcs[i], arc_filter))
        lengths = np.maximum(1, [len(of_piece) for of_piece in heads])
        untrained = Parser(
            columns,
            tuple(texts),
            templates,
            arc_filter,
            np.zeros(1, dtype=np.float32),
            self.trees,
            settings.single_root,
            learning.mbr_scale if is_probabilistic(learning) else 0.0,
        )
        return self.prepared(problem, learning, GOLD_THETA + np.log(lengths), untrained)


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


def choose_trees(heads: Sequence[Ints], config: ParserConfig) -> Trees:
    """The configured kind; where that is "auto", projective unless too many arcs cross others, in
    the trees that parsers learn from. Where heads are missing, only arcs between words that have
    one are counted, and whether they cross each other.
    """
    if config.trees != "auto":
        return config.trees
    heads = heads_of_pieces(training_pieces(heads), heads, config.single_root)
    known = known_heads(heads)
    if known is None:
        crossing = sum(crossing_arcs(of_sentence) for of_sentence in heads)
        total = sum(len(of_sentence) for of_sentence in heads)
    else:
        crossing = sum(crossing_known_arcs(of_sentence) for of_sentence in heads)
        total = sum(int(mask.sum()) for mask in known)
    return (
        "non-projective" if crossing > config.non_projective_above * max(1, total) else "projective"
    )


@njit
def crossing_arcs(heads: Ints) -> int:
    """The number of words whose arc is not projective: some word between its ends does not descend
    from its head.
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
