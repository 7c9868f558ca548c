"""The rules by which claims about training by shards are judged, on runs whose outcome is known."""

from __future__ import annotations

from typing import Any

from egparse.experiments.claims.distributed import (
    COCOA_EG,
    GRADIENT,
    ITERATED,
    ONE_SHOT,
    PARSER,
    TAGGER,
    Reached,
    claims,
    found_of,
)
from egparse.experiments.report.results import Results


def run(method: str, shards: int, excess: list[float], score: float, sent: int) -> dict[str, Any]:
    """A run of a round a pass towards an optimum of 100."""
    count = len(excess)
    points = {
        "rounds": list(range(1, count + 1)),
        "passes": [float(k) for k in range(1, count + 1)],
        "bytes": [sent * k for k in range(1, count + 1)],
        "seconds": [0.1 * k for k in range(1, count + 1)],
        "primal": [100.0 + own for own in excess],
        "dual": [99.0] * count,
    }
    return {"method": method, "shards": shards, "score": score, "points": points}


def test_verdicts_follow_the_runs() -> None:
    problem = {
        "optimum": 100.0,
        "bound": 100.0,
        "score": 90.0,
        "runs": [
            run(COCOA_EG, 1, [5.0, 0.5, 0.05], 90.0, 10),
            run(COCOA_EG, 2, [5.0, 2.0, 0.6, 0.05], 90.0, 20),
            run(GRADIENT, 1, [50.0, 9.0, 5.0, 2.0, 0.05], 90.0, 10),
            run(GRADIENT, 2, [50.0, 9.0, 5.0, 2.0, 0.05], 90.0, 20),
            run(ITERATED, 2, [50.0, 3.0], 89.9, 20),
            run(ONE_SHOT, 2, [30.0], 89.8, 20),
        ],
    }
    found = found_of(_results(problem))
    own = found[TAGGER]
    assert own.reached(own.runs[1], 1.0) == Reached(3, 3.0, 60)
    assert own.reached(own.runs[4], 1.0) is None
    judged = claims(found)
    assert [claim.verdict for claim in judged] == ["reproduced"] * 6
    assert "tagger, 2 shards: 89.80 against 90.00" in judged[0].evidence
    assert "1 shard: 3 rounds against 5 rounds" in judged[4].evidence
    worse = {**problem, "runs": [*problem["runs"][:5], run(ONE_SHOT, 2, [0.5], 80.0, 90)]}  # type: ignore[misc]
    verdicts = [each.verdict for each in claims(found_of(_results(worse)))]
    # what is sent is more, the end is near enough, and nearer than that of the iterated one
    assert verdicts[:4] == ["not reproduced"] * 4


def _results(problem: dict[str, Any]) -> Results:
    return Results({}, {TAGGER: problem, PARSER: problem})
