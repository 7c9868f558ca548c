"""Arguments and options that several commands take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from egparse.cli import completion


class CorpusFormat(StrEnum):
    """The formats of annotated corpora: those of ``readers.corpus``, which help need not import."""

    CONLLU = "conllu"
    CONLLX = "conllx"
    CONLL2000 = "conll2000"
    CONLL2002 = "conll2002"
    CONLL2003 = "conll2003"


class InputFormat(StrEnum):
    """What ``parse`` and ``visualize`` read: any corpus, or what has no annotation: text, sentences
    in lines, or words in lines.
    """

    AUTO = "auto"
    TEXT = "text"
    SENTENCES = "sentences"
    HORIZONTAL = "horizontal"
    VERTICAL = "vertical"
    CONLLU = "conllu"
    CONLLX = "conllx"
    CONLL2000 = "conll2000"
    CONLL2002 = "conll2002"
    CONLL2003 = "conll2003"


PLAIN = frozenset(
    [InputFormat.TEXT, InputFormat.SENTENCES, InputFormat.HORIZONTAL, InputFormat.VERTICAL]
)
"""What ``pipeline.plain_text`` reads: ``PLAIN_FORMATS``."""


class OutputFormat(StrEnum):
    """What ``parse`` writes: the formats of corpora, and those of ``writers``."""

    CONLLU = "conllu"
    CONLLX = "conllx"
    CONLL2000 = "conll2000"
    CONLL2002 = "conll2002"
    CONLL2003 = "conll2003"
    JSON = "json"
    JSONL = "jsonl"
    TEXT = "text"
    HORIZONTAL = "horizontal"
    VERTICAL = "vertical"


ModelArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help="Path of a model file, or a name that 'egparse models' lists.",
        autocompletion=completion.models,
    ),
]

CorpusArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="CORPUS", help="An annotated corpus.")
]

DevOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--dev", metavar="FILE", help="Development corpus (default: a part of CORPUS is held out)."
    ),
]

ConfigOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Configuration in TOML; 'egparse settings --toml' writes one to edit.",
    ),
]

ClassesOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--classes",
        metavar="FILE|CODE",
        help="Table of word classes, a file or a language code (en, de, es: spaCy's tables); may "
        "be repeated.",
    ),
]

MemoryOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="Limit of memory, such as 2G: sentences and large arrays lie in temporary files (in "
        "TMPDIR); the result is the same.",
    ),
]

SkipBadOption: TypeAlias = Annotated[
    bool,
    typer.Option("--skip-bad", help="Skip faulty sentences instead of stopping at the first one."),
]

FormatOption: TypeAlias = Annotated[
    CorpusFormat | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="conllu, conllx, conll2000, conll2002 or conll2003 (detected if omitted).",
    ),
]

InputFormatOption: TypeAlias = Annotated[
    InputFormat,
    typer.Option(
        "--format",
        "--input",
        metavar="FORMAT",
        help="text, sentences (one a line), horizontal (one sentence a line, its words between "
        "blanks), vertical (one word a line), conllu, conllx, conll2000, conll2002 or conll2003; "
        "auto detects text, conllu and conllx.",
    ),
]

OutputFormatOption: TypeAlias = Annotated[
    OutputFormat | None,
    typer.Option(
        "--output-format",
        metavar="FORMAT",
        help="conllu, conllx, conll2000, conll2002, conll2003, json, jsonl (a sentence a line), "
        "text, horizontal or vertical (default: conllu, or the format of an input that is another "
        "corpus).",
    ),
]

EncodingOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Encoding of corpora and texts, by one of Python's names, such as utf-16 or latin-1.",
    ),
]

OutputOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Output file, written atomically (default: standard output).",
    ),
]

GoldTagsOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--gold-tags",
        help="Keep UPOS, XPOS and FEATS of the input, and predict the other layers from them.",
    ),
]

RespectInputOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--respect-input",
        help="Keep every value of the input, and fill cells that hold _ with the best completion "
        "given them.",
    ),
]

ExceptionsOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--exceptions",
        metavar="FILE",
        help="CoNLL-U file of exceptions: forms whose tokens, words, tags, lemmas or sentence ends "
        "are given. They go before the model's own. auto: those of the package for the language "
        "of the model; none: none, not even its own.",
    ),
]

MarginalsOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--marginals",
        help="Write the probability of each predicted value, from 0 to 1, to MISC: PUpos, PXpos, "
        "PFeats, PLemma, PHead, PDeprel (given the head) and PNE. CoNLL-U and JSON only.",
    ),
]

FactsOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--facts",
        metavar="FILE",
        help="TOML file of facts that the model file does not hold, such as licence, sources and "
        "scores (default: the .toml file beside the model, if there is one).",
    ),
]

JobsOption: TypeAlias = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=0,
        help="Annotate with N processes (0: one for each processor); the output does not depend "
        "on N.",
    ),
]

TrainingJobsOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=0,
        help="Train with N threads (0: one for each processor): the setting jobs. The model does "
        "not depend on N.",
    ),
]


class Engine(StrEnum):
    """What does the work: this machine, or a cluster."""

    LOCAL = "local"
    RAY = "ray"


EngineOption: TypeAlias = Annotated[
    Engine,
    typer.Option(
        "--engine",
        help="Work on this machine, or on a cluster by Ray (pip install 'egparse[ray]').",
    ),
]

WorkersOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        help="With --engine ray: workers, with a processor of the cluster each.",
    ),
]

RayAddressOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--ray-address",
        metavar="ADDRESS",
        help="With --engine ray: the cluster, HOST:PORT, or auto for one that was started on this "
        "machine. Without it a Ray for this command alone is started here.",
    ),
]

ForceOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--force",
        "-f",
        help="Replace an existing file, even a model or a file of another kind; never an input of "
        "the command.",
    ),
]

CheckpointOption: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--checkpoint",
        metavar="MINUTES",
        min=0.0,
        help="Write what --resume needs every so many minutes, into a folder beside the model (0: "
        "after every pass).",
    ),
]

ResumeOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue a run that wrote checkpoints and was stopped; the model will be the same. "
        "Without a checkpoint that is an error, or with --checkpoint a new run.",
    ),
]

JsonOption: TypeAlias = Annotated[
    bool,
    typer.Option("--json", help="Write one JSON object, and nothing else, to standard output."),
]

QuietOption: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Suppress progress and notices on standard error.")
]


def examples(*lines: str) -> str:
    """The end of a help text: commands to copy, one on a line."""
    return "\n".join(("\b", "Examples:", *("  " + line for line in lines)))


def model_and_input(first: Path, second: Path | None) -> tuple[Path | None, Path]:
    """MODEL and INPUT of a command that takes ``MODEL INPUT`` or ``INPUT`` alone."""
    return (None, first) if second is None else (first, second)
