"""Alignment of gold and system words whose texts are the same but whose tokens or words may differ.

The CoNLL 2018 evaluation concatenates the characters of all tokens without blanks; the strings of
gold and system must be equal. A token is then a range of characters. A word that is a whole token
is aligned with a word of the same range. The words of a multiword token share its range: around
each multiword token of either side lies the smallest region whose borders cut no multiword token,
and the words in it are aligned by the longest common subsequence of their lower-cased forms. The
time is linear in the number of words, except in the regions, where it is proportional to the
product of the numbers of gold and system words.

Source: ``conll18_ud_eval.py`` 1.2 and Zeman et al. (2018), section 4. Decisions are taken in their
order, also where a word straddles the border of a region, so that the counts are the same.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise, zip_longest
from typing import NamedTuple

import numpy as np

from egparse.errors import EgparseError
from egparse.evaluation.words import name_of, place_of
from egparse.sentences import Sentence
from egparse.types import Longs

_EXCERPT = 4
"""Tokens that an error shows before and after the first difference."""


class _Token(NamedTuple):
    """A token's form without blanks, its words' forms, and whether it is a multiword token."""

    form: str
    words: list[str]
    multiword: bool


class Text(NamedTuple):
    """The tokens and words of many sentences as ranges of one string of characters without blanks.

    Token ``t`` covers ``characters[token_starts[t]:token_starts[t + 1]]`` and stands in sentence
    ``token_sentences[t]``. Word ``w`` covers its token's range ``starts[w]:ends[w]``; where
    ``multiword[w]`` it shares this range with the other words of the token. ``keys[w]`` is its
    lower-cased form. ``sentence_starts`` says where each sentence starts and, in one more entry,
    where the last one ends.
    """

    characters: str
    token_starts: list[int]
    token_sentences: list[int]
    sentence_starts: list[int]
    starts: list[int]
    ends: list[int]
    multiword: list[bool]
    keys: list[str]


class Alignment(NamedTuple):
    """Pairs of aligned words: their numbers ``gold[k]`` and ``system[k]``, both ascending."""

    gold: Longs
    system: Longs


def text_of(sentences: Sequence[Sentence]) -> Text:
    """Concatenate the tokens of all sentences. Raises EgparseError: a token consists of blanks, or
    words of a multiword token are missing.
    """
    tokens: list[str] = []
    token_sentences: list[int] = []
    token_of_word: list[int] = []
    multiword: list[bool] = []
    keys: list[str] = []
    first_tokens = []
    for number, sentence in enumerate(sentences):
        first_tokens.append(len(tokens))
        for token in _tokens(sentence, number):
            token_of_word += [len(tokens)] * len(token.words)
            multiword += [token.multiword] * len(token.words)
            keys += token.words
            tokens.append(token.form)
            token_sentences.append(number)
    token_starts = list(accumulate(map(len, tokens), initial=0))
    return Text(
        characters="".join(tokens),
        token_starts=token_starts,
        token_sentences=token_sentences,
        sentence_starts=[token_starts[t] for t in [*first_tokens, len(tokens)]],
        starts=[token_starts[t] for t in token_of_word],
        ends=[token_starts[t + 1] for t in token_of_word],
        multiword=multiword,
        keys=[key.lower() for key in keys],
    )


def align(gold: Text, system: Text) -> Alignment:
    """Align the words of two texts. Raises ValueError: the characters of the texts differ."""
    if gold.characters != system.characters:
        raise ValueError("the texts differ")
    pairs: list[tuple[int, int]] = []
    g = s = 0
    while g < len(gold.starts) and s < len(system.starts):
        if gold.multiword[g] or system.multiword[s]:
            gold_region, system_region = _region(gold, system, g, s)
            pairs += _common_subsequence(gold.keys, system.keys, gold_region, system_region)
            g, s = gold_region.stop, system_region.stop
        elif gold.starts[g] == system.starts[s] and gold.ends[g] == system.ends[s]:
            pairs.append((g, s))
            g, s = g + 1, s + 1
        elif gold.starts[g] <= system.starts[s]:
            g += 1
        else:
            s += 1
    paired = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Alignment(paired[:, 0], paired[:, 1])


def require_same_text(
    gold: Text,
    system: Text,
    gold_sentences: Sequence[Sentence],
    system_sentences: Sequence[Sentence],
) -> None:
    """Raise an EgparseError that shows the first difference, if the characters differ."""
    if gold.characters == system.characters:
        return
    pairs = enumerate(zip_longest(gold.characters, system.characters))
    place = next(k for k, (a, b) in pairs if a != b)
    here, there = _excerpt(gold, gold_sentences, place), _excerpt(system, system_sentences, place)
    raise EgparseError(
        f"gold and system are not the same text; the first difference: gold has {here}, system "
        f"has {there}"
    )


def _tokens(sentence: Sentence, number: int) -> list[_Token]:
    tokens: list[_Token] = []
    done = 0
    for first, last, form, _ in sentence.tokens:
        if not done <= first <= last < len(sentence):
            raise EgparseError(
                f"{place_of(sentence, number)}: expected multiword token {first + 1}-{last + 1} "
                f"to span words from {done + 1} to {len(sentence)}"
            )
        tokens += _single_words(sentence, number, done, first)
        words = list(sentence.forms[first : last + 1])
        tokens.append(_Token(_without_blanks(form, sentence, number), words, True))
        done = last + 1
    return tokens + _single_words(sentence, number, done, len(sentence))


def _single_words(sentence: Sentence, number: int, start: int, end: int) -> list[_Token]:
    forms = [_without_blanks(form, sentence, number) for form in sentence.forms[start:end]]
    return [_Token(form, [form], False) for form in forms]


def _without_blanks(form: str, sentence: Sentence, number: int) -> str:
    """The form without characters of Unicode category Zs, which the official script ignores."""
    stripped = (
        form.replace(" ", "")
        if form.isascii()
        else "".join(c for c in form if unicodedata.category(c) != "Zs")
    )
    if not stripped:
        raise EgparseError(
            f"{place_of(sentence, number)}: expected a form that is not blank, got {form!r}"
        )
    return stripped


def _region(gold: Text, system: Text, g: int, s: int) -> tuple[range, range]:
    """The gold and system words of the region around the multiword token at ``g`` or ``s``."""
    if gold.multiword[g]:
        end = gold.ends[g]
        s += not system.multiword[s] and system.starts[s] < gold.starts[g]
    else:
        end = system.ends[s]
        g += gold.starts[g] < system.starts[s]
    first_g, first_s = g, s
    while _inside(gold, g, end) or _inside(system, s, end):
        if _comes_first(gold, g, system, s):
            end = max(end, gold.ends[g]) if gold.multiword[g] else end
            g += 1
        else:
            end = max(end, system.ends[s]) if system.multiword[s] else end
            s += 1
    return range(first_g, g), range(first_s, s)


def _comes_first(gold: Text, g: int, system: Text, s: int) -> bool:
    """Whether gold word ``g`` exists and starts no later than system word ``s``."""
    return g < len(gold.starts) and (s >= len(system.starts) or gold.starts[g] <= system.starts[s])


def _inside(text: Text, word: int, end: int) -> bool:
    """Whether a word is in a region up to ``end``.

    A word of a multiword token must start before the end, any other must end there or before.
    """
    if word >= len(text.starts):
        return False
    return text.starts[word] < end if text.multiword[word] else text.ends[word] <= end


def _common_subsequence(
    gold: Sequence[str], system: Sequence[str], gold_range: range, system_range: range
) -> list[tuple[int, int]]:
    """The pairs of a longest common subsequence of the words in two ranges.

    ``longest[i][j]`` is its length for the words from the ``i``-th of ``gold_range`` and the
    ``j``-th of ``system_range`` on. Of equally long ones, that which skips gold words first.
    """
    rows, columns = len(gold_range), len(system_range)
    longest = [[0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            # L(i, j) = 1 + L(i+1, j+1) if the words are equal, else max(L(i+1, j), L(i, j+1))
            if gold[gold_range[i]] == system[system_range[j]]:
                longest[i][j] = 1 + longest[i + 1][j + 1]
            else:
                longest[i][j] = max(longest[i + 1][j], longest[i][j + 1])
    pairs = []
    i = j = 0
    while i < rows and j < columns:
        if gold[gold_range[i]] == system[system_range[j]]:
            pairs.append((gold_range[i], system_range[j]))
            i, j = i + 1, j + 1
        elif longest[i][j] == longest[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _excerpt(text: Text, sentences: Sequence[Sentence], place: int) -> str:
    """The tokens around a character, its token in brackets, and the name of the sentence."""
    if place >= len(text.characters):
        last = _token_forms(text, len(text.token_sentences) - _EXCERPT, len(text.token_sentences))
        return f"no more text after {' '.join(last)!r}"
    token = bisect_right(text.token_starts, place) - 1
    number = text.token_sentences[token]
    before = _token_forms(text, token - _EXCERPT, token)
    here = _token_forms(text, token, token + 1)
    after = _token_forms(text, token + 1, token + 1 + _EXCERPT)
    shown = " ".join([*before, f"[{here[0]}]", *after])
    return f"{shown!r} in {name_of(sentences[number], number)}"


def _token_forms(text: Text, start: int, end: int) -> list[str]:
    bounds = text.token_starts[max(start, 0) : end + 1]
    return [text.characters[a:b] for a, b in pairwise(bounds)]
