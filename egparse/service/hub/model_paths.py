"""The folders of models that are found by name, in the order of look-up.

1. ``models/`` in ``$EGPARSE_HOME`` or else the user cache, where ``egparse download`` puts models.
2. The models of egparse: ``models_data/`` in the installed package, ``models/`` in a checkout.
3. Installed packages with an entry point of the group ``egparse_models``, whose value names the
   package with the model files.

The name of a model is that of its file without ``.msgpack``, and begins with the code of its
language, as in ``de_gsd``. The first model of a name, or of a language, wins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

HOME_VARIABLE = "EGPARSE_HOME"
SUFFIX = ".msgpack"
ENTRY_POINTS = "egparse_models"

_NAME = re.compile(r"\w[\w.-]*", re.ASCII)
_LANGUAGE = re.compile(r"[a-z]{2,3}")
_PACKAGE = Path(__file__).resolve().parents[2]


class StoredModel(NamedTuple):
    """A model file with a name; ``place`` is ``user``, ``egparse``, or its package."""

    name: str
    path: Path
    place: str


def home() -> Path:
    """The folder of downloads: ``$EGPARSE_HOME`` or else the user cache. It need not exist."""
    if folder := os.environ.get(HOME_VARIABLE):
        return Path(folder).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("egparse", appauthor=False)


def stored_models() -> Iterator[StoredModel]:
    """All models with names, lazily, in the order of look-up."""
    yield from _in_folder(home() / "models", "user")
    yield from _in_folder(shipped(), "egparse")
    for package, folder in _package_folders():
        yield from _in_folder(folder, package)


def _in_folder(folder: Path, place: str) -> Iterator[StoredModel]:
    with suppress(OSError):  # no such folder, or no permission to read it
        for path in sorted(folder.iterdir()):
            if path.suffix == SUFFIX and not path.name.startswith(".") and path.is_file():
                yield StoredModel(path.stem, path, place)


def shipped() -> Path:
    """The folder of the models of egparse; only the build of a wheel makes ``models_data``."""
    if (_PACKAGE.parent / "pyproject.toml").is_file():
        return _PACKAGE.parent / "models"
    return _PACKAGE / "models_data"


def _package_folders() -> Iterator[tuple[str, Path]]:
    """Names and folders of installed model packages, without importing them or broken ones."""
    # these take longer to import than a model of another place to find
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    for module in sorted({point.module for point in entry_points(group=ENTRY_POINTS)}):
        with suppress(ImportError, ValueError, AttributeError):
            spec = find_spec(module)
            for folder in (spec.submodule_search_locations or ()) if spec else ():
                yield module, Path(folder)


def could_be_name(text: str) -> bool:
    """Whether this may be the name of a model: not a path with folders, not a file name."""
    return _NAME.fullmatch(text) is not None and not text.endswith(SUFFIX)


def is_of_language(model: str, code: str) -> bool:
    """Whether the name of a model begins with a language: ``de_gsd`` is of ``de``."""
    return _LANGUAGE.fullmatch(code) is not None and model.startswith(f"{code}_")
