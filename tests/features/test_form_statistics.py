"""What is counted of forms, on a text small enough to count by hand."""

from __future__ import annotations

import numpy as np

from egparse.features.form_statistics import FormStatistics, Text
from egparse.storage.schema import Stored

SENTENCES = [
    ["The", "bank", "of", "Rome", "fell"],
    ["Bank", "notes", "burn"],
    ["rome", "is", "Rome"],
    ["BANK", "IN", "ROME", "!"],
]


def _text(sentences: list[list[str]]) -> Text:
    distinct = sorted({form for forms in sentences for form in forms})
    ids = [distinct.index(form) for forms in sentences for form in forms]
    return Text(
        np.cumsum([0] + [len(forms) for forms in sentences]),
        distinct,
        np.array(ids, dtype=np.int32),
    )


def _count(counted: slice = slice(None)) -> FormStatistics:
    text = _text(SENTENCES)
    spans = np.array(
        [0 if form.lower() == "rome" else -1 for forms in SENTENCES for form in forms],
        dtype=np.int32,
    )
    mask = np.zeros(len(spans), dtype=bool)
    mask[counted] = True
    return FormStatistics.count(text, ["LOC"], spans, mask)


def _described(statistics: FormStatistics, *forms: str) -> list[tuple[str, str]]:
    values = statistics.values(_text([list(forms)]))
    return [
        (statistics.describe("casing", int(a)), statistics.describe("history", int(b)))
        for a, b in values
    ]


def test_capitals_count_inside_sentences_that_are_not_in_capitals() -> None:
    described = _described(_count(), "it", "Rome", "bank", "Lisbon")
    assert described == [
        ("unseen, lower first", "unseen, lower"),
        ("mixed, title", "mostly LOC, title"),
        ("lower (rare), lower", "outside, lower"),
        ("unseen, title", "unseen, title"),
    ]


def test_what_is_not_counted_was_not_seen() -> None:
    described = _described(_count(slice(0, 5)), "it", "Rome", "notes")
    assert described[1:] == [
        ("capital (rare), title", "mostly LOC, title"),
        ("unseen, lower", "unseen, lower"),
    ]


def test_the_setting_is_told() -> None:
    assert (
        _described(_count(), "ROME", "FELL", "2")[1][0] == "lower (rare), capitals among capitals"
    )
    assert _described(_count(), "Rome", "Fell", "2")[0][0] == "mixed, title first in a title"


def test_words_come_back_from_the_payload() -> None:
    statistics = _count()
    loaded = FormStatistics.from_payload(
        Stored(statistics.to_payload()), [form for forms in SENTENCES for form in forms]
    )
    text = _text([["Rome", "was", "a", "bank"], [], ["X"]])
    np.testing.assert_array_equal(loaded.values(text), statistics.values(text))
