"""What Huang et al. 2009 say besides Fig. 2, measured on chunks: the order of the bounds (eq. 14),
the costs of Table 1 and section 2.3, full Newton steps (section 3.2), linear rates (Theorem 1), and
what the variance of section 4 is a variance of.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from egparse.experiments.data.samples import Sample
from egparse.experiments.data.words import Classified, classify
from egparse.experiments.maxent.cd import CoordinateDescent
from egparse.experiments.maxent.gis import GIS
from egparse.experiments.maxent.lbfgs import maxent_optimum, run_lbfgs
from egparse.experiments.maxent.one_variable import stationary_point
from egparse.experiments.maxent.probes.bounds import SubProblems
from egparse.experiments.maxent.probes.costs import newton_costs, update_costs
from egparse.experiments.maxent.probes.rates import rate_of
from egparse.experiments.maxent.registry import train_maxent
from egparse.experiments.maxent.run import MaxentStop
from egparse.experiments.report.outcome import Table
from egparse.experiments.report.request import Request
from egparse.experiments.report.summary import number
from egparse.types import Floats

SIGMA2 = 10.0
RATES = ("gis", "iis", "scgis", "cd", "cd-exact")
"""Those of Theorem 1, and coordinate descent with one Newton step."""

_SLICE = 100  # sentences whose optimum all learners can come near to
_LARGER = 1000  # sentences whose optimum is found at two variances
_SLICE_SECONDS, _QUICK_SECONDS = 6.0, 0.3
_SLICE_SIGMA2 = 1.0
_PASSES, _QUICK_PASSES = 6, 3
_POINTS = 60  # of a series of differences
_FEATURES = 400  # whose bounds are compared
_STEPS = (-2.0, -0.3, -0.03, 0.03, 0.3, 2.0)


def measure(chunks: Classified, request: Request) -> dict[str, Any]:
    """All of it, as plain data."""
    passes = _QUICK_PASSES if request.quick else _PASSES
    steps, w = full_steps(chunks, passes)
    return {
        "full steps": steps,
        "bounds": bounds(chunks, w, request.seed),
        "costs": {
            name: costs._asdict()
            for name, costs in newton_costs(chunks.problem, w, sigma2=SIGMA2).items()
        },
        "updates": updates(chunks, w),
        "closed form": closed_form(chunks),
        **small_slice(chunks, request),
        "variance": readings(chunks),
    }


def full_steps(chunks: Classified, passes: int) -> tuple[list[float], Floats]:
    """The share of Newton steps of CD that are taken with lambda = 1, for each of its first passes,
    and the weights after these.
    """
    learner = CoordinateDescent(chunks.problem, sigma2=SIGMA2)
    state = learner.initialise()
    shares = []
    for _ in range(passes):
        learner.tally[:] = 0
        learner.iterate(state)
        shares.append(float(learner.tally[2]) / max(1, int(learner.tally[1])))
    return shares, state.w


def bounds(chunks: Classified, w: Floats, seed: int) -> dict[str, int]:
    """Violations of eq. 14 at w = 0, at w and half-way, for features drawn at random."""
    random = np.random.default_rng(seed)
    tried = found = 0
    for scale in (0.0, 0.5, 1.0):
        problems = SubProblems(chunks.problem, scale * w, sigma2=SIGMA2)
        chosen = random.integers(0, len(w), size=_FEATURES)
        counted = problems.violations(chosen, np.array(_STEPS))
        tried, found = tried + counted.tried, found + counted.found
    return {"tried": tried, "found": found}


def updates(chunks: Classified, w: Floats) -> dict[str, Any]:
    """The cost of an update of the table by the length of the feature, and of all of the table."""
    by_length, anew = update_costs(chunks.problem, w)
    return {
        "nanoseconds by length": [[row.length, row.nanoseconds] for row in by_length],
        "nanoseconds of the table": anew,
        "mean length": chunks.problem.nonzeros / chunks.problem.feature_count,
    }


def closed_form(chunks: Classified) -> dict[str, float]:
    """How far log(observed / expected) / f#, without a prior, is from Newton's solution with all
    but no prior, over all features at w = 0: the greatest difference, and the greatest solution.
    """
    learner = GIS(chunks.problem, sigma2=math.inf)
    expected, observed = learner.initialise().expected, chunks.problem.features.observed
    closed = np.log(observed / expected) / learner.most
    newton = np.array(
        [
            stationary_point(own, learner.most, seen, 0.0, 1e-9)
            for own, seen in zip(expected.tolist(), observed.tolist(), strict=True)
        ]
    )
    return {
        "difference": float(np.abs(newton - closed).max()),
        "greatest": float(np.abs(closed).max()),
        "f#": learner.most,
    }


def small_slice(chunks: Classified, request: Request) -> dict[str, Any]:
    """The differences to the optimum of a slice of the sentences, pass by pass, of every learner of
    Theorem 1.
    """
    small = _first(chunks, _SLICE)
    optimum = maxent_optimum(small.problem, sigma2=_SLICE_SIGMA2)
    seconds = request.seconds_of(_SLICE_SECONDS, _QUICK_SECONDS)
    series = {}
    for learner in RATES:
        stop = MaxentStop(passes=5000, seconds=seconds, tolerance=1e-11, optimum=optimum)
        records = train_maxent(learner, small.problem, stop, sigma2=_SLICE_SIGMA2).records
        kept = records[:: -(-len(records) // _POINTS)]
        series[learner] = {
            "passes": [record.passes for record in kept],
            "difference": [record.relative_difference for record in kept],
        }
    return {
        "rates": series,
        "slice": {"words": small.facts["training words"], "sigma2": _SLICE_SIGMA2},
    }


def readings(chunks: Classified) -> dict[str, Any]:
    """The start, as a relative difference to the optimum, and the test score at the optimum of a
    slice, if eq. 3 is read with counts (sigma^2 = 10 is C = 0.1) and with the empirical
    distribution (C = n / 10).
    """
    small = _first(chunks, _LARGER)
    n = small.facts["training words"]
    found: dict[str, Any] = {"words": n}
    for name, sigma2 in (("counts", SIGMA2), ("distribution", SIGMA2 / n)):
        stop = MaxentStop(passes=2000, tolerance=1e-4)
        run = run_lbfgs(small.problem, stop, sigma2=sigma2)
        start = (run.records[0].objective - run.objective) / run.objective
        found[name] = {"start": start, "score": small.score(run.weights), "sigma2": sigma2}
    return found


def _first(chunks: Classified, sentences: int) -> Classified:
    name, train, dev, _ = chunks.task.parts
    return classify(chunks.task._replace(parts=Sample(name, train[:sentences], dev)))


def tables(numbers: Mapping[str, Any]) -> list[Table]:
    """Table 1 and the rates."""
    costs = Table(
        "Nanoseconds of a Newton direction for each non-zero of a feature (Table 1)",
        ("learner", "first", "each further one", "further / first"),
        "lrrr",
        [
            (
                name,
                f"{row['first']:.2f}",
                f"{row['further']:.3f}",
                f"{row['further'] / row['first']:.3f}",
            )
            for name, row in numbers["costs"].items()
        ],
    )
    updates = Table(
        "An update of S and T (section 2.3) by the non-zeros of the feature",
        ("non-zeros", "ns", "ns for each"),
        "rrr",
        [
            (f"{length:.1f}", f"{nanoseconds:.1f}", f"{nanoseconds / length:.2f}")
            for length, nanoseconds in numbers["updates"]["nanoseconds by length"]
        ],
    )
    rows = []
    for name, series in numbers["rates"].items():
        rate = rate_of(series["passes"], series["difference"])
        if rate is not None:
            last = series["passes"][-1], series["difference"][-1]
            rows.append(
                (
                    name,
                    f"{last[0]}",
                    f"{last[1]:.2g}",
                    number(rate.factor),
                    number(rate.early),
                    number(rate.late),
                    number(rate.r2),
                    number(rate.power_r2),
                )
            )
    rates = Table(
        "The factor by which a pass shrinks the difference (Theorem 1), second half of the passes",
        (
            "learner",
            "passes",
            "difference, end",
            "factor",
            "first half",
            "second half",
            "R2",
            "R2, power",
        ),
        "lrrrrrrr",
        rows,
    )
    return [costs, updates, rates]
