"""Words that somebody else has found: one sentence a line (horizontal) or one word a line
(vertical), as UDPipe reads them.

In horizontal lines blanks and tabs separate words; a no-break space stands for a blank inside of
a word. In vertical lines the word is all up to the first tab; an empty line ends a sentence. An
empty line between sentences, in vertical files a second one, begins a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from egparse.errors import CorpusError
from egparse.io.blocks import MAX_LINES, CorpusSource, checked_lines, name_of
from egparse.io.encodings import UTF_8
from egparse.sentences import MISSING, Sentence

HORIZONTAL = "horizontal"
VERTICAL = "vertical"
NEW_PARAGRAPH = "# newpar"

_BLANKS = " \t"
_BETWEEN = re.compile(f"[{_BLANKS}]+")


def read_token_lines(
    source: CorpusSource,
    format: str,
    *,
    name: str | None = None,
    encoding: str = UTF_8,
    first_id: int = 1,
) -> Iterator[Sentence]:
    """The sentences of a file or stream in the format ``horizontal`` or ``vertical``: their forms,
    and IDs from ``first_id``.

    Raises:
        EgparseError: the file cannot be read, or the encoding is unknown.
        CorpusError: bytes that do not fit the encoding, damaged compressed data, or a sentence of
            more than ``MAX_LINES`` words.
        ValueError: another format.
    """
    if format not in (HORIZONTAL, VERTICAL):
        raise ValueError(f"expected {HORIZONTAL} or {VERTICAL}, got {format!r}")
    path = name or name_of(source)
    lines = enumerate(checked_lines(source, path, encoding), 1)
    groups = _horizontal(lines, path) if format == HORIZONTAL else _vertical(lines, path)
    for number, (forms, opens) in enumerate(groups, first_id):
        yield Sentence(
            forms=tuple(forms),
            misc=(MISSING,) * len(forms),
            sentence_id=str(number),
            comments=(NEW_PARAGRAPH,) if opens else (),
        )


_Words: TypeAlias = tuple[Sequence[str], bool]
"""The words of a sentence, and whether it opens a paragraph."""


def _horizontal(lines: Iterable[tuple[int, str]], path: str) -> Iterator[_Words]:
    opens = True
    for number, line in lines:
        forms = _BETWEEN.split(line.strip(_BLANKS))
        if len(forms) > MAX_LINES:
            raise _too_long(path, number)
        if forms == [""]:
            opens = True
            continue
        yield [form.replace("\u00a0", " ").strip(" ") or form for form in forms], opens
        opens = False


def _vertical(lines: Iterable[tuple[int, str]], path: str) -> Iterator[_Words]:
    opens, begun, begun_at = True, list[str](), 1
    for number, line in lines:
        form = line.strip(_BLANKS).partition("\t")[0].rstrip(_BLANKS)
        if form:
            begun_at = begun_at if begun else number
            begun.append(form)
            if len(begun) > MAX_LINES:
                raise _too_long(path, begun_at)
        elif begun:
            yield begun, opens
            opens, begun = False, []
        else:
            opens = True
    if begun:
        yield begun, opens


def _too_long(path: str, line: int) -> CorpusError:
    return CorpusError(path, line, f"a sentence of at most {MAX_LINES:,} words", "more")
