"""Maximum-entropy classifiers of words by the methods of Huang et al. 2009."""

from __future__ import annotations

from egparse.experiments.learners.maxent.probes import newton_costs, step_reductions
from egparse.experiments.plans.contenders import LBFGS
from egparse.experiments.problems.samples import files_of
from egparse.experiments.problems.words import BROWN, CHUNKS, chunking, tagging
from egparse.experiments.running import Budget, Contender, Experiment, Plan

C = 0.1
"""1 / sigma^2 for sigma^2 = 10 (section 4)."""

TAGGED_WORDS = 400_000
"""Words of Brown, of 1,161,192, that are drawn and split."""


def _budget(seconds: float) -> Budget:
    return Budget(5000, seconds, 1e-4, 1.1)


_CD, _SCGIS, _GIS = Contender("CD", "cd"), Contender("SCGIS", "scgis"), Contender("GIS", "gis")
_IIS = Contender("IIS", "iis", budget=_budget(80))
_EXACT = Contender("CD, exact", "cd-exact", budget=_budget(80))

EXPERIMENT = Experiment(
    {
        "Brown": Plan(
            lambda request, seed: tagging(request, seed, TAGGED_WORDS),
            (_CD, _SCGIS, _GIS, LBFGS._replace(budget=_budget(450))),
            (C,),
            _budget(300),
        ),
        "CoNLL2000": Plan(chunking, (_CD, _SCGIS, _GIS, LBFGS, _IIS, _EXACT), (C,), _budget(150)),
    },
    {
        "newton costs": lambda request: newton_costs(chunking(request, 1).problem, 1 / C),
        "step reductions": lambda request: step_reductions(chunking(request, 1).problem, 1 / C),
    },
    needs=(BROWN, *files_of(CHUNKS)),
)
