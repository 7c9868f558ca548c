"""Checks of files that arguments name, before anything is read or run.

An output never replaces another input of the same command, by whatever name, symbolic or hard link
or descriptor it goes, and even with --force; it replaces what is of another kind, or a model, only
with --force.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from egparse.cli.files.kinds import Kind, kind_of
from egparse.errors import EgparseError

STANDARD = Path("-")
_STDIN, _STDOUT = 0, 1

ForceOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--force",
        "-f",
        help="Replace an existing file, even a model or a file of another kind; never an input of "
        "the command.",
    ),
]

Inputs: TypeAlias = Mapping[str, Path | None]
"""What an input is, as messages say it -> its path, ``-`` for standard input; None: not given."""


def require_file(path: Path, expected: str) -> None:
    """Raise EgparseError unless a file is there that can be read; ``expected`` says what it is."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise EgparseError(f"{path}: expected {expected}, got no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise EgparseError(f"{path}: expected {expected}, got: {reason}") from None
    if stat.S_ISDIR(mode):
        raise EgparseError(f"{path}: expected {expected}, got a folder")
    if not os.access(path, os.R_OK):
        raise EgparseError(f"{path}: expected {expected}, got a file without permission to read it")


def check_output(
    path: Path | None, kind: Kind, inputs: Inputs, *, force: bool = False, regular: bool = True
) -> None:
    """Check that ``path``, or else standard output, can be written and destroys nothing.

    ``regular``: what is no regular file, such as a pipe, is refused.

    Raises:
        EgparseError: it is one of the inputs; it cannot be written; or it exists and is a model or
            of another kind than ``kind``, unless ``force``.
    """
    _check_inputs(path, inputs)
    if path is None:
        return
    check_writable(path, regular=regular)
    if force or not path.is_file():
        return
    found = kind_of(path)
    if found is Kind.MODEL:
        raise EgparseError(f"{path}: expected no such file, or --force to replace it, got {found}")
    if found not in (kind, Kind.EMPTY):
        raise EgparseError(
            f"{path}: expected {kind} to replace or no such file, got {found}; --force replaces it"
        )


def check_writable(path: Path, *, regular: bool = True) -> None:
    """Raise EgparseError if a file could not be written, before time is spent on its content."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise EgparseError(f"{path}: expected the name of a file to write, got a folder")
    if target.exists() and not target.is_file():
        if regular:
            raise EgparseError(f"{path}: expected the name of a file to write, got something else")
        if not os.access(target, os.W_OK):
            raise EgparseError(f"{path}: cannot be written: no permission")
        return
    if not target.parent.is_dir():
        raise EgparseError(f"{path}: cannot be written: there is no folder {target.parent}")
    if not os.access(target.parent, os.W_OK):
        raise EgparseError(
            f"{path}: cannot be written: no permission for the folder {target.parent}"
        )


def check_folder(path: Path) -> None:
    """Raise EgparseError if a folder could not be written into, or made."""
    place = path
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        within = "" if place == path else f", {place}"
        raise EgparseError(f"{path}: expected the name of a folder, got a file{within}")
    if not os.access(place, os.W_OK):
        raise EgparseError(f"{path}: cannot be written: no permission for the folder {place}")


def check_distinct(outputs: Collection[Path]) -> None:
    """Raise EgparseError if two outputs are one file."""
    seen: dict[str, Path] = {}
    for path in outputs:
        other = seen.setdefault(os.path.realpath(path), path)
        if other is not path:
            raise EgparseError(f"{path}: expected another file than for the other output")


def _check_inputs(output: Path | None, inputs: Inputs) -> None:
    """Raise EgparseError if an output is one of the inputs."""
    found = identity(_STDOUT if output is None else output)
    if found is None:
        return
    for what, path in inputs.items():
        if path is not None and found == identity(_STDIN if path == STANDARD else path):
            name = "standard output" if output is None else output
            same = "" if path == output else f", {path}"
            raise EgparseError(
                f"{name}: expected another file for the output, got {what}{same}, which it would "
                "destroy"
            )


def identity(file: Path | int) -> tuple[int, int] | None:
    """Device and number of a regular file or a named pipe; None if there is no such thing."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISFIFO(found.st_mode):
        return None
    return found.st_dev, found.st_ino
