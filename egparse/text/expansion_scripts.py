"""Expansion scripts: how the words of a multiword token are made of it, without naming the token.

Each word is a slice of the token, counted from its beginning or (negative) from its end, with
characters after it, or a text of its own (``=``). As text, a letter for the case comes first, then
the words with bars between them::

    a[:-3]|[-3:]       don't -> do n't
    a[:1]e|=le         du -> de le, Du -> De le, DU -> DE LE
    a[:-4]er|[-2:]     fazê-lo -> fazer lo

With the case ``a``, slices keep that of the token and other characters are small, the first of the
first word is a capital if that of the token is, and all are if the token has nothing else; ``l``:
all are small; ``k``: slices and texts as they stand.

These are edit scripts (``egparse.sequences.edit_scripts``) for several words. UDPipe 1
(Straka and Straková 2017, "Tokenizing, POS tagging, lemmatizing and parsing UD 2.0 with UDPipe")
has rules that split off suffixes of tokens.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

LONGEST = 200
"""Characters of the longest script that a model holds; tokens that need longer ones are left
alone.
"""

MOST_WORDS = 20
"""Words of the longest expansion."""

_WHOLE = re.compile(
    r"([alk])((?:=|\[-?\d{0,4}:-?\d{0,4}\])(?:[^\\|]|\\[\\|])*"
    r"(?:\|(?:=|\[-?\d{0,4}:-?\d{0,4}\])(?:[^\\|]|\\[\\|])*)*)",
    re.DOTALL | re.ASCII,
)
_WORD = re.compile(
    r"(?:=|\[(-?\d{1,4})?:(-?\d{1,4})?\])((?:[^\\|]|\\[\\|])*)(?:\||$)", re.DOTALL | re.ASCII
)
_AS_TOKEN, _LOWER, _KEPT = "alk"


class _Word(NamedTuple):
    """``text`` after the characters ``first`` to ``last`` of the token; None: from its beginning,
    to its end. Without ``sliced`` ``text`` alone.
    """

    sliced: bool
    first: int | None
    last: int | None
    text: str


def scripts_of(form: str, words: Sequence[str]) -> list[str]:
    """The scripts that make the words of the form, those of the plainest casing that fits; they
    differ in the end that slices are counted from, which is that of the token first.
    """
    small, small_words = form.lower(), [word.lower() for word in words]
    target = tuple(words)
    if len(small) == len(form):
        for letter in (_AS_TOKEN, _LOWER):
            scripts = [letter + text for text in _texts(small, small_words)]
            if expand(scripts[0], form) == target:
                return scripts
    return [_KEPT + text for text in _texts(form, words)]


def choose_scripts(
    expansions: Iterable[tuple[str, tuple[str, ...]]],
) -> dict[tuple[str, tuple[str, ...]], str]:
    """A script for each form and its words, few different ones in all: the one that fits most pairs
    is taken for these, and so on for the others (the greedy cover of a set by sets).
    """
    left = {pair: scripts_of(*pair) for pair in expansions}
    fitting: defaultdict[str, list[tuple[str, tuple[str, ...]]]] = defaultdict(list)
    for pair, scripts in left.items():
        for script in scripts:
            fitting[script].append(pair)
    counts = Counter({script: len(pairs) for script, pairs in fitting.items()})
    chosen = {}
    while left:
        script = max(counts, key=counts.__getitem__)
        for pair in fitting[script]:
            if pair in left:
                chosen[pair] = script
                counts.subtract(left.pop(pair))
        del counts[script]
    return chosen


def expand(script: str, form: str) -> tuple[str, ...] | None:
    """The words that a script makes of a form; None if it is too short for it.

    Raises:
        ValueError: not the text of a script.
    """
    letter, words = _parsed(script)
    text = form.lower() if letter == _LOWER else form
    if len(text) != len(form):
        return None
    capitals = letter == _AS_TOKEN and len(form) > 1 and form.isupper()
    expanded: list[str] = []
    for sliced, first, last, added in words:
        if capitals:
            added = added.upper()
        if sliced:
            start = _place(first, 0, len(form))
            end = _place(last, len(form), len(form))
            if not 0 <= start < end <= len(form):
                return None
            added = text[start:end] + added
        if letter == _AS_TOKEN and not expanded and form[:1].isupper():
            added = added[:1].upper() + added[1:]
        expanded.append(added)
    return tuple(expanded) if all(expanded) else None


@lru_cache(maxsize=1 << 12)
def slots_of(script: str) -> tuple[str, ...]:
    """The texts of the words of a script: ``[:-3]`` and ``[-3:]`` of ``a[:-3]|[-3:]``."""
    words = _WORD.finditer(script, 1)
    return tuple(script[word.start() : word.end(3)] for word in words if word[0])


def is_script(text: str) -> bool:
    """Whether a text is that of a script."""
    match = _WHOLE.fullmatch(text)
    if match is None or len(text) > LONGEST:
        return False
    return "[-:" not in text and ":-]" not in text and len(_parsed(text)[1]) <= MOST_WORDS


def _place(place: int | None, absent: int, length: int) -> int:
    if place is None:
        return absent
    return place if place >= 0 else length + place


@lru_cache(maxsize=1 << 12)
def _parsed(script: str) -> tuple[str, tuple[_Word, ...]]:
    match = _WHOLE.fullmatch(script)
    if match is None:
        raise ValueError(f"expected a script of an expansion such as a[:-3]|[-3:], got {script!r}")
    words = []
    for word in _WORD.finditer(match[2]):
        if word.start() == len(match[2]):
            break
        first, last, text = word.groups()
        sliced = word[0].startswith("[")
        words.append(
            _Word(
                sliced,
                None if first is None else int(first),
                None if last is None else int(last),
                re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL),
            )
        )
    return match[1], tuple(words)


def _texts(form: str, words: Sequence[str]) -> list[str]:
    """The scripts without the letter of their case."""
    choices: list[tuple[str, ...]] = []
    cursor = 0
    for word in words:
        first, last = _slice_of(form, word, cursor)
        if first == last:
            choices.append((_escaped("=", word),))
            continue
        added = word[last - first :]
        choices.append(_slices(first, last, len(form), added))
        cursor = last
    return ["|".join(parts) for parts in _combinations(choices)]


def _combinations(choices: Sequence[Sequence[str]]) -> Iterable[tuple[str, ...]]:
    """One of each word's slices; of long expansions only those that count from the same end."""
    if len(choices) <= 4:
        return product(*choices)
    return [tuple(one[0] for one in choices), tuple(one[-1] for one in choices)]


def _slices(first: int, last: int, length: int, added: str) -> tuple[str, ...]:
    """The ways to write a slice; each of its ends that is not that of the form is counted from the
    end of the form or from its beginning.
    """
    starts = [""] if first == 0 else [str(first - length), str(first)]
    ends = [""] if last == length else [str(last - length), str(last)]
    return tuple(_escaped(f"[{start}:{end}]", added) for start, end in product(starts, ends))


def _slice_of(form: str, word: str, cursor: int) -> tuple[int, int]:
    """The longest slice of the form that the word begins with: of several the first one that does
    not begin before ``cursor``, else the first one. A single character, which may be there by
    chance, has to be the one at ``cursor``, or the last one and the whole word.
    """
    for length in range(min(len(word), len(form)), 1, -1):
        begin = word[:length]
        if (place := form.find(begin, cursor)) >= 0 or (place := form.find(begin)) >= 0:
            return place, place + length
    if form[cursor : cursor + 1] == word[:1]:
        return cursor, cursor + len(word[:1])
    return (len(form) - 1, len(form)) if form[-1:] == word else (0, 0)


def _escaped(slice_text: str, text: str) -> str:
    return slice_text + text.replace("\\", "\\\\").replace("|", "\\|")
