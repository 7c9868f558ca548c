"""Observables of a word form, such as its affixes and its shape, and the lexicon that encodes forms
as the numbers of their observables.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import repeat

import numpy as np

from egparse.classes.tables import ClassColumns, normal
from egparse.errors import ConfigError
from egparse.features.remembered import MOST, Remembered
from egparse.features.vocabulary import FIRST_VALUE, Vocabulary
from egparse.types import Ints

LONGEST_AFFIX = 10
"""Characters of the longest prefix and suffix that templates may name."""

_KINDS = Remembered[int, str](lambda code: _kind(chr(code)))
_LONG_RUN = re.compile(r"(.)\1\1+", re.DOTALL)


def _kind(character: str) -> str:
    if character.isupper():
        return "X"
    if character.isalpha():
        return "x"
    return "0" if character.isdigit() else character


def shape(form: str) -> str:
    """The form with capitals as X, other letters as x and digits as 0, runs cut to two characters:
    ``McDonald's`` is ``XxXxx'x``.
    """
    if form.isalpha() and form.islower():  # most forms
        return "xx"[: len(form)]
    return _LONG_RUN.sub(r"\1\1", form.translate(_KINDS))


def _traits(form: str) -> str:
    """C for an initial capital, A for all capitals, D for a digit, H for a hyphen; empty for a word
    without any of them.
    """
    if form.isalpha() and form.islower():
        return ""
    return (
        ("C" if form[:1].isupper() else "")
        + ("A" if form.isupper() and len(form) > 1 else "")
        + ("D" if any(map(str.isdigit, form)) else "")
        + ("H" if "-" in form else "")
    )


def symbol(form: str) -> str:
    """S for a form without letters and digits that has a symbol, such as a currency sign or an
    emoji: what is seen of the few in a treebank then holds for those that it has not.
    """
    if form.isalnum() or any(map(str.isalnum, form)):
        return ""
    return "S" if any(unicodedata.category(one)[0] == "S" for one in form) else ""


Observe = Callable[[Sequence[str], Sequence[str]], Iterable[str]]
"""A string of each form, from the forms and what they are in lower case."""


def _of_forms(observe: Callable[[str], str]) -> Observe:
    return lambda forms, _: map(observe, forms)


def _prefix(length: int) -> Observe:
    return lambda _, lower: [form[:length] if len(form) > length else "" for form in lower]


def _suffix(length: int) -> Observe:
    return lambda _, lower: [form[-length:] if len(form) > length else "" for form in lower]


OBSERVABLES: Mapping[str, Observe] = {
    "form": lambda forms, _: forms,
    "lower": lambda _, lower: lower,
    "normal": _of_forms(normal),
    "shape": _of_forms(shape),
    "traits": _of_forms(_traits),
    "symbol": _of_forms(symbol),
    "stem": lambda _, lower: [form[:5] for form in lower],
    **{f"prefix{length}": _prefix(length) for length in range(1, LONGEST_AFFIX + 1)},
    **{f"suffix{length}": _suffix(length) for length in range(1, LONGEST_AFFIX + 1)},
}
"""Name -> what is observed of forms; an empty string means that a form lacks it."""


class Lexicon:
    """The values of some observables for every form, known or not, and of its word classes, if
    there are tables of them; safe to share between threads.

    The values of a known form are computed when it first occurs, and kept; those of some unknown
    forms are remembered.
    """

    def __init__(
        self,
        vocabularies: Mapping[str, Vocabulary],
        forms: Sequence[str],
        classes: ClassColumns | None = None,
    ) -> None:
        unknown = [name for name in vocabularies if name not in OBSERVABLES]
        if unknown:
            raise ConfigError(
                f"expected observables among {', '.join(OBSERVABLES)}, got {unknown[0]!r}"
            )
        self.vocabularies = dict(vocabularies)
        self.classes = classes
        self.names = (*vocabularies, *(() if classes is None else classes.names))
        self.forms = tuple(forms)
        self._rows = dict(zip(self.forms, range(len(self.forms)), strict=True))
        self._table = np.zeros((len(self.forms), len(self.names)), dtype=np.int32)
        self._is_computed = np.zeros(len(self.forms), dtype=np.bool_)
        self._of_unknown: dict[str, Ints] = {}

    @classmethod
    def build(
        cls,
        counts: Counter[str],
        names: Sequence[str],
        min_counts: Mapping[str, int],
        classes: ClassColumns | None = None,
    ) -> Lexicon:
        """The lexicon of the counted forms; a string of an observable that is rarer than
        ``min_counts[name]`` (1 by default) is unknown.
        """
        vocabularies = {}
        forms = sorted(counts)
        lower = [form.lower() for form in forms]
        for name in names:
            values: Counter[str] = Counter()
            for form, string in zip(forms, OBSERVABLES[name](forms, lower), strict=True):
                values[string] += counts[form]
            values.pop("", None)
            vocabularies[name] = Vocabulary.from_counts(values, min_counts.get(name, 1))
        return cls(vocabularies, forms, classes)

    def encode(self, forms: Sequence[str]) -> Ints:
        """Values of shape (forms, observables)."""
        rows = np.array([self._rows.get(form, -1) for form in forms], dtype=np.int64)
        is_known = rows >= 0
        known = rows[is_known]
        computed = self._is_computed[known]
        if not computed.all():
            missing = sorted(set(known[~computed].tolist()))  # np.unique imports masked arrays
            # other threads may compute the same rows: they write the same values, and a row is
            # marked only after it is written
            self._table[missing] = self._compute([self.forms[row] for row in missing])
            self._is_computed[missing] = True
        if len(known) == len(forms):
            return self._table[rows]
        values = np.empty((len(forms), len(self.names)), dtype=np.int32)
        values[is_known] = self._table[known]
        unknown = (~is_known).nonzero()[0].tolist()
        values[unknown] = self._unknown([forms[k] for k in unknown])
        return values

    def _unknown(self, forms: Sequence[str]) -> list[Ints]:
        """The values of forms that are not in the table."""
        remembered = self._of_unknown
        new = [form for form in forms if form not in remembered]
        if len(remembered) + len(new) > MOST:  # replaced, as another thread may be reading it
            remembered, new = {}, list(forms)
            self._of_unknown = remembered
        if new:
            remembered.update(zip(new, self._compute(new), strict=True))
        return [remembered[form] for form in forms]

    def __contains__(self, form: str) -> bool:
        return form in self._rows

    def _compute(self, forms: Sequence[str]) -> Ints:
        # 0, unknown, for a string that the vocabulary lacks; it lacks the empty string always
        lower = [form.lower() for form in forms]
        values = np.empty((len(forms), len(self.vocabularies)), dtype=np.int32)
        for column, (name, vocabulary) in enumerate(self.vocabularies.items()):
            strings = OBSERVABLES[name](forms, lower)
            values[:, column] = [*map(vocabulary.values.get, strings, repeat(0))]
        if self.classes is None:
            return values
        of_classes = self.classes.values(forms)
        of_classes[of_classes > 0] += FIRST_VALUE - 1
        return np.hstack([values, of_classes])
