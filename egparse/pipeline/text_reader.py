"""How a model reads plain text: by its tokeniser, or by spaCy's rules where it has none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, NamedTuple, Protocol

from egparse.readers.encodings import UTF_8
from egparse.sentences import Sentence
from egparse.splitting.splitter import Splitter
from egparse.tokenising.tokeniser import Tokeniser


class Reader(Protocol):
    """Reads one plain text, once."""

    def sentences(
        self,
        source: str | os.PathLike[str] | IO[str] | IO[bytes],
        *,
        name: str | None = None,
        encoding: str = UTF_8,
    ) -> Iterator[Sentence]:
        """The sentences of a text, which is given as in ``egparse.readers.docs.read_text``."""

    def release(self) -> list[Sentence]:
        """Sentences that are kept back until more of the text is known, for somebody who waits."""


class _RuleReader(NamedTuple):
    """Reads text by spaCy's rules for a language, sentences by the splitter if there is one."""

    language: str
    splitter: Splitter | None
    first_id: int

    def sentences(
        self,
        source: str | os.PathLike[str] | IO[str] | IO[bytes],
        *,
        name: str | None = None,
        encoding: str = UTF_8,
    ) -> Iterator[Sentence]:
        from egparse.readers.docs import read_text

        return read_text(
            source,
            self.language,
            name=name,
            encoding=encoding,
            splitter=None if self.splitter is None else self.splitter.starts,
            first_id=self.first_id,
        )

    def release(self) -> list[Sentence]:
        return []


def reader_of(
    language: str, tokeniser: Tokeniser | None, splitter: Splitter | None, first_id: int
) -> Reader:
    """A reader of one text, whose sentences have the IDs ``first_id`` and so on."""
    if tokeniser is None:
        return _RuleReader(language, splitter, first_id)
    from egparse.tokenising.reading import Reading, TextReader

    return TextReader(Reading(tokeniser, splitter), first_id)
