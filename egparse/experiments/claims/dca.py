"""Claims of Martins et al. 2010 about dual coordinate ascent: propositions, Fig. 1-4, footnotes and
appendix A.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from egparse.experiments.report.claims import Claim, compared, figure, is_better, verdict_of
from egparse.experiments.report.record import Comparison
from egparse.experiments.report.results import Results

NAMES, ENGLISH, LATIN = "Entities", "English trees", "Latin trees"
LONG_RUN = "Entities, L-BFGS to its end"
PAIRS = ", pruned: "
ARCS, SIBLINGS, GRANDPARENTS = "arcs", "arcs and siblings", "arcs and grandparents"
BOTH, EXACT = "arcs, siblings and grandparents", "both, exact inference"
"""The names of the comparisons; those of pruned trees are ``English`` or ``Latin`` + PAIRS + the
kind.
"""

DCA, LAST, SKIPS = "DCA", "DCA, last", "DCA, no update below zero"
SGD, SGD_AVERAGED, SGD_2008 = "SGD", "SGD, averaged", "SGD, rates of 2008"
LBFGS, EG, SDCA = "L-BFGS", "EG", "SDCA"

_PAPER = "Martins et al. 2010"
_FORMAL = 1e-3
_NEAR_SCORE = 0.2  # points
_MANY = 5.0  # per cent of the training instances; the paper has about 15


def claims(results: Results) -> list[Claim]:
    """All claims, in the order of the paper."""
    found = results.comparisons
    return [
        *_of_theory(results.numbers),
        *_of_names(found[NAMES], found[LONG_RUN]),
        *_of_arcs(found),
        *_of_pairs(results),
        *_of_passes(found),
    ]


def _of_theory(numbers: Mapping[str, Any]) -> list[Claim]:
    first, solved = numbers["proposition 1"], numbers["subproblems"]
    limit, scaled = numbers["limit of beta"], numbers["footnote 18"]
    mira = numbers["MIRA"]
    gaps = [own["gap"] for own in solved.values()]
    shares = "; ".join(
        f"{name} {100 * own['linearised']:.0f} % (the exact solution takes "
        f"{own['inferences']:.0f} calls of inference)"
        for name, own in solved.items()
    )
    falls = [row["excess"] for row in limit]
    return [
        Claim(
            f"{_PAPER}, Fig. 1",
            "CRF, structured SVM and softmax-margin are members of one family of losses, the SVM "
            "in the limit of beta.",
            verdict_of([falls == sorted(falls, reverse=True), limit[-1]["least"] > -_FORMAL]),
            "Mean loss on Latin sentences less that of the SVM (gamma = 1): "
            + ", ".join(f"{row['excess']:.2g} (beta = {row['beta']:g})" for row in limit)
            + ".",
        ),
        Claim(
            f"{_PAPER}, Prop. 1, Fig. 2",
            "log Z is a maximum over the marginal polytope, its gradient are the marginals.",
            verdict_of([first["error"] < _FORMAL]),
            f"Slope of log Z in random directions against the marginals, {first['examples']:.0f} "
            f"Latin sentences: greatest relative error {first['error']:.2g}. Fig. 2 is a drawing.",
        ),
        Claim(
            f"{_PAPER}, Prop. 2 and 3, eq. 10-11",
            "The sub-problem of an example and its dual have the same optimum.",
            verdict_of(abs(gap) < 0.01 for gap in gaps),
            "Both solved by steps on one dual variable, mean gap relative to the loss: "
            + ", ".join(f"{own['gap']:.1g} ({name})" for name, own in solved.items())
            + ".",
        ),
        Claim(
            f"{_PAPER}, eq. 14-15",
            "The closed-form step of the linearised sub-problem is no exact solution, but still "
            "improves the dual.",
            verdict_of(0 < own["linearised"] <= 1 + _FORMAL for own in solved.values()),
            f"Share of the possible decrease of eq. 11 that the step makes: {shares}.",
        ),
        Claim(
            f"{_PAPER}, section 4",
            "For the hinge loss the algorithm is 1-best MIRA.",
            verdict_of([mira["error"] < _FORMAL]),
            "Weights after a pass over Latin in the same order: relative difference "
            f"{mira['error']:.1g}.",
        ),
        Claim(
            f"{_PAPER}, eq. 17",
            "Keeping further half-spaces of earlier points gives tighter approximations, k-best "
            "MIRA for the hinge loss.",
            verdict_of(own["linearised"] < 1 - _FORMAL for own in solved.values()),
            "Each step of the exact solution adds one half-space; all of them gain what the "
            "closed form misses: "
            + ", ".join(
                f"{100 * (1 - own['linearised']):.0f} % ({name})" for name, own in solved.items()
            )
            + ". Lists of a fixed length for finite beta are not here; k-best MIRA is (learner "
            "mira).",
        ),
        Claim(
            f"{_PAPER}, footnote 18",
            "(lambda, beta, gamma) and (lambda / a, beta / a, a gamma) are the same problem, with "
            "solutions theta and a theta.",
            verdict_of([scaled["error"] < _FORMAL]),
            "DCA makes the same steps: relative difference of the weights after a pass, a = 0.5 "
            f"and 3, four losses: {scaled['error']:.1g}.",
        ),
    ]


def _of_names(found: Comparison, long_run: Comparison) -> list[Claim]:
    best, shown = _best_of(found, (DCA, SGD, LBFGS))
    rivals = (SGD, LBFGS)
    wins = [is_better(found, DCA, best[DCA], own, best[own]) for own in rivals]
    tests = "; ".join(
        f"DCA against {own}: {compared(found, DCA, best[DCA], own, best[own])}" for own in rivals
    )
    also = "; ".join(
        f"DCA last against {own}: {compared(found, LAST, best_c, own, found.best_c(own))}"
        for best_c in [found.best_c(LAST)]
        for own in (SGD, SGD_AVERAGED)
    )
    low = min(found.constants)
    rates = {
        run.c: (run.options.get("eta0"), found.score(SGD, run.c), found.score(SGD_2008, run.c))
        for run in found.of(SGD)
    }
    best_sgd = found.best_c(SGD)
    better = [
        is_better(found, SGD_2008, low, SGD, low) is True,
        best_sgd != low and is_better(found, SGD, best_sgd, SGD, low) is True,
    ]
    chosen = "; ".join(
        f"C = {c:g}: rate {rate:g}, F1 {own:.2f}, with the rates of Collins et al. {other:.2f}"
        for c, (rate, own, other) in rates.items()
        if rate is not None
    )
    run = long_run.curves[0]
    last = run.points[-1] if run.points else None
    steps = 0.0 if last is None else last.effective_iterations
    ended = last is not None and not run.stopped.endswith("effective iterations")
    return [
        Claim(
            f"{_PAPER}, section 5.1",
            "The data are the English names of CoNLL-2003, with gazetteer features, 1,312,255 "
            "features in all.",
            "not possible",
            "No English names of CoNLL-2003 are here: Spanish ones of CoNLL-2002 "
            f"({found.task.n:,} sentences, {found.task.facts.get('weights', 0):,} weights). No "
            "gazetteer comes with that corpus, and one made of the training names alone would say "
            "no more than the forms of words, which are features.",
        ),
        Claim(
            f"{_PAPER}, section 5.1, Fig. 3",
            "DCA reaches better models for names than SGD and L-BFGS.",
            verdict_of(win is True for win in wins),
            f"F1 by validation at the best C, {shown}. Test: {tests}. Not averaged, as SGD: "
            f"{also}.",
        ),
        Claim(
            f"{_PAPER}, section 5.1, Fig. 3",
            "SGD with C = 10 (the least regularisation) is lower because the validation after a "
            "pass chose a poor learning rate.",
            verdict_of(better),
            f"Ours is 1 / C: {chosen}. Test at C = {low:g}, rates of Collins et al. against those "
            f"of the paper: {compared(found, SGD_2008, low, SGD, low)}; best C against it: "
            f"{compared(found, SGD, best_sgd, SGD, low)}.",
        ),
        Claim(
            f"{_PAPER}, Fig. 3",
            "L-BFGS converges after 121 iterations, with F1 90.53 on the development and 85.31 on "
            "the test data.",
            "in part" if ended and steps <= 150 else "not reproduced",
            f"On Spanish, C = {run.c:g}: {steps:.0f} passes, {run.stopped}; F1 "
            f"{run.details.get('validation', 0.0):.2f} and {run.test or 0.0:.2f}. Figures of "
            "another language cannot agree.",
        ),
        Claim(
            f"{_PAPER}, section 5.1",
            "DCA only requires tuning C.",
            "reproduced",
            "It has no learning rate; SGD's was chosen anew for each C ("
            + ", ".join(f"{rate:g}" for rate, *_ in rates.values() if rate is not None)
            + ").",
        ),
    ]


def _of_arcs(found: Mapping[str, Comparison]) -> list[Claim]:
    cases, shown, fair, fairly = [], [], [], []
    for name in (ENGLISH, LATIN):
        task = found[name]
        for c in task.constants:
            goal = task.score(SGD, c) - _NEAR_SCORE
            own, averaged = _until(task, SGD, c, goal), _until(task, SGD_AVERAGED, c, goal)
            dca, last = _until(task, DCA, c, goal), _until(task, LAST, c, goal)
            cases.append(dca <= own)
            fair += [dca <= averaged, last <= own]
            where = f"{name}, C = {c:g}"
            shown.append(f"{where}: {figure(dca)} and {figure(own)}")
            fairly.append(
                f"{where}: averaged {figure(dca)} and {figure(averaged)}, last {figure(last)} and "
                f"{figure(own)}"
            )
    ends = [
        f"{name}, C = {c:g}: {compared(found[name], DCA, c, SGD, c)}"
        for name in (ENGLISH, LATIN)
        for c in found[name].constants
    ]
    return [
        Claim(
            f"{_PAPER}, section 5.2",
            "The data are Arabic, Danish and English of CoNLL-X and CoNLL-2008.",
            "not possible",
            "These corpora are not here: English (UD EWT, "
            f"{found[ENGLISH].task.n:,} sentences) and Latin (UD Perseus, "
            f"{found[LATIN].task.n:,}) instead.",
        ),
        Claim(
            f"{_PAPER}, section 5.2, Fig. 4 left",
            "With arc-factored models DCA, averaged, converges faster to an accurate model than "
            "SGD.",
            verdict_of(cases),
            f"Passes to within {_NEAR_SCORE} points of SGD's last validation UAS (mean over "
            f"seeds), DCA and SGD: {'; '.join(shown)}. Test at the end: {'; '.join(ends)}.",
        ),
        Claim(
            "ours",
            "So it is with like and like: both averaged, or both with their last weights.",
            verdict_of(fair),
            f"Passes, DCA and SGD: {'; '.join(fairly)}.",
        ),
        Claim(
            f"{_PAPER}, section 5.2",
            "UAS is counted with the default settings of eval.pl, without punctuation.",
            "reproduced",
            "Both are given; DCA at the end, all words and without punctuation: "
            + "; ".join(_without(found[name], name) for name in (ENGLISH, LATIN))
            + ".",
        ),
    ]


def _of_pairs(results: Results) -> list[Claim]:
    found, pseudo = results.comparisons, results.numbers["pseudo-marginals"]
    kinds = (SIBLINGS, GRANDPARENTS, BOTH)
    tasks = {name: own for name, own in found.items() if PAIRS in name}
    loopy = {name: own for name, own in tasks.items() if name.endswith(kinds)}
    worse = [
        is_better(own, SGD, c, DCA, c) is True for own in loopy.values() for c in own.constants
    ]
    tests = "; ".join(f"{name}: {_dca_and_sgd(own)}" for name, own in loopy.items())
    gains = {
        corpus: [
            tasks[f"{corpus}{PAIRS}{BOTH}"].test(label, c)
            - tasks[f"{corpus}{PAIRS}{ARCS}"].test(label, c)
            for label in (DCA, SGD)
            for c in tasks[f"{corpus}{PAIRS}{ARCS}"].constants
        ]
        for corpus in ("English", "Latin")
    }
    below = {name: _below(own, DCA) for name, own in loopy.items()}
    skipped = {name: _below(own, SKIPS) for name, own in loopy.items()}
    remedies = [is_better(own, SKIPS, c, DCA, c) for own in loopy.values() for c in own.constants]
    exact = f"English{PAIRS}{EXACT}"
    return [
        Claim(
            f"{_PAPER}, section 5.2, Fig. 4 right",
            "With second-order features DCA does not perform so well: SGD is better on Danish and "
            "English.",
            verdict_of(worse),
            f"Test UAS of DCA against SGD: {tests}. With exact inference over projective trees, "
            f"English: {_dca_and_sgd(found[exact])}.",
        ),
        Claim(
            f"{_PAPER}, Fig. 4",
            "Second-order features raise the UAS.",
            verdict_of(gain >= 1.0 for each in gains.values() for gain in each),
            "Siblings and grandparents against arcs alone, DCA and SGD: "
            + "; ".join(
                f"{corpus} {', '.join(f'{gain:+.2f}' for gain in each)}"
                for corpus, each in gains.items()
            )
            + " points of test UAS; a point or more counts.",
        ),
        Claim(
            f"{_PAPER}, footnote 17",
            "For about 15 % of the training instances loopy belief propagation estimates a "
            "probability above 1.",
            verdict_of(share >= _MANY for share in below.values()),
            "Per cent of losses below zero in the last pass: "
            + ", ".join(f"{name} {share:.1f}" for name, share in below.items())
            + ". The factors here are larger (below).",
        ),
        Claim(
            f"{_PAPER}, footnote 17",
            "No update is made there, which explains the slower convergence.",
            verdict_of(found is False for found in remedies),
            "No update against a step with an estimate by the pseudo-marginals, test UAS: "
            + "; ".join(
                f"{name} {compared(own, SKIPS, c, DCA, c)}"
                for name, own in loopy.items()
                for c in own.constants
            )
            + "; still below zero in the last pass without updates: "
            + ", ".join(f"{share:.1f} %" for share in skipped.values())
            + ".",
        ),
        Claim(
            "ours",
            "The estimate is a lower bound of the loss at exact marginals, but not at "
            "pseudo-marginals.",
            verdict_of([pseudo["above"] > 0]),
            f"Of {pseudo['graphs']:.0f} random graphs {pseudo['below zero']:.0f} had a Bethe loss "
            f"of the best tree below zero; in {pseudo['above']:.0f} of these the estimate was "
            f"above the true loss, by up to {pseudo['most']:.1f} nats.",
        ),
        Claim(
            f"{_PAPER}, footnote 16",
            "The modified code of TurboParser will be released.",
            "not possible",
            "It is not here, and nothing of it was used.",
        ),
        Claim(
            f"{_PAPER}, appendix A, eq. 18-19",
            "Belief propagation of Smith and Eisner maximises the Bethe entropy: that of the tree "
            "less the mutual information of each pair of arcs.",
            "in part",
            "Belief propagation here is stationary for another Bethe entropy: heads of words are "
            "variables, all pairs of a head and its own head are one factor, beside TREE; so there "
            "are fewer loops (tests of structures/second_order/loopy.py check the gradient). The "
            "graph with a factor for each pair was not built, and cannot be compared: at most "
            f"{max(below.values(), default=0.0):.1f} % of losses are below zero here.",
        ),
    ]


def _of_passes(found: Mapping[str, Comparison]) -> list[Claim]:
    names = (NAMES, ENGLISH, LATIN)
    rises, converges, shown = [], [], []
    averaging, averages = [], []
    for name in names:
        task = found[name]
        for c in task.constants:
            dca, sdca = task.last_excess(LAST, c), task.last_excess(SDCA, c)
            rises.append(dca > sdca)
            converges.append(task.last_gap(SDCA, c) < task.last_excess(LAST, c))
            shown.append(f"{name}, C = {c:g}: DCA {dca:.3g}, SDCA {sdca:.2g}")
            averaging.append(is_better(task, DCA, c, LAST, c))
            averages.append(f"{name}, C = {c:g}: {compared(task, DCA, c, LAST, c)}")
    return [
        Claim(
            f"{_PAPER}, section 4",
            "The analysis carries over to several epochs.",
            verdict_of(not rise for rise in rises),
            "Each pass adds new dual variables, so that K passes ascend the dual of C/2 |w|^2 + K "
            "sum of losses. Primal of the objective named, per cent above the best bound at the "
            f"end, with DCA's last weights and with duals that are remembered: {'; '.join(shown)}.",
        ),
        Claim(
            f"{_PAPER}, Alg. 1, footnote 9",
            "Averaging the weights is good for generalisation.",
            verdict_of(better is True for better in averaging),
            f"Averaged against last weights, test: {'; '.join(averages)}.",
        ),
    ]


def _best_of(found: Comparison, labels: tuple[str, ...]) -> tuple[dict[str, float], str]:
    best = {label: found.best_c(label) for label in labels}
    shown = ", ".join(
        f"{label} {found.score(label, c):.2f} (C = {c:g})" for label, c in best.items()
    )
    return best, shown


def _until(found: Comparison, label: str, c: float, goal: float) -> float:
    """The mean over seeds of the effective iterations until the score reaches the goal."""
    runs = [run for run in found.runs(label, c) if run.points]
    firsts = [
        next((p.effective_iterations for p in run.points if p.score >= goal), math.inf)
        for run in runs
    ]
    return sum(firsts) / len(firsts) if firsts else math.inf


def _without(found: Comparison, name: str) -> str:
    c = found.best_c(DCA)
    runs = found.runs(DCA, c)
    shares = [run.details.get("without punctuation", 0.0) for run in runs]
    rate = found.test(DCA, c) if found.task.has_test else found.score(DCA, c)
    return f"{name} {rate:.2f} and {sum(shares) / max(1, len(shares)):.2f}"


def _dca_and_sgd(found: Comparison) -> str:
    c = found.constants[0]
    return (
        f"{compared(found, DCA, c, SGD, c)}, both averaged "
        f"{compared(found, DCA, c, SGD_AVERAGED, c)}"
    )


def _below(found: Comparison, label: str) -> float:
    """Losses below zero in the last pass, in per cent of the training sentences."""
    shares = [100.0 * run.details.get("negative", 0.0) / found.task.n for run in found.of(label)]
    return sum(shares) / max(1, len(shares))
