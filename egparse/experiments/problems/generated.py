"""Data drawn at random, for quick runs without a corpus: they show that the program works, and
nothing about language.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from egparse.sentences import Sentence
from egparse.types import Floats, Ints


def classes_of_points(n: int, seed: int, *, d: int = 20, n_classes: int = 5) -> tuple[Floats, Ints]:
    """Points (n, d) around the centre of their class (n,). The classes overlap: some points lie
    nearer to the centre of another class.
    """
    random = np.random.default_rng(seed)
    centres = random.normal(size=(n_classes, d))
    y = random.integers(n_classes, size=n).astype(np.int32)
    return 0.25 * (centres[y] + 2.0 * random.normal(size=(n, d))), y


class _Word(NamedTuple):
    upos: str
    span: str = "O"


_NOUN_PHRASES: tuple[tuple[tuple[_Word, ...], int], ...] = (
    ((_Word("DET"), _Word("NOUN")), 1),
    ((_Word("DET"), _Word("ADJ"), _Word("NOUN")), 2),
    ((_Word("PRON"),), 0),
    ((_Word("PROPN", "B-PER"),), 0),
    ((_Word("PROPN", "B-LOC"), _Word("PROPN", "I-LOC")), 0),
)
"""The words of a phrase, and which of them is its head."""

_SYLLABLES = ("ba", "do", "ki", "lu", "me", "ra", "so", "ti")
_FORMS = {"DET": 3, "PRON": 4, "ADP": 4, "PUNCT": 1}
"""The number of forms of a closed word class; open classes have 60."""


def sentences(n: int, seed: int) -> list[Sentence]:
    """Sentences of a small grammar (subject, verb, object, phrases on the verb or the object) with
    tags, trees and names.
    """
    random = np.random.default_rng(seed)
    return [_sentence(random) for _ in range(n)]


def _sentence(random: np.random.Generator) -> Sentence:
    words: list[_Word] = []
    heads: list[int] = []
    subject = _phrase(random, words, heads)
    verb = _append(words, heads, _Word("VERB"), 0)
    heads[subject - 1] = verb
    anchor = _phrase(random, words, heads)
    heads[anchor - 1] = verb
    for _ in range(int(random.integers(0, 3))):
        case = _append(words, heads, _Word("ADP"), 0)
        noun = _phrase(random, words, heads)
        heads[case - 1] = noun
        heads[noun - 1] = anchor if random.random() < 0.5 else verb
        anchor = noun
    _append(words, heads, _Word("PUNCT"), verb)
    forms = [_form(random, word.upos) for word in words]
    return Sentence(
        forms=forms,
        upos=[word.upos for word in words],
        heads=heads,
        spans=[word.span for word in words],
    )


def _phrase(random: np.random.Generator, words: list[_Word], heads: list[int]) -> int:
    """Append a noun phrase and return the position of its head word, to which the caller gives a
    head.
    """
    phrase, head_index = _NOUN_PHRASES[int(random.integers(len(_NOUN_PHRASES)))]
    head = len(words) + 1 + head_index
    for number, word in enumerate(phrase):
        _append(words, heads, word, 0 if number == head_index else head)
    return head


def _append(words: list[_Word], heads: list[int], word: _Word, head: int) -> int:
    words.append(word)
    heads.append(head)
    return len(words)


def _form(random: np.random.Generator, upos: str) -> str:
    number = int(random.integers(_FORMS.get(upos, 60)))
    stem = "".join(_SYLLABLES[int(digit)] for digit in f"{number:o}")
    form = f"{stem}{upos[:2].lower()}"
    return "." if upos == "PUNCT" else form.capitalize() if upos == "PROPN" else form
