"""Dual coordinate ascent against SGD and L-BFGS, for names and for trees of arcs (Martins et al.
2010, Fig. 3 and Fig. 4, left).
"""

from __future__ import annotations

from functools import partial

from egparse.experiments.plans.contenders import DCA, LBFGS, SGD
from egparse.experiments.problems import samples
from egparse.experiments.problems.names import entities
from egparse.experiments.problems.precision import precision_of_arc_marginals
from egparse.experiments.problems.samples import SPANISH_NAMES, Sample, files_of, sample
from egparse.experiments.problems.setup import Setup
from egparse.experiments.problems.trees import parser
from egparse.experiments.request import Request
from egparse.experiments.running import Budget, Contender, Experiment, Plan

CORPORA = {
    "English": samples.UD_ENGLISH,
    "Spanish": samples.Corpus("conll2007/esp.train", test="conll2007/esp.test"),
    "Latin": samples.UD_LATIN,
}
TREES = tuple(CORPORA)
"""The names of the comparisons of parsers. The Spanish treebank of CoNLL-X is between those of
Arabic and Danish in size.
"""

NAMES_C, TREES_C = (10.0, 1.0, 0.1), (100.0, 10.0, 1.0)
"""Our C is lambda m, one over that of the paper."""

NAMES_RATES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
TREES_RATES = (0.001, 0.01, 0.1, 1.0)
"""The first learning rates that SGD may have (section 5.1, and the caption of Fig. 4)."""

SDCA = Contender("SDCA", "sdca", random=False, budget=Budget(40, gap=1e-3, spacing=1.2))
"""Remembers its dual variables; it gives the bound of the optimum that others are compared with."""

DCA_LAST = DCA._replace(label="DCA, last weights", options={"averaged": False})
SGD_NAMES = SGD._replace(tuned=("eta0", NAMES_RATES))
SGD_TREES = SGD._replace(tuned=("eta0", TREES_RATES))
SGD_AVERAGED = SGD_TREES._replace(label="SGD, averaged", options={"averaged": True})
SGD_TEN = SGD_NAMES._replace(label="SGD, rate of ten passes", only=NAMES_C[-1:], trial=10)

_LONGEST = 80  # words; longer sentences are not trained on (footnote 13)
_ARC_SHARE = 0.003  # pruning of rare arcs, as in the parsers of this project


def names(request: Request, seed: int) -> Setup:
    """The tagger of Spanish names."""
    return entities(sample(request, SPANISH_NAMES, (120, 60)))


def trees_of(language: str, request: Request) -> Sample:
    """A treebank without the training sentences that are too long."""
    found = sample(request, CORPORA[language], (80, 40))
    return found._replace(train=[own for own in found.train if len(own) <= _LONGEST])


def trees(language: str, request: Request, seed: int) -> Setup:
    """The arc-factored, non-projective parser."""
    found, bits = trees_of(language, request), 14 if request.quick else 22
    return parser(found, trees="non-projective", bits=bits, arc_share=_ARC_SHARE)


def _precision(request: Request) -> dict[str, dict[str, float]]:
    found = trees_of("English", request)
    few = found._replace(train=found.train[:1000], dev=found.dev[:1], test=())
    setup = parser(few, trees="non-projective", bits=14, arc_share=_ARC_SHARE)
    return precision_of_arc_marginals(setup.problem, (1.0, 3.0, 5.0, 10.0, 30.0, 100.0, 1000.0))


EXPERIMENT = Experiment(
    {
        "names": Plan(
            names,
            (
                SDCA._replace(budget=Budget(100, gap=1e-3, spacing=1.2)),
                *(DCA, DCA_LAST, SGD_NAMES, SGD_TEN),
                LBFGS._replace(budget=Budget(150, gap=1e-4)),
            ),
            NAMES_C,
            Budget(50),
            seeds=3,
            seeds_at_best=True,
        )
    }
    | {
        language: Plan(
            partial(trees, language),
            (SDCA, DCA, DCA_LAST, SGD_TREES, SGD_AVERAGED),
            TREES_C,
            Budget(10),
            seeds=3,
            seeds_at_best=True,
        )
        for language in TREES
    },
    {"precision": _precision},
    needs=tuple(name for corpus in (SPANISH_NAMES, *CORPORA.values()) for name in files_of(corpus)),
)
