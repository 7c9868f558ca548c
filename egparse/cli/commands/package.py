"""``egparse package``: make an installable spaCy package from a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from egparse.cli import tables
from egparse.cli.files import Kind, check_folder, check_output, require_file
from egparse.cli.notices import say
from egparse.cli.options import MODEL


def package(
    model: Annotated[Path, MODEL],
    output: Path = Path(),
    name: str | None = None,
    version: str = "0.1.0",
    licence: str | None = None,
    facts: Path | None = None,
    wheel: bool = True,
    sdist: bool = False,
    force: bool = False,
    json_: bool = False,
    quiet: bool = False,
) -> None:
    """Make an installable spaCy package from a model.

    After pip install of the package, spacy.load(NAME) returns the pipeline, and egparse finds the
    model by name. The package holds the model and a model card, and requires egparse. Building it
    needs no network.

    Options:
        --output, -o DIR: Folder in which to make NAME-VERSION.
        --name NAME: Name for spacy.load, such as en_egparse_ewt (default: from the name of the
            model).
        --version VERSION: Version of the package.
        --licence TEXT: Licence of the model; replaces that of the facts.
        --wheel/--no-wheel: Whether to build a wheel.
        --sdist: Build a source distribution as well.
        --force, -f: Replace an existing package of that name and version.

    Examples:
        egparse package en_ewt --output packages
        egparse package model.msgpack --name en_egparse_mine --version 1.0.0 --licence 'CC BY-SA
            4.0'
        egparse package mine.msgpack --facts mine.toml --no-wheel --sdist
    """
    from egparse.service.hub.recipes import metadata_of
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
    found = {
        "name": made.name,
        "version": made.version,
        "model": made.model,
        "components": list(made.components),
        "licence": known.licence or None,
        "folder": str(made.folder),
        "files": [{"path": str(file), "bytes": file.stat().st_size} for file in made.files],
    }
    if not known.licence and not quiet:
        say("no licence: state one with --licence before you publish the package")
    print(tables.as_json(found) if json_ else "\n".join(_shown(found)))


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
