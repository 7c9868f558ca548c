"""Tagging schemes for spans, IOB1, IOB2, IOBES and BILOU, and the spans that they stand for.

A tag is ``O`` or a prefix, a hyphen and a type: ``B-LOC``. All schemes say which words lie in a
span (any prefix) or not (O); they differ in how they mark its ends:

=====  =============================================================================
IOB1   I in a span, B only where a span begins right after another of the same type
IOB2   B at the first word of every span, I after it
IOBES  IOB2 with E at the last word and S on a span of one word
BILOU  IOBES with L for E and U for S
=====  =============================================================================

One reading fits them all and repairs what breaks them: B, S and U begin a span; I, E and L continue
the one before if it is of the same type and not ended, and begin one otherwise; E, L, S and U end
it. So IOB1 and IOB2 need not be told apart, and an orphan I begins a span, as conlleval counts it.
Everything here is linear in the number of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

OUTSIDE = "O"

SCHEMES = ("iob1", "iob2", "iobes", "bilou")

_PREFIXES = {None: "BIESLU", "iob1": "BI", "iob2": "BI", "iobes": "BIES", "bilou": "BILU"}
_BOUNDARIES = {"iob1": "BIBI", "iob2": "BIBI", "iobes": "BISE", "bilou": "BIUL"}
"""Letters for: first of several words, inner, only word, last of several."""


class TagFault(NamedTuple):
    """A tag (0-based) that is none of the scheme."""

    position: int
    expected: str
    got: str


class Span(NamedTuple):
    """The words ``start`` to ``end - 1`` (0-based) and what they are."""

    start: int
    end: int
    type: str


def to_iob2(tags: Sequence[str], scheme: str | None = None) -> tuple[str, ...]:
    """The same spans in IOB2; ``scheme`` limits the prefixes that are accepted, None accepts those
    of all schemes.

    Raises ValueError for a tag that the scheme does not have; ``find_tag_fault`` says which.
    """
    prefixes = _prefixes(scheme)
    if _is_iob2(tags):
        return tuple(tags)
    iob2 = []
    running = ""  # the type of the span that may be continued
    for tag in tags:
        if tag == OUTSIDE:
            running = ""
            iob2.append(tag)
            continue
        prefix, kind = tag[:1], tag[2:]
        if not kind or tag[1] != "-" or prefix not in prefixes:
            raise ValueError(f"not a tag of {scheme or 'any scheme'}: {tag!r}")
        iob2.append(("I-" if kind == running and prefix in "IEL" else "B-") + kind)
        running = "" if prefix in "ESLU" else kind
    return tuple(iob2)


def from_iob2(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """The same spans in another scheme. Raises ValueError for tags that are not IOB2."""
    if scheme not in SCHEMES:
        raise ValueError(f"expected a scheme of {', '.join(SCHEMES)}, got {scheme!r}")
    iob2 = to_iob2(tags, "iob2")
    if scheme == "iob2":
        return iob2
    if scheme == "iob1":
        return _iob1(iob2)
    return _bounded(iob2, _BOUNDARIES[scheme])


def find_tag_fault(tags: Sequence[str], scheme: str | None = None) -> TagFault | None:
    """The first tag that ``to_iob2`` would refuse, or None."""
    prefixes = _prefixes(scheme)
    for position, tag in enumerate(tags):
        if tag != OUTSIDE and (tag[:1] not in prefixes or tag[1:2] != "-" or not tag[2:]):
            allowed = ", ".join(prefixes)
            return TagFault(position, f"a tag O or TYPE after one of {allowed} and a hyphen", tag)
    return None


def spans_of(iob2_tags: Sequence[str]) -> list[Span]:
    """The spans of a tag sequence, in order; orphan I tags begin one."""
    spans = []
    start, kind = 0, ""  # no type: no span is open
    for position, tag in enumerate(iob2_tags):
        if tag[:1] == "I" and tag[2:] == kind:
            continue
        if kind:
            spans.append(Span(start, position, kind))
        start, kind = position, tag[2:]
    if kind:
        spans.append(Span(start, len(iob2_tags), kind))
    return spans


def tags_of(spans: Sequence[Span], length: int) -> tuple[str, ...]:
    """The IOB2 tags of spans that do not overlap. Raises ValueError where they do or leave the
    sentence.
    """
    tags = [OUTSIDE] * length
    for start, end, kind in spans:
        if not 0 <= start < end <= length or any(tag != OUTSIDE for tag in tags[start:end]):
            raise ValueError(
                f"span {start}..{end} overlaps another or leaves a sentence of {length} words"
            )
        tags[start:end] = ["B-" + kind, *["I-" + kind] * (end - start - 1)]
    return tuple(tags)


def _prefixes(scheme: str | None) -> str:
    if scheme not in _PREFIXES:
        raise ValueError(f"expected a scheme of {', '.join(SCHEMES)}, got {scheme!r}")
    return _PREFIXES[scheme]


def _is_iob2(tags: Sequence[str]) -> bool:
    """Whether this is IOB2 of one type, which is the usual case and seen without a look at every
    word.
    """
    distinct = set(tags)
    distinct.discard(OUTSIDE)
    if len({tag[2:] for tag in distinct}) > 1 or not all(
        tag[:2] in ("B-", "I-") and tag[2:] for tag in distinct
    ):
        return False
    text = " ".join(tags)
    return not text.startswith("I-") and OUTSIDE + " I-" not in text


def _iob1(iob2: Sequence[str]) -> tuple[str, ...]:
    before = (OUTSIDE, *iob2)
    return tuple(
        "I-" + tag[2:] if tag[0] == "B" and tag[2:] != previous[2:] else tag
        for previous, tag in zip(before, iob2, strict=False)
    )


def _bounded(iob2: Sequence[str], letters: str) -> tuple[str, ...]:
    after = (*iob2[1:], OUTSIDE)
    return tuple(
        tag if tag == OUTSIDE else letters[2 * (following[0] != "I") + (tag[0] == "I")] + tag[1:]
        for tag, following in zip(iob2, after, strict=False)
    )
