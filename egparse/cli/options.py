"""Arguments and options: a command declares them by its signature and its docstring, and what
several commands take is described here once.

The docstring of a command is its help. After the text come sections ``Arguments:`` and
``Options:``, with an entry ``--flag, -f METAVAR: what it is`` for each parameter of the same name
(with an underscore at its end where Python has a word of that name), and ``Examples:``. Parameters
without an entry are described in ``SHARED``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from copy import copy
from enum import StrEnum
from pathlib import Path
from textwrap import dedent
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import typer

from egparse.cli import completion
from egparse.cli.scores import COMPARISON_LEGEND
from egparse.errors import EgparseError

CorpusFormat = StrEnum("CorpusFormat", ["CONLLU", "CONLLX", "CONLL2000", "CONLL2002", "CONLL2003"])
"""The formats of annotated corpora: ``io.detection.FORMATS``, which help need not import."""


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
"""The formats without annotation: ``text.plain_formats.PLAIN_FORMATS``."""


class OutputFormat(StrEnum):
    """What ``parse`` writes: the formats of corpora, and those of ``io.output_formats`` and
    ``io.word_tables``.
    """

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
    TREE = "tree"
    ARROW = "arrow"
    PARQUET = "parquet"


class Engine(StrEnum):
    """What does the work: this machine, or a cluster."""

    LOCAL = "local"
    RAY = "ray"


def _input(name: str) -> Path:
    if not name:  # Path("") is the folder that the command runs in
        raise EgparseError("expected the name of an input, got an empty one")
    return Path(name)


INPUTS = typer.Argument(parser=_input)
MODEL = typer.Argument(autocompletion=completion.models)
FROM_0, FROM_1 = typer.Option(min=0), typer.Option(min=1)
"""With ``Annotated``: the range of a number."""

SHARED = """
MODEL: Path of a model file, or a name that 'egparse models' lists.
CORPUS: An annotated corpus.
--dev FILE: Development corpus (default: a part of CORPUS is held out).
--treebank NAME: Annotate as this treebank does, one of those that the model has learned from
    (default: the first of them, unless the model was saved for another).
--valid-labels: Choose labels of arcs that keep the rules of Universal Dependencies (level 3 of its
    validator) about tags, the order of words and each other, as far as the tree lets them.
--config FILE: Configuration in TOML; 'egparse settings --toml' writes one to edit.
--classes FILE|CODE: Table of word classes, a file or a language code (en, de, es: spaCy's tables);
    may be repeated.
--skip-bad: Skip faulty sentences instead of stopping at the first one.
--format FORMAT: conllu, conllx, conll2000, conll2002 or conll2003 (detected if omitted).
--encoding NAME: Encoding of corpora and texts, by one of Python's names, such as utf-16 or latin-1.
--output, -o FILE: Output file, written atomically (default: standard output).
--gold-tags: Keep UPOS, XPOS and FEATS of the input, and predict the other layers from them.
--exceptions FILE: CoNLL-U file of exceptions: forms whose tokens, words, tags, lemmas or sentence
    ends are given. They go before the model's own. auto: those of the package for the language of
    the model; none: none, not even its own.
--facts FILE: TOML file of facts that the model file does not hold, such as licence, sources and
    scores (default: the .toml file beside the model, or its recipe beside it, if there is one).
--engine: Work on this machine, or on a cluster by Ray (pip install 'egparse[ray]').
--workers N: With --engine ray: workers, with a processor of the cluster each.
--ray-address ADDRESS: With --engine ray: the cluster, HOST:PORT, or auto for one that was started
    on this machine. Without it a Ray for this command alone is started here.
--force, -f: Replace an existing file, even a model or a file of another kind; never an input of the
    command.
--json: Write one JSON object, and nothing else, to standard output.
--quiet, -q: Suppress progress and notices on standard error.
"""

TEXTS = {
    "INPUT_FORMATS": "text, sentences (one a line), horizontal (one sentence a line, its words "
    "between blanks), vertical (one word a line), conllu, conllx, conll2000, conll2002 or "
    "conll2003; auto detects text, conllu and conllx.",
    "EXPERIMENTS": ", ".join(completion.EXPERIMENTS),
    "COMPARISON_LEGEND": COMPARISON_LEGEND,
}
"""What ``{NAME}`` in a docstring stands for."""


class Entry(NamedTuple):
    """A parameter: its flags, if it is an option, a word for its value, and help."""

    flags: tuple[str, ...]
    metavar: str | None
    text: str


class Help(NamedTuple):
    """What a docstring says: the text, what stands at the end, and the entry of each parameter."""

    text: str
    epilog: str
    entries: dict[str, Entry]


_SECTION = re.compile(r"^(\w[^\n]*):\n(?=    )", re.MULTILINE)
_ENTRY = re.compile(r"(?P<flags>--[^ ,:]+(?:, --?[^ ,:]+)*)? ?(?P<metavar>[^ :]+)?: (?P<text>.*)")


def declared(command: Callable[..., Any]) -> tuple[Callable[..., Any], Help]:
    """The command, with its parameters as Typer declares them, and its help.

    Raises:
        KeyError: nothing describes a parameter.
    """
    found = help_of(command)
    entries = entries_of(SHARED) | found.entries
    signature = inspect.signature(command, eval_str=True)
    parameters = []
    for name, parameter in signature.parameters.items():
        entry = entries.get(name.rstrip("_")) or entries[name.removesuffix("s")]
        kind, info = parameter.annotation, typer.Option() if entry.flags else typer.Argument()
        if get_origin(kind) is Annotated:
            kind, info = get_args(kind)
        info = copy(info)
        info.param_decls = entry.flags or None
        info.metavar, info.help = entry.metavar, entry.text
        parameters.append(parameter.replace(annotation=Annotated[kind, info]))
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return command, found


def help_of(command: Callable[..., Any]) -> Help:
    """The help of a command by its docstring."""
    doc = inspect.cleandoc(command.__doc__ or "")
    for name, value in TEXTS.items():
        doc = doc.replace(f"{{{name}}}", value.replace("\n", "\n    "))
    text, *rest = _SECTION.split(doc)
    entries: dict[str, Entry] = {}
    blocks = []
    for title, indented in zip(rest[::2], rest[1::2], strict=True):
        body = dedent(indented).rstrip()
        if title in ("Arguments", "Options"):
            entries |= entries_of(body)
        else:
            lines = _whole(body) if title == "Examples" else body.splitlines()
            blocks.append("\n".join(["\b", f"{title}:", *("  " + line for line in lines)]))
    return Help(text.rstrip(), "\n\n".join(blocks), entries)


def entries_of(text: str) -> dict[str, Entry]:
    """Entries by the names of their parameters."""
    entries = {}
    for line in _whole(text.strip()):
        found = _ENTRY.fullmatch(line)
        assert found is not None, line
        flags = tuple((found["flags"] or "").split(", ")) if found["flags"] else ()
        name = flags[0].partition("/")[0][2:] if flags else found["metavar"].partition("|")[0]
        key = name.lower().replace("-", "_")
        entries[key] = Entry(flags, found["metavar"], found["text"])
    return entries


def _whole(text: str) -> list[str]:
    """Lines with the indented ones that continue them."""
    return re.sub(r"\n +", " ", text).splitlines()


def check_engine(
    engine: Engine, workers: int | None, address: str | None, jobs: int | None
) -> None:
    """Check options before anything is read; ``jobs`` is None where it was not given.

    Raises:
        EgparseError: options of another engine, or a cluster without a number of workers.
    """
    if engine is Engine.LOCAL:
        for option, value in (("--workers", workers), ("--ray-address", address)):
            if value is not None:
                raise EgparseError(f"{option}: expected --engine ray beside it")
    elif workers is None:
        raise EgparseError("--engine ray: expected --workers N beside it")
    elif jobs is not None:
        raise EgparseError("--jobs: expected --workers alone with --engine ray, got both")


def model_and_input(first: Path, second: Path | None) -> tuple[Path | None, Path]:
    """MODEL and INPUT of a command that takes ``MODEL INPUT`` or ``INPUT`` alone."""
    return (None, first) if second is None else (first, second)
