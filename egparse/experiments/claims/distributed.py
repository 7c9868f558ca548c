"""Claims of the papers on training by shards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from egparse.experiments.report.claims import Claim, figure, verdict_of
from egparse.experiments.report.results import Results

TAGGER, PARSER = "tagger", "parser"
COCOA_EG, COCOA_SDCA, GRADIENT = "CoCoA+ with EG", "CoCoA+ with SDCA", "L-BFGS"
SHORT_ROUNDS = "CoCoA+ with EG, short rounds"
ITERATED, ONE_SHOT = "mixing, iterated", "mixing, one shot"
"""The names of the problems and methods."""

_AS_ACCURATE = 0.5
"""Points of accuracy that count as comparable."""
_SCALES = 2.0
"""The factor by which rounds may grow from 1 to the most shards where they hardly depend on them.
"""


class Reached(NamedTuple):
    """What a run had taken when it first was so near the optimum."""

    rounds: int
    passes: float
    bytes: int


class Run(NamedTuple):
    """One method on so many shards, after each pass or round; ``score`` is that of its last
    model.
    """

    method: str
    shards: int
    score: float
    rounds: Sequence[int]
    passes: Sequence[float]
    bytes: Sequence[int]
    seconds: Sequence[float]
    primals: Sequence[float]
    duals: Sequence[float]


class Found(NamedTuple):
    """All runs on one problem, the ``score`` of its optimum, and a dual value of it."""

    runs: tuple[Run, ...]
    score: float
    dual: float

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods, in order."""
        return tuple(dict.fromkeys(run.method for run in self.runs))

    @property
    def bound(self) -> float:
        """The greatest dual value of any run."""
        return max(self.dual, *(dual for run in self.runs for dual in run.duals))

    def of(self, method: str) -> list[Run]:
        """The runs of a method, by the number of shards."""
        return [run for run in self.runs if run.method == method]

    def excess(self, run: Run) -> list[float]:
        """How far each primal is above the bound, in per cent of it."""
        bound = self.bound
        return [100.0 * (primal - bound) / abs(bound) for primal in run.primals]

    def reached(self, run: Run, per_cent: float) -> Reached | None:
        """What it took to come so near; None if it never did."""
        for place, excess in enumerate(self.excess(run)):
            if excess <= per_cent:
                return Reached(run.rounds[place], run.passes[place], run.bytes[place])
        return None


def found_of(results: Results) -> dict[str, Found]:
    """What was measured, by problem."""
    return {name: _found(results.numbers[name]) for name in (TAGGER, PARSER)}


def _found(numbers: Mapping[str, Any]) -> Found:
    runs = []
    for own in numbers["runs"]:
        points = own["points"]
        columns = (
            points[key] for key in ("rounds", "passes", "bytes", "seconds", "primal", "dual")
        )
        runs.append(Run(own["method"], own["shards"], own["score"], *columns))
    return Found(tuple(runs), numbers["score"], numbers["bound"])


def claims(found: Mapping[str, Found]) -> list[Claim]:
    """All claims."""
    return [
        _mixing_is_as_accurate(found),
        _mixing_sends_least(found),
        _mixing_is_not_the_optimum(found),
        _iterated_is_better(found),
        _fewer_rounds_than_gradient(found),
        _rounds_hardly_grow(found),
    ]


def _mixing_is_as_accurate(found: Mapping[str, Found]) -> Claim:
    holds, shown = [], []
    for name, own in found.items():
        for run in own.of(ONE_SHOT):
            holds.append(run.score >= own.score - _AS_ACCURATE)
            shown.append(f"{name}, {_shards(run.shards)}: {run.score:.2f} against {own.score:.2f}")
    return Claim(
        "Mann et al. 2009, abstract",
        "Mixing the weights of models of single shards is as accurate as training on all data: "
        f"here within {_AS_ACCURATE} points of the optimum.",
        verdict_of(holds),
        "; ".join(shown) + ".",
    )


def _mixing_sends_least(found: Mapping[str, Found]) -> Claim:
    holds, shown = [], []
    for name, own in found.items():
        for run in own.of(ONE_SHOT):
            rivals = [one for one in own.runs if one.shards == run.shards and one is not run]
            sent = [own.reached(one, 1.0) for one in rivals]
            least = min((one.bytes for one in sent if one is not None), default=None)
            if least is not None:
                holds.append(run.bytes[-1] <= least)
                shown.append(
                    f"{name}, {_shards(run.shards)}: {run.bytes[-1] / 1e6:.3g} against "
                    f"{least / 1e6:.3g} MB"
                )
    return Claim(
        "Mann et al. 2009, abstract",
        "It needs the least communication: here less than any other method to within 1 %.",
        verdict_of(holds),
        "; ".join(shown) + ".",
    )


def _mixing_is_not_the_optimum(found: Mapping[str, Found]) -> Claim:
    holds, shown = [], []
    for name, own in found.items():
        ends = [(run.shards, own.excess(run)[-1]) for run in own.of(ONE_SHOT)]
        holds += [excess > 1.0 for _, excess in ends]
        shown += [f"{name}, {_shards(k)}: {excess:.3g} % above" for k, excess in ends]
    return Claim(
        "McDonald et al. 2010, section 3",
        "Mixing once does not find the optimum of the objective over all data.",
        verdict_of(holds),
        "; ".join(shown) + ".",
    )


def _iterated_is_better(found: Mapping[str, Found]) -> Claim:
    holds, shown = [], []
    for name, own in found.items():
        once = {run.shards: run for run in own.of(ONE_SHOT)}
        for run in own.of(ITERATED):
            if run.shards in once:
                other = once[run.shards]
                holds.append(own.excess(run)[-1] <= own.excess(other)[-1])
                shown.append(
                    f"{name}, {_shards(run.shards)}: {own.excess(run)[-1]:.3g} against "
                    f"{own.excess(other)[-1]:.3g} %"
                )
    return Claim(
        "McDonald et al. 2010, abstract",
        "Mixing after each pass is better than mixing once: here nearer to the optimum.",
        verdict_of(holds),
        "; ".join(shown) + ".",
    )


def _fewer_rounds_than_gradient(found: Mapping[str, Found]) -> Claim:
    holds, shown = [], []
    for name, own in found.items():
        gradient = {run.shards: own.reached(run, 0.1) for run in own.of(GRADIENT)}
        for method in (COCOA_EG, COCOA_SDCA):
            for run in own.of(method):
                reached, other = own.reached(run, 0.1), gradient.get(run.shards)
                if reached is None and other is None:
                    continue
                holds.append(
                    reached is not None and (other is None or reached.rounds < other.rounds)
                )
                shown.append(
                    f"{name}, {method}, {_shards(run.shards)}: {_rounds(reached)} against "
                    f"{_rounds(other)}"
                )
    return Claim(
        "Jaggi et al. 2014, abstract",
        "Local dual updates need less communication than a gradient a round: here rounds to within "
        "0.1 %, against L-BFGS.",
        verdict_of(holds),
        "; ".join(shown) + ".",
    )


def _rounds_hardly_grow(found: Mapping[str, Found]) -> Claim:
    holds, shown = [], []
    for name, own in found.items():
        for method in (COCOA_EG, COCOA_SDCA):
            runs = own.of(method)
            if not runs:
                continue
            first, last = own.reached(runs[0], 1.0), own.reached(runs[-1], 1.0)
            if first is None:
                continue
            holds.append(last is not None and last.rounds <= _SCALES * first.rounds)
            shown.append(
                f"{name}, {method}: {_rounds(first)} by {runs[0].shards}, {_rounds(last)} by "
                f"{runs[-1].shards}"
            )
    return Claim(
        "Ma et al. 2015, abstract",
        "With adding in place of averaging the number of rounds hardly depends on the number of "
        f"shards: here at most {_SCALES:g} times as many to within 1 %.",
        verdict_of(holds),
        "; ".join(shown) + ".",
    )


def _shards(count: int) -> str:
    return "1 shard" if count == 1 else f"{count} shards"


def _rounds(reached: Reached | None) -> str:
    return figure(float("inf")) if reached is None else f"{reached.rounds} rounds"
