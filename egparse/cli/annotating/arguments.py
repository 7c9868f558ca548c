"""The inputs that arguments name: files, all files of folders, standard input; and the names of
their outputs.

Of a folder those files are taken, in it and in its subfolders, whose names end as texts and corpora
do, also before an ending of compression; hidden ones are not. They are sorted by their paths.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from egparse.cli.annotating.stores import address_of
from egparse.cli.files.arguments import STANDARD, identity
from egparse.cli.options import PLAIN
from egparse.errors import EgparseError
from egparse.io.columns import LAYOUTS
from egparse.io.compression import SUFFIXES, without_compression
from egparse.io.detection import FORMATS, format_of_name

ENDINGS = (".conll", ".conllu", ".conllx", ".text", ".txt")
"""What names of texts and corpora in folders end in, in any case."""


class InputFile(NamedTuple):
    """A file to read, or standard input; ``relative`` is its path below the folder that was named,
    or its mere name.
    """

    path: Path
    relative: Path

    @property
    def label(self) -> str:
        """The name that output and messages give it."""
        return "<stdin>" if self.path == STANDARD else address_of(self.path) or str(self.path)


def input_files(arguments: Sequence[Path]) -> list[InputFile]:
    """The files of the arguments, in their order.

    Raises:
        EgparseError: there is no such file or folder, a folder without any text or corpus, or
            standard input twice.
    """
    if list(arguments).count(STANDARD) > 1:
        raise EgparseError("-: expected standard input once, got it twice")
    return [file for argument in arguments for file in _files(argument)]


def output_path(folder: Path, relative: Path, format: str) -> Path:
    """Where the output of an input goes: below ``folder`` as the input below its own, with the
    ending of the format. Column files have no ending of their own: they keep their name.
    """
    name = without_compression(relative.name)
    if format in LAYOUTS:
        return folder / relative.with_name(name)
    ending = next((one for one in ENDINGS if name.lower().endswith(one)), "")
    stem = name[: len(name) - len(ending)] if len(name) > len(ending) else name
    return folder / relative.with_name(f"{stem}.{'txt' if format == 'text' else format}")


def expected_format(relative: Path, asked: str) -> str:
    """The format of the output as far as it is known before an input is read: what was asked for,
    or what the name tells, or CoNLL-U.
    """
    if asked in FORMATS:
        return asked
    return "conllu" if asked in PLAIN else format_of_name(relative.name) or "conllu"


def check_outputs(outputs: Mapping[InputFile, Path], inputs: Iterable[Path]) -> None:
    """Check that outputs replace neither each other nor an input.

    Raises:
        EgparseError: one of them would.
    """
    owners: dict[str, InputFile] = {}
    kept = {identity(path) for path in inputs} - {None}
    for file, path in outputs.items():
        other = owners.setdefault(os.path.realpath(path), file)
        if other is not file:
            raise EgparseError(
                f"{path}: expected one input for each output, got {other.label} and {file.label}"
            )
        if identity(path) in kept:
            raise EgparseError(
                f"{path}: expected another file for the output, got an input, which it would "
                "destroy"
            )


def _files(argument: Path) -> Iterator[InputFile]:
    if argument == STANDARD:
        yield InputFile(STANDARD, Path("stdin"))
        return
    if address_of(argument) is not None:
        yield InputFile(argument, Path(argument.name))
        return
    try:
        os.stat(argument)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise EgparseError(f"{argument}: cannot be read: {reason}") from None
    if not argument.is_dir():
        yield InputFile(argument, Path(argument.name))
        return
    found = sorted(_walk(argument))
    if not found:
        expected = f"expected files ending in {', '.join(ENDINGS)} (or {', '.join(SUFFIXES)} after"
        raise EgparseError(f"{argument}: {expected} that), got a folder without any")
    yield from (InputFile(path, path.relative_to(argument)) for path in found)


def _walk(folder: Path) -> Iterator[Path]:
    def fail(error: OSError) -> None:
        raise error

    for place, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            known = without_compression(name).lower().endswith(ENDINGS)
            path = Path(place, name)
            # a link to nothing is taken, and complained of; pipes are not
            if known and not name.startswith(".") and (path.is_file() or not path.exists()):
                yield path
