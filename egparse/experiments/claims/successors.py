"""Claims of the papers whose learners came after the five that the other experiments are about.

Only what their abstracts and algorithms say of passes, time and rates is judged; their data are not
here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean

from egparse.experiments.report.claims import Claim, compared, figure, is_better, verdict_of
from egparse.experiments.report.record import Comparison, Curve
from egparse.experiments.report.results import Results

DIGITS, CHAINS, TREES = "digits, log-linear", "names, log-linear", "trees, log-linear"
SOFTMAX, MARGIN = "trees, softmax-margin", "trees, max-margin"
"""The names of the problems."""

EG, OWN, LBFGS, SGD = "EG", "EG, egparse", "L-BFGS", "SGD"
SAG, UNIFORM, SAGA, SDCA = "SAG", "SAG, uniform", "SAGA", "SDCA"
AVERAGED, ADAGRAD = "SGD, averaged", "AdaGrad"
FRANK_WOLFE, GAPS, PAIRWISE = "Frank-Wolfe", "Frank-Wolfe, gaps", "Frank-Wolfe, pairwise"
N_SLACK, GOLD = "n slacks", "EG, from gold"
CALIBRATED, TRON, DUAL_CD = "EG, calibrated", "TRON", "dual CD"

_LOG_LINEAR = (DIGITS, CHAINS, TREES)
_S6 = "Schmidt et al. 2015"
_NEAR = 1.0  # per cent above the best bound
_LINEAR = 2.0  # a second decade of the gap that takes this much longer than the first is not linear

_Case = tuple[str, Comparison, float]


def claims(results: Results) -> list[Claim]:
    """All claims, by paper."""
    cases = [
        (name, found, c) for name, found in results.comparisons.items() for c in found.constants
    ]
    log_linear = [case for case in cases if case[0] in _LOG_LINEAR]
    margin = [case for case in cases if case[0] == MARGIN]
    return [
        *(
            _sooner(
                f"{_S6}, abstract",
                "SAG with line search and non-uniform sampling often significantly outperforms "
                f"existing methods in the training objective: here {named}.",
                log_linear,
                SAG,
                rival,
            )
            for named, rival in (
                ("exponentiated gradient as published", EG),
                ("L-BFGS", LBFGS),
                ("stochastic gradient descent", SGD),
                ("AdaGrad", ADAGRAD),
            )
        ),
        _sooner(
            f"{_S6}, abstract",
            "Non-uniform sampling substantially improves the practical performance of SAG.",
            log_linear,
            SAG,
            UNIFORM,
        ),
        _as_good(log_linear),
        _linear(
            f"{_S6}, abstract",
            "SAG converges linearly: the gap falls by the same factor in every pass.",
            log_linear,
            (SAG, UNIFORM, SAGA),
        ),
        _linear(
            "Shalev-Shwartz and Zhang 2013, section 3",
            "Dual coordinate ascent converges linearly on smooth losses.",
            [case for case in cases if case[0] != MARGIN],
            (SDCA,),
        ),
        _sooner(
            "Duchi et al. 2011, abstract",
            "Adaptive subgradient methods outperform non-adaptive ones: here SGD.",
            log_linear,
            ADAGRAD,
            SGD,
        ),
        *(
            _sooner(
                "Lacoste-Julien et al. 2013, abstract",
                "Block-coordinate Frank-Wolfe outperforms competing solvers of the structured "
                f"SVM: here {named}.",
                margin,
                FRANK_WOLFE,
                rival,
            )
            for named, rival in (
                ("exponentiated gradient with the rate of its paper", CALIBRATED),
                ("working sets of n slacks", N_SLACK),
            )
        ),
        _sooner(
            "Osokin et al. 2016, abstract",
            "Sampling examples by their gaps needs fewer passes than sampling them uniformly.",
            margin,
            GAPS,
            FRANK_WOLFE,
        ),
        _sooner(
            "Osokin et al. 2016, abstract",
            "Pairwise steps need fewer passes than plain ones.",
            margin,
            PAIRWISE,
            FRANK_WOLFE,
        ),
        _sooner(
            "Le Priol et al. 2018, abstract",
            "Dual coordinate ascent that remembers its variables is on par with the state of the "
            "art in training conditional random fields: here it comes as near as SAG in at most a "
            "quarter more passes.",
            log_linear,
            SDCA,
            SAG,
            slack=1.25,
        ),
        _sooner(
            "Yu et al. 2011, abstract",
            "Dual coordinate descent is faster than most methods for maximum entropy: here L-BFGS.",
            [case for case in cases if case[0] == DIGITS],
            DUAL_CD,
            LBFGS,
            seconds=True,
        ),
        _sooner(
            "egparse, docs/decisions/eg-steps.md",
            "Visits by gain and learning rates from second derivatives make EG faster than it is "
            "as published.",
            log_linear,
            OWN,
            EG,
        ),
    ]


def _sooner(
    source: str,
    text: str,
    cases: Iterable[_Case],
    first: str,
    second: str,
    *,
    seconds: bool = False,
    slack: float = 1.0,
) -> Claim:
    """Whether ``first`` comes within 1 and 0.1 % of the best bound before ``second``; where neither
    does, who ends nearer to it.
    """
    holds, shown = [], []
    for name, found, c in cases:
        if not (_ended(found, first, c) and _ended(found, second, c)):
            continue
        own, other = ([], [])
        for per_cent in (_NEAR, _NEAR / 10):
            effort = (found.effort(who, c, per_cent, seconds=seconds) for who in (first, second))
            pair = tuple(effort)
            own.append(pair[0])
            other.append(pair[1])
            if any(map(math.isfinite, pair)):
                holds.append(pair[0] <= slack * pair[1])
        if math.isinf(own[0]) and math.isinf(other[0]):
            ends = [found.last_excess(who, c) for who in (first, second)]
            holds.append(ends[0] <= slack * ends[1])
            shown.append(
                f"{name}, C = {c:g}: {ends[0]:.3g} against {ends[1]:.3g} % above at the end"
            )
            continue
        shown.append(f"{name}, C = {c:g}: {_pair(own)} against {_pair(other)}")
    unit = "CPU seconds" if seconds else "Passes"
    return Claim(
        source,
        text,
        verdict_of(holds),
        f"{unit} to within 1 / 0.1 % of the best bound, {first} against {second}: "
        + ("; ".join(shown) or "not run")
        + ".",
    )


def _pair(values: list[float]) -> str:
    return " / ".join(figure(value) for value in values)


def _as_good(cases: Iterable[_Case]) -> Claim:
    """Whether SAG's last score is at least that of SGD, but for chance: by the paired test, or
    where there is none by twice the spread over seeds.
    """
    holds, shown = [], []
    for name, found, c in cases:
        if not (_ended(found, SAG, c) and _ended(found, SGD, c)):
            continue
        worse = is_better(found, SAG, c, SGD, c) is False
        if found.paired(SAG, c, SGD, c) is None:
            spread = found.spread(SGD, c)
            margin = 2 * spread if math.isfinite(spread) else 0.0
            sign = found.task.sign
            worse = sign * found.score(SAG, c) < sign * found.score(SGD, c) - margin
        holds.append(not worse)
        shown.append(f"{name}, C = {c:g}: {compared(found, SAG, c, SGD, c)}")
    return Claim(
        f"{_S6}, abstract",
        "SAG performs as well as or better than optimally tuned SGD in terms of test error.",
        verdict_of(holds),
        f"Score after the last pass, SAG against SGD (errors in per cent on digits, correct heads "
        f"or F1 elsewhere): {'; '.join(shown) or 'not run'}.",
    )


def _linear(source: str, text: str, cases: Iterable[_Case], labels: tuple[str, ...]) -> Claim:
    """Whether the decade of the gap from 0.1 to 0.01 % takes no longer than twice that from 1 to
    0.1 %.
    """
    holds, shown = [], []
    for name, found, c in cases:
        for label in labels:
            first, second = _decades(found, label, c)
            if math.isfinite(first) and math.isfinite(second):
                holds.append(second <= _LINEAR * first)
                shown.append(f"{name}, C = {c:g}, {label}: {first:.3g} and {second:.3g}")
    return Claim(
        source,
        text,
        verdict_of(holds),
        "Passes from a gap of 1 % to 0.1 %, and from there to 0.01 %: "
        + ("; ".join(shown) or "no run came so far")
        + ".",
    )


def _decades(found: Comparison, label: str, c: float) -> tuple[float, float]:
    """Effective iterations that two decades of the gap took, the mean over the seeds; inf where a
    run did not come so far.
    """
    steps = []
    for run in found.runs(label, c):
        one, tenth, hundredth = (
            _until_gap(run, found.bound(run) * share) for share in (1e-2, 1e-3, 1e-4)
        )
        steps.append((tenth - one, hundredth - tenth))
    if not steps or not all(map(math.isfinite, (value for pair in steps for value in pair))):
        return math.inf, math.inf
    return fmean(pair[0] for pair in steps), fmean(pair[1] for pair in steps)


def _until_gap(run: Curve, gap: float) -> float:
    """Effective iterations until the gap is so small, between two passes on a line of its
    logarithm.
    """
    before = None
    for point in run.points:
        if point.gap <= gap:
            if before is None or not 0 < point.gap < before.gap < math.inf:
                return point.effective_iterations
            share = math.log(before.gap / gap) / math.log(before.gap / point.gap)
            step = point.effective_iterations - before.effective_iterations
            return before.effective_iterations + share * step
        before = point
    return math.inf


def _ended(found: Comparison, label: str, c: float) -> bool:
    return any(run.points and not run.stopped.startswith("failed") for run in found.runs(label, c))
