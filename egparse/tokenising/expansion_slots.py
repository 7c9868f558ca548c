"""Closed and open slots of expansion scripts: a prefix or a clitic is one of a few words, a stem
may be any.

A slot is the slice that makes a word of a script, such as ``[:1]`` or ``[-3:]``; scripts that have
the same slice share it. In Hebrew ``[:1]`` of ``a[:1]|[1:]`` and of ``a[:1]|[1:2]|[2:]`` is one of
seven prefixes; without that knowledge these scripts would split any letter off.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from egparse.tokenising.expansion_scripts import expand, slots_of

_LEAST_FORMS = 2
"""Forms with a word in a slot after which the word is known to stand there."""
_CLOSED = 0.5
"""Share of the forms of a closed slot whose word another form has in that slot too."""


class Slots:
    """The words of closed slots, lower-cased, by the slice; the other slots are open."""

    def __init__(self, closed: Mapping[str, Iterable[str]]) -> None:
        self.closed = {slot: frozenset(words) for slot, words in closed.items()}
        self._open = cache(self._open_places)

    @classmethod
    def learn(cls, expansions: Iterable[tuple[str, str]]) -> Slots:
        """The slots of scripts from the forms that had them, pairs of a script and a form.

        A slot is closed if most forms that had a word there share it with others (leave one out).
        The slot of a script that has most different words is its stem, and open where it is that
        for most forms.
        """
        by_script: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
        for script, form in expansions:
            words = expand(script, form.lower())
            if words is not None:
                by_script[script].add(words)
        pools: defaultdict[str, Counter[str]] = defaultdict(Counter)
        as_stem: Counter[str] = Counter()
        for script, expanded in by_script.items():
            slots = slots_of(script)
            columns = list(zip(*expanded, strict=True))
            sizes = [
                0 if slot.startswith("=") else len(set(column))
                for slot, column in zip(slots, columns, strict=True)
            ]
            for place, (slot, column) in enumerate(zip(slots, columns, strict=True)):
                pools[slot].update(column)
                if max(sizes) > 1 and place == sizes.index(max(sizes)):
                    as_stem[slot] += len(column)
        closed = {}
        for slot, pool in sorted(pools.items()):
            if slot.startswith("=") or 2 * as_stem[slot] > pool.total():
                continue
            words = {word: n for word, n in pool.items() if n >= _LEAST_FORMS}
            if sum(words.values()) >= _CLOSED * pool.total():
                closed[slot] = words
        return cls(closed)

    def fit(self, script: str, words: Sequence[str]) -> bool:
        """Whether each closed slot of a script has one of its words."""
        return all(
            word.lower() in self.closed[slot]
            for slot, word in zip(slots_of(script), words, strict=True)
            if slot in self.closed
        )

    def stem(self, script: str, words: Sequence[str]) -> str | None:
        """The longest word in an open slot of a script; None if it has none."""
        return max((words[place] for place in self._open(script)), key=len, default=None)

    def _open_places(self, script: str) -> tuple[int, ...]:
        return tuple(
            place
            for place, slot in enumerate(slots_of(script))
            if not slot.startswith("=") and slot not in self.closed
        )
