"""Trees of sentences under a second-order model: of minimum Bayes risk, or of the highest score."""

from __future__ import annotations

import math

import numpy as np

from egparse.compilation import njit
from egparse.parsing.arc_problem import scatter
from egparse.parsing.candidates import candidate_arcs
from egparse.parsing.label_candidates import candidate_labels
from egparse.parsing.second_order.features import (
    Parts,
    best_labels,
    encode,
    sum_labels,
    visit_parts,
)
from egparse.parsing.second_order.parts import Buffers, Kernel, Scratch, prune, scratch_for
from egparse.structures.second_order import loopy as loopy_trees
from egparse.structures.second_order.annealing import Annealing, find_tree
from egparse.structures.second_order.arc_graph import lay_out
from egparse.structures.second_order.loopy import Schedule, propagate
from egparse.structures.second_order.projective import scaled_inside_outside
from egparse.structures.second_order.projective_log import LOG, log_inside_outside
from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.chu_liu_edmonds import SearchWorkspace, chu_liu_edmonds
from egparse.structures.trees.projective import eisner
from egparse.types import Arcs, Floats, Ints, Longs, Mask

SCHEDULE = Schedule()
"""Of loopy inference, in training and parsing."""

BEST_TREE_MBR_SCALE = 30.0
"""For learners without probabilities: at this scale almost all probability is that of the tree of
highest score, which they are trained to find.

Belief propagation does not converge there: loopy inference searches for that tree instead.
"""

_ANNEALING = Annealing()

ANY_ARCS = np.empty((0, 2), dtype=np.int16)
"""As ``given`` arcs: all candidates."""


def parse_sentences(
    values: Ints,
    starts: Longs,
    chosen: Mask,
    given: Arcs,
    kernel: Kernel,
    scratch: Scratch,
    heads: Ints,
    probabilities: Floats,
) -> None:
    """Parse the chosen sentences, over the ``given`` arcs if there are any; those that have a tree
    stay chosen.
    """
    out_of_range = np.zeros(len(chosen), dtype=np.bool_)

    def parse(own: Mask, by_logarithms: bool | None) -> None:
        _parse_all(
            values,
            starts,
            own,
            given,
            kernel,
            scratch.buffers,
            scratch.projective,
            scratch.nonprojective,
            scratch.search,
            scratch.loopy,
            True if scratch.loopy is None else None,
            by_logarithms,
            heads,
            probabilities,
            out_of_range,
        )

    parse(chosen, None)
    if out_of_range.any():
        again = out_of_range.copy()
        parse(again, True)
        chosen |= again


def parse_one(
    values: Ints, given: Arcs, kernel: Kernel, scratch: Scratch, heads: Ints, probabilities: Floats
) -> bool:
    """Parse one sentence; False if it has no tree."""
    starts, chosen = np.array([0, len(heads)], dtype=np.int64), np.ones(1, dtype=np.bool_)
    parse_sentences(values, starts, chosen, given, kernel, scratch, heads, probabilities)
    return bool(chosen[0])


class Pieces:
    """Parses stretches of one long sentence; ``all_parsed`` unless a stretch has had no tree."""

    def __init__(self, values: Ints, kernel: Kernel) -> None:
        self._values, self._kernel = values, kernel
        self.all_parsed = True
        self.probabilities = np.ones(len(values) - 1)

    def heads(self, first: int, end: int) -> Ints:
        """The heads of the words from ``first`` to ``end - 1`` as if they were a sentence."""
        own = np.concatenate([self._values[:1], self._values[1 + first : 1 + end]])
        heads = np.zeros(end - first, dtype=np.int32)
        scratch = scratch_for(end - first, self._kernel.order)
        parsed = parse_one(
            own, ANY_ARCS, self._kernel, scratch, heads, self.probabilities[first:end]
        )
        self.all_parsed = self.all_parsed and parsed
        return heads


# Kernels see when they are compiled which of their arguments are None, and leave out what is only
# done where they are not: the algorithms that the parser at hand does not need. It saves half of
# the time of the first run.


@njit
def _parse_all(
    values: Ints,
    starts: Longs,
    chosen: Mask,
    given: Arcs,
    kernel: Kernel,
    buffers: Buffers,
    projective_work: projective.Workspace | None,
    nonprojective_work: nonprojective.Workspace | None,
    search_work: SearchWorkspace | None,
    loopy_work: loopy_trees.Workspace | None,
    exact: bool | None,
    by_logarithms: bool | None,
    heads: Ints,
    probabilities: Floats,
    out_of_range: Mask,
) -> None:
    """See ``parse_sentences``. Sentences whose sums exceed the range of scaled probabilities are
    marked in ``out_of_range`` and not chosen any more: they need logarithms.
    """
    order = kernel.order
    for i in range(chosen.shape[0]):
        if not chosen[i]:
            continue
        chosen[i] = False
        begin, end = starts[i], starts[i + 1]
        own = values[begin + i : end + i + 1]
        size = own.shape[0]
        codes = encode(own, kernel.templates)
        count = given.shape[0]
        buffers.arcs[:count] = given
        if count == 0:
            count = candidate_arcs(own, kernel.arc_filter, buffers.arcs)
        arcs = prune(codes.arcs, count, size, kernel, buffers, projective_work, nonprojective_work)
        if arcs.shape[0] == 0:
            continue
        graph = lay_out(arcs, size, order.siblings, order.grandparents)
        n, m = graph.pairs[graph.arcs.shape[0]], graph.arcs.shape[0]
        parts = Parts(graph, candidate_labels(own, graph.arcs, kernel.dictionary))
        scores = np.empty(n + parts.labels.labels.shape[0])
        is_change = m < 0  # no literal False: visit_parts would be compiled once more for it
        visit_parts(
            codes, kernel.templates, parts, scores, kernel.weights, buffers.places, is_change
        )
        pooled, marginals, shares = np.empty(n), np.empty(n), np.empty(parts.labels.labels.shape[0])
        square = buffers.square[: size * size].reshape((size, size))
        best_heads = buffers.heads[:size]
        # once to find the tree, once more for its probabilities where these are asked for at
        # another temperature
        for factor in (
            kernel.mbr_scale,
            1.0 / kernel.temperature if kernel.temperature > 0.0 else 0.0,
        ):
            if not chosen[i] or (factor > 0.0 and factor != kernel.mbr_scale):
                sum_labels(parts, scores * factor, pooled, shares)
                log_z = -np.inf
                if exact is not None:
                    log_z = scaled_inside_outside(graph, pooled, order.single_root, marginals)
                if loopy_work is not None:
                    log_z = propagate(
                        graph,
                        pooled,
                        order.projective,
                        order.single_root,
                        SCHEDULE,
                        False,
                        marginals,
                        loopy_work,
                    ).log_partition
                if by_logarithms is not None:
                    log_z = log_inside_outside(graph, pooled, order.single_root, LOG, marginals)
                out_of_range[i] = math.isnan(log_z)
                if not log_z > -np.inf:
                    chosen[i] = False
                    break
            if chosen[i]:
                continue
            if loopy_work is not None and kernel.mbr_scale >= BEST_TREE_MBR_SCALE:
                best_labels(parts, scores, pooled, shares)
                find_tree(
                    graph,
                    pooled,
                    order.projective,
                    order.single_root,
                    _ANNEALING,
                    best_heads,
                    loopy_work,
                )
                chosen[i] = True
                continue
            scatter(graph.arcs, marginals[:m], square)
            score = -np.inf
            if projective_work is not None:
                score = eisner(square, order.single_root, best_heads, projective_work)
            if search_work is not None:
                score = chu_liu_edmonds(square, order.single_root, best_heads, search_work)
            if not score > -np.inf:
                break
            chosen[i] = True
        if not chosen[i]:
            continue
        heads[begin:end] = best_heads[1:]
        if kernel.temperature > 0.0:
            for a in range(m):
                if best_heads[graph.arcs[a, 1]] == graph.arcs[a, 0]:
                    probabilities[begin + graph.arcs[a, 1] - 1] = min(1.0, marginals[a])
