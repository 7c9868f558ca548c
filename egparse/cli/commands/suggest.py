"""``egparse suggest``: the sentences that are worth annotating next."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from egparse.cli import tables
from egparse.cli.files import Kind, check_output, opened
from egparse.cli.notices import announce_compilation, say, warnings_shown
from egparse.cli.options import FROM_1, INPUTS, MODEL, PLAIN, InputFormat
from egparse.errors import EgparseError

if TYPE_CHECKING:
    from egparse.cli.annotating.inputs import InputFile
    from egparse.pipeline.model import Model
    from egparse.sentences import Sentence

WORDS = 1000


def suggest(
    model: Annotated[Path, MODEL],
    inputs: Annotated[list[Path], INPUTS],
    output: Path | None = None,
    words: Annotated[int, FROM_1] = WORDS,
    format: InputFormat = InputFormat.AUTO,
    encoding: str = "utf-8",
    force: bool = False,
    quiet: bool = False,
) -> None:
    """Propose the sentences that are worth annotating next.

    These are the ones of which the model is least sure: those with the lowest expected accuracy,
    the mean probability of the heads, or of all values without trees. A model may learn more from
    them than from as many other words (docs/how-to/annotating.md). The output is CoNLL-U
    with the predictions and their probabilities, least sure first, to be corrected. What the input
    has annotated already is kept, and is sure.

    Arguments:
        INPUT: Texts or CoNLL-U files, which may be compressed; of a folder, all of them in it and
            in its subfolders; addresses; - for standard input.

    Options:
        --words N: Propose sentences of so many words in all.
        --format, --input FORMAT: {INPUT_FORMATS}

    Examples:
        egparse suggest model.msgpack letters/ --output next.conllu
        egparse suggest model.msgpack corpus.conllu --words 5000 > next.conllu
    """
    from egparse.cli.annotating.inputs import input_files
    from egparse.io.encodings import checked_encoding
    from egparse.service.hub.resolve import find_model

    checked_encoding(encoding)
    files, path = input_files(inputs), find_model(model)
    given = {f"the input {file.path}": file.path for file in files} | {"the model": path}
    check_output(output, Kind.CORPUS, given, force=force, regular=False)
    if not quiet:
        announce_compilation()
    from egparse.io.corpus import write_corpus
    from egparse.pipeline.model import Model

    loaded = Model.load(path)
    if not loaded.probabilistic:
        raise EgparseError(f"{path}: expected a model with probabilities, got one without")
    with warnings_shown(quiet):
        read = (one for file in files for one in _sentences(file, format, encoding, loaded))
        annotated = loaded.annotate(read, respect_input=True, probabilities=loaded.probabilistic)
        chosen, n_sentences = _least_sure(annotated, words)
        with opened(output) as stream:
            write_corpus(map(_with_accuracy, chosen), stream, "conllu")
    if not quiet:
        n_words = sum(len(sentence) for _, sentence in chosen)
        of = f"{tables.things(len(chosen), 'sentence')} of {n_sentences:,}"
        say(f"{of}, {n_words:,} words, the least sure first")


def _sentences(
    file: InputFile, format: InputFormat, encoding: str, model: Model
) -> Iterator[Sentence]:
    """The sentences of an input, of a corpus with what it has annotated."""
    from egparse.cli.annotating.inputs import Input
    from egparse.cli.annotating.run import reading_of
    from egparse.io.corpus import read_corpus
    from egparse.text.reading import read_plain

    with Input(file.path, encoding) as source:
        found = source.format(format)
        if found in PLAIN:
            plain = read_plain(model.plain_text, source.stream, found, name=source.name)
            for sentence in plain:
                name = f"{file.relative.stem}-{sentence.sentence_id}"
                yield sentence.with_layers(sentence_id=name)
        else:
            reading = reading_of(model, respect_input=True)
            yield from read_corpus(source.stream, found, name=source.name, **reading)


def _least_sure(
    sentences: Iterable[Sentence], words: int
) -> tuple[list[tuple[float, Sentence]], int]:
    """The expected accuracy of the least sure sentences of so many words and these sentences, and
    the number of all; the surer of two is given up, so that memory is that of the words.
    """
    from egparse.evaluation.calibration import expected_accuracy

    kept: list[tuple[float, int, Sentence]] = []  # the surest first
    n_words = number = 0
    for number, sentence in enumerate(sentences, 1):
        accuracy = expected_accuracy(sentence)
        if accuracy is None:
            continue
        heapq.heappush(kept, (-accuracy, -number, sentence))
        n_words += len(sentence)
        while n_words - len(kept[0][2]) >= words:
            n_words -= len(heapq.heappop(kept)[2])
    ranked: Sequence[tuple[float, int, Sentence]] = sorted(kept, reverse=True)
    return [(-negative, sentence) for negative, _, sentence in ranked], number


def _with_accuracy(ranked: tuple[float, Sentence]) -> Sentence:
    accuracy, sentence = ranked
    key = "# expected_accuracy ="
    lines = (line for line in sentence.lines_before if not line.startswith(key))
    return sentence.with_lines_before([*lines, f"{key} {accuracy:.4f}"])
