"""A sentence's text with marked entities, by displaCy, with probabilities by shade and on hover."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element

from egparse.pages.certainty import least, opacity, probability, shown
from egparse.pages.dependency_drawing import runs_right_to_left
from egparse.pages.markup import as_text, parsed, visible
from egparse.schemes import Span, spans_of
from egparse.sentences import MISSING, Sentence

_TEMPLATE = (
    '<mark class="entity" style="background: linear-gradient({bg}{alpha}, {bg}{alpha}), #fff">'
    '{text}<span class="type">{label}</span></mark>'
)
_TEXT = "# text = "
_SAME_AS = {"PER": "PERSON", "MISC": "NORP", "NP": "PERSON", "VP": "ORG", "PP": "GPE"}
"""Types of other corpora -> types of displaCy with the same colour."""
_OTHER_COLOURS = ("#bfe1d9", "#f0d0ff", "#e4e7d2", "#ffeb80", "#9cc9cc", "#ff8197")


def mark(sentence: Sentence) -> Element:
    """The sentence as running text in which spans are marked with their types.

    The probability shown for a span is the least of its tags, an upper bound of that of the span.
    """
    from spacy import displacy

    spans = entities(sentence)
    text, places = running_text(sentence)
    probabilities = [
        least([probability(sentence, "spans", word) for word in range(start, end)])
        for start, end, _ in spans
    ]
    entity_table = [
        {
            "start": places[span.start][0],
            "end": places[span.end - 1][1],
            "label": as_text(span.type),
            "params": {"alpha": f"{round(255 * opacity(value)):02x}"},
        }
        for span, value in zip(spans, probabilities, strict=True)
    ]
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


def running_text(sentence: Sentence) -> tuple[str, list[tuple[int, int]]]:
    """The sentence as text, and start and end of each word in it.

    This is the text of the source if it contains all words in order. Otherwise (the words of ``du``
    are ``de`` and ``le``), the words are joined with blanks, except at SpaceAfter=No.
    """
    text = source_text(sentence) or ""
    places: list[tuple[int, int]] = []
    end = 0
    for form in sentence.forms:
        start = end
        while text[start : start + 1].isspace():
            start += 1
        end = start + len(form)
        if text[start:end] != form:
            return _joined(sentence)
        places.append((start, end))
    return text, places


def source_text(sentence: Sentence) -> str | None:
    """The text in the CoNLL-U comment ``# text``, if there is one."""
    lines = sentence.source.lines if sentence.source else ()
    return next((line.removeprefix(_TEXT) for line in lines if line.startswith(_TEXT)), None)


def _joined(sentence: Sentence) -> tuple[str, list[tuple[int, int]]]:
    text, places = "", []
    for word, form in enumerate(sentence.forms):
        places.append((len(text), len(text) + len(form)))
        spaced = not sentence.misc or "SpaceAfter=No" not in sentence.misc[word].split("|")
        text += form + (" " if spaced else "")
    return text, places


def _colours(types: Iterable[str]) -> dict[str, str]:
    """A colour for each type, also for types that displaCy has no colour for."""
    from spacy.displacy.render import DEFAULT_LABEL_COLORS

    colours: dict[str, str] = {}
    for name in types:
        known = DEFAULT_LABEL_COLORS.get(_SAME_AS.get(name.upper(), name.upper()))
        other = _OTHER_COLOURS[sum(map(ord, name)) % len(_OTHER_COLOURS)]  # the same on every page
        colours[as_text(name)] = known or other
    return colours
