"""How a model reads plain text: by its tokeniser, or by spaCy's rules where it has none; words of
multiword tokens by its expander.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import IO, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from egparse.io.docs import MAX_WORDS
from egparse.io.encodings import UTF_8
from egparse.sentences import Sentence
from egparse.text.exceptions.applied import ExceptedSplitter, Expands, PlainText
from egparse.text.splitting.columns import Paragraph
from egparse.text.splitting.splitter import Splitter
from egparse.types import Mask


@runtime_checkable
class TextPassage(Protocol):
    """Part of a text that can be read by itself."""

    @property
    def size(self) -> int:
        """The number of characters."""

    @property
    def texts(self) -> Sequence[str]:
        """The content, in parts."""


class Reader(Protocol):
    """Reads one plain text, once."""

    def sentences(
        self,
        source: str | os.PathLike[str] | IO[str] | IO[bytes],
        *,
        name: str | None = None,
        encoding: str = UTF_8,
    ) -> Iterator[Sentence]:
        """The sentences of a text, which is given as in ``egparse.io.docs.read_text``."""

    def release(self) -> list[Sentence]:
        """Sentences that are kept back until more of the text is known, for somebody who waits."""

    def passages(
        self, source: IO[str] | IO[bytes], size: int, *, name: str, encoding: str = UTF_8
    ) -> Iterator[TextPassage]:
        """The text in passages of about ``size`` characters; errors as in ``sentences``."""

    def read(self, passage: Any) -> Iterator[Sentence]:
        """The sentences of a passage that a reader of the same kind has cut, with IDs from the
        first one on. Those of all passages are those of the text, but for their IDs.
        """


class _Paragraphs(NamedTuple):
    """Some paragraphs of a text, without the blank lines between them."""

    texts: list[str]

    @property
    def size(self) -> int:
        return sum(map(len, self.texts))


class _WholeParagraphs:
    """A splitter that leaves each paragraph one sentence."""

    def split(self, paragraphs: Sequence[Paragraph]) -> list[Mask]:
        return [self.starts(*paragraph) for paragraph in paragraphs]

    def starts(self, forms: Sequence[str], spaced: Sequence[bool]) -> Mask:
        starts: Mask = np.arange(len(forms)) == 0
        return starts


_ANY_LENGTH = 1 << 62


class _RuleReader(NamedTuple):
    """Reads text by spaCy's rules for a language, sentences by the splitter if there is one."""

    language: str
    splitter: Splitter | ExceptedSplitter | _WholeParagraphs | None
    expander: Expands | None
    first_id: int
    max_words: int

    def sentences(
        self,
        source: str | os.PathLike[str] | IO[str] | IO[bytes],
        *,
        name: str | None = None,
        encoding: str = UTF_8,
    ) -> Iterator[Sentence]:
        from egparse.io.docs import read_text

        sentences = read_text(
            source,
            self.language,
            name=name,
            encoding=encoding,
            splitter=None if self.splitter is None else self.splitter.starts,
            first_id=self.first_id,
            max_words=self.max_words,
        )
        return self._expanded(sentences)

    def _expanded(self, sentences: Iterator[Sentence]) -> Iterator[Sentence]:
        if self.expander is None:
            return sentences
        expand = self.expander.expand
        return (words for sentence in sentences for words in expand([sentence]))

    def release(self) -> list[Sentence]:
        return []

    def passages(
        self, source: IO[str] | IO[bytes], size: int, *, name: str, encoding: str = UTF_8
    ) -> Iterator[_Paragraphs]:
        from egparse.io.docs import paragraphs_of

        held: list[str] = []
        length = 0
        for text in paragraphs_of(source, self.language, name=name, encoding=encoding):
            held.append(text)
            length += len(text)
            if length >= size:
                yield _Paragraphs(held)
                held, length = [], 0
        if held:
            yield _Paragraphs(held)

    def read(self, passage: _Paragraphs) -> Iterator[Sentence]:
        from egparse.io.docs import read_paragraphs

        sentences = read_paragraphs(
            passage.texts,
            self.language,
            max_words=self.max_words,
            splitter=None if self.splitter is None else self.splitter.starts,
            first_id=self.first_id,
        )
        return self._expanded(sentences)


def reader_of(
    language: str, plain_text: PlainText, first_id: int, *, whole: bool = False
) -> Reader:
    """A reader of one text, whose sentences have the IDs ``first_id`` and so on; ``whole``: each
    paragraph is one sentence, however long.
    """
    tokeniser, splitter, expander = plain_text
    splits = _WholeParagraphs() if whole else splitter
    max_words = _ANY_LENGTH if whole else MAX_WORDS
    if tokeniser is None:
        return _RuleReader(language, splits, expander, first_id, max_words)
    from egparse.text.tokenising.reading import Reading, TextReader

    expand = None if expander is None else expander.expand
    return TextReader(Reading(tokeniser, splits, expand, max_words), first_id)
