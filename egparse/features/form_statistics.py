"""What a corpus says of a form beyond its letters: how it is cased in running text, and in which
kinds of spans it was seen.

Both tell names from words at the beginning of a sentence, in headlines and in lower case. On the
words that a tagger learns from they must come from other sentences, or it learns to trust them too
much: see ``counted`` of ``FormStatistics.count``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from egparse.features.vocabulary import FIRST_VALUE
from egparse.types import Ints, Longs, Mask, UInt16s

COLUMNS = ("casing", "history")
"""``casing``: how the form is usually cased, how it is here, whether it begins the sentence, and
whether the sentence is in capitals. ``history``: in which kind of spans the form was seen, how
often, and how it is cased here.
"""

_OTHER, _LOWER, _TITLE, _UPPER = range(4)
_KINDS = ("no letter", "lower", "title", "capitals")
_SHARES = np.array([0.05, 0.3, 0.7, 0.95])
_USUALLY = ("lower", "mostly lower", "mixed", "mostly capital", "capital")
_CASINGS = ("unseen", *(usually + few for usually in _USUALLY for few in ("", " (rare)")))
_SETTINGS = ("", " in a title", " among capitals")
_SPAN_SHARES = np.array([0.2, 0.7])
_OUTSIDE_CODES = ("unseen", "outside", "outside (rare)")
_RARE_OUTSIDE = 2
_LEVELS = ("seldom", "sometimes", "mostly")
_RARE = 3
_MOST = 0.6
_PURE = 0.7


@dataclass(frozen=True)
class FormStatistics:
    """Codes of ``forms``, which are in lower case; ``types`` are the kinds of spans that
    ``history`` speaks of.
    """

    forms: Sequence[str]
    types: Sequence[str]
    casing: UInt16s
    history: UInt16s
    _rows: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rows", {form: row for row, form in enumerate(self.forms)})

    @classmethod
    def count(cls, text: Text, types: Sequence[str], spans: Ints, counted: Mask) -> FormStatistics:
        """From the ``counted`` words of a text; ``spans[k]`` is the type of the span around word k,
        -1 for none.
        """
        forms = sorted({form.lower() for form in text.distinct})
        rows = {form: row for row, form in enumerate(forms)}
        row_of = np.array([rows[form.lower()] for form in text.distinct], dtype=np.int64)[
            text.form_ids
        ]
        kinds, opens, settings = _look_at(text)

        def tally(chosen: Mask) -> Longs:
            return np.bincount(row_of[counted & chosen], minlength=len(forms))

        telling = settings != 2  # among capitals, capitals say nothing
        casing = _casing_codes(
            tally(telling & (kinds == _LOWER)), tally(telling & (kinds >= _TITLE) & ~opens)
        )
        inside = [tally(spans == number) for number in range(len(types))]
        return cls(forms, types, casing, _history_codes(tally(spans >= -1), inside))

    def extended(self, found: FormStatistics | None, forms: Sequence[str]) -> FormStatistics:
        """What is known of ``forms``, sorted and in lower case, from here and from what was
        ``found`` elsewhere, where that says more.

        Types keep their numbers, new ones come behind them. Of a form that was seen seldom or never
        here the other statistics are believed, and where they know it as part of a span of a new
        type; otherwise these.
        """
        types = list(self.types)
        codes = np.zeros((2, len(forms)), dtype=np.uint16)
        rows = np.array([self._rows.get(form, -1) for form in forms], dtype=np.int64)
        codes[:, rows >= 0] = np.stack([self.casing, self.history])[:, rows[rows >= 0]]
        if found is not None:
            types += [name for name in found.types if name not in self.types]
            history = _renumbered(found.history, [types.index(name) for name in found.types])
            rows = np.array([found._rows.get(form, -1) for form in forms], dtype=np.int64)
            others = np.zeros_like(codes)
            others[:, rows >= 0] = np.stack([found.casing, history])[:, rows[rows >= 0]]
            seldom = np.stack([codes[0] % 2 == 0, (codes[1] == 0) | (codes[1] == _RARE_OUTSIDE)])
            first_new = len(_OUTSIDE_CODES) + 2 * len(_LEVELS) * len(self.types)
            codes = np.where(
                (seldom | (others >= [[np.inf], [first_new]])) & (others > 0), others, codes
            )
        return FormStatistics(forms, types, *codes.astype(np.uint16))

    def values(self, text: Text) -> Ints:
        """Values of shape (words, 2) of the columns."""
        found = np.array(
            [self._rows.get(form.lower(), -1) for form in text.distinct], dtype=np.int64
        )
        known = found >= 0
        codes = np.zeros((2, len(found)), dtype=np.int64)
        codes[:, known] = np.stack([self.casing, self.history])[:, found[known]]
        casing, history = codes[:, text.form_ids]
        kinds, opens, settings = _look_at(text)
        casing = ((casing * len(_KINDS) + kinds) * 2 + opens) * len(_SETTINGS) + settings
        return (np.stack([casing, history * len(_KINDS) + kinds], axis=1) + FIRST_VALUE).astype(
            np.int32
        )

    def describe(self, column: str, value: int) -> str:
        """A value of a column in words."""
        code = value - FIRST_VALUE
        if column == "history":
            seen, kind = divmod(code, len(_KINDS))
            return f"{self._describe_history(seen)}, {_KINDS[kind]}"
        code, setting = divmod(code, len(_SETTINGS))
        code, opens = divmod(code, 2)
        usual, kind = divmod(code, len(_KINDS))
        return f"{_CASINGS[usual]}, {_KINDS[kind]}{' first' if opens else ''}{_SETTINGS[setting]}"

    def _describe_history(self, code: int) -> str:
        if code < len(_OUTSIDE_CODES):
            return _OUTSIDE_CODES[code]
        type_, rest = divmod(code - len(_OUTSIDE_CODES), 2 * len(_LEVELS))
        return f"{_LEVELS[rest // 2]} {self.types[type_]}{'' if rest % 2 else ' and others'}"

    def to_payload(self) -> dict[str, Any]:
        """What the model file holds of it; the forms are those of the model in lower case,
        sorted.
        """
        return {"types": list(self.types), "casing": self.casing, "history": self.history}

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any], forms: Sequence[str]) -> FormStatistics:
        """The statistics of a model whose lexicon has these forms."""
        lower = sorted({form.lower() for form in forms})
        return cls(lower, payload["types"], payload["casing"], payload["history"])


class Text(NamedTuple):
    """Sentence ``i`` has the words ``starts[i]:starts[i + 1]``; word ``k`` has the form
    ``distinct[form_ids[k]]``.
    """

    starts: Longs
    distinct: list[str]
    form_ids: Ints


class _Looks(NamedTuple):
    """How each word is cased (``_KINDS``), whether it ``opens`` its sentence, and the setting of
    its sentence: 2 if most words are in capitals, 1 if most begin with one, else 0.
    """

    kinds: Longs
    opens: Mask
    settings: Longs


def _look_at(text: Text) -> _Looks:
    kinds = np.array([_kind(form) for form in text.distinct], dtype=np.int64)[text.form_ids]
    lengths = np.diff(text.starts)
    opens = np.zeros(len(kinds), dtype=bool)
    opens[text.starts[:-1][lengths > 0]] = True
    letters = _sums(kinds != _OTHER, text.starts)
    upper = _sums(kinds == _UPPER, text.starts)
    capital = _sums(kinds >= _TITLE, text.starts)
    settings = np.where(2 * upper > letters, 2, np.where(capital > _MOST * letters, 1, 0))
    return _Looks(kinds, opens, np.repeat(settings, lengths))


def _kind(form: str) -> int:
    first = form[:1]
    if first.isupper():
        return _UPPER if len(form) > 1 and form.isupper() else _TITLE
    return _LOWER if first.isalpha() else _OTHER


def _sums(chosen: Mask, starts: Longs) -> Longs:
    """How many words of each sentence are chosen."""
    before = np.concatenate([[0], np.cumsum(chosen)])
    return np.asarray(before[starts[1:]] - before[starts[:-1]])


def _casing_codes(lower: Longs, capital: Longs) -> UInt16s:
    seen = lower + capital
    share = np.searchsorted(_SHARES, capital / np.maximum(1, seen), side="right")
    return np.where(seen == 0, 0, 1 + 2 * share + (seen < _RARE)).astype(np.uint16)


def _renumbered(history: UInt16s, numbers: Sequence[int]) -> UInt16s:
    """The same codes where type t has the number ``numbers[t]``."""
    first, own = len(_OUTSIDE_CODES), 2 * len(_LEVELS)
    moves = np.concatenate(
        [np.zeros(first), np.repeat(np.array(numbers) - np.arange(len(numbers)), own) * own]
    )
    renumbered: UInt16s = (history + moves[history]).astype(np.uint16)
    return renumbered


def _history_codes(seen: Longs, inside: Sequence[Longs]) -> UInt16s:
    """``inside[t]`` counts the words in spans of type t."""
    outside_code = np.where(seen == 0, 0, np.where(seen < _RARE, 2, 1))
    if not inside:
        return outside_code.astype(np.uint16)
    table = np.stack(inside)
    total = table.sum(axis=0)
    level = np.searchsorted(_SPAN_SHARES, total / np.maximum(1, seen))
    pure = table.max(axis=0) > _PURE * total
    code = len(_OUTSIDE_CODES) + 2 * (len(_LEVELS) * table.argmax(axis=0) + level) + pure
    return np.where(total == 0, outside_code, code).astype(np.uint16)
