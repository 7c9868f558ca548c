"""A shipped model, and work in steps done to its end."""

from __future__ import annotations

from functools import cache

from house.package import ROOT

from egparse.pipeline.model import Model
from egparse.service.rest.process import Steps, T

MODELS = ROOT / "models"


@cache
def model() -> Model:
    """The model of Portuguese."""
    return Model.load(MODELS / "pt_bosque.msgpack")


def finished(steps: Steps[T]) -> T:
    """The result of some work."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
