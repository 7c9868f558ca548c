"""Collins, Globerson, Koo, Carreras and Bartlett 2008, "Exponentiated gradient algorithms for
conditional random fields and max-margin Markov networks".
"""

from __future__ import annotations

from egparse.experiments.claims import Claim, Curves, Quantity, Sooner
from egparse.experiments.sections import Panel, Paper, Printed, Section

_DIGITS = Curves("multiclass", "digits")
_HIGH = (1000.0, 100.0, 10.0, 1.0)

PAPER = Paper(
    "collins-2008",
    "Collins et al. 2008: exponentiated gradient for CRFs and max-margin Markov networks",
    (
        Section(
            "Figure 11",
            "EG against L-BFGS",
            "The primal of EG converges considerably faster than that of L-BFGS.",
            (
                Claim(
                    "The primal of EG converges considerably faster than that of L-BFGS, for "
                    "C = 1000, 100, 10 and 1.",
                    tuple(
                        Sooner(f"C = {c:g}", _DIGITS("EG", c), _DIGITS("L-BFGS", c)) for c in _HIGH
                    ),
                ),
            ),
            tuple(
                Panel(
                    f"Primal, C = {c:g}",
                    (_DIGITS("EG", c), _DIGITS("L-BFGS", c)),
                    "excess",
                )
                for c in _HIGH
            ),
            Printed(
                ("C", "EG, validation error (%)", "L-BFGS"),
                tuple(
                    (
                        f"{c:g}",
                        tuple(Quantity(_DIGITS(k, c), "score") for k in ("EG", "L-BFGS")),
                    )
                    for c in _HIGH
                ),
            ),
        ),
    ),
)
