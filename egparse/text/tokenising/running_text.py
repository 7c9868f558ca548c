"""The text of a treebank, with the places of its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from egparse.sentences import Sentence
from egparse.surface import blanks_after
from egparse.text.splitting.paragraphs import paragraphs_of, surface_tokens
from egparse.types import Longs

PARAGRAPH_END = "\n\n"
_TEXT = "# text = "


class RunningText(NamedTuple):
    """A text; its tokens start at the characters ``starts`` and end before ``ends``, its sentences
    start at ``sentences``. ``left_out`` of its sentences are not in it, because their tokens do not
    spell their text.
    """

    text: str
    starts: Longs
    ends: Longs
    sentences: Longs
    left_out: int


def running_text(sentences: Sequence[Sentence]) -> RunningText:
    """The text of sentences, with a blank line between paragraphs, as CoNLL 2018 made its raw text.

    White space at the end of a paragraph is dropped. A sentence whose tokens do not spell its
    ``# text`` is left out.
    """
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    firsts: list[int] = []
    at, left_out = 0, 0
    for paragraph in paragraphs_of(sentences):
        blank = ""
        for sentence in paragraph:
            tokens = surface_tokens(sentence)
            blanks = [blanks_after(misc) for _, misc in tokens]
            if not tokens or not _spells(sentence, [form for form, _ in tokens], blanks):
                left_out += bool(tokens)
                continue
            firsts.append(at + len(blank))
            for (form, _), after in zip(tokens, blanks, strict=True):
                parts += (blank, form)
                starts.append(at + len(blank))
                at += len(blank) + len(form)
                ends.append(at)
                blank = after
        if parts and parts[-1] != PARAGRAPH_END:
            parts.append(PARAGRAPH_END)
            at += len(PARAGRAPH_END)
    return RunningText("".join(parts), _longs(starts), _longs(ends), _longs(firsts), left_out)


def _longs(numbers: list[int]) -> Longs:
    return np.array(numbers, dtype=np.int64)


def _spells(sentence: Sentence, forms: Sequence[str], blanks: Sequence[str]) -> bool:
    """Whether the tokens spell the text of a sentence, if it is known, whatever kind of blanks are
    between them.
    """
    text = _text_of(sentence)
    if text is None:
        return True
    spelt = "".join(form + blank for form, blank in zip(forms, blanks, strict=True))
    return spelt.split() == text.split()


def _text_of(sentence: Sentence) -> str | None:
    for line in sentence.lines_before:
        if line.startswith(_TEXT):
            return line[len(_TEXT) :]
    return None
