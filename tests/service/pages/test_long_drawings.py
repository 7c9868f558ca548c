"""Pages of long sentences: the first words are drawn, the page says so, and time is linear."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cli.program import run

from egparse.cli.commands import visualize as command
from egparse.sentences import Sentence
from egparse.service.pages import annotation_page as page_module
from egparse.service.pages import dependency_drawing
from egparse.service.pages.annotation_page import View, annotation_page
from egparse.service.pages.dependency_drawing import MOST_WORDS, draw
from egparse.service.pages.words import probability


def chain(n: int) -> Sentence:
    """Each word on the next, the last below the root; words 2 and 3 are below the last as well."""
    heads = [*range(2, n + 1), 0]
    heads[1:3] = [n, n]
    return Sentence(
        [f"w{k}" for k in range(1, n + 1)],
        heads=heads,
        deprels=["dep"] * n,
        probabilities={"heads": [0.5] * n},
    )


def groups(drawing: Any, kind: str) -> list[str]:
    """What the arcs of a kind say on hover."""
    return [
        (group.findtext("title") or "").splitlines()[0]
        for group in drawing.iter("g")
        if kind in (group.get("class") or "").split()
    ]


def test_the_first_words_are_drawn_and_heads_beyond_are_named() -> None:
    drawing = draw(chain(9), 1, words=5)
    assert len(drawing.findall("text")) == 5
    assert len(groups(drawing, "displacy-arrow")) == 5
    assert groups(drawing, "beyond") == ["w9 → w2 (dep)", "w9 → w3 (dep)", "w6 → w5 (dep)"]
    whole = draw(chain(9), 1)
    assert len(whole.findall("text")) == 9
    assert groups(whole, "beyond") == []
    assert float(drawing.get("width", 0)) < float(whole.get("width", 0))


def test_arcs_of_the_input_are_cut_too() -> None:
    other = chain(9)
    other.heads[0], other.heads[8] = 9, 1  # type: ignore[index]
    drawing = draw(chain(9), 1, other, words=5)
    assert groups(drawing, "input") == ["w9 → w1 (dep)"]
    assert "w9 → w1 (dep)" in groups(drawing, "beyond")


def test_the_page_says_what_is_not_drawn() -> None:
    page = annotation_page([View(1, chain(8)), View(2, chain(4))], title="t", words=5)
    assert page.count("Drawn: the first 5 of 8 words.") == 1
    assert page.count("Drawn:") == 1
    assert "w8" in page
    whole = annotation_page([View(1, chain(8))], title="t")
    assert "Drawn:" not in whole


def test_the_command_says_what_is_not_drawn(tmp_path: Path) -> None:
    path = tmp_path / "long.conllu"
    rows = [f"{k}\tw{k}\t_\tX\t_\t_\t{k - 1}\tdep\t_\t_\n" for k in range(1, 8)]
    path.write_text("".join(rows) + "\n" + "".join(rows[:3]) + "\n")
    found = run("visualize", path, "--words", 5)
    said = "2 sentences; only the first 5 words of 1 sentence are drawn (see --words)"
    assert found.stderr == said + "\n"
    assert said in found.stdout
    assert run("visualize", path, "--words", 7).stderr == ""
    assert command.WORDS == MOST_WORDS


def test_long_forms_take_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each letter is measured once; one by one from the end, 10^10 steps."""
    measured = 0
    columns = dependency_drawing.cell_len

    def counted(text: str) -> int:
        nonlocal measured
        measured += len(text)
        return columns(text)

    monkeypatch.setattr(dependency_drawing, "cell_len", counted)
    assert len(dependency_drawing._shortened("a" * 100_000)) == dependency_drawing.LONGEST_FORM
    assert measured <= 100_000


def test_a_missing_layer_costs_nothing_a_word() -> None:
    sentence = chain(100_000)
    tracemalloc.start()
    assert probability(sentence, "upos", 7) is None
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000


def test_the_layers_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search reads all tags of a sentence that has none."""
    calls = 0
    shown_layers = page_module.shown_layers

    def counted(sentence: Sentence, asked: Sequence[str] | None) -> tuple[str, ...]:
        nonlocal calls
        calls += 1
        return shown_layers(sentence, asked)

    monkeypatch.setattr(page_module, "shown_layers", counted)
    assert not hasattr(dependency_drawing, "shown_layers")
    annotation_page([View(1, chain(50))], title="t")
    assert calls == 2  # for the drawing and for the number of differences


def test_levels_of_arcs_do_not_depend_on_their_order() -> None:
    ends = [(0, 2), (1, 2), (2, 3), (0, 4), (1, 5)]
    arcs = [{"start": start, "end": end, "label": "x", "dir": "left"} for start, end in ends]
    levels = dependency_drawing._levels_of(arcs)
    assert levels == dependency_drawing._levels_of(arcs[::-1] + arcs)
    assert list(levels.values()) == [1, 1, 2, 3, 4]
