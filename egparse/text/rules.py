"""Tokens and sentences by rule, for models that have not learned them, and the cutting of long
sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from egparse.errors import ConfigError, did_you_mean
from egparse.io.spacy_rules import NEUTRAL
from egparse.sentences import Sentence
from egparse.text.tokeniser import Tokens
from egparse.text.word_columns import Paragraph
from egparse.types import Mask

MAX_WORDS = 120
"""A longer sentence is cut in the second half of so many words: after its last clause punctuation,
else at its last blank. One sentence in 2,000 of treebanks is longer, and a parser's time for a word
grows with the length: 28, 48 and 78 microseconds in sentences of 20, 60 and 120 words, 450 of 300.
"""

# also dashes, and commas of other scripts
CLAUSE_ENDS = frozenset(",;:)]\u2013\u2014\u2026\u060c\uff1b\uff1a\uff0c\u3001")

_OPENING = frozenset("\"'([{\u2018\u201c\u201e\u00ab\u00bf\u00a1")


@dataclass(frozen=True)
class RuleTokeniser:
    """spaCy's tokenisation rules for a language."""

    language: str

    def tokens(self, text: str) -> Tokens:
        """The tokens of a text.

        Raises:
            EgparseError: spaCy has no rules for the language.
        """
        from egparse.io.spacy_rules import word_places

        return Tokens(*word_places(text, self.language))


class RuleSplitter:
    """A sentence ends with final punctuation (spaCy's list) and all punctuation after it; an
    opening quote or bracket directly before the first word of the next sentence belongs to that
    sentence. docs/decisions/sentence-splitter.md compares it with trained splitters.
    """

    def split(self, paragraphs: Sequence[Paragraph]) -> list[Mask]:
        """Whether a sentence starts at each word of each paragraph."""
        return [self._starts(*paragraph) for paragraph in paragraphs]

    def _starts(self, forms: Sequence[str], spaced: Sequence[bool]) -> Mask:
        from spacy.lang.lex_attrs import is_punct

        final = _final_punctuation()
        marks = np.zeros(len(forms), dtype=np.bool_)
        marks[:1] = True
        ended = False
        for place, form in enumerate(forms):
            if form in final:
                ended = True
            elif ended and not is_punct(form):
                opened = place > 1 and forms[place - 1] in _OPENING
                first = (
                    place - 1 if opened and not spaced[place - 1] and spaced[place - 2] else place
                )
                marks[first] = True
                ended = False
        return marks


@cache
def _final_punctuation() -> frozenset[str]:
    from spacy.pipeline import Sentencizer

    return frozenset(Sentencizer.default_punct_chars)


def sentence_bounds(
    paragraph: Paragraph, starts: Mask, longest: int = MAX_WORDS
) -> Iterator[tuple[int, int]]:
    """The start and end of each sentence of a paragraph; longer ones than ``longest`` words are cut
    after a clause, else at a blank, else after ``longest`` words.
    """
    forms, spaced = paragraph
    for start, end in pairwise([*np.flatnonzero(starts).tolist(), len(starts)]):
        while end - start > longest:
            window = range(start + longest, start + longest // 2, -1)
            at_blank = (k for k in window if spaced[k - 1])
            cut = _after_clause(forms, window) or next(at_blank, start + longest)
            yield start, cut
            start = cut
        yield start, end


def longest_pieces(
    starts: Mask, forms: Sequence[str], may_cut: Mask, longest: int = MAX_WORDS
) -> Mask:
    """``starts`` with additional ones, so that sentences have at most ``longest`` words: after a
    clause if one ends in the second half, else anywhere.

    Sentences are cut only at words that ``may_cut``; all arrays have shape (words,).
    """
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
            begin = _after_clause(forms, window) or window[0]
            starts[begin] = True
    return starts


def _after_clause(forms: Sequence[str], window: Sequence[int]) -> int | None:
    """The first word of the window that follows the end of a clause."""
    return next((k for k in window if forms[k - 1] in CLAUSE_ENDS), None)


_FILE = re.compile(r"([a-z]{2,3})_([a-z0-9]+)-(?:ud-)?(?:train|dev|test)\b.*")
_UD_CODES = {"no": "nb", "lzh": "zh", "yue": "zh"}
_NYNORSK = {"nynorsk", "nynorsklia"}


class Found(NamedTuple):
    """The code of a language, and how it was found; ``sure`` is False where it was not."""

    code: str
    reason: str
    sure: bool = True


def find_language(sentences: Sequence[Sentence]) -> Found:
    """The language by the names of the files that the sentences were read from, if they agree;
    ``xx``, rules of no language, where they do not tell.
    """
    paths = {one.source.path for one in sentences if one.source is not None}
    matches = [_FILE.fullmatch(Path(path).name) for path in paths]
    codes = {_code_of(match[1], match[2]) for match in matches if match}
    if len(codes) != 1 or not all(matches):
        return Found(NEUTRAL, "the name of the file does not say it", sure=False)
    code = codes.pop()
    if code in languages():
        return Found(code, "by the name of the file")
    return Found(NEUTRAL, f"spaCy has no rules for {code}, the language in the file's name")


def check_language(code: str) -> None:
    """Raise ConfigError for a language for which spaCy has no rules."""
    known = languages()
    if code in known or _is_registered(code):
        return
    folded = re.split(r"[^a-z]", code.casefold())[0]
    hint = f"; did you mean {folded}?" if folded in known else did_you_mean(folded, known)
    raise ConfigError(
        f"language: expected the code of a language for which spaCy has rules, such as en or de, "
        f"or {NEUTRAL} for rules of no language, got {code[:40]!r}{hint}"
    )


@cache
def languages() -> tuple[str, ...]:
    """The codes of the languages for which spaCy has rules."""
    found = find_spec("spacy")
    assert found is not None
    assert found.submodule_search_locations
    folder = Path(found.submodule_search_locations[0]) / "lang"
    return tuple(sorted(path.parent.name for path in folder.glob("*/__init__.py")))


def _is_registered(code: str) -> bool:
    """Whether an installed package adds the language to spaCy."""
    from spacy.util import registry

    return code in registry.languages


def _code_of(language: str, treebank: str) -> str:
    if language == "no" and treebank in _NYNORSK:
        return "nn"
    return _UD_CODES.get(language, language)
