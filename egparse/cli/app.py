"""The program ``egparse``: its commands, without imports that take time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from egparse import __version__
from egparse.cli import process
from egparse.cli.commands.classes import classes
from egparse.cli.commands.evaluate import evaluate
from egparse.cli.commands.experiment import experiment
from egparse.cli.commands.inspect import inspect
from egparse.cli.commands.models import download, models
from egparse.cli.commands.package import package
from egparse.cli.commands.parse import parse
from egparse.cli.commands.serve import serve
from egparse.cli.commands.settings import settings
from egparse.cli.commands.train import train
from egparse.cli.commands.tune import tune
from egparse.cli.commands.visualize import visualize
from egparse.cli.commands.warm import warm
from egparse.cli.notices import reported
from egparse.cli.options import declared

COMMANDS = (
    train,
    evaluate,
    parse,
    visualize,
    serve,
    inspect,
    models,
    download,
    package,
    tune,
    classes,
    settings,
    warm,
    experiment,
)
"""All commands, in the order of the help."""


class Program(TyperGroup):
    """The program, whose commands report what a user can cause in one line."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Raises BadParameter, without the word that pydantic begins with."""
        try:
            with reported():
                return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"egparse {__version__}")
        raise typer.Exit


def egparse(
    version: Annotated[bool, typer.Option(callback=_show_version, is_eager=True)] = False,
) -> None:
    """Tokenisers, taggers, lemmatisers and dependency parsers that learn from a corpus.

    A model has every layer that its training corpus annotates: tokens and sentences of plain text,
    part-of-speech tags, morphological features, lemmas, entities, dependency trees and their
    labels.

    Options:
        --version: Show the version and exit.

    Examples:
        egparse train corpus.conllu --output model.msgpack
        egparse evaluate model.msgpack test.conllu
        echo 'The cat sat on the mat.' | egparse parse en_ewt -
        egparse visualize en_ewt article.txt --output article.html
        egparse serve en_ewt fr_sequoia
        egparse inspect model.msgpack
        egparse download UD_French-Sequoia
        egparse package model.msgpack --name en_egparse_mine
        egparse settings parser
        egparse tune corpus.conllu --task parser
        egparse classes raw.txt --language en --output classes.tsv
        egparse warm
        egparse experiment all --quick

        egparse COMMAND --help explains each command.
    """


def _made() -> typer.Typer:
    made = typer.Typer(
        name="egparse",
        cls=Program,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # rich help takes 0.1 s more, and rewraps the examples
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    callback, found = declared(egparse)
    made.callback(help=found.text, epilog=found.epilog)(callback)
    for function in COMMANDS:
        command, found = declared(function)
        name = function.__name__
        made.command(name, help=found.text, epilog=found.epilog)(command)
    return made


app = _made()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program on ``arguments``, or else as the program of this process: on the command
    line, with its standard streams and signals.

    Raises:
        SystemExit: always, with the exit code.
    """
    if arguments is None:
        process.prepare()
    status: object = 0
    try:
        with reported():  # help is not written by a command
            try:
                app(args=None if arguments is None else list(arguments), prog_name="egparse")
            except SystemExit as left:
                status = left.code
    except typer.Exit as left:
        status = left.exit_code
    if arguments is None:
        process.leave()
    raise SystemExit(status)
