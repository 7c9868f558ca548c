"""The steps of online EG on sentences with candidate arcs, compiled as a whole."""

from __future__ import annotations

from typing import Any, NamedTuple

from egparse.compilation import njit
from egparse.features.arcs import ArcCodes, ArcTemplates, add_arcs, score_arcs
from egparse.learners.eg.step import (
    GROUP_ATTEMPTS,
    DualVariables,
    StepBuffers,
    StepRule,
    accept_step,
    evaluate_step,
    propose_step,
    propose_step_in_groups,
    record_gain,
    store_step,
    without_rounding,
)
from egparse.parsing.tree_inference import gather, scatter
from egparse.structures.trees.nonprojective import matrix_tree
from egparse.structures.trees.projective import inside_outside
from egparse.types import Floats, Shorts, Singles, UInt32s


class ArcSentence(NamedTuple):
    """Codes of the words of a sentence, and its candidate arcs (arcs, 2)."""

    codes: ArcCodes
    arcs: Shorts


class ArcWeights(NamedTuple):
    """The hashed table, with the templates of its features and a buffer for those of one arc."""

    templates: ArcTemplates
    table: Singles
    places: UInt32s


class TreeSpace(NamedTuple):
    """The kind of trees, and buffers for inference: ``square`` and ``marginals`` have room for a
    score and a marginal of each pair of nodes, ``groups`` for each arc, ``open_mass`` for each
    node; ``chart`` and ``laplacian`` are the workspaces of the two kinds of trees.
    """

    projective: bool
    single_root: bool
    square: Floats
    marginals: Floats
    groups: Shorts
    open_mass: Floats
    chart: Any
    laplacian: Any


@njit
def infer(trees: TreeSpace, size: int, potentials: Floats, arcs: Shorts, out: Floats) -> float:
    """Write the marginals of the arcs of a sentence with ``size`` nodes to ``out``; returns
    log Z.
    """
    n = size * size
    square = trees.square[:n].reshape(size, size)
    marginals = trees.marginals[:n].reshape(size, size)
    scatter(arcs, potentials, square)
    if trees.projective:
        log_z = inside_outside(square, trees.single_root, marginals, trees.chart)
    else:
        log_z = matrix_tree(square, trees.single_root, marginals, trees.laplacian)
    gather(arcs, marginals, out)
    return log_z


@njit
def visit(
    i: int,
    sentence: ArcSentence,
    weights: ArcWeights,
    trees: TreeSpace,
    buffers: StepBuffers,
    duals: DualVariables,
    rule: StepRule,
    grouped: bool,
    changes_of_norm: Floats,
) -> tuple[int, bool]:
    """The step of ``OnlineEG.update`` for the log-linear loss. Writes the changes of |v|^2 one
    after the other; returns the number of attempts, and whether the arcs to each word had a
    learning rate of their own to the end.
    """
    codes, arcs, changes = sentence.codes, sentence.arcs, buffers.changes
    templates, table, places = weights.templates, weights.table, weights.places
    score_arcs(codes, templates, arcs, table, places, buffers.scores)
    eta, made = duals.eta[i], 0
    for attempt in range(rule.attempts):
        if grouped and attempt == GROUP_ATTEMPTS:
            grouped, eta = False, duals.eta[i]
        if grouped:
            for r in range(arcs.shape[0]):
                trees.groups[r] = arcs[r, 1]
            groups = trees.groups[: arcs.shape[0]]
            propose_step_in_groups(buffers, rule, eta, groups, trees.open_mass)
        else:
            propose_step(buffers, rule, eta)
        log_z = infer(trees, codes.tags.shape[0], buffers.trial, arcs, buffers.marginals)
        value, slope = evaluate_step(buffers, rule, log_z, 0.0)
        norm_change = add_arcs(codes, templates, arcs, changes, table, places)
        # change of H(alpha_i), less that of |v|^2 / (2C)
        increase = value - duals.value[i] - norm_change / (2 * rule.c)
        increase = without_rounding(buffers, rule, increase)
        accepted, eta = accept_step(rule, eta, increase, slope, norm_change)
        changes_of_norm[2 * attempt], changes_of_norm[2 * attempt + 1] = norm_change, 0.0
        made += 1
        if accepted:
            store_step(buffers)
            record_gain(duals, i, value, increase)
            break
        for r in range(changes.shape[0]):
            changes[r] = -changes[r]
        changes_of_norm[2 * attempt + 1] = add_arcs(codes, templates, arcs, changes, table, places)
    duals.eta[i] = eta
    return made, grouped


@njit
def certify(
    sentence: ArcSentence,
    weights: ArcWeights,
    trees: TreeSpace,
    buffers: StepBuffers,
    gold: Floats,
    c: float,
) -> tuple[float, float]:
    """The log-linear loss at w = v / c, and what the rounding of the marginals takes from the dual
    (``OnlineEG.sums``).
    """
    codes, arcs, scores, trial = sentence.codes, sentence.arcs, buffers.scores, buffers.trial
    score_arcs(codes, weights.templates, arcs, weights.table, weights.places, scores)
    loss, correction = 0.0, 0.0
    for r in range(arcs.shape[0]):
        scores[r] /= c
        loss -= scores[r] * gold[r]
    loss += infer(trees, codes.tags.shape[0], scores, arcs, buffers.marginals)
    for r in range(arcs.shape[0]):
        trial[r] = buffers.theta[r]
    infer(trees, codes.tags.shape[0], trial, arcs, buffers.marginals)
    for r in range(arcs.shape[0]):
        # d dual / d mu = s / C - theta
        correction += (scores[r] - trial[r]) * (buffers.marginals[r] - buffers.stored[r])
    return loss, correction
