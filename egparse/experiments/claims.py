"""Claims of the papers as data: each is judged by rules of six kinds, from the numbers of a run
alone. No verdict is written down anywhere.

A rule has a ``case``, such as "C = 10", and a ``rule`` in words. Its ``judge`` says that it holds,
does not hold, or is undecided: the runs are not there, they ended too far from the optimum for
their scores to mean anything, or the difference is within the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np

from egparse.evaluation.significance import PairedDifference
from egparse.experiments.quantities import Combined, Found, Quantity, Runs, Value, value_of
from egparse.experiments.record import paired

Verdict = Literal["reproduced", "in part", "not reproduced", "within the noise", "not tested"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

SIGNIFICANT = 0.05
"""The p value up to which a difference of scores counts as more than chance."""

CONVERGED = 10.0
"""Scores of models whose objective is further above the best bound, in per cent, are not judged
where a claim is about the optimum.
"""

NOT_RUN, NOISE = "not run", "within the noise"


class Judged(NamedTuple):
    """Whether a rule holds (None: undecided, ``why``), and what was found, in figures."""

    holds: bool | None
    found: str
    why: str = ""


Goal = Literal["passes", "seconds", "passes to score", "seconds to score", "passes to its score"]


class Sooner(NamedTuple):
    """``first`` needs less than ``share`` of the effort of ``second`` until it is within ``to`` per
    cent of the best bound. One that never gets there is slower than one that does.

    With ``passes to score`` and ``seconds to score`` the goal is a score, ``to``; with ``passes to
    its score`` that with which ``second`` ends, or one that is worse by ``to`` points. ``before``
    are passes of ``second`` that its curve does not show, such as those that tried learning rates.
    """

    case: str
    first: Runs
    second: Runs
    to: float = 1.0
    by: Goal = "passes"
    share: float = 1.0
    before: float = 0.0

    @property
    def rule(self) -> str:
        goal = f"{self.to:g} %"
        if self.by in ("passes to score", "seconds to score"):
            goal = f"a score of {self.to:g}"
        elif self.by == "passes to its score":
            goal = f"within {self.to:g} points of the last score of {self.second.label}"
        unit = "CPU seconds" if self.by.startswith("seconds") else "passes"
        share = "" if self.share == 1 else f"{self.share:g} of "
        before = f" + {self.before:g}" if self.before else ""
        one, other = _names(self)
        return f"{unit} to {goal}: {one} < {share}{other}{before}"

    def judge(self, found: Found) -> Judged:
        by, to = self.by, self.to
        if by == "passes to its score":
            by, last = "passes to score", Quantity(self.second, "score").value(found)
            comparison = self.second.comparison_in(found)
            to = last - self.to * (1 if comparison is None else comparison.sign)
        efforts = [Quantity(runs, by, to) for runs in (self.first, self.second)]
        with_before = Combined("sum", [efforts[1], self.before])
        return _compared(efforts[0], with_before, found, lambda x, y: x < self.share * y)


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
        if self.ratio > 1:
            return f"{self.name} agree up to a factor of {self.ratio:g}"
        return f"{self.name} differ by at most {self.difference:g}"

    def judge(self, found: Found) -> Judged:
        def agree(one: float, other: float) -> bool:
            small, large = sorted((abs(one), abs(other)))
            if self.ratio > 1:
                return large <= self.ratio * small
            return abs(one - other) <= self.difference

        return _compared(self.first, self.second, found, agree)


class Above(NamedTuple):
    """A number is above ``factor`` times another."""

    case: str
    first: Value
    second: Value
    factor: float = 1.0
    rule: str = "the first above the second"

    def judge(self, found: Found) -> Judged:
        return _compared(self.first, self.second, found, lambda x, y: x > self.factor * y)


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
        one, other = _names(self)
        return f"{one} better than {other}, p ≤ {SIGNIFICANT:g}"

    def judge(self, found: Found) -> Judged:
        pair = _paired(self, found)
        if isinstance(pair, Judged):
            return pair
        assert pair.p_value is not None
        text = f"{pair.first:.2f} / {pair.second:.2f} (p = {pair.p_value:.2g})"
        if pair.p_value > SIGNIFICANT:
            return Judged(None, text, NOISE)
        return Judged(pair.difference > 0, text)


class NoDifference(NamedTuple):
    """The scores of two contenders differ by less than ``margin`` points: the 95 % interval of
    their difference lies within it. Scores are judged as those of ``Better``.
    """

    case: str
    first: Runs
    second: Runs
    margin: float = 0.5
    as_they_end: bool | Literal["first"] = False

    @property
    def rule(self) -> str:
        one, other = _names(self)
        return f"{one} and {other} within {self.margin:g} points"

    def judge(self, found: Found) -> Judged:
        pair = _paired(self, found)
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
        if isinstance(self.points, Runs):
            return f"log gap over passes on a line, r² ≥ {self.low:g}"
        return f"{self.name} to a power from {self.low:g} to {self.high:g}"

    def judge(self, found: Found) -> Judged:
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


Rule = Sooner | Within | Above | Better | NoDifference | Linear

Said = Mapping[str, Sequence[Rule]]
"""What a paper says, in one sentence -> the rules that judge it, one for each case."""


class Claim(NamedTuple):
    """What a paper ``says``, and the rules that judge it. ``place`` names the figure, table or
    section. ``finding`` is what is found instead, in a sentence, if the claim does not hold and
    that matters: it is put at the top of the page.
    """

    says: str
    rules: Sequence[Rule]
    place: str = ""
    finding: str = ""


def claims(said: Said, place: str = "") -> list[Claim]:
    """The claims of one place."""
    return [Claim(says, rules, place) for says, rules in said.items()]


def placed(said: Mapping[str, Said]) -> list[Claim]:
    """The claims of several places: place -> its claims."""
    return [own for place, rules in said.items() for own in claims(rules, place)]


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


def _names(rule: Sooner | Better | NoDifference) -> tuple[str, str]:
    """The labels; of one contender what tells its runs apart, the comparison or C."""
    first, second = rule.first, rule.second
    if first.label != second.label:
        return first.label, second.label
    if first.comparison != second.comparison:
        return f"{first.label} of {first.comparison}", f"of {second.comparison}"
    return f"{first.label} at the first C", "at the second"


def _compared(
    first: Value, second: Value, found: Found, holds: Callable[[float, float], bool]
) -> Judged:
    one, other = value_of(first, found), value_of(second, found)
    if math.isnan(one) or math.isnan(other):
        return Judged(None, "-", NOT_RUN)
    text = f"{figure(one)} / {figure(other)}"
    if math.isinf(one) and math.isinf(other):
        return Judged(None, text, "neither gets there")
    return Judged(holds(one, other), text)


def _paired(rule: Better | NoDifference, found: Found) -> PairedDifference | Judged:
    """The paired comparison of what is right, of which more is better also where the score is an
    error; or why there is none.
    """
    first, second = rule.first, rule.second
    if not first.of(found) or not second.of(found):
        return Judged(None, "-", NOT_RUN)
    for runs in {True: (), "first": (second,), False: (first, second)}[rule.as_they_end]:
        excess = Quantity(runs, "excess").value(found)
        if excess > CONVERGED:
            return Judged(None, "-", f"{runs.label} ends {excess:.0f} % above the bound")
    return paired(first.of(found), second.of(found)) or Judged(None, "-", NOT_RUN)
