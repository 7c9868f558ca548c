"""``egparse package``: an installable spaCy package from a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from egparse.cli import tables
from egparse.cli.exit_codes import reported
from egparse.cli.options import FactsOption, JsonOption, ModelArgument, QuietOption, examples

EPILOG = examples(
    "egparse package en_ewt --output packages",
    "egparse package model.msgpack --name en_egparse_mine --version 1.0.0 --licence 'CC BY-SA 4.0'",
    "egparse package en_ewt --facts en_ewt.toml --no-wheel --sdist",
)


def package(
    model: Path,
    output: Path,
    *,
    facts: Path | None = None,
    licence: str | None = None,
    name: str | None = None,
    version: str = "0.1.0",
    wheel: bool = True,
    sdist: bool = False,
    force: bool = False,
) -> dict[str, Any]:
    """Make a package of a model, given by path or name, and say what was made, as plain data.

    Raises EgparseError as ``pipes.packaging.package`` does, and for faulty facts.
    """
    from egparse.hub.card_metadata import metadata_of
    from egparse.hub.resolve import find_model
    from egparse.storage.model_file import read_header

    path = find_model(model)
    read_header(path)  # what is no model is refused before spaCy is imported
    known = metadata_of(path, facts)
    if licence is not None:
        known = replace(known, licence=licence)
    from egparse.spacy_components import packaging

    made = packaging.package(
        path, known, output, name=name, version=version, wheel=wheel, sdist=sdist, force=force
    )
    return {
        "name": made.name,
        "version": made.version,
        "model": made.model,
        "components": list(made.components),
        "licence": known.licence or None,
        "folder": str(made.folder),
        "files": [{"path": str(file), "bytes": file.stat().st_size} for file in made.files],
    }


def package_cli(
    model: ModelArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Where to make the folder NAME-VERSION."
        ),
    ] = Path(),
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="What spacy.load calls it, such as en_egparse_ewt; else made up from that of the "
            "model.",
        ),
    ] = None,
    version: Annotated[
        str, typer.Option("--version", metavar="VERSION", help="The version of the package.")
    ] = "0.1.0",
    licence: Annotated[
        str | None,
        typer.Option(
            "--licence", metavar="TEXT", help="The licence of the model, over what the facts say."
        ),
    ] = None,
    facts: FactsOption = None,
    wheel: Annotated[
        bool, typer.Option("--wheel/--no-wheel", help="Build a wheel, or not.")
    ] = True,
    sdist: Annotated[
        bool, typer.Option("--sdist", help="Build a source distribution too.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace a package of that name and version.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make an installable spaCy package from a model.

    After pip install of what it builds, spacy.load(NAME) gives the pipeline, and egparse finds the
    model by name. Nothing is downloaded. The wheel holds the model once, a model card, and asks pip
    for egparse.
    """
    with reported():
        made = package(
            model,
            output,
            facts=facts,
            licence=licence,
            name=name,
            version=version,
            wheel=wheel,
            sdist=sdist,
            force=force,
        )
        if made["licence"] is None and not quiet:
            print(
                "no licence: give it with --licence before others get the package", file=sys.stderr
            )
        print(
            json.dumps(made, ensure_ascii=False, indent=2) if as_json else "\n".join(_shown(made))
        )


def _shown(made: Mapping[str, Any]) -> Iterator[str]:
    yield tables.record(
        [
            ("package", f"{made['name']} {made['version']}"),
            ("pipeline", ", ".join(made["components"])),
            ("folder", made["folder"]),
            *(
                ("built", f"{file['path']} ({tables.size(file['bytes'])})")
                for file in made["files"]
            ),
        ]
    )
    if made["files"]:
        yield tables.section(
            "To use it",
            f"pip install {made['files'][0]['path']}\n"
            f"python -c 'import spacy; nlp = spacy.load(\"{made['name']}\")'\n"
            f"egparse parse {made['model']} article.txt",
        )
