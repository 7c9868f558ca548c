"""Trees drawn for a terminal: each word in its line, arcs that meet, cross and are unsure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from egparse.io.tree_format import MOST_WORDS, isolated, tree_lines
from egparse.sentences import MISSING_HEAD, Sentence, SurfaceToken


def drawn(*forms: str, heads: tuple[int, ...] = (), **layers: object) -> list[str]:
    """The lines below the text, without the empty one."""
    text = tree_lines(Sentence(forms, heads=heads, **layers))  # type: ignore[arg-type]
    first, *lines, empty, end = text.split("\n")
    assert (first, empty, end) == (" ".join(forms), "", "")
    return lines


def test_words_stand_to_the_right_of_their_heads() -> None:
    assert drawn(*["the", "dog", "barks", "."], heads=(2, 3, 0, 3)) == [
        "  ╭─ the",
        "╭─╯ dog",
        "┤ barks",
        "╰─ .",
    ]
    assert drawn("Hi", heads=(0,)) == ["── Hi"]


def test_arcs_that_cross_have_columns_of_their_own() -> None:
    words = ["A", "hearing", "is", "scheduled", "on", "the", "issue", "today", "."]
    assert drawn(*words, heads=(2, 4, 4, 0, 7, 7, 2, 4, 4)) == [
        "  ╭─ A",
        "╭─┤ hearing",
        "├─┼─ is",
        "┤ │ scheduled",
        "│ │ ╭─ on",
        "│ │ ├─ the",
        "│ ╰─╯ issue",
        "├─ today",
        "╰─ .",
    ]


def test_values_are_aligned_and_doubts_are_marked() -> None:
    found = drawn(
        "une", "猫", "x", heads=(2, 0, 2), upos=("DET", "NOUN", "_"), deprels=("det", "root", "_"),
        spans=("O", "B-PER", "O"), tokens=(SurfaceToken(0, 0, "une"),),
        probabilities={"heads": (0.79, 1.0, 0.8), "upos": (0.5, None, None), "deprels": (0.9,) * 3},
    )  # fmt: skip
    assert found == [
        "╭╌ une  DET?  det   0.79?         une",
        "┤ 猫    NOUN  root  1.00   B-PER",
        "╰─ x                0.80",
    ]


def test_words_without_a_tree_are_below_each_other() -> None:
    assert drawn("a", "b") == drawn("a", "b", heads=(MISSING_HEAD,) * 2) == ["── a", "── b"]


def test_long_sentences_have_no_arcs() -> None:
    n = MOST_WORDS + 1
    found = drawn(*["a"] * n, heads=tuple(range(n)), deprels=("dep",) * n)
    assert found == ["── a  dep"] * n
    assert drawn(*["a"] * 3, heads=(0, 1, 2), deprels=("dep",) * 3)[2] == "  ╰─ a  dep"


def test_words_of_right_to_left_scripts_do_not_turn_the_line() -> None:
    assert isolated("כלב") == "\u2068כלב\u2069"
    assert drawn("כלב", "x", heads=(0, 1)) == ["╮ \u2068כלב\u2069", "╰─ x"]


@st.composite
def trees(draw: st.DrawFn) -> tuple[int, ...]:
    """Heads (from 1) of any tree, crossing or not."""
    order = draw(st.permutations(range(draw(st.integers(1, 12)))))
    heads = [0] * len(order)
    for place, word in enumerate(order[1:], start=1):
        heads[word] = 1 + order[draw(st.integers(0, place - 1))]
    return tuple(heads)


_RIGHT, _LEFT = set("─╶╭╰├┬┴┼╌"), set("─╴╮╯┤┬┴┼╌")
_DOWN, _UP = set("│╷╭╮├┤┬┼"), set("│╵╰╯├┤┴┼")


@given(trees())
def test_lines_join_in_every_tree(heads: tuple[int, ...]) -> None:
    """No line ends in the air: where a character leads to a neighbour, the neighbour leads back."""
    forms = tuple(f"w{word}" for word in range(len(heads)))
    rows = drawn(*forms, heads=heads)
    arcs = [row.rpartition(" ")[0] for row in rows]
    assert [row.rpartition(" ")[2] for row in rows] == [*forms]
    width = max(map(len, arcs)) + 1
    grid = [arc.ljust(width) for arc in arcs]
    for y, line in enumerate(grid):
        below = grid[y + 1] if y + 1 < len(grid) else " " * width
        for x, sign in enumerate(line[:-1]):
            assert (sign in _DOWN) == (below[x] in _UP)
            if x + 1 < len(arcs[y]):
                assert (sign in _RIGHT) == (line[x + 1] in _LEFT)
    assert not any(sign in _UP for sign in grid[0])


@pytest.mark.parametrize("heads", [(2, 3, 1), (1,)])
def test_cycles_of_an_input_do_no_harm(heads: tuple[int, ...]) -> None:
    assert len(drawn(*"abc"[: len(heads)], heads=heads)) == len(heads)
