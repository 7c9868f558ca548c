"""The claims of the papers, each with what was found here. Verdict and evidence are computed from
the results, so that no row can be contradicted by its own data.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from egparse.experiments.report.record import Comparison

Verdict = Literal["reproduced", "in part", "not reproduced", "not possible"]

VERDICTS: tuple[Verdict, ...] = ("reproduced", "in part", "not reproduced", "not possible")

SIGNIFICANT = 0.05
"""The p value up to which a difference of scores counts as more than chance."""


class Claim(NamedTuple):
    """A claim of a paper. ``source`` names paper and place (``Collins et al. 2008, Fig. 12``),
    ``text`` says what the paper says, ``evidence`` what was found here, in figures, or why nothing
    could be.
    """

    source: str
    text: str
    verdict: Verdict
    evidence: str


def verdict_of(holds: Iterable[bool]) -> Verdict:
    """Reproduced where all cases hold, in part where some do, not reproduced where none does; not
    possible without cases.
    """
    found = list(holds)
    if not found:
        return "not possible"
    return "reproduced" if all(found) else "in part" if any(found) else "not reproduced"


def is_better(
    comparison: Comparison, first: str, first_c: float, second: str, second_c: float
) -> bool | None:
    """Whether one contender ends with a better score than another by more than chance; None where
    the difference may be chance, or was not tested.
    """
    paired = comparison.paired(first, first_c, second, second_c)
    if paired is None or paired.p > SIGNIFICANT:
        return None
    return paired.difference > 0


def compared(
    comparison: Comparison, first: str, first_c: float, second: str, second_c: float
) -> str:
    """The paired test in words: ``79.82 against 79.81 (p = 0.9)``; nan for what is not there."""
    has_test = comparison.task.has_test
    rate = comparison.test if has_test else comparison.score
    scores = f"{rate(first, first_c):.2f} against {rate(second, second_c):.2f}"
    paired = comparison.paired(first, first_c, second, second_c)
    return scores if paired is None else f"{scores} (p = {paired.p:.2g})"


def figure(value: float, form: str = ".3g") -> str:
    """A number in a sentence; ``never`` for infinity, a dash where there is none."""
    if math.isnan(value):
        return "-"
    return "never" if math.isinf(value) else format(value, form)


def counted(claims: Sequence[Claim]) -> str:
    """How many claims have which verdict, in words."""
    numbers = Counter(own.verdict for own in claims)
    return ", ".join(f"{numbers[verdict]} {verdict}" for verdict in VERDICTS if numbers[verdict])
