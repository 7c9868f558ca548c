"""Models that go on from others, and how well they do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.training.continuation import Base, configure, continue_training


def gone_on(
    base: Model, sentences: Sequence[Sentence], listener: Any = None, **settings: Any
) -> Model:
    """The base after training on the sentences, without a development part."""
    config = configure(base, {"hold_out": 0, **settings})
    rest = [listener] if listener else []
    return continue_training(Base(base, "base", "0123"), sentences, None, config, *rest).model


def accuracy(
    model: Model, sentences: Sequence[Sentence], layer: str, *, with_input: bool = False
) -> float:
    """The share of words with the gold value of a layer, from the forms alone or ``with_input``."""
    plain = [Sentence(forms=one.forms) for one in sentences]
    found = model.annotate(sentences if with_input else plain)
    right = [
        gold == predicted
        for one, other in zip(sentences, found, strict=True)
        for gold, predicted in zip(getattr(one, layer), getattr(other, layer), strict=True)
    ]
    return sum(right) / len(right)
