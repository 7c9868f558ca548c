"""Plain text read by spaCy's rules."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO

from egparse.sentences import Sentence
from egparse.text.reading import PlainText, Splits, TextReader
from egparse.text.rules import MAX_WORDS, RuleSplitter, RuleTokeniser


def read_text(
    source: str | os.PathLike[str] | IO[str] | IO[bytes],
    language: str = "en",
    *,
    name: str | None = None,
    encoding: str = "utf-8",
    max_words: int = MAX_WORDS,
    splitter: Splits | None = None,
) -> Iterator[Sentence]:
    """The sentences of a text, by rule, or by a splitter."""
    plain_text = PlainText(RuleTokeniser(language), splitter or RuleSplitter(), max_words=max_words)
    reader = TextReader(plain_text)
    return reader.sentences(source, name=name, encoding=encoding)
