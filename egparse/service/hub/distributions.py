"""Wheels and source distributions of a folder with a ``pyproject.toml`` and one package, built
without a network.

flit builds in this process; other builders would first be installed into a new environment. With
``SOURCE_DATE_EPOCH`` set, the same folder gives the same bytes; without it, files keep the time of
their last change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from egparse.config.fields import toml_value
from egparse.errors import EgparseError

_OTHER_NAMES = {"LGPL-LR": "LGPLLR"}
"""Other name of a licence -> its SPDX identifier."""

BUILD_SYSTEM = '[build-system]\nrequires = ["flit_core>=4"]\nbuild-backend = "flit_core.buildapi"\n'


def build_wheel(folder: Path, output: Path) -> Path:
    """Build a wheel into a folder that exists, and return its path.

    Raises:
        EgparseError: an invalid ``pyproject.toml``, for instance with a malformed e-mail address.
    """
    from flit_core.wheel import make_wheel_in

    with _errors_translated():
        return Path(make_wheel_in(folder / "pyproject.toml", output).file)


def build_sdist(folder: Path, output: Path) -> Path:
    """Build a source distribution into a folder that exists, and return its path.

    Raises:
        EgparseError: as for ``build_wheel``.
    """
    from flit_core.sdist import SdistBuilder

    with _errors_translated():
        return Path(SdistBuilder.from_ini_path(folder / "pyproject.toml").build(output))


def licence_expression(licence: str) -> str:
    """A licence as ``pyproject.toml`` requires it: an SPDX expression (in ``licence``, blanks may
    stand for its hyphens, and ``LGPL-LR``, as treebanks write it, is known), or else a
    ``LicenseRef``.

    >>> licence_expression("CC BY-SA 4.0")
    'CC-BY-SA-4.0'
    >>> licence_expression("LGPL-LR")
    'LGPLLR'
    >>> licence_expression("Ask us")
    'LicenseRef-Ask-us'
    """
    from flit_core.config import ConfigError, normalise_compound_license_expr

    dashed = "-".join(licence.split())
    for text in (_OTHER_NAMES.get(dashed, licence), dashed):
        try:
            return str(normalise_compound_license_expr(text))
        except ConfigError:
            continue
    return "LicenseRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", licence).strip("-")


def pyproject(entries: Iterable[tuple[str, object]]) -> str:
    """The text of a ``pyproject.toml`` with these entries in ``[project]``, without empty ones."""
    lines = "\n".join(f"{key} = {toml_value(value)}" for key, value in entries if value)
    return f"{BUILD_SYSTEM}\n[project]\n{lines}\n"


@contextmanager
def _errors_translated() -> Iterator[None]:
    from flit_core.config import ConfigError

    try:
        yield
    except ConfigError as error:
        raise EgparseError(f"package: {error}") from error
