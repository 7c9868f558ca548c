"""A model by its path or its name.

The path of an existing file wins. Any other text that may be a name (letters, digits, ``_``, ``-``
and ``.``, such as ``en_ewt``) is looked up among the stored models, in the order that
``model_paths`` gives.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import TYPE_CHECKING

from egparse.errors import ModelFileError
from egparse.service.hub.model_paths import (
    StoredModel,
    could_be_name,
    is_of_language,
    stored_models,
)
from egparse.storage.collector import collector_paused

if TYPE_CHECKING:
    from egparse.pipeline.model import Model


def load(name_or_path: str | os.PathLike[str], *, sha256: str | None = None) -> Model:
    """Read a model by its path or its name; see ``find_model`` and ``Model.load``.

    With ``sha256`` only the file with that digest is read: 64 hexadecimal digits, as ``sha256sum``
    prints them and ``egparse inspect`` and the card of a model show them. A model that was looked
    at and tried stays the one that is used, whatever takes its name or its place.

    Raises:
        ModelFileError: no such model, not a model, damaged, of a newer format, or of another
            digest.
    """
    path = find_model(name_or_path)  # before NumPy is imported
    with collector_paused():
        from egparse.pipeline.model import Model

    return Model.load(path, sha256=sha256)


def find_model(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a model, given its path or its name.

    The path of an existing file wins, then names in the order of ``model_paths``, then a language:
    ``de`` is the first model whose name begins with ``de_``. A folder with the name of a model does
    not hide the model. The contents of the file are not checked.

    Raises:
        ModelFileError: there is neither such a file nor a stored model of that name.
    """
    given = os.fspath(name_or_path)
    path = Path(given)
    if path.exists() and not path.is_dir():
        return path
    if could_be_name(given) and (found := stored_model(given)) is not None:
        return found.path
    if path.is_dir():
        raise ModelFileError(f"{given}: a directory, not a model file")
    if not could_be_name(given):
        raise ModelFileError(f"{given}: cannot be read: {os.strerror(errno.ENOENT)}")
    raise ModelFileError(_unknown(given))


def stored_model(name: str) -> StoredModel | None:
    """The stored model of a name, or else the first of a language, if there is one."""
    first = None
    for stored in stored_models():  # packages are looked for only where no folder has the name
        if stored.name == name:
            return stored
        if first is None and is_of_language(stored.name, name):
            first = stored
    return first


def did_you_mean(name: str, known: list[str]) -> str:
    """The end of a message that suggests the known name most like ``name``; empty if none is."""
    from difflib import get_close_matches

    folded = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean {folded[close[0]]}?" if close else ""


def _unknown(given: str) -> str:
    from egparse.service.hub.catalogue import MODEL, entries, find_entry

    installed = sorted({stored.name for stored in stored_models()})
    if (entry := find_entry(given)) is not None and entry.kind == MODEL:
        which = "" if entry.name == given else f" gets {entry.name}, a model of that language"
        return f"{given}: a model that is not here; 'egparse download {given}'{which or ' gets it'}"
    available = [entry.name for entry in entries() if entry.kind == MODEL]
    text = (
        f"{given}: expected the path, the name or the language of a model, got none; installed: "
        f"{', '.join(installed) or 'none'}"
    )
    if available:
        text += f"; 'egparse download' can get: {', '.join(available)}"
    else:
        text += "; 'egparse download' can get no models, as EGPARSE_INDEX names no index of any"
    if entry is not None:
        return f"{text}; {given} is a treebank"
    return text + did_you_mean(given, [*installed, *available])
