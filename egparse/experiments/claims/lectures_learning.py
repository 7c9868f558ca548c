"""Claims of the lectures on generative models, parallel training and kernels: McDonald 2009."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from egparse.experiments.lectures.generative import CRF_ALL, MAXENT, PAIRS
from egparse.experiments.lectures.kernel_tasks import LINEAR_OF, SQUARE, VOTED
from egparse.experiments.lectures.mixing import slope
from egparse.experiments.report.claims import (
    SIGNIFICANT,
    Claim,
    compared,
    is_better,
    verdict_of,
)
from egparse.experiments.report.results import Results

_S = "McDonald 2009"
_C = 1.0  # of the kernel perceptron, which has none
_GENERATIVE = PAIRS[:-1]


def of_generative_models(results: Results) -> list[Claim]:
    """Generative against discriminative, and label bigrams against none."""
    found = results.numbers["generative"]
    largest = {pair: max(found["curves"][pair[0]]["sizes"]) for pair in PAIRS}
    smallest = {pair: min(found["curves"][pair[0]]["sizes"]) for pair in PAIRS}

    def wins(pair: tuple[str, str], n: int) -> bool:
        difference, p = _test(found, pair, n)
        return difference > 0 and p <= SIGNIFICANT

    ends = "; ".join(
        f"{pair[1]} against {pair[0]}: {_accuracy(found, pair[1], largest[pair])} against "
        f"{_accuracy(found, pair[0], largest[pair])} at {largest[pair]:,}, "
        f"{_accuracy(found, pair[1], smallest[pair])} against "
        f"{_accuracy(found, pair[0], smallest[pair])} at {smallest[pair]:,}"
        for pair in _GENERATIVE
    )
    lost = [
        f"{pair[0]} at {', '.join(f'{n:,}' for n in sizes)}"
        for pair in _GENERATIVE
        if (sizes := _lost(found, pair))
    ]
    chained = (MAXENT, CRF_ALL)
    difference, p = _test(found, chained, largest[chained])
    return [
        Claim(
            f"{_S}, Aside: Discriminative versus Generative; Hidden Markov Models",
            "Discriminative models optimise prediction, generative ones explain the input as well "
            "(no figures are given: the better prediction is what is tested).",
            verdict_of(wins(pair, largest[pair]) for pair in _GENERATIVE),
            f"Test accuracy with the most and with the fewest examples: {ends}. The generative one "
            f"is better by more than chance: {'; '.join(lost) or 'at no size'}.",
        ),
        Claim(
            f"{_S}, Sequence Labeling - Output Interaction",
            "A sequence is not a set of multi-class predictions: neighbouring tags interact.",
            verdict_of([difference > 0 and p <= SIGNIFICANT]),
            f"With all features and {largest[chained]:,} sentences, the CRF has "
            f"{_accuracy(found, CRF_ALL, largest[chained])} against "
            f"{_accuracy(found, MAXENT, largest[chained])} without label bigrams (p = {p:.2g}).",
        ),
    ]


def of_shards(results: Results) -> list[Claim]:
    """Parallel gradient ascent and averaging."""
    mixing = results.numbers["mixing"]
    apart = [row[1] for row in mixing["gradients"]["rows"]]
    slopes = _slopes(mixing["distances"]["rows"])
    means = {case: fmean(own) for case, own in slopes.items()}
    spread = {case: stdev(own) if len(own) > 1 else 0.0 for case, own in slopes.items()}
    columns = mixing["accuracy"]["columns"]
    by_shards = _by_shards(mixing["accuracy"]["rows"])
    one = by_shards[min(by_shards)]
    many = max(by_shards)
    accuracies = "; ".join(
        f"{count} shards: " + ", ".join(f"{value:.2f}" for value in own)
        for count, own in by_shards.items()
    )
    more = [count for count in by_shards if count > 1]
    seconds = "; ".join(
        f"{count}: {clock:.2f} ({cpu:.2f})"
        for count, _, clock, cpu, _ in mixing["gradients"]["rows"]
    )
    positive = [row[4] for row in mixing["distances"]["rows"]]
    return [
        Claim(
            f"{_S}, Parallel Logistic Regression / Gradient Ascent",
            "The gradient is the sum of those of the shards, without any heuristic.",
            verdict_of([max(apart) < 1e-10]),
            f"With up to {many} processes the gradient differs by at most {max(apart):.1e} of its "
            f"length, which is rounding. Seconds of ten gradients by the clock (CPU seconds of all "
            f"processes), by shards: {seconds}; the machine is shared.",
        ),
        Claim(
            f"{_S}, Parallelization through Averaging",
            "Averaged weights are sub-optimal, unlike those of parallel gradient ascent.",
            verdict_of(distance > 0 for distance in positive),
            f"|w - w_avg| is never 0: {min(positive):.3g} to {max(positive):.3g}.",
        ),
        Claim(
            f"{_S}, [Mann et al. 2009]",
            "|w - w_avg| is O(1 / sqrt |T|) for a stable algorithm, logistic regression among "
            "them.",
            verdict_of(mean - spread[case] <= -0.5 for case, mean in means.items()),
            "Slope of log |w - w_avg| against log |T|, mean over seeds (the bound: -0.5 or "
            "steeper): "
            + ", ".join(
                f"{mean:.2f} +- {spread[case]:.2f} ({case[1]} shards, C = {case[0]:g} |T|)"
                for case, mean in means.items()
            )
            + ". C grows with |T|, which makes the algorithm stable; the weaker it is, the more "
            "examples a shard needs before its weights settle.",
        ),
        Claim(
            f"{_S}, Parallel Wrap-up",
            "Averaging works for all algorithms.",
            verdict_of(
                by_shards[count][2 + place] > one[2 + place] - 1.0
                for count in more
                for place in (0, 1)
            ),
            f"Accuracy in per cent ({', '.join(columns[2:])}): {accuracies}. It counts as working "
            "where perceptrons lose less than a point against one shard.",
        ),
        Claim(
            f"{_S}, Parallelization through Averaging",
            "Does it work? (The mix against a model of one shard alone.)",
            verdict_of(by_shards[count][0] > by_shards[count][1] for count in more),
            f"At {many} shards {by_shards[many][0]:.2f} per cent against {by_shards[many][1]:.2f} "
            f"for one shard alone, and {one[0]:.2f} for all examples at once.",
        ),
    ]


def of_kernels(results: Results) -> list[Claim]:
    """Kernels."""
    numbers, found = results.numbers["kernels"], results.comparisons
    grams, both, circle = (numbers[key] for key in ("Gram matrices", "dual and primal", "circle"))
    cost = numbers["cost"]
    least = min(own["least eigenvalue"] for own in grams.values())
    uneven = max(own["asymmetry"] for own in grams.values())

    def better_than_linear(name: str) -> list[bool]:
        linear, others = LINEAR_OF[name]
        return [is_better(found[name], label, _C, linear, _C) is True for label in others]

    def shown(name: str) -> str:
        linear, others = LINEAR_OF[name]
        return "; ".join(
            f"{label} against {linear} {compared(found[name], label, _C, linear, _C)}"
            for label in others
        )

    seconds = [row[2] for row in cost]
    return [
        Claim(
            f"{_S}, Kernels",
            "A Gram matrix is symmetric and positive semi-definite.",
            verdict_of([uneven <= 1e-9, least >= -1e-9]),
            f"{', '.join(grams)}: least eigenvalue at least {least:.1e} of the greatest, "
            f"asymmetry at most {uneven:.1e}.",
        ),
        Claim(
            f"{_S}, Kernel Trick - Perceptron Algorithm; Mercer's Theorem",
            "The perceptron can be written with kernels alone; the kernel is a product of "
            "features.",
            verdict_of(
                [
                    both["mistakes in the dual"] == both["mistakes in the primal"],
                    both["predicted alike"] == both["new points"],
                ]
            ),
            f"With (a . b + 1)^2 in the dual and with weights on its {both['features']:.0f} "
            f"features: {both['mistakes in the dual']:.0f} and "
            f"{both['mistakes in the primal']:.0f} mistakes; {both['predicted alike']:.0f} of "
            f"{both['new points']:.0f} new points are classified alike.",
        ),
        Claim(
            f"{_S}, Example: Polynomial Kernel",
            "(a . b + 1)^2 in the plane is the product of six features.",
            verdict_of([results.numbers["examples"]["polynomial kernel"] < 1e-9]),
            "Greatest difference over 10,000 pairs of random points: "
            f"{results.numbers['examples']['polynomial kernel']:.1e}.",
        ),
        Claim(
            f"{_S}, Linear Classifiers in High Dimension",
            "(x_1^2, sqrt 2 x_1 x_2, x_2^2) makes a linear problem of one that is none in the "
            "plane.",
            verdict_of(
                [
                    circle["in the plane"] > 0,
                    circle["in three dimensions"] == 0,
                    circle["with the kernel"] == 0,
                ]
            ),
            f"A class inside a circle, one outside, mistakes in the 50th pass over 200 points: "
            f"{circle['in the plane']:.0f} in the plane, {circle['in three dimensions']:.0f} on "
            f"the three features, {circle['with the kernel']:.0f} with the kernel.",
        ),
        Claim(
            f"{_S}, Example: Polynomial Kernel; Kernels = Tractable Non-Linearity",
            "A polynomial kernel takes O(M) for any degree, less than the product of its features.",
            verdict_of([max(seconds[1:]) <= 1.5 * min(seconds[1:]), cost[0][3] > cost[0][2]]),
            "Seconds for a million values with 50 components (features behind them): "
            + ", ".join(
                f"{own:.3f} (d = {degree:.0f}, {features:,.0f})"
                for degree, features, own, _ in cost
            )
            + f"; as products of the {cost[0][1]:,.0f} features of d = 2: {cost[0][3]:.3f}. (A "
            "square is no general power to NumPy, so d = 2 is cheaper.)",
        ),
        Claim(
            f"{_S}, Non-Linear Classifiers; Popular Kernels",
            "Some data need more than a linear classifier: polynomial and Gaussian kernels.",
            verdict_of(better_than_linear("kernels of digits")),
            f"Digits: {shown('kernels of digits')}. Voted: "
            f"{compared(found['kernels of digits'], VOTED, _C, SQUARE, _C)} for averaged.",
        ),
        Claim(
            f"{_S}, Popular Kernels",
            "String kernels (Lodhi et al. 2002).",
            verdict_of(better_than_linear("kernels of words")),
            f"The language of a word by its letters, gaps allowed: {shown('kernels of words')}.",
        ),
        Claim(
            f"{_S}, Popular Kernels",
            "Tree kernels (Collins & Duffy 2002).",
            verdict_of(better_than_linear("kernels of trees")),
            f"The language of a tree without its words: {shown('kernels of trees')}.",
        ),
    ]


def _test(found: Any, pair: tuple[str, str], n: int) -> tuple[float, float]:
    """The difference, second minus first, and its p value."""
    for first, second, size, difference, p in found["tests"]:
        if (first, second) == pair and size == n:
            return difference, p
    return 0.0, 1.0


def _lost(found: Any, pair: tuple[str, str]) -> list[int]:
    """The sizes at which the first is better by more than chance."""
    sizes = found["curves"][pair[0]]["sizes"]
    tests = {n: _test(found, pair, n) for n in sizes}
    return [n for n, (difference, p) in tests.items() if difference < 0 and p <= SIGNIFICANT]


def _accuracy(found: Any, name: str, n: int) -> str:
    own = found["curves"][name]
    return f"{fmean(own['accuracy'][own['sizes'].index(n)]):.2f}"


def _slopes(rows: Sequence[Sequence[float]]) -> dict[tuple[float, int], list[float]]:
    """The slopes by strength and number of shards, one for each seed."""
    groups: dict[tuple[float, int, float], list[tuple[float, float]]] = {}
    for strength, n, count, seed, apart, _ in rows:
        groups.setdefault((strength, int(count), seed), []).append((n, apart))
    slopes: dict[tuple[float, int], list[float]] = {}
    for (strength, count, _), own in groups.items():
        if len(own) > 1:
            slopes.setdefault((strength, count), []).append(slope(*zip(*own, strict=True)))
    return slopes


def _by_shards(rows: Sequence[Sequence[float]]) -> dict[int, list[float]]:
    """The mean figures of each number of shards."""
    groups: dict[int, list[Sequence[float]]] = {}
    for row in rows:
        groups.setdefault(int(row[0]), []).append(row[2:])
    return {
        count: [fmean(column) for column in zip(*own, strict=True)] for count, own in groups.items()
    }
