"""The program ``egparse``: its commands, without imports that take time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from egparse import __version__
from egparse.cli import process
from egparse.cli.commands import (
    classes,
    download,
    evaluate,
    experiment,
    inspect,
    models,
    package,
    parse,
    serve,
    settings,
    train,
    tune,
    visualize,
    warm,
)
from egparse.cli.notices import reported
from egparse.cli.options import examples


class Program(TyperGroup):
    """The program, which says of wrong options only what is wrong."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Raises BadParameter, without the word that pydantic begins with."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")
            raise


app = typer.Typer(
    name="egparse",
    cls=Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich help takes 0.1 s more, and rewraps the examples
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"egparse {__version__}")
        raise typer.Exit


@app.callback(
    epilog=examples(
        "egparse train corpus.conllu --output model.msgpack",
        "egparse evaluate model.msgpack test.conllu",
        "echo 'The cat sat on the mat.' | egparse parse en_ewt -",
        "egparse visualize en_ewt article.txt --output article.html",
        "egparse serve en_ewt fr_sequoia",
        "egparse inspect model.msgpack",
        "egparse download UD_French-Sequoia",
        "egparse package model.msgpack --name en_egparse_mine",
        "egparse settings parser",
        "egparse tune corpus.conllu --task parser",
        "egparse classes raw.txt --language en --output classes.tsv",
        "egparse warm",
        "egparse experiment all --quick",
        "",
        "egparse COMMAND --help explains each command.",
    )
)
def egparse(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Tokenisers, taggers, lemmatisers and dependency parsers that learn from a corpus.

    A model has every layer that its training corpus annotates: tokens and sentences of plain text,
    part-of-speech tags, morphological features, lemmas, entities, dependency trees and their
    labels.
    """


app.command("train", epilog=train.EPILOG)(train.train_cli)
app.command("evaluate", epilog=evaluate.EPILOG)(evaluate.evaluate_cli)
app.command("parse", epilog=parse.EPILOG)(parse.parse_cli)
app.command("visualize", epilog=visualize.EPILOG)(visualize.visualize_cli)
app.command("serve", epilog=serve.EPILOG)(serve.serve_cli)
app.command("inspect", epilog=inspect.EPILOG)(inspect.inspect_cli)
app.command("models", epilog=models.EPILOG)(models.models_cli)
app.command("download", epilog=download.EPILOG)(download.download_cli)
app.command("package", epilog=package.EPILOG)(package.package_cli)
app.command("tune", epilog=tune.EPILOG)(tune.tune_cli)
app.command("classes", epilog=classes.EPILOG)(classes.classes_cli)
app.command("settings", epilog=settings.EPILOG)(settings.settings_cli)
app.command("warm", epilog=warm.EPILOG)(warm.warm_cli)
app.command("experiment", epilog=experiment.EPILOG)(experiment.experiment_cli)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program on ``arguments``, or else as the program of this process: on those of the
    command line, with its standard streams and signals.

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
