"""One request for annotation: from its parameters to the reply, as UDPipe's ``/process`` does.

=============  =====================================================================================
``data``       the input; required
``model``      the name of a model; by default the first one
``tokenizer``  if there, the input is text. ``presegmented``: a sentence is a line. ``horizontal``,
               ``vertical`` and ``conllu`` name an input format, as in the R package. Others are
               ignored
``input``      without ``tokenizer``: ``conllu`` (by default), ``horizontal``, ``vertical``,
               ``text``, ``sentences``, or UDPipe's ``generic_tokenizer``, which is text
``tagger``     if there, and not ``none``: everything but trees is predicted
``parser``     if there, and not ``none``: trees are predicted. Without ``tagger`` from the tags of
               the input. ``enhanced``: with enhanced dependencies, by rules
``output``     ``conllu`` (by default), ``horizontal``, ``vertical``, ``json``, ``jsonl``, ``text``,
               ``tree``, or UDPipe's ``plaintext``, which is text
=============  =====================================================================================

What is not predicted is that of the input. Options after ``=`` or ``;`` that are not named here are
ignored.

A request is worked on in steps of some hundred words, so that others can have their turn between.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from io import BytesIO, StringIO
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl

from python_multipart import parse_form
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File

from egparse.errors import EgparseError, EmptyCorpusError, one_line
from egparse.io.corpus import read_corpus, write_corpus
from egparse.io.output_formats import FORMATS, Frame, piece
from egparse.pipeline.conversion import batches
from egparse.sentences import Sentence
from egparse.service.rest.served_models import ServedModel, ServedModels
from egparse.text.reading import PLAIN_FORMATS, SENTENCES, TEXT, read_plain

CONLLU = "conllu"

_INPUTS = {name: name for name in (CONLLU, *PLAIN_FORMATS)} | {"generic_tokenizer": TEXT}
_OUTPUTS = {name: name for name in (CONLLU, *FORMATS)} | {
    "plaintext": TEXT,
    "plaintext_normalized": TEXT,
}
_GIVEN = frozenset([CONLLU, "horizontal", "vertical"])
"""Values of ``tokenizer`` that name an input format."""

STEP = 1000
"""Words that are annotated at a time: with fewer, annotating takes longer on the whole."""

URL_ENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"

_MOST = 100
"""Parameters of a request; the service knows seven."""

_NONE = "none"
_TREE = ("heads", "deprels", "deps")
_ENHANCED = "enhanced"
_NAME = "data"


logging.getLogger("python_multipart").setLevel(logging.CRITICAL)  # the reply says it


class Refused(Exception):
    """A request that cannot be answered, because of what it asks for; the text says why."""


T = TypeVar("T")

Steps = Generator[None, None, T]
"""Work that yields after each step, and returns its result."""


class Task(NamedTuple):
    """A request that has been understood; ``probabilities`` names layers."""

    served: ServedModel
    data: str
    input: str
    tag: bool
    parse: bool
    output: str = CONLLU
    probabilities: Collection[str] = ()
    enhanced: bool = False


def understood(models: ServedModels, parameters: Mapping[str, str]) -> Task:
    """The task of a request.

    Raises:
        Refused: a parameter is missing, or has a value that the service does not know.
    """
    served = served_model(models, parameters)
    if "data" not in parameters:
        raise Refused("Required argument 'data' is missing.")
    tag, parse = (parameters.get(key, _NONE) != _NONE for key in ("tagger", "parser"))
    if tag and not served.tags:
        raise Refused("The required model does not contain a tagger!")
    if parse and not served.parses:
        raise Refused("The required model does not contain a parser!")
    enhanced = _ENHANCED in _options(parameters.get("parser", _NONE))
    if enhanced:
        try:
            served.model.require_enhanced()
        except EgparseError as error:
            raise Refused(str(error)) from None
    output = _known(_OUTPUTS, parameters.get("output", CONLLU), "output")
    data, input = parameters["data"], _input(parameters)
    return Task(served, data, input, tag, parse, output, enhanced=enhanced)


def served_model(models: ServedModels, parameters: Mapping[str, str]) -> ServedModel:
    """The model that a request names.

    Raises:
        Refused: there is none.
    """
    name = parameters.get("model", "")
    served = models.find(name)
    if served is None:
        expected = ", ".join(one.name for one in models)
        raise Refused(f"Requested model '{one_line(name)}' does not exist; expected {expected}.")
    return served


def process(task: Task) -> Steps[dict[str, Any]]:
    """The reply: ``model``, ``acknowledgements`` and ``result``.

    Raises:
        Refused: data that are not in the input format.
    """
    frame = Frame(task.output)
    pieces = []
    for sentences in annotated(task):
        pieces.append(frame.add(_written(sentences, task.output)))
        yield
    return {
        "model": task.served.name,
        "acknowledgements": list(task.served.acknowledgements),
        "result": b"".join([*pieces, frame.end()]).decode(),
    }


def annotated(task: Task) -> Iterator[list[Sentence]]:
    """The annotated sentences of a request, those of a step at a time.

    Raises:
        Refused: data that are not in the input format.
    """
    try:
        for sentences in batches(_sentences(task), STEP):
            yield _annotated(task, sentences)
    except EmptyCorpusError:
        return
    except EgparseError as error:
        raise Refused(f"Cannot read input data: {error}") from None


def _input(parameters: Mapping[str, str]) -> str:
    if "tokenizer" in parameters:
        options = _options(parameters["tokenizer"])
        given = [option for option in options if option in _GIVEN]
        if given:
            return given[0]
        return SENTENCES if "presegmented" in options else TEXT
    value = parameters.get("input", CONLLU)
    format = _known(_INPUTS, value, "input")
    return SENTENCES if format == TEXT and "presegmented" in _options(value) else format


def _known(formats: Mapping[str, str], value: str, kind: str) -> str:
    name = (_options(value) or [""])[0]
    if name not in formats:
        expected = ", ".join(formats)
        raise Refused(f"Unknown {kind} format '{one_line(value)}'; expected {expected}.")
    return formats[name]


def _options(value: str) -> list[str]:
    """The words of an option such as ``conllu=v2`` or ``presegmented;ranges``."""
    return [one.strip() for one in value.replace("=", ";").split(";") if one.strip()]


def _annotated(task: Task, sentences: list[Sentence]) -> list[Sentence]:
    model = task.served.model
    if task.tag:
        chosen = model if task.parse else task.served.tagger
        probable, enhanced = task.probabilities, task.enhanced
        return list(chosen.annotate(sentences, probabilities=probable, enhanced=enhanced))
    if not task.parse:
        return sentences
    parsed = model.annotate(sentences, gold_tags=True, enhanced=task.enhanced)
    return [
        before.with_layers(**{layer: getattr(after, layer) for layer in _TREE})
        for before, after in zip(sentences, parsed, strict=True)
    ]


def _sentences(task: Task) -> Iterator[Sentence]:
    if task.input != CONLLU:
        return read_plain(task.served.model.plain_text, StringIO(task.data), task.input, name=_NAME)
    return read_corpus(
        BytesIO(task.data.encode()),
        CONLLU,
        name=_NAME,
        trees=not task.parse,  # else the faults of trees that will be replaced do not matter
        multiple_roots=True,
    )


def _written(sentences: Iterable[Sentence], format: str) -> bytes:
    if format != CONLLU:
        return piece(sentences, format).encode()
    text = StringIO()
    write_corpus(sentences, text, CONLLU)
    return text.getvalue().encode()


def parameters_of(query: bytes, content_type: str, body: bytes) -> dict[str, str]:
    """The parameters of a request by name; of several of one name, the last.

    Raises:
        Refused: a body of another type, one that does not have its form, or is not UTF-8.
    """
    found = _url_encoded(query, "address")
    if not body and not content_type:
        return found
    type_ = content_type.partition(";")[0].strip().lower()
    if type_ == URL_ENCODED:
        return found | _url_encoded(body, "body")
    if type_ == MULTIPART:
        return found | _parts(content_type, body)
    raise Refused(
        f"Unsupported payload Content-Type '{type_}'; expected {URL_ENCODED} or {MULTIPART}."
    )


def _url_encoded(data: bytes, place: str) -> dict[str, str]:
    try:
        text = data.decode("utf-8")
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST))
    except UnicodeDecodeError:
        raise Refused(f"The parameters in the {place} are not UTF-8.") from None
    except ValueError:
        raise Refused(f"Expected at most {_MOST} parameters in the {place}.") from None


def _parts(content_type: str, body: bytes) -> dict[str, str]:
    found: list[tuple[bytes, bytes]] = []

    def add(name: bytes | None, value: bytes | None) -> None:
        if len(found) == _MOST:
            raise Refused(f"Expected at most {_MOST} parameters in the body.")
        found.append((name or b"", value or b""))

    def add_field(field: Field) -> None:
        add(field.field_name, field.value)

    def add_file(file: File) -> None:
        file.file_object.seek(0)
        add(file.field_name, file.file_object.read())
        file.close()

    headers = {"Content-Type": content_type.encode("latin-1")}
    try:
        parse_form(headers, BytesIO(body), add_field, add_file)
    except (FormParserError, ValueError):
        raise Refused("Cannot parse the multipart/form-data payload.") from None
    if not found and body:
        raise Refused("Cannot parse the multipart/form-data payload.")
    try:
        return {name.decode("utf-8"): value.decode("utf-8") for name, value in found}
    except UnicodeDecodeError:
        raise Refused("The parameters in the body are not UTF-8.") from None
