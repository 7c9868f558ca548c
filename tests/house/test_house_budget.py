"""How many lines there are: each room has a budget, raised only with a reason in the commit.

Everything counts, blank lines and docstrings too.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from house.package import MODULES, ROOT, room_of

BUDGET: dict[str, int] = {
    "types": 100,
    "errors": 150,
    "layers": 100,
    "schemes": 200,
    "sentences": 399,
    "storage": 2_391,
    "compilation": 2_240,
    "io": 3_165,
    "classes": 1_870,
    "structures": 4_507,
    "features": 3_930,
    "learners": 5_500,
    "evaluation": 2_380,
    "config": 1_150,
    "fitting": 1_540,
    "sequences": 4_740,
    "parsing": 3_925,
    "enhanced": 365,
    "text": 4_330,
    "pipeline": 2_030,
    "training": 2_575,
    "service": 4_017,
    "spacy_components": 3_963,
    "spacy_udpipe": 137,
    "api": 110,
    "experiments": 7_700,
    "cli": 7_751,
    "__init__": 100,
    "__main__": 100,
}
"""Room or top-level file of the package -> lines."""

TESTS, TESTS_OF_EXPERIMENTS = 46_400, 2_500
DOCUMENTS = 7_400
"""The site without the pages of experiments, and the Markdown at the top."""


def lines_of(paths: list[Path]) -> int:
    return sum(len(path.read_bytes().splitlines()) for path in paths)


def test_no_room_exceeds_its_budget() -> None:
    lines: Counter[str] = Counter()
    for path in MODULES:
        lines[room_of(path)] += lines_of([path])
    assert set(lines) == set(BUDGET), "say in BUDGET how many lines it may have"
    assert {room: n for room, n in lines.items() if n > BUDGET[room]} == {}


def test_tests_do_not_exceed_their_budget() -> None:
    tests = set((ROOT / "tests").rglob("*.py"))
    of_experiments = set((ROOT / "tests" / "experiments").rglob("*.py"))
    assert lines_of([*of_experiments]) <= TESTS_OF_EXPERIMENTS
    assert lines_of([*(tests - of_experiments)]) <= TESTS


def test_documents_do_not_exceed_their_budget() -> None:
    pages = set((ROOT / "docs").rglob("*.md")) - set((ROOT / "docs" / "experiments").rglob("*.md"))
    assert lines_of([*pages, *ROOT.glob("*.md")]) <= DOCUMENTS
