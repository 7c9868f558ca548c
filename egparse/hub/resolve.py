"""A model by its path or its name.

The path of a file wins. Anything else that could be a name (``en_ewt``: letters, digits, ``_``,
``-`` and ``.``) is looked up among the stored models, in the order that ``hub.places`` gives: the
user's own, those shipped with egparse, installed model packages.
"""

from __future__ import annotations

import errno
import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from egparse.errors import ModelFileError
from egparse.hub.catalogue import MODEL, find_offer, offers
from egparse.hub.model_paths import SUFFIX, stored_models

if TYPE_CHECKING:
    from egparse.pipeline.model import Model

_NAME = re.compile(r"\w[\w.-]*", re.ASCII)


def load(name_or_path: str | os.PathLike[str]) -> Model:
    """Read a model by its path or its name; see ``find_model`` and ``Model.load``.

    Raises:
        ModelFileError: no such model, not a model, damaged, or of a newer format.
    """
    path = find_model(name_or_path)  # before numba is imported
    from egparse.pipeline.model import Model

    return Model.load(path)


def find_model(name_or_path: str | os.PathLike[str]) -> Path:
    """The file of a model, given its path or its name.

    The path of an existing file wins; then come ``$EGPARSE_HOME`` or the user cache, what is
    shipped with egparse, and installed model packages. A folder that is called like a model does
    not hide it.

    Raises:
        ModelFileError: there is neither such a file nor a stored model of that name. What the file
            holds is not looked at.
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
    """Whether a model may be called that: no path with folders, and no name of a model file."""
    return _NAME.fullmatch(text) is not None and not text.endswith(SUFFIX)


def close_to(name: str, known: list[str]) -> str:
    """The end of a message: which known name may have been meant, or nothing."""
    folded = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean {folded[close[0]]}?" if close else ""


def _unknown(name: str) -> str:
    installed = sorted({stored.name for stored in stored_models()})
    available = [offer.name for offer in offers() if offer.kind == MODEL]
    text = (
        f"{name}: expected the path or the name of a model, got neither; installed: "
        f"{', '.join(installed) or 'none'}"
    )
    if available:
        text += f"; 'egparse download' can get: {', '.join(available)}"
    else:
        text += "; 'egparse download' can get no models yet, only treebanks"
    if find_offer(name) is not None:
        return f"{text}; {name} is one"
    return text + close_to(name, [*installed, *available])
