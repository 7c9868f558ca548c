"""Evaluation from raw text: the text of a gold corpus, and what is resampled for intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from egparse.evaluation.bootstrap import Units
from egparse.sentences import Sentence
from egparse.surface import blanks_after
from egparse.text.splitting.paragraphs import paragraphs_of, surface_tokens
from egparse.types import Longs

MIN_UNITS = 30
"""Documents or paragraphs are resampled if there are so many: fewer give too few different samples
for the ends of an interval.
"""

_BLANK_LINE = "\n\n"


def raw_text(sentences: Sequence[Sentence]) -> str:
    """The text of a corpus as the raw texts of the CoNLL 2018 shared task were made: its tokens
    with the blanks that MISC says (``SpaceAfter``, ``SpacesAfter``), and a blank line between
    paragraphs (``# newpar``, ``# newdoc``).

    They differ in their lines, which were filled up to 80 characters. White space around a
    paragraph is dropped.
    """
    return _BLANK_LINE.join(
        "".join(
            form + blanks_after(misc)
            for sentence in paragraph
            for form, misc in surface_tokens(sentence)
        ).strip()
        for paragraph in paragraphs_of(sentences)
    )


def resampled_units(sentences: Sequence[Sentence]) -> Units | None:
    """What is resampled where sentences have to be found, because an error in one may spoil its
    neighbours: documents, or paragraphs, if there are ``MIN_UNITS``; else None, sentences.
    """
    opens = [sentence.opens_document for sentence in sentences]
    if sum(opens) >= MIN_UNITS:
        return Units("document", _numbered(opens))
    paragraphs = paragraphs_of(sentences)
    if len(paragraphs) >= MIN_UNITS:
        lengths = [len(paragraph) for paragraph in paragraphs]
        return Units("paragraph", np.repeat(np.arange(len(lengths)), lengths))
    return None


def _numbered(opens: Sequence[bool]) -> Longs:
    """The number of each sentence's unit; what stands before the first mark belongs to it."""
    return np.maximum(np.cumsum(np.array(opens, dtype=np.int64)) - 1, 0)
