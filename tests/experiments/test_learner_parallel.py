"""Learning on shards: the same bits with and without processes, sums and mixes as computed by hand,
and nobody left behind.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from learners.enumerated import PROVEN, EnumeratedProblem, log_linear_optimum, random_problem
from tolerances import SINGLE, bracket, rounding

from egparse.errors import ConfigError, EgparseError
from egparse.experiments.learners.mixing_once import mix
from egparse.experiments.learners.parallel_gradient import GradientConfig, ParallelGradient
from egparse.experiments.learners.processes import can_fork, on_shards
from egparse.experiments.learners.shards import Shard, deal
from egparse.learners.learner import LearnerConfig
from egparse.learners.losses import LOG_LINEAR, SOFTMAX_MARGIN, Loss
from egparse.learners.perceptron import Perceptron, PerceptronConfig
from egparse.learners.registry import build
from egparse.learners.sgd import SGD, SGDConfig

forked = pytest.mark.skipif(not can_fork(), reason="processes cannot be forked here")
losses = pytest.mark.parametrize("loss", [LOG_LINEAR, SOFTMAX_MARGIN, Loss(3.0, 0.5)])
mixtures = pytest.mark.parametrize(
    "options",
    [{"inner": "perceptron"}, {"inner": "perceptron", "averaged": False}, {"inner": "sgd"}],
    ids=str,
)
iterations = pytest.mark.parametrize("iterated", [True, False], ids=["iterated", "one-shot"])


class HesitantProblem(EnumeratedProblem):
    """Of the best structures it takes the last, so that a tie with the correct one, the first, is a
    mistake.
    """

    def argmax(self, i: int, potentials: np.ndarray, out: np.ndarray) -> float:
        scores = (self.structures[i] @ potentials)[::-1]
        out[:] = self.structures[i][::-1][scores.argmax()]
        return float(scores.max())


def hesitant(seed: int, n: int = 12, d: int = 6) -> HesitantProblem:
    drawn = random_problem(seed, n, d)
    return HesitantProblem(drawn.structures, drawn.features)


def serial(
    problem: EnumeratedProblem, loss: Loss, c: float, w: np.ndarray
) -> tuple[float, np.ndarray]:
    """The primal and its gradient, example by example."""
    primal, gradient = c / 2 * float(w @ w), c * w
    for i, features in enumerate(problem.features):
        expected = np.empty(len(features))
        primal += loss.value(problem, i, features @ w, expected)
        gradient = gradient + features.T @ (expected - problem.gold(i))
    return primal, gradient


@losses
@pytest.mark.parametrize("shards", [1, 2, 5, 12])
def test_gradient_is_that_of_all_examples(loss: Loss, shards: int) -> None:
    problem = random_problem(1)
    learner = ParallelGradient(problem, GradientConfig.under(loss, c=0.7, shards=shards))
    learner.initialise()
    problem.v[:] = np.random.default_rng(1).normal(size=len(problem.v))
    primal, gradient = learner.evaluate()
    expected_primal, expected = serial(problem, loss, 0.7, problem.v)
    assert primal == pytest.approx(expected_primal, rel=1e-13)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-12)


@losses
@pytest.mark.parametrize("c", [0.2, 2.0])
def test_gradient_steps_find_the_optimum(loss: Loss, c: float) -> None:
    problem = random_problem(2)
    config = LearnerConfig(beta=loss.beta, gamma=loss.gamma, c=c)
    learner = build("parallel-gradient", problem, config, processes=False)
    state = learner.initialise()
    certificates = [learner.certificate(state)]
    while certificates[-1].relative_gap > 1e-8 and len(certificates) < 200:
        learner.iterate(state)
        certificates.append(learner.certificate(state))
    last = certificates[-1]
    assert last.relative_gap <= 1e-8
    slack = rounding(100, last.primal)  # sums over the structures of the examples
    assert max(each.dual for each in certificates) <= last.primal + slack
    if loss == LOG_LINEAR:
        optimum = log_linear_optimum(problem, c)
        bracket(certificates, optimum, PROVEN * optimum)
    assert last.effective_iterations >= len(certificates)


def test_the_dual_is_that_of_the_distributions_at_w() -> None:
    problem, c = random_problem(3), 0.5
    learner = ParallelGradient(problem, GradientConfig(c=c))
    state = learner.initialise()
    for _ in range(4):
        learner.iterate(state)
    entropy, v = 0.0, np.zeros_like(problem.v)
    for i, features in enumerate(problem.features):
        scores, marginals = features @ problem.v, np.empty(len(features))
        entropy += problem.marginals(i, scores, marginals) - scores @ marginals
        v += features.T @ (problem.gold(i) - marginals)
    assert learner.certificate(state).dual == pytest.approx(entropy - v @ v / (2 * c), rel=1e-10)


def test_gradient_steps_settle_in_single_precision() -> None:
    class SingleProblem(EnumeratedProblem):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self.v = self.v.astype(np.float32)

        def with_own_weights(self) -> SingleProblem:
            return SingleProblem(self.structures, self.features)

    drawn = random_problem(2)
    learner = ParallelGradient(
        SingleProblem(drawn.structures, drawn.features), GradientConfig(c=2.0, processes=False)
    )
    state = learner.initialise()
    for _ in range(150):
        learner.iterate(state)
    certificate = learner.certificate(state)
    assert certificate.relative_gap < 1e-6
    optimum = log_linear_optimum(drawn, 2.0)
    # v is in single precision: as an approximation of C w it moves the primal to second order, but
    # the dual at it by C |w| |v - C w|, and so does |v|^2 / (2C)
    bracket([certificate], optimum, rounding(1, optimum, SINGLE))


def test_no_progress_is_told() -> None:
    problem = random_problem(1)
    learner = ParallelGradient(problem, GradientConfig(c=2.0, processes=False))
    state = learner.initialise()
    state.gradient = -state.gradient
    with pytest.raises(EgparseError, match="expected a step that lowers the primal"):
        learner.iterate(state)
    assert not problem.v.any()


def run(name: str, passes: int, **options: Any) -> tuple[bytes, bytes, Any]:
    """The bits of v, those of the model kept, and the certificate."""
    problem = hesitant(5, n=13)
    seed = options.pop("seed", 1)
    learner = build(name, problem, LearnerConfig(c=2.0, seed=seed), **options)
    state = learner.initialise()
    for _ in range(passes):
        learner.iterate(state)
    own = problem.v.tobytes()
    certificate = learner.certificate(state)
    with learner.model_weights(state):
        kept = problem.v.tobytes()
    assert problem.v.tobytes() == own
    return own, kept, certificate


@forked
@pytest.mark.parametrize("shards", [2, 3])
def test_gradients_of_processes_are_those_of_this_one(shards: int) -> None:
    here = run("parallel-gradient", 6, shards=shards, processes=False)
    assert here == run("parallel-gradient", 6, shards=shards)


def test_plain_gradient_ascent_improves_at_each_step() -> None:
    """The lectures' rule: alpha is set so that each step improves."""
    problem = random_problem(2)
    learner = build(
        "parallel-gradient", problem, LearnerConfig(c=0.5), processes=False, spectral=False
    )
    state = learner.initialise()
    primals = [state.primal]
    for _ in range(200):
        learner.iterate(state)
        primals.append(state.primal)
        if learner.certificate(state).relative_gap <= 1e-7:
            break
    assert all(after < before for before, after in pairwise(primals))
    assert learner.certificate(state).relative_gap <= 1e-7
    optimum = log_linear_optimum(problem, 0.5)
    bracket([learner.certificate(state)], optimum, PROVEN * optimum)


to_the_end = pytest.mark.parametrize(
    "inner", ["eg-online", "eg-batch", "lbfgs", "parallel-gradient"]
)


@to_the_end
@pytest.mark.parametrize("shards", [1, 3])
def test_shards_trained_to_the_end_are_mixed_once(inner: str, shards: int) -> None:
    """w_p is the optimum of shard p with C n_p / n, whichever learner finds it."""
    problem, c = random_problem(6, n=11), 3.0
    learner = build(
        "parameter-mixing",
        problem,
        LearnerConfig(c=c),
        inner=inner,
        shards=shards,
        gap=1e-9,
        processes=False,
    )
    state = learner.initialise()
    learner.iterate(state)
    expected = np.zeros_like(problem.v)
    for p in range(shards):
        part = part_of(problem, p, shards)
        own_c = c * len(part.structures) / 11
        one = build("lbfgs", part, LearnerConfig(c=own_c))
        its = one.initialise()
        for _ in range(100):
            one.iterate(its)
        with one.model_weights(its):
            expected += its.scale * part.v / shards
    # a relative gap of 1e-9 of the primal P holds w to C/2 |w - w*|^2 <= 1e-9 P
    certificate = learner.certificate(state)
    assert certificate.details["gap"] <= 1e-9
    far = math.sqrt(2 * 1e-9 * certificate.primal / (c / shards)) * 2
    assert float(np.linalg.norm(problem.v - expected)) <= far
    assert certificate.primal == pytest.approx(serial(problem, LOG_LINEAR, c, problem.v)[0])
    before = problem.v.copy()
    learner.iterate(state)
    np.testing.assert_array_equal(problem.v, before)


@forked
@to_the_end
def test_mixing_once_in_processes_gives_the_same_bits(inner: str) -> None:
    here = run("parameter-mixing", 1, inner=inner, shards=3, processes=False)
    assert here == run("parameter-mixing", 1, inner=inner, shards=3)


def test_a_shard_that_fails_leaves_no_weights() -> None:
    problem = random_problem(6, n=11)
    problem.features[4][:] = math.nan
    learner = build("parameter-mixing", problem, LearnerConfig(), inner="lbfgs", processes=False)
    state = learner.initialise()
    with pytest.raises(EgparseError):
        learner.iterate(state)
    assert not problem.v.any()


@pytest.mark.nightly
@forked
@mixtures
@iterations
def test_mixes_of_processes_are_those_of_this_one(options: dict[str, Any], iterated: bool) -> None:
    here = run("parameter-mixing", 4, **options, iterated=iterated, shards=3, processes=False)
    assert here == run("parameter-mixing", 4, **options, iterated=iterated, shards=3)
    assert here != run("parameter-mixing", 4, **options, iterated=iterated, shards=3, seed=2)


def part_of(problem: EnumeratedProblem, p: int, shards: int) -> EnumeratedProblem:
    return type(problem)(problem.structures[p::shards], problem.features[p::shards])


@iterations
@pytest.mark.parametrize("shards", [1, 2, 3])
def test_mixing_perceptrons_by_hand(iterated: bool, shards: int) -> None:
    problem = hesitant(6, n=11)
    learner = build(
        "parameter-mixing",
        problem,
        LearnerConfig(),
        shards=shards,
        iterated=iterated,
        processes=False,
    )
    state = learner.initialise()
    parts = [part_of(problem, p, shards) for p in range(shards)]
    kept = []
    for passed in range(4):
        learner.iterate(state)
        mistakes, averages = 0, []
        for p, part in enumerate(parts):
            inner = Perceptron(part, PerceptronConfig())
            inner.iterate(own := inner.resume(np.random.default_rng([1, p, passed])))
            mistakes += own.mistakes
            with inner.model_weights(own):
                averages.append(part.v.copy())
        kept.append(np.mean(averages, axis=0))
        mixed = np.mean([part.v for part in parts], axis=0)
        np.testing.assert_allclose(problem.v, mixed, rtol=1e-13, atol=1e-13)
        assert learner.certificate(state).details["mistakes"] == mistakes
        if iterated:
            for part in parts:
                part.v[:] = problem.v
        with learner.model_weights(state), learner.model_weights(state):
            np.testing.assert_allclose(problem.v, np.mean(kept, axis=0), rtol=1e-12, atol=1e-12)


@iterations
def test_mixing_sgd_by_hand(iterated: bool) -> None:
    problem, c, shards = random_problem(6, n=11), 3.0, 2
    learner = build(
        "parameter-mixing",
        problem,
        LearnerConfig(c=c),
        inner="sgd",
        iterated=iterated,
        processes=False,
    )
    state = learner.initialise()
    parts = [part_of(problem, p, shards) for p in range(shards)]
    last: list[Any] = [None] * shards
    for passed in range(4):
        learner.iterate(state)
        for p, part in enumerate(parts):
            inner = SGD(part, SGDConfig(c=c * len(part.structures) / 11))
            before = (last[p].updates, last[p].eta0) if passed else (0, None)
            last[p] = inner.resume(np.random.default_rng([1, p, passed]), *before)
            inner.iterate(last[p])
            inner.fold(last[p])
        np.testing.assert_allclose(
            problem.v, np.mean([part.v for part in parts], axis=0), rtol=1e-12
        )
        if iterated:
            for part in parts:
                part.v[:] = problem.v
    assert learner.certificate(state).primal == pytest.approx(
        serial(problem, LOG_LINEAR, c, problem.v)[0]
    )


def test_iterated_mixing_separates_what_is_separable() -> None:
    """McDonald et al. 2010 bound the mistakes of iterated mixing, as those of one perceptron are
    bounded.
    """
    problem = hesitant(7, n=20, d=8)
    separator = np.random.default_rng(1).normal(size=8)
    for i, own in enumerate(problem.structures):
        problem.structures[i] = own[np.argsort(-(own @ problem.features[i] @ separator))]
    learner = build("parameter-mixing", problem, LearnerConfig(), averaged=False, processes=False)
    state = learner.initialise()
    for _ in range(300):
        learner.iterate(state)
        if learner.certificate(state).details["mistakes"] == 0:
            break
    assert learner.certificate(state).primal == 0.0


def test_a_shard_is_some_examples_of_the_problem() -> None:
    problem = random_problem(8)
    examples = np.array([5, 0, 7])
    shard = Shard(problem, examples)
    problem.v[:] = 1.5
    twin = shard.with_own_weights()
    for j, i in enumerate(examples.tolist()):
        size = shard.part_starts[j + 1] - shard.part_starts[j]
        assert size == problem.part_starts[i + 1] - problem.part_starts[i]
        np.testing.assert_array_equal(shard.gold(j), problem.gold(i))
        np.testing.assert_array_equal(shard.cost(j), problem.cost(i))
        np.testing.assert_array_equal(shard.scores(j), problem.scores(i))
        assert shard.cost_constant(j) == problem.cost_constant(i)
        twin.add(j, np.ones(size))
    expected = sum(problem.features[i].sum(axis=0) for i in examples.tolist())
    np.testing.assert_allclose(twin.vectors()[0], expected)
    assert (problem.v == 1.5).all()
    shard.reset()
    assert not problem.v.any()


def test_shards_share_out_all_examples() -> None:
    dealt = deal(11, 3)
    assert sorted(np.concatenate(dealt).tolist()) == list(range(11))
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


def test_mixes_are_means() -> None:
    vectors = [[np.full(2, float(k), dtype=np.float32)] for k in range(3)]
    np.testing.assert_array_equal(mix(vectors)[0], [1.0, 1.0])
    np.testing.assert_array_equal(mix(vectors[2:], into=[np.full(2, 0.5)], before=2)[0], [1.0, 1.0])


@forked
def test_each_shard_has_a_process() -> None:
    found = on_shards(lambda p: (p, os.getpid()), 3)
    assert [p for p, _ in found] == [0, 1, 2]
    assert len({pid for _, pid in found} - {os.getpid()}) == 3
    assert on_shards(lambda p: os.getpid(), 1) == [os.getpid()]


@forked
def test_a_process_without_children_of_its_own_works_alone() -> None:
    assert on_shards(
        lambda p: [pid == os.getpid() for pid in on_shards(lambda q: os.getpid(), 2)], 2
    ) == [
        [True, True],
        [True, True],
    ]


def failing(p: int) -> int:
    if p == 1:
        raise EgparseError("the second shard is no good")
    return p


@pytest.mark.parametrize("processes", [True, False])
def test_errors_come_through(processes: bool) -> None:
    with pytest.raises(EgparseError, match=r"^the second shard is no good$"):
        on_shards(failing, 3, processes)
    assert multiprocessing.active_children() == []


@forked
def test_faults_come_with_their_traceback() -> None:
    with pytest.raises(RuntimeError, match=r"(?s)shard 0:.*ZeroDivisionError"):
        on_shards(lambda p: 1 // 0, 2)


@forked
def test_the_death_of_a_process_is_told() -> None:
    with pytest.raises(EgparseError, match=r"shard 1: .* exit code 7"):
        on_shards(lambda p: os._exit(7) if p == 1 else p, 3)
    assert multiprocessing.active_children() == []


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt: in what a shell has put into the background it is ignored,
    and the tests may be there.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@forked
def test_interrupt_leaves_no_process_behind(tmp_path: Path, interruptible: None) -> None:
    def work(p: int) -> None:
        (tmp_path / str(p)).write_text(str(os.getpid()), encoding="utf-8")
        if p == 2:
            while len(list(tmp_path.iterdir())) < 3:
                time.sleep(0.01)
            time.sleep(0.05)
            os.kill(os.getppid(), signal.SIGINT)
        time.sleep(60)

    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        on_shards(work, 3)
    assert time.monotonic() - begun < 30
    pids = [int(path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()]
    assert len(pids) == 3
    assert not any(alive(pid) for pid in pids)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("name", "config", "options", "message"),
    [
        (
            "parallel-gradient",
            LearnerConfig(beta=math.inf, gamma=1.0),
            {},
            "expected a differentiable loss",
        ),
        ("parallel-gradient", LearnerConfig(c=0.0), {}, "expected c > 0, got 0"),
        ("parallel-gradient", LearnerConfig(), {"shards": 0}, "expected shards >= 1, got 0"),
        (
            "parameter-mixing",
            LearnerConfig(),
            {"shards": 13},
            "between 1 and 12 shards for 12 examples, got 13",
        ),
        (
            "parameter-mixing",
            LearnerConfig(),
            {"inner": "mira"},
            "expected inner to be one of perceptron, sgd, eg-online, .* got 'mira'",
        ),
        (
            "parameter-mixing",
            LearnerConfig(),
            {"inner": "lbfgs", "iterated": True},
            "lbfgs trains each shard to the end, and the weights are mixed once",
        ),
        ("parameter-mixing", LearnerConfig(), {"inner": "lbfgs", "gap": 0.0}, "0 < gap < 1"),
        (
            "parameter-mixing",
            LearnerConfig(beta=math.inf, gamma=1.0),
            {"inner": "parallel-gradient"},
            "expected a differentiable loss",
        ),
        ("parameter-mixing", LearnerConfig(), {"eta0": 0.1}, "learner parameter-mixing: .*eta0"),
        ("parameter-mixing", LearnerConfig(gamma=1.0), {}, "got beta = 1, gamma = 1"),
        ("parameter-mixing", LearnerConfig(c=-1.0), {"inner": "sgd"}, "expected c >= 0"),
    ],
)
def test_configurations_that_cannot_work(
    name: str, config: LearnerConfig, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        build(name, random_problem(1), config, **options)
