"""How ``parse`` finds out what it is given, and that looking takes nothing away."""

from __future__ import annotations

from pathlib import Path

import pytest

from egparse.cli.annotating.inputs import Input
from egparse.cli.options import InputFormat

ROW = b"1\tWord\t_\t_\t_\t_\t_\t_\t_\t_\n"


def found(path: Path, content: bytes) -> InputFormat | None:
    """The format that shows; what is read after that is the whole content."""
    path.write_bytes(content)
    with Input(path) as source:
        format = source.format(InputFormat.AUTO)
        pieces = []
        while piece := source.read():
            pieces.append(piece)
    assert b"".join(pieces) == content
    return format


def test_empty_lines_before_the_text_do_not_fill_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("egparse.cli.annotating.inputs._MOST_LOOKED_AT", 40_000)
    assert found(tmp_path / "a", b"\n" * 30_000 + ROW) is None
    assert found(tmp_path / "a", b"\n" * 100_000 + ROW) == InputFormat.TEXT
    (tmp_path / "a").write_bytes(b"\n" * 1_000_000 + ROW)
    with Input(tmp_path / "a") as source:
        assert source.format(InputFormat.AUTO) == InputFormat.TEXT
        assert source.taken < 100_000


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (b"# sent_id = 1\n" + ROW, InputFormat.CONLLU),
        (b"\xef\xbb\xbf# text = Word\n" + ROW, InputFormat.CONLLU),
        (b"\n\n# newdoc\n" + ROW, InputFormat.CONLLU),
        (b"# from elsewhere\n" + ROW, None),
        (ROW, None),
        (b"1-2\tWords\t_\t_\t_\t_\t_\t_\t_\t_\n", None),
        (ROW.rstrip(), None),
        (b"# A heading\n\nThe text.\n", InputFormat.TEXT),
        (b"1\tone\n", InputFormat.TEXT),
        (b"No line end", InputFormat.TEXT),
        (b"\xff\xf0 not UTF-8", InputFormat.TEXT),
        (b"", InputFormat.TEXT),
        (b"x" * 1_000_000, InputFormat.TEXT),
    ],
)
def test_the_first_line_that_decides(
    tmp_path: Path, content: bytes, format: InputFormat | None
) -> None:
    assert found(tmp_path / "input.txt", content) is format


def test_a_name_decides_before_the_content(tmp_path: Path) -> None:
    assert found(tmp_path / "input.CoNLLU", b"text") is InputFormat.CONLLU
    assert found(tmp_path / "input.conllx", b"text") is InputFormat.CONLLX


def test_what_is_asked_for_decides_before_all(tmp_path: Path) -> None:
    path = tmp_path / "input.conllu"
    path.write_bytes(ROW)
    with Input(path) as source:
        assert source.format(InputFormat.TEXT) is InputFormat.TEXT


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"One.\n", ":1"),
        (b"# a\n\n# b\nOne.\n", ":4"),
        (b"\n\nNo end", ":3"),
        (b"\n" * 40_000 + b"# c\nOne.", ":40002"),
        (b"# text = a\n", ":1"),
        (b"", ""),
    ],
)
def test_the_place_of_the_line_that_decides(tmp_path: Path, content: bytes, line: str) -> None:
    path = tmp_path / "input.txt"
    path.write_bytes(content)
    with Input(path) as source:
        source.format(InputFormat.AUTO)
        assert source.place == f"{path}{line}"
