"""The program ``egparse``: its commands, without imports that take time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from egparse import __version__
from egparse.cli import process
from egparse.cli.conversion import plain_params
from egparse.cli.notices import reported
from egparse.cli.options import declared

COMMANDS = (
    *("train", "evaluate", "parse", "visualize", "suggest", "serve", "inspect", "models"),
    *("download", "package", "tune", "classes", "settings", "warm", "build-model", "experiment"),
)
"""All commands, in the order of the help; each is in the module of its name, but for a few."""

_MODULES = {"download": "models"}


class Program(TyperGroup):
    """The program, whose commands report what a user can cause in one line."""

    get_params: Any = plain_params

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Raises BadParameter, without the word that pydantic begins with."""
        try:
            with reported():
                return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


class Command(TyperCommand):
    """A command of the program."""

    get_params: Any = plain_params


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
        egparse suggest en_ewt letters/ --output next.conllu
        egparse serve en_ewt fr_sequoia
        egparse inspect model.msgpack
        egparse download UD_French-Sequoia
        egparse package model.msgpack --name en_egparse_mine
        egparse settings parser
        egparse tune corpus.conllu --task parser
        egparse classes raw.txt --language en --output classes.tsv
        egparse warm
        egparse build-model de_gsd --treebanks ud-treebanks-v2.16
        egparse experiment all --quick

        egparse COMMAND --help explains each command.
    """


def program(*names: str) -> typer.Typer:
    """The program with these of its commands; by default with all."""
    made = typer.Typer(
        name="egparse",
        cls=Program,
        no_args_is_help=True,
        add_completion=not names,  # its options stand before any command
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # rich help takes 0.1 s more, and rewraps the examples
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    callback, found = declared(egparse)
    made.callback(help=found.text, epilog=found.epilog)(callback)
    for name in names or COMMANDS:
        plain = name.replace("-", "_")
        module = import_module(f"egparse.cli.commands.{_MODULES.get(name, plain)}")
        command, found = declared(getattr(module, plain))
        made.command(name, cls=Command, help=found.text, epilog=found.epilog)(command)
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program on ``arguments``, or else as the program of this process: on the command
    line, with its standard streams and signals.

    Raises:
        SystemExit: always, with the exit code.
    """
    if arguments is None:
        process.prepare()
    given = sys.argv[1:] if arguments is None else list(arguments)
    status: object = 0
    try:
        with reported():  # help is not written by a command
            try:
                # a command that is called does not wait for the others
                run = program(*(given[:1] if given and given[0] in COMMANDS else ()))
                run(args=given, prog_name="egparse")
            except SystemExit as left:
                status = left.code
    except typer.Exit as left:
        status = left.exit_code
    if arguments is None:
        process.leave()
    raise SystemExit(status)
