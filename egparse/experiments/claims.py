"""Claims of the papers as data: each is judged by rules of six kinds, from the numbers of a run
alone. No verdict is written down anywhere.

``Sooner``         one contender comes within some per cent of the optimum, or to a score, before
                   another
``Within``         two numbers agree, up to a tolerance
``Better``         one contender ends with a better score than another, by a paired test
``NoDifference``   the scores of two contenders differ by less than a margin, by the 95 % interval
                   of their difference
``Linear``         numbers grow in proportion to others: the exponent of a power law fitted to them
``Above``          a number is above another

A rule holds, does not hold, or is undecided: the runs are not there, they ended too far from the
optimum for their scores to mean anything, or the difference is within the noise.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np

from egparse.evaluation.significance import PairedDifference
from egparse.experiments.record import Comparison, Curve, paired
from egparse.experiments.store import Results

Verdict = Literal["reproduced", "in part", "not reproduced", "within the noise", "not tested"]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "in part",
    "not reproduced",
    "within the noise",
    "not tested",
)

SIGNIFICANT = 0.05
"""The p value up to which a difference of scores counts as more than chance."""

CONVERGED = 10.0
"""Scores of models whose objective is further above the best bound, in per cent, are not judged
where a claim is about the optimum.
"""

Found = Mapping[str, Results]
"""The results of experiments by name."""


BEST = 0.0
"""In place of a C: that of the best validation score at the end of the runs of a contender."""


class Runs(NamedTuple):
    """The runs of a contender at one C (or at its ``BEST``), in a comparison of an experiment."""

    experiment: str
    comparison: str
    label: str
    c: float

    def comparison_in(self, found: Found) -> Comparison | None:
        """The comparison; None if it has not been run."""
        results = found.get(self.experiment)
        return None if results is None else results.comparisons.get(self.comparison)

    def of(self, found: Found) -> tuple[Curve, ...]:
        """The curves, one for each seed."""
        comparison = self.comparison_in(found)
        return () if comparison is None else comparison.runs(self.label, self.c_in(found))

    def c_in(self, found: Found) -> float:
        """The value of C; nan where the best is asked for and nothing was run."""
        comparison = self.comparison_in(found)
        if self.c != BEST or comparison is None:
            return self.c
        return comparison.best_c(self.label)


class Curves(NamedTuple):
    """The contenders of a comparison: ``Curves("multiclass", "digits")("EG", 10)`` are runs."""

    experiment: str
    comparison: str

    def __call__(self, label: str, c: float) -> Runs:
        return Runs(self.experiment, self.comparison, label, c)


What = Literal[
    "passes", "seconds", "dual passes", "passes to score", "seconds to score", "settled",
    "last passes", "gap", "excess", "primal", "score", "best score", "test", "c", "fall",
]  # fmt: skip


class Quantity(NamedTuple):
    """A number of runs, the mean over seeds.

    ``passes``, ``seconds``: effort until the primal is within ``to`` per cent of the best bound;
    ``dual passes``: until the dual is; ``passes to score``, ``seconds to score``: until the
    validation score is as good as ``to``; ``settled``: from which on it stays within ``to`` points
    of the last one; ``last passes``: of the whole run; ``gap``, ``excess``, ``primal``: at its end,
    in per cent of the best bound, the primal for each example; ``score``, ``best score``: of the
    validation part; ``test``: the score of the test part; ``c``: the value of C; ``fall``: the most
    that the validation score gets worse from one point to the next. Other names are details of the
    last model, for each example if ``per_example``. ``over`` takes the least or the greatest number
    of any seed in place of the mean.
    """

    runs: Runs
    what: What | str
    to: float = 1.0
    per_example: bool = False
    over: Literal["mean", "least", "greatest"] = "mean"

    def value(self, found: Found) -> float:
        """The number; nan where nothing was run."""
        comparison, curves = self.runs.comparison_in(found), self.runs.of(found)
        if comparison is None or not curves:
            return math.nan
        label, c = self.runs.label, self.runs.c_in(found)
        if self.over == "mean":
            return self._mean(comparison, label, c)
        others = [run for run in comparison.curves if not any(run is own for own in curves)]
        each = [self._mean(comparison._replace(curves=(*others, run)), label, c) for run in curves]
        return min(each) if self.over == "least" else max(each)

    def _mean(self, comparison: Comparison, label: str, c: float) -> float:
        what = self.what
        match what:
            case "passes" | "seconds":
                return comparison.effort(label, c, self.to, seconds=what == "seconds")
            case "dual passes":
                return comparison.dual_effort(label, c, self.to)
            case "passes to score" | "seconds to score":
                seconds = what == "seconds to score"
                return comparison.effort_to_score(label, c, self.to, seconds=seconds)
            case "settled":
                return comparison.settled(label, c, self.to)
            case "last passes":
                return comparison.mean(label, c, lambda run: run.points[-1].passes)
            case "c":
                return c
            case "fall":
                return comparison.mean(label, c, lambda run: _fall(run, comparison.sign))
            case "excess":
                return comparison.last_excess(label, c)
            case "gap":
                return comparison.mean(
                    label, c, lambda run: 100 * run.points[-1].gap / abs(comparison.bound(run))
                )
            case "primal":
                return comparison.mean(label, c, lambda run: run.points[-1].primal / comparison.n)
            case "score":
                return comparison.mean(label, c, lambda run: run.points[-1].score)
            case "best score":
                return comparison.best_score(label, c)
            case "test":
                return comparison.mean(
                    label, c, lambda run: math.nan if run.test is None else run.test
                )
        examples = comparison.n if self.per_example else 1
        return comparison.mean(label, c, lambda run: run.details.get(what, math.nan)) / examples


def _fall(run: Curve, sign: int) -> float:
    scores = [sign * point.score for point in run.points]
    return max((one - other for one, other in itertools.pairwise(scores)), default=math.nan)


class Number(NamedTuple):
    """A number that a probe of an experiment found, by the keys that lead to it."""

    experiment: str
    keys: tuple[str, ...]

    def value(self, found: Found) -> float:
        """The number; nan where it is not there."""
        place: Any = found[self.experiment].numbers if self.experiment in found else {}
        for key in self.keys:
            place = place.get(key, {}) if isinstance(place, Mapping) else {}
        return float(place) if isinstance(place, int | float) else math.nan


class Overtaking(NamedTuple):
    """The passes after which ``first`` is for the first time at least as good as ``second`` was up
    to then, by the primal or the validation score; the mean over seeds.
    """

    first: Runs
    second: Runs
    what: Literal["primal", "score"] = "primal"

    def value(self, found: Found) -> float:
        """The passes; infinite where it never is, nan where nothing was run."""
        comparison = self.first.comparison_in(found)
        others = {run.seed: run for run in self.second.of(found)}
        pairs = [(run, others[run.seed]) for run in self.first.of(found) if run.seed in others]
        if comparison is None or not pairs:
            return math.nan
        sign = -1 if self.what == "primal" else comparison.sign

        def overtakes(run: Curve, other: Curve) -> float:
            for point in run.points:
                reached = [own for own in other.points if own.passes <= point.passes]
                if (
                    reached
                    and sign * (getattr(point, self.what) - getattr(reached[-1], self.what)) >= 0
                ):
                    return point.passes
            return math.inf

        return fmean(overtakes(run, other) for run, other in pairs)


class Combined(NamedTuple):
    """The sum, the least or the greatest of several numbers. A sum needs all of them."""

    how: Literal["sum", "least", "greatest"]
    of: Sequence[Quantity | Number | float]

    def value(self, found: Found) -> float:
        """The number; nan where nothing was run."""
        values = [value_of(value, found) for value in self.of]
        if self.how == "sum":
            return math.fsum(values)
        known = [value for value in values if not math.isnan(value)]
        return (min if self.how == "least" else max)(known, default=math.nan)


Value = Quantity | Number | Overtaking | Combined | float
"""A number that is measured, or one that the paper gives."""


def parts_of(value: Value | Runs) -> Iterator[Quantity | Number | Runs | float]:
    """The runs and numbers that a number is made of."""
    match value:
        case Combined():
            for part in value.of:
                yield from parts_of(part)
        case Overtaking():
            yield from (value.first, value.second)
        case _:
            yield value


def value_of(value: Value, found: Found) -> float:
    """The number; nan where it was not measured."""
    return float(value) if isinstance(value, int | float) else value.value(found)


class Judged(NamedTuple):
    """Whether a rule holds (None: undecided, ``why``), and what was found, in figures."""

    holds: bool | None
    found: str
    why: str = ""


class Sooner(NamedTuple):
    """``first`` needs at most ``share`` of the effort of ``second`` until it is within ``to`` per
    cent of the best bound. One that never gets there is slower than one that does.

    With ``passes to score`` and ``seconds to score`` the goal is a score, ``to``; with ``passes to
    its score`` that with which ``second`` ends, or one that is worse by ``to`` points. ``before``
    are passes of ``second`` that its curve does not show, such as those that tried learning rates.
    """

    case: str
    first: Runs
    second: Runs
    to: float = 1.0
    by: Literal[
        "passes", "seconds", "passes to score", "seconds to score", "passes to its score"
    ] = "passes"
    share: float = 1.0
    before: float = 0.0

    @property
    def rule(self) -> str:
        """The rule in words."""
        goal = f"{self.to:g} %"
        if self.by in ("passes to score", "seconds to score"):
            goal = f"a score of {self.to:g}"
        elif self.by == "passes to its score":
            goal = f"within {self.to:g} points of the last score of {self.second.label}"
        unit = "CPU seconds" if self.by.startswith("seconds") else "passes"
        share = "" if self.share == 1 else f"{self.share:g} of "
        before = f" + {self.before:g}" if self.before else ""
        return f"{unit} to {goal}: {self.first.label} < {share}{self.second.label}{before}"

    def judge(self, found: Found) -> Judged:
        """Compare the efforts."""
        by, to = self.by, self.to
        if by == "passes to its score":
            by, last = "passes to score", Quantity(self.second, "score").value(found)
            comparison = self.second.comparison_in(found)
            to = last - self.to * (1 if comparison is None else comparison.sign)
        one, other = (Quantity(runs, by, to).value(found) for runs in (self.first, self.second))
        other += self.before
        text = f"{figure(one)} / {figure(other)}"
        if math.isnan(one) or math.isnan(other):
            return Judged(None, "-", NOT_RUN)
        if math.isinf(one) and math.isinf(other):
            return Judged(None, text, "neither gets there")
        return Judged(one < self.share * other, text)


class Within(NamedTuple):
    """Two numbers differ by at most ``difference``, or by a factor of at most ``ratio``."""

    case: str
    first: Value
    second: Value
    difference: float = 0.0
    ratio: float = 1.0
    name: str = "both"

    @property
    def rule(self) -> str:
        """The rule in words."""
        if self.ratio > 1:
            return f"{self.name} agree up to a factor of {self.ratio:g}"
        return f"{self.name} differ by at most {self.difference:g}"

    def judge(self, found: Found) -> Judged:
        """Compare the numbers."""
        one, other = value_of(self.first, found), value_of(self.second, found)
        if math.isnan(one) or math.isnan(other):
            return Judged(None, "-", NOT_RUN)
        text = f"{figure(one)} / {figure(other)}"
        if self.ratio > 1:
            small, large = sorted((abs(one), abs(other)))
            return Judged(large <= self.ratio * small, text)
        return Judged(abs(one - other) <= self.difference, text)


class Better(NamedTuple):
    """``first`` ends with a better score than ``second``, by more than chance (p up to 0.05).
    Scores are judged only at ``CONVERGED``, unless the claim is about models ``as_they_end``, or
    about the ``first`` as it ends.
    """

    case: str
    first: Runs
    second: Runs
    as_they_end: bool | Literal["first"] = False

    @property
    def rule(self) -> str:
        """The rule in words."""
        return f"{self.first.label} better than {self.second.label}, p ≤ {SIGNIFICANT:g}"

    def judge(self, found: Found) -> Judged:
        """The paired test."""
        pair = _paired(self.first, self.second, found, self.as_they_end)
        if isinstance(pair, Judged):
            return pair
        assert pair.p_value is not None
        text = f"{pair.first:.2f} / {pair.second:.2f} (p = {pair.p_value:.2g})"
        if pair.p_value > SIGNIFICANT:
            return Judged(None, text, NOISE)
        return Judged(pair.difference > 0, text)


class NoDifference(NamedTuple):
    """The scores of two contenders differ by less than ``margin`` points: the 95 % interval of
    their difference lies within it.
    """

    case: str
    first: Runs
    second: Runs
    margin: float = 0.5
    as_they_end: bool | Literal["first"] = False

    @property
    def rule(self) -> str:
        """The rule in words."""
        return f"{self.first.label} and {self.second.label} within {self.margin:g} points"

    def judge(self, found: Found) -> Judged:
        """The paired interval."""
        pair = _paired(self.first, self.second, found, self.as_they_end)
        if isinstance(pair, Judged):
            return pair
        assert pair.interval is not None
        low, high = pair.interval
        text = f"{pair.first:.2f} / {pair.second:.2f} ({low:+.2f} to {high:+.2f})"
        if -self.margin <= low and high <= self.margin:
            return Judged(True, text)
        apart = low > self.margin or high < -self.margin
        return Judged(False if apart else None, text, "" if apart else NOISE)


class Linear(NamedTuple):
    """Of pairs of numbers (x, y): y grows as x to a power between ``low`` and ``high``, fitted in
    logarithms. Of runs: the logarithm of the duality gap lies on a falling line over passes, with a
    squared correlation from ``low`` to ``high``.
    """

    case: str
    points: Sequence[tuple[Value, Value]] | Runs
    low: float = 0.8
    high: float = 1.25
    name: str = "y as x"

    @property
    def rule(self) -> str:
        """The rule in words."""
        if isinstance(self.points, Runs):
            return f"log gap over passes on a line, r² ≥ {self.low:g}"
        return f"{self.name} to a power from {self.low:g} to {self.high:g}"

    def judge(self, found: Found) -> Judged:
        """Fit the line."""
        if isinstance(self.points, Runs):
            points = [(p.passes, p.gap) for run in self.points.of(found)[:1] for p in run.points]
        else:
            points = [(value_of(x, found), value_of(y, found)) for x, y in self.points]
        known = [(x, y) for x, y in points if 0 < x < math.inf and 0 < y < math.inf]
        if len(known) < 3:
            return Judged(None, "-", "fewer than three points" if known else NOT_RUN)
        x, log_y = np.array([x for x, _ in known]), np.log([y for _, y in known])
        if isinstance(self.points, Runs):
            r = float(np.corrcoef(x, log_y)[0, 1])
            return Judged(r < 0 and self.low <= r * r <= self.high, f"r² = {r * r:.3f}")
        slope = float(np.polyfit(np.log(x), log_y, 1)[0])
        return Judged(self.low <= slope <= self.high, f"power {slope:.2f} ({len(known)} points)")


class Above(NamedTuple):
    """A number is above ``factor`` times another."""

    case: str
    first: Value
    second: Value
    factor: float = 1.0
    name: str = "the first above the second"

    @property
    def rule(self) -> str:
        """The rule in words."""
        return self.name

    def judge(self, found: Found) -> Judged:
        """Compare the numbers."""
        one, other = value_of(self.first, found), value_of(self.second, found)
        if math.isnan(one) or math.isnan(other):
            return Judged(None, "-", NOT_RUN)
        text = f"{figure(one)} / {figure(other)}"
        if math.isinf(one) and math.isinf(other):
            return Judged(None, text, "neither gets there")
        return Judged(one > self.factor * other, text)


Rule = Sooner | Within | Better | NoDifference | Linear | Above

NOT_RUN, NOISE = "not run", "within the noise"


class Claim(NamedTuple):
    """What a paper says, in one sentence, and the rules that judge it, one for each case. ``place``
    names the figure, table or section. ``finding`` is what is found instead, if the claim does not
    hold and that matters: it is put at the top of the page.
    """

    says: str
    rules: Sequence[Rule]
    place: str = ""
    finding: str = ""


class Judgement(NamedTuple):
    """A claim with its verdict: each rule in words with its cases."""

    claim: Claim
    verdict: Verdict
    cases: tuple[tuple[Rule, Judged], ...]


def judge(claim: Claim, found: Found) -> Judgement:
    """Reproduced where every decided case holds, in part where some do, not reproduced where none
    does. Without a decided case: within the noise, if a test was made, else not tested.
    """
    cases = tuple((rule, rule.judge(found)) for rule in claim.rules)
    decided = [judged.holds for _, judged in cases if judged.holds is not None]
    verdict: Verdict
    if decided:
        verdict = "reproduced" if all(decided) else "in part" if any(decided) else "not reproduced"
    else:
        noisy = any(judged.why == NOISE for _, judged in cases)
        verdict = "within the noise" if noisy else "not tested"
    return Judgement(claim, verdict, cases)


def figure(value: float, form: str = ".3g") -> str:
    """A number in a table; ``never`` for infinity, a dash where there is none."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if abs(value) >= 1000 else format(value, form)


def _paired(
    first: Runs, second: Runs, found: Found, as_they_end: bool | Literal["first"]
) -> PairedDifference | Judged:
    """The paired comparison of what is right, of which more is better also where the score is an
    error; or why there is none.
    """
    if not first.of(found) or not second.of(found):
        return Judged(None, "-", NOT_RUN)
    for runs in {True: (), "first": (second,), False: (first, second)}[as_they_end]:
        excess = Quantity(runs, "excess").value(found)
        if excess > CONVERGED:
            return Judged(None, "-", f"{runs.label} ends {excess:.0f} % above the bound")
    return paired(first.of(found), second.of(found)) or Judged(None, "-", NOT_RUN)
