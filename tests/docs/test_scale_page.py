"""The page on scale says what its numbers say, and its exponents are exponents."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from house.package import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import scale_page as page

sys.path.remove(str(ROOT / "benchmarks"))  # other scripts there have the names of test packages

SCRIPT = ROOT / "benchmarks" / "scale_page.py"


def point(sentences: int, words: int, seconds: float, anonymous: float) -> dict[str, float]:
    return {
        "sentences": sentences, "words": words, "seconds": seconds, "wall": seconds,
        "megabytes": anonymous + 80, "anonymous": anonymous,
    }  # fmt: skip


@pytest.fixture
def measured() -> dict[str, Any]:
    """A work that is quadratic in sentences and cubic in length, and memory that is linear."""
    return {
        "machine": dict.fromkeys(("processor", "cores", "memory", "python", "commit", "date"), "x"),
        "curves": {
            "parsing": {
                "start": {"30": point(30, 450, 2.0, 50.0)},
                "sentences": {
                    str(n): point(n, 16 * n, 2 + 1e-6 * n**2, 50 + 0.01 * n)
                    for n in (100, 1_000, 10_000)
                },
                "length": {
                    str(n): point(20, 20 * n, 2 + 20 * 1e-6 * n**3, 51.0)
                    for n in (10, 50, 200, 500, 2_000)
                },
            },
            "UPOS tagger": {"start": {"30": point(30, 450, 2.0, 50.0)}},
        },
    }


def test_the_page_is_what_its_numbers_make() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_exponents_are_those_of_the_powers(measured: dict[str, Any]) -> None:
    points = measured["curves"]["parsing"]
    sizes, seconds, anonymous = page.curve(points, "sentences")
    for values, power in ((seconds, 2), (anonymous, 1)):
        found = page.slope(sizes, values)
        assert found is not None
        assert found.exponent == pytest.approx(power)
        assert found.error == pytest.approx(0, abs=1e-6)
    sizes, seconds, _ = page.curve(points, "length")
    found = page.slope(sizes, seconds)
    assert found is not None
    assert found.exponent == pytest.approx(3)


def test_the_error_of_an_exponent_is_that_of_a_regression() -> None:
    """Three points, the middle one a factor of e^0.3 too high: residuals -0.1, 0.2, -0.1, one
    degree of freedom, sum of squares of x 2 (log 10)^2.
    """
    found = page.slope([1, 10, 100], [1.0, 10 * 2.718281828**0.3, 100.0])
    assert found is not None
    assert found.exponent == pytest.approx(1)
    assert found.error == pytest.approx((0.06 / (2 * 2.302585**2)) ** 0.5, rel=1e-4)
    assert page.slope([1, 10, 100], [1.0, 10.0, -1.0]) is None


def test_tables_hold_what_was_measured(measured: dict[str, Any]) -> None:
    assert "| 1,000 | 16,000 | parsing | 3.0 | 16,000 | 140 | 60 |" in page.growth_lines(measured)
    lines = page.length_lines(measured)
    assert "| 10 | 100 µs, 51 MB |" in lines
    assert "| parsing | 3.00 ± 0.00 | 3.00 ± 0.00 |" in lines


def test_the_cost_of_parsing_is_that_of_its_core_hours(measured: dict[str, Any]) -> None:
    given = json.loads((ROOT / "docs" / "cluster.json").read_text(encoding="utf-8"))
    given["assumed"] |= {"share_of_a_core": 1.0, "sentences": 3600, "price_of_a_core_hour": 2.0}
    rows = page.cluster_cost.figures(given, measured).parsing
    values = {name: value for name, value, _ in rows}
    # 100 CPU seconds for 10,000 sentences
    assert values["core hours"] == pytest.approx(0.01)
    assert values["cost"] == pytest.approx(0.02)
    assert values["time of computing"] == pytest.approx(0.01 / 1600)


def test_training_follows_rounds_bytes_and_compute(measured: dict[str, Any]) -> None:
    assumed = {
        "sentences": 6_400.0, "machines": 64, "cores": 1, "share_of_a_core": 1.0,
        "words_per_sentence": 16.0, "bytes_per_word": 45, "gigabits_per_second": 8.0,
        "latency_seconds": 0.0, "price_of_a_core_hour": 1.0, "heaps_exponent": 0.5,
    }  # fmt: skip
    training = {
        "rounds": {"1": 7, "2": 10, "8": 20, "32": 40}, "visits_per_round": 0.5,
        "cpu_seconds_per_visit": 0.02, "bytes_per_round": 1e6, "sentences_of_a_shard": 400,
        "weights": 1_000_000,
    }  # fmt: skip
    given = {"assumed": assumed, "training": training}
    rows = page.cluster_cost.figures(given, measured).training
    values = {name: value for name, value, _ in rows}
    assert values["rounds, by the power law"] == pytest.approx(40 * 2**0.5)
    assert values["computing in a round"] == pytest.approx(1.0)
    assert values["sent by a shard in a round"] == pytest.approx(0.5)
    assert values["transfer in a round, through the driver"] == pytest.approx(0.064)
    hours = 40 * 2**0.5 * 1.064 / 3600
    assert values["time, through the driver"] == pytest.approx(hours)
    assert values["cost, through the driver"] == pytest.approx(64 * hours)


def test_nothing_is_made_up_where_nothing_was_measured() -> None:
    given = json.loads((ROOT / "docs" / "cluster.json").read_text(encoding="utf-8"))
    given["training"] = dict.fromkeys(given["training"])
    found = page.cluster_cost.figures(given, {"curves": {"parsing": {}}})
    assert (found.parsing, found.training) == ([], [])
    assert "Figures for training are not measured yet." in page.cluster_cost.lines(found)


def test_marks_that_are_missing_are_named() -> None:
    with pytest.raises(SystemExit, match="no marks of the part growth"):
        page.with_parts("# A page\n", {"growth": "text"})
