"""What an expander knows of forms: which expansions they may have, whatever stands around them.

The expansions of a token that was seen are those it had. One that was not seen has those of its
lower-cased form or, if there are none, those of its affixes that multiword tokens share, as far as
these make known prefixes and clitics of it.

A slot is what makes one word of a script, such as ``[:1]`` and ``[1:]`` of ``a[:1]|[1:]``; scripts
share it. A slot for prefixes or clitics is closed: it has one of the words that it had before. One
for stems is open. In Hebrew ``[:1]`` has seven words; a script alone would split any letter off.
"""

from __future__ import annotations

import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from egparse.storage.arrays import compress_array
from egparse.storage.schema import ListOf, Packed, Record, Stored, Strings
from egparse.text.expansion_scripts import LONGEST, expand, slots_of
from egparse.types import UInt8s

ONE_WORD = 0
"""The number of the expansion into one word; number k > 0 stands for script k - 1."""

LONGEST_AFFIX = 6
"""Characters of the longest affix."""

N_FREQUENCIES = 4
"""Never, once, a few times, often."""

GRADES = 1 + N_FREQUENCIES
"""What is known of an expansion: that the form was seen, or how often its stem was."""

SEEN = 0
"""The grade of the expansions of a form that was seen, and of those without a stem."""

_LEAST_FORMS = 2
"""Forms that must share an affix and a script, or a word of a closed slot."""
_CLOSED = 0.5
"""Share of the forms of a closed slot that share their word with other forms."""
_SURE = 2
"""Occurrences of a form after which it is known to be one word."""
_OFTEN = 5
_MAX_SLOTS = 60_000
_CACHED = 1 << 16

_BITS = 19  # with 25,000 words one unknown word in twenty has the cell of a known one
_CELLS = 1 << _BITS

Labels = tuple[int, ...]

STORED_SLOTS = Record(
    {
        "closed": Strings(most=_MAX_SLOTS, longest=LONGEST),
        "words": ListOf(Strings(), most=_MAX_SLOTS),
        "known": Packed(("uint8",), "cells", below=N_FREQUENCIES, takes=1),
    }
)
"""Slots in a model file: the closed ones, the words of each, and the words of the corpus."""


def known_words(counts: Mapping[str, int]) -> UInt8s:
    """How often lower-cased words occur, as a table of hashed words, (cells,), which is small in a
    model file; words that share a cell have the highest frequency of them.
    """
    table = np.zeros(_CELLS, dtype=np.uint8)
    for word, count in counts.items():
        cell = _cell_of(word)
        table[cell] = max(int(table[cell]), frequency_of(count))
    return table


def frequency_of(count: int) -> int:
    """The frequency of a word that occurs so many times."""
    return count if count < 2 else 2 if count < _OFTEN else 3


def _cell_of(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass")) >> (32 - _BITS)


class Slots:
    """The words of closed slots, lower-cased, and how often words occur, for stems: a table of
    ``known_words``.
    """

    def __init__(self, closed: Mapping[str, Iterable[str]], known: UInt8s) -> None:
        self.closed = {slot: frozenset(words) for slot, words in closed.items()}
        self.known = known

    @classmethod
    def learn(cls, expansions: Iterable[tuple[str, str]], known: UInt8s) -> Slots:
        """The slots of scripts, from the forms that had them: pairs of a script and a form.

        A slot is closed if most of the forms that have it share its word with another one (leave
        one out). A slot that is the stem for most of its forms is open, however often stems recur;
        the stem of a script is the slot with most different words, or the longest ones.
        """
        by_script: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
        for script, form in expansions:
            if words := expand(script, form.lower()):
                by_script[script].add(words)
        counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
        as_stem: Counter[str] = Counter()
        for script, expanded in by_script.items():
            of_slots = list(zip(slots_of(script), zip(*expanded, strict=True), strict=True))
            for slot, words in of_slots:
                counts[slot].update(words)
            stem, words = max(of_slots, key=lambda one: (len(set(one[1])), len("".join(one[1]))))
            as_stem[stem] += len(words) if len(set(words)) > 1 else 0
        closed = {}
        for slot, of_slot in sorted(counts.items()):
            shared = {word: n for word, n in of_slot.items() if n >= _LEAST_FORMS}
            forms = of_slot.total()
            if 2 * as_stem[slot] <= forms and sum(shared.values()) >= _CLOSED * forms:
                closed[slot] = shared
        return cls(closed, known)

    def allow(self, script: str, words: Sequence[str]) -> bool:
        """Whether each closed slot of a script has one of its words."""
        return all(
            word.lower() in self.closed[slot]
            for slot, word in zip(slots_of(script), words, strict=True)
            if slot in self.closed
        )

    def frequency(self, word: str) -> int:
        """The frequency of a word, less than ``N_FREQUENCIES``, whatever its case."""
        return int(self.known[_cell_of(word.lower())])

    def grade(self, script: str, form: str, frequency: Callable[[str], int]) -> int:
        """The grade of a script for a form that was not seen, by how often its stem was: the
        longest word in an open slot.
        """
        words = zip(slots_of(script), expand(script, form) or (), strict=True)
        stems = [word for slot, word in words if slot not in self.closed and slot[0] != "="]
        return 1 + frequency(max(stems, key=len)) if stems else SEEN

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        return {
            "closed": list(self.closed),
            "words": [sorted(words) for words in self.closed.values()],
            "known": compress_array(self.known),
        }

    @classmethod
    def from_payload(cls, stored: Stored) -> Slots:
        """The slots of a model file.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_SLOTS, cells=_CELLS)
        closed, words = read["closed"], read["words"]
        stored.require(len(closed) == len(words), "words", f"{len(closed)} lists", len(words))
        return cls(dict(zip(closed, words, strict=True)), read["known"])


class ExpansionLexicon:
    """Numbers of expansions by form, ``by_form``, and by affix, ``by_affix``: a suffix is written
    ``-s``, a prefix ``+p``. Numbers ascend. ``scripts`` are those that numbers stand for.

    Candidates are labels: a number and a grade by the ``slots``, number * grades + grade. Without
    ``slots`` there is one grade, forms that were not seen have the
    expansions of their longest prefix and suffix alone, and any words.
    """

    def __init__(
        self,
        scripts: Sequence[str],
        by_form: Mapping[str, Labels],
        by_affix: Mapping[str, Labels],
        slots: Slots | None = None,
    ) -> None:
        self.scripts, self.by_form, self.by_affix = tuple(scripts), dict(by_form), dict(by_affix)
        self.slots = slots
        self.grades = 1 if slots is None else GRADES
        self._by_lower: dict[str, Labels] = {}
        for form in sorted(by_form, key=lambda form: form != form.lower()):
            if by_form[form] != (ONE_WORD,):
                self._by_lower.setdefault(form.lower(), by_form[form])
        self._found: dict[str, Labels] = {}

    @classmethod
    def learn(
        cls,
        scripts: Sequence[str],
        seen: Mapping[str, Counter[int]],
        least_rate: float,
        known: UInt8s,
    ) -> ExpansionLexicon:
        """The lexicon of a corpus, from how often each form had each number.

        An affix is kept for a script if at least ``_LEAST_FORMS`` forms with it had that script,
        and at least a share ``least_rate`` of all forms with it.
        """
        by_affix = _learn_affixes(seen, least_rate)
        several = {
            form: tuple(sorted(counts)) for form, counts in seen.items() if set(counts) - {0}
        }
        expansions = (
            (scripts[number - 1], form)
            for form, numbers in several.items()
            for number in numbers
            if number != ONE_WORD
        )
        slots = Slots.learn(expansions, known) if by_affix else None
        lexicon = cls(scripts, several, by_affix, slots)
        plain = {
            form: (ONE_WORD,)
            for form, counts in seen.items()
            if form not in several
            and counts.total() >= _SURE
            and lexicon.candidates(form) != (ONE_WORD,)
        }
        return cls(scripts, {**several, **plain}, by_affix, slots)

    def candidates(self, form: str) -> Labels:
        """The labels that a token may have."""
        labels = self._found.get(form)
        if labels is None:
            numbers, frequency = self.by_form.get(form), None
            if numbers is None and (numbers := self._by_lower.get(form.lower())) is not None:
                numbers = self._fitting(form, numbers)
            if numbers is None:
                numbers = self.by_affixes(form)
                frequency = None if self.slots is None else self.slots.frequency
            labels = self.graded(form, numbers, frequency)
            if len(self._found) >= _CACHED:
                self._found.clear()
            self._found[form] = labels
        return labels

    def by_affixes(self, form: str) -> Labels:
        """The numbers that a token may have whose form is not known: those of its prefixes and
        suffixes.
        """
        found: set[int] = set()
        for affixes in _affixes(form.lower()) if self.by_affix else ():
            lists = [self.by_affix[affix] for affix in affixes if affix in self.by_affix]
            found.update(*(lists[:1] if self.slots is None else lists))
        return self._fitting(form, tuple(sorted(found)), self.slots)

    def graded(self, form: str, numbers: Labels, frequency: Callable[[str], int] | None) -> Labels:
        """The labels of numbers. A form that was not seen has grades by the ``frequency`` of its
        stems and, as one word, by its own; None: it was seen.
        """
        if self.slots is None or frequency is None or len(numbers) == 1:
            return tuple(number * self.grades + SEEN for number in numbers)
        grades = (
            1 + frequency(form)
            if number == ONE_WORD
            else self.slots.grade(self.scripts[number - 1], form, frequency)
            for number in numbers
        )
        pairs = zip(numbers, grades, strict=True)
        return tuple(number * self.grades + grade for number, grade in pairs)

    def is_one_word(self, label: int) -> bool:
        """Whether a label leaves a token as it is."""
        return label // self.grades == ONE_WORD

    def words(self, form: str, label: int) -> tuple[str, ...]:
        """The words of a token with a label."""
        if self.is_one_word(label):
            return (form,)
        return expand(self.scripts[label // self.grades - 1], form) or (form,)

    def _fitting(self, form: str, numbers: Labels, slots: Slots | None = None) -> Labels:
        """The numbers whose scripts apply to a form, and make words of it that slots allow."""

        def fits(script: str) -> bool:
            words = expand(script, form)
            return bool(words) and (slots is None or slots.allow(script, words or ()))

        fitting = (n for n in numbers if n == ONE_WORD or fits(self.scripts[n - 1]))
        return tuple(fitting) or (ONE_WORD,)


def _learn_affixes(seen: Mapping[str, Counter[int]], least_rate: float) -> dict[str, Labels]:
    n_forms: Counter[str] = Counter()
    with_number: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for form, counts in seen.items():
        numbers = [number for number in counts if number != ONE_WORD]
        for affix in chain.from_iterable(_affixes(form.lower())):
            n_forms[affix] += 1
            if numbers:
                with_number[affix].update(numbers)
    kept: dict[str, set[int]] = {}
    for affix, counts in sorted(with_number.items(), key=lambda item: (len(item[0]), item[0])):
        least = max(_LEAST_FORMS, least_rate * n_forms[affix])
        common = {number for number, count in counts.items() if count >= least}
        common.difference_update(*(kept.get(one, ()) for one in _shorter(affix)))
        if common:
            kept[affix] = common
    return {affix: (ONE_WORD, *sorted(kept[affix])) for affix in sorted(kept)}


def _affixes(lower: str) -> tuple[list[str], list[str]]:
    """The suffixes of a lower-cased form and its prefixes, the longest first; none is the form."""
    sizes = range(min(LONGEST_AFFIX, len(lower) - 1), 0, -1)
    return [f"-{lower[-size:]}" for size in sizes], [f"+{lower[:size]}" for size in sizes]


def _shorter(affix: str) -> list[str]:
    """The shorter affixes at the same end."""
    if affix[0] == "-":
        return ["-" + affix[first:] for first in range(2, len(affix))]
    return [affix[:last] for last in range(2, len(affix))]
