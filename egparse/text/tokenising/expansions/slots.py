"""Slots of expansion scripts: which words a script may make of a form that training has not seen.

A slot is what makes one word of a script, such as ``[:1]`` and ``[1:]`` of ``a[:1]|[1:]``; scripts
share it. A slot for prefixes or clitics is closed: it has one of the words that it had before. One
for stems is open. In Hebrew ``[:1]`` has seven words; a script alone would split any letter off.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from egparse.storage.schema import SECTION, ListOf, Record, Stored, Strings
from egparse.text.tokenising.expansions.known_words import N_FREQUENCIES, KnownWords
from egparse.text.tokenising.expansions.scripts import LONGEST, expand, slots_of

GRADES = 1 + N_FREQUENCIES
"""What is known of an expansion: that the form was seen, or how often its stem was."""

SEEN = 0
"""The grade of the expansions of a form that was seen, and of those without a stem."""

_LEAST_FORMS = 2
"""Forms that must share a word of a closed slot."""
_CLOSED = 0.5
"""Share of the forms of a closed slot that share their word with other forms."""
_MAX_SLOTS = 60_000

STORED_SLOTS = Record(
    {
        "closed": Strings(most=_MAX_SLOTS, longest=LONGEST),
        "words": ListOf(Strings(), most=_MAX_SLOTS),
        "known": SECTION,
    }
)
"""Slots in a model file: the closed ones, the words of each, and the words of the corpus."""


class Slots:
    """The words of closed slots, lower-cased, and how often words occur, for stems."""

    def __init__(self, closed: Mapping[str, Iterable[str]], known: KnownWords) -> None:
        self.closed = {slot: frozenset(words) for slot, words in closed.items()}
        self.known = known

    @classmethod
    def learn(cls, expansions: Iterable[tuple[str, str]], known: KnownWords) -> Slots:
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
            "known": self.known.to_payload(),
        }

    @classmethod
    def from_payload(cls, stored: Stored) -> Slots:
        """The slots of a model file.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_SLOTS)
        closed, words = read["closed"], read["words"]
        stored.require(len(closed) == len(words), "words", f"{len(closed)} lists", len(words))
        known = KnownWords.from_payload(read["known"])
        return cls(dict(zip(closed, words, strict=True)), known)
