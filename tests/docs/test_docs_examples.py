"""Every example in Python of the README and the documentation runs, page by page, in order."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import pytest
from house.package import ROOT

from egparse.io.corpus import read_corpus, write_corpus

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SENTENCES = {"train": 100, "dev": 20, "test": 20, "mine": 20, "first": 20, "second": 20}
"""How many sentences of the sample treebank the files have that the examples read."""


def examples_of(page: Path) -> list[str]:
    """The blocks of a page, each preceded by empty lines, so that errors show lines of the page."""
    text = page.read_text(encoding="utf-8")
    return ["\n" * text.count("\n", 0, found.start(1)) + found[1] for found in BLOCK.finditer(text)]


SLOW = {"docs/how-to/continue.md"}
"""Pages whose examples train on top of a shipped model."""


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    """A folder with the files that the examples read."""
    for name, count in SENTENCES.items():
        part = name if name in ("train", "dev", "test") else "train"
        sentences = read_corpus(ROOT / "corpora" / f"en_sample-{part}.conllu")
        with (tmp_path / f"{name}.conllu").open("w", encoding="utf-8") as file:
            write_corpus(islice(sentences, count), file, "conllu")
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name_of(page), marks=[pytest.mark.nightly] * (name_of(page) in SLOW))
        for page in PAGES
        if examples_of(page)
    ],
)
def test_examples_run(page: Path, corpora: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(corpora)
    names: dict[str, object] = {"__name__": "__example__"}
    for example in examples_of(page):
        exec(compile(example, str(page), "exec"), names)


def test_the_main_pages_have_examples() -> None:
    for name in ("README.md", "docs/quick-start.md", "docs/python-api.md", "docs/spacy.md"):
        assert examples_of(ROOT / name), name
