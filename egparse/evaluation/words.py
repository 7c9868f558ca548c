"""The words of many sentences laid end to end: one array or list per column.

There are ``m`` words in all, numbered through the whole corpus. Gold and system strings are
interned in one table, so that equal ids mean equal strings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np

from egparse.errors import EgparseError
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.types import Longs, Mask

Column = Literal["forms", "lemmas", "upos", "xpos", "feats", "deprels"]
"""The columns of strings that evaluation reads."""


def lengths(sentences: Sequence[Sentence]) -> Longs:
    """``lengths[i]`` is the number of words of sentence ``i``."""
    return np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))


def sentence_numbers(sentences: Sequence[Sentence]) -> Longs:
    """For each of the ``m`` words, the number of its sentence."""
    return np.repeat(np.arange(len(sentences)), lengths(sentences))


def cells(sentences: Sequence[Sentence], column: Column) -> list[str]:
    """The ``m`` cells of a column; ``MISSING`` for all words of a sentence that lacks it."""
    return list(chain.from_iterable(_column(sentence, column) for sentence in sentences))


def heads(sentences: Sequence[Sentence]) -> Longs:
    """The ``m`` heads, each 1-based within its sentence; 0 for the root, ``MISSING_HEAD`` for none.

    Raises:
        EgparseError: a head lies outside its sentence.
        ValueError: a sentence has more or fewer heads than words.
    """
    per_sentence = (s.heads if len(s.heads) else [MISSING_HEAD] * len(s) for s in sentences)
    flat = np.fromiter(chain.from_iterable(per_sentence), dtype=np.int64)
    limits = np.repeat(lengths(sentences), lengths(sentences))
    if len(flat) != len(limits):
        raise ValueError(f"{len(limits)} words but {len(flat)} heads")
    outside = np.flatnonzero((flat > limits) | (flat < MISSING_HEAD))
    if len(outside):
        raise EgparseError(_outside(sentences, flat, int(outside[0])))
    return flat


def intern(values: Sequence[str], ids: dict[str, int]) -> Longs:
    """The id of each value; a value not yet in ``ids`` gets the next number."""
    return np.fromiter(
        (ids.setdefault(v, len(ids)) for v in values), dtype=np.int64, count=len(values)
    )


class Interned(NamedTuple):
    """The ids of the gold and the system values, and the table that gave them."""

    gold: Longs
    system: Longs
    ids: dict[str, int]


def intern_pair(
    gold: Sequence[str], system: Sequence[str], canonical: Callable[[str], str] | None = None
) -> Interned:
    """Ids of gold and system values in one table.

    Values that ``canonical`` maps to the same string get the same id; it is called once for each
    distinct value.
    """
    ids: dict[str, int] = {}
    gold_ids, system_ids = intern(gold, ids), intern(system, ids)
    if canonical is None:
        return Interned(gold_ids, system_ids, ids)
    merged: dict[str, int] = {}
    to_merged = intern([canonical(value) for value in ids], merged)
    return Interned(to_merged[gold_ids], to_merged[system_ids], merged)


def flags(ids: dict[str, int], accept: Callable[[str], bool]) -> Mask:
    """``flags[id]`` is whether the value with that id is accepted."""
    return np.array([accept(value) for value in ids], dtype=np.bool_)


def accepted(values: Sequence[str], accept: Callable[[str], bool]) -> Mask:
    """Which of the values are accepted; ``accept`` is called once for each distinct value."""
    ids: dict[str, int] = {}
    numbers = intern(values, ids)
    return flags(ids, accept)[numbers]


def same_words(gold: Sequence[Sentence], system: Sequence[Sentence]) -> bool:
    """Whether both have the same sentences with the same forms."""
    return len(gold) == len(system) and all(
        len(g) == len(s) and list(g.forms) == list(s.forms)
        for g, s in zip(gold, system, strict=True)
    )


def require_same_lengths(gold: Sequence[Sentence], system: Sequence[Sentence]) -> None:
    """Raise ValueError unless both have as many sentences with as many words each."""
    if len(gold) != len(system):
        raise ValueError(f"{len(gold)} gold sentences but {len(system)} system sentences")
    for number, (g, s) in enumerate(zip(gold, system, strict=True)):
        if len(g) != len(s):
            raise ValueError(f"{name_of(g, number)}: {len(g)} gold words but {len(s)} system words")


def name_of(sentence: Sentence, number: int) -> str:
    """The name of a sentence in a message: its id, else its place in a file, else its 1-based
    number.
    """
    if sentence.sentence_id:
        return f"sentence {sentence.sentence_id}"
    if sentence.source is not None:
        return f"the sentence at {sentence.source.path}:{sentence.source.first_line}"
    return f"sentence number {number + 1}"


def place_of(sentence: Sentence, number: int) -> str:
    """The beginning of a message about a sentence: its place in a file, if it has one, and its name
    as ``name_of`` gives it.
    """
    if sentence.sentence_id and sentence.source is not None:
        place = f"{sentence.source.path}:{sentence.source.first_line}"
        return f"{place}: sentence {sentence.sentence_id}"
    return name_of(sentence, number)


def _column(sentence: Sentence, column: Column) -> Sequence[str]:
    values: Sequence[str] = getattr(sentence, column)
    if not len(values):
        return [MISSING] * len(sentence)
    if len(values) != len(sentence):
        raise ValueError(f"{len(sentence)} words but {len(values)} cells of {column}")
    return values


def _outside(sentences: Sequence[Sentence], flat: Longs, word: int) -> str:
    number = int(sentence_numbers(sentences)[word])
    sentence = sentences[number]
    place = word - int(lengths(sentences)[:number].sum())
    form, size = sentence.forms[place], len(sentence)
    return (
        f"{place_of(sentence, number)}: expected the head of word {place + 1} ({form!r}) "
        f"to be from 0 to {size}, got {flat[word]}"
    )
