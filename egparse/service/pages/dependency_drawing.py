"""A sentence's words, tags and arcs as SVG, with probabilities by shade and on hover.

displaCy places words, arcs and labels. Added to its drawing are probabilities, the arc from the
root, tags and lemmas in lines below the words, multiword tokens as brackets below these, and
differences from another annotation of the sentence. Of a long sentence the first words
are drawn: displaCy's time grows with the sum of the lengths of arcs, and browsers draw no image of
millions of pixels. Arcs to them from heads beyond are drawn as arrows from above, as that from the
root, but dashed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from rich.cells import cell_len

from egparse.io.tree_format import RIGHT_TO_LEFT, isolated
from egparse.sentences import MISSING, MISSING_HEAD, Sentence, SurfaceToken
from egparse.service.pages.words import (
    WORD_LAYERS,
    as_text,
    differs,
    label_of,
    node,
    opacity,
    parsed,
    probability,
    shown,
    tag_of,
    visible,
)

MOST_WORDS = 500
"""Words of a sentence that are drawn, unless more are asked for."""

LONGEST_FORM = 20
"""Columns of a form that are drawn; the whole form is shown on hover."""

_WORD_SPACING = 26
"""Pixels from the ends of arcs to the base line of the words."""
_ROOM_BELOW = 12
_FIRST_LINE, _LINE = 24, 16
"""Pixels from the base line of the words to that of the first line below them, and from one such
line to the next.
"""
_BRACKET, _BRACKET_TEXT = 7, 18
"""Pixels from the top of a bracket below a multiword token to its foot, and to the base line of the
token.
"""
_COLUMN_WIDTH, _LETTER_WIDTH = 9, 7
"""Pixels of a column of a form, and of a letter of a tag or label."""
_GAP, _ARC_GAP = 16, 32
"""Pixels between two words or tags, and from a label to the words that its arc connects."""
_NARROWEST = 64
_ROOT_GAP = 5
"""Pixels from an arrow from above to its label."""
_LEVEL = 19
"""Pixels from one level of arcs to the next: a label's line."""
_ARROW_SPACING, _ARROW_WIDTH = 10, 6
_FARTHEST = 0.15
"""The greatest distance from the centre of a word to the end of an arc, as a share of the distance
of words.
"""
_CORNER = 6
"""The radius of the corners of arcs."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class _Arc(NamedTuple):
    """An arc to ``word`` (from 0) from ``head`` (from 1, 0: the root), of the sentence or of the
    annotation that it is compared with (``of_input``).
    """

    word: int
    head: int
    label: str
    of_input: bool = False


def draw(
    sentence: Sentence,
    number: int,
    compared: Sentence | None = None,
    words: int = MOST_WORDS,
    layers: Sequence[str] = (),
) -> Element:
    """The drawing of the first ``words`` words of a sentence, with their values in some ``layers``
    of ``WORD_LAYERS`` below them; ``number`` makes the identifiers unique on the page.

    Heads and labels that differ from those of ``compared`` are marked, and its arcs are drawn too.
    """
    words = min(words, len(sentence))
    arcs = list(_arcs(sentence, compared, words))
    drawn = [arc for arc in arcs if 0 < arc.head <= words]
    below = [_lines(sentence, layers, word) for word in range(words)]
    svg = _displacy(sentence, drawn, words, [text for lines in below for _, text in lines])
    for element in svg.iter():
        element.tail = None  # blanks between elements would move words off their centres
    tokens, groups = svg.findall("text"), svg.findall("g")
    base = float(tokens[0].attrib["y"])
    ends = base - _WORD_SPACING
    levels = _levels(groups)
    top = ends - ((1 + max(levels, default=0)) * _LEVEL if arcs else 0)
    first_lines, bottom = _first_lines(layers, below, base)
    centres = []
    for word, (token, lines) in enumerate(zip(tokens, below, strict=True)):
        centres.append(_finish_word(token, sentence, word, compared))
        for layer, y in first_lines.items():
            values = [text for name, text in lines if name == layer]
            _add_lines(token, sentence, word, compared, layer, values, y)
    for place, (group, arc, level) in enumerate(zip(groups, drawn, levels, strict=True)):
        _finish_arc(group, f"s{number}-a{place}", ends - level * _LEVEL)
        _annotate_arc(group, sentence, arc, compared)
    right = 0.0
    for arc in arcs:
        if not 0 < arc.head <= words:
            right = max(right, centres[arc.word] + _ROOT_GAP + len(arc.label) * _LETTER_WIDTH)
            arrow = _root_arrow(centres[arc.word], top, ends, arc.label)
            annotated = _annotate_arc(arrow, sentence, arc, compared)
            if arc.head:
                annotated.attrib["class"] += " beyond"
            svg.append(annotated)
    brackets = [token for token in sentence.tokens if token.first < words]
    svg.extend(_bracket(sentence, token, centres, bottom) for token in brackets)
    _fit(svg, centres, top, bottom + _BRACKET_TEXT * bool(brackets) + _ROOM_BELOW, right)
    return svg


def runs_right_to_left(sentence: Sentence) -> bool:
    """Whether most letters of the sentence belong to right-to-left scripts."""
    kinds = [unicodedata.bidirectional(letter) for form in sentence.forms for letter in form]
    return sum(kind in RIGHT_TO_LEFT for kind in kinds) > kinds.count("L")


def arc_text(sentence: Sentence, word: int, head: int, label: str) -> str:
    """An arc as text: its head, the word (from 0) and its label."""
    source = isolated(sentence.forms[head - 1]) if head else "ROOT"
    target = isolated(sentence.forms[word])
    return f"{source} \N{RIGHTWARDS ARROW} {target}" + (f" ({label})" if label else "")


def _arcs(sentence: Sentence, compared: Sentence | None, words: int) -> Iterator[_Arc]:
    """The arcs to the first ``words`` words, and other heads of the other annotation."""
    for word, head in enumerate(islice(sentence.heads, words)):
        if head != MISSING_HEAD:
            yield _Arc(word, head, label_of(sentence, word))
    for word in range(words):
        if compared is not None and differs(sentence, compared, word, "heads"):
            yield _Arc(word, compared.heads[word], label_of(compared, word), of_input=True)


def _displacy(sentence: Sentence, arcs: list[_Arc], words: int, below: Sequence[str]) -> Element:
    """The drawing by displaCy: a ``text`` for each word and a ``g`` for each arc, with room for
    the texts that are to stand ``below`` the words.

    displaCy escapes forms, but not labels.
    """
    from spacy.displacy.render import DependencyRenderer

    forms = [_shortened(form) for form in islice(sentence.forms, words)]
    word_table = [{"text": form, "tag": ""} for form in forms]
    arc_table = [
        {
            "start": min(arc.word, arc.head - 1),
            "end": max(arc.word, arc.head - 1),
            "label": as_text(arc.label),
            "dir": "left" if arc.word < arc.head - 1 else "right",
        }
        for arc in arcs
    ]
    direction = "rtl" if runs_right_to_left(sentence) else "ltr"
    drawing = {"words": word_table, "arcs": arc_table, "settings": {"direction": direction}}
    distance = _distance(forms, below, arcs)
    spacing = float(_ARROW_SPACING)
    while True:
        options = {
            "compact": True,
            "distance": distance,
            "offset_x": distance // 2,
            "word_spacing": _WORD_SPACING,
            "arrow_stroke": 1.5,
            "arrow_width": _ARROW_WIDTH,
            "arrow_spacing": spacing,
        }
        renderer = DependencyRenderer(options=options)
        renderer.get_levels = _levels_of  # type: ignore[method-assign]
        svg = parsed(renderer.render([drawing]).strip())
        # displaCy moves the ends of low arcs to the left by a quarter of the spacing a level: too
        # far in deep trees.
        limit = 4 * _FARTHEST * distance / max(1, *_levels(svg.findall("g")), 1)
        if spacing <= limit:
            return svg
        spacing = limit


def _levels_of(arcs: Sequence[Mapping[str, Any]]) -> dict[tuple[int, int, str], int]:
    """Levels as displaCy gives them, the shortest arc first; but in place of the order of hashes,
    which differs from run to run, arcs of one length are taken from left to right.
    """
    levels: dict[tuple[int, int, str], int] = {}
    highest = [0] * max((arc["end"] for arc in arcs), default=0)
    different = {tuple(sorted(arc.items())): arc for arc in arcs}.values()
    for arc in sorted(different, key=lambda arc: (arc["end"] - arc["start"], arc["start"])):
        words = range(arc["start"], arc["end"])
        level = 1 + max(highest[word] for word in words)
        for word in words:
            highest[word] = level
        levels[arc["start"], arc["end"], arc["label"]] = level
    return levels


def _distance(forms: Sequence[str], below: Sequence[str], arcs: Sequence[_Arc]) -> int:
    """Pixels from word to word: room for the widest form, the widest text below the words, and for
    labels of arcs between neighbours.

    An even number, so that half of it is whole.
    """
    columns = max(map(cell_len, forms)) * _COLUMN_WIDTH + _GAP
    letters = max(map(cell_len, below), default=0) * _LETTER_WIDTH + _GAP
    label = max((len(arc.label) for arc in arcs), default=0) * _LETTER_WIDTH + _ARC_GAP
    return 2 * round(max(_NARROWEST, columns, letters, label) / 2)


def _levels(groups: Sequence[Element]) -> list[int]:
    """The level of each arc, from 1: displaCy draws a level at one height."""
    heights = [_corners(group)[2] for group in groups]
    ranks = {height: rank for rank, height in enumerate(sorted(set(heights), reverse=True), 1)}
    return [ranks[height] for height in heights]


def _corners(group: Element) -> tuple[float, float, float, float]:
    """Where displaCy's compact arc starts, its foot and its height, and where it ends."""
    start, foot, _, height, end, *_ = map(float, _NUMBER.findall(_path(group).attrib["d"]))
    return start, foot, height, end


def _path(group: Element) -> Element:
    return group.findall("path")[0]


def _lines(sentence: Sentence, layers: Sequence[str], word: int) -> list[tuple[str, str]]:
    """Layer and text of each line below a word: each feature has its line."""
    found = []
    for layer in layers:
        value = tag_of(sentence, layer, word)
        if layer != "feats":
            found.append((layer, _shortened(value)))
        elif value != MISSING:
            found += [(layer, feature) for feature in value.split("|")]
    return found


def _first_lines(
    layers: Sequence[str], below: Sequence[Sequence[tuple[str, str]]], base: float
) -> tuple[dict[str, float], float]:
    """The base line of the first line of each layer, where words have the base line ``base``, and
    where the lines end.
    """
    y, found = base + _FIRST_LINE, {}
    for layer in layers:
        found[layer] = y
        y += _LINE * max([name for name, _ in lines].count(layer) for lines in below)
    return found, y - _LINE / 2


def _finish_word(token: Element, sentence: Sentence, word: int, compared: Sentence | None) -> float:
    """Show all tags of a word on hover; returns the centre of the word."""
    form, tag = token.findall("tspan")
    token.remove(tag)
    token.insert(0, node("title", {}, "\n".join(_word_lines(sentence, word, compared))))
    return float(form.attrib["x"])


def _add_lines(
    token: Element,
    sentence: Sentence,
    word: int,
    compared: Sentence | None,
    layer: str,
    lines: Sequence[str],
    y: float,
) -> None:
    """Write a word's value in a layer below the word, shaded, and marked if it differs."""
    is_other = differs(sentence, compared, word, layer)
    attributes = {
        "class": "displacy-tag wrong" if is_other else "displacy-tag",
        "x": token.findall("tspan")[0].attrib["x"],
        "fill-opacity": f"{opacity(probability(sentence, layer, word)):.2f}",
    }
    for place, line in enumerate(lines):
        token.append(node("tspan", {**attributes, "y": f"{y + place * _LINE:g}"}, line))


def _bracket(
    sentence: Sentence, token: SurfaceToken, centres: Sequence[float], top: float
) -> Element:
    """A bracket below the words of a multiword token, with the token."""
    ends = centres[token.first], centres[min(token.last, len(centres) - 1)]
    reach = abs(centres[1] - centres[0]) / 3 if len(centres) > 1 else _NARROWEST / 3
    left, right = min(ends) - reach, max(ends) + reach
    words = " ".join(map(isolated, sentence.forms[token.first : token.last + 1]))
    foot = top + _BRACKET + _BRACKET_TEXT
    whole, form = as_text(f"{isolated(token.form)} = {words}"), as_text(_shortened(token.form))
    return parsed(
        f'<g class="multiword"><title>{whole}</title>'
        f'<path d="M{left:g},{top:g} v{_BRACKET} H{right:g} v-{_BRACKET}"/>'
        f'<text x="{(left + right) / 2:g}" y="{foot:g}">{form}</text></g>'
    )


def _word_lines(sentence: Sentence, word: int, compared: Sentence | None) -> Iterator[str]:
    yield sentence.forms[word]
    for layer, name in WORD_LAYERS.items():
        tag = tag_of(sentence, layer, word)
        if tag != MISSING:
            line = f"{name} {tag}" + _in_brackets(probability(sentence, layer, word))
            if compared is not None and differs(sentence, compared, word, layer):
                line += f"; input: {tag_of(compared, layer, word)}"
            yield line


def _finish_arc(group: Element, name: str, height: float) -> None:
    """Set the height of an arc, round its corners, name it for its label, and add a wide path for
    hovering.
    """
    start, foot, _, end = _corners(group)
    left, right = sorted((start, end))  # from left to right, for the label reads along it
    shape = (
        f"M{left:g},{foot:g} V{height + _CORNER:g} q0,-{_CORNER} {_CORNER},-{_CORNER} "
        f"H{right - _CORNER:g} q{_CORNER},0 {_CORNER},{_CORNER} V{foot:g}"
    )
    _path(group).attrib.update({"id": name, "d": shape})
    for text in group.findall("text"):
        text.attrib.pop("style", None)
        for label in text.findall("textPath"):
            label.attrib.update({"href": f"#{name}", "side": "left"})
    group.insert(0, node("path", {"class": "hover", "d": shape}))


def _root_arrow(centre: float, top: float, foot: float, label: str) -> Element:
    """The arrow from the root, from above: displaCy draws none."""
    width, line = _ARROW_WIDTH - 2, f"M{centre:g},{top:g} V{foot:g}"
    return parsed(
        f'<g class="displacy-arrow"><path class="hover" d="{line}"/>'
        f'<path class="displacy-arc" d="{line}" stroke-width="1.5px"/>'
        f'<text x="{centre + _ROOT_GAP:g}" y="{top + 12:g}" direction="ltr">'
        f'<tspan class="displacy-label">{as_text(label)}</tspan></text>'
        f'<path class="displacy-arrowhead" d="M{centre:g},{foot + 2:g} '
        f"L{centre - width:g},{foot - _ARROW_WIDTH:g} {centre + width:g},{foot - _ARROW_WIDTH:g}"
        '" fill="currentColor"/></g>'
    )


def _annotate_arc(
    group: Element, sentence: Sentence, arc: _Arc, compared: Sentence | None
) -> Element:
    """Shade an arc and its label by probability, mark differences, add the text for hovering."""
    kind, lines = "", [arc_text(sentence, arc.word, arc.head, arc.label)]
    if arc.of_input:
        kind = " input"
        lines.append("in the input")
    else:
        head, label = (probability(sentence, layer, arc.word) for layer in ("heads", "deprels"))
        group.set("opacity", f"{opacity(head):.2f}")
        for text in group.iter():
            if text.get("class") == "displacy-label":
                text.set("fill-opacity", f"{opacity(label):.2f}")
        lines += [f"head {shown(head)}"] if head is not None else []
        lines += [f"label, given the head, {shown(label)}"] if label is not None else []
        if compared is not None and differs(sentence, compared, arc.word, "heads"):
            kind = " wrong"
            other = compared.heads[arc.word]
            lines.append(
                f"input: {arc_text(sentence, arc.word, other, label_of(compared, arc.word))}"
            )
        elif compared is not None and differs(sentence, compared, arc.word, "deprels"):
            kind = " wrong-label"
            lines.append(f"input: {label_of(compared, arc.word)}")
    group.set("class", "displacy-arrow" + kind)
    group.insert(0, node("title", {}, "\n".join(lines)))
    return group


def _fit(svg: Element, centres: Sequence[float], top: float, bottom: float, right: float) -> None:
    """Crop the drawing to its contents, which reach at least to ``right``, and leave colours and
    fonts to the page.
    """
    slot = abs(centres[1] - centres[0]) if len(centres) > 1 else 2 * centres[0]
    left, height = min(centres) - slot / 2, bottom - top
    width = max(len(centres) * slot, right - left)
    svg.attrib = {
        "class": "displacy",
        "role": "img",
        "direction": svg.attrib["direction"],
        "viewBox": f"{left:g} {top:g} {width:g} {height:g}",
        "width": f"{width:g}",
        "height": f"{height:g}",
    }


def _in_brackets(value: float | None) -> str:
    return "" if value is None else f" ({shown(value)})"


def _shortened(form: str) -> str:
    """The form as drawn: truncated if it is too wide."""
    form = visible(form)
    widths = [0, *accumulate(map(cell_len, form))]
    if widths[-1] <= LONGEST_FORM:
        return form
    kept = max(end for end, width in enumerate(widths) if width < LONGEST_FORM)
    return form[:kept] + "\N{HORIZONTAL ELLIPSIS}"
