"""``egparse parse``: annotate a CoNLL-U file, another corpus, or plain text."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from egparse.cli import outputs, tables
from egparse.cli.compiling import NOTICE, kernels_are_compiled
from egparse.cli.faults import reported
from egparse.cli.options import GoldTagsOption, InputFormat, ModelArgument, QuietOption, examples
from egparse.errors import EgparseError

if TYPE_CHECKING:
    from egparse.cli.inputs import Input
    from egparse.sentences import Sentence
    from egparse.tasks.pipeline import Model

EPILOG = examples(
    "egparse parse model.msgpack input.conllu --output output.conllu",
    "egparse parse model.msgpack letter.txt | head -20",
    "echo 'The cat sat on the mat.' | egparse parse model.msgpack -",
    "egparse parse chunker.msgpack words.txt --format conll2000",
)


class Parsed(NamedTuple):
    """Annotated sentences, as they come, and the corpus format to write them in."""

    sentences: Iterator[Sentence]
    format: str


def parse(
    model: Model, source: Input, format: InputFormat = InputFormat.AUTO, *, gold_tags: bool = False
) -> Parsed:
    """Annotate what the source holds; nothing is read beyond what is asked for. Text becomes CoNLL-U.

    Raises EgparseError where the source is faulty, then or while the sentences are taken.
    """
    sentences = _sentences(source, source.format(format), model.language)
    first = next(sentences, None)
    if first is None:
        raise EgparseError(f"{source.name}: expected something to parse, got nothing")
    written = first.source.format if first.source else "conllu"
    return Parsed(model.annotate(chain([first], sentences), gold_tags=gold_tags), written)


def parse_cli(
    model: ModelArgument,
    input: Annotated[
        Path, typer.Argument(metavar="INPUT", help="A corpus or a text in UTF-8; - for standard input.")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write, all or nothing; else standard output."
        ),
    ] = None,
    format: Annotated[
        InputFormat,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="auto (text, conllu or conllx), text, conllu, conllx, conll2000, conll2002 or conll2003.",
        ),
    ] = InputFormat.AUTO,
    gold_tags: GoldTagsOption = False,
    quiet: QuietOption = False,
) -> None:
    """Annotate a corpus, or plain text.

    A CoNLL-U file keeps its comments, multiword tokens, empty nodes and MISC; only the columns that the model
    predicts are filled. Anything that does not look like a corpus is text: it is split into words by spaCy's
    rules for the model's language and into sentences, and becomes CoNLL-U.
    """
    with reported():
        from egparse.cli.inputs import Input
        from egparse.tasks.pipeline import Model

        if not quiet and not kernels_are_compiled():
            print(NOTICE, file=sys.stderr, flush=True)
        loaded = Model.load(model)
        begun = time.perf_counter()
        with Input(input) as source:
            parsed = parse(loaded, source, format, gold_tags=gold_tags)
            with outputs.opened(output) as stream:
                amount = outputs.write(parsed.sentences, stream, parsed.format)
        if output is not None and not quiet:
            print(_speed(amount, time.perf_counter() - begun), file=sys.stderr)


def _sentences(source: Input, format: InputFormat | None, language: str) -> Iterator[Sentence]:
    if format is InputFormat.TEXT:
        from egparse.readers.docs import read_text

        return read_text(source.stream, language, name=source.name)
    from egparse.readers.corpus import read_corpus

    # What the input says of trees and spans is for nobody to read: faults there are no faults of the words.
    return read_corpus(source.stream, format, name=source.name, trees=False, spans_key=None)


def _speed(amount: outputs.Amount, seconds: float) -> str:
    sentences, words = tables.things(amount.sentences, "sentence"), tables.things(amount.words, "word")
    return (
        f"{sentences}, {words} in {tables.seconds(seconds)}: {amount.words / max(seconds, 1e-9):,.0f} words/s"
    )
