"""``egparse parse --respect-input``: every filled cell is kept, the others are filled around it,
and what cannot be is said.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli.conftest import Trained
from cli.program import run
from cli.test_cli_parse import columns, is_tree

COLUMNS = {"lemmas": 2, "upos": 3, "xpos": 4, "feats": 5, "heads": 6, "deprels": 7, "misc": 9}

ROWS = """\
# sent_id = here
1\tThe\t_\t_\t_\t_\t{}\t_\t_\t_
2\tcat\t_\t_\t_\t_\t{}\t_\t_\t_
3\tsat\t_\t_\t_\t_\t{}\t_\t_\t_
4\tdown\t_\t_\t_\t_\t{}\t_\t_\t_

"""


def masked(text: str, keep: Callable[[int, int], bool]) -> str:
    """A CoNLL-U text in which the cells of row k and column j are ``_`` unless ``keep(k, j)``."""
    lines = []
    number = 0
    for line in text.splitlines():
        cells = line.split("\t")
        if cells[0].isdigit():
            number += 1
            cells = [
                cell if j not in COLUMNS.values() or keep(number, j) else "_"
                for j, cell in enumerate(cells)
            ]
        lines.append("\t".join(cells))
    return "\n".join(lines) + "\n"


def sentences(text: str) -> list[list[list[str]]]:
    """ID and HEAD of the words, sentence by sentence."""
    return [columns(block, 1, 7) for block in text.strip().split("\n\n")]


@pytest.fixture(scope="module")
def dev(trained: Trained) -> str:
    """The development corpus."""
    return trained.dev.read_text(encoding="utf-8")


def test_an_empty_input_gives_the_same_bytes(trained: Trained, dev: str, tmp_path: Path) -> None:
    source = tmp_path / "empty.conllu"
    source.write_text(masked(dev, lambda _k, _j: False), encoding="utf-8")
    plain = run("parse", trained.model, source).stdout
    assert run("parse", trained.model, source, "--respect-input").stdout == plain


def test_a_full_input_is_given_back(trained: Trained, dev: str) -> None:
    done = run("parse", trained.model, "-", "--respect-input", text=dev)
    rows = zip(columns(done.stdout, *range(1, 10)), columns(dev, *range(1, 10)), strict=True)
    for found, given in rows:
        assert found[:5] + found[6:] == given[:5] + given[6:]
        assert given[5] in ("_", found[5])  # FEATS that hold _ say nothing


@pytest.mark.parametrize("every", [2, 3])
def test_filled_cells_are_kept_and_trees_are_trees(
    trained: Trained, dev: str, tmp_path: Path, every: int
) -> None:
    partial = masked(dev, lambda k, j: (k + j) % every == 0)
    source, output = tmp_path / "partial.conllu", tmp_path / "out.conllu"
    source.write_text(partial, encoding="utf-8")
    run("parse", trained.model, source, "--respect-input", "-o", output, "--quiet")
    shown = output.read_text(encoding="utf-8")
    fixed = free = 0
    for given, found in zip(
        columns(partial, *range(1, 11)), columns(shown, *range(1, 11)), strict=True
    ):
        for j in (3, 4, 5, 6, 7):
            assert given[j] in ("_", found[j])
            fixed += given[j] != "_"
            free += given[j] == "_" != found[j]
        if "NE=" in given[9]:
            assert given[9] == found[9]
    assert min(fixed, free) > 300
    assert all(is_tree(rows) for rows in sentences(shown))
    spans = [misc.partition("NE=")[2].partition("|")[0] or "O" for (misc,) in columns(shown, 10)]
    for before, after in zip(["O", *spans], spans, strict=False):
        assert after[0] != "I" or before[2:] == after[2:]


def test_tags_that_the_model_does_not_know_are_kept(trained: Trained) -> None:
    text = ROWS.format("_", "_", "_", "_").replace(
        "2\tcat\t_\t_\t_\t_\t_\t_", "2\tcat\t_\tNEW\tN2\tX=Y\t_\tnew:one"
    )
    text = text.replace(
        "3\tsat\t_\t_\t_\t_\t_\t_\t_\t_", "3\tsat\t_\t_\t_\t_\t_\t_\t_\tA=1|NE=B-NEW"
    )
    shown = run("parse", trained.model, "-", "--respect-input", text=text).stdout
    rows = columns(shown, 4, 5, 6, 8, 10)
    assert rows[1][:4] == ["NEW", "N2", "X=Y", "new:one"]
    assert rows[2][4] == "A=1|NE=B-NEW"
    assert is_tree(columns(shown, 1, 7))


def test_crossing_arcs_are_kept(trained: Trained) -> None:
    shown = run(
        "parse", trained.model, "-", "--respect-input", text=ROWS.format(3, 4, "_", "_")
    ).stdout
    rows = columns(shown, 1, 7)
    assert [head for _, head in rows][:2] == ["3", "4"]
    assert is_tree(rows)
