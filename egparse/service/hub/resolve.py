"""A model by its path or its name.

The path of an existing file wins. Any other text that may be a name (letters, digits, ``_``, ``-``
and ``.``, such as ``en_ewt``) is looked up among the stored models, in the order that
``model_paths`` gives.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from egparse.errors import ModelFileError
from egparse.service.hub.model_paths import SUFFIX, stored_models
from egparse.storage.collector import collector_paused

if TYPE_CHECKING:
    from egparse.pipeline.model import Model

_NAME = re.compile(r"\w[\w.-]*", re.ASCII)


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

    The path of an existing file wins, then names in the order of ``model_paths``. A folder with the
    name of a model does not hide the model. The contents of the file are not checked.

    Raises:
        ModelFileError: there is neither such a file nor a stored model of that name.
    """
    given = os.fspath(name_or_path)
    path = Path(given)
    if path.exists() and not path.is_dir():
        return path
    if could_be_name(given):
        for stored in stored_models():
            if stored.name == given:
                return stored.path
    if path.is_dir():
        raise ModelFileError(f"{given}: a directory, not a model file")
    if not could_be_name(given):
        raise ModelFileError(f"{given}: cannot be read: {os.strerror(errno.ENOENT)}")
    raise ModelFileError(_unknown(given))


def could_be_name(text: str) -> bool:
    """Whether this may be the name of a model: not a path with folders, not a file name."""
    return _NAME.fullmatch(text) is not None and not text.endswith(SUFFIX)


def did_you_mean(name: str, known: list[str]) -> str:
    """The end of a message that suggests the known name most like ``name``; empty if none is."""
    from difflib import get_close_matches

    folded = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean {folded[close[0]]}?" if close else ""


def _unknown(name: str) -> str:
    from egparse.service.hub.catalogue import MODEL, entries, find_entry

    installed = sorted({stored.name for stored in stored_models()})
    available = [entry.name for entry in entries() if entry.kind == MODEL]
    text = (
        f"{name}: expected the path or the name of a model, got neither; installed: "
        f"{', '.join(installed) or 'none'}"
    )
    if available:
        text += f"; 'egparse download' can get: {', '.join(available)}"
    else:
        text += "; 'egparse download' can get no models yet, only treebanks"
    if find_entry(name) is not None:
        return f"{text}; {name} is one"
    return text + did_you_mean(name, [*installed, *available])
