"""Training the members of an ensemble: parsers that differ in their seeds alone, over one pruner.

The seed orders the sentences and chooses those that a pass visits, so that members are at other
points near the optimum of one convex objective when training stops
(docs/decisions/learning-from-distributions.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from egparse.fitting.optimise import INTERRUPTED, Best
from egparse.parsing.second_order.parser import SecondOrderParser, ensemble_of
from egparse.parsing.second_order.training import SecondOrderTask

TrainMember = Callable[[SecondOrderTask], Best[SecondOrderParser] | None]
"""Trains one parser; see ``training.run.Method``."""


class TrainedMembers(NamedTuple):
    """The ensemble with the record of its first member, whose score is that of the ensemble; what
    else the model's record says of it.
    """

    best: Best[SecondOrderParser]
    facts: dict[str, Any]


def train_members(task: SecondOrderTask, train: TrainMember) -> TrainedMembers | None:
    """Train as many members as the settings say; None if ``train`` makes no parser.

    Each continues from the member of the base in its place. Where the user stops training, the
    members that there are make the ensemble.

    Raises:
        KeyboardInterrupt: the user stopped it before there was a parser.
    """
    found: list[Best[SecondOrderParser]] = []
    bases = [None] * task.config.ensemble if task.base is None else task.base.members
    for number, base in enumerate(bases):
        try:
            best = train(replace(task, seed=task.seed + number, base=base))
        except KeyboardInterrupt:
            if not found:
                raise
            found[0] = found[0]._replace(reason=INTERRUPTED)
            break
        if best is None:
            return None
        found.append(best)
        if best.interrupted:
            found[0] = found[0]._replace(reason=INTERRUPTED)
            break
    if len(found) == 1:
        return TrainedMembers(found[0], {})
    parser, score = ensemble_of([one.predictor for one in found]), task.score()
    facts = {"members": [one.record.score for one in found]}
    record = found[0].record._replace(score=None if score is None else score(parser))
    return TrainedMembers(found[0]._replace(predictor=parser, record=record), facts)
