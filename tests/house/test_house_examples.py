"""Property tests draw the same examples in every run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st


def drawn() -> list[object]:
    """The examples of one property."""
    seen: list[object] = []

    @given(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.binary()))
    def holds(value: object) -> None:
        seen.append(value)

    holds()
    return seen


def test_examples_do_not_depend_on_what_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--hypothesis-profile") == "soak":
        pytest.skip("a soak without a seed draws others each time")
    before = drawn()
    path = tmp_path.parent / "of_many_constants.py"
    constants = [f"constant {k}" for k in range(500)]
    path.write_text(f"TEXTS = {constants}\nNUMBERS = {[7.125 + k for k in range(500)]}\n")
    spec = importlib.util.spec_from_file_location("of_many_constants", path)
    assert spec is not None
    monkeypatch.setitem(sys.modules, "of_many_constants", importlib.util.module_from_spec(spec))
    assert drawn() == before
