"""The HTML page of annotated sentences, with their entities, trees and probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import accumulate, pairwise
from typing import NamedTuple
from xml.etree.ElementTree import Element

from egparse import __version__
from egparse.evaluation.calibration import expected_accuracy
from egparse.schemes import Span, spans_of
from egparse.sentences import MISSING, Sentence, places_in
from egparse.service.pages.dependency_drawing import (
    MOST_WORDS,
    arc_text,
    draw,
    runs_right_to_left,
)
from egparse.service.pages.words import (
    as_text,
    differs,
    html,
    label_of,
    least,
    least_certain_head,
    node,
    opacity,
    parsed,
    probability,
    shown,
    shown_layers,
    visible,
)

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Browsers then load and run nothing: the page is complete."""

_TEMPLATE = (
    '<mark class="entity" style="background: linear-gradient({bg}{alpha}, {bg}{alpha}), #fff">'
    '{text}<span class="type">{label}</span></mark>'
)
_SAME_AS = {"PER": "PERSON", "MISC": "NORP", "NP": "PERSON", "VP": "ORG", "PP": "GPE"}
"""Types of other corpora -> types of displaCy with the same colour."""
_OTHER_COLOURS = ("#bfe1d9", "#f0d0ff", "#e4e7d2", "#ffeb80", "#9cc9cc", "#ff8197")

_SNIPPET = 120
_SHADES = (1.0, 0.75, 0.5, 0.25, 0.0)
_SAMPLES = (
    ("wrong", "another head, tag"),
    ("wrong-label", "another label"),
    ("input", "arc of the input"),
)


class View(NamedTuple):
    """A sentence to show, its number in the input (from 1), and another annotation to compare it
    with.
    """

    number: int
    sentence: Sentence
    compared: Sentence | None = None


class Options(NamedTuple):
    """What is shown of each sentence: whether entities are compared, how many words are drawn, and
    which layers below them (None: the default).
    """

    with_entities: bool = False
    words: int = MOST_WORDS
    layers: Sequence[str] | None = None


DEFAULTS = Options()


def annotation_page(
    views: Sequence[View],
    *,
    title: str,
    facts: Sequence[str] = (),
    language: str | None = None,
    words: int = MOST_WORDS,
    layers: Sequence[str] | None = None,
) -> str:
    """A complete HTML page, which loads nothing.

    ``facts`` are lines below the title, ``language`` is a code such as ``en``. Of each sentence the
    first ``words`` words are drawn, with their values in ``layers`` (of ``WORD_LAYERS``) below
    them; None stands for UPOS, or the first layer of tags that the sentence has instead.
    """
    with_entities = any(view.compared is not None and entities(view.compared) for view in views)
    options = Options(with_entities, words, layers)
    paragraphs = "".join(f"<p>{as_text(fact)}</p>" for fact in facts)
    page = parsed(
        f"<html><body><header><h1>{as_text(title)}</h1>{paragraphs}{_legend(views)}</header>"
        f'<nav aria-label="Sentences"><ol>{"".join(_entry(view, options) for view in views)}</ol>'
        "</nav><main/></body></html>"
    )
    if language:
        page.set("lang", language)
    page.insert(0, head(title))
    page.findall("body/main")[0].extend(article(view, options) for view in views)
    return html(page)


def head(title: str) -> Element:
    """The head of a page with its style, which loads nothing."""
    style = files("egparse.service.pages").joinpath("page.css").read_text(encoding="utf-8")
    return parsed(
        f'<head><meta charset="utf-8"/><meta http-equiv="Content-Security-Policy" '
        f'content="{as_text(_POLICY)}"/><meta name="viewport" content="width=device-width"/>'
        f'<meta name="generator" content="egparse {__version__}"/><title>{as_text(title)}</title>'
        f"<style>{as_text(style)}</style></head>"
    )


def _legend(views: Sequence[View]) -> str:
    """The meaning of the shades and colours that occur on the page."""
    items = ""
    if any(view.sentence.probabilities for view in views):
        shades = "".join(
            f'<span class="shade" style="opacity: {opacity(value):.2f}">{value:g}</span>'
            for value in _SHADES
        )
        items += (
            f"<p>Probability by shade: {shades}. Point at an arc, a word or an entity to read its "
            "probability.</p>"
        )
    if any(view.compared is not None for view in views):
        samples = "".join(f'<span class="sample {kind}">{name}</span>' for kind, name in _SAMPLES)
        items += f"<p>Differences from the input: {samples}</p>"
    return f'<div class="legend">{items}</div>'


def _entry(view: View, options: Options) -> str:
    accuracy = expected_accuracy(view.sentence)
    differing = sum(_differences(view, options).values())
    text = view.sentence.text
    text = text if len(text) <= _SNIPPET else text[:_SNIPPET] + "\N{HORIZONTAL ELLIPSIS}"
    notes = "" if accuracy is None else f'<span class="accuracy">{accuracy:.2f}</span>'
    if differing:
        notes += f'<span class="differing">{differing} \N{NOT EQUAL TO}</span>'
    number = f'<a href="#s{view.number}"><b>{view.number}</b>'
    return f"<li>{number}{notes}<bdi>{as_text(text)}</bdi></a></li>"


def article(view: View, options: Options = DEFAULTS) -> Element:
    """A sentence of a page: its text with entities, and its tree."""
    number, sentence, compared = view
    name = sentence.sentence_id
    texts = [mark(sentence)]
    if options.with_entities and compared is not None and entities(compared) != entities(sentence):
        other = mark(compared)
        other.attrib["class"] += " input"
        texts.append(other)
    shown_name = f'<bdi class="id">{as_text(name)}</bdi>' if name and name != str(number) else ""
    element = parsed(
        f'<article id="s{number}"><h2><a href="#s{number}">{number}</a>{shown_name}</h2></article>'
    )
    element.extend(texts)
    element.extend(node("p", {"class": "summary"}, line) for line in _summary(view, options))
    layers = shown_layers(sentence, options.layers)
    if layers or any(head >= 0 for head in sentence.heads):
        if options.words < len(sentence):
            cut = f"Drawn: the first {options.words:,} of {len(sentence):,} words."
            element.append(node("p", {"class": "summary cut"}, cut))
        tree = draw(sentence, number, compared, options.words, layers)
        label = f"Tree of sentence {number}"
        box = {"class": "tree", "tabindex": "0", "role": "region", "aria-label": label}
        element.append(node("div", {**box, "dir": tree.attrib["direction"]}, tree))
    element.tail = "\n"
    return element


def _summary(view: View, options: Options) -> Iterator[str]:
    """Lines on the expected accuracy of the sentence, and on differences from the input."""
    sentence = view.sentence
    accuracy, word = expected_accuracy(sentence), least_certain_head(sentence)
    if accuracy is not None:
        what = "heads" if word is not None else "values"
        line = f"expected accuracy of {what}: {100 * accuracy:.1f} %"
        value = probability(sentence, "heads", word) if word is not None else None
        if word is not None and value is not None:
            arc = arc_text(sentence, word, sentence.heads[word], label_of(sentence, word))
            line += f"; least certain: {arc} {shown(value)}"
        yield line
    if view.compared is not None:
        parts = [
            f"{count} {name if count == 1 else plural}"
            for (name, plural), count in _differences(view, options).items()
            if count
        ]
        yield f"Differences from the input: {', '.join(parts) or 'none'}"


def _differences(view: View, options: Options) -> Mapping[tuple[str, str], int]:
    """The numbers of words with another head and another label (of any head), of other tags and
    lemmas below the words, and of entities that only one annotation has; the keys are names in
    singular and plural.
    """
    _, sentence, compared = view
    words, layers = range(len(sentence)), shown_layers(sentence, options.layers)
    differing = {
        layer: sum(differs(sentence, compared, word, layer) for word in words) for layer in layers
    }
    lemmas = differing.pop("lemmas", 0)
    spans = (
        set(entities(sentence)) ^ set(entities(compared))
        if options.with_entities and compared is not None
        else ()
    )
    return {
        ("head", "heads"): sum(differs(sentence, compared, word, "heads") for word in words),
        ("label", "labels"): sum(differs(sentence, compared, word, "deprels") for word in words),
        ("tag", "tags"): sum(differing.values()),
        ("lemma", "lemmas"): lemmas,
        ("entity on one side", "entities on one side"): len(spans),
    }


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
