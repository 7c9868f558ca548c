"""Words of plain text by spaCy's tokenisation rules for a language."""

from __future__ import annotations

import re
import threading
import warnings
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from egparse.errors import EgparseError
from egparse.types import Longs

if TYPE_CHECKING:
    from spacy.language import Language

NEUTRAL = "xx"
"""spaCy's code for rules of no language."""

MAX_RUN = 250
"""Text without blanks is split into words in pieces of so many characters, because spaCy's time for
splitting off punctuation is quadratic (10 s for 8,000 brackets). A word of several pieces is joined
again.
"""

_NEIGHBOURHOOD = 20
"""Characters on both sides of a cut that show whether it cuts a word."""

MAX_STRINGS = 200_000
"""The size of spaCy's vocabulary at which it is discarded. spaCy's memory zones would discard it
after every paragraph, and with it the speed: 35,000 instead of 150,000 words/s.
"""

_LONG_RUN = re.compile(rf"\S{{{MAX_RUN + 1},}}")


class RulesWarning(UserWarning):
    """Rules of no language stand in for those of a language, which need another package."""


class _Rules(threading.local):
    """spaCy's pipelines by language; each thread has its own, because a pipeline changes its
    vocabulary when it is used.
    """

    def __init__(self) -> None:
        self.of: dict[str, Language] = {}


_RULES = _Rules()


def rules_of(language: str) -> Language:
    """spaCy's tokeniser for a language, created anew when the vocabulary has more than
    ``MAX_STRINGS``. Raises EgparseError: spaCy has no rules for the language.
    """
    nlp = _RULES.of.get(language)
    if nlp is None or len(nlp.vocab.strings) > MAX_STRINGS:
        nlp = _RULES.of[language] = _new_rules(language)
    return nlp


def _new_rules(language: str) -> Language:
    import spacy

    try:
        return spacy.blank(language)
    except (ImportError, AttributeError, OSError) as error:
        if "E048" in str(error) or isinstance(error, AttributeError):  # a module, but no language
            raise EgparseError(
                f"language {language!r}: spaCy has no tokenisation rules for it; expected a code "
                f"like en or de, or {NEUTRAL} for rules of no language"
            ) from error
        warnings.warn(
            f"language {language!r}: spaCy's rules need another package "
            f"({str(error).splitlines()[0]}); text is split into words by rules of no language",
            RulesWarning,
            stacklevel=2,
        )
        return spacy.blank(NEUTRAL)


def word_places(text: str, language: str) -> tuple[Longs, Longs]:
    """Where the words of a text start and end, (words,) each, in characters; blanks are no words.
    Raises EgparseError: spaCy has no rules for the language.
    """
    nlp = rules_of(language)
    starts: list[Longs] = []
    ends: list[Longs] = []
    for first, end in pairwise([0, *_cuts(text), len(text)]):
        at, length, is_blank = (
            nlp.tokenizer(text[first:end]).to_array(["IDX", "LENGTH", "IS_SPACE"]).astype("i8").T
        )
        at, length = at[is_blank == 0] + first, length[is_blank == 0]
        if first and len(at) and not _ends_word(text, first, nlp):
            ends[-1][-1] = at[0] + length[0]  # the word before the cut goes on
            at, length = at[1:], length[1:]
        if len(at):
            starts.append(at)
            ends.append(at + length)
    none = np.zeros(0, dtype=np.int64)
    return np.concatenate([none, *starts]), np.concatenate([none, *ends])


def split_words(text: str, language: str) -> list[str]:
    """The words of a short text, without blanks. They are the same whether a text is split as a
    whole or at its blanks first. Raises EgparseError: spaCy has no rules for the language.
    """
    starts, ends = word_places(text, language)
    return [text[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]


def _cuts(text: str) -> list[int]:
    """The positions, usually none, that cut the text so that no run without blanks is longer than
    ``MAX_RUN``.
    """
    if max(map(len, text.split()), default=0) <= MAX_RUN:
        return []
    return [
        cut
        for run in _LONG_RUN.finditer(text)
        for cut in range(run.start() + MAX_RUN, run.end(), MAX_RUN)
    ]


def _ends_word(text: str, cut: int, nlp: Language) -> bool:
    """Whether a word would end at ``cut`` if the run around it were not cut, by its
    neighbourhood.
    """
    first = max(0, cut - _NEIGHBOURHOOD)
    around = nlp.tokenizer(text[first : cut + _NEIGHBOURHOOD])
    return any(token.idx == cut - first for token in around)
