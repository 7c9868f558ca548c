"""Time the tree kernels by sentence length.

Usage: python benchmarks/structures.py [--lengths N ...]

Scores are normal with standard deviation 2, and raised by 4 along one random projective tree, as a
trained model's are. Each figure is the best of five repetitions, with a reused workspace, called
from Python.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable

import numpy as np

from egparse.structures.trees import nonprojective, projective
from egparse.structures.trees.chu_liu_edmonds import chu_liu_edmonds, search_workspace
from egparse.structures.trees.nonprojective_log import log_matrix_tree
from egparse.structures.trees.projective_k_best import k_best_eisner, k_best_workspace
from egparse.structures.trees.projective_log import log_inside_outside
from egparse.types import Floats

LENGTHS = (10, 25, 50, 100, 160, 400)
N_BEST = 5


def scores_of(n: int) -> Floats:
    """Scores over n words in which one projective tree stands out."""
    random = np.random.default_rng(n)
    scores = random.normal(scale=2.0, size=(n + 1, n + 1))
    heads = projective.argmax(random.normal(size=(n + 1, n + 1))).heads
    scores[heads[1:], np.arange(1, n + 1)] += 4.0
    return scores


def microseconds(work: Callable[[], object], n: int) -> float:
    """The best of five averages over as many calls as make a few milliseconds."""
    work()
    calls = max(1, 40_000 // n**2)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        best = min(best, (time.perf_counter() - start) / calls)
    return best * 1e6


def timings(n: int) -> dict[str, float]:
    """Microseconds of every kernel on one sentence of n words."""
    scores = scores_of(n)
    result = np.zeros_like(scores)
    heads = np.empty(n + 1, dtype=np.int32)
    chart, rates, search = projective.workspace(n), nonprojective.workspace(n), search_workspace(n)
    ranked, values, lists = (
        np.empty((N_BEST, n + 1), np.int32),
        np.empty(N_BEST),
        k_best_workspace(n, N_BEST),
    )
    kernels: dict[str, Callable[[], object]] = {
        "inside-outside": lambda: projective.inside_outside(scores, True, result, chart),
        "in logs": lambda: log_inside_outside(scores, True, result, chart),
        "Eisner": lambda: projective.eisner(scores, True, heads, chart),
        f"{N_BEST}-best Eisner": lambda: k_best_eisner(scores, True, ranked, values, lists),
        "matrix-tree": lambda: nonprojective.matrix_tree(scores, True, result, rates),
        "in logs ": lambda: log_matrix_tree(
            scores, True, result, rates.rates, rates.escape, rates.schedule
        ),
        "Chu-Liu-Edmonds": lambda: chu_liu_edmonds(scores, True, heads, search),
        "several roots": lambda: chu_liu_edmonds(scores, False, heads, search),
    }
    return {name: microseconds(kernel, n) for name, kernel in kernels.items()}


def main() -> None:
    """Print one row a length."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS, help="in words")
    lengths = parser.parse_args().lengths
    print(
        f"{platform.processor() or platform.machine()}, Python {platform.python_version()}; us a "
        "sentence"
    )
    for row, n in enumerate(lengths):
        figures = timings(n)
        if row == 0:
            print("    n " + " ".join(f"{name.strip():>16}" for name in figures))
        print(f"{n:5d} " + " ".join(f"{figure:16.1f}" for figure in figures.values()), flush=True)


if __name__ == "__main__":
    main()
