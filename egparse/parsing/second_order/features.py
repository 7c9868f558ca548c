"""Features of one sentence for the second-order parser: arcs, labels of arcs, siblings and
grandparents, over one table of weights.

The parts of a sentence are the parts of its graph (``structures.second_order.arc_graph``), followed
by one for each candidate label of each arc; an arc of a tree has one label. Labels are summed out
into their arcs before inference; their marginals are computed from those of the arcs after it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.compilation import copy_numbers, njit
from egparse.features.arcs import (
    ArcCodes,
    ArcLabels,
    ArcTemplates,
    add_arcs,
    compile_arc_templates,
    encode_arcs,
    score_arcs,
    visit_labels,
)
from egparse.features.pairs import (
    GRANDPARENT_PLACES,
    SIBLING_PLACES,
    PairCodes,
    PairTemplates,
    compile_pair_templates,
    encode_pairs,
    visit_pairs,
)
from egparse.features.sentence_context import N_BETWEEN
from egparse.parsing.columns import BETWEEN
from egparse.structures.second_order.arc_graph import ArcGraph
from egparse.types import Floats, Ints, Singles, UInt32s


class Templates(NamedTuple):
    """Compiled templates of the four kinds."""

    arcs: ArcTemplates
    labels: ArcTemplates
    siblings: PairTemplates
    grandparents: PairTemplates


class Codes(NamedTuple):
    """The hashed templates of one sentence."""

    arcs: ArcCodes
    labels: ArcCodes
    siblings: PairCodes
    grandparents: PairCodes


class Parts(NamedTuple):
    """The parts of one sentence; the labels start at ``graph.pairs[-1]``."""

    graph: ArcGraph
    labels: ArcLabels


def compile_templates(
    arcs: ArcTemplates,
    columns: Sequence[str],
    siblings: Sequence[str],
    grandparents: Sequence[str],
    labels: Sequence[str],
) -> Templates:
    """Compile all templates over the named columns; those of arcs are given compiled.

    Raises:
        ConfigError: a template that cannot be read.
    """
    return Templates(
        arcs,
        compile_arc_templates(labels, columns, BETWEEN),
        compile_pair_templates(siblings, SIBLING_PLACES, columns, 1),
        compile_pair_templates(grandparents, GRANDPARENT_PLACES, columns, 2),
    )


@njit(separate=True)
def encode(values: Ints, templates: Templates) -> Codes:
    """Hash the templates of a sentence: ``values`` is (n + 1, columns), row 0 the root."""
    return Codes(
        _encode_arcs(values, templates.arcs),
        _encode_arcs(values, templates.labels),
        encode_pairs(values, templates.siblings),
        encode_pairs(values, templates.grandparents),
    )


@njit
def _encode_arcs(values: Ints, templates: ArcTemplates) -> ArcCodes:
    size = values.shape[0]
    codes = ArcCodes(
        np.empty((size, templates.head_columns.shape[0]), dtype=np.uint64),
        np.empty((size, templates.dependent_columns.shape[0]), dtype=np.uint64),
        np.empty(size, dtype=np.int32),
        np.zeros((size, N_BETWEEN), dtype=np.int16),
    )
    encode_arcs(values, templates, codes)
    return codes


@njit(separate=True)
def visit_parts(
    codes: Codes,
    templates: Templates,
    parts: Parts,
    values: Floats,
    weights: Singles,
    places: UInt32s,
    is_change: bool,
) -> float:
    """Write the scores of all parts to ``values``; or, if ``is_change``, add ``values`` times the
    features to the weights and return the exact change of |w|^2.

    One kernel for both, as it takes seconds to compile.
    """
    graph = parts.graph
    of_labels = values[graph.pairs[graph.arcs.shape[0]] :]
    if is_change:
        norm_change = add_arcs(codes.arcs, templates.arcs, graph.arcs, values, weights, places)
    else:
        norm_change = 0.0
        score_arcs(codes.arcs, templates.arcs, graph.arcs, weights, places, values)
        of_labels[:] = 0.0
    norm_change += visit_pairs(
        graph, codes.siblings, codes.grandparents, weights, values, is_change
    )
    norm_change += visit_labels(
        codes.labels, templates.labels, graph.arcs, parts.labels, weights, of_labels, is_change
    )
    return float(norm_change)


@njit
def sum_labels(parts: Parts, potentials: Floats, pooled: Floats, shares: Floats) -> None:
    """Sum labels out: write the potentials of the graph's parts, in which an arc includes its
    labels, to ``pooled``, and the probability of each label given its arc to ``shares`` (labels,)::

        pooled[a] = potentials[a] + log sum over labels k of a: exp potentials[n + k]
    """
    starts, n = parts.labels.starts, parts.graph.pairs[-1]
    copy_numbers(potentials[:n], pooled)
    for a in range(starts.shape[0] - 1):
        first, end = starts[a], starts[a + 1]
        if first == end:
            continue
        highest, total = -np.inf, 0.0
        for k in range(first, end):
            highest = max(highest, potentials[n + k])
        if highest == -np.inf:
            pooled[a] = -np.inf
            shares[first:end] = 0.0
            continue
        for k in range(first, end):
            shares[k] = math.exp(potentials[n + k] - highest)
            total += shares[k]
        for k in range(first, end):
            shares[k] /= total
        pooled[a] += highest + math.log(total)


@njit
def best_labels(parts: Parts, potentials: Floats, pooled: Floats, shares: Floats) -> None:
    """As ``sum_labels`` with the maximum over labels in the place of the log-sum: the best label
    has the share 1.
    """
    starts, n = parts.labels.starts, parts.graph.pairs[-1]
    copy_numbers(potentials[:n], pooled)
    shares[:] = 0.0
    for a in range(starts.shape[0] - 1):
        if starts[a] == starts[a + 1]:
            continue
        best = starts[a]
        for k in range(starts[a], starts[a + 1]):
            if potentials[n + k] > potentials[n + best]:
                best = k
        shares[best] = 1.0
        pooled[a] += potentials[n + best]


@njit
def share_out(parts: Parts, shares: Floats, marginals: Floats) -> None:
    """Write the marginals of labels: ``marginals[n + k] = shares[k] * marginals[a]``."""
    starts, n = parts.labels.starts, parts.graph.pairs[-1]
    for a in range(starts.shape[0] - 1):
        for k in range(starts[a], starts[a + 1]):
            marginals[n + k] = shares[k] * marginals[a]
