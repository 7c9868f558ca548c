"""What pages say of words: values and their probabilities, differences from another annotation, and
markup whose text is escaped.

Words count from 0. Text of a corpus cannot become markup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import islice
from xml.etree.ElementTree import Element, fromstring, tostring

from egparse.io.blocks import SPANS_KEY
from egparse.io.conllu import PROBABILITY_KEYS
from egparse.layers import LAYERS, WORD_TAGS
from egparse.sentences import MISSING, MISSING_HEAD, ROW_KEYS, Sentence

FAINTEST = 0.3
"""The opacity at probability 0, at which text is still readable."""

_KEYS = {f"{key}=": layer for layer, key in PROBABILITY_KEYS.items()} | {f"P{SPANS_KEY}=": "spans"}

WORD_LAYERS = {
    name: layer.title if layer.kind == "tag" else ROW_KEYS[name]
    for name, layer in LAYERS.items()
    if layer.kind in ("tag", "lemma")
}
"""The layers with one value a word, tags and lemmas -> what a value is called."""

_NO_CHARACTERS = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Code points that XML 1.0 excludes (section 2.2): controls, lone surrogates, and U+FFFE and
U+FFFF.
"""


def with_probabilities_of_misc(sentence: Sentence) -> Sentence:
    """The sentence with the probabilities that ``egparse parse --marginals`` wrote to its MISC."""
    read: dict[str, list[float | None]] = {}
    for word, cell in enumerate(sentence.misc):
        for item in cell.split("|"):
            key, _, value = item.partition("=")
            layer, probability = _KEYS.get(key + "="), _probability(value)
            if layer is not None and probability is not None:
                read.setdefault(layer, [None] * len(sentence))[word] = probability
    return replace(sentence, probabilities=read) if read else sentence


def probability(sentence: Sentence, layer: str, word: int) -> float | None:
    """The probability of a word's value in a layer, None if unknown; words count from 0."""
    values = (sentence.probabilities or {}).get(layer)
    return None if values is None else values[word]


def least_certain_head(sentence: Sentence) -> int | None:
    """The word (from 0) with the least probable head, None if no head has a probability."""
    probabilities = (sentence.probabilities or {}).get("heads", ())
    known = [
        (value, word)
        for word, (value, head) in enumerate(zip(probabilities, sentence.heads, strict=False))
        if value is not None and head != MISSING_HEAD
    ]
    return min(known)[1] if known else None


def least(values: Sequence[float | None]) -> float | None:
    """The least known value, None if none is known."""
    return min((value for value in values if value is not None), default=None)


def opacity(value: float | None) -> float:
    """The opacity that shows a probability: 1 at probability 1 and where it is unknown."""
    return 1.0 if value is None else FAINTEST + (1 - FAINTEST) * value


def shown(value: float) -> str:
    """A probability with three decimals."""
    return f"{value:.3f}"


def _probability(text: str) -> float | None:
    """A text as a number from 0 to 1, else None: other tools may use the same keys of MISC."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def label_of(sentence: Sentence, word: int) -> str:
    """The label of the arc to a word, empty if it is missing."""
    label = sentence.deprels[word] if sentence.deprels else MISSING
    return "" if label == MISSING else label


def differs(sentence: Sentence, compared: Sentence | None, word: int, layer: str) -> bool:
    """Whether both annotations have a value for the word in a layer, and different ones."""
    if compared is None:
        return False
    columns = [getattr(one, layer) for one in (sentence, compared)]
    first, other = (column[word] if column else MISSING for column in columns)
    return first != other and not {first, other} & {MISSING, MISSING_HEAD}


def shown_layers(sentence: Sentence, asked: Sequence[str] | None = None) -> tuple[str, ...]:
    """The layers that are drawn below the words: those of ``asked`` in which some word has a value,
    or else the first layer of tags in which one has.
    """
    known = (
        layer
        for layer in (WORD_TAGS if asked is None else asked)
        if any(value != MISSING for value in getattr(sentence, layer))
    )
    return tuple(islice(known, 1) if asked is None else known)


def tag_of(sentence: Sentence, layer: str, word: int) -> str:
    """The value of a word in a layer of ``WORD_LAYERS``, ``MISSING`` if it has none."""
    tags = getattr(sentence, layer)
    return str(tags[word]) if tags else MISSING


def node(tag: str, attributes: Mapping[str, str], *children: Element | str) -> Element:
    """An element with attributes and children, which are texts or elements."""
    element = Element(tag, {name: visible(value) for name, value in attributes.items()})
    for child in children:
        if isinstance(child, Element):
            element.append(child)
        elif len(element):
            element[-1].tail = (element[-1].tail or "") + visible(child)
        else:
            element.text = (element.text or "") + visible(child)
    return element


def visible(text: str) -> str:
    """The text with a replacement character for every code point that XML excludes."""
    return _NO_CHARACTERS.sub("\ufffd", text)


def as_text(text: str) -> str:
    """The text, escaped; parsers of XML would take a carriage return for a line end."""
    return escape(visible(text)).replace("\r", "&#13;")


def parsed(markup: str) -> Element:
    """Well-formed markup as an element without namespaces: HTML identifies SVG and links by their
    local names.
    """
    root = fromstring(markup)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(name): value for name, value in element.attrib.items()}
    return root


def html(page: Element) -> str:
    """The text of a complete page."""
    return f"<!DOCTYPE html>\n{tostring(page, encoding='unicode', method='html')}\n"


def _local(name: str) -> str:
    return name.rpartition("}")[2]
