"""The training problem of a second-order parser: arcs that a pruner keeps, and pairs of arcs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from egparse.config.sections import ParserConfig, PrunerConfig, TrainConfig
from egparse.experiments.problems.samples import Sample
from egparse.experiments.problems.sentences import heads_of, tagged, without_punctuation
from egparse.experiments.problems.setup import Scaled, Setup, sentence_counts
from egparse.features.word_table import Columns
from egparse.fitting.task import Part
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.gold_trees import GoldHeads
from egparse.parsing.training import PART_THETA, ArcParserTask, SecondOrderTask
from egparse.parsing.tree_inference import Trees
from egparse.sentences import Sentence
from egparse.training.columns import build_columns
from egparse.types import Longs, Mask

Right = Callable[[float], Mask]
"""A function of the scale: the words that get their correct head."""


@dataclass(frozen=True)
class PrunedTrees:
    """Sentences with their trees, and a pruner that was trained on them: what parsers with
    different pairs of arcs share.
    """

    sample: Sample
    trees: Trees
    config: ParserConfig
    columns: Columns
    part: Part
    gold: GoldHeads
    pruner: ArcParser

    @classmethod
    def of(cls, sample: Sample, trees: Trees, bits: int) -> PrunedTrees:
        """Train the pruner: log-linear, arc-factored, by EG, with the defaults of this project."""
        heads = heads_of(sample.train)
        single_root = all(int(np.count_nonzero(own == 0)) == 1 for own in heads)
        config = ParserConfig(bits=bits, single_root=single_root, labels=False)
        columns = build_columns(sample.train, ("heads",), TrainConfig(parser=config))
        words = tagged(columns, sample.train, ("heads",))
        part = Part(sample.train, words)
        gold = GoldHeads(heads, np.zeros(0, dtype=np.int32), is_scored=False)
        settings = PrunerConfig(bits=min(bits, PrunerConfig().bits))
        none = Part((), words)
        learner, state, snapshot = ArcParserTask(
            columns, part, none, gold, config, trees, 1, settings
        ).prepare()
        for _ in range(settings.stop.iterations):
            learner.iterate(state)
        return cls(sample, trees, config, columns, part, gold, snapshot(state))

    def task(self) -> SecondOrderTask:
        """The task of the parser with siblings and grandparents."""
        none, pruning = Part((), self.part.words), PrunerConfig()
        return SecondOrderTask(self.part, none, self.gold, self.pruner, pruning, self.config, 1)

    def setup(self) -> Setup:
        """The parser scored by correct heads in per cent, of the tree with the most expected
        correct heads.
        """
        learner, _, snapshot = self.task().prepare()

        def right_of(part: Sequence[Sentence]) -> Right:
            words, correct = tagged(self.columns, part, ("heads",)), np.concatenate(heads_of(part))

            def right(scale: float) -> Mask:
                found: Mask = snapshot(Scaled(scale)).predict(words) == correct
                return found

            return right

        return self.scored(learner.problem, right_of)

    def scored(self, problem: Any, right_of: Callable[[Sequence[Sentence]], Right]) -> Setup:
        """A problem of the training sentences, with the words of some sentences that are ``right``
        at a scale.
        """
        sample = self.sample
        held_out, compared = right_of(sample.dev), sample.test or sample.dev
        on_test = right_of(compared)
        starts = np.cumsum([0, *(len(own) for own in compared[:-1])])

        def outcomes(scale: float) -> Longs:
            return sentence_counts(on_test(scale), starts)

        def figures(scale: float) -> Mapping[str, float]:
            return without_punctuation(compared, on_test(scale))

        return Setup(
            problem,
            lambda scale: 100.0 * float(held_out(scale).mean()),
            "validation accuracy (% of heads)",
            1,
            PART_THETA,
            {
                "data": sample.name,
                "training sentences": len(sample.train),
                "validation sentences": len(sample.dev),
                "test sentences": len(sample.test),
                "parts": int(problem.part_starts[-1]),
                "trees": self.trees,
                "single root": self.config.single_root,
                "weights": problem.weights.size,
            },
            (lambda scale: 100.0 * float(on_test(scale).mean())) if sample.test else None,
            outcomes,
            figures,
        )
