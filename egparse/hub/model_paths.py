"""Where models lie that are found by name, in the order in which they are looked up.

1. ``models/`` in the user's own folder: ``$EGPARSE_HOME``, else the user cache. What ``egparse
  download`` gets is put there.
2. What is shipped with egparse: ``models_data/`` in the installed package, ``models/`` in a
  checkout.
3. Installed packages that have an entry point of the group ``egparse_models``. Its value names a
  package, and that package's folder holds the model files.

A model's name is that of its file without ``.msgpack``. The first place that has a name wins.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

HOME_VARIABLE = "EGPARSE_HOME"
SUFFIX = ".msgpack"
ENTRY_POINTS = "egparse_models"

_PACKAGE = Path(__file__).resolve().parents[1]


class StoredModel(NamedTuple):
    """A model file that is found by name; ``place`` is ``user``, ``egparse``, or the name of the
    package that holds it.
    """

    name: str
    path: Path
    place: str


def home() -> Path:
    """The folder of models and corpora that the user has: ``$EGPARSE_HOME``, else the user cache.
    It need not exist.
    """
    if own := os.environ.get(HOME_VARIABLE):
        return Path(own).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("egparse", appauthor=False)


def stored_models() -> Iterator[StoredModel]:
    """All models that have a name, those first that win where several have the same; taken as far
    as needed.
    """
    yield from _in_folder(home() / "models", "user")
    yield from _in_folder(_shipped(), "egparse")
    for package, folder in _package_folders():
        yield from _in_folder(folder, package)


def _in_folder(folder: Path, place: str) -> Iterator[StoredModel]:
    with suppress(OSError):  # there is no such folder, or it is not ours to read
        for path in sorted(folder.iterdir()):
            if path.suffix == SUFFIX and not path.name.startswith(".") and path.is_file():
                yield StoredModel(path.stem, path, place)


def _shipped() -> Path:
    """A checkout has no ``models_data``: only the build of a wheel puts it there."""
    if (_PACKAGE.parent / "pyproject.toml").is_file():
        return _PACKAGE.parent / "models"
    return _PACKAGE / "models_data"


def _package_folders() -> Iterator[tuple[str, Path]]:
    """The folders of installed model packages by name; nothing of them is imported, and broken ones
    are left out.
    """
    for module in sorted({point.module for point in entry_points(group=ENTRY_POINTS)}):
        with suppress(ImportError, ValueError, AttributeError):
            spec = find_spec(module)
            for folder in (spec.submodule_search_locations or ()) if spec else ():
                yield module, Path(folder)
