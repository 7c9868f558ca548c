"""Claims of the lectures: McDonald 2009, by the titles of their slides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from egparse.experiments.claims.lectures_learning import (
    of_generative_models,
    of_kernels,
    of_shards,
)
from egparse.experiments.lectures.linear import (
    ASCENT,
    AVERAGED,
    EG,
    MIRA_1,
    MIRA_5,
    MIRA_ALL,
    NO_SLACK,
    PERCEPTRON,
    SLACK,
    STOCHASTIC,
    SVM_EG,
    SVM_PLANES,
)
from egparse.experiments.lectures.mixing import slope
from egparse.experiments.lectures.pairs import rank_correlation
from egparse.experiments.lectures.tables import LINEAR_TASKS, training_error
from egparse.experiments.report.claims import Claim, compared, figure, is_better, verdict_of
from egparse.experiments.report.record import Comparison
from egparse.experiments.report.results import Results

_S = "McDonald 2009"


def claims(results: Results) -> list[Claim]:
    """All claims, in the order of the slides."""
    return [
        *_of_features(results.numbers["examples"]),
        *_of_the_perceptron(results),
        *_of_margins(results),
        *_of_mira(results),
        *_of_logistic_regression(results),
        *of_generative_models(results),
        *of_shards(results),
        *_of_structures(results),
        *of_kernels(results),
        *_of_what_is_only_named(),
    ]


def _of_features(found: Any) -> list[Claim]:
    printed = {
        "General George Washington": [1, 1, 0, 1, 0, 0, 0, 0],
        "George Washington Bridge": [0, 0, 0, 0, 1, 1, 1, 0],
        "George Washington George": [0, 0, 0, 0, 1, 1, 0, 0],
        "with bias": [0, 0, 0, 0, 0, 1, 1, 0, 1, 1],
    }
    return [
        Claim(
            f"{_S}, Generalized Linear Classifiers",
            "Search engines find 2,660, 2,210 and 947 papers on maximum entropy, SVM and "
            "perceptron, of which 141, 16 and 118 are from before 2000.",
            "not possible",
            "Counts of search engines in 2009.",
        ),
        Claim(
            f"{_S}, Block Feature Vectors; Bias Terms",
            "Features in a block for each label: four vectors are printed.",
            verdict_of(found[name] == own for name, own in printed.items()),
            f"Computed: {'; '.join(' '.join(map(str, found[name])) for name in printed)}.",
        ),
    ]


def _of_the_perceptron(results: Results) -> list[Claim]:
    theorem = results.numbers["theorem"]
    runs = [run for own in theorem.values() for run in own["perceptrons"]]
    shown = "; ".join(
        f"{name}: {_range([run['mistakes'] for run in own['perceptrons']])} mistakes, bound "
        f"{min(run['bound'] for run in own['perceptrons']):,.0f}, {own['examples']} examples"
        for name, own in theorem.items()
    )
    low = min(run["least |w| / (k gamma)"] for run in runs)
    high = max(run["greatest |w|^2 / (k R^2)"] for run in runs)
    averaging = [
        is_better(results.comparisons[name], AVERAGED, SLACK, PERCEPTRON, SLACK)
        for name in LINEAR_TASKS
    ]
    return [
        Claim(
            f"{_S}, Perceptron: Main Theorem",
            "On separable data the perceptron makes at most R^2 / gamma^2 mistakes, and the error "
            "on the training set becomes zero.",
            verdict_of(run["mistakes"] <= run["bound"] for run in runs),
            f"With the greatest margin and the R of the mistakes that were made, until a pass has "
            f"none: {shown}.",
        ),
        Claim(
            f"{_S}, Perceptron Learning Algorithm (proof)",
            "After k mistakes, |w| is at least k gamma and |w|^2 at most k R^2.",
            verdict_of([low >= 1.0 - 1e-6, high <= 1.0 + 1e-6]),
            f"Over all mistakes of all runs, |w| / (k gamma) is at least {low:.3f}, and "
            f"|w|^2 / (k R^2) at most {high:.3f}.",
        ),
        Claim(
            f"{_S}, Structured Perceptron",
            "All of the analysis carries over to structures.",
            verdict_of(
                run["mistakes"] <= run["bound"]
                for name in ("tags", "trees")
                for run in theorem[name]["perceptrons"]
            ),
            "The theorem holds on sequences by Viterbi and on trees by Eisner's algorithm: see "
            "above.",
        ),
        Claim(
            f"{_S}, References (Collins 2002, Freund & Schapire 1999)",
            "The averaged perceptron is the better model (of the references, not of the slides).",
            verdict_of(better is True for better in averaging),
            _tested(results, AVERAGED, SLACK, PERCEPTRON, SLACK),
        ),
    ]


def _of_margins(results: Results) -> list[Claim]:
    theorem = results.numbers["theorem"]
    sparsity, pairs = results.numbers["sparsity"], results.numbers["pairs"]["rows"]
    shares = {
        name: max(run["margin"] for run in own["perceptrons"]) / own["margin"]
        for name, own in theorem.items()
    }
    norms = [abs(own["1 / |w|"] / own["margin"] - 1) for own in theorem.values()]
    sizes = sorted({row[2] for row in pairs})
    ranks = {
        n: rank_correlation(
            [row[3] for row in pairs if row[2] == n], [row[4] for row in pairs if row[2] == n]
        )
        for n in sizes
        if sum(row[2] == n for row in pairs) > 2
    }
    means = {n: _mean_of(pairs, n) for n in sizes}
    power = (
        slope([own[0] for own in means.values()], [max(own[1], 1e-9) for own in means.values()])
        if len(means) > 1
        else math.nan
    )
    slack = {
        name: training_error(results.comparisons[name], SVM_PLANES, SLACK) for name in LINEAR_TASKS
    }
    return [
        Claim(
            f"{_S}, Maximizing Margin",
            "The perceptron does not pick w to maximise the margin.",
            verdict_of(share < 0.99 for share in shares.values()),
            "Its best margin, of all seeds, in per cent of the greatest: "
            + ", ".join(f"{100 * share:.1f} ({name})" for name, share in shares.items())
            + ".",
        ),
        Claim(
            f"{_S}, Maximizing Margin",
            "The error on new data is proportional to R^2 / (gamma^2 |T|).",
            "not possible"
            if not ranks
            else verdict_of([0.8 <= power <= 1.25, all(rank > 0.5 for rank in ranks.values())]),
            f"Pairs of digits, SVM without slack: with more examples both fall, the error as the "
            f"power {figure(power, '.2f')} of that quantity (proportional: 1). Rank correlation "
            "over the pairs at equal |T|: "
            + ", ".join(f"{rank:.2f} ({n} examples)" for n, rank in ranks.items())
            + ".",
        ),
        Claim(
            f"{_S}, Max Margin = Min Norm",
            "The w of least norm with a margin of 1 has the greatest margin, 1 / |w|.",
            verdict_of(
                [*(far <= 0.06 for far in norms)]
                + [own["margin"] <= own["margin at most"] * (1 + 1e-6) for own in theorem.values()]
            ),
            "Margin of that w, its 1 / |w|, and a bound of all margins: "
            + "; ".join(
                f"{name} {own['margin']:.4f}, {own['1 / |w|']:.4f}, {own['margin at most']:.4f}"
                for name, own in theorem.items()
            )
            + " (structures to 5 %).",
        ),
        Claim(
            f"{_S}, Support Vector Machines",
            "The solution depends only on the support vectors.",
            verdict_of([sparsity["moved"] <= 1e-3]),
            f"{sparsity['support vectors']:.0f} of {sparsity['examples']:.0f} digits are support "
            f"vectors; trained on these alone, w moves by {sparsity['moved']:.1e} of its length.",
        ),
        Claim(
            f"{_S}, Support Vector Machines",
            "The most common technique is sequential minimal optimisation (SMO).",
            "not possible",
            "Named, without an algorithm. SVMs are solved here by cutting planes (the quadratic "
            "program by an interior point method), by EG and in further experiments; MIRA's "
            "program makes SMO's step between two multipliers.",
        ),
        Claim(
            f"{_S}, Aside: Min error versus max log-likelihood",
            "SVMs with slack let some examples be classified wrongly.",
            verdict_of(error > 0 for error in slack.values()),
            f"Training error in the end at C = {SLACK:g}: {_listed(slack)} per cent; without slack "
            "the separable sets above have none.",
        ),
    ]


def _of_mira(results: Results) -> list[Claim]:
    theorem = results.numbers["theorem"]
    runs = [(own["margin"], run) for own in theorem.values() for run in own["perceptrons"]]
    shown = "; ".join(
        f"{name}: perceptron {_share(own, 'margin')}, 1 best {_share(own, 'margin, MIRA 1')}, 5 "
        f"best {_share(own, 'margin, MIRA 5')}"
        for name, own in theorem.items()
    )
    digits = results.comparisons["digits"]
    last = digits.paired(MIRA_5, NO_SLACK, MIRA_ALL, NO_SLACK)
    k_best = [
        is_better(results.comparisons[name], MIRA_5, NO_SLACK, MIRA_1, NO_SLACK)
        for name in LINEAR_TASKS
    ]
    return [
        Claim(
            f"{_S}, Margin Infused Relaxed Algorithm (MIRA)",
            "MIRA can be thought of as a max-margin perceptron or an online SVM.",
            verdict_of(
                run[kind] > run["margin"]
                for _, run in runs
                for kind in ("margin, MIRA 1", "margin, MIRA 5")
            ),
            f"Margins in per cent of the greatest: {shown}.",
        ),
        Claim(
            f"{_S}, MIRA",
            "Its cost is sub-optimal optimisation.",
            verdict_of(
                run[kind] < margin * (1 - 1e-3)
                for margin, run in runs
                for kind in ("margin, MIRA 1", "margin, MIRA 5")
            ),
            "Its margins stay below the greatest: see above.",
        ),
        Claim(
            f"{_S}, MIRA",
            "All constraints of an example are used; there are |Y| - 1.",
            verdict_of([last is not None and last.p > 0.05]),
            "Where they can be counted, ten classes of digits, the five most violated do as well: "
            f"{_one_test(digits, MIRA_5, NO_SLACK, MIRA_ALL, NO_SLACK)}.",
        ),
        Claim(
            f"{_S}, Large-Margin Classifiers (structured)",
            "Structures have exponentially many constraints (how many are needed is left open; "
            "that the 5 best serve better than the 1 best is what is tested).",
            verdict_of(better is True for better in k_best),
            _tested(results, MIRA_5, NO_SLACK, MIRA_1, NO_SLACK),
        ),
    ]


def _of_logistic_regression(results: Results) -> list[Claim]:
    examples, found = results.numbers["examples"], results.numbers["logistic"]
    least, likely = examples["minimum error"], examples["maximum likelihood"]
    primal, eg = found["primal"], found["primal, EG"]
    slower = []
    for name in LINEAR_TASKS:
        log_linear = _log_linear(results.comparisons[name])
        slower.append(
            (
                name,
                log_linear.last_excess(STOCHASTIC, SLACK),
                log_linear.last_excess(ASCENT, SLACK),
                log_linear.last_excess(EG, SLACK),
                _after(log_linear, STOCHASTIC, 2.0),
                _after(log_linear, ASCENT, 2.0),
            )
        )
    against = {
        name: is_better(results.comparisons[name], EG, SLACK, SVM_EG, SLACK)
        for name in LINEAR_TASKS
    }
    return [
        Claim(
            f"{_S}, Aside: Min error versus max log-likelihood",
            "w = (-1, 0, 1, 0) makes no error on 1,001 points and has log-likelihood -126.9; w = "
            "(-1, 7, 1, 0) makes one and has -1.4.",
            verdict_of(
                [
                    round(least["log-likelihood"], 1) == -126.9 and least["errors"] == 0,
                    round(likely["log-likelihood"], 1) == -1.4 and likely["errors"] == 1,
                ]
            ),
            f"Computed: {least['log-likelihood']:.4f} with {least['errors']} errors, "
            f"{likely['log-likelihood']:.4f} with {likely['errors']}. (The slide prints the "
            "correct features on both sides of one inequality; its -1 is the score of the wrong "
            "label.)",
        ),
        Claim(
            f"{_S}, The partial derivatives",
            "The gradient is the counts of the data less the expected counts.",
            verdict_of([found["gradient against differences"] < 1e-6]),
            f"Against differences of the objective along random directions: relative error "
            f"{found['gradient against differences']:.1e}.",
        ),
        Claim(
            f"{_S}, Logistic Regression; Gradient Ascent",
            "The objective is concave: gradient ascent finds its one maximum from anywhere.",
            verdict_of([found["optima apart"] < 0.01, abs(primal / eg - 1) < 1e-3]),
            f"From {found['starts']} starts the weights end {found['optima apart']:.1e} of their "
            f"length apart; the objective is {primal:.6g}, EG's {eg:.6g} with the bound "
            f"{found['dual, EG']:.6g}.",
        ),
        Claim(
            f"{_S}, Logistic Regression = Maximum Entropy",
            "At the optimum expected counts equal those of the data.",
            verdict_of([found["counts apart, less C w"] < 1e-3]),
            f"They differ by {found['counts apart']:.1e} of their length, which is the "
            f"regularisation: less C w by {found['counts apart, less C w']:.1e}. The dual of this "
            "objective, the entropy less |v|^2 / 2C, is what EG maximises.",
        ),
        Claim(
            f"{_S}, Online Logistic Regression",
            "SGD is guaranteed to converge and is fast in practice.",
            verdict_of(
                [
                    *(early < batch for *_, early, batch in slower),
                    *(excess <= 1.0 for _, excess, *_ in slower),
                ]
            ),
            "Per cent above the bound after 2 passes, SGD and gradient ascent: "
            + "; ".join(f"{name} {a:.3g}, {b:.3g}" for name, *_, a, b in slower)
            + ". In the end, SGD, gradient ascent and EG: "
            + "; ".join(f"{name} {a:.3g}, {b:.3g}, {c:.3g}" for name, a, b, c, *_ in slower)
            + ".",
        ),
        Claim(
            f"{_S}, Aside: Max margin versus max log-likelihood",
            "Maximum likelihood is a soft margin: the two objectives are much alike.",
            verdict_of(better is None for better in against.values()),
            f"Test scores at C = {SLACK:g}, log-linear against max-margin: "
            + "; ".join(
                f"{name} {_one_test(results.comparisons[name], EG, SLACK, SVM_EG, SLACK)}"
                for name in LINEAR_TASKS
            )
            + ". C does not mean the same for both.",
        ),
    ]


def _of_structures(results: Results) -> list[Claim]:
    found = results.comparisons
    return [
        Claim(
            f"{_S}, Structured Learning Summary",
            "Factored features let sequences be learned by Viterbi and forward-backward, and "
            "dependency trees by spanning trees or Eisner's algorithm.",
            verdict_of(
                math.isfinite(found[name].score(label, SLACK))
                for name in ("tags", "trees")
                for label in (PERCEPTRON, SVM_PLANES, EG)
            ),
            "All learners of the lectures train both here; accuracy of perceptron, SVM and EG: "
            + "; ".join(
                f"{name} "
                + ", ".join(
                    f"{found[name].score(label, SLACK):.2f}" for label in (AVERAGED, SVM_PLANES, EG)
                )
                for name in ("tags", "trees")
            )
            + ". Inference is tested against enumeration.",
        ),
        Claim(
            f"{_S}, Structured Learning Summary",
            "Context-free grammars are learned by CKY and inside-outside.",
            "not possible",
            "Not by this experiment: see the experiment *grammars*.",
        ),
        Claim(
            f"{_S}, Conditional Random Fields Summary",
            "General graphs are learned by junction tree, message passing and belief propagation.",
            "not possible",
            "There is no junction tree here. The second-order parser passes messages on graphs "
            "with cycles: see the experiment *dca*.",
        ),
    ]


def _of_what_is_only_named() -> list[Claim]:
    return [
        Claim(
            f"{_S}, Non-Linear Classifiers; Supervised Learning",
            "K nearest neighbours, decision trees, neural networks and boosting are others.",
            "not possible",
            "Named, without an algorithm; there are none here.",
        ),
        Claim(
            f"{_S}, Logistic Regression",
            "Conjugate gradient, iterative scaling and limited-memory quasi-Newton methods train "
            "it too.",
            "not possible",
            "Not by this experiment: see *multiclass* (conjugate gradient, L-BFGS) and *maxent* "
            "(iterative scaling).",
        ),
    ]


def _log_linear(found: Comparison) -> Comparison:
    """The curves of the log-linear loss, whose bound is that of this loss."""
    return found._replace(curves=tuple(own for own in found.curves if own.beta == 1.0))


def _after(found: Comparison, label: str, passes: float) -> float:
    """The excess after so many passes, in per cent, the mean over seeds."""
    values = []
    for run in found.runs(label, SLACK):
        done = [point for point in run.points if point.effective_iterations <= passes + 1e-9]
        if done:
            values.append(found.excess(run, done[-1]))
    return fmean(values) if values else math.nan


def _mean_of(pairs: Sequence[Sequence[float]], n: int) -> tuple[float, float]:
    """The mean quantity and the mean error of the pairs of digits at one size."""
    own = [row for row in pairs if row[2] == n]
    return fmean(row[3] for row in own), fmean(row[4] for row in own)


def _share(own: Any, kind: str) -> str:
    return f"{100 * fmean(run[kind] for run in own['perceptrons']) / own['margin']:.1f}"


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _listed(values: dict[str, float]) -> str:
    return ", ".join(f"{value:.2f} ({name})" for name, value in values.items())


def _tested(results: Results, first: str, first_c: float, second: str, second_c: float) -> str:
    """The paired tests of two learners on all tasks."""
    shown = "; ".join(
        f"{name} {_one_test(results.comparisons[name], first, first_c, second, second_c)}"
        for name in LINEAR_TASKS
    )
    return f"{first[0].upper()}{first[1:]} against {second}: {shown}."


def _one_test(found: Comparison, first: str, first_c: float, second: str, second_c: float) -> str:
    return compared(found, first, first_c, second, second_c)
