"""Sentence starts by rule, for models without a splitter: the rule of ``egparse.io.docs``, for
given words.

A sentence ends with final punctuation (spaCy's list) and all punctuation after it; an opening quote
or bracket directly before the first word of the next sentence belongs to that sentence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from spacy.lang.lex_attrs import is_punct
from spacy.pipeline import Sentencizer

from egparse.io.docs import CLAUSE_ENDS, MAX_WORDS, OPENING
from egparse.text.splitting.columns import Paragraph
from egparse.types import Mask

_FINAL = frozenset(Sentencizer.default_punct_chars)


class RuleSplitter:
    """Splits like a ``Splitter``, by rule."""

    def split(self, paragraphs: Sequence[Paragraph]) -> list[Mask]:
        """``starts`` of many paragraphs."""
        return [self.starts(*paragraph) for paragraph in paragraphs]

    def starts(self, forms: Sequence[str], spaced: Sequence[bool]) -> Mask:
        """Whether a sentence starts at each word of a paragraph, shape (words,); see
        ``egparse.text.splitting.splitter.Splitter.starts``.
        """
        marks = np.zeros(len(forms), dtype=np.bool_)
        marks[:1] = True
        ended = False
        for place, form in enumerate(forms):
            if form in _FINAL:
                ended = True
            elif ended and not is_punct(form):
                opened = place > 1 and forms[place - 1] in OPENING
                first = (
                    place - 1 if opened and not spaced[place - 1] and spaced[place - 2] else place
                )
                marks[first] = True
                ended = False
        return marks


def longest_pieces(
    starts: Mask, forms: Sequence[str], may_cut: Mask, longest: int = MAX_WORDS
) -> Mask:
    """``starts`` with additional ones, so that sentences have at most ``longest`` words: after a
    clause if one ends in the second half, else anywhere.

    Sentences are cut only at words that ``may_cut``; all arrays have shape (words,).
    """
    if len(forms) <= longest:
        return starts
    places = np.append(np.flatnonzero(starts), len(forms))
    long = np.flatnonzero(np.diff(places) > longest)
    if not len(long):
        return starts
    starts = starts.copy()
    for first, end in zip(places[long].tolist(), places[long + 1].tolist(), strict=True):
        begin = first
        while end - begin > longest:
            window = [k for k in range(begin + longest, begin + longest // 2, -1) if may_cut[k]]
            if not window:
                begin += longest // 2
                continue
            begin = next((k for k in window if forms[k - 1] in CLAUSE_ENDS), window[0])
            starts[begin] = True
    return starts
