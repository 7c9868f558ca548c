"""What the commands' options have in common: names of formats, and options that several commands
take.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from egparse.errors import EgparseError


class CorpusFormat(StrEnum):
    """The formats of annotated corpora, those of ``readers.corpus``: help should not need to import
    it.
    """

    CONLLU = "conllu"
    CONLLX = "conllx"
    CONLL2000 = "conll2000"
    CONLL2002 = "conll2002"
    CONLL2003 = "conll2003"


class InputFormat(StrEnum):
    """What ``parse`` reads: any corpus, or plain text."""

    AUTO = "auto"
    TEXT = "text"
    CONLLU = "conllu"
    CONLLX = "conllx"
    CONLL2000 = "conll2000"
    CONLL2002 = "conll2002"
    CONLL2003 = "conll2003"


ModelArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="A model: a file that train wrote, or a name that models lists."
    ),
]

CorpusArgument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="CORPUS", help="An annotated corpus.")
]

DevOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--dev", metavar="FILE", help="A development corpus; else a part of CORPUS is held out."
    ),
]

ConfigOption: TypeAlias = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="A configuration in TOML; see configs/."),
]

SkipBadOption: TypeAlias = Annotated[
    bool,
    typer.Option("--skip-bad", help="Leave out faulty sentences instead of stopping at the first."),
]

FormatOption: TypeAlias = Annotated[
    CorpusFormat | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="conllu, conllx, conll2000, conll2002 or conll2003; found out by itself if not given.",
    ),
]

InputFormatOption: TypeAlias = Annotated[
    InputFormat,
    typer.Option(
        "--format",
        metavar="FORMAT",
        help="auto (text, conllu or conllx), text, conllu, conllx, conll2000, conll2002 or "
        "conll2003.",
    ),
]

OutputOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where to write, all or nothing; else standard output.",
    ),
]

GoldTagsOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--gold-tags", help="Give the parser the tags of the input instead of predicted ones."
    ),
]

RespectInputOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--respect-input",
        help="Keep what the input says: fill only cells that hold _, as fits the others best.",
    ),
]

MarginalsOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--marginals",
        help="Say in MISC how probable each predicted value is: PUpos, PXpos, PFeats, PHead, "
        "PDeprel (given the head) "
        "and PNE, from 0 to 1. CoNLL-U only.",
    ),
]

FactsOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--facts",
        metavar="FILE",
        help="What the model file does not say of itself, in TOML: licence, sources, scores, "
        "limits; "
        "else the .toml file beside the model, if there is one.",
    ),
]

JobsOption: TypeAlias = Annotated[
    int,
    typer.Option(
        "--jobs",
        "-j",
        metavar="N",
        min=0,
        help="Annotate with N processes, 0: one for each processor; the output is the same.",
    ),
]

JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="One JSON object on standard output, and nothing else there.")
]

QuietOption: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing on standard error but errors.")
]


def examples(*lines: str) -> str:
    """The end of a help text: commands to copy, one a line."""
    return "\n".join(("\b", "Examples:", *("  " + line for line in lines)))


def require_misc(format: str, name: str) -> None:
    """Raise EgparseError unless the corpus format that ``name`` is in has the column in which
    --marginals puts probabilities.
    """
    if format != CorpusFormat.CONLLU:
        raise EgparseError(
            f"{name}: expected CoNLL-U or text, whose column MISC holds probabilities, for "
            f"--marginals, got {format}"
        )
