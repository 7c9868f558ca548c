"""What an expander knows of forms: which expansions they may have, whatever stands around them.

The expansions of a token that was seen are those it had. One that was not seen has those of its
lower-cased form or, if there are none, those of its longest affixes that multiword tokens share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from egparse.tokenising.expansion_scripts import expand
from egparse.tokenising.expansion_slots import Slots
from egparse.tokenising.known_words import N_FREQUENCIES, KnownWords
import os
UNION = os.environ.get("X_UNION", "1") == "1"
CLOSED = os.environ.get("X_CLOSED", "1") == "1"

ONE_WORD = 0
"""The label of a token that is one word; label k > 0 stands for script k - 1."""

LONGEST_AFFIX = 6
"""Characters of the longest affix."""

_LEAST_FORMS = 2
"""Forms that must share an affix and a script."""
_SURE = 2
"""Occurrences of a form after which it is known to be one word."""
_CACHED = 1 << 16

Labels = tuple[int, ...]


class ExpansionLexicon:
    """Candidate labels by form, ``by_form``, and by affix, ``by_affix``: a suffix is written
    ``-s``, a prefix ``+p``. Labels ascend. ``scripts`` are those that labels stand for.
    """

    def __init__(
        self,
        scripts: Sequence[str],
        by_form: Mapping[str, Labels],
        by_affix: Mapping[str, Labels],
        slots: Slots | None = None,
        known: KnownWords | None = None,
    ) -> None:
        self.slots, self.known = slots, known
        self.grades = 1 if known is None else 1 + N_FREQUENCIES
        self.scripts, self.by_form, self.by_affix = tuple(scripts), dict(by_form), dict(by_affix)
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
        known: KnownWords | None = None,
    ) -> ExpansionLexicon:
        """The lexicon of a corpus, from how often each form had each label.

        An affix is kept for a script if at least ``_LEAST_FORMS`` forms with it had that script,
        and at least a share ``least_rate`` of all forms with it.
        """
        by_affix = _learn_affixes(seen, least_rate)
        slots = Slots.learn(
            (scripts[label - 1], form)
            for form, counts in seen.items()
            for label in counts
            if label != ONE_WORD
        )
        if not CLOSED:
            slots.closed = {}
        several = {
            form: tuple(sorted(counts)) for form, counts in seen.items() if set(counts) - {0}
        }
        lexicon = cls(scripts, several, by_affix, slots, known)
        plain = {
            form: (ONE_WORD,)
            for form, counts in seen.items()
            if form not in several
            and counts.total() >= _SURE
            and lexicon.candidates(form) != (ONE_WORD,)
        }
        return cls(scripts, {**several, **plain}, by_affix, slots, known)

    def candidates(self, form: str) -> Labels:
        """The labels that a token may have."""
        labels = self._found.get(form)
        if labels is None:
            numbers = self.by_form.get(form)
            if numbers is None:
                numbers = self._by_lower.get(form.lower())
                if numbers is not None:
                    labels = self.graded(form, self._fitting(form, numbers), None)
                else:
                    frequency = None if self.known is None else self.known.frequency
                    labels = self.graded(form, self.by_affixes(form), frequency)
            else:
                labels = self.graded(form, numbers, None)
            if len(self._found) >= _CACHED:
                self._found.clear()
            self._found[form] = labels
        return labels

    def graded(self, form, numbers, frequency):
        """labels."""
        if frequency is None or len(numbers) == 1 or self.grades == 1:
            return tuple(n * self.grades for n in numbers)
        labels = []
        for n in numbers:
            stem = form
            if n != ONE_WORD:
                script = self.scripts[n - 1]
                stem = self.slots.stem(script, expand(script, form))
            labels.append(n * self.grades + (0 if stem is None else 1 + frequency(stem)))
        return tuple(labels)

    def by_affixes(self, form: str) -> Labels:
        """The labels that a token may have whose form is not known: those of its longest known
        prefix and of its longest known suffix.
        """
        if not self.by_affix:
            return (ONE_WORD,)
        found: set[int] = set()
        for affixes in _affixes(form.lower()):
            if UNION:
                found.update(*(self.by_affix[a] for a in affixes if a in self.by_affix))
            else:
                found.update(next((self.by_affix[a] for a in affixes if a in self.by_affix), ()))
        return self._fitting(form, tuple(sorted(found)), True) if found else (ONE_WORD,)

    def words(self, form: str, label: int) -> tuple[str, ...]:
        """The words of a token with a label."""
        number = label // self.grades
        if number == ONE_WORD:
            return (form,)
        return expand(self.scripts[number - 1], form) or (form,)

    def _fitting(self, form: str, labels: Labels, unseen: bool = False) -> Labels:
        """The labels whose scripts apply to a form."""
        fitting = []
        for label in labels:
            if label != ONE_WORD:
                script = self.scripts[label - 1]
                words = expand(script, form)
                if words is None or (unseen and self.slots and not self.slots.fit(script, words)):
                    continue
            fitting.append(label)
        return tuple(fitting) or (ONE_WORD,)


def _learn_affixes(seen: Mapping[str, Counter[int]], least_rate: float) -> dict[str, Labels]:
    n_forms: Counter[str] = Counter()
    with_label: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for form, counts in seen.items():
        labels = [label for label in counts if label != ONE_WORD]
        for affix in _every_affix(form.lower()):
            n_forms[affix] += 1
            if labels:
                with_label[affix].update(labels)
    kept = {}
    for affix, counts in with_label.items():
        least = max(_LEAST_FORMS, least_rate * n_forms[affix])
        if labels := sorted(label for label, count in counts.items() if count >= least):
            kept[affix] = (ONE_WORD, *labels)
    return {
        affix: labels
        for affix, labels in sorted(kept.items())
        if kept.get(_shorter(affix)) != labels
    }


def _affixes(lower: str) -> tuple[Iterator[str], Iterator[str]]:
    """The suffixes of a lower-cased form and its prefixes, the longest first; none is the form."""
    lengths = range(min(LONGEST_AFFIX, len(lower) - 1), 0, -1)
    return (f"-{lower[-length:]}" for length in lengths), (
        f"+{lower[:length]}" for length in lengths
    )


def _every_affix(lower: str) -> Iterable[str]:
    suffixes, prefixes = _affixes(lower)
    return [*suffixes, *prefixes]


def _shorter(affix: str) -> str:
    """The affix that is a character shorter; it may be empty, which none in the lexicon is."""
    return "-" + affix[2:] if affix[0] == "-" else affix[:-1]
