"""``egparse download``: download a model or a UD treebank from its public address."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from egparse.cli import completion, options, tables
from egparse.cli.files import check_folder
from egparse.cli.notices import reported, say
from egparse.cli.options import examples
from egparse.errors import EgparseError

if TYPE_CHECKING:
    from rich.progress import TaskID

    from egparse.service.hub.catalogue import CatalogueEntry
    from egparse.service.hub.fetch import Listener

EPILOG = examples(
    "egparse download UD_French-Sequoia",
    "egparse download UD_English-EWT --output corpora",
    "EGPARSE_MIRROR=http://mirror.example egparse download UD_Latin-Perseus",
    "",
    "egparse models lists the names.",
)


def download(
    entry: CatalogueEntry, folder: Path | None = None, listener: Listener | None = None
) -> list[Path]:
    """Download the files of a model or a treebank into ``folder``; see ``hub.fetch.fetch``.

    Raises:
        DownloadError: they cannot be downloaded, or are not the expected files.
    """
    from egparse.service.hub.fetch import fetch

    return fetch(entry, folder, listener or (lambda *_: None))


def download_cli(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A model or a treebank that 'egparse models' lists.",
            autocompletion=completion.downloads,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIRECTORY",
            help="Folder for the files (default: a folder in the user cache).",
        ),
    ] = None,
    quiet: options.QuietOption = False,
) -> None:
    """Download a model or a UD treebank.

    The files of a treebank are its train, dev and test parts. Prints the paths of the files, one on
    a line. Files that are there already are checked but not downloaded again, and an interrupted
    download is resumed. A file gets its name only when it is complete and its checksum is right.
    Where no checksum is known, that of the first download is kept beside the file (.sha256) and
    checked from then on.

    $EGPARSE_HOME replaces the user cache as the folder of models and corpora, $EGPARSE_MIRROR the
    public address.
    """
    with reported():
        from egparse.service.hub.catalogue import find_entry

        entry = find_entry(name)
        if entry is None:
            print(_installed(name))
            return
        if output is not None:
            check_folder(output)
        with _progress(quiet) as listener:
            paths = download(entry, output, listener)
        print("\n".join(map(str, paths)), flush=True)
        if not quiet:
            say(_described(entry))


def _installed(name: str) -> Path:
    """The file of a model that is installed and not in the catalogue.

    Raises:
        EgparseError: there is no model of that name either.
    """
    from egparse.service.hub.catalogue import entries
    from egparse.service.hub.model_paths import stored_models
    from egparse.service.hub.resolve import did_you_mean

    for stored in stored_models():
        if stored.name == name:
            return stored.path
    hint = did_you_mean(name, [entry.name for entry in entries()])
    raise EgparseError(f"{name}: expected a name that 'egparse models' lists{hint}")


def _described(entry: CatalogueEntry) -> str:
    files = tables.things(len(entry.files), "file")
    if any(file.sha256 is None for file in entry.files):
        checked = "checked against the SHA-256 of the first download (.sha256 files)"
    else:
        checked = "checked against the SHA-256 of the catalogue"
    return f"{entry.name} {entry.release}, {entry.licence}: {files}, {checked}"


@contextmanager
def _progress(quiet: bool) -> Iterator[Listener | None]:
    """A listener that draws a progress bar for each file on a terminal; None elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield None
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
