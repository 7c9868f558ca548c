"""Dual coordinate ascent against SGD and L-BFGS with the log-linear loss: score over passes
(Martins et al. 2010, Fig. 3-4).

We differ as follows. Names are Spanish (CoNLL-2002) instead of English, without gazetteers. Trees
are English (UD EWT) and Latin (UD Perseus) instead of Arabic, Danish and English; Latin has no
development part: the last tenth of its training part is held out instead. The parser is
arc-factored only and uses the tags of the corpus and this project's arc templates, hashed. As in
the paper, trees are non-projective, sentences of more than 80 words are not trained on, and rare
arcs are pruned. Here trees have one root. L-BFGS, which the paper runs on names only, and EG, whose
dual value bounds the optimum, run on trees too. SGD chooses among the rates of Collins et al. 2008.

Their C is 1 / (lambda m), the inverse of ours; the values of C are among theirs, inverted. They
make 50 passes over names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from egparse.experiments.comparisons.comparison import (
    DCA,
    EG,
    LBFGS,
    RATES_NOTE,
    SGD,
    Plan,
    compare,
)
from egparse.experiments.data.problems import Setup, entities, parser
from egparse.experiments.data.samples import (
    SPANISH_NAMES,
    UD_ENGLISH,
    UD_LATIN,
    Sample,
    files_of,
    sample,
)
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.outcome import Outcome, Panel
from egparse.experiments.report.panels import excess_panel, score_panel
from egparse.experiments.report.record import Comparison
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import summary_table

NAME = "dca"
SOURCE = "Martins et al. 2010, Fig. 3-4"
NEEDS = tuple(name for corpus in (SPANISH_NAMES, UD_ENGLISH, UD_LATIN) for name in files_of(corpus))
"""The files that a full run reads."""

LATIN_NOTE = (
    "Latin trees are validated on the last tenth of the training part, which is not "
    "trained on: there is no development part."
)

_QUICK_NAMES, _QUICK_ENGLISH, _QUICK_LATIN = (120, 60), (80, 40), (60, 30)
_ENGLISH_BITS, _LATIN_BITS, _QUICK_BITS = 22, 20, 14
_ARC_SHARE = 0.003
_LONGEST = 80  # words
_CONTENDERS = (DCA, SGD, LBFGS, EG)


class Task(NamedTuple):
    """A problem, which ``setup`` builds when it is needed, with the values of C and the number of
    passes of a full run and of a quick one.
    """

    setup: Callable[[Request], Setup]
    constants: tuple[float, ...]
    passes: int
    quick_constants: tuple[float, ...]
    quick_passes: int


def measure(request: Request) -> Results:
    """Names, then trees."""
    tasks = (
        Task(names_setup, (10.0, 1.0, 0.1), 50, (1.0,), 8),
        Task(english_setup, (100.0, 10.0, 1.0), 15, (10.0,), 8),
        Task(latin_setup, (100.0, 10.0, 1.0), 30, (10.0,), 8),
    )
    found = [_compared(task, request) for task in tasks]
    notes = (
        *dict.fromkeys(note for compared in found for note in compared.notes),
        *(() if request.quick else (LATIN_NOTE,)),
        RATES_NOTE,
        "DCA averages its weights, and neither it nor SGD has a dual: the bound is the best dual "
        "value of the others.",
        "Each pass of DCA adds to the dual variables of earlier passes (Alg. 1), so it moves away "
        "from the optimum of the primal.",
    )
    return Results(
        {compared.task.name: compared for compared in found}, notes=notes, quick=request.quick
    )


def report(results: Results) -> Outcome:
    """Tables and figures of the paper."""
    found = [compared.first_seed for compared in results.comparisons.values()]
    return Outcome(
        "Dual coordinate ascent",
        SOURCE,
        results.facts,
        (),
        [summary_table(name, compared) for name, compared in results.comparisons.items()],
        [
            *(panel for compared in found for panel in _scores(compared)),
            *(panel for compared in found for panel in _primals(compared)),
        ],
        results.notes,
    )


def names_setup(request: Request) -> Setup:
    """The tagger of entities."""
    return entities(sample(request, SPANISH_NAMES, _QUICK_NAMES))._replace(name="Entities")


def english_setup(request: Request, n_train: int = 0) -> Setup:
    """The parser of English, trained on the first ``n_train`` sentences (0: all)."""
    found = sample(request, UD_ENGLISH._replace(n_train=n_train), _QUICK_ENGLISH)
    return _trees(found, _QUICK_BITS if request.quick else _ENGLISH_BITS, "English trees")


def latin_setup(request: Request) -> Setup:
    """The parser of Latin."""
    found = sample(request, UD_LATIN, _QUICK_LATIN)
    return _trees(found, _QUICK_BITS if request.quick else _LATIN_BITS, "Latin trees")


def _trees(found: Sample, bits: int, name: str) -> Setup:
    """The arc-factored, non-projective parser on the candidate arcs of this project's parser."""
    found = found._replace(
        train=[sentence for sentence in found.train if len(sentence) <= _LONGEST]
    )
    return parser(found, trees="non-projective", bits=bits, arc_share=_ARC_SHARE)._replace(
        name=name
    )


def _compared(task: Task, request: Request) -> Comparison:
    constants = request.values_of_c(task.constants, task.quick_constants)
    budget = Budget(request.budget(task.passes, task.quick_passes))
    return compare(Plan(NAME, task.setup(request), _CONTENDERS, constants, budget), request)


def _scores(found: Comparison) -> list[Panel]:
    return [
        score_panel(f"{found.task.name}, C = {c:g}", found, found.at(c), colours=found.labels)
        for c in found.constants
    ]


def _primals(found: Comparison) -> list[Panel]:
    return [
        excess_panel(found, c)._replace(title=f"{found.task.name}: primal, C = {c:g}")
        for c in found.constants
    ]
