"""``egparse parse``: annotate a CoNLL-U file, another corpus, or plain text."""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from egparse.cli import outputs, tables
from egparse.cli.exit_codes import reported
from egparse.cli.kernel_cache import announce_compilation
from egparse.cli.notices import warnings_shown
from egparse.cli.options import (
    GoldTagsOption,
    InputFormat,
    InputFormatOption,
    JobsOption,
    MarginalsOption,
    ModelArgument,
    OutputOption,
    QuietOption,
    RespectInputOption,
    examples,
    require_misc,
)
from egparse.errors import EgparseError

if TYPE_CHECKING:
    from egparse.cli.annotating.source import Input
    from egparse.cli.jobs import Written
    from egparse.pipeline.model import Model
    from egparse.sentences import Sentence

EPILOG = examples(
    "egparse parse model.msgpack input.conllu --output output.conllu",
    "egparse parse model.msgpack letter.txt | head -20",
    "echo 'The cat sat on the mat.' | egparse parse model.msgpack -",
    "egparse parse model.msgpack corrected.conllu --respect-input",
    "egparse parse model.msgpack input.conllu --marginals --output probable.conllu",
    "egparse parse model.msgpack large.conllu --jobs 0 --output output.conllu",
    "egparse parse chunker.msgpack words.txt --format conll2000",
)


class Parsed(NamedTuple):
    """A stream of annotated sentences and the corpus format in which they are written."""

    sentences: Iterator[Sentence]
    format: str


def parse(
    model: Model,
    source: Input,
    format: InputFormat = InputFormat.AUTO,
    *,
    gold_tags: bool = False,
    respect_input: bool = False,
    marginals: bool = False,
) -> Parsed:
    """Annotate the sentences of a source as they are read. Text becomes CoNLL-U.

    Raises:
        EgparseError: the source is faulty (also raised while the sentences are consumed), or its
            format has no place for ``marginals``.
    """
    sentences = _not_empty(
        _sentences(source, source.format(format), model, respect_input), source.name
    )
    first = next(sentences)
    written = first.source.format if first.source else "conllu"
    if marginals:
        require_misc(written, source.name)
    annotated = model.annotate(
        chain([first], sentences),
        gold_tags=gold_tags,
        respect_input=respect_input,
        probabilities=marginals,
    )
    return Parsed(annotated, written)


def parse_with_jobs(
    model: Model,
    path: Path,
    source: Input,
    format: InputFormat,
    jobs: int,
    *,
    gold_tags: bool = False,
    respect_input: bool = False,
    marginals: bool = False,
) -> Generator[Written, None, None]:
    """The written output of ``parse``, by several processes (0: one for each processor), which load
    the model from ``path``.

    Raises:
        EgparseError: see ``parse``.
    """
    from egparse.cli.jobs import annotate_corpus, annotate_text
    from egparse.cli.workers import all_cores

    jobs = jobs or all_cores()
    options = {"gold_tags": gold_tags, "respect_input": respect_input, "probabilities": marginals}
    detected = source.format(format)
    if detected is InputFormat.TEXT:
        sentences = _not_empty(_sentences(source, detected, model, respect_input), source.name)
        return annotate_text(model, path, sentences, jobs, **options)
    reading = _reading(source.name, detected, model, respect_input)
    return annotate_corpus(
        model, path, source.stream, source.name, detected, jobs, reading=reading, **options
    )


def parse_cli(
    model: ModelArgument,
    input: Annotated[
        Path,
        typer.Argument(metavar="INPUT", help="A corpus or a text in UTF-8; - for standard input."),
    ],
    output: OutputOption = None,
    format: InputFormatOption = InputFormat.AUTO,
    gold_tags: GoldTagsOption = False,
    respect_input: RespectInputOption = False,
    marginals: MarginalsOption = False,
    jobs: JobsOption = 1,
    quiet: QuietOption = False,
) -> None:
    """Annotate a corpus, or plain text.

    A CoNLL-U file keeps its comments, multiword tokens, empty nodes and MISC; only the columns that
    the model predicts are filled (and MISC, for entities and --marginals). Input that does not look
    like a corpus is taken as text: it is split into words by spaCy's rules for the model's language
    and into sentences by the model, or by rule if the model has no splitter, and becomes CoNLL-U.
    """
    with reported():
        from egparse.cli.annotating.source import Input
        from egparse.hub.resolve import find_model

        path = find_model(model)  # before numba is imported
        from egparse.pipeline.model import Model

        if not quiet:
            announce_compilation()
        loaded = Model.load(path)
        begun = time.perf_counter()
        options = {"gold_tags": gold_tags, "respect_input": respect_input, "marginals": marginals}
        if marginals:
            loaded.require_probabilities()
        with Input(input) as source, warnings_shown(quiet):
            if jobs == 1:
                parsed = parse(loaded, source, format, **options)
                with outputs.opened(output) as stream:
                    amount = outputs.write(parsed.sentences, stream, parsed.format)
            else:
                from egparse.cli.jobs import write_bytes

                written = parse_with_jobs(loaded, path, source, format, jobs, **options)
                with outputs.opened(output) as stream:
                    amount = write_bytes(written, stream)
        if output is not None and not quiet:
            print(_speed(amount, time.perf_counter() - begun), file=sys.stderr)


def _sentences(
    source: Input, format: InputFormat | None, model: Model, respect_input: bool
) -> Iterator[Sentence]:
    reading = _reading(source.name, format, model, respect_input)
    if format is InputFormat.TEXT:
        from egparse.readers.docs import read_text

        splitter = None if model.splitter is None else model.splitter.starts
        return read_text(source.stream, model.language, name=source.name, splitter=splitter)
    from egparse.readers.corpus import read_corpus

    return read_corpus(source.stream, format, name=source.name, **reading)


def _not_empty(sentences: Iterator[Sentence], name: str) -> Iterator[Sentence]:
    """The same sentences.

    Raises:
        EgparseError: there are none.
    """
    first = next(sentences, None)
    if first is None:
        raise EgparseError(f"{name}: expected something to parse, got nothing")
    return chain([first], sentences)


def _reading(
    name: str, format: InputFormat | None, model: Model, respect_input: bool
) -> dict[str, Any]:
    """Options of ``read_corpus``: the annotation of the input is either kept or not read at all, so
    that its faults do not matter.

    Raises:
        EgparseError: ``respect_input`` with a format that has no cells to fill.
    """
    if not respect_input:
        return {"trees": False, "spans_key": None}
    from egparse.readers.conllu import SPANS_KEY

    if format not in (None, InputFormat.CONLLU, InputFormat.CONLLX):
        expected = "expected CoNLL-U or CoNLL-X, which have cells to fill, for --respect-input"
        raise EgparseError(f"{name}: {expected}, got {format}")
    return {
        "trees": model.parser is not None,
        "multiple_roots": model.parser is not None and not model.parser.single_root,
        "spans_key": SPANS_KEY if "spans" in model.taggers else None,
        "partial_spans": True,
    }


def _speed(amount: outputs.Amount, seconds: float) -> str:
    sentences, words = (
        tables.things(amount.sentences, "sentence"),
        tables.things(amount.words, "word"),
    )
    return (
        f"{sentences}, {words} in {tables.seconds(seconds)}: "
        f"{amount.words / max(seconds, 1e-9):,.0f} words/s"
    )
