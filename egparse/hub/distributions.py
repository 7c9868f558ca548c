"""Wheels and source distributions of a folder with a ``pyproject.toml`` and one package, built
without a network.

flit builds them in this process: other builders first install themselves into an environment of
their own. Under the same ``SOURCE_DATE_EPOCH`` the same folder gives the same bytes; without it
files keep the time of their last change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from egparse.errors import EgparseError

BUILD_SYSTEM = '[build-system]\nrequires = ["flit_core>=4"]\nbuild-backend = "flit_core.buildapi"\n'


def build_wheel(folder: Path, output: Path) -> Path:
    """Build a wheel into a folder that exists, and return its path.

    Raises:
        EgparseError: a ``pyproject.toml`` that packages cannot have, for instance with something
            else for an address of mail.
    """
    from flit_core.wheel import make_wheel_in

    with _faults():
        return Path(make_wheel_in(folder / "pyproject.toml", output).file)


def build_sdist(folder: Path, output: Path) -> Path:
    """Build a source distribution into a folder that exists, and return its path.

    Raises:
        EgparseError: as ``build_wheel`` says.
    """
    from flit_core.sdist import SdistBuilder

    with _faults():
        return Path(SdistBuilder.from_ini_path(folder / "pyproject.toml").build(output))


def licence_expression(licence: str) -> str:
    """A licence as ``pyproject.toml`` wants it: an expression of SPDX, maybe written with blanks
    for dashes, or a name of one's own.

    >>> licence_expression("CC BY-SA 4.0")
    'CC-BY-SA-4.0'
    >>> licence_expression("LGPL-LR")
    'LicenseRef-LGPL-LR'
    """
    from flit_core.config import ConfigError, normalise_compound_license_expr

    dashed = "-".join(licence.split())
    for text in (licence, dashed):
        try:
            return str(normalise_compound_license_expr(text))
        except ConfigError:
            continue
    return "LicenseRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", licence).strip("-")


def pyproject(entries: Iterable[tuple[str, object]]) -> str:
    """The text of a ``pyproject.toml`` whose table ``[project]`` has these entries; those that are
    empty are left out.
    """
    lines = "\n".join(f"{key} = {_toml(value)}" for key, value in entries if value)
    return f"{BUILD_SYSTEM}\n[project]\n{lines}\n"


def _toml(value: object) -> str:
    """Text, lists and tables, whose keys need no quotes, in one line of TOML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(own)}" for key, own in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_toml, value)) + "]"
    # JSON escapes all that TOML wants escaped but one character
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@contextmanager
def _faults() -> Iterator[None]:
    from flit_core.config import ConfigError

    try:
        yield
    except ConfigError as error:
        raise EgparseError(f"package: {error}") from error
