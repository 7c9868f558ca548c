"""The page of a service: a form for a text, and the words, tags and trees that a model finds in it.

It loads and runs nothing; the form asks for the page again, with the text and the model in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import islice
from math import exp
from xml.etree.ElementTree import Element

from egparse.io.tree_format import MOST_WORDS, UNSURE, isolated
from egparse.pipeline.model import Model
from egparse.sentences import MISSING, Sentence
from egparse.service.pages.annotation_page import View, article, head
from egparse.service.pages.words import as_text, html, least, node, parsed, shown
from egparse.service.rest.process import Steps, Task, annotated, served_model
from egparse.service.rest.served_models import ServedModel, ServedModels
from egparse.text.reading import TEXT

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
_SELECTED = ' selected=""'


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
        articles.append(_article(number, sentence, served.model))
        yield
    facts = []
    if len(sentences) > MOST_SENTENCES:
        facts.append(node("p", {}, f"The first {MOST_SENTENCES} sentences of a longer text."))
    return html(_document(_form(models, served, text), [*facts, *articles])).encode()


def _document(form: Element, found: Sequence[Element]) -> Element:
    page = parsed(
        '<html lang="en"><body><header><h1>egparse</h1><p>Words, tags and trees of a text, fainter '
        "where less probable.</p></header><main/><footer>For programs: <a "
        'href="models">models</a>, and process, as UDPipe\'s service has it.</footer></body></html>'
    )
    page.insert(0, head("egparse"))
    style = files("egparse.service.rest").joinpath("page.css").read_text(encoding="utf-8")
    page[0].append(node("style", {}, style))
    page.findall("body/main")[0].extend([form, *found])
    return page


def _form(models: ServedModels, chosen: ServedModel, text: str) -> Element:
    options = "".join(
        f"<option{_SELECTED * (one is chosen)}>{as_text(one.name)}</option>" for one in models
    )
    return parsed(
        '<form method="post" action="."><label for="data">Text</label><textarea id="data" '
        f'name="data" rows="3" required="">{as_text(text)}</textarea><div><label for="model">Model'
        f'</label><select id="model" name="model">{options}</select><button type="submit">Annotate'
        "</button></div></form>"
    )


def _article(number: int, sentence: Sentence, model: Model) -> Element:
    drawn = article(View(number, sentence))
    drawn.set("lang", model.language)
    probability = least((sentence.probabilities or {}).get("heads", ()))
    if probability is not None and probability < UNSURE and len(sentence) <= MOST_WORDS:
        drawn.extend(_readings(sentence, model))
    drawn.append(_table(number, sentence))
    return drawn


def _readings(sentence: Sentence, model: Model) -> Iterator[Element]:
    """The two most probable trees: their probabilities, and the words in which they differ."""
    ranked = next(model.k_best([sentence], 2))
    if len(ranked) < 2:
        return
    trees = [[*zip(tree.heads, tree.deprels, strict=True)] for tree, _ in ranked]
    words = [word for word in range(len(sentence)) if trees[0][word] != trees[1][word]]
    readings = []
    for tree, (_, log_probability) in zip(trees, ranked, strict=True):
        places = "; ".join(_place(sentence, word, *tree[word]) for word in words)
        readings.append(f"<li><b>{shown(exp(log_probability))}</b> {as_text(places)}</li>")
    yield parsed(f'<div class="readings">Most probable trees:<ol>{"".join(readings)}</ol></div>')


def _place(sentence: Sentence, word: int, head: int, label: str) -> str:
    form = isolated(sentence.forms[word])
    return f"{form}: {label}" + (f" of {isolated(sentence.forms[head - 1])}" if head else "")


def _table(number: int, sentence: Sentence) -> Element:
    rows = sentence.rows()
    columns = [column for column in _COLUMNS if column in rows[0]]
    titles = "".join(f'<th scope="col">{_COLUMNS[column]}</th>' for column in columns)
    cells = "".join(
        f"<tr>{''.join(_cell(column, row[column]) for column in columns)}</tr>" for row in rows
    )
    return parsed(
        '<div class="words" tabindex="0" role="region" aria-label="Words of sentence '
        f'{number}"><table><thead><tr lang="en">{titles}</tr></thead><tbody>{cells}</tbody></table>'
        "</div>"
    )


def _cell(column: str, value: object) -> str:
    if column in _NUMBERS:
        return f'<td class="number">{value}</td>'
    if column == "feats":
        value = "" if value == MISSING else str(value).replace("|", "\N{NO-BREAK SPACE}| ")
        return f'<td class="feats">{as_text(str(value))}</td>'
    return f"<td>{as_text(str(value))}</td>"
