"""The lexicon of a lemmatiser: which edit scripts a word may have, by its form and its UPOS.

A word seen in training has the scripts seen with its form, in any casing, and its UPOS. For others
scripts are counted by UPOS, the casing of the first character and the longest suffixes, as in the
suffix model of Brants (2000, "TnT", section 2.3).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from egparse.features.forms import shape
from egparse.sequences.edit_scripts import apply, is_script
from egparse.storage.arrays import compress_array, compress_lists, lists_by_string
from egparse.storage.schema import SECTION, Packed, Record, Stored, Strings, shown

MOST_SCRIPTS = (1 << 15) - 1
"""Scripts of a lexicon: twice their number is stored in 16 bits, see ``lemmatiser``."""

NO_TAG = 0
"""The value of a word without a known UPOS, which may have the scripts of every tag."""

_MOST_PAIRS = 1 << 16
LONGEST_SCRIPT = 1000
"""Characters of a script."""

_LEAST_FORMS = 2  # a script seen with one form only says nothing about others

STORED_LEXICON = Record(
    {
        "scripts": Strings(
            "scripts", least=1, most=MOST_SCRIPTS, longest=LONGEST_SCRIPT, labels=True
        ),
        "tags": Packed(("uint16",), "pairs", below="tags", takes=8),
        "numbers": Packed(("uint16",), "pairs", below="scripts", takes=8),
        "forms": SECTION,
        "suffixes": SECTION,
    }
)
"""A lexicon in a model file: pair p is the tag ``tags[p]`` with the script ``numbers[p]``; by form
and by suffix are like ``STORED_PAIRS``.
"""

STORED_PAIRS = Record(
    {
        "strings": Strings("strings"),
        "lengths": Packed(("uint16",), "strings", sums_to="numbers"),
        "numbers": Packed(("uint16",), "numbers", below="pairs", takes=18),
    }
)
"""Pairs of a tag and a script, by form or suffix, in a model file."""


class Seen(NamedTuple):
    """A word of a training corpus: its form, the value of its UPOS in the column (0: none) and its
    script.
    """

    form: str
    tag: int
    script: str


@dataclass(frozen=True)
class LemmaLexicon:
    """Pair p is the tag ``pairs[p][0]``, a value of the column UPOS, with the script of the number
    ``pairs[p][1]``; ``by_form`` and ``by_suffix`` list pairs, the most frequent first.

    Forms are in lower case; suffixes stand behind the casing of the first character, see
    ``suffixes_of``. Immutable, but for what it remembers of the scripts of suffixes.
    """

    scripts: tuple[str, ...]
    pairs: tuple[tuple[int, int], ...]
    by_form: Mapping[str, tuple[int, ...]]
    by_suffix: Mapping[str, tuple[int, ...]]
    size: int
    longest: int
    _guesses: dict[tuple[str, int], tuple[int, ...]] = field(default_factory=dict, repr=False)

    @classmethod
    def build(
        cls,
        words: Iterable[Seen],
        size: int,
        longest: int,
        frequent: int,
        before: LemmaLexicon | None = None,
    ) -> LemmaLexicon:
        """The lexicon of a corpus, with up to ``size`` scripts by suffixes of up to ``longest``
        characters, which are counted over forms seen fewer than ``frequent`` times with a tag.

        What ``before`` knows is kept, its scripts with their numbers; new words come behind.
        """
        counts = Counter(words)
        by_script: Counter[str] = Counter()
        for seen, count in counts.items():
            by_script[seen.script] += count
        known = () if before is None else before.scripts
        ranked = sorted(by_script, key=lambda script: (-by_script[script], script))
        scripts = tuple(dict.fromkeys((*known, *ranked)))[:MOST_SCRIPTS]
        numbers = {script: number for number, script in enumerate(scripts)}
        pairs: dict[tuple[int, int], int] = {}
        if before is not None:
            pairs = {pair: number for number, pair in enumerate(before.pairs)}
        of_forms: defaultdict[str, Counter[int]] = defaultdict(Counter)
        totals: Counter[tuple[str, int]] = Counter()
        for (form, tag, script), count in sorted(counts.items()):
            if script in numbers:
                pair = pairs.setdefault((tag, numbers[script]), len(pairs))
                of_forms[form.lower()][pair] += count
                totals[form.lower(), tag] += count
        forms_of = Counter(
            script for _, script in {(form.lower(), script) for form, _, script in counts}
        )
        of_suffixes: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for (form, tag, script), count in sorted(counts.items()):
            if forms_of[script] >= _LEAST_FORMS and totals[form.lower(), tag] < frequent:
                pair = pairs.get((tag, numbers.get(script, -1)), -1)
                for suffix in suffixes_of(form, longest) if pair >= 0 else ():
                    of_suffixes[suffix][pair] += count
        by_form = {form: _ranked(found) for form, found in sorted(of_forms.items())}
        by_suffix = {
            suffix: _first_of_each_tag(_ranked(found), tuple(pairs), size)
            for suffix, found in sorted(of_suffixes.items())
        }
        if before is not None:
            by_form = _joined(before.by_form, by_form)
            by_suffix = _joined(before.by_suffix, by_suffix)
        if len(pairs) > _MOST_PAIRS:
            raise ValueError(f"expected at most {_MOST_PAIRS} pairs, got {len(pairs)}")
        return cls(scripts, tuple(pairs), by_form, by_suffix, size, longest)

    def of_word(self, form: str, tag: int) -> list[int]:
        """The scripts that a word may have, the likelier ones first: those seen with its form and
        tag, or if there are none, those of its form with other tags and of its suffixes.
        """
        lower = form.lower()
        pairs = [self.pairs[number] for number in self.by_form.get(lower, ())]
        found = dict.fromkeys(script for own, script in pairs if tag in (own, NO_TAG))
        if found:
            return list(found)
        scripts = dict.fromkeys(script for _, script in pairs)
        scripts.update(dict.fromkeys(self.by_suffixes(form, tag)))
        return list(scripts)

    def by_suffixes(self, form: str, tag: int) -> tuple[int, ...]:
        """The scripts of the longest known suffixes of a form with a tag, at most ``size``.

        They depend on the longest known suffix only, so that they are cached by that suffix.
        """
        suffixes = suffixes_of(form, self.longest)
        place = next((k for k, one in enumerate(suffixes) if one in self.by_suffix), None)
        if place is None:
            return ()
        key = (suffixes[place], tag)
        guess = self._guesses.get(key)
        if guess is None:
            guess = self._guesses[key] = tuple(self._guessed(suffixes[place:], tag))
        return guess

    def _guessed(self, suffixes: Sequence[str], tag: int) -> Iterator[int]:
        scripts: dict[int, None] = {}
        for suffix in suffixes:
            if len(scripts) >= self.size:
                break
            for number in self.by_suffix.get(suffix, ()):
                own, script = self.pairs[number]
                if tag in (own, NO_TAG):
                    scripts[script] = None
        yield from list(scripts)[: self.size]

    def is_known(self, lemma: str, form: str) -> bool:
        """Whether another form than this one has the lemma in the training corpus; casing does not
        count.
        """
        found = self._forms_of_lemmas.get(lemma.lower())
        return found is not None and found != form.lower()

    @cached_property
    def _forms_of_lemmas(self) -> dict[str, str]:
        """Each lemma in lower case, with its only form, or an empty text if it has several."""
        forms: dict[str, str] = {}
        for form, numbers in self.by_form.items():
            for script in {self.pairs[number][1] for number in numbers}:
                lemma = apply(self.scripts[script], form)
                if lemma:
                    lemma = lemma.lower()
                    forms[lemma] = form if forms.get(lemma, form) == form else ""
        return forms

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file."""
        table = np.array(self.pairs, dtype=np.uint16).reshape(-1, 2)
        return {
            "scripts": list(self.scripts),
            "tags": compress_array(np.ascontiguousarray(table[:, 0])),
            "numbers": compress_array(np.ascontiguousarray(table[:, 1])),
            "forms": compress_lists(self.by_form),
            "suffixes": compress_lists(self.by_suffix),
        }

    @classmethod
    def from_payload(cls, stored: Stored, n_tags: int, size: int, longest: int) -> LemmaLexicon:
        """The lexicon over so many values of UPOS.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        read = stored.read(STORED_LEXICON, tags=n_tags)
        faulty = next((text for text in read["scripts"] if not is_script(text)), None)
        stored.require(faulty is None, "scripts", "edit scripts such as l-3+y", shown(faulty))
        pairs = tuple(zip(read["tags"].tolist(), read["numbers"].tolist(), strict=True))
        forms, suffixes = (
            lists_by_string(**read[name].read(STORED_PAIRS, pairs=len(pairs)))
            for name in ("forms", "suffixes")
        )
        return cls(tuple(read["scripts"]), pairs, forms, suffixes, size, longest)


def suffixes_of(form: str, longest: int) -> list[str]:
    """The suffixes in lower case from one of ``longest`` characters to the empty one, each behind
    the shape of the first character; last the empty text, which every form has.
    """
    first, lower = shape(form[:1]), form.lower()
    lengths = range(min(longest, len(lower)), 0, -1)
    return [*(first + lower[-length:] for length in lengths), first, ""]


def _ranked(counts: Counter[int]) -> tuple[int, ...]:
    """Pairs by descending counts, ties by number."""
    return tuple(sorted(counts, key=lambda pair: (-counts[pair], pair)))


def _first_of_each_tag(
    numbers: Sequence[int], pairs: Sequence[tuple[int, int]], size: int
) -> tuple[int, ...]:
    """The first ``size`` pairs of each tag."""
    kept: Counter[int] = Counter()
    chosen = []
    for number in numbers:
        tag = pairs[number][0]
        if kept[tag] < size:
            chosen.append(number)
        kept[tag] += 1
    return tuple(chosen)


def _joined(
    before: Mapping[str, tuple[int, ...]], new: Mapping[str, tuple[int, ...]]
) -> dict[str, tuple[int, ...]]:
    """Lists by string of two lexicons; those of the new one come first."""
    return {
        string: tuple(dict.fromkeys((*new.get(string, ()), *before.get(string, ()))))
        for string in sorted({*before, *new})
    }
