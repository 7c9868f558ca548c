"""The training problem of a second-order parser: arcs that a pruner keeps, and pairs of arcs."""

from __future__ import annotations

from typing import NamedTuple

from egparse.config.sections import ParserConfig, PrunerConfig
from egparse.experiments.problems.samples import Sample
from egparse.experiments.problems.setup import Setup
from egparse.experiments.problems.trees import Treebank
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.training import PART_THETA, SecondOrderTask
from egparse.parsing.tree_inference import Trees


class PrunedTrees(NamedTuple):
    """A treebank, and a pruner that was trained on it: what parsers with different pairs of arcs
    share.
    """

    treebank: Treebank
    pruner: ArcParser

    @classmethod
    def of(cls, sample: Sample, trees: Trees, bits: int) -> PrunedTrees:
        """Train the pruner: log-linear, arc-factored, by EG, with the defaults of this project."""
        treebank = Treebank.of(sample, trees, ParserConfig(bits=bits, labels=False))
        settings = PrunerConfig(bits=min(bits, PrunerConfig().bits))
        prepared = treebank.arcs(pruner=settings).prepare()
        return cls(treebank, prepared.after(settings.stop.iterations))

    def task(self, pruning: PrunerConfig) -> SecondOrderTask:
        """The task of the parser with siblings and grandparents."""
        own = self.treebank
        return SecondOrderTask(own.part, own.none, own.gold, self.pruner, pruning, own.config, 1)

    def setup(self) -> Setup:
        """The parser scored by correct heads in per cent, of the tree with the most expected
        correct heads.
        """
        learner, _, snapshot = self.task(PrunerConfig()).prepare()
        right_of = self.treebank.right_by(snapshot)
        return self.treebank.setup(learner.problem, PART_THETA, right_of)
