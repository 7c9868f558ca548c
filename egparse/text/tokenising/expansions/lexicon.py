"""What an expander knows of forms: which expansions they may have, whatever stands around them.

The expansions of a token that was seen are those it had. One that was not seen has those of its
lower-cased form or, if there are none, those of its affixes that multiword tokens share, as far as
these make known prefixes and clitics of it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from egparse.text.tokenising.expansions.known_words import KnownWords
from egparse.text.tokenising.expansions.scripts import expand
from egparse.text.tokenising.expansions.slots import GRADES, SEEN, Slots

ONE_WORD = 0
"""The number of the expansion into one word; number k > 0 stands for script k - 1."""

LONGEST_AFFIX = 6
"""Characters of the longest affix."""

_LEAST_FORMS = 2
"""Forms that must share an affix and a script."""
_SURE = 2
"""Occurrences of a form after which it is known to be one word."""
_CACHED = 1 << 16

Labels = tuple[int, ...]


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
        known: KnownWords,
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
                frequency = None if self.slots is None else self.slots.known.frequency
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
        fitting = []
        for number in numbers:
            script = "" if number == ONE_WORD else self.scripts[number - 1]
            words = (form,) if number == ONE_WORD else expand(script, form)
            if words and (slots is None or number == ONE_WORD or slots.allow(script, words)):
                fitting.append(number)
        return tuple(fitting) or (ONE_WORD,)


def _learn_affixes(seen: Mapping[str, Counter[int]], least_rate: float) -> dict[str, Labels]:
    n_forms: Counter[str] = Counter()
    with_number: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for form, counts in seen.items():
        numbers = [number for number in counts if number != ONE_WORD]
        for affix in _every_affix(form.lower()):
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
    lengths = range(min(LONGEST_AFFIX, len(lower) - 1), 0, -1)
    return [f"-{lower[-length:]}" for length in lengths], [
        f"+{lower[:length]}" for length in lengths
    ]


def _every_affix(lower: str) -> Iterable[str]:
    suffixes, prefixes = _affixes(lower)
    return [*suffixes, *prefixes]


def _shorter(affix: str) -> list[str]:
    """The shorter affixes at the same end."""
    if affix[0] == "-":
        return ["-" + affix[first:] for first in range(2, len(affix))]
    return [affix[:last] for last in range(2, len(affix))]
