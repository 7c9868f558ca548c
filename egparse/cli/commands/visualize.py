"""``egparse visualize``: trees and entities with their probabilities, drawn on an HTML page."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import chain, islice, tee
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from egparse.cli import tables
from egparse.cli.files import Kind, check_output, opened
from egparse.cli.notices import announce_compilation, say, warnings_shown
from egparse.cli.options import FROM_0, FROM_1, MODEL, PLAIN, InputFormat, model_and_input
from egparse.errors import EgparseError, did_you_mean

if TYPE_CHECKING:
    from egparse.cli.annotating.inputs import Input
    from egparse.pipeline.model import Model
    from egparse.sentences import Sentence
    from egparse.service.pages.annotation_page import View

LIMIT = 100
WORDS = 500
"""As ``egparse.service.pages.dependency_drawing.MOST_WORDS``, which takes time to import."""


def visualize(
    model: Annotated[Path, MODEL],
    input: Annotated[Path | None, typer.Argument(show_default=False)] = None,
    output: Path | None = None,
    limit: Annotated[int, FROM_0] = LIMIT,
    words: Annotated[int, FROM_1] = WORDS,
    layers: str | None = None,
    least_certain: bool = False,
    compare: bool = False,
    format: InputFormat = InputFormat.AUTO,
    encoding: str = "utf-8",
    gold_tags: bool = False,
    force: bool = False,
    quiet: bool = False,
) -> None:
    """Draw trees, entities and their probabilities.

    The HTML page is one file that loads nothing else. The less probable an arc, tag or entity, the
    fainter it is drawn; its probability appears when the pointer is on it. Without a model, INPUT
    is drawn as it is annotated, with the probabilities that parse --marginals wrote to MISC.

    Arguments:
        MODEL: Path or name of a model. If there is one argument, it is INPUT, an annotated corpus
            that is drawn as it is.
        INPUT: Corpus or text in UTF-8; - for standard input.

    Options:
        --limit N: Number of sentences to show; 0: all.
        --words N: Number of words of a sentence that are drawn.
        --layers LAYERS: Layers below the words: some of upos, xpos, feats and lemmas, with commas
            between them, or all (default: upos, or the first of them that is annotated).
        --least-certain: Show the sentences with the lowest expected accuracy of heads, least
            certain first.
        --compare: Mark where the model differs from the annotation of INPUT.
        --format, --input FORMAT: {INPUT_FORMATS}

    Examples:
        egparse visualize model.msgpack letter.txt --output letter.html
        echo 'The cat sat on the mat.' | egparse visualize model.msgpack - > cat.html
        egparse visualize corpus.conllu --layers upos,feats --output corpus.html
        egparse visualize model.msgpack dev.conllu --compare --output differences.html
        egparse visualize model.msgpack large.txt --least-certain --limit 20 > doubt.html
    """
    from egparse.cli.annotating.inputs import Input

    below = None if layers is None else _layers(layers)
    named, place = model_and_input(model, input)
    if named is None and (compare or gold_tags):
        option = "--compare" if compare else "--gold-tags"
        raise typer.BadParameter(f"{option} expects MODEL INPUT", param_hint="'MODEL'")
    path = None
    if named is not None:
        from egparse.service.hub.resolve import find_model

        path = find_model(named)  # before numba is imported
    check_output(
        output, Kind.PAGE, {"the input": place, "the model": path}, force=force, regular=False
    )
    with Input(place, encoding) as source, warnings_shown(quiet):
        loaded = _loaded(path, quiet) if path else None
        views = _views(source, source.format(format), loaded, gold_tags, compare)
        read: int | None
        if least_certain:
            chosen, read = _least_certain(views, limit, source.name)
        else:
            chosen = list(islice(views, limit or None))
            read = len(chosen) if next(views, None) is None else None
        shown = _amount(len(chosen), read, least_certain)
        cut = sum(len(view.sentence) > words for view in chosen)
        if cut:
            of = tables.things(cut, "sentence")
            shown += f"; only the first {words:,} words of {of} are drawn (see --words)"
        from egparse.service.pages.annotation_page import annotation_page

        page = annotation_page(
            chosen,
            title="standard input" if source.name == "<stdin>" else Path(source.name).name,
            facts=[f"{shown[0].upper()}{shown[1:]}."]
            + ([f"Annotated by {named.name}."] if named else []),
            language=loaded.language if loaded else None,
            words=words,
            layers=below,
        )
        with opened(output) as stream:
            stream.write(page)
    if not quiet and (output is not None or read != len(chosen) or cut):
        say(shown)


def _layers(given: str) -> tuple[str, ...]:
    """The layers of the option ``--layers``.

    Raises:
        typer.BadParameter: an unknown one.
    """
    from egparse.service.pages.words import WORD_LAYERS

    if given == "all":
        return tuple(sorted(WORD_LAYERS, key="feats".__eq__))  # last, as it takes several lines
    layers = tuple(dict.fromkeys(layer.strip() for layer in given.split(",")))
    for layer in layers:
        if layer not in WORD_LAYERS:
            raise typer.BadParameter(
                f"expected all, or some of {', '.join(WORD_LAYERS)}, got {layer!r}"
                + did_you_mean(layer, WORD_LAYERS),
                param_hint="'--layers'",
            )
    return layers


def _loaded(path: Path, quiet: bool) -> Model:
    from egparse.pipeline.model import Model

    if not quiet:
        announce_compilation()
    return Model.load(path)


def _views(
    source: Input, format: InputFormat | None, model: Model | None, gold_tags: bool, compare: bool
) -> Iterator[View]:
    from egparse.service.pages.annotation_page import View
    from egparse.service.pages.words import with_probabilities_of_misc

    if model is None:
        _require_corpus(source.place, format, "or MODEL and INPUT")
        found = map(with_probabilities_of_misc, _corpus(source, format))
        return (View(number, sentence) for number, sentence in enumerate(found, 1))
    if compare:
        _require_corpus(source.place, format, "for --compare")
    if format in PLAIN:
        read = _plain(source, format, model)
    else:
        read = _corpus(source, format, annotated=compare)
    if compare:
        read, kept = tee(read)
        annotated = model.annotate(read, gold_tags=gold_tags, probabilities=model.probabilistic)
        pairs = zip(annotated, kept, strict=True)
        return (View(number, sentence, other) for number, (sentence, other) in enumerate(pairs, 1))
    annotated = model.annotate(read, gold_tags=gold_tags, probabilities=model.probabilistic)
    return (View(number, sentence) for number, sentence in enumerate(annotated, 1))


def _corpus(
    source: Input, format: InputFormat | None, annotated: bool = True
) -> Iterator[Sentence]:
    """The sentences of a corpus; unless ``annotated``, only words are read, and faults elsewhere
    do not matter.
    """
    from egparse.io.blocks import SPANS_KEY
    from egparse.io.corpus import read_corpus

    spans_key = SPANS_KEY if annotated else None
    return read_corpus(
        source.stream,
        format,
        name=source.name,
        trees=annotated,
        multiple_roots=True,
        spans_key=spans_key,
    )


def _plain(source: Input, format: InputFormat, model: Model) -> Iterator[Sentence]:
    from egparse.text.reading import read_plain

    sentences = read_plain(model.plain_text, source.stream, format, name=source.name)
    first = next(sentences, None)
    if first is None:
        raise EgparseError(
            f"{source.name}: expected at least one sentence to draw, got an empty input"
        )
    return chain([first], sentences)


def _require_corpus(place: str, format: InputFormat | None, purpose: str) -> None:
    if format in PLAIN:
        expected = f"expected an annotated corpus (name column files with --format), {purpose}"
        raise EgparseError(f"{place}: {expected}, got what looks like none")


def _least_certain(views: Iterable[View], limit: int, name: str) -> tuple[list[View], int]:
    """The views of lowest expected accuracy, least certain first, and the number of all views."""
    from egparse.evaluation.calibration import expected_accuracy

    read = 0

    def doubtful() -> Iterator[tuple[float, int, View]]:
        nonlocal read
        for read, view in enumerate(views, 1):  # noqa: B007
            accuracy = expected_accuracy(view.sentence)
            if accuracy is not None:
                yield accuracy, view.number, view

    chosen = heapq.nsmallest(limit, doubtful()) if limit else sorted(doubtful())
    if not chosen:
        wanted = (
            "expected a model with probabilities, or a corpus that parse --marginals wrote, for "
            "--least-certain"
        )
        raise EgparseError(f"{name}: {wanted}, got none")
    return [view for _, _, view in chosen], read


def _amount(shown: int, read: int | None, least_certain: bool) -> str:
    """How many sentences a page shows; ``read`` is the number of all sentences, None if unknown."""
    if least_certain:
        return f"{tables.things(shown, 'sentence')} of {read:,}, the least certain first"
    if read is None:
        return f"the first {tables.things(shown, 'sentence')}; there are more (see --limit)"
    return tables.things(shown, "sentence")
