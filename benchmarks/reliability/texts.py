"""Real texts: paragraphs and sentences of CoNLL-U files as they were written, and lines of text
files.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

TEXT = "# text = "


def paragraphs_of(paths: Sequence[Path], sentences: int = 8) -> list[str]:
    """Paragraphs, of so many sentences at most; of a file that is no CoNLL-U, its lines."""
    found: list[str] = []
    for path in paths:
        if ".conllu" not in path.name:
            found += [line for line in _lines(path) if line.strip()]
            continue
        begun: list[str] = []
        for line in _lines(path):
            if line.startswith(("# newpar", "# newdoc")) or len(begun) == sentences:
                found += [" ".join(begun)] if begun else []
                begun = []
            if line.startswith(TEXT):
                begun.append(line.removeprefix(TEXT))
        found += [" ".join(begun)] if begun else []
    return found


def short_sentences_of(paths: Sequence[Path], least: int = 5, most: int = 15) -> list[str]:
    """Sentences of so many blank-separated words."""
    texts = paragraphs_of(paths, sentences=1)
    return [text for text in texts if least <= text.count(" ") + 1 <= most]


def _lines(path: Path) -> Iterator[str]:
    reader = gzip.open if path.suffix == ".gz" else open
    with reader(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            yield line.rstrip("\n")
