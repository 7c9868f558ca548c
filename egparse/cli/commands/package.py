"""``egparse package``: make an installable spaCy package from a model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from egparse.cli import options, tables
from egparse.cli.files import Kind, check_folder, check_output, require_file
from egparse.cli.notices import reported, say
from egparse.cli.options import examples

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
    """Make a package of a model, given by path or name; returns plain data about it.

    Raises:
        EgparseError: as for ``spacy_components.packaging.package``, or faulty facts.
    """
    from egparse.service.hub.cards import metadata_of
    from egparse.service.hub.resolve import find_model
    from egparse.storage.header import read_model_header

    path = find_model(model)
    check_output(None, Kind.TEXT, {"the model": path, "the facts": facts})
    check_folder(output)
    if facts is not None:
        require_file(facts, "facts of a model in TOML")
    read_model_header(path)  # refuses other files before spaCy is imported
    known = metadata_of(path, facts)
    if licence is not None:
        known = replace(known, licence=licence)
    from egparse.spacy_components import packaging

    made = packaging.package(
        path,
        known,
        output,
        name=name,
        version=version,
        wheel=wheel,
        sdist=sdist,
        force=force,
        inputs=() if facts is None else (facts,),
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
    model: options.ModelArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="DIR", help="Folder in which to make NAME-VERSION."),
    ] = Path(),
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            help="Name for spacy.load, such as en_egparse_ewt (default: from the name of the "
            "model).",
        ),
    ] = None,
    version: Annotated[
        str, typer.Option("--version", metavar="VERSION", help="Version of the package.")
    ] = "0.1.0",
    licence: Annotated[
        str | None,
        typer.Option(
            "--licence", metavar="TEXT", help="Licence of the model; replaces that of the facts."
        ),
    ] = None,
    facts: options.FactsOption = None,
    wheel: Annotated[
        bool, typer.Option("--wheel/--no-wheel", help="Whether to build a wheel.")
    ] = True,
    sdist: Annotated[
        bool, typer.Option("--sdist", help="Build a source distribution as well.")
    ] = False,
    force: Annotated[
        bool,
        typer.Option("--force", "-f", help="Replace an existing package of that name and version."),
    ] = False,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Make an installable spaCy package from a model.

    After pip install of the package, spacy.load(NAME) returns the pipeline, and egparse finds the
    model by name. The package holds the model and a model card, and requires egparse. Building it
    needs no network.
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
            say("no licence: state one with --licence before you publish the package")
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
