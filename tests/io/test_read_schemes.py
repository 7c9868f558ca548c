"""Tagging schemes: conversions there and back, repairs, refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from egparse.schemes import SCHEMES, Span, find_tag_fault, from_iob2, spans_of, to_iob2


def tags_of(spans: list[Span], length: int) -> tuple[str, ...]:
    """The IOB2 tags of spans that do not overlap, in a sentence of ``length`` words."""
    tags = ["O"] * length
    for start, end, kind in spans:
        tags[start:end] = ["B-" + kind, *["I-" + kind] * (end - start - 1)]
    return tuple(tags)


@st.composite
def span_lists(draw: st.DrawFn) -> tuple[list[Span], int]:
    spans, place = [], 0
    for _ in range(draw(st.integers(0, 5))):
        start = place + draw(st.integers(0, 2))
        place = start + draw(st.integers(1, 4))
        spans.append(Span(start, place, draw(st.sampled_from(["A", "B-C", "O"]))))
    return spans, place + draw(st.integers(0, 2))


@given(span_lists(), st.sampled_from(SCHEMES))
def test_there_and_back(drawn: tuple[list[Span], int], scheme: str) -> None:
    spans, length = drawn
    tags = tags_of(spans, length)
    assert spans_of(tags) == spans
    written = from_iob2(tags, scheme)
    assert to_iob2(written, scheme) == tags
    assert to_iob2(written) == tags


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("iob1", "I-A I-A B-A O I-B I-A"),
        ("iob2", "B-A I-A B-A O B-B B-A"),
        ("iobes", "B-A E-A S-A O S-B S-A"),
        ("bilou", "B-A L-A U-A O U-B U-A"),
    ],
)
def test_schemes_by_example(scheme: str, tags: str) -> None:
    iob2 = ("B-A", "I-A", "B-A", "O", "B-B", "B-A")
    assert to_iob2(tags.split()) == iob2
    assert from_iob2(iob2, scheme) == tuple(tags.split())


@pytest.mark.parametrize(
    ("tags", "iob2"),
    [
        ("I-A", "B-A"),
        ("O I-A I-B", "O B-A B-B"),
        ("B-A I-B I-B", "B-A B-B I-B"),
        ("E-A I-A", "B-A B-A"),
        ("S-A E-A", "B-A B-A"),
        ("B-A O I-A", "B-A O B-A"),
    ],
)
def test_repairs(tags: str, iob2: str) -> None:
    assert to_iob2(tags.split()) == tuple(iob2.split())
    assert [s.type for s in spans_of(tags_of(spans_of(iob2.split()), len(iob2.split())))]


@given(st.lists(st.sampled_from(["O", *(p + "-" + t for p in "BIESLU" for t in "XY")]), max_size=8))
def test_every_sequence_of_tags_becomes_iob2(tags: list[str]) -> None:
    iob2 = to_iob2(tags)
    assert to_iob2(iob2, "iob2") == iob2
    assert [tag == "O" for tag in iob2] == [tag == "O" for tag in tags]
    assert tags_of(spans_of(iob2), len(tags)) == iob2


@given(st.lists(st.text("OBIESLU-X_", max_size=4), max_size=5), st.sampled_from([None, *SCHEMES]))
def test_faults_are_found_where_tags_are_refused(tags: list[str], scheme: str | None) -> None:
    fault = find_tag_fault(tags, scheme)
    if fault is None:
        to_iob2(tags, scheme)
    else:
        assert tags[fault.position] == fault.got
        with pytest.raises(ValueError, match="not a tag of"):
            to_iob2(tags, scheme)


def test_refusals() -> None:
    with pytest.raises(
        ValueError, match="expected a scheme of iob1, iob2, iobes, bilou, got 'bio'"
    ):
        to_iob2(["O"], "bio")
    with pytest.raises(ValueError, match="expected a scheme"):
        from_iob2(["O"], "bio")
    with pytest.raises(ValueError, match="not a tag of iob2: 'S-A'"):
        to_iob2(["S-A"], "iob2")
