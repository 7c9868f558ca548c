"""Claims of Huang et al. 2009, "Iterative scaling and coordinate descent methods for maximum
entropy".
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from egparse.experiments.claims.maxent_races import (
    CHUNKS,
    EIGHTH,
    TAGS,
    VARIANCES,
    Found,
    runs,
)
from egparse.experiments.maxent.probes.rates import rate_of
from egparse.experiments.report.claims import SIGNIFICANT, Claim, figure, verdict_of
from egparse.experiments.report.record import Comparison, Point
from egparse.experiments.report.results import Results

CD, SCGIS, GIS, LBFGS, IIS, EXACT = "CD", "SCGIS", "GIS", "L-BFGS", "IIS", "CD, exact"

_PAPER = "Huang et al. 2009"
_FALLING = 1e-11  # relative: a smaller rise of an objective is rounding
_CONSTANT = 3.0  # the greatest ratio of costs that counts as of one order
_NEARLY_ALL = 0.99
_SMALL = 0.1  # a direction below this share of the first one's cost does not go through the feature
_EARLY = 0.25  # of the seconds that all learners have: the beginning


def claims(results: Results) -> list[Claim]:
    """All claims, in the order of the paper."""
    found = runs(results)
    main = [next(own for own in found if own.task == task) for task in (TAGS, CHUNKS)]
    chunks, numbers = main[1], results.numbers
    return [
        *_of_framework(results, found, chunks),
        *_of_theorem(numbers),
        *_of_costs(numbers, results.comparisons),
        *_of_bounds(numbers, chunks),
        *_of_fast_cd(numbers, chunks),
        *_of_set_up(numbers, results),
        *_of_objective(main, found),
        *_of_scores(main, results),
    ]


def _of_framework(results: Results, found: Sequence[Found], chunks: Found) -> list[Claim]:
    curves = [
        curve
        for comparison in results.comparisons.values()
        for curve in comparison.curves
        if curve.label in (CD, EXACT, SCGIS, GIS, IIS)
    ]
    rises = sum(
        later.primal > own.primal * (1 + _FALLING)
        for curve in curves
        for own, later in itertools.pairwise(curve.points)
    )
    failed = [curve.label for curve in curves if curve.stopped.startswith("failed")]
    passes = {label: chunks.of(label).points[-1].iteration for label in (CD, SCGIS, GIS, IIS)}
    after = min(passes.values())
    sequential = [_at_pass(own, SCGIS, after) < _at_pass(own, GIS, after) for own in found]
    shown = "; ".join(
        f"{own.title}: SCGIS {_at_pass(own, SCGIS, after):.3g}, GIS {_at_pass(own, GIS, after):.3g}"
        for own in found
    )
    return [
        Claim(
            f"{_PAPER}, eq. 4, 6, 7",
            "Every step of an iterative scaling or coordinate descent method lowers the objective.",
            verdict_of([rises == 0, not failed]),
            f"{rises} rises between the measured points of {len(curves)} curves; "
            f"{len(failed)} runs failed.",
        ),
        Claim(
            f"{_PAPER}, section 2.1",
            "Parallel updates are less aggressive and usually converge more slowly than sequential "
            "ones.",
            verdict_of(sequential),
            f"Relative difference after {after} passes: {shown}.",
        ),
    ]


def _at_pass(found: Found, label: str, passes: int) -> float:
    """The difference after the last measured pass up to this one."""
    return found.difference([p for p in found.of(label).points if p.iteration <= passes][-1])


def _of_theorem(numbers: Mapping[str, Any]) -> list[Claim]:
    rates = {
        name: rate_of(series["passes"], series["difference"])
        for name, series in numbers["rates"].items()
    }
    known = {name: rate for name, rate in rates.items() if rate is not None}
    shown = "; ".join(
        f"{name} {rate.factor:.5f} a pass (R2 {rate.r2:.4f}, of a power of the passes "
        f"{rate.power_r2:.4f}), to {min(numbers['rates'][name]['difference']):.1g}"
        for name, rate in known.items()
    )
    return [
        Claim(
            f"{_PAPER}, Theorem 1",
            "GIS, IIS, SCGIS and CD with exact sub-problems converge linearly.",
            verdict_of(
                name in known and known[name].is_linear
                for name in ("gis", "iis", "scgis", "cd-exact")
            ),
            f"On {numbers['slice']['words']:,} words with sigma^2 = "
            f"{numbers['slice']['sigma2']:g}, a line through the logarithm of the difference over "
            f"the second half of the passes: {shown}. It counts as linear with R2 above 0.98 and "
            "above that of a power of the passes.",
        )
    ]


def _of_costs(numbers: Mapping[str, Any], comparisons: Mapping[str, Comparison]) -> list[Claim]:
    costs, updates = numbers["costs"], numbers["updates"]
    first = [row["first"] for row in costs.values()]
    share = {name: row["further"] / row["first"] for name, row in costs.items()}
    shown = "; ".join(
        f"{name} {row['first']:.2f} and {row['further']:.2f}" for name, row in costs.items()
    )
    long = [(n, ns / n) for n, ns in updates["nanoseconds by length"] if n >= 16]
    rates = [rate for _, rate in long]
    mean = updates["mean length"]
    update = mean * sum(rates) / len(rates) if rates else math.nan
    ratio = updates["nanoseconds of the table"] / update
    facts = comparisons[TAGS].task.facts
    table = 8e-6 * facts["labels"] * facts["contexts"]
    form = numbers["closed form"]
    return [
        Claim(
            f"{_PAPER}, section 2.3",
            "Without regularisation the sub-problems of GIS and SCGIS have a simple closed form; "
            "with it Newton's method is needed (eq. 11, 12).",
            verdict_of([form["difference"] <= 1e-6 * max(1.0, form["greatest"])]),
            f"log(observed / expected) / f# is Newton's solution of eq. 12 as 1 / sigma^2 goes to "
            f"0: to {form['difference']:.1g} for all features (f# = {form['f#']:g}, the greatest "
            f"step is {form['greatest']:.2g}). With a prior we solve v + log v = h instead of "
            "iterating in z, which can overflow.",
        ),
        Claim(
            f"{_PAPER}, Table 1",
            "The first Newton direction costs O(l), l the non-zeros of the feature, for all four.",
            verdict_of([max(first) <= _CONSTANT * min(first)]),
            f"Nanoseconds a non-zero, of the first and of each further direction: {shown}. The "
            f"first ones lie within a factor of {max(first) / min(first):.2g}.",
        ),
        Claim(
            f"{_PAPER}, Table 1",
            "Each further direction costs O(l) for CD and IIS, O(1) for GIS and SCGIS.",
            verdict_of(
                [
                    *(share[name] > 1 / _CONSTANT for name in ("cd", "iis")),
                    *(share[name] < _SMALL for name in ("gis", "scgis")),
                ]
            ),
            "A further direction in terms of the first: "
            + ", ".join(f"{name} {own:.3g}" for name, own in share.items())
            + f" (a feature has {mean:.0f} non-zeros on average).",
        ),
        Claim(
            f"{_PAPER}, section 2.3",
            "With S and T stored, an update of one weight costs O(l) instead of O(#nz).",
            verdict_of([max(rates) <= _CONSTANT * min(rates), ratio > 100] if rates else []),
            f"{min(rates, default=math.nan):.1f} to {max(rates, default=math.nan):.1f} ns a "
            "non-zero for features of 16 and more; computing the table anew takes "
            f"{ratio:,.0f} times as long as the update for a feature of average length.",
        ),
        Claim(
            f"{_PAPER}, section 2.3",
            "Storing S and T needs extra space.",
            verdict_of([facts["labels"] * facts["contexts"] > facts["features"]]),
            f"S takes {table:,.0f} MB for the tags, 8 bytes for each of {facts['labels']} labels "
            f"and {facts['contexts']:,} contexts; the {facts['features']:,} weights take "
            f"{8e-6 * facts['features']:,.0f} MB. GIS and L-BFGS do without: they go through the "
            "contexts and keep only sums.",
        ),
    ]


def _of_bounds(numbers: Mapping[str, Any], chunks: Found) -> list[Claim]:
    counted = numbers["bounds"]
    pace = {
        label: chunks.of(label).points[-1].cpu_seconds / chunks.of(label).points[-1].iteration
        for label in (CD, SCGIS, GIS, IIS)
    }
    dearer = [pace[CD] > pace[SCGIS], pace[IIS] > pace[GIS]]
    after = min(chunks.of(label).points[-1].iteration for label in (CD, SCGIS, GIS, IIS))
    fewer = [
        _at_pass(chunks, CD, after) < _at_pass(chunks, SCGIS, after),
        _at_pass(chunks, IIS, after) <= _at_pass(chunks, GIS, after),
    ]
    pays = (
        "does not pay"
        if chunks.after(IIS, chunks.seconds) > chunks.after(GIS, chunks.seconds)
        else "pays"
    )
    return [
        Claim(
            f"{_PAPER}, eq. 14",
            "A_CD <= A_SCGIS <= A_GIS and A_CD <= A_IIS <= A_GIS for every z.",
            verdict_of([counted["found"] == 0]),
            f"{counted['found']} violations in {counted['tried']:,} comparisons, for features of "
            "the chunks drawn at random, at three w and six z.",
        ),
        Claim(
            f"{_PAPER}, section 3.1",
            "A tight bound converges with fewer sub-problems, but each costs more, so that the "
            "time need not be less.",
            verdict_of([*dearer, *fewer]),
            "Seconds a pass on chunks: "
            + ", ".join(f"{label} {own:.2g}" for label, own in pace.items())
            + f"; differences after {after} passes: "
            + ", ".join(f"{label} {_at_pass(chunks, label, after):.3g}" for label in pace)
            + f". The tighter bound of IIS {pays}: after {chunks.seconds:.0f} s IIS is at "
            f"{chunks.after(IIS, chunks.seconds):.3g}, GIS at "
            f"{chunks.after(GIS, chunks.seconds):.3g}.",
        ),
    ]


def _of_fast_cd(numbers: Mapping[str, Any], chunks: Found) -> list[Claim]:
    shares = numbers["full steps"]
    rates = {
        name: rate_of(series["passes"], series["difference"])
        for name, series in numbers["rates"].items()
    }
    factors = {name: rate.factor for name, rate in rates.items() if rate is not None}
    faster = [
        "cd" in factors and factors["cd"] < factors.get(n, 1.0) for n in ("gis", "iis", "scgis")
    ]
    limits = [
        limit
        for limit in (1.0, 0.5, 0.2, 0.1, 0.05)
        if chunks.first(chunks.of(CD), limit) and chunks.first(chunks.of(EXACT), limit)
    ]
    both = {
        limit: tuple(_needed(chunks, label, limit) for label in (CD, EXACT)) for limit in limits
    }
    shown = "; ".join(
        f"to {limit:g}: {one.cpu_seconds:.1f} against {other.cpu_seconds:.1f} s, {one.iteration} "
        f"against {other.iteration} passes"
        for limit, (one, other) in both.items()
    )
    return [
        Claim(
            f"{_PAPER}, section 3.2",
            "Near the optimum the Newton direction satisfies eq. 16 with lambda = 1.",
            verdict_of(
                [all(share >= _NEARLY_ALL for share in shares[1:]), shares[-1] >= shares[0]]
            ),
            "Share of steps with lambda = 1 on chunks, pass by pass: "
            + ", ".join(f"{100 * share:.3f}" for share in shares)
            + " %.",
        ),
        Claim(
            f"{_PAPER}, section 3.2",
            "Near the optimum one Newton step on A_CD lowers L more than exactly minimising the "
            "loose bounds of GIS, IIS and SCGIS.",
            verdict_of(faster),
            "Factor of the difference a pass at the end (as for Theorem 1): "
            + ", ".join(f"{name} {own:.5f}" for name, own in factors.items())
            + ".",
        ),
        Claim(
            f"{_PAPER}, section 3.2",
            "Solving the sub-problems approximately improves on traditional CD and keeps its fast "
            "convergence.",
            verdict_of(one.cpu_seconds < other.cpu_seconds for one, other in both.values()),
            f"One step against exact sub-problems on chunks, {shown}.",
        ),
    ]


def _needed(found: Found, label: str, limit: float) -> Point:
    point = found.first(found.of(label), limit)
    assert point is not None
    return point


def _of_set_up(numbers: Mapping[str, Any], results: Results) -> list[Claim]:
    counts, distribution = numbers["variance"]["counts"], numbers["variance"]["distribution"]
    scores = {
        name: max(curve.points[-1].score for curve in results.comparisons[name].curves)
        for name in (TAGS, CHUNKS)
    }
    return [
        Claim(
            f"{_PAPER}, section 4",
            "sigma^2 = 10 in eq. 3, which is written with the empirical distribution.",
            "in part" if distribution["start"] < 1 < counts["start"] else "not reproduced",
            "Read literally the prior outweighs the data: on "
            f"{numbers['variance']['words']:,} words of the chunks w = 0 is at a relative "
            f"difference of {distribution['start']:.2g} and the optimum has an F1 of "
            f"{distribution['score']:.1f}; with counts instead, {counts['start']:.3g} and "
            f"{counts['score']:.1f}. Fig. 2 starts between 10 and 100 and ends at 93.5, so it was "
            "made with counts, as everything here (C = 0.1).",
        ),
        Claim(
            f"{_PAPER}, Fig. 2",
            "Training takes up to 2,000 s (Brown) and 200 s (CoNLL-2000); accuracies reach 97, F1 "
            "93.5.",
            "not possible",
            "The features are not listed, the programs were extensions of OpenNLP in Java on "
            "another machine. Here, with other features and reduced tags, the best last scores are "
            f"{scores[TAGS]:.2f} and {scores[CHUNKS]:.2f}.",
        ),
    ]


def _of_objective(main: Sequence[Found], found: Sequence[Found]) -> list[Claim]:
    settled = {own.title: own.seconds for own in main}
    fastest = [
        own.after(CD, own.seconds) < min(own.after(label, own.seconds) for label in (SCGIS, GIS))
        for own in main
    ]
    in_order = [own.after(SCGIS, own.seconds) < own.after(GIS, own.seconds) for own in main]
    shown = "; ".join(_placed(own, settled[own.title], (CD, SCGIS, GIS)) for own in main)
    early = {own.title: _beginning(own) for own in main}
    slow = [
        own.after(LBFGS, early[own.title])
        > max(own.after(label, early[own.title]) for label in (CD, SCGIS))
        for own in main
    ]
    crossings = {own.title: _passes_for_good(own, CD) for own in main}
    steep = {own.title: _halving(own) for own in main}
    rivals = [
        (own, label, _passes_for_good(own, label))
        for own in main
        for label in (GIS, IIS)
        if label in own.labels
    ]
    others = [own for own in found if own.title not in settled]
    return [
        Claim(
            f"{_PAPER}, Fig. 2 (a, b)",
            "Of CD, SCGIS and GIS the new CD is the fastest by objective.",
            verdict_of(fastest),
            f"{shown}."
            + "".join(f" {_placed(own, own.seconds, (CD, SCGIS, GIS))}." for own in others),
        ),
        Claim(
            f"{_PAPER}, Fig. 2 (a, b)",
            "SCGIS comes second, GIS last.",
            verdict_of(in_order),
            f"{shown}.",
        ),
        Claim(
            f"{_PAPER}, section 4",
            "This order is that of the tightness of their bounds (eq. 14).",
            verdict_of([*fastest, *in_order, *(_by_pass(own) for own in main)]),
            "After as many passes, too: "
            + "; ".join(_by_pass_shown(own) for own in main)
            + ". The bounds themselves: see eq. 14.",
        ),
        Claim(
            f"{_PAPER}, Fig. 2 (a, b)",
            "L-BFGS does not perform well in the beginning.",
            verdict_of(slow),
            "; ".join(_placed(own, early[own.title], (LBFGS, CD, SCGIS, GIS)) for own in main)
            + ".",
        ),
        Claim(
            f"{_PAPER}, Fig. 2 (a, b)",
            "L-BFGS has fast final convergence.",
            verdict_of(
                [
                    *map(math.isfinite, crossings.values()),
                    *(halves[LBFGS] < halves[CD] for halves in steep.values()),
                ]
            ),
            "; ".join(
                f"{title}: {_crossed(crossings[title], halves)}" for title, halves in steep.items()
            )
            + ".",
        ),
        Claim(
            "Malouf 2002, as cited by Huang et al. 2009, section 4",
            "L-BFGS is better than GIS and IIS.",
            verdict_of(math.isfinite(seconds) for _, _, seconds in rivals),
            "By objective: "
            + "; ".join(
                f"{own.title}: below {label} after {seconds:.3g} s"
                if math.isfinite(seconds)
                else f"{own.title}: above {label} to the end of its run, "
                f"{own.of(label).points[-1].cpu_seconds:.3g} s"
                for own, label, seconds in rivals
            )
            + ".",
        ),
    ]


def _beginning(found: Found) -> float:
    """A quarter of the seconds that all learners have, or two passes of CD if these take longer."""
    second = next((point for point in found.of(CD).points if point.iteration >= 2), None)
    return max(_EARLY * found.seconds, 0.0 if second is None else second.cpu_seconds)


def _placed(found: Found, seconds: float, labels: Sequence[str]) -> str:
    shown = ", ".join(f"{label} {found.after(label, seconds):.3g}" for label in labels)
    return f"{found.title}, after {seconds:.3g} s: {shown}"


def _least_passes(found: Found) -> int:
    return min(found.of(label).points[-1].iteration for label in (CD, SCGIS, GIS))


def _by_pass(found: Found) -> bool:
    after = [_at_pass(found, label, _least_passes(found)) for label in (CD, SCGIS, GIS)]
    return after == sorted(after)


def _by_pass_shown(found: Found) -> str:
    passes = _least_passes(found)
    shown = ", ".join(f"{label} {_at_pass(found, label, passes):.3g}" for label in (CD, SCGIS, GIS))
    return f"{found.title}, {passes} passes: {shown}"


def _passes_for_good(found: Found, rival: str) -> float:
    """The seconds from which on L-BFGS is below a rival at the same time, for as long as the rival
    runs; inf if it is not at the end.
    """
    end = found.of(rival).points[-1].cpu_seconds
    until = [point for point in found.of(LBFGS).points if point.cpu_seconds <= end]
    ahead = math.inf
    for point in reversed(until):
        if point.primal >= found.at(rival, point.cpu_seconds).primal:
            break
        ahead = point.cpu_seconds
    return ahead


def _halving(found: Found) -> dict[str, float]:
    """The seconds in which L-BFGS and CD halve their differences, over the last half of the time
    that both have.
    """
    end = min(found.of(label).points[-1].cpu_seconds for label in (CD, LBFGS))
    halves = {}
    for label in (LBFGS, CD):
        one, other = found.at(label, end / 2), found.at(label, end)
        falls = math.log2(found.difference(one) / found.difference(other))
        spent = other.cpu_seconds - one.cpu_seconds
        halves[label] = spent / falls if falls > 0 else math.inf
    return halves


def _crossed(seconds: float, halves: Mapping[str, float]) -> str:
    passed = (
        f"it passes CD after {seconds:.0f} s"
        if math.isfinite(seconds)
        else "it has not passed CD by the end of CD's run"
    )
    return f"{passed}; in the second half of that run " + " and ".join(
        f"{label} halves its difference every {own:.3g} s"
        if math.isfinite(own)
        else f"{label} does not get nearer"
        for label, own in halves.items()
    )


def _of_scores(main: Sequence[Found], results: Results) -> list[Claim]:
    tags, chunks = main
    eighth = results.comparisons[EIGHTH]
    return [
        _score_claim("Fig. 2 (c)", "accuracy", tags, _splits(eighth)),
        _score_claim("Fig. 2 (d)", "F1", chunks, _variances(results)),
    ]


def _score_claim(place: str, what: str, found: Found, more: str) -> Claim:
    """CD before SCGIS before GIS, L-BFGS behind CD: by more than chance after equal seconds."""
    pairs = ((CD, SCGIS), (SCGIS, GIS), (CD, LBFGS))
    tests = {pair: found.comparison.paired(pair[0], found.c, pair[1], found.c) for pair in pairs}
    holds = [
        own is not None and own.p <= SIGNIFICANT and own.difference > 0 for own in tests.values()
    ]
    seconds = found.seconds
    shown = ", ".join(
        f"{label} {found.at(label, seconds).score:.2f}" for label in (CD, SCGIS, GIS, LBFGS)
    )
    differences = "; ".join(
        f"{first} minus {second} {own.difference:+.2f} (p = {own.p:.2g})"
        for (first, second), own in tests.items()
        if own is not None
    )
    return Claim(
        f"{_PAPER}, {place}",
        f"By {what}, too, CD is the fastest of the three, then SCGIS, then GIS, and L-BFGS is "
        "behind CD until late.",
        verdict_of(holds),
        f"{found.title}, after {seconds:.3g} s: {shown}; {differences}. At the end: "
        + ", ".join(f"{label} {found.of(label).points[-1].score:.2f}" for label in (CD, LBFGS))
        + f". {more}",
    )


def _splits(eighth: Comparison) -> str:
    if not eighth.curves:
        return ""
    c = eighth.constants[0]
    shown = ", ".join(
        f"{label} {eighth.score(label, c):.2f} (sd {figure(eighth.spread(label, c), '.2f')})"
        for label in eighth.labels
    )
    seconds = max(curve.points[-1].cpu_seconds for curve in eighth.curves)
    seeds = len({curve.seed for curve in eighth.curves})
    return f"{eighth.task.name}, {seeds} split{'s' * (seeds > 1)}, after {seconds:.0f} s: {shown}."


def _variances(results: Results) -> str:
    others = results.comparisons.get(VARIANCES)
    if others is None:
        return ""
    parts = [
        f"sigma^2 = {1 / c:g}: "
        + ", ".join(
            f"{label} {others.first_seed.runs(label, c)[0].points[-1].score:.2f}"
            for label in (CD, SCGIS, GIS, LBFGS)
        )
        for c in others.constants
    ]
    return f"Last F1 with other variances: {'; '.join(parts)}."
