"""A sentence's text with marked entities, by displaCy, with probabilities by shade and on hover."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, pairwise
from xml.etree.ElementTree import Element

from egparse.schemes import Span, spans_of
from egparse.sentences import MISSING, Sentence, places_in
from egparse.service.pages.certainty import least, opacity, probability, shown
from egparse.service.pages.dependency_drawing import runs_right_to_left
from egparse.service.pages.markup import as_text, parsed, visible

_TEMPLATE = (
    '<mark class="entity" style="background: linear-gradient({bg}{alpha}, {bg}{alpha}), #fff">'
    '{text}<span class="type">{label}</span></mark>'
)
_SAME_AS = {"PER": "PERSON", "MISC": "NORP", "NP": "PERSON", "VP": "ORG", "PP": "GPE"}
"""Types of other corpora -> types of displaCy with the same colour."""
_OTHER_COLOURS = ("#bfe1d9", "#f0d0ff", "#e4e7d2", "#ffeb80", "#9cc9cc", "#ff8197")


def mark(sentence: Sentence) -> Element:
    """The sentence as running text in which spans are marked with their types.

    The probability shown for a span is the least of its tags, an upper bound of that of the span.
    """
    from spacy import displacy

    spans = entities(sentence)
    text, places = sentence.text, places_of_words(sentence)
    probabilities = [
        least([probability(sentence, "spans", word) for word in range(start, end)])
        for start, end, _ in spans
    ]
    entity_table, marked_to = [], 0
    for span, value in zip(spans, probabilities, strict=True):
        # two entities may share a multiword token: it is marked for the first of them
        start = max(marked_to, places[span.start][0])
        while text[start : start + 1].isspace():
            start += 1
        marked_to = max(start, places[span.end - 1][1])
        entity_table.append(
            {
                "start": start,
                "end": marked_to,
                "label": as_text(span.type),
                "params": {"alpha": f"{round(255 * opacity(value)):02x}"},
            }
        )
    direction = "rtl" if runs_right_to_left(sentence) else "ltr"
    marked = parsed(
        displacy.render(
            {
                "text": visible(text).replace("\n", " "),
                "ents": entity_table,
                "settings": {"direction": direction},
            },
            style="ent",
            manual=True,
            jupyter=False,
            options={"template": _TEMPLATE, "colors": _colours(span.type for span in spans)},
        )
    )
    marked.attrib = {"class": "entities", "dir": direction}
    for element, span, value in zip(marked.findall("mark"), spans, probabilities, strict=True):
        element.set("title", visible(span.type) + (f" {shown(value)}" if value is not None else ""))
    return marked


def entities(sentence: Sentence) -> list[Span]:
    """The spans of a sentence."""
    return spans_of(["O" if tag == MISSING else tag for tag in sentence.spans])


def places_of_words(sentence: Sentence) -> list[tuple[int, int]]:
    """Start and end of each word in the text of its sentence.

    A word of a multiword token has a place inside of it if its words spell the token (``ca`` and
    ``n't``), and else that of the whole token (``de`` and ``le`` that of ``du``).
    """
    tokens = sentence.surface_tokens
    ranges = places_in(sentence.text, (token.form for token in tokens))
    places: list[tuple[int, int]] = []
    for token, (start, end) in zip(tokens, ranges, strict=True):
        words = sentence.forms[token.first : token.last + 1]
        if len(words) > 1 and sum(map(len, words)) == end - start and "".join(words) == token.form:
            places += pairwise(accumulate(map(len, words), initial=start))
        else:
            places += [(start, end)] * len(words)
    return places


def _colours(types: Iterable[str]) -> dict[str, str]:
    """A colour for each type, also for types that displaCy has no colour for."""
    from spacy.displacy.render import DEFAULT_LABEL_COLORS

    colours: dict[str, str] = {}
    for name in types:
        known = DEFAULT_LABEL_COLORS.get(_SAME_AS.get(name.upper(), name.upper()))
        other = _OTHER_COLOURS[sum(map(ord, name)) % len(_OTHER_COLOURS)]  # the same on every page
        colours[as_text(name)] = known or other
    return colours
