"""Tables and numbers as text."""

from __future__ import annotations

import math

import pytest

from egparse.cli import tables


def test_columns_are_aligned() -> None:
    shown = tables.table(("name", "n"), [("a", "1"), ("long name", "1,000")], "lr")
    assert shown.splitlines() == ["name           n", "a              1", "long name  1,000"]


def test_a_table_refuses_rows_of_another_width() -> None:
    with pytest.raises(ValueError, match="expected 2 cells"):
        tables.table(("name", "n"), [("a",)], "lr")


def test_lines_do_not_end_in_blanks() -> None:
    assert tables.record([("model", "a"), ("history", "")]) == "model    a\nhistory"


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ((1234.5678, 1.0), ("1,234.6", "1.0")),
        ((123456.7, -3.2), ("123,457", "-3")),
        ((0.12345678,), ("0.1235",)),
        ((math.inf, 2.0), ("-", "2.0000")),
    ],
)
def test_objective_values_have_the_same_decimals(
    values: tuple[float, ...], shown: tuple[str, ...]
) -> None:
    assert tables.nats(*values) == shown


@pytest.mark.parametrize(
    ("relative", "shown"),
    [(0.00123, "0.123"), (0.5, "50.0"), (123.0, "12,300"), (math.inf, "-"), (math.nan, "-")],
)
def test_gaps_are_per_cent(relative: float, shown: str) -> None:
    assert tables.gap(relative) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.04, "0.0 s"), (59.9, "59.9 s"), (59.97, "1 min 00 s"), (125.4, "2 min 05 s")],
)
def test_durations(value: float, shown: str) -> None:
    assert tables.seconds(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [(999, "999 B"), (12_390_758, "12.4 MB"), (3_000_000_000, "3.0 GB"), (5e12, "5000.0 GB")],
)
def test_sizes(value: int, shown: str) -> None:
    assert tables.size(value) == shown


def test_json_holds_null_for_what_is_no_number() -> None:
    assert tables.finite({"a": [math.inf, 1.5, {"b": math.nan}], "c": (1,)}) == {
        "a": [None, 1.5, {"b": None}],
        "c": [1],
    }


def test_one_thing_and_several() -> None:
    assert (tables.things(1, "word"), tables.things(2000, "word")) == ("1 word", "2,000 words")


def test_long_cells_are_wrapped_within_their_columns() -> None:
    rows = [("c", "50.0\norder 1: 25.0", "number > 0"), ("trees", "", "softmax-margin alone")]
    assert tables.wrapped_table(("key", "default", "range"), rows, (6, 13, 8)).splitlines() == [
        "key     default        range",
        "c       50.0           number >",
        "        order 1: 25.0  0",
        "trees                  softmax-margin",
        "                       alone",
    ]
    with pytest.raises(ValueError, match="zip"):
        tables.wrapped_table(("key",), [("a", "b")], (3,))
