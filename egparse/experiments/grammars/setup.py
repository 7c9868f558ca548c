"""A log-linear grammar as the problem of a comparison of learners."""

from __future__ import annotations

from typing import NamedTuple

from egparse.experiments.data.problems import Setup
from egparse.experiments.grammars.features import Signatures
from egparse.experiments.grammars.held_out import HeldOut
from egparse.experiments.grammars.problem import Encoder, GrammarProblem
from egparse.experiments.grammars.treebank import Model, Treebank

GOLD_THETA = 5.0
"""The initial theta of correct parts, for learners that do not start from the uniform
distribution.
"""


class LogLinear(NamedTuple):
    """The training problem, with the sentences that its models are rated on."""

    problem: GrammarProblem
    dev: HeldOut
    test: HeldOut


def log_linear(bank: Treebank, model: Model, *, anchored: bool, bits: int) -> LogLinear:
    """The problem of a log-linear grammar with the rules of the model; see ``features`` for
    ``anchored``.
    """
    shapes = Signatures([tree.words() for tree in bank.train])
    encoder = Encoder(model.grammar, model.lexicon, shapes, anchored=anchored)
    problem = GrammarProblem(encoder, model.nodes, bits)
    return LogLinear(problem, HeldOut(encoder, bank.dev), HeldOut(encoder, bank.test))


def setup_of(name: str, bank: Treebank, model: Model, own: LogLinear) -> Setup:
    """The comparison problem; scored by F1 of labelled brackets in per cent."""
    problem, rules = own.problem, model.grammar.rules
    return Setup(
        name,
        problem,
        lambda scale: own.dev.rate(own.dev.by_weights(problem.weights)).f1,
        "validation F1 of labelled brackets (%)",
        1,
        GOLD_THETA,
        {
            "data": bank.name,
            "training sentences": len(bank.train),
            "training words": sum(len(tree.words()) for tree in bank.train),
            "validation sentences": len(bank.dev),
            "test sentences": len(bank.test),
            "symbols": rules.symbols,
            "rules": len(rules.binary) + len(rules.unary),
            "parts": int(problem.part_starts[-1]),
            "weights": problem.weights.size,
        },
        lambda scale: own.test.rate(own.test.by_weights(problem.weights)).f1,
        None,
        lambda scale: own.test.outcomes(own.test.by_weights(problem.weights)),
    )
