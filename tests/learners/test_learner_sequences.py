"""EG on sentences: the compiled sweep steps as the generic learner does, and finds CRFsuite's
optimum.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from full_rows import full_rows
from learners.passes import passes
from learners.small_problems import sequences

from egparse.features.sequence import supported_rows
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.losses import NAMED
from egparse.learners.problem import Problem
from egparse.sequences.problem import SequenceProblem

TRAIN = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "conll2000" / "train.txt"


class Unswept(SequenceProblem):
    """A problem that goes over sentences one by one."""

    sweep, start, sums = Problem.sweep, Problem.start, Problem.sums


def unswept(problem: SequenceProblem) -> SequenceProblem:
    problem.__class__ = Unswept
    return problem


@pytest.mark.parametrize("loss", ["log-linear", "max-margin", "softmax-margin"])
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("listed", [True, False], ids=["listed", "full"])
def test_compiled_sweep_is_the_generic_step(loss: str, order: int, listed: bool) -> None:
    config = EGConfig.under(NAMED[loss], c=1.0)
    states, weights, certificates = [], [], []
    for wrap in (lambda problem: problem, unswept):
        problem = sequences(3, bigrams=order > 0, listed=listed)
        eg = OnlineEG(wrap(problem), config)
        state = eg.initialise()
        certificates += list(passes(eg, state, 8))
        states.append(state)
        weights.append((problem.rows.weights.copy(), problem.transitions))
    np.testing.assert_allclose(states[0].theta, states[1].theta, atol=1e-6)
    assert states[0].evaluations == states[1].evaluations
    for swept, stepped in zip(*weights, strict=True):
        np.testing.assert_allclose(swept, stepped, atol=1e-6)
    for swept, stepped in zip(certificates[:8], certificates[8:], strict=True):
        assert swept.primal == pytest.approx(stepped.primal, abs=1e-6)
        assert swept.dual == pytest.approx(stepped.dual, abs=1e-6)


def test_faults_of_candidates() -> None:
    arguments: dict[str, Any] = {
        "attributes": np.zeros((2, 1), np.int32),
        "word_starts": np.array([0, 2]),
        "rows": full_rows(1, 3),
        "n_labels": 3,
        "support": None,
        "candidate_starts": np.array([0, 2, 4]),
    }
    with pytest.raises(ValueError, match="correct label of every word among its candidates"):
        SequenceProblem(
            gold=np.array([0, 2], np.int32),
            candidates=np.array([0, 1, 0, 1], np.uint16),
            **arguments,
        )
    with pytest.raises(ValueError, match="ascending order"):
        SequenceProblem(
            gold=np.array([0, 1], np.int32),
            candidates=np.array([1, 0, 0, 1], np.uint16),
            **arguments,
        )


def slice_of_chunking(sentences: int) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Attributes and tags of the first sentences: the word, its neighbours and their parts of
    speech.
    """
    if not TRAIN.exists():
        pytest.skip("the CoNLL-2000 data is not here")
    attributes, tags = [], []
    for block in TRAIN.read_text(encoding="utf-8").split("\n\n")[:sentences]:
        table = [line.split() for line in block.splitlines()]
        around = [["", ""], *table, ["", ""]]
        attributes.append(
            [
                [
                    f"{name}={around[k + at][column]}"
                    for name, at, column in zip(
                        "abcde", (1, 1, 0, 2, 0), (0, 1, 1, 1, 0), strict=True
                    )
                ]
                for k in range(len(table))
            ]
        )
        tags.append([row[2] for row in table])
    return attributes, tags


def crfsuite_optimum(
    attributes: list[list[list[str]]], tags: list[list[str]], c: float, model: Path
) -> float:
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(
        {"c1": 0.0, "c2": c / 2, "max_iterations": 2000, "epsilon": 1e-7, "delta": 1e-9}
    )
    for own, correct in zip(attributes, tags, strict=True):
        trainer.append(own, correct)
    trainer.train(str(model))
    return float(trainer.logparser.last_iteration["loss"])


def test_optimum_is_that_of_crfsuite(tmp_path: Path) -> None:
    attributes, tags = slice_of_chunking(80)
    optimum = crfsuite_optimum(attributes, tags, 1.0, tmp_path / "model")
    numbers: dict[str, int] = {}
    flat = [
        [numbers.setdefault(name, len(numbers)) for name in row]
        for own in attributes
        for row in own
    ]
    names = sorted({tag for own in tags for tag in own})
    starts = np.cumsum([0] + [len(own) for own in tags])
    gold = np.array([names.index(tag) for own in tags for tag in own], dtype=np.int32)
    inside = np.setdiff1d(np.arange(len(gold)), starts[:-1])
    support = np.zeros((len(names), len(names)), dtype=bool)
    support[gold[inside - 1], gold[inside]] = True
    encoded = np.array(flat, dtype=np.int32)
    problem = SequenceProblem(
        attributes=encoded,
        word_starts=starts,
        gold=gold,
        candidates=np.tile(np.arange(len(names), dtype=np.uint16), len(gold)),
        candidate_starts=np.arange(len(gold) + 1) * len(names),
        rows=supported_rows(encoded, gold, len(numbers), len(names)),
        n_labels=len(names),
        support=support,
    )
    eg = OnlineEG(problem, EGConfig(c=1.0, anneal_from=10.0))
    for certificate in passes(eg, eg.initialise(5.0), 150):
        if certificate.relative_gap < 1e-5:
            break
    assert certificate.primal == pytest.approx(optimum, rel=1e-4)
    assert certificate.dual == pytest.approx(optimum, rel=1e-4)
