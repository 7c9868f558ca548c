"""A sentence's text with marked entities, by displaCy, with probabilities by shade and on hover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from xml.etree.ElementTree import Element

from egparse.pages.certainty import least, opacity, probability, shown
from egparse.pages.dependency_drawing import runs_right_to_left
from egparse.pages.markup import as_text, parsed, visible
from egparse.schemes import Span, spans_of
from egparse.sentences import MISSING, Sentence
from egparse.writers.surface import text_of_sentence, text_of_tokens

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
    text, places = running_text(sentence)
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


def running_text(sentence: Sentence) -> tuple[str, list[tuple[int, int]]]:
    """The sentence as it was written, and start and end of each word in it.

    This is the text of the source if it contains all tokens in order; otherwise the tokens with the
    blanks that MISC says. A word of a multiword token has a place inside of it if its words spell
    the token (``ca`` and ``n't``), and else that of the whole token (``de`` and ``le`` that of
    ``du``).
    """
    places: list[tuple[int, int]] = []
    for text in (text_of_sentence(sentence), text_of_tokens(sentence)):
        places, end = [], 0
        for words, form in _tokens(sentence):
            start = text.find(form, end)
            if start < 0 or text[end:start].strip():
                break
            end = start + len(form)
            places += _places_of_words(words, form, start)
        else:
            break
    return text, places


def _tokens(sentence: Sentence) -> Iterator[tuple[Sequence[str], str]]:
    """The words of each token, and the token."""
    done = 0
    for token in sentence.tokens:
        for form in sentence.forms[done : token.first]:
            yield (form,), form
        done = token.last + 1
        yield sentence.forms[token.first : done], token.form
    for form in sentence.forms[done:]:
        yield (form,), form


def _places_of_words(words: Sequence[str], token: str, start: int) -> list[tuple[int, int]]:
    if "".join(words) != token:
        return [(start, start + len(token))] * len(words)
    ends = list(accumulate(map(len, words), initial=start))
    return list(pairwise(ends))


def _colours(types: Iterable[str]) -> dict[str, str]:
    """A colour for each type, also for types that displaCy has no colour for."""
    from spacy.displacy.render import DEFAULT_LABEL_COLORS

    colours: dict[str, str] = {}
    for name in types:
        known = DEFAULT_LABEL_COLORS.get(_SAME_AS.get(name.upper(), name.upper()))
        other = _OTHER_COLOURS[sum(map(ord, name)) % len(_OTHER_COLOURS)]  # the same on every page
        colours[as_text(name)] = known or other
    return colours
