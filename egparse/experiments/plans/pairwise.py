"""Steps on a whole distribution against steps on two labels (Collins et al. 2008, section 6)."""

from __future__ import annotations

from egparse.experiments.plans.contenders import EG
from egparse.experiments.plans.multiclass import OURS, digits
from egparse.experiments.problems.digits import IMAGES, LABELS
from egparse.experiments.running import Budget, Experiment, Plan

PAIRWISE = EG._replace(label="EG, pairs", options={**EG.options, "pairwise": True})
"""Probability moves between the two labels whose derivatives differ most: Memisevic's own way of
choosing them is not in the paper.
"""

EXPERIMENT = Experiment(
    {
        "digits": Plan(
            digits,
            (EG, PAIRWISE),
            tuple(OURS.values())[:3],
            Budget(200, gap=1e-4, spacing=1.05),
            seeds=3,
        )
    },
    needs=(IMAGES, LABELS),
)
