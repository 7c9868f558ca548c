"""Weighted context-free grammars: a probabilistic one by counting against log-linear ones by
learners, over the same rules.

Collins et al. 2008 name parts that are rules at a place of a sentence, with marginals by
inside-outside, as an instance of their algorithms (sections 1, 4), and McDonald 2009 CKY and
inside-outside as those of structured learning; neither has an experiment. Phrases are made of the
dependency treebank UD English EWT (``egparse.experiments.grammars.conversion``), or read from
``trees.mrg`` in the data directory. Words have no given tags: the grammar chooses them.

Beside the learners: how trees are binarised, the best of k trees, EM on sentences without trees,
the time of CKY by length, and a random grammar whose truth is known.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from egparse.evaluation.significance import paired_differences
from egparse.experiments.claims.grammars import (
    ANCHORED,
    EG_PLAIN,
    LOG_LINEAR,
    MARGIN,
    PCFG,
    RULES,
    claims,
)
from egparse.experiments.comparisons.comparison import (
    EG,
    EG_PERMUTED,
    LBFGS,
    SGD,
    Contender,
    Plan,
    compare,
)
from egparse.experiments.data.samples import UD_ENGLISH, files_of
from egparse.experiments.grammars import generated
from egparse.experiments.grammars.binarisation import Binarisation
from egparse.experiments.grammars.chart import argmax, expectations
from egparse.experiments.grammars.held_out import HeldOut, Scorer
from egparse.experiments.grammars.parseval import score_trees
from egparse.experiments.grammars.pcfg import Pcfg, em_step, flat, sample_tree
from egparse.experiments.grammars.setup import LogLinear, log_linear, setup_of
from egparse.experiments.grammars.treebank import (
    BRACKETS,
    Model,
    Sizes,
    Treebank,
    learn_model,
    treebank,
)
from egparse.experiments.grammars.trees import Tree
from egparse.experiments.report.curves import Budget
from egparse.experiments.report.outcome import Line, Outcome, Panel, Table
from egparse.experiments.report.panels import SECONDS, by_c, excess_panel, gap_panel, score_panel
from egparse.experiments.report.request import Request
from egparse.experiments.report.results import Results
from egparse.experiments.report.summary import number, score, summary_table
from egparse.learners.learner import LearnerConfig
from egparse.learners.registry import build
from egparse.types import Singles

NAME = "grammars"
NEEDS = files_of(UD_ENGLISH)
INSTEAD = BRACKETS
SOURCE = "Collins et al. 2008, sections 1 and 4; McDonald 2009, structured learning"

BINARISATION = Binarisation(horizontal=1, vertical=2)
"""That of all learners; the table of binarisations has the others."""

_SIZES = Sizes(words=15, train=2000, dev=400, test=600, unlabelled=2000)
_QUICK_SIZES = Sizes(words=10, train=60, dev=30, test=30, unlabelled=20)
_BITS, _QUICK_BITS = 20, 14
_CONSTANTS, _QUICK_CONSTANTS = (10.0, 1.0, 0.1), (10.0, 1.0)
_PASSES, _QUICK_PASSES = 30, 6
_SECONDS, _QUICK_SECONDS = 8.0, 1.0
_GAP = 1e-5
_MARGIN_LOSS = (math.inf, 1.0)
_KS = (1, 2, 5, 10, 20, 50)

_CALIBRATED = {"published": True, "calibrate": 0.1}
_EG_MARGIN = Contender(EG.label, "eg-online", _CALIBRATED)
_EG_MARGIN_PERMUTED = Contender(
    EG_PERMUTED.label, "eg-online", {**_CALIBRATED, "order": "random", "start": "gold"}
)
"""Max-margin EG needs the paper's first learning rate, from a tenth of the examples."""

_FRANK_WOLFE = Contender("Frank-Wolfe", "frank-wolfe")


def measure(request: Request) -> Results:
    """The learners, and the figures beside them."""
    bank = treebank(request, _QUICK_SIZES if request.quick else _SIZES)
    model = learn_model(bank.train, BINARISATION)
    bits = _QUICK_BITS if request.quick else _BITS
    anchored = log_linear(bank, model, anchored=True, bits=bits)
    constants = request.values_of_c(_CONSTANTS, _QUICK_CONSTANTS)
    budget = Budget(
        request.budget(_PASSES, _QUICK_PASSES), request.seconds_of(_SECONDS, _QUICK_SECONDS), _GAP
    )
    setup = setup_of(ANCHORED, bank, model, anchored)
    learners = (EG, EG_PERMUTED, LBFGS, SGD)
    found = compare(Plan(NAME, setup, learners, constants, budget), request)
    margin = compare(
        Plan(
            NAME,
            setup,
            (_EG_MARGIN, _EG_MARGIN_PERMUTED, _FRANK_WOLFE),
            constants[:2],
            budget,
            _MARGIN_LOSS,
        ),
        request,
    )
    plain = log_linear(bank, model, anchored=False, bits=bits)
    rules = compare(
        Plan(NAME, setup_of(RULES, bank, model, plain), (EG_PERMUTED, LBFGS), constants, budget),
        request,
    )
    comparisons = {LOG_LINEAR: found, MARGIN: margin, RULES: rules}
    best = {
        ANCHORED: (anchored, found.best_c(EG_PERMUTED.label), (1.0, 0.0)),
        RULES: (plain, rules.best_c(EG_PERMUTED.label), (1.0, 0.0)),
        MARGIN: (anchored, margin.best_c(EG_PERMUTED.label), _MARGIN_LOSS),
    }
    numbers = {
        "binarisations": _binarisations(bank, request),
        **_models(model, best, request),
        "em": _em(model, bank, anchored, 3 if request.quick else 8),
        "speed": _speed(model, bank, (5, 10) if request.quick else (5, 10, 20, 40, 80)),
        "generated": _generated(request),
    }
    notes = (
        *dict.fromkeys(note for each in comparisons.values() for note in each.notes),
        f"Sentences of at most {(_QUICK_SIZES if request.quick else _SIZES).words} words; the tags "
        "are not given but chosen by the grammar.",
        f"Every learner has {budget.cpu_seconds:g} CPU seconds, or {budget.effective_iterations:g} "
        f"effective iterations, at each C, and ends at a relative gap of {_GAP:g}.",
        "Each learner was run with one seed.",
    )
    return Results(comparisons, numbers, notes, request.quick)


def report(results: Results) -> Outcome:
    """Claims, tables and figures."""
    found = results.comparisons[LOG_LINEAR]
    return Outcome(
        "Weighted context-free grammars",
        SOURCE,
        found.task.facts,
        claims(results),
        [
            *_model_tables(results.numbers),
            *_learner_tables(results),
            *_other_tables(results.numbers),
        ],
        _panels(results),
        results.notes,
    )


def _binarisations(bank: Treebank, request: Request) -> list[dict[str, Any]]:
    """The probabilistic grammar by how trees are binarised, on the validation part."""
    rows = []
    for direction, horizontal, vertical in (
        ("right", 0, 1),
        ("right", 1, 1),
        ("left", 1, 1),
        ("right", 2, 1),
        ("right", 0, 2),
        ("right", 1, 2),
        ("left", 1, 2),
        ("right", 2, 2),
    )[:: 3 if request.quick else 1]:
        own = Binarisation(direction=direction, horizontal=horizontal, vertical=vertical)  # type: ignore[arg-type]
        model = learn_model(bank.train, own)
        pairs, failed = [], 0
        for tree in bank.dev:
            parse = model.pcfg.parse(tree.words())
            failed += parse is None
            pairs.append((tree, parse or flat(tree.words(), _first_tag(model))))
        scores = score_trees(pairs)
        rows.append(
            {
                "direction": direction,
                "horizontal": horizontal,
                "vertical": vertical,
                "symbols": model.grammar.rules.symbols,
                "rules": len(model.grammar.counts),
                "f1": scores.f1,
                "exact": scores.exact_match,
                "tags": scores.tag_accuracy,
                "without parse": failed,
            }
        )
    return rows


def _first_tag(model: Model) -> str:
    return model.grammar.symbols[0].labels[0]


def _models(
    model: Model, best: dict[str, tuple[LogLinear, float, tuple[float, float]]], request: Request
) -> dict[str, Any]:
    """The probabilistic grammar and the log-linear ones, each at its best C on the validation part,
    on the test part; the best of k trees on the validation part.
    """
    rated: dict[str, dict[str, Any]] = {}
    oracle: dict[str, list[float]] = {}
    counts = {}
    first = best[ANCHORED][0]

    def rate(name: str, dev: HeldOut, test: HeldOut, score_dev: Scorer, score_test: Scorer) -> None:
        scores = test.rate(score_test)
        likelihood = test.likelihood(score_test, BINARISATION)
        counts[name] = test.outcomes(score_test)
        rated[name] = {
            "precision": scores.precision,
            "recall": scores.recall,
            "f1": scores.f1,
            "exact": scores.exact_match,
            "tags": scores.tag_accuracy,
            "log-likelihood": likelihood.mean,
            "rated sentences": likelihood.sentences,
            "without parse": test.without_parse,
        }
        oracle[name] = dev.oracle(score_dev, _KS, 20 if request.quick else 300)

    by_count = first.dev.by_probability(model.pcfg), first.test.by_probability(model.pcfg)
    rate(PCFG, first.dev, first.test, *by_count)
    for name, (own, c, loss) in best.items():
        weights = _trained(own, c, loss, request)
        rate(name, own.dev, own.test, own.dev.by_weights(weights), own.test.by_weights(weights))
        rated[name]["c"] = c
    for name, own_counts in counts.items():
        tested = paired_differences({"f1": own_counts}, {"f1": counts[PCFG]})["f1"]
        rated[name]["p against PCFG"] = tested.p_value
    tested = paired_differences({"f1": counts[ANCHORED]}, {"f1": counts[MARGIN]})["f1"]
    rated[MARGIN]["p against log-linear"] = tested.p_value
    return {"models": rated, "oracle": {"k": list(_KS), "f1": oracle}}


def _trained(own: LogLinear, c: float, loss: tuple[float, float], request: Request) -> Singles:
    """The weights after training by EG."""
    own.problem.reset()
    config = LearnerConfig(beta=loss[0], gamma=loss[1], c=c, seed=request.seed)
    contender = EG_PERMUTED if config.beta == 1 else _EG_MARGIN_PERMUTED
    learner = build(contender.learner, own.problem, config, **contender.options)
    # theta starts at 5 on correct parts, as in the comparison
    state = learner.initialise(5.0)
    begun = time.process_time()
    for _ in range(request.budget(_PASSES, _QUICK_PASSES)):
        learner.iterate(state)
        if time.process_time() - begun > request.seconds_of(_SECONDS, _QUICK_SECONDS):
            break
    # w = v / C: to scale the log-likelihood as trained
    return (own.problem.weights * np.float32(state.scale)).astype(np.float32)


def _em(model: Model, bank: Treebank, own: LogLinear, steps: int) -> list[dict[str, float]]:
    """EM on sentences without trees, started from the probabilities by counting."""
    pcfg, rows = model.pcfg, []
    words = sum(map(len, bank.unlabelled))
    for step in range(steps):
        found = em_step(pcfg, bank.unlabelled)
        rows.append(
            {
                "steps": step,
                "log-likelihood": found.log_likelihood,
                "sentences": found.parsed,
                "words": words,
                "f1": own.dev.rate(own.dev.by_probability(pcfg)).f1,
            }
        )
        pcfg = found.pcfg
    return rows


def _speed(model: Model, bank: Treebank, lengths: Sequence[int]) -> list[dict[str, float]]:
    """CPU seconds a sentence of CKY and of inside-outside, by length. Sentences are running words
    of the validation part, which may have no parse: the charts are filled all the same.
    """
    text = [word for tree in bank.dev for word in tree.words()]
    rules, pcfg, rows = model.grammar.rules, model.pcfg, []
    argmax(rules, pcfg.rule_scores, pcfg.words(text[:2]))
    expectations(rules, pcfg.rule_scores, pcfg.words(text[:2]))
    for length in lengths:
        count = max(1, min(len(text) // length, 160 // length))
        sentences = [pcfg.words(text[k * length : (k + 1) * length]) for k in range(count)]
        begun = time.process_time()
        for words in sentences:
            argmax(rules, pcfg.rule_scores, words)
        middle = time.process_time()
        for words in sentences:
            expectations(rules, pcfg.rule_scores, words)
        ended = time.process_time()
        rows.append(
            {
                "words": length,
                "sentences": count,
                "cky": (middle - begun) / count,
                "inside-outside": (ended - middle) / count,
            }
        )
    return rows


def _generated(request: Request) -> dict[str, Any]:
    """Grammars estimated from more and more trees of a random grammar whose truth is known."""
    truth = generated.random_pcfg(request.seed)
    random = np.random.default_rng(request.seed)
    sizes = (50, 200) if request.quick else (100, 300, 1000, 3000, 10000)
    trees = [sample_tree(truth, random) for _ in range(max(sizes))]
    held_out = [sample_tree(truth, random) for _ in range(100 if request.quick else 1000)]
    plain = Binarisation()
    rated = [tree for tree in held_out if len(tree.words()) <= 20]
    most = sizes[-1] if request.quick else 1000  # trees for the log-linear grammar
    rows = []
    for size in sizes:
        model = learn_model(trees[:size], plain, 1)
        row = {
            "trees": size,
            "divergence": generated.divergence(truth, model.pcfg),
            "f1": score_trees(_parsed(model.pcfg, rated)).f1,
        }
        if size <= most:
            row["log-linear f1"] = _generated_log_linear(trees[:size], rated, request)
        rows.append(row)
    return {
        "entropy": generated.entropy(truth),
        "held out": -float(
            np.mean([truth.log_probability(plain.binarised(tree)) for tree in held_out])
        ),
        "parameters": _free_parameters(truth),
        "truth f1": score_trees(_parsed(truth, rated)).f1,
        "rows": rows,
    }


def _free_parameters(pcfg: Pcfg) -> int:
    rules = len(pcfg.rule_scores) - len(pcfg.grammar.symbols) + pcfg.grammar.tags
    return rules + int(np.isfinite(pcfg.word_scores).sum()) - pcfg.grammar.tags


def _parsed(pcfg: Pcfg, trees: Sequence[Tree]) -> list[tuple[Tree, Tree]]:
    tag = pcfg.grammar.symbols[0].labels[0]
    return [(tree, pcfg.parse(tree.words()) or flat(tree.words(), tag)) for tree in trees]


def _generated_log_linear(trees: Sequence[Tree], rated: Sequence[Tree], request: Request) -> float:
    """F1 of a log-linear grammar with rules and tags of words for features, C = 1."""
    short = [tree for tree in trees if len(tree.words()) <= 20]
    model = learn_model(short, Binarisation(), 1)
    bank = Treebank("generated", short, rated, rated[:1], ())
    own = log_linear(bank, model, anchored=False, bits=14)
    weights = _trained(own, 1.0, (1.0, 0.0), request)
    return own.dev.rate(own.dev.by_weights(weights)).f1


def _model_tables(numbers: Any) -> list[Table]:
    names = {
        PCFG: "probabilistic, by counting",
        RULES: "log-linear, rules",
        ANCHORED: "log-linear, rules and words",
        MARGIN: "max-margin, rules and words",
    }
    rows = [
        (
            names[name],
            f"{own['c']:g}" if "c" in own else "-",
            *(score(own[key]) for key in ("precision", "recall", "f1", "exact", "tags")),
            f"{own['log-likelihood']:.3f}" if name != MARGIN else "-",
            f"{own['p against PCFG']:.2g}" if name != PCFG else "-",
        )
        for name, own in sorted(numbers["models"].items(), key=lambda it: list(names).index(it[0]))
    ]
    oracle = numbers["oracle"]
    best = [(names[name], *(score(value) for value in oracle["f1"][name])) for name in oracle["f1"]]
    return [
        Table(
            "Models on the test part: labelled brackets, exact match, tags; log p(tree | words) a "
            "sentence",
            ("grammar", "C", "P", "R", "F1", "exact", "tags", "log p", "p against counting"),
            "lrrrrrrrr",
            rows,
        ),
        Table(
            "F1 of the best of k trees, validation part",
            ("grammar", *(f"k = {k}" for k in oracle["k"])),
            "l" + "r" * len(oracle["k"]),
            best,
        ),
    ]


def _learner_tables(results: Results) -> list[Table]:
    titles = {
        LOG_LINEAR: "Log-linear, rules and words",
        RULES: "Log-linear, rules alone",
        MARGIN: "Max-margin, rules and words",
    }
    return [summary_table(title, results.comparisons[key]) for key, title in titles.items()]


def _other_tables(numbers: Any) -> list[Table]:
    known = numbers["generated"]
    return [
        Table(
            "Binarisation: the probabilistic grammar on the validation part",
            (
                "direction",
                "sisters",
                "levels",
                "symbols",
                "rules",
                "F1",
                "exact",
                "tags",
                "no parse",
            ),
            "lrrrrrrrr",
            [
                (
                    own["direction"],
                    *(str(own[key]) for key in ("horizontal", "vertical", "symbols", "rules")),
                    *(score(own[key]) for key in ("f1", "exact", "tags")),
                    str(own["without parse"]),
                )
                for own in numbers["binarisations"]
            ],
        ),
        Table(
            "EM without trees, from counted probabilities: log-likelihood and validation F1",
            ("steps", "log-likelihood", "a word", "F1"),
            "rrrr",
            [
                (
                    str(own["steps"]),
                    f"{own['log-likelihood']:.3f}",
                    f"{own['log-likelihood'] / own['words']:.4f}",
                    score(own["f1"]),
                )
                for own in numbers["em"]
            ],
        ),
        Table(
            f"A random grammar of {known['entropy']:.2f} nats a tree (mean of -log p of other "
            f"trees: {known['held out']:.2f})",
            ("trees", "KL (nats)", "KL x 2 trees / parameters", "F1 by counting", "F1 log-linear"),
            "rrrrr",
            [
                (
                    f"{own['trees']:,}",
                    number(own["divergence"]),
                    number(2 * own["trees"] * own["divergence"] / known["parameters"]),
                    score(own["f1"]),
                    score(own.get("log-linear f1", math.nan)),
                )
                for own in known["rows"]
            ]
            + [("truth", "0", "-", score(known["truth f1"]), "-")],
        ),
        Table(
            "Seconds a sentence by length, with all rules of the treebank",
            ("words", "CKY", "inside-outside", "CKY: sentences/s"),
            "rrrr",
            [
                (
                    str(own["words"]),
                    number(own["cky"]),
                    number(own["inside-outside"]),
                    number(1 / own["cky"]) if own["cky"] else "-",
                )
                for own in numbers["speed"]
            ],
        ),
    ]


def _panels(results: Results) -> list[Panel]:
    found, margin = results.comparisons[LOG_LINEAR], results.comparisons[MARGIN]
    oracle, speed = results.numbers["oracle"], results.numbers["speed"]
    return [
        *(excess_panel(found, c, x=SECONDS) for c in found.constants),
        *(excess_panel(found, c) for c in found.constants),
        gap_panel("EG: duality gap, log-linear", found.of(EG_PLAIN), by_c),
        gap_panel("EG: duality gap, max-margin", margin.of(EG_PLAIN), by_c),
        score_panel(
            "Learners at their best C",
            found,
            [run for label in found.labels for run in found.runs(label, found.best_c(label))],
        ),
        Panel(
            "The best of k trees",
            "k",
            "validation F1 (%)",
            [
                Line(name, oracle["k"], values, place, marked=True)
                for place, (name, values) in enumerate(oracle["f1"].items())
            ],
            log_x=True,
        ),
        Panel(
            "Time by length",
            "words",
            "CPU seconds a sentence",
            [
                Line(name, [own["words"] for own in speed], [own[key] for own in speed], place)
                for place, (name, key) in enumerate(
                    (("CKY", "cky"), ("inside-outside", "inside-outside"))
                )
            ],
            log_x=True,
            log_y=True,
        ),
    ]
