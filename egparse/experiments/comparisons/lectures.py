"""The lectures on linear classifiers: every learner, theorem and number that they state (McDonald
2009, "Generalized Linear Classifiers in NLP").

The lectures have no data. Here they are the 10,000 MNIST test digits, English tags and the trees of
four languages of Universal Dependencies, and Spanish trees. What is measured lies in
``egparse.experiments.lectures``.
"""

from __future__ import annotations

from typing import Any

from egparse.experiments.claims.lectures import claims
from egparse.experiments.data.digits import IMAGES, LABELS
from egparse.experiments.data.problems import parser
from egparse.experiments.data.samples import SPANISH_TREES, files_of, sample
from egparse.experiments.lectures import tables
from egparse.experiments.lectures.examples import measure_examples
from egparse.experiments.lectures.generative import held_vectors, measure_generative
from egparse.experiments.lectures.kernel_tasks import compare_kernels, measure_kernels
from egparse.experiments.lectures.linear import NAME as NAME
from egparse.experiments.lectures.linear import compare_linear, english
from egparse.experiments.lectures.logistic import measure_logistic
from egparse.experiments.lectures.mistakes import measure_sparsity, measure_theorem
from egparse.experiments.lectures.mixing import measure_mixing
from egparse.experiments.lectures.pairs import measure_pairs
from egparse.experiments.lectures.tasks import (
    LANGUAGES,
    Digits,
    read_vectors,
    subset,
    tags,
)
from egparse.experiments.report.outcome import Outcome
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results

SOURCE = "McDonald 2009 (lectures)"
NEEDS = (
    IMAGES,
    LABELS,
    *LANGUAGES.values(),
    "ud/en_ewt-ud-dev.conllu",
    "ud/en_ewt-ud-test.conllu",
    *files_of(SPANISH_TREES),
)

_SIZES = {"tags": (50, 200, 800, 3200), "digits": (50, 200, 1000, 4000)}
_QUICK_SIZES = {"tags": (20, 40), "digits": (40, 80)}
_MIXED, _QUICK_MIXED = (125, 250, 500, 1000, 2000), (60, 120)
_SHARDS, _QUICK_SHARDS = (1, 2, 4, 8), (1, 2)
_VALIDATION = 500  # sentences
_SEPARABLE, _QUICK_SEPARABLE = 300, 40  # vectors
_SHORT = 12  # words of a separable sentence
_STRUCTURES, _QUICK_STRUCTURES = 20, 6
_TOLERANCE = 0.05  # of the margin of structures, whose programs grow for long


def measure(request: Request) -> Results:
    """Everything, the comparisons of linear learners and of kernels first."""
    comparisons = {**compare_linear(request), **compare_kernels(request)}
    quick = request.quick
    digits = read_vectors(request, (240, 100, 100) if quick else (7000, 1500, 1500))
    words = english(request)
    words = words._replace(dev=words.dev[:_VALIDATION])
    seeds = request.seeds_of(3)
    few = _vectors(digits, _QUICK_SEPARABLE if quick else _SEPARABLE, request.seed)
    numbers: dict[str, Any] = {"examples": measure_examples(request.seed)}
    request.tell("the theorem of the perceptron")
    numbers["theorem"] = {
        "digits": measure_theorem(few, seeds),
        "tags": measure_theorem(_tags(request), seeds, tolerance=_TOLERANCE, mira_passes=50),
        "trees": measure_theorem(_trees(request), seeds, tolerance=_TOLERANCE, mira_passes=50),
    }
    numbers["sparsity"] = measure_sparsity(few)
    numbers["pairs"] = measure_pairs(digits, (20,) if quick else (50, 100, 200, 400))
    request.tell("logistic regression")
    numbers["logistic"] = measure_logistic(few, 1.0, request.seed)
    request.tell("generative and discriminative models")
    sizes = _QUICK_SIZES if quick else _SIZES
    numbers["generative"] = measure_generative(words, digits, sizes, seeds)
    request.tell("kernels")
    numbers["kernels"] = measure_kernels(request)
    request.tell("training on shards")
    numbers["mixing"] = measure_mixing(
        digits,
        _QUICK_MIXED if quick else _MIXED,
        _QUICK_SHARDS if quick else _SHARDS,
        seeds,
    )
    notes = (
        *dict.fromkeys(note for each in comparisons.values() for note in each.notes),
        "The perceptron has no C. At C = 0.01 MIRA's multipliers are at most 100, which is the "
        "MIRA of the lectures, without slack, in all but name.",
        "The score of a model is over all words, punctuation included; paired tests are over "
        "sentences, words or digits of the test part, or of the validation part where there is no "
        "other.",
        f"Margins are those of {_SEPARABLE} digits, and of {_STRUCTURES} sentences of at most "
        f"{_SHORT} words: the program of all margins of longer ones has thousands of constraints.",
    )
    return Results(comparisons, numbers, notes, quick)


def report(results: Results) -> Outcome:
    """Claims, tables and figures."""
    return Outcome(
        "Linear classifiers: the lectures",
        SOURCE,
        results.facts,
        claims(results),
        tables.tables(results),
        tables.panels(results),
        results.notes,
    )


def _vectors(digits: Digits, n: int, seed: int) -> Any:
    return held_vectors(digits, n, seed).problem


def _tags(request: Request) -> Any:
    """A tagging problem of few short sentences."""
    words = english(request)
    short = [own for own in words.train if 3 <= len(own) <= _SHORT]
    count = _QUICK_STRUCTURES if request.quick else _STRUCTURES
    return tags(subset(words._replace(train=short), count, request.seed)).problem


def _trees(request: Request) -> Any:
    """A parsing problem of few short sentences."""
    found = sample(request, SPANISH_TREES, (80, 20))
    short = [own for own in found.train if 3 <= len(own) <= _SHORT]
    count = _QUICK_STRUCTURES if request.quick else _STRUCTURES
    part = found._replace(train=short[:count], dev=short[:1], test=())
    return parser(part, trees="projective", bits=16).problem
