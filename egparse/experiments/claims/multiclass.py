"""Claims about log-linear classifiers of digits: Globerson et al. 2007, sections 7 and 7.1; Collins
et al. 2008, sections 5.1 and 7.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import correlation, linear_regression

from egparse.experiments.claims.multiclass_bounds import (
    BATCH,
    EG,
    MAIN,
    PROVEN,
    dual_effort,
    of_theory,
)
from egparse.experiments.claims.multiclass_rivals import CG, LBFGS, of_rivals
from egparse.experiments.report.claims import Claim, compared, figure, is_better, verdict_of
from egparse.experiments.report.record import Comparison, Curve
from egparse.experiments.report.results import Results

SEEDS, PATH, RESTARTED = "splits", "path", "path restarted"
"""The names of the comparisons."""

ONCE, NEAR = "EG, each once", "EG, near gold"
EG_2007, CYCLIC, ANNEALED = "EG 2007", "EG, cyclic", "EG, annealed"
BATCH_PROVEN = "EG batch, proven rate"

_S1, _S2 = "Globerson et al. 2007", "Collins et al. 2008"
_N_2008 = 59_000  # training examples
_STRAIGHT = 0.98  # squared correlation from which a line counts as straight
_TABLE_2 = {0.797923: (15.24, 127.86), 0.273687: (35.63, 211.17)}  # C: passes, in all


def claims(results: Results) -> list[Claim]:
    """All claims, in the order of the papers."""
    found, seeds = results.comparisons[MAIN], results.comparisons[SEEDS]
    return [
        *_of_2007(found),
        *of_theory(results),
        *_of_convergence(found),
        *_of_variants(found, seeds),
        *_of_error(found, seeds),
        *_of_path(results),
        *of_rivals(found, seeds, EG),
    ]


def scaled_to(n: int, c: float) -> float:
    """The C for n examples that weighs the regularisation of one example as C does for those of
    2008, to three digits.
    """
    return float(f"{c * n / _N_2008:.3g}")


def _of_2007(found: Comparison) -> list[Claim]:
    best = found.best_c(EG_2007)
    shown = "; ".join(
        f"C = {c:g}: {_both(found, EG_2007, c)} (algorithm of 2008: {_both(found, EG, c)}), L-BFGS "
        f"{_both(found, LBFGS, c)}, CG {_both(found, CG, c)}"
        for c in _varied(found)
    )
    faster = [
        found.effort(EG_2007, best, per_cent) < found.effort(rival, best, per_cent)
        for per_cent in (1.0, 0.1)
        for rival in (LBFGS, CG)
    ]
    goal = min(found.best_score(label, best) for label in (EG_2007, LBFGS, CG)) + 0.2
    until = {label: _until(found, label, best, goal) for label in (EG_2007, LBFGS, CG)}
    early = _lower_at(found, EG_2007, best, (2, 3, 5, 8, 12))
    low = [c for c in _varied(found) if found.runs(PROVEN, c)]
    return [
        Claim(
            f"{_S1}, section 7.1",
            "10,000 digits of MNIST, 7,000 for training, 1,500 for development.",
            "in part",
            f"{found.task.n:,} and {found.task.facts['validation examples']:,} of the 10,000 test "
            "digits, shuffled; which of them the paper took is not known.",
        ),
        Claim(
            f"{_S1}, Fig. 3",
            "The primal of EG converges considerably faster than those of L-BFGS and CG, at the C "
            "chosen on the development set.",
            verdict_of(faster),
            f"Passes to within 1 % / 0.1 % of the best bound, cyclic with rates restarted; its "
            f"best C is {best:g}. {shown}.",
        ),
        Claim(
            f"{_S1}, Fig. 3",
            "Primal and dual of EG converge to the same value.",
            verdict_of(found.last_gap(EG_2007, c) < 1.0 for c in _varied(found)),
            f"Gap at the end, in per cent: {_each(found, EG_2007, found.last_gap)}.",
        ),
        Claim(
            f"{_S1}, Fig. 3",
            "The error of EG converges considerably faster, too.",
            verdict_of(until[EG_2007] < until[rival] for rival in (LBFGS, CG)),
            f"Passes to an error of {goal:.2f} % at C = {best:g}: "
            + ", ".join(f"{label} {figure(passes)}" for label, passes in until.items())
            + ".",
        ),
        Claim(
            f"{_S1}, section 7",
            "The primal of EG decreases much faster in early iterations than those of CG and "
            "L-BFGS.",
            verdict_of(early.values()),
            f"At C = {best:g}, of {_listed(early)} passes, it is below both after "
            f"{_listed(passes for passes, lower in early.items() if lower)}.",
        ),
        Claim(
            f"{_S1}, section 7",
            "It is beneficial to use an adaptive learning rate.",
            verdict_of(
                dual_effort(found, label, c) < dual_effort(found, PROVEN, c)
                for c in low
                for label in (EG_2007, EG)
            ),
            "Passes until the dual is within 0.1 %, EG 2007, EG of 2008, EG at the fixed rate that "
            "is proven: "
            + "; ".join(
                f"C = {c:g}: "
                + ", ".join(figure(dual_effort(found, label, c)) for label in (EG_2007, EG, PROVEN))
                for c in low
            )
            + ".",
        ),
        Claim(
            f"{_S1}, footnote 6",
            "CG by the code of Rennie, L-BFGS by that of Zhu et al.",
            "not possible",
            "CG is SciPy's here, of Polak and Ribiere, and SciPy's L-BFGS-B is the code of Zhu et "
            "al. in another version: what is said of CG is said of another program.",
        ),
    ]


def _of_convergence(found: Comparison) -> list[Claim]:
    varied = _varied(found)
    low = [c for c in found.constants if c < 1.0]
    fits = {c: _straightness(found.runs(EG, c)[0]) for c in varied}
    slopes = {c: _slope(found.runs(EG, c)[0]) for c in varied}
    efforts = {c: found.effort(EG, c, 0.1) for c in varied}
    power = _power({1.0 / c: effort for c, effort in efforts.items()})
    rises = {c: _rises(found.runs(EG, c)[0]) for c in varied}
    excess = [(one - 1.0) for c in varied for one in _evaluations(found.runs(EG, c))]
    return [
        Claim(
            f"{_S2}, section 7.1, Fig. 4-5",
            "For C of 10 or more convergence is fast; for C = 1 it is somewhat slower.",
            verdict_of(
                found.effort(EG, c, 1.0) < found.effort(EG, 1.0, 1.0) for c in varied if c > 1
            ),
            "Passes to 1 % / 0.1 %: "
            + "; ".join(f"C = {c:g}: {_both(found, EG, c)}" for c in varied)
            + ".",
        ),
        Claim(
            f"{_S2}, section 7.1",
            "Convergence for C = 0.1 and 0.01 is slow.",
            verdict_of(found.last_gap(EG, c) > 1.0 for c in low),
            f"Gap after {_passes(found, EG, low)} passes, in per cent: "
            + ", ".join(f"{found.last_gap(EG, c):.3g} (C = {c:g})" for c in low)
            + ".",
        ),
        Claim(
            f"{_S2}, Fig. 5",
            "Primal and dual converge to the same value, faster for larger C.",
            verdict_of(
                [
                    *(found.last_gap(EG, c) < 0.1 for c in varied),
                    *(efforts[more] <= efforts[less] for more, less in pairwise(varied)),
                ]
            ),
            f"Gap at the end, in per cent: {_each(found, EG, found.last_gap)}.",
        ),
        Claim(
            f"{_S2}, section 7.1, Fig. 5",
            "The primal of EG need not decrease at every iteration, but decreases quite quickly.",
            verdict_of([any(rises.values()), *(found.effort(EG, c, 10.0) < 50 for c in varied)]),
            "Passes (of those recorded) in which it rises, and passes to within 10 %: "
            + "; ".join(
                f"C = {c:g}: {rises[c]}, {figure(found.effort(EG, c, 10.0))}" for c in varied
            )
            + ".",
        ),
        Claim(
            f"{_S2}, Fig. 6",
            "The log of the duality gap decreases more or less linearly with computation, as the "
            "bound O(log 1 / eps) predicts.",
            verdict_of(fit >= _STRAIGHT for fit in fits.values()),
            "Squared correlation with a line, and its slope in nats a pass: "
            + "; ".join(f"C = {c:g}: {fits[c]:.3f}, {figure(slopes[c])}" for c in varied)
            + ".",
        ),
        Claim(
            f"{_S2}, section 7.1.1",
            "The bounds predict a time of convergence that is linear in 1 / C.",
            "reproduced" if 0.8 <= power <= 1.2 else "in part" if power > 0 else "not reproduced",
            f"Passes to 0.1 % grow as 1 / C to the power {figure(power, '.2f')}: "
            + _pairs(efforts)
            + ".",
        ),
        Claim(
            f"{_S2}, footnote 13",
            "EG tries more than one learning rate for less than 10 % of the examples visited.",
            verdict_of(share < 0.1 for share in excess),
            "Evaluations beyond the first, in per cent of visits, at most: "
            + "; ".join(
                f"C = {c:g}: {100 * (max(_evaluations(found.runs(EG, c))) - 1):.1f}" for c in varied
            )
            + ".",
        ),
    ]


def _of_variants(found: Comparison, seeds: Comparison) -> list[Claim]:
    low = 1.0 if 1.0 in found.constants else min(found.constants)
    varied = _varied(found)
    gains = [
        found.effort(ANNEALED, low, per_cent) < 0.8 * found.effort(EG, low, per_cent)
        for per_cent in (10.0, 1.0, 0.1)
    ]
    return [
        Claim(
            f"{_S2}, Fig. 7",
            "The randomised algorithm is clearly much faster than a fixed order, and its gap "
            "converges much faster to zero.",
            verdict_of(
                found.effort(EG, low, per_cent) < 0.5 * found.effort(CYCLIC, low, per_cent)
                for per_cent in (10.0, 1.0)
            ),
            f"C = {low:g}, passes to 10 %, 1 % and 0.1 %: random {_three(found, EG, low)}, fixed "
            f"{_three(found, CYCLIC, low)}; gap at the end {figure(found.last_gap(EG, low))} and "
            f"{figure(found.last_gap(CYCLIC, low))} %. The digits are shuffled.",
        ),
        Claim(
            f"{_S2}, section 7",
            "Batch EG converges much more slowly than online EG.",
            verdict_of(
                2.0 * found.effort(EG, c, 1.0) < found.effort(BATCH, c, 1.0) for c in varied
            ),
            "Passes to 1 % / 0.1 %, batch with halving, and online: "
            + "; ".join(
                f"C = {c:g}: {_both(found, BATCH, c)}, {_both(found, EG, c)}" for c in varied
            )
            + ". At the proven fixed rate batch EG ends "
            + ", ".join(
                f"{found.last_excess(BATCH_PROVEN, c):.3g} % (C = {c:g})"
                for c in varied
                if found.runs(BATCH_PROVEN, c)
            )
            + " above the bound.",
        ),
        Claim(
            f"{_S2}, Fig. 8",
            "Annealing C from 10 to 1 converges significantly faster for C = 1.",
            verdict_of(gains) if found.runs(ANNEALED, low) else "not possible",
            f"Passes to 10 %, 1 % and 0.1 %: annealed {_three(found, ANNEALED, low)}, plain "
            f"{_three(found, EG, low)}. Error at the end, {_count(seeds, EG, low)} splits: "
            f"{compared(seeds, ANNEALED, low, EG, low)}.",
        ),
    ]


def _of_error(found: Comparison, seeds: Comparison) -> list[Claim]:
    n, best = found.task.n, found.best_c(EG)
    high, low = scaled_to(n, 10.0), scaled_to(n, 1.0)
    pairs = [(10.0, 1.0), (high, low)]
    apart = [is_better(seeds, EG, one, EG, other) for one, other in pairs]
    errors = ", ".join(f"{found.score(EG, c):.2f} (C = {c:g})" for c in found.constants)
    return [
        Claim(
            f"{_S2}, section 7.1, Fig. 4",
            "There is little to choose between C = 10 and C = 1 in validation error.",
            verdict_of(better is None for better in apart),
            f"{_count(seeds, EG, 10.0)} splits, C = 10 against 1: "
            f"{compared(seeds, EG, 10.0, EG, 1.0)}. At the paper's C for each training example, C "
            f"= {high:g} against {low:g}: {compared(seeds, EG, high, EG, low)}.",
        ),
        Claim(
            f"{_S2}, section 7.1.1",
            "The validation error has its minimum around C = 10 or C = 1.",
            verdict_of([best in (10.0, 1.0)]),
            f"Errors at the end: {errors} %. With fewer examples more regularisation is wanted: C "
            f"= 10 there is C = {high:g} here for each example.",
        ),
    ]


def _of_path(results: Results) -> list[Claim]:
    kept, restarted = (_Path(results.comparisons[name].curves) for name in (PATH, RESTARTED))
    early = [passes for c, passes in kept.passes.items() if 13.8 <= c <= 700.1]
    lowest = min(_TABLE_2)

    def both(asked: float) -> str:
        return (
            f"rates kept {figure(kept.total(asked))} in all, {figure(kept.at(asked))} for this C; "
            f"rates restarted {figure(restarted.total(asked))} and {figure(restarted.at(asked))}"
        )

    return [
        Claim(
            f"{_S2}, Tab. 2",
            "A path of 24 values of C from 1000 to 0.274, each started from the last, takes 211 "
            "passes.",
            verdict_of(
                path.total(asked) <= 1.1 * _TABLE_2[asked][1]
                for path in (kept, restarted)
                for asked in _TABLE_2
            ),
            "; ".join(f"to C = {asked:.3g} {both(asked)}" for asked in _TABLE_2)
            + f"; all reached: {'yes' if kept.reached(lowest) else 'no'}. The paper does not say "
            "what becomes of the rates.",
        ),
        Claim(
            f"{_S2}, section 7.1.2",
            "For C from 700 to 13.84 at most 5 passes are needed for each.",
            verdict_of(passes <= 5.0 for passes in early),
            f"At most {figure(max(early, default=math.nan))}, rates kept.",
        ),
        Claim(
            f"{_S2}, section 7.1.2",
            "Even for C = 0.798 only 15.24 passes are needed.",
            verdict_of(path.at(0.797923) <= 1.1 * 15.24 for path in (kept, restarted)),
            f"{both(0.797923)}.",
        ),
        Claim(
            f"{_S2}, Tab. 2",
            "The least error on the path is at C = 1.63.",
            verdict_of([0.5 <= kept.best / 1.62841 <= 2.0]),
            f"At C = {kept.best:.3g}, with {kept.scores.get(kept.best, math.nan):.2f} %; at C = "
            f"1.63 it is {kept.near(1.62841):.2f} %. For each example C = 1.63 there is "
            f"{scaled_to(results.comparisons[MAIN].task.n, 1.62841):g} here.",
        ),
    ]


class _Path:
    """A path over C: passes and errors by C."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        self.passes = {run.c: run.points[-1].effective_iterations for run in curves}
        self.scores = {run.c: run.points[-1].score for run in curves}
        self._reached = {run.c: "gap" in run.stopped for run in curves}
        self.best = min(self.scores, key=self.scores.__getitem__, default=math.nan)

    def _nearest(self, asked: float) -> float:
        return min(self.passes, key=lambda c: abs(math.log(c / asked)), default=math.nan)

    def at(self, asked: float) -> float:
        """The passes for the C that is nearest."""
        return self.passes.get(self._nearest(asked), math.inf)

    def near(self, asked: float) -> float:
        """The error at the C that is nearest."""
        return self.scores.get(self._nearest(asked), math.inf)

    def total(self, asked: float) -> float:
        """The passes down to the C that is nearest."""
        last = self._nearest(asked)
        return sum(passes for c, passes in self.passes.items() if c >= last)

    def reached(self, asked: float) -> bool:
        """Whether all C down to the nearest reached the gap."""
        last = self._nearest(asked)
        return all(done for c, done in self._reached.items() if c >= last)


def _varied(found: Comparison) -> list[float]:
    """The values of C at which the variants of EG run."""
    return [c for c in found.constants if c >= 1.0]


def _both(found: Comparison, label: str, c: float) -> str:
    return " / ".join(figure(found.effort(label, c, per_cent)) for per_cent in (1.0, 0.1))


def _three(found: Comparison, label: str, c: float) -> str:
    return ", ".join(figure(found.effort(label, c, per_cent)) for per_cent in (10.0, 1.0, 0.1))


def _each(found: Comparison, label: str, of: object) -> str:
    assert callable(of)
    return ", ".join(f"{figure(of(label, c))} (C = {c:g})" for c in _varied(found))


def _pairs(values: dict[float, float]) -> str:
    return ", ".join(f"{figure(value)} (C = {c:g})" for c, value in values.items()) or "-"


def _listed(values: Iterable[float]) -> str:
    return ", ".join(figure(value) for value in values) or "none"


def _count(found: Comparison, label: str, c: float) -> int:
    return len(found.runs(label, c))


def _passes(found: Comparison, label: str, constants: Sequence[float]) -> str:
    ends = [run.points[-1].effective_iterations for c in constants for run in found.runs(label, c)]
    return f"{max(ends):.0f}" if ends else "-"


def _until(found: Comparison, label: str, c: float, goal: float) -> float:
    """The effective iterations of the first run until its error is at most the goal."""
    runs = found.runs(label, c)
    points = runs[0].points if runs else ()
    return next((own.effective_iterations for own in points if own.score <= goal), math.inf)


def _lower_at(found: Comparison, label: str, c: float, passes: Sequence[int]) -> dict[int, bool]:
    """Whether the primal is below those of both rivals after so many passes."""
    return {
        count: _primal_after(found, label, c, count)
        < min(_primal_after(found, rival, c, count) for rival in (LBFGS, CG))
        for count in passes
    }


def _primal_after(found: Comparison, label: str, c: float, passes: float) -> float:
    """The primal at the first point with as many effective iterations, or at the last."""
    runs = found.runs(label, c)
    if not runs or not runs[0].points:
        return math.inf
    points = runs[0].points
    return next((own for own in points if own.effective_iterations >= passes), points[-1]).primal


def _log_gaps(run: Curve) -> tuple[list[float], list[float]]:
    """Passes, and the log of the gap relative to the last dual, between 100 % and 0.0001 %."""
    if not run.points:
        return [], []
    size = abs(run.points[-1].dual)
    kept = [
        (own.effective_iterations, math.log(own.gap / size))
        for own in run.points
        if 1e-6 < own.gap / size < 1.0
    ]
    return [x for x, _ in kept], [y for _, y in kept]


def _slope(run: Curve) -> float:
    """By how many nats the gap shrinks a pass, by least squares."""
    x, y = _log_gaps(run)
    return -linear_regression(x, y).slope if len(x) > 2 else math.nan


def _straightness(run: Curve) -> float:
    """The squared correlation of passes and the log of the gap."""
    x, y = _log_gaps(run)
    return correlation(x, y) ** 2 if len(x) > 2 else 0.0


def _power(values: dict[float, float]) -> float:
    """The power with which values grow, by least squares on the log scale."""
    known = {x: y for x, y in values.items() if math.isfinite(y)}
    if len(known) < 2:
        return math.nan
    return linear_regression(
        [math.log(x) for x in known], [math.log(y) for y in known.values()]
    ).slope


def _rises(run: Curve) -> int:
    """In how many passes the primal rises."""
    return sum(after.primal > before.primal for before, after in pairwise(run.points))


def _evaluations(runs: Sequence[Curve]) -> list[float]:
    """Evaluations for each visit, of each run."""
    last = [run.points[-1] for run in runs if run.points]
    return [point.effective_iterations / point.iteration for point in last]
