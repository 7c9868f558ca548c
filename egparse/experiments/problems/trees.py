"""The training problem of an arc-factored dependency parser."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from egparse.config.sections import ORDER_1, ParserConfig, TrainConfig
from egparse.evaluation.attachment import is_punctuation
from egparse.experiments.problems.samples import Sample
from egparse.experiments.problems.setup import Scaled, Setup, scored, sentence_counts
from egparse.features.word_table import Columns
from egparse.fitting.task import Part
from egparse.parsing.gold_trees import GoldHeads, crossing_arcs, training_pieces
from egparse.parsing.parser import AnyParser
from egparse.parsing.training import ARC_THETA, ArcParserTask
from egparse.parsing.tree_inference import Trees
from egparse.sentences import Sentence
from egparse.training.columns import build_columns, part_of
from egparse.types import Floats, Ints, Mask

Right = Callable[[float], Mask]
"""A function of the scale: the words that get their correct head."""


class Treebank(NamedTuple):
    """Sentences with their trees, as parsers of one configuration learn them."""

    sample: Sample
    trees: Trees
    config: ParserConfig
    columns: Columns
    part: Part
    gold: GoldHeads

    @classmethod
    def of(cls, sample: Sample, trees: Trees, config: ParserConfig) -> Treebank:
        """With one root for each sentence if all training sentences have one."""
        heads = heads_of(sample.train)
        config = replace(config, single_root=all((own == 0).sum() == 1 for own in heads))
        columns = build_columns(sample.train, ("heads",), TrainConfig(parser=config))
        gold = GoldHeads(heads, np.zeros(0, dtype=np.int32), is_scored=False)
        part = part_of(sample.train, columns, ("heads",))
        return cls(sample, trees, config, columns, part, gold)

    @property
    def none(self) -> Part:
        """A development part without sentences."""
        return Part((), self.part.words)

    def arcs(self, **options: Any) -> ArcParserTask:
        """The task of an arc-factored parser."""
        own = self.columns, self.part, self.none, self.gold, self.config, self.trees
        return ArcParserTask(*own, seed=1, **options)

    def right_by(
        self, snapshot: Callable[[Any], AnyParser]
    ) -> Callable[[Sequence[Sentence]], Right]:
        """The words of some sentences that the parser of a problem gets right."""

        def right_of(part: Sequence[Sentence]) -> Right:
            words, heads = part_of(part, self.columns, ("heads",)).words, heads_of(part)
            correct = np.concatenate(heads)
            return lambda scale: np.asarray(snapshot(Scaled(scale)).predict(words) == correct)

        return right_of

    def setup(
        self, problem: Any, theta: float | Floats, right_of: Callable[[Sequence[Sentence]], Right]
    ) -> Setup:
        """A problem of the training sentences, scored by correct heads in per cent."""
        compared = self.sample.test or self.sample.dev
        held_out, right = right_of(self.sample.dev), right_of(compared)
        counted = np.array([not is_punctuation(form) for own in compared for form in own.forms])

        def figures(scale: float) -> dict[str, float]:
            """The UAS of words that are no punctuation, as ``eval.pl`` of CoNLL-X counts."""
            return {"without punctuation": 100.0 * float(right(scale)[counted].mean())}

        return scored(
            problem,
            self.sample,
            lambda scale: sentence_counts(held_out(scale), [*map(len, self.sample.dev)]),
            lambda scale: sentence_counts(right(scale), [*map(len, compared)]),
            "validation accuracy (% of heads)",
            theta,
            {
                "parts": int(problem.part_starts[-1]),
                "trees": self.trees,
                "single root": self.config.single_root,
            },
        )._replace(figures=figures)


def heads_of(sentences: Sequence[Sentence]) -> list[Ints]:
    """The heads of each sentence."""
    return [np.array(sentence.heads, dtype=np.int32) for sentence in sentences]


def parser(
    sample: Sample, *, trees: Trees, bits: int, arc_share: float = 0.0, in_full: bool = False
) -> Setup:
    """An arc-factored parser with the tags of the corpus; scored by correct heads in per cent, of
    the best tree. Scores are those of weights rounded to a byte, as models are stored, unless
    ``in_full``.

    ``arc_share`` as in ``ParserConfig`` (0: every pair of words is an arc, as published). Training
    sentences whose tree is not of the kind asked for are left out: their loss has no lower bound of
    0.
    """
    if trees == "projective":
        kept = zip(sample.train, heads_of(sample.train), strict=True)
        sample = sample._replace(train=[own for own, heads in kept if not crossing_arcs(heads)])
    config = replace(ORDER_1, bits=bits, arc_share=arc_share, mbr_scale=0.0)
    treebank = Treebank.of(sample, trees, config)
    learner, _, snapshot = treebank.arcs(in_full=in_full).prepare()
    lengths = np.maximum(1, np.diff(training_pieces(treebank.gold.train)[:, 1:]).ravel())
    theta = ARC_THETA + np.log(lengths)
    return treebank.setup(learner.problem, theta, treebank.right_by(snapshot))
