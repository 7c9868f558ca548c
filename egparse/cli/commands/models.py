"""``egparse models`` and ``egparse download``: models that are installed, and models and UD
treebanks at their public addresses.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from egparse.cli import completion, tables
from egparse.cli.files import check_folder
from egparse.cli.notices import say
from egparse.errors import EgparseError

if TYPE_CHECKING:
    from rich.progress import TaskID

    from egparse.service.hub.fetch import Listener


def models(index: Path | None = None, json_: bool = False) -> None:
    """List installed models, and what can be downloaded.

    Options:
        --index DIRECTORY: Write the index of the models in this folder in JSON instead, from which
            'egparse download' finds them where EGPARSE_INDEX names its address or its path.

    Examples:
        egparse models
        egparse models --json > models.json
        egparse models --index models > models/index.json
    """
    if index is not None:
        print(tables.as_json({"models": index_of(index)}))
        return
    found = found_models()
    print(tables.as_json(found) if json_ else "\n".join(_shown(found)))


def download(
    name: Annotated[str, typer.Argument(autocompletion=completion.downloads)],
    output: Path | None = None,
    quiet: bool = False,
) -> None:
    """Download a model or a UD treebank.

    Models are those of the index that $EGPARSE_INDEX names, by its address or its path; of a
    language, such as de, it is the first. The files of a treebank are its train, dev and test
    parts. Prints the paths of the files, one on a line. Files that are there already are checked
    but not downloaded again, and an interrupted download is resumed. A file gets its name only when
    it is complete and its checksum is right. Where no checksum is known, that of the first download
    is kept beside the file (.sha256) and checked from then on.

    $EGPARSE_HOME replaces the user cache as the folder of models and corpora, $EGPARSE_MIRROR the
    public address.

    Arguments:
        NAME: A model, a language, or a treebank that 'egparse models' lists.

    Options:
        --output, -o DIRECTORY: Folder for the files (default: a folder in the user cache).

    Examples:
        egparse download UD_French-Sequoia
        EGPARSE_INDEX=https://models.example/index.json egparse download de
        egparse download UD_English-EWT --output corpora
        EGPARSE_MIRROR=http://mirror.example egparse download UD_Latin-Perseus

        egparse models lists the names.
    """
    from egparse.service.hub.catalogue import find_entry, treebank_entry

    if output is not None:
        check_folder(output)
    from egparse.service.hub.fetch import fetch, fetch_index

    if (entry := treebank_entry(name)) is None:
        with _progress(quiet) as listener:
            fetch_index(listener)
        entry = find_entry(name)
    if entry is None:
        print(_installed(name))
        return
    with _progress(quiet) as listener:
        paths = fetch(entry, output, listener)
    print("\n".join(map(str, paths)), flush=True)
    if not quiet:
        files = tables.things(len(entry.files), "file")
        by = "the catalogue"
        if any(file.sha256 is None for file in entry.files):
            by = "the first download (.sha256 files)"
        released = f"{entry.name} {entry.release}, {entry.licence}"
        say(f"{released}: {files}, checked against the SHA-256 of {by}")


def found_models() -> dict[str, list[dict[str, Any]]]:
    """Installed models, in the order of look-up, and the catalogue of downloads, as plain data.

    Only the headers of model files are read. A name that occurs twice refers to the first model;
    the others are ``hidden``.
    """
    from egparse.service.hub.catalogue import entries
    from egparse.service.hub.fetch import folder_of, is_downloaded
    from egparse.service.hub.model_paths import stored_models

    installed: list[dict[str, Any]] = []
    for stored in stored_models():
        hidden = any(stored.name == other["name"] for other in installed)
        installed.append(
            {"name": stored.name, "path": str(stored.path), "place": stored.place, "hidden": hidden}
            | _described(stored.path)
        )
    facts = ("name", "kind", "language", "licence", "release")
    available = [
        {
            **{key: getattr(entry, key) for key in facts},
            "downloaded": str(folder_of(entry)) if is_downloaded(entry) else None,
            "files": [file._asdict() for file in entry.files],
        }
        for entry in entries()
    ]
    return {"installed": installed, "available": available}


def index_of(folder: Path) -> list[dict[str, Any]]:
    """What an index says of the models in a folder.

    Raises:
        EgparseError: no such folder, or a file that is no model.
    """
    from egparse.service.hub.model_paths import SUFFIX
    from egparse.service.hub.recipes import metadata_of
    from egparse.storage.header import read_model_header
    from egparse.storage.model_file import digest_of

    if not folder.is_dir():
        raise EgparseError(f"{folder}: expected a folder of models, got none")
    found = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        header = read_model_header(path)
        one = {"name": path.stem, "language": header["language"], "file": path.name}
        one |= {"licence": metadata_of(path).licence, "version": header["package_version"]}
        found.append(one | {"bytes": path.stat().st_size, "sha256": digest_of(path)})
    return found


def _described(path: Path) -> dict[str, Any]:
    """Facts from the header of a model file, or ``fault``: why it cannot be used."""
    from egparse.service.hub.cards import development_scores
    from egparse.storage.header import read_model_header
    from egparse.storage.model_file import digest_of

    try:
        header, digest, size = read_model_header(path), digest_of(path), path.stat().st_size
    except EgparseError as error:
        return {"fault": str(error)}
    record = header.get("record", {})
    scores = development_scores(record)
    return {
        "language": header.get("language"),
        "bytes": size,
        "sha256": digest,
        "layers": header.get("layers", []),
        "development_scores": {layer: scores.get(layer) for layer in header.get("layers", [])},
        "record": {name: value for name, value in record.items() if name != "tasks"},
    }


def _shown(found: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    usable = [one for one in found["installed"] if "fault" not in one]
    if usable:
        headings = ("name", "language", "size", "SHA-256", "file")
        rows = [
            (
                one["name"],
                one["language"],
                tables.size(one["bytes"]),
                one["sha256"][:12],
                one["path"] + " (hidden by the one above)" * one["hidden"],
            )
            for one in usable
        ]
        yield "Installed\n" + tables.table(headings, rows, "llrll")
        yield tables.section("Layers, with their scores on development data", _scores(usable))
    else:
        yield "Installed: no models. Give models that 'egparse train' wrote by their paths."
    if faulty := [one["fault"] for one in found["installed"] if "fault" in one]:
        yield tables.section("Cannot be used", "\n".join(faulty))
    columns = ("name", "kind", "language", "release", "licence")
    offers = [
        (*(one[column] for column in columns), "yes" if one["downloaded"] else tables.NOTHING)
        for one in found["available"]
    ]
    table = tables.table((*columns, "downloaded"), offers, "llllll")
    yield tables.section("Available with 'egparse download NAME'", table)
    if not any(one["kind"] == "model" for one in found["available"]):
        yield "\nNo models: EGPARSE_INDEX names no index of any."


def _scores(installed: Sequence[Mapping[str, Any]]) -> str:
    layers = list(dict.fromkeys(layer for one in installed for layer in one["layers"]))

    def score(scores: Mapping[str, float | None], layer: str) -> str:
        if layer not in scores:
            return tables.NOTHING
        return "yes" if scores[layer] is None else tables.per_cent(scores[layer])

    rows = [
        (one["name"], *(score(one["development_scores"], layer) for layer in layers))
        for one in installed
    ]
    return tables.table(("name", *layers), rows, "l" + "r" * len(layers))


def _installed(name: str) -> Path:
    """The file of a model that is installed and not in the catalogue.

    Raises:
        EgparseError: there is no model of that name either.
    """
    from egparse.service.hub.catalogue import entries
    from egparse.service.hub.resolve import did_you_mean, stored_model

    if (stored := stored_model(name)) is not None:
        return stored.path
    hint = did_you_mean(name, [entry.name for entry in entries()])
    raise EgparseError(f"{name}: expected a name that 'egparse models' lists{hint}")


@contextmanager
def _progress(quiet: bool) -> Iterator[Listener]:
    """A listener that draws a bar for each file, if standard error is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    bars: dict[str, TaskID] = {}
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(20, complete_style="default", finished_style="default"),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True, highlight=False)) as progress:

        def show(name: str, size: int, total: int | None) -> None:
            if name not in bars:
                bars[name] = progress.add_task(name, total=total)
            progress.update(bars[name], completed=size, total=total)

        yield show
