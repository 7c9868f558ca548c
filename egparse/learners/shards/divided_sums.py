"""Online EG whose steps are made by one thread, and whose certificate is by several.

Where a step takes no longer than it takes to tell other threads of it, as on sentences of taggers,
dividing the steps gains nothing (docs/decisions/training-jobs.md). The certificate, which may take
as long as the steps of a pass, can be divided without a word: it only reads v.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from egparse.learners.eg.online import EGConfig, EGState, OnlineEG
from egparse.learners.eg.step import DualVariables
from egparse.learners.losses import LOG_LINEAR
from egparse.learners.problem import VectorProblem, ViewedProblem
from egparse.learners.shards.learner import divide


class OnlineEGWithDividedSums(OnlineEG):
    """``OnlineEG`` whose sums over all examples are those of runs of them, which ``threads``
    threads take; the path is that of ``OnlineEG``, and the last digits of the certificate depend on
    the number of threads.
    """

    def __init__(self, problem: VectorProblem, config: EGConfig, threads: int) -> None:
        super().__init__(problem, config)
        self._examples = divide(problem, threads)
        self._pool = ThreadPoolExecutor(len(self._examples), "egparse-sums")

    def sums(self, state: EGState, c: float) -> tuple[float, float]:
        """See ``OnlineEG.sums``."""
        problem = self.problem
        if not isinstance(problem, ViewedProblem) or self._member != LOG_LINEAR:
            return super().sums(state, c)
        views = [problem.view(own.start, own.stop) for own in self._examples]
        duals = [self._duals_of(state, own) for own in self._examples]
        found = list(self._pool.map(lambda view, own: view.sum_losses(c, own), views, duals))
        sums = [one for one in found if one is not None]
        if len(sums) < len(found):
            return super().sums(state, c)
        return sum(loss for loss, _ in sums), sum(correction for _, correction in sums)

    def _duals_of(self, state: EGState, examples: slice) -> DualVariables:
        starts, duals = self.problem.part_starts, state.duals
        parts = slice(int(starts[examples.start]), int(starts[examples.stop]))
        return DualVariables(
            duals.theta[parts],
            duals.marginals[parts],
            duals.value[examples],
            duals.eta[examples],
            duals.gain[examples],
        )
