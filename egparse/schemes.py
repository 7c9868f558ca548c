"""Tagging schemes for spans (IOB1, IOB2, IOBES and BILOU), and the spans that tags encode.

A tag is ``O``, outside of all spans, or a prefix, a hyphen and a type: ``B-LOC``. The schemes
differ in how they mark the ends of a span:

=====  =============================================================================
IOB1   I in a span, but B where a span begins right after another of the same type
IOB2   B at the first word of every span, I after it
IOBES  IOB2 with E at the last word and S on a span of one word
BILOU  IOBES with L for E and U for S
=====  =============================================================================

One interpretation fits all schemes, and repairs sequences that violate them: B, S and U begin a
span; I, E and L continue the span before if it is of the same type and has not ended, and begin a
span otherwise; E, L, S and U end a span. IOB1 and IOB2 need not be distinguished then, and an I
that continues no span begins one, as conlleval counts it. All functions take time linear in the
number of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

OUTSIDE = "O"

SCHEMES = ("iob1", "iob2", "iobes", "bilou")

_PREFIXES = {None: "BIESLU", "iob1": "BI", "iob2": "BI", "iobes": "BIES", "bilou": "BILU"}
_BOUNDARIES = {"iob1": "BIBI", "iob2": "BIBI", "iobes": "BISE", "bilou": "BIUL"}
"""The prefixes of the first of several words, an inner word, the only word, the last of several."""


class TagFault(NamedTuple):
    """A tag that the scheme does not have, at a word (from 0)."""

    position: int
    expected: str
    got: str


class Span(NamedTuple):
    """A span of the words ``start`` to ``end - 1`` (from 0)."""

    start: int
    end: int
    type: str


def to_iob2(tags: Sequence[str], scheme: str | None = None) -> tuple[str, ...]:
    """The same spans in IOB2; ``scheme`` is the scheme of the tags, None for any.

    Raises:
        ValueError: a tag that the scheme does not have; ``find_tag_fault`` finds it.
    """
    prefixes = _prefixes(scheme)
    if _is_iob2(tags):
        return tuple(tags)
    iob2 = []
    open_type = ""  # the type of the span that may be continued
    for tag in tags:
        if tag == OUTSIDE:
            open_type = ""
            iob2.append(tag)
            continue
        prefix, kind = tag[:1], tag[2:]
        if not kind or tag[1] != "-" or prefix not in prefixes:
            raise ValueError(f"not a tag of {scheme or 'any scheme'}: {tag!r}")
        iob2.append(("I-" if kind == open_type and prefix in "IEL" else "B-") + kind)
        open_type = "" if prefix in "ESLU" else kind
    return tuple(iob2)


def from_iob2(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """The same spans in another scheme.

    Raises:
        ValueError: an unknown scheme, or tags that are not IOB2.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"expected a scheme of {', '.join(SCHEMES)}, got {scheme!r}")
    iob2 = to_iob2(tags, "iob2")
    if scheme == "iob2":
        return iob2
    if scheme == "iob1":
        return _iob1(iob2)
    return _bounded(iob2, _BOUNDARIES[scheme])


def find_tag_fault(tags: Sequence[str], scheme: str | None = None) -> TagFault | None:
    """The first tag that ``to_iob2`` does not accept, or None."""
    prefixes = _prefixes(scheme)
    for position, tag in enumerate(tags):
        if tag != OUTSIDE and (tag[:1] not in prefixes or tag[1:2] != "-" or not tag[2:]):
            allowed = ", ".join(prefixes)
            return TagFault(position, f"a tag O or TYPE after one of {allowed} and a hyphen", tag)
    return None


def spans_of(iob2_tags: Sequence[str]) -> list[Span]:
    """The spans of a tag sequence, in order; an I tag that continues no span begins one."""
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


def _prefixes(scheme: str | None) -> str:
    if scheme not in _PREFIXES:
        raise ValueError(f"expected a scheme of {', '.join(SCHEMES)}, got {scheme!r}")
    return _PREFIXES[scheme]


def _is_iob2(tags: Sequence[str]) -> bool:
    """Whether these are IOB2 tags of a single type: the usual case, which is recognised without a
    loop over the words.
    """
    distinct = set(tags)
    distinct.discard(OUTSIDE)
    if not distinct:
        return True
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
