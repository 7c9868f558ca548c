"""The second-order training problem: what inference gives is what enumeration of trees and labels
gives, and every learner learns on it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from oracles.second_order_trees import grandparent_parts, sibling_parts
from oracles.trees import Heads, all_trees

from egparse.features.arcs import ArcLabels
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import HINGE, LOG_LINEAR, PERCEPTRON, Loss
from egparse.learners.problem import Problem
from egparse.learners.registry import LEARNERS, build
from egparse.parsing.candidates import NO_LABEL
from egparse.parsing.columns import BETWEEN
from egparse.parsing.second_order.parts import Parts, compile_templates, encode
from egparse.parsing.second_order.problem import Inference, SecondOrderProblem
from egparse.parsing.tree_inference import Trees
from egparse.structures.second_order.arc_graph import ArcGraph, lay_out
from egparse.structures.second_order.loopy import Schedule

Floats = npt.NDArray[np.float64]
Part = tuple[object, ...]

INF = math.inf
NAMES = ("form", "upos", BETWEEN)
TEMPLATES = compile_templates(
    NAMES,
    arcs=("h.upos + d.upos", "+ d.upos", "h.form + d.form"),
    siblings=("h.upos s.upos d.upos", "s.form d.upos"),
    grandparents=("g.upos h.upos d.upos", "g.upos d.form"),
    labels=("h.upos + d.upos", "+ d.upos", "+ d.form"),
)
CORRECT: tuple[Heads, ...] = (
    (-1, 2, 0, 2),
    (-1, 0),
    (-1, 0, 1, 4, 2),
    (-1, 2, 0),
    (-1, 2, 4, 4, 0, 4),
)
CROSSING: Heads = (-1, 3, 0, 2, 2)
"""3 -> 1 crosses the root's 0 -> 2."""


class Whole(NamedTuple):
    """A problem, its parts, and the correct trees and labels behind it."""

    problem: SecondOrderProblem
    parts: list[Parts]
    heads: tuple[Heads, ...]
    ranks: list[list[int]]


def made(
    correct: Sequence[Heads] = CORRECT,
    *,
    trees: Trees = "projective",
    inference: Inference = "exact",
    kinds: str = "sg",
    n_labels: int = 2,
    density: float = 1.0,
    single_root: bool = True,
    unknown: bool = False,
    seed: int = 1,
    bits: int = 12,
    known: Sequence[npt.NDArray[np.bool_]] | None = None,
) -> Whole:
    """Random words; every arc with this probability, and the correct ones; one to ``n_labels``
    labels an arc. With ``known``, other words have no head and no label.
    """
    random = np.random.default_rng(seed)
    codes, parts, ranks = [], [], []
    for heads in correct:
        n = len(heads) - 1
        values = random.integers(0, (5, 3, 3), size=(n + 1, 3)).astype(np.int32)
        arcs = [
            (h, d)
            for h in range(n + 1)
            for d in range(1, n + 1)
            if h != d and (heads[d] == h or random.random() < density)
        ]
        graph = lay_out(np.array(arcs, dtype=np.int16), n + 1, "s" in kinds, "g" in kinds)
        own_ranks = random.integers(0, max(1, n_labels), n).tolist() if n_labels else [NO_LABEL] * n
        if unknown:
            own_ranks[0] = NO_LABEL
        if known is not None:
            of_sentence = known[len(ranks)]
            own_ranks = [rank if of_sentence[d] else NO_LABEL for d, rank in enumerate(own_ranks)]
        lists = []
        for h, d in graph.arcs.tolist():
            rank = own_ranks[d - 1]
            chosen = (
                set() if rank == NO_LABEL else set(random.integers(0, n_labels, n_labels).tolist())
            )
            lists.append(sorted(chosen | ({rank} if heads[d] == h and rank != NO_LABEL else set())))
        starts = np.cumsum([0, *map(len, lists)]).astype(np.int32)
        labels = np.array([label for own in lists for label in own], dtype=np.uint8)
        codes.append(encode(values, TEMPLATES))
        parts.append(Parts(graph, ArcLabels(labels, starts)))
        ranks.append(own_ranks)
    problem = SecondOrderProblem(
        codes=codes,
        parts=parts,
        heads=[np.array(heads[1:], dtype=np.int32) for heads in correct],
        ranks=[np.array(own, dtype=np.int32) for own in ranks],
        templates=TEMPLATES,
        bits=bits,
        trees=trees,
        single_root=single_root,
        inference=inference,
        schedule=Schedule(sweeps=50, residual=1e-6),
        known=known,
    )
    return Whole(problem, parts, tuple(correct), ranks)


def places_of(parts: Parts) -> dict[Part, int]:
    """Each part by what it is, in the order that ``arc_graph`` and ``second_order_features``
    say.
    """
    graph = parts.graph
    arcs = [(int(h), int(d)) for h, d in graph.arcs]
    assert arcs == sorted(arcs, key=lambda arc: (arc[0], arc[1] > arc[0], abs(arc[0] - arc[1])))
    names: list[Part] = [("arc", h, d) for h, d in arcs]
    for h, d in arcs:
        if graph.siblings:
            inward = [
                s
                for head, s in arcs
                if head == h and (s > h) == (d > h) and abs(s - h) < abs(d - h)
            ]
            names += [("sibling", h, s, d) for s in (h, *sorted(inward, key=lambda s: abs(s - h)))]
            names.append(("stop", h, d))
        if graph.grandparents:
            names += [("grandparent", g, h, d) for g in sorted(g for g, word in arcs if word == h)]
    for (h, d), first, end in zip(arcs, parts.labels.starts, parts.labels.starts[1:], strict=False):
        names += [("label", h, d, int(label)) for label in parts.labels.labels[first:end]]
    places = {name: place for place, name in enumerate(names)}
    assert len(places) == len(names)
    return places


def names_of(heads: Heads, labels: Sequence[int | None], graph: ArcGraph) -> list[Part]:
    """The parts of a labelled tree, from their definitions."""
    names: list[Part] = [("arc", heads[d], d) for d in range(1, len(heads))]
    if graph.siblings:
        names += [("sibling", *part) for part in sibling_parts(heads)]
        for h in range(len(heads)):
            own = [d for d in range(1, len(heads)) if heads[d] == h]
            names += [("stop", h, max(own))] if own and max(own) > h else []
            names += [("stop", h, min(own))] if own and min(own) < h else []
    if graph.grandparents:
        names += [("grandparent", *part) for part in grandparent_parts(heads)]
    names += [
        ("label", heads[d], d, label) for d, label in enumerate(labels, 1) if label is not None
    ]
    return names


def structures_of(parts: Parts, single_root: bool = True, projective: bool = True) -> list[Floats]:
    """The part vector of every labelled tree over the candidate arcs."""
    places = places_of(parts)
    lists: dict[tuple[int, int], list[int | None]] = {}
    for a, (h, d) in enumerate(parts.graph.arcs.tolist()):
        lists[h, d] = parts.labels.labels[
            parts.labels.starts[a] : parts.labels.starts[a + 1]
        ].tolist() or [None]
    found = []
    for heads in all_trees(len(parts.graph.into) - 2, single_root, projective):
        if not all((heads[d], d) in lists for d in range(1, len(heads))):
            continue
        for labels in itertools.product(*(lists[heads[d], d] for d in range(1, len(heads)))):
            vector = np.zeros(len(places))
            vector[[places[name] for name in names_of(heads, labels, parts.graph)]] = 1.0
            found.append(vector)
    return found


def n_parts(problem: SecondOrderProblem, i: int) -> int:
    return int(problem.part_starts[i + 1] - problem.part_starts[i])


def random_potentials(problem: SecondOrderProblem, i: int, seed: int, scale: float = 1.5) -> Floats:
    return np.random.default_rng(seed).normal(scale=scale, size=n_parts(problem, i))


VARIANTS: list[dict[str, Any]] = [
    {},
    {"kinds": "s"},
    {"kinds": "g"},
    {"kinds": ""},
    {"n_labels": 0},
    {"unknown": True},
    {"single_root": False, "density": 0.6},
    {"density": 0.5},
]
variants = pytest.mark.parametrize(
    "variant", VARIANTS, ids=lambda own: ",".join(map(str, own.values())) or "all"
)


# --- the contract ---------------------------------------------------------------------------------


@variants
def test_the_correct_structure_has_its_parts_and_costs_nothing(variant: dict[str, Any]) -> None:
    whole = made((*CORRECT, CROSSING), **variant)
    for i, (parts, heads, ranks) in enumerate(
        zip(whole.parts, whole.heads, whole.ranks, strict=True)
    ):
        places = places_of(parts)
        labels = [None if rank == NO_LABEL else rank for rank in ranks]
        expected = np.zeros(len(places))
        expected[[places[name] for name in names_of(heads, labels, parts.graph)]] = 1.0
        assert whole.problem.gold(i).tolist() == expected.tolist()
        cost, constant = whole.problem.cost(i).copy(), whole.problem.cost_constant(i)
        assert cost @ whole.problem.gold(i) + constant == 0
        for vector in structures_of(parts, variant.get("single_root", True))[:50]:
            wrong = sum(
                vector[place]
                for (kind, *arc), place in places.items()
                if kind == "arc" and heads[arc[1]] != arc[0]
            )  # type: ignore[call-overload]
            assert cost @ vector + constant == wrong


@variants
def test_marginals_are_those_of_enumeration(variant: dict[str, Any]) -> None:
    whole = made(CORRECT[:4], **variant)
    for i, parts in enumerate(whole.parts):
        structures = np.array(structures_of(parts, variant.get("single_root", True)))
        potentials = random_potentials(whole.problem, i, i)
        scores = structures @ potentials
        log_z = scores.max() + math.log(np.exp(scores - scores.max()).sum())
        before, out = potentials.copy(), np.empty_like(potentials)
        assert whole.problem.marginals(i, potentials, out) == pytest.approx(log_z)
        assert out == pytest.approx(np.exp(scores - log_z) @ structures, abs=1e-10)
        assert (potentials == before).all()


@variants
def test_the_best_and_the_k_best_trees_have_their_best_labels(variant: dict[str, Any]) -> None:
    whole = made(CORRECT[:4], **variant)
    for i, parts in enumerate(whole.parts):
        structures = np.array(structures_of(parts, variant.get("single_root", True)))
        potentials = random_potentials(whole.problem, i, 10 + i)
        n_arcs = len(parts.graph.arcs)
        best: dict[bytes, float] = {}
        for vector in structures:
            tree = vector[:n_arcs].tobytes()
            best[tree] = max(best.get(tree, -INF), float(vector @ potentials))
        ranked = sorted(best.values(), reverse=True)
        out = np.empty_like(potentials)
        assert whole.problem.argmax(i, potentials, out) == pytest.approx(ranked[0])
        assert out @ potentials == pytest.approx(ranked[0])
        found = whole.problem.k_best(i, potentials, 5)
        assert found @ potentials == pytest.approx(np.array(ranked[:5]))
        every = {vector.tobytes() for vector in structures}
        assert all(row.tobytes() in every for row in found)
        assert out.tobytes() in every
        assert len({row[:n_arcs].tobytes() for row in found}) == len(found)


@variants
def test_weights_move_scores_by_the_same_features(variant: dict[str, Any]) -> None:
    problem = made(CORRECT, **variant).problem
    for i in range(len(CORRECT)):
        problem.reset()
        changes = random_potentials(problem, i, 20 + i)
        grown = problem.add(i, changes)
        squared = float(np.sum(problem.weights.astype(np.float64) ** 2))
        assert grown == pytest.approx(squared, rel=1e-9)
        # changes . F F' changes = |F' changes|^2
        assert changes @ problem.scores(i) == pytest.approx(squared, rel=1e-4)


@pytest.mark.parametrize("kinds", ["sg", "s", "g", ""])
@pytest.mark.parametrize("density", [0.0, 1.0])
@pytest.mark.parametrize("n_labels", [0, 2])
def test_groups_hold_one_part_of_a_tree_and_are_fewer_than_parts(
    kinds: str, density: float, n_labels: int
) -> None:
    correct = (*CORRECT, (-1, 0, 1, 0, 0, 0, 0, 0))  # one grandparent
    whole = made(correct, kinds=kinds, density=density, n_labels=n_labels, single_root=False)
    assert isinstance(whole.problem, Problem)
    for i in range(len(correct)):
        groups = whole.problem.groups(i)
        assert groups.min() >= 0
        assert groups.max() < len(groups)
        named = zip(places_of(whole.parts[i]), groups.tolist(), strict=True)
        kinds_of: dict[int, set[object]] = {}
        for name, group in named:
            kinds_of.setdefault(group, set()).add(
                (str(name[0]), name[2] if name[0] != "sibling" else name[3])
            )
        for own in kinds_of.values():
            assert len({kind for kind, _ in own} - {"label"}) == 1  # type: ignore[misc]


def test_a_twin_has_weights_of_its_own() -> None:
    problem = made().problem
    twin = problem.with_own_weights()
    twin.add(0, np.ones(n_parts(problem, 0)))
    assert twin.vectors()[0].any()
    assert not problem.vectors()[0].any()


# --- loopy inference ------------------------------------------------------------------------------


@pytest.mark.parametrize("trees", ["projective", "non-projective"])
@pytest.mark.parametrize("single_root", [True, False])
def test_pseudo_marginals_are_valid(trees: Trees, single_root: bool) -> None:
    whole = made(trees=trees, inference="loopy", single_root=single_root)
    for i, parts in enumerate(whole.parts):
        out = np.empty(n_parts(whole.problem, i))
        log_z = whole.problem.marginals(i, random_potentials(whole.problem, i, i, 0.7), out)
        assert math.isfinite(log_z)
        assert (out >= 0).all()
        assert (out <= 1 + 1e-9).all()
        places, graph = places_of(parts), parts.graph
        n = len(graph.into) - 2
        into = np.zeros(n + 1)
        labelled = dict.fromkeys(((h, d) for h, d in graph.arcs.tolist()), 0.0)
        for (kind, *own), place in places.items():
            if kind == "arc":
                into[own[1]] += out[place]  # type: ignore[call-overload]
            elif kind == "label":
                labelled[own[0], own[1]] += out[place]  # type: ignore[index]
        assert into[1:] == pytest.approx(np.ones(n), abs=1e-6)
        for (h, d), total in labelled.items():
            assert total == pytest.approx(out[places["arc", h, d]])
    assert whole.problem.calls == len(whole.parts)
    assert 0 <= whole.problem.unconverged <= whole.problem.calls


@pytest.mark.parametrize("trees", ["projective", "non-projective"])
def test_without_pairs_of_arcs_loopy_inference_is_exact(trees: Trees) -> None:
    whole = made(trees=trees, inference="loopy", kinds="")
    for i, parts in enumerate(whole.parts[:4]):
        structures = np.array(structures_of(parts, projective=trees == "projective"))
        potentials = random_potentials(whole.problem, i, i)
        scores = structures @ potentials
        log_z = math.log(np.exp(scores).sum())
        out = np.empty_like(potentials)
        assert whole.problem.marginals(i, potentials, out) == pytest.approx(log_z)
        assert out == pytest.approx(np.exp(scores - log_z) @ structures, abs=1e-8)
        assert whole.problem.argmax(i, potentials, out) == pytest.approx(scores.max())


@pytest.mark.parametrize("trees", ["projective", "non-projective"])
def test_the_tree_that_loopy_search_finds_is_one_and_has_the_score_told(trees: Trees) -> None:
    whole = made(trees=trees, inference="loopy")
    near = []
    for i, parts in enumerate(whole.parts[:4]):
        structures = np.array(structures_of(parts, projective=trees == "projective"))
        for seed in range(5):
            potentials = random_potentials(whole.problem, i, seed, 0.7)
            out = np.empty_like(potentials)
            score = whole.problem.argmax(i, potentials, out)
            assert out.tolist() in structures.tolist()
            assert score == pytest.approx(out @ potentials)
            near.append(score > (structures @ potentials).max() - 1e-9)
            assert whole.problem.k_best(i, potentials, 3).tolist() == [out.tolist()]
    assert np.mean(near) > 0.8


# --- learners -------------------------------------------------------------------------------------

FAMILY = [
    (beta, gamma)
    for beta in (0.5, 1.0, 4.0, INF)
    for gamma in (0.0, 1.0, 4.0)
    if (beta, gamma) != (INF, 0.0)
]
RUNS: list[tuple[str, float, float, dict[str, Any]]] = [
    *(("dca", beta, gamma, {}) for beta, gamma in FAMILY),
    *(
        (name, 1.0, 0.0, {})
        for name in ("eg-online", "eg-cyclic", "eg-2007", "eg-batch", "lbfgs", "cg")
    ),
    ("sdca", 1.0, 0.0, {}),
    *((name, INF, 1.0, {}) for name in ("eg-online", "eg-batch", "n-slack", "frank-wolfe")),
    *(("mira", INF, 1.0, {"k": k}) for k in (1, 5)),
    ("perceptron", INF, 0.0, {}),
    ("sgd", 1.0, 0.0, {}),
    ("sgd", 2.0, 1.0, {}),
    ("sgd", INF, 1.0, {}),
]


def total_loss(problem: SecondOrderProblem, loss: Loss, scale: float) -> float:
    total = 0.0
    for i in range(len(problem.part_starts) - 1):
        scores = scale * problem.scores(i)
        total += loss.value(problem, i, scores, np.empty_like(scores))
    return total


def trained_loss(
    problem: SecondOrderProblem,
    name: str,
    beta: float,
    gamma: float,
    options: dict[str, Any],
    passes: int = 8,
) -> tuple[float, float]:
    """The sum of losses at weights of 0, and of the model."""
    problem.reset()
    loss = HINGE if name in ("perceptron", "mira") else Loss(beta, gamma)
    begun = total_loss(problem, loss, 1.0)
    learner = build(name, problem, LearnerConfig(beta=beta, gamma=gamma, c=0.5, seed=3), **options)
    state = learner.initialise(1.5)
    for _ in range(passes):
        learner.iterate(state)
        assert math.isfinite(learner.certificate(state).primal)
    with learner.model_weights(state):
        return begun, total_loss(problem, loss, state.scale)


def test_every_learner_of_trees_is_run() -> None:
    assert {name for name, *_ in RUNS} == {
        name for name, own in LEARNERS.items() if "trees" in own.fits
    }


@pytest.mark.parametrize(
    ("name", "beta", "gamma", "options"),
    RUNS,
    ids=lambda own: str(own) if isinstance(own, str | float) else "",
)
def test_every_learner_lowers_the_loss(
    name: str, beta: float, gamma: float, options: dict[str, Any]
) -> None:
    passes = 40 if (name, beta) in (("eg-online", INF), ("eg-batch", INF)) else 8
    begun, ended = trained_loss(made().problem, name, beta, gamma, options, passes)
    assert ended < 0.5 * begun


@pytest.mark.parametrize("trees", ["projective", "non-projective"])
@pytest.mark.parametrize(
    ("name", "beta", "gamma", "options"),
    [
        ("dca", 1.0, 0.0, {}),
        ("dca", 1.0, 4.0, {}),
        ("dca", INF, 1.0, {}),
        ("eg-online", 1.0, 0.0, {}),
        ("eg-online", 1.0, 4.0, {}),
        ("sgd", 1.0, 0.0, {}),
        ("mira", INF, 1.0, {"k": 5}),
        ("perceptron", INF, 0.0, {}),
    ],
)
def test_loopy_inference_learns_too(
    trees: Trees, name: str, beta: float, gamma: float, options: dict[str, Any]
) -> None:
    correct = (*CORRECT, CROSSING) if trees == "non-projective" else CORRECT
    begun, ended = trained_loss(
        made(correct, trees=trees, inference="loopy").problem, name, beta, gamma, options
    )
    assert ended < 0.5 * begun


@pytest.mark.parametrize("gamma", [0.0, 4.0])
@pytest.mark.parametrize("kinds", ["sg", "s", "g"])
def test_eg_closes_the_gap_where_lbfgs_ends(kinds: str, gamma: float) -> None:
    problem = made(kinds=kinds).problem
    config = LearnerConfig(gamma=gamma, c=0.5, seed=1)
    optimum = {}
    for name, passes in (("eg-online", 25), ("lbfgs", 100)):
        learner = build(name, problem, config)
        state = learner.initialise(1.5)
        for _ in range(passes):
            learner.iterate(state)
        certificate = learner.certificate(state)
        optimum[name] = certificate.primal
        if name == "eg-online":
            assert abs(certificate.primal - certificate.dual) < 0.01 * certificate.dual
    assert optimum["eg-online"] == pytest.approx(optimum["lbfgs"], rel=1e-3)


def test_the_hinge_of_working_sets_and_of_eg_meet() -> None:
    problem = made().problem
    bounds = {}
    for name, passes in (("eg-online", 60), ("n-slack", 60)):
        learner = build(name, problem, LearnerConfig(beta=INF, gamma=1.0, c=4.0, seed=1))
        state = learner.initialise(1.5)
        for _ in range(passes):
            learner.iterate(state)
        bounds[name] = learner.certificate(state)
    assert bounds["eg-online"].dual == pytest.approx(bounds["n-slack"].primal, rel=0.01)
    assert bounds["n-slack"].dual == pytest.approx(bounds["n-slack"].primal, rel=0.01)


def test_a_negative_loss_is_counted_and_learned_from() -> None:
    """A correct tree that projective inference does not know of: its loss falls below 0 and goes on
    to teach.
    """
    problem = made((*CORRECT, CROSSING)).problem
    learner = build("dca", problem, LearnerConfig(c=0.5, seed=1))
    state: Any = learner.initialise(1.5)
    negative = 0.0
    for _ in range(12):
        learner.iterate(state)
        details = learner.certificate(state).details
        negative += details["negative"]
        assert details["skipped"] == details["passive"] == 0
    assert negative > 0
    last = len(CORRECT)
    scores = problem.scores(last).copy()
    assert LOG_LINEAR.value(problem, last, scores, np.empty_like(scores)) < 0


def test_the_loss_of_the_perceptron_has_a_zero() -> None:
    whole = made()
    learner = build(
        "perceptron", whole.problem, LearnerConfig(beta=INF, gamma=0.0, seed=1), averaged=False
    )
    state = learner.initialise(1.5)
    for _ in range(30):
        learner.iterate(state)
    assert total_loss(whole.problem, PERCEPTRON, state.scale) == pytest.approx(0.0, abs=1e-5)
