"""Statistics of forms in a corpus: how a form is cased in running text, and in which types of spans
it occurred.

Both help to recognise names at the beginning of a sentence, in headlines and in lower case. The
statistics of the words that a tagger is trained on must be counted in other sentences, or it learns
to trust them too much: see ``counted`` of ``FormStatistics.count``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from egparse.compilation import njit
from egparse.features.remembered import Remembered
from egparse.features.vocabulary import FIRST_VALUE
from egparse.storage.schema import Array, Record, Stored, Strings
from egparse.types import Ints, Longs, Mask, UInt16s

COLUMNS = ("casing", "history")
"""``casing``: how the form is usually cased, how it is cased here, whether it begins the sentence,
and whether the sentence is in capitals. ``history``: in which type of spans the form occurred, how
often, and how it is cased here.
"""

_OTHER, _LOWER, _TITLE, _UPPER = range(4)
_KINDS = ("no letter", "lower", "title", "capitals")
_SHARES = np.array([0.05, 0.3, 0.7, 0.95])  # of capitals, between the five words of _USUALLY
_USUALLY = ("lower", "mostly lower", "mixed", "mostly capital", "capital")
_CASINGS = ("unseen", *(usually + few for usually in _USUALLY for few in ("", " (rare)")))
_SETTINGS = ("", " in a title", " among capitals")
_N_KINDS, _N_SETTINGS = len(_KINDS), len(_SETTINGS)
_SPAN_SHARES = np.array([0.2, 0.7])  # of words in spans, between the three words of _LEVELS
_OUTSIDE_CODES = ("unseen", "outside", "outside (rare)")
_RARE_OUTSIDE = 2
_LEVELS = ("seldom", "sometimes", "mostly")
_RARE = 3  # a form that occurred fewer times is rare
_MOST = 0.6  # a sentence with a larger share of capitalised words is a title
_PURE = 0.7  # with a larger share of one type among its spans, a form has no " and others"


STORED_STATISTICS = Record(
    {
        "types": Strings(most=1 << 12, labels=True),
        "casing": Array("uint16", ("forms",), below=len(_CASINGS)),
        "history": Array("uint16", ("forms",)),
    }
)
"""The statistics of ``forms`` forms in a model file."""


@dataclass(frozen=True)
class FormStatistics:
    """The codes ``casing`` and ``history`` of ``forms``, (forms,) each; forms are in lower case.

    ``types`` are the span types of ``history``.
    """

    forms: Sequence[str]
    types: Sequence[str]
    casing: UInt16s
    history: UInt16s
    _rows: dict[str, int] = field(init=False, repr=False, compare=False)
    _row_of: Remembered[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rows = dict(zip(self.forms, range(len(self.forms)), strict=True))
        object.__setattr__(self, "_rows", rows)
        row_of = Remembered[str, int](lambda form: rows.get(form.lower(), -1))
        object.__setattr__(self, "_row_of", row_of)

    @classmethod
    def count(cls, text: Text, types: Sequence[str], spans: Ints, counted: Mask) -> FormStatistics:
        """The statistics of the ``counted`` words of a text, (words,); ``spans[k]`` is the type of
        the span around word k, -1 for none, -2 where nobody has looked for spans.
        """
        forms = sorted({form.lower() for form in text.distinct})
        rows = {form: row for row, form in enumerate(forms)}
        row_of = np.array([rows[form.lower()] for form in text.distinct], dtype=np.int64)[
            text.form_ids
        ]
        kinds, opens, settings = _casing_of(text)

        def tally(chosen: Mask) -> Longs:
            return np.bincount(row_of[counted & chosen], minlength=len(forms))

        informative = settings != 2  # in a sentence in capitals the case of a word means nothing
        casing = _casing_codes(
            tally(informative & (kinds == _LOWER)), tally(informative & (kinds >= _TITLE) & ~opens)
        )
        inside = [tally(spans == number) for number in range(len(types))]
        return cls(forms, types, casing, _history_codes(tally(spans >= -1), inside))

    def extended(self, other: FormStatistics | None, forms: Sequence[str]) -> FormStatistics:
        """The statistics of ``forms`` (sorted, in lower case) from these and ``other`` statistics.

        The types keep their numbers, and new types follow. The other codes of a form are taken
        where it is rare or unknown here, and where they have it in spans of a new type; else those
        of these statistics.
        """
        types = list(self.types)
        codes = np.zeros((2, len(forms)), dtype=np.uint16)
        rows = np.array([self._rows.get(form, -1) for form in forms], dtype=np.int64)
        codes[:, rows >= 0] = np.stack([self.casing, self.history])[:, rows[rows >= 0]]
        if other is not None:
            types += [name for name in other.types if name not in self.types]
            history = _renumbered(other.history, [types.index(name) for name in other.types])
            rows = np.array([other._rows.get(form, -1) for form in forms], dtype=np.int64)
            others = np.zeros_like(codes)
            others[:, rows >= 0] = np.stack([other.casing, history])[:, rows[rows >= 0]]
            seldom = np.stack([codes[0] % 2 == 0, (codes[1] == 0) | (codes[1] == _RARE_OUTSIDE)])
            first_new = len(_OUTSIDE_CODES) + 2 * len(_LEVELS) * len(self.types)
            codes = np.where(
                (seldom | (others >= [[np.inf], [first_new]])) & (others > 0), others, codes
            )
        return FormStatistics(forms, types, *codes.astype(np.uint16))

    def values(self, text: Text) -> Ints:
        """The values of the columns ``COLUMNS``, (words, 2)."""
        rows = np.array([*map(self._row_of.__getitem__, text.distinct)], dtype=np.int64)
        values = np.empty((len(text.form_ids), len(COLUMNS)), dtype=np.int32)
        kinds, opens, settings = _casing_of(text)
        _fill_values(rows, text.form_ids, self.casing, self.history, kinds, opens, settings, values)
        return values

    def describe(self, column: str, value: int) -> str:
        """A value of a column in words."""
        code = value - FIRST_VALUE
        if column == "history":
            seen, kind = divmod(code, len(_KINDS))
            return f"{self._describe_history(seen)}, {_KINDS[kind]}"
        code, setting = divmod(code, len(_SETTINGS))
        code, opens = divmod(code, 2)
        usual, kind = divmod(code, len(_KINDS))
        usually = _CASINGS[usual] if usual < len(_CASINGS) else _CASINGS[0]
        return f"{usually}, {_KINDS[kind]}{' first' if opens else ''}{_SETTINGS[setting]}"

    def _describe_history(self, code: int) -> str:
        if code < len(_OUTSIDE_CODES):
            return _OUTSIDE_CODES[code]
        type_, rest = divmod(code - len(_OUTSIDE_CODES), 2 * len(_LEVELS))
        if type_ >= len(self.types):
            return _OUTSIDE_CODES[0]
        return f"{_LEVELS[rest // 2]} {self.types[type_]}{'' if rest % 2 else ' and others'}"

    def to_payload(self) -> dict[str, Any]:
        """The content of the model file, without the forms: they are those of the model in lower
        case, sorted.
        """
        return {"types": list(self.types), "casing": self.casing, "history": self.history}

    @classmethod
    def from_payload(cls, stored: Stored, forms: Sequence[str]) -> FormStatistics:
        """The statistics of a model whose lexicon has these forms.

        Raises:
            Misfit: content that the declaration does not allow.
        """
        lower = sorted(set(map(str.lower, forms)))
        read = stored.read(STORED_STATISTICS, forms=len(lower))
        limit = len(_OUTSIDE_CODES) + 2 * len(_LEVELS) * len(read["types"])
        highest = int(read["history"].max(initial=0))
        stored.require(highest < limit, "history", f"numbers from 0 to {limit - 1}", highest)
        return cls(lower, **read)


class Text(NamedTuple):
    """Consecutive sentences: sentence ``i`` has the words ``starts[i]:starts[i + 1]``, and word
    ``k`` has the form ``distinct[form_ids[k]]``.
    """

    starts: Longs
    distinct: list[str]
    form_ids: Ints


class _Casing(NamedTuple):
    """How each word is cased (``_KINDS``), whether it is the first of its sentence, and the setting
    of its sentence: 2 if most words are in capitals, 1 if most begin with a capital, else 0.
    """

    kinds: Longs
    opens: Mask
    settings: Longs


def _casing_of(text: Text) -> _Casing:
    of_forms = np.array([*map(_KIND_OF.__getitem__, text.distinct)], dtype=np.int64)
    n_words = len(text.form_ids)
    casing = _Casing(
        np.empty(n_words, dtype=np.int64),
        np.zeros(n_words, dtype=np.bool_),
        np.empty(n_words, dtype=np.int64),
    )
    _fill_casing(of_forms, text.form_ids, text.starts, *casing)
    return casing


@njit
def _fill_casing(
    of_forms: Longs, form_ids: Ints, starts: Longs, kinds: Longs, opens: Mask, settings: Longs
) -> None:
    """Fill the arrays of ``_Casing`` from the kinds of forms."""
    for i in range(starts.shape[0] - 1):
        letters = upper = capital = 0
        for k in range(starts[i], starts[i + 1]):
            kind = of_forms[form_ids[k]]
            kinds[k] = kind
            letters += kind != _OTHER
            upper += kind == _UPPER
            capital += kind >= _TITLE
        setting = 2 if 2 * upper > letters else 1 if capital > _MOST * letters else 0
        for k in range(starts[i], starts[i + 1]):
            opens[k] = k == starts[i]
            settings[k] = setting


@njit
def _fill_values(
    rows: Longs,
    form_ids: Ints,
    casing: UInt16s,
    history: UInt16s,
    kinds: Longs,
    opens: Mask,
    settings: Longs,
    values: Ints,
) -> None:
    """Fill the columns ``COLUMNS`` of words; ``rows`` are those of forms, -1 for none."""
    for k in range(values.shape[0]):
        row = rows[form_ids[k]]
        usual = np.int64(casing[row]) if row >= 0 else 0
        seen = np.int64(history[row]) if row >= 0 else 0
        place = (usual * _N_KINDS + kinds[k]) * 2 + opens[k]
        values[k, 0] = place * _N_SETTINGS + settings[k] + FIRST_VALUE
        values[k, 1] = seen * _N_KINDS + kinds[k] + FIRST_VALUE


def _kind(form: str) -> int:
    first = form[:1]
    if first.isupper():
        return _UPPER if len(form) > 1 and form.isupper() else _TITLE
    return _LOWER if first.isalpha() else _OTHER


_KIND_OF = Remembered(_kind)


def _casing_codes(lower: Longs, capital: Longs) -> UInt16s:
    """Numbers of ``_CASINGS``, from how often each form is in lower case and capitalised."""
    seen = lower + capital
    share = np.searchsorted(_SHARES, capital / np.maximum(1, seen), side="right")
    return np.where(seen == 0, 0, 1 + 2 * share + (seen < _RARE)).astype(np.uint16)


def _renumbered(history: UInt16s, numbers: Sequence[int]) -> UInt16s:
    """The codes of the same histories when type t has the number ``numbers[t]``."""
    first, codes_a_type = len(_OUTSIDE_CODES), 2 * len(_LEVELS)
    shifts = codes_a_type * (np.array(numbers) - np.arange(len(numbers)))
    shift_of_code = np.concatenate([np.zeros(first), np.repeat(shifts, codes_a_type)])
    renumbered: UInt16s = (history + shift_of_code[history]).astype(np.uint16)
    return renumbered


def _history_codes(seen: Longs, inside: Sequence[Longs]) -> UInt16s:
    """Codes of ``FormStatistics.history``, from how often each form occurred, and how often inside
    spans of each type t: ``inside[t]``.
    """
    outside_code = np.where(seen == 0, 0, np.where(seen < _RARE, 2, 1))
    if not inside:
        return outside_code.astype(np.uint16)
    table = np.stack(inside)
    total = table.sum(axis=0)
    level = np.searchsorted(_SPAN_SHARES, total / np.maximum(1, seen))
    pure = table.max(axis=0) > _PURE * total
    code = len(_OUTSIDE_CODES) + 2 * (len(_LEVELS) * table.argmax(axis=0) + level) + pure
    return np.where(total == 0, outside_code, code).astype(np.uint16)
