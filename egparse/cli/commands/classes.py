"""``egparse classes``: word classes learned from raw text."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from egparse.cli import tables
from egparse.cli.files import STANDARD, Kind, check_output, opened, require_file
from egparse.cli.notices import INTERRUPTED, Say, announce_compilation, complain, say, silence
from egparse.cli.options import FROM_0, FROM_1, INPUTS, InputFormat
from egparse.cli.process import interruptible, uninterrupted
from egparse.errors import CorpusError, EgparseError

if TYPE_CHECKING:
    from egparse.classes.counting import PairCounts, TextCounter, TextOptions
    from egparse.classes.learning import Learned, LearningOptions, Merging, Pass
    from egparse.cli.annotating.inputs import InputFile

_MIN_COUNT = 2  # times that a word occurs which gets a class, unless another number is asked for


def classes(
    inputs: Annotated[list[Path], INPUTS],
    output: Path = Path("classes.tsv"),
    classes: Annotated[int, typer.Option(min=2)] = 1000,
    min_count: Annotated[int, FROM_1] = _MIN_COUNT,
    most_types: Annotated[int | None, FROM_1] = None,
    iterations: Annotated[int, FROM_1] = 20,
    language: str | None = None,
    tokenised: bool = False,
    lower_case: bool = False,
    format: InputFormat = InputFormat.AUTO,
    encoding: str = "utf-8",
    jobs: Annotated[int, FROM_0] = 0,
    force: bool = False,
    quiet: bool = False,
    json_: bool = False,
) -> None:
    """Learn classes of words from raw text, without any annotation.

    Words that have similar neighbours get the same class (Brown et al. 1992), and classes are the
    leaves of a binary tree, whose paths of bits tell how similar they are. The output has a line
    for each word: path, word, count, separated by tabs and sorted by path. Equal texts give equal
    classes. Ctrl-C keeps the classes reached so far.

    Arguments:
        INPUT: Raw texts, texts of words or corpora, or folders of such; - is standard input.
            Compressed ones are decompressed.

    Options:
        --output, -o FILE: File for the classes.
        --classes, -c N: Number of classes.
        --min-count N: Classes are for words that occur N times.
        --most-types N: Classes are for the N most frequent words at most.
        --iterations N: Greatest number of passes over the words; they end when they gain little.
        --language CODE: Code of the language, such as en or de, whose spaCy rules split plain text
            into words (default: xx, rules of no language).
        --tokenised: Text has a sentence on each line, and blanks between words.
        --lower-case: Turn words into lower case first.
        --format FORMAT: text, conllu, conllx, conll2000, conll2002 or conll2003; auto goes by the
            name: .conllu and .conllx are corpora, others are text.
        --jobs, -j N: Learn with N threads (0: one for each processor); the output does not depend
            on N.

    Examples:
        egparse classes novels.txt.xz news.txt.gz --language fr --output classes.tsv
        egparse classes words.txt --tokenised --classes 500 --min-count 5
        zcat wiki.txt.gz | egparse classes - --language en --lower-case --output en.tsv
        egparse classes annotated.conllu --classes 200
    """
    from egparse.cli.annotating.inputs import input_files
    from egparse.cli.workers import all_cores

    files = input_files(inputs)
    _check_files(files, output, force)
    if tokenised and language is not None:
        raise EgparseError(
            f"--language {language}: expected text to split, got --tokenised text, whose words "
            "are known"
        )
    if tokenised and format not in (InputFormat.AUTO, InputFormat.TEXT):
        raise EgparseError(f"--tokenised: expected --format text, got {format}")
    from egparse.classes.counting import TextOptions
    from egparse.classes.learning import LearningOptions
    from egparse.io.encodings import checked_encoding

    checked_encoding(encoding)
    tell = silence if quiet else say
    learning = LearningOptions(classes=classes, passes=iterations, threads=jobs or all_cores())
    formats = [(file, _format_of(file, format)) for file in files]
    is_text = any(found is InputFormat.TEXT for _, found in formats)
    if language is None and not tokenised and is_text:
        tell("language     xx, rules of no language: set --language")
    begun = time.process_time()
    text = TextOptions(language=language or "xx", lower_case=lower_case, encoding=encoding)
    counts = _counted(formats, text, tokenised, tell).pair_counts(min_count, most_types)
    _say_counts(counts, files[0].label, min_count, tell)
    learned = _learn(counts, output, learning, tell)
    labels = tuple(file.label for file in files)
    done = _Learning(output, labels, counts, learned, time.process_time() - begun)
    print(tables.as_json(_as_json(done)) if json_ else _summary(done))
    if learned.interrupted:
        raise typer.Exit(INTERRUPTED)


def learn_table(inputs: Sequence[Path], output: Path, language: str, number: int, say: Say) -> None:
    """Learn so many classes from texts, by the defaults of the command, and write them.

    Raises:
        KeyboardInterrupt: interrupted before the end.
    """
    from egparse.classes.counting import TextOptions
    from egparse.classes.learning import LearningOptions
    from egparse.cli.annotating.inputs import input_files
    from egparse.cli.workers import all_cores

    files = [(file, _format_of(file, InputFormat.AUTO)) for file in input_files(inputs)]
    counted = _counted(files, TextOptions(language=language), False, say)
    counts = counted.pair_counts(_MIN_COUNT, None)
    _say_counts(counts, files[0][0].label, _MIN_COUNT, say)
    learning = LearningOptions(classes=number, threads=all_cores())
    if _learn(counts, output, learning, say).interrupted:
        raise KeyboardInterrupt


class _Learning(NamedTuple):
    """The result of learning classes, and what it was learned from."""

    output: Path
    inputs: tuple[str, ...]
    counts: PairCounts
    learned: Learned
    cpu_seconds: float


def _as_json(done: _Learning) -> dict[str, Any]:
    counts, learned = done.counts, done.learned
    return {
        "output": str(done.output),
        "inputs": list(done.inputs),
        "interrupted": learned.interrupted,
        "words": _words(counts),
        "types": counts.types,
        "types_with_class": len(counts.words),
        "words_without_class": counts.outside,
        "classes": len(learned.paths),
        "perplexity": learned.perplexity,
        "passes": [one._asdict() for one in learned.passes],
        "cpu_seconds": round(done.cpu_seconds, 3),
    }


def _summary(done: _Learning) -> str:
    learned = done.learned
    lengths = [len(path) for path in learned.paths]
    rows = [
        ("classes", f"{len(learned.paths):,}, with paths of {min(lengths)} to {max(lengths)} bits"),
        ("words", f"{len(done.counts.words):,}"),
        ("perplexity", f"{learned.perplexity:.2f}"),
        ("output", f"{done.output} ({tables.size(done.output.stat().st_size)})"),
        ("CPU time", tables.seconds(done.cpu_seconds)),
    ]
    return tables.record(rows)


def _learn(counts: PairCounts, output: Path, learning: LearningOptions, say: Say) -> Learned:
    """Learn and write; ``say`` gets a line about each pass.

    Raises:
        KeyboardInterrupt: interrupted before the end of the first pass.
    """
    announce_compilation(say)
    from egparse.classes.learning import learn
    from egparse.fitting import interruption

    with interruptible():
        try:
            with interruption.deferred():
                learned = learn(counts, learning, listener=_Passes(say), check=interruption.check)
        except KeyboardInterrupt:
            say("The classes are not complete, so nothing is written.")
            raise
        with uninterrupted():
            with opened(output) as stream:
                stream.writelines(learned.lines())
            if learned.interrupted:
                complain(f"interrupted; the classes so far are in {output}")
    return learned


class _Passes:
    """Says what each pass has reached, and what else takes time."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._begun = time.process_time()

    def __call__(self, event: Pass | Merging) -> None:
        from egparse.classes.learning import Pass

        classes = tables.things(event.classes, "class")
        if isinstance(event, Pass):
            now = time.process_time()
            self._say(
                f"pass {event.number:<2}      {classes}, perplexity {event.perplexity:.2f}, "
                f"{tables.things(event.moved, 'word')} moved, {tables.seconds(now - self._begun)}"
            )
            self._begun = now
        elif event.until > 1:
            self._say(f"merging      {classes}, until {event.until:,} are left")
        else:
            self._say(f"tree         over {classes}")


def _counted(
    inputs: Iterable[tuple[InputFile, InputFormat]], text: TextOptions, tokenised: bool, say: Say
) -> TextCounter:
    """The counts of all inputs, by their formats."""
    from egparse.classes.counting import TEXT, TOKENISED, TextCounter, count_words

    counter = TextCounter()
    for file, format in inputs:
        kind = TOKENISED if tokenised and format is InputFormat.TEXT else format.value
        source = sys.stdin.buffer if file.path == STANDARD else file.path
        before = counter.words
        count_words(counter, source, kind, text, file.label)
        counted = tables.things(counter.words - before, "word")
        say(f"{'text' if kind in (TEXT, TOKENISED) else 'corpus':<11}  {file.label}: {counted}")
    return counter


def _say_counts(counts: PairCounts, name: str, min_count: int, say: Say) -> None:
    """Raise CorpusError where no words get classes."""
    if not counts.words:
        expected = f"words that occur {min_count:,} times (--min-count)"
        got = f"{tables.things(counts.types, 'different word')}, none so often"
        if not counts.types:
            expected, got = "words", "none"
        raise CorpusError(name, 1, expected, got)
    share = 100 * (1 - counts.outside / _words(counts))
    say(
        f"words        {tables.count(_words(counts))}, {counts.types:,} different ones; "
        f"{len(counts.words):,} of them get classes, {share:.2f} % of the words"
    )


def _check_files(files: Sequence[InputFile], output: Path, force: bool) -> None:
    for file in files:
        if file.path != STANDARD:
            require_file(file.path, "a text or a corpus")
        check_output(output, Kind.CLASSES, {"an input": file.path}, force=force)
        check_output(None, Kind.TEXT, {"an input": file.path})


def _format_of(file: InputFile, asked: InputFormat) -> InputFormat:
    """The format asked for, or that of the name, or text."""
    if asked is not InputFormat.AUTO:
        return asked
    from egparse.io.detection import format_of_name

    return InputFormat(format_of_name(file.label) or InputFormat.TEXT)


def _words(counts: PairCounts) -> int:
    """How many words the text has."""
    return int(counts.counts[:-1].sum())
