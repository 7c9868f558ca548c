"""The page of a service: a form for a text, and the words, tags and trees that a model finds in it.

It loads and runs nothing; the form asks for the page again, with the text and the model in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import islice
from xml.etree.ElementTree import Element

from egparse.sentences import MISSING, Sentence
from egparse.service.pages.annotation_page import View, article, head
from egparse.service.pages.markup import html, node
from egparse.service.rest.process import Task, annotated, served_model
from egparse.service.rest.served_models import ServedModel, ServedModels
from egparse.service.rest.turns import Steps
from egparse.text.plain_formats import TEXT

POLICY = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Headers by which a browser loads and runs nothing, and sends the form to the service alone."""

MOST_SENTENCES = 50
"""Sentences of a text that are annotated and drawn."""

_COLUMNS = {
    "id": "",
    "form": "word",
    "lemma": "lemma",
    "upos": "UPOS",
    "xpos": "XPOS",
    "head": "head",
    "deprel": "label",
    "feats": "FEATS",
}
"""Columns of ``Sentence.rows`` that are shown, and their titles."""

_NUMBERS = ("id", "head")


def page(models: ServedModels, parameters: Mapping[str, str]) -> Steps[bytes]:
    """The page; the parameters are ``data``, the text, and ``model``, the name of a model.

    Raises:
        Refused: a model that is not served, or a text that its model cannot read.
    """
    served, text = served_model(models, parameters), parameters.get("data", "")
    sentences: list[Sentence] = []
    if text.strip():
        shades = served.model.probabilistic
        task = Task(served, text, TEXT, served.tags, served.parses, probabilities=shades)
        for found in annotated(task):
            sentences += found
            yield
            if len(sentences) > MOST_SENTENCES:
                break
    articles = []
    for number, sentence in enumerate(islice(sentences, MOST_SENTENCES), 1):
        articles.append(_article(number, sentence, served.model.language))
        yield
    facts = []
    if len(sentences) > MOST_SENTENCES:
        facts.append(node("p", {}, f"The first {MOST_SENTENCES} sentences of a longer text."))
    return html(_document(_form(models, served, text), [*facts, *articles])).encode()


def _document(form: Element, found: Sequence[Element]) -> Element:
    top = head("egparse")
    style = files("egparse.service.rest").joinpath("page.css").read_text(encoding="utf-8")
    top.append(node("style", {}, style))
    header = node(
        "header",
        {},
        node("h1", {}, "egparse"),
        node("p", {}, "Words, tags and trees of a text, fainter where less probable."),
    )
    footer = node(
        "footer",
        {},
        "For programs: ",
        node("a", {"href": "models"}, "models"),
        ", and process, as UDPipe's service has it.",
    )
    return node(
        "html",
        {"lang": "en"},
        top,
        node("body", {}, header, node("main", {}, form, *found), footer),
    )


def _form(models: ServedModels, chosen: ServedModel, text: str) -> Element:
    options = [
        node("option", {"selected": ""} if one is chosen else {}, one.name) for one in models
    ]
    return node(
        "form",
        {"method": "post", "action": "."},
        node("label", {"for": "data"}, "Text"),
        node("textarea", {"id": "data", "name": "data", "rows": "3", "required": ""}, text),
        node(
            "div",
            {},
            node("label", {"for": "model"}, "Model"),
            node("select", {"id": "model", "name": "model"}, *options),
            node("button", {"type": "submit"}, "Annotate"),
        ),
    )


def _article(number: int, sentence: Sentence, language: str) -> Element:
    drawn = article(View(number, sentence))
    drawn.set("lang", language)
    drawn.append(_table(number, sentence))
    return drawn


def _table(number: int, sentence: Sentence) -> Element:
    rows = sentence.rows()
    columns = [column for column in _COLUMNS if column in rows[0]]
    titles = (node("th", {"scope": "col"}, _COLUMNS[column]) for column in columns)
    cells = ((_cell(column, row[column]) for column in columns) for row in rows)
    return node(
        "div",
        {
            "class": "words",
            "tabindex": "0",
            "role": "region",
            "aria-label": f"Words of sentence {number}",
        },
        node(
            "table",
            {},
            node("thead", {}, node("tr", {"lang": "en"}, *titles)),
            node("tbody", {}, *(node("tr", {}, *row) for row in cells)),
        ),
    )


def _cell(column: str, value: object) -> Element:
    if column in _NUMBERS:
        return node("td", {"class": "number"}, str(value))
    if column == "feats":
        features = "" if value == MISSING else str(value).replace("|", "\N{NO-BREAK SPACE}| ")
        return node("td", {"class": column}, features)
    return node("td", {}, str(value))
