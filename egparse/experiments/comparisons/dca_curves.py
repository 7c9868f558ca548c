"""Dual coordinate ascent against SGD and L-BFGS with the log-linear loss: score over passes
(Martins et al. 2010, Fig. 3-4), and beside learners that came before and after it.

We differ as follows. Names are Spanish (CoNLL-2002) instead of English, without gazetteers. Trees
are English (UD EWT, its first 2,000 sentences) and Latin (UD Perseus) instead of Arabic, Danish and
English; Latin has no development part: another tenth of its training part is held out for each
seed. Parsers use the tags of the corpus and this project's templates, hashed. As in the paper,
trees are non-projective, sentences of more than 80 words are not trained on, and arcs are pruned:
rare ones for arc-factored parsers, those of small marginals for second-order ones. Here trees have
one root. DCA and SGD run with averaged and with last weights. L-BFGS, which the paper runs on names
only, and learners with a dual value run on trees too; all have the same CPU seconds.

Their C is 1 / (lambda m), the inverse of ours; the values of C are among theirs, inverted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from egparse.experiments.claims.dca import (
    ARCS,
    BOTH,
    ENGLISH,
    EXACT,
    GRANDPARENTS,
    LATIN,
    LONG_RUN,
    NAMES,
    PAIRS,
    SIBLINGS,
    claims,
)
from egparse.experiments.comparisons.comparison import (
    DCA,
    EG,
    LBFGS,
    RATES_NOTE,
    SGD,
    Contender,
    Plan,
    compare,
)
from egparse.experiments.data.problems import Setup, entities, parser
from egparse.experiments.data.propositions import check_all
from egparse.experiments.data.samples import (
    SPANISH_NAMES,
    UD_ENGLISH,
    UD_LATIN,
    Sample,
    files_of,
    sample,
)
from egparse.experiments.data.second_order import PrunedTrees
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.outcome import Outcome, Panel, Table
from egparse.experiments.report.panels import excess_panel, score_panel
from egparse.experiments.report.record import Comparison
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import NOTHING, score, summary_table

NAME = "dca"
SOURCE = "Martins et al. 2010, Fig. 3-4, footnotes 16-18 and appendix A"
NEEDS = tuple(name for corpus in (SPANISH_NAMES, UD_ENGLISH, UD_LATIN) for name in files_of(corpus))
"""The files that a full run reads."""

LATIN_NOTE = (
    "Latin trees are validated on a tenth of the training part, another one for each seed, which "
    "is not trained on: there is no development part."
)

_QUICK_NAMES, _QUICK_ENGLISH, _QUICK_LATIN = (120, 60), (80, 40), (60, 30)
_ENGLISH_BITS, _LATIN_BITS, _QUICK_BITS = 22, 20, 14
_NAMES_SENTENCES, _ENGLISH_SENTENCES, _PAIRS_SENTENCES = 4000, 2000, 1500
_PAIRS_VALIDATED = 500  # sentences
_ARC_SHARE = 0.003
_LONGEST = 80  # words
_HELD_OUT = 10  # one sentence in so many
_SEEDS = 3
_CHECKED = 60  # sentences

_NAMES_RATES = (100.0, 10.0, 1.0, 0.1, 0.01, 0.001)
_TREES_RATES = (1.0, 0.1, 0.01, 0.001)
_PAIRS_RATES = (0.1, 0.01)
_LAST = {"averaged": False}

DCA_LAST = Contender("DCA, last", "dca", _LAST)
SDCA = Contender("SDCA", "sdca")
"""Remembers its dual variables, and so converges to the objective that it names."""


class Task(NamedTuple):
    """A problem, which ``setup`` builds from a seed when it is needed, with the values of C, and
    the passes and CPU seconds of each curve; ``quick_`` those of a quick run.
    """

    setup: Callable[[Request, int], Setup]
    constants: tuple[float, ...]
    passes: int
    seconds: float
    quick_constants: tuple[float, ...] = (10.0,)
    quick_passes: int = 6
    seeds: int = 1


def measure(request: Request) -> Results:
    """Names, trees of arcs, trees of pairs of arcs, and what can be checked of the propositions."""
    found = {
        NAMES: _compared(
            Task(_names, (10.0, 1.0, 0.1), 12, 6.0, (1.0,)),
            request,
            _contenders(_NAMES_RATES),
        ),
        ENGLISH: _compared(
            Task(_english_arcs, (100.0, 10.0), 10, 7.0),
            request,
            _contenders(_TREES_RATES),
        ),
        LATIN: _compared(
            Task(latin_setup, (100.0, 10.0), 12, 4.0, seeds=_SEEDS),
            request,
            _contenders(_TREES_RATES),
        ),
        LONG_RUN: _long_run(request),
    }
    for corpus, trees in (
        ("English", _few_validated(_english(request, _PAIRS_SENTENCES))),
        ("Latin", _latin(request, request.seed)),
    ):
        found |= _with_pairs(request, corpus, trees)
    checked = latin_setup(request, request.seed)
    n = min(_CHECKED, checked.n)
    notes = (
        *dict.fromkeys(note for compared in found.values() for note in compared.notes),
        *(() if request.quick else (LATIN_NOTE,)),
        RATES_NOTE,
        "All learners have the same CPU seconds on a task, and about as many passes; paired tests "
        "are on the test parts, and add up the seeds.",
        "To fit the time, names are cut to the first 4,000 training sentences; English to 2,000, "
        "with pairs of arcs to 1,500, and five passes; Latin with pairs has one seed; each learner "
        "with pairs has one C, and SGD two rates, of which the paper chose the smaller.",
        "SGD has the rates of the paper: 0.001 to 100 for names, 0.001 to 1 for trees; SGD with "
        "those of Collins et al. 2008, 0.0001 to 1, is a contender of its own for names.",
        "Scores are of weights rounded to a byte, as in model files, which moves them by up to "
        "0.07 points.",
        "L-BFGS runs to its end at C = 1 on names, without validation scores on the way.",
    )
    numbers = check_all(checked.problem, 10.0, n)
    return Results(found, numbers, notes, request.quick)


def report(results: Results) -> Outcome:
    """Claims, tables and figures."""
    main = [results.comparisons[name] for name in (NAMES, ENGLISH, LATIN)]
    first = [compared.first_seed for compared in main]
    pairs = [own for name, own in results.comparisons.items() if PAIRS in name]
    return Outcome(
        "Dual coordinate ascent",
        SOURCE,
        results.facts,
        claims(results),
        [
            *(summary_table(compared.task.name, compared) for compared in main),
            *(summary_table(compared.task.name, compared) for compared in pairs),
            _below_zero_table(pairs),
        ],
        [
            *(panel for compared in first for panel in _scores(compared)),
            *(panel for compared in first for panel in _primals(compared)),
            *(panel for compared in pairs for panel in _scores(compared)),
        ],
        results.notes,
    )


def _names(request: Request, seed: int) -> Setup:
    return names_setup(request, _NAMES_SENTENCES)


def _english_arcs(request: Request, seed: int) -> Setup:
    return english_setup(request, _ENGLISH_SENTENCES)


def names_setup(request: Request, n_train: int = 0) -> Setup:
    """The tagger of entities, trained on the first ``n_train`` sentences (0: all)."""
    found = sample(request, SPANISH_NAMES, _QUICK_NAMES)
    if n_train:
        found = found._replace(train=found.train[:n_train])
    return entities(found)._replace(name=NAMES)


def english_setup(request: Request, n_train: int = 0) -> Setup:
    """The parser of English, trained on the first ``n_train`` sentences (0: all)."""
    bits = _QUICK_BITS if request.quick else _ENGLISH_BITS
    return _trees(_english(request, n_train), bits, ENGLISH)


def latin_setup(request: Request, seed: int) -> Setup:
    """The parser of Latin, with a tenth of the training part held out by the seed."""
    return _trees(_latin(request, seed), _QUICK_BITS if request.quick else _LATIN_BITS, LATIN)


def _english(request: Request, n_train: int = 0) -> Sample:
    return _short(sample(request, UD_ENGLISH._replace(n_train=n_train), _QUICK_ENGLISH))


def _few_validated(found: Sample) -> Sample:
    return found._replace(dev=found.dev[:_PAIRS_VALIDATED])


def _latin(request: Request, seed: int) -> Sample:
    found = sample(request, UD_LATIN, _QUICK_LATIN)
    every = [*found.train, *found.dev]
    order = np.random.default_rng(seed).permutation(len(every))
    n_dev = max(1, len(every) // _HELD_OUT)
    return _short(
        found._replace(
            train=[every[k] for k in sorted(order[n_dev:].tolist())],
            dev=[every[k] for k in sorted(order[:n_dev].tolist())],
        )
    )


def _short(found: Sample) -> Sample:
    """Without the training sentences that are too long."""
    return found._replace(train=[own for own in found.train if len(own) <= _LONGEST])


def _trees(found: Sample, bits: int, name: str) -> Setup:
    """The arc-factored, non-projective parser on the candidate arcs of this project's parser."""
    return parser(found, trees="non-projective", bits=bits, arc_share=_ARC_SHARE)._replace(
        name=name
    )


def _contenders(rates: Sequence[float]) -> tuple[Contender, ...]:
    sgd = SGD._replace(tuned=("eta0", rates))
    other = (SGD._replace(label="SGD, rates of 2008"),) if rates == _NAMES_RATES else ()
    averaged = sgd._replace(label="SGD, averaged", options={"averaged": True})
    return (DCA, DCA_LAST, sgd, averaged, *other, LBFGS, EG, SDCA)


def _compared(task: Task, request: Request, contenders: Sequence[Contender]) -> Comparison:
    constants = request.values_of_c(task.constants, task.quick_constants)
    seconds = request.seconds_of(task.seconds, 5.0)
    passes = request.budget(task.passes, task.quick_passes)
    # an iteration of L-BFGS is cheaper than a pass of the others: it ends by its seconds
    own = [
        each._replace(budget=Budget(4 * passes, seconds)) if each == LBFGS else each
        for each in contenders
    ]
    seeds = request.seeds_of(task.seeds)
    setup = (
        task.setup(request, request.seed)
        if task.seeds == 1
        else (lambda seed: task.setup(request, seed))
    )
    return compare(Plan(NAME, setup, own, constants, Budget(passes, seconds), seeds=seeds), request)


def _long_run(request: Request) -> Comparison:
    """L-BFGS on names until it ends, or for 150 passes."""
    setup = _names(request, request.seed)
    validated = setup.score

    def at_end(scale: float) -> dict[str, float]:
        return {"validation": validated(scale)}

    quiet = setup._replace(score=lambda scale: float("nan"), figures=at_end)
    budget = Budget(request.budget(150, 12))
    constants = request.values_of_c((1.0,), (1.0,))[:1]
    return compare(Plan(NAME, quiet, (LBFGS,), constants, budget), request)


def _with_pairs(request: Request, corpus: str, found: Sample) -> dict[str, Comparison]:
    """Second-order parsers, with each kind of pairs."""
    bits = _QUICK_BITS if request.quick else _ENGLISH_BITS
    trees = PrunedTrees.of(found, "non-projective", bits)
    contenders = (
        DCA,
        Contender("DCA, no update below zero", "dca", {"below_zero": "skip"}),
        SGD._replace(tuned=("eta0", _PAIRS_RATES)),
        SGD._replace(
            label="SGD, averaged", options={"averaged": True}, tuned=("eta0", _PAIRS_RATES)
        ),
    )
    budget = Budget(request.budget(5, 3))
    constants = request.values_of_c((10.0,), (10.0,))[:1]
    out = {}
    kinds = {ARCS: (False, False), SIBLINGS: (True, False)}
    kinds |= {GRANDPARENTS: (False, True), BOTH: (True, True)}
    if request.quick:
        kinds = {kind: kinds[kind] for kind in (ARCS, BOTH)}
    for kind, (siblings, grandparents) in kinds.items():
        name = f"{corpus}{PAIRS}{kind}"
        setup = trees.setup(name, siblings=siblings, grandparents=grandparents)
        own = contenders if kind != ARCS else tuple(c for c in contenders if "zero" not in c.label)
        out[name] = compare(Plan(NAME, setup, own, constants, budget), request)
    if corpus == "English":  # nearly all trees are projective: exact inference beside loopy
        exact = PrunedTrees.of(found, "projective", bits)
        name = f"{corpus}{PAIRS}{EXACT}"
        setup = exact.setup(name, siblings=True, grandparents=True)
        few = tuple(own for own in contenders if "zero" not in own.label)
        out[name] = compare(Plan(NAME, setup, few, constants, budget), request)
    return out


def _below_zero_table(found: Sequence[Comparison]) -> Table:
    """Losses below zero in the last pass of DCA, and UAS without punctuation."""
    headings = ("task", "learner", "below zero %", "UAS, all words", "without punctuation")
    rows = []
    for compared in found:
        for curve in compared.first_seed.curves:
            below = curve.details.get("negative")
            share = NOTHING if below is None else f"{100 * below / compared.task.n:.2f}"
            without = curve.details.get("without punctuation", float("nan"))
            test = float("nan") if curve.test is None else curve.test
            rows.append((compared.task.name, curve.label, share, score(test), score(without)))
    return Table("Losses below zero in the last pass; test UAS", headings, "llrrr", rows)


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
