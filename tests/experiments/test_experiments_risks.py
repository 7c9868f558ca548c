"""The risks of models on held-out sentences: against enumeration, against the training problem, and
in the tables of ``losses``.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from egparse.experiments.comparisons import dca_curves, loss_grid
from egparse.experiments.comparisons.catalogue import EXPERIMENTS
from egparse.experiments.comparisons.comparison import DCA, SGD, Plan, compare
from egparse.experiments.data.generated import sentences
from egparse.experiments.data.problems import Setup, entities, parser
from egparse.experiments.data.risks import HeldOutSequences, HeldOutTrees, Risks, risks
from egparse.experiments.data.samples import UD_LATIN, Corpus, Sample, sample
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.request import Request
from oracles.trees import all_trees
from scipy.special import logsumexp

from egparse.errors import EgparseError
from egparse.features.arcs import codes_for, compile_arc_templates
from egparse.features.word_table import Words
from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import build
from egparse.parsing.arc_problem import TreeProblem
from egparse.types import Floats

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def by_definition(log_weights: Floats, costs: Floats) -> tuple[float, float, float]:
    """Expected cost, log E exp(cost) and ramp of one sentence, structure by structure."""
    log_p = log_weights - logsumexp(log_weights)
    ramp = (log_p + costs).max() - log_p.max()
    return float(np.exp(log_p) @ costs), float(logsumexp(log_p + costs)), float(ramp)


def test_risks_of_sequences_are_those_of_all_sequences() -> None:
    lengths, size, random = (3, 1, 4), 3, np.random.default_rng(1)
    starts = np.cumsum([0, *lengths])
    gold = random.integers(0, size, size=8).astype(np.int32)
    gold[2] = -1  # a label that the model has never seen
    none = np.zeros(8, dtype=np.int32)
    problem = HeldOutSequences(Words(starts, [], none, none), gold, size)
    scores = [random.normal(size=(n + size) * size) for n in lengths]
    wanted = np.zeros(3)
    for i, n in enumerate(lengths):
        unary, bigrams = (
            scores[i][: n * size].reshape(n, size),
            scores[i][n * size :].reshape(size, size),
        )
        labels = list(itertools.product(range(size), repeat=n))
        weights = [
            sum(unary[k, label] for k, label in enumerate(own))
            + sum(bigrams[p, q] for p, q in itertools.pairwise(own))
            for own in labels
        ]
        costs = [
            np.count_nonzero(np.array(own) != gold[starts[i] : starts[i + 1]]) for own in labels
        ]
        wanted += by_definition(np.array(weights), np.array(costs, dtype=float))
    assert risks(problem, scores, 8) == pytest.approx(tuple(wanted / 8))


def test_risks_of_trees_are_those_of_all_trees_also_where_a_correct_arc_is_no_candidate() -> None:
    n, heads, random = 4, np.array([2, 0, 2, 3], dtype=np.int32), np.random.default_rng(2)
    arcs = [(h, d) for d in range(1, n + 1) for h in range(n + 1) if h != d and (h, d) != (3, 4)]
    templates = compile_arc_templates(("h.upos + d.upos", "h.upos +"), ("upos",), "upos")
    problem = TreeProblem(
        codes=[codes_for(templates, n)],
        arcs=[np.array(arcs, dtype=np.int16)],
        heads=[heads],
        templates=templates,
        bits=8,
        trees="non-projective",
        single_root=True,
    )
    scores = dict(zip(arcs, random.normal(size=len(arcs)), strict=True))
    allowed = [
        own
        for own in all_trees(n, True, False)
        if all((own[d], d) in scores for d in range(1, n + 1))
    ]
    weights = [sum(scores[own[d], d] for d in range(1, n + 1)) for own in allowed]
    costs = [np.count_nonzero(np.array(own[1:]) != heads) for own in allowed]
    wanted = by_definition(np.array(weights), np.array(costs, dtype=float))
    found = risks(HeldOutTrees(problem, [n]), [np.array(list(scores.values()))], n)
    assert found == pytest.approx(tuple(np.array(wanted) / n))
    assert found.expected > 0.25  # one word in four is wrong in every tree


def trained(setup: Setup, passes: int = 3) -> float:
    """The scale of the model after some passes of DCA without averaging."""
    learner = build("dca", setup.problem, LearnerConfig(c=2.0), averaged=False)
    state = learner.initialise()
    for _ in range(passes):
        learner.iterate(state)
    return float(state.scale)


@pytest.mark.parametrize("task", ["entities", "trees"])
def test_on_the_training_part_risks_are_those_of_the_training_problem(task: str) -> None:
    drawn = sentences(30, 1)
    part = Sample("drawn", drawn, drawn)
    setup = entities(part) if task == "entities" else parser(part, trees="non-projective", bits=14)
    scale = trained(setup)
    assert setup.risks is not None
    found = setup.risks(scale)
    own = risks(setup.problem, map(setup.problem.scores, range(setup.n)), sum(map(len, drawn)))
    assert found == pytest.approx(own, rel=0.02, abs=1e-4)  # models are rounded to float16
    assert 0 < found.expected <= found.bound
    assert found.ramp >= 0


def test_a_pruned_head_costs_one_whatever_the_model() -> None:
    drawn = sentences(60, 2)
    setup = parser(
        Sample("drawn", drawn[:40], drawn[40:]), trees="non-projective", bits=14, arc_share=0.9
    )
    found = setup.risks(trained(setup)) if setup.risks else Risks(0, 0, 0)
    error = 1 - setup.score(1.0) / 100
    assert error > 0
    assert found.ramp >= error - 1e-3
    assert found.bound >= found.expected


def test_tuning_never_looks_at_the_test_part_and_a_run_once() -> None:
    drawn = sentences(30, 3)
    setup = entities(Sample("drawn", drawn[:20], drawn[20:]))
    looks: list[float] = []

    def test(scale: float) -> float:
        looks.append(scale)
        return 50.0

    found = compare(
        Plan("e", setup._replace(test=test), (SGD, DCA), (1.0,), Budget(3.0)), Request()
    )
    assert [curve.test for curve in found.curves] == [50.0, 50.0]
    assert len(looks) == 2
    assert all("expected" not in curve.details for curve in found.curves)


def test_risks_are_measured_with_and_without_a_test_part() -> None:
    drawn = sentences(30, 3)
    setup = entities(Sample("drawn", drawn[:20], drawn[20:]))
    plan = Plan("e", setup, (DCA,), (1.0, 10.0), Budget(2.0), risks=True)
    found = compare(plan, Request())
    tested = compare(plan._replace(setup=setup._replace(test=setup.score)), Request())
    names = ("expected", "bound", "ramp")
    measured = [[curve.details[name] for name in names] for curve in found.curves]
    assert measured == [[curve.details[name] for name in names] for curve in tested.curves]
    assert measured[0] != measured[1]
    assert [curve.test for curve in found.curves] == [None, None]
    assert [curve.test for curve in tested.curves] == [
        curve.points[-1].score for curve in tested.curves
    ]


@pytest.mark.nightly
def test_the_table_of_losses_shows_risks_in_their_order() -> None:
    request = Request(quick=True, iterations=2, constants=(1.0,))
    outcome = loss_grid.report(loss_grid.measure(request))
    names = ["Entities", "English trees", "Latin trees"]
    found = [table for table in outcome.tables if table.title in names]
    assert [table.title for table in found] == names
    for table in found:
        assert table.headings[-3:] == ("cost", "risk bound", "ramp")
        assert len(table.rows) == 4
        for row in table.rows:
            cost, bound, ramp = map(float, row[-3:])
            assert 0 <= cost <= bound
            assert ramp >= 0


def test_both_experiments_need_names_and_two_treebanks() -> None:
    for name in ("dca", "losses"):
        assert EXPERIMENTS[name].needs == dca_curves.NEEDS
    assert len({own.split("-")[0] for own in dca_curves.NEEDS}) == 5  # names are one file a part
    assert not any("dev" in own for own in dca_curves.NEEDS if "perseus" in own)


def write(path: Path, count: int) -> None:
    path.write_text("".join(f"1\tword{k}\t_\tX\t_\t_\t0\troot\t_\t_\n\n" for k in range(count)))


def test_without_a_development_part_the_last_tenth_stands_for_it(tmp_path: Path) -> None:
    write(tmp_path / "train.conllu", 25)
    write(tmp_path / "dev.conllu", 4)
    request, corpus = Request(data=tmp_path), Corpus("train.conllu")
    found = sample(request, corpus, (1, 1))
    assert [own.forms[0] for own in found.dev] == ["word22", "word23", "word24"]
    assert len(found.train) == 22
    assert found.test == ()
    cut = sample(request, corpus._replace(n_train=10), (1, 1))
    assert (len(cut.train), len(cut.dev)) == (10, 15)
    apart = sample(request, Corpus("train.conllu", dev="dev.conllu", test="dev.conllu"), (1, 1))
    assert [len(part) for part in (apart.train, apart.dev, apart.test)] == [25, 4, 4]
    assert (
        len(sample(request, Corpus("train.conllu", "dev.conllu", n_train=10), (1, 1)).train) == 10
    )
    with pytest.raises(
        EgparseError, match=r"train\.conllu: expected more than 25 sentences, got 25"
    ):
        sample(request, corpus._replace(n_train=25), (1, 1))
    with pytest.raises(
        EgparseError, match=r"train\.conllu: expected at least 26 sentences, got 25"
    ):
        sample(request, Corpus("train.conllu", "dev.conllu", n_train=26), (1, 1))
    write(tmp_path / "train.conllu", 1)
    with pytest.raises(EgparseError, match=r"train\.conllu: expected more than 1 sentences, got 1"):
        sample(request, corpus, (1, 1))


@pytest.mark.skipif(not DATA.is_dir(), reason="the development corpora are not here")
def test_latin_has_parts_of_its_own() -> None:
    found = sample(Request(data=DATA), UD_LATIN, (1, 1))
    assert [len(part) for part in (found.train, found.dev, found.test)] == [1200, 134, 939]
