"""Models that components share: a model file is in memory once, whatever its path and however often
it is loaded.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol
from weakref import WeakValueDictionary

from spacy import util
from thinc.api import Config

from egparse.compilation import variants
from egparse.errors import EgparseError, ModelFileError
from egparse.pipeline.model import Model
from egparse.service.hub.model_paths import SUFFIX
from egparse.storage.files import write_atomically
from egparse.storage.model_file import HEADER_DIGEST, MAGIC, header_digest

logger = logging.getLogger("spacy.egparse")


@functools.cache
def _log_compilation() -> None:
    """Say that kernels are compiled, once in a process: nothing else would explain the wait."""
    logger.warning(
        "egparse compiles kernels for this machine: once, up to a minute; 'egparse warm' does it "
        "beforehand"
    )


variants.listeners.append(lambda _kernel: _log_compilation())

_LOADED: WeakValueDictionary[bytes, SharedModel] = WeakValueDictionary()


class Learning(Protocol):
    """What learns in steps, and the model after the steps so far."""

    @property
    def shared(self) -> SharedModel:
        """The model; the same object until the next step."""


class SharedModel:
    """A model and the checksum of its file, None while it has no file.

    A copy is the same object, and so are all objects unpickled in one process: copies of components
    still share the model.
    """

    def __init__(self, model: Model, checksum: bytes | None = None) -> None:
        self.model = model
        self.checksum = checksum
        self.warned_of: set[str] = set()  # languages of pipelines, by their components

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedModel:
        return self

    def __reduce__(self) -> tuple[Callable[[bytes], SharedModel], tuple[bytes]]:
        return _of_file, (self.to_bytes(),)

    def save(self, path: Path) -> None:
        """Write the model file, atomically."""
        self.model.save(path)
        self._is_now(header_digest(path))

    def to_bytes(self) -> bytes:
        """The model file."""
        data = self.model.to_bytes()
        self._is_now(data[HEADER_DIGEST])
        return data

    def _is_now(self, checksum: bytes) -> None:
        self.checksum = checksum
        _LOADED.setdefault(checksum, self)

    def is_in(self, path: Path) -> bool:
        """Whether a file holds this model."""
        try:
            return self.checksum is not None and header_digest(path) == self.checksum
        except EgparseError:
            return False


def load(path: Path) -> SharedModel:
    """The model of a file, from memory if a component has the same model already.

    Raises:
        ModelFileError: not a model, damaged, or of a newer format.
    """
    checksum = header_digest(path)
    known = _LOADED.get(checksum)
    if known is not None:
        return known
    return _LOADED.setdefault(checksum, SharedModel(Model.load(path), checksum))


def _of_file(data: bytes) -> SharedModel:
    """The model of the bytes of a model file; see ``load``."""
    checksum = data[HEADER_DIGEST]
    known = _LOADED.get(checksum)
    if known is not None:
        return known
    return _LOADED.setdefault(checksum, SharedModel(Model.from_bytes(data), checksum))


_REFERENCE = b"egparse model with the checksum "
"""What precedes the checksum of a model in place of the model."""


def to_bytes(shared: SharedModel) -> bytes:
    """The model file; its checksum alone where ``nlp.to_bytes`` has the model already, from another
    component.
    """
    for other in _siblings(util.to_dict, "serialized"):
        if shared.checksum is not None and other[HEADER_DIGEST] == shared.checksum:
            return _REFERENCE + shared.checksum
    return shared.to_bytes()


def from_bytes(data: bytes) -> SharedModel:
    """The model that ``to_bytes`` gave; see ``load``.

    Raises:
        ModelFileError: a checksum alone, of a model that is neither in memory nor among what
            ``nlp.from_bytes`` reads.
    """
    if not data.startswith(_REFERENCE):
        return _of_file(data)
    checksum = data.removeprefix(_REFERENCE)
    known = _LOADED.get(checksum)
    if known is not None:
        return known
    for other in _siblings(util.from_dict, "msg"):
        if other[HEADER_DIGEST] == checksum:
            return _of_file(other)
    raise ModelFileError(
        "expected the model of another component in the same bytes, got none; nlp.from_bytes reads "
        "what nlp.to_bytes gives"
    )


def _siblings(function: Callable[..., Any], variable: str) -> Iterable[bytes]:
    """The bytes of model files among what spaCy is writing or reading.

    ``nlp.to_bytes`` and ``nlp.from_bytes`` call the methods of the components one by one and do not
    say that they do, so this looks into the frame of spaCy's loop, ``function``, for its dictionary
    of components and bytes. Where there is no such frame, nothing is found, and each component
    writes its model whole.
    """
    frame = inspect.currentframe()
    for _ in range(_FRAMES):
        frame = None if frame is None else frame.f_back
        if frame is not None and frame.f_code is getattr(function, "__code__", None):
            found = frame.f_locals.get(variable)
            values = found.values() if isinstance(found, dict) else ()
            return [each for each in values if _is_file(each)]
    return ()


_FRAMES = 8
"""Calls between spaCy's loop and ``_siblings``, at most."""


def _is_file(value: object) -> bool:
    return isinstance(value, bytes) and value.startswith(MAGIC)


def resolve(name: str) -> Path:
    """The file of a model, given by its path or by the name of an installed model.

    Raises:
        ModelFileError: there is none.
    """
    from egparse.service.hub.resolve import find_model

    return find_model(name)


FILE = "model.msgpack"
"""The model file in the folder of a saved component."""

ELSEWHERE = "model.txt"
"""A file in its place that names the folder of another component with the same model file."""


def save_in(shared: SharedModel, folder: Path) -> None:
    """Write a model into the folder of a component: its file or, if another component of the
    pipeline has the same file, the name of its folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for other in sorted(folder.parent.iterdir()):
        if other != folder and shared.is_in(other / FILE):
            (folder / FILE).unlink(missing_ok=True)
            write_atomically(folder / ELSEWHERE, f"{other.name}\n".encode())
            return
    shared.save(folder / FILE)
    (folder / ELSEWHERE).unlink(missing_ok=True)


def load_from(folder: Path) -> SharedModel | None:
    """The model that ``save_in`` wrote, None if the component had none.

    Raises:
        ModelFileError: see ``load``.
    """
    if (folder / FILE).exists():
        return load(folder / FILE)
    if not (folder / ELSEWHERE).exists():
        return None
    name = (folder / ELSEWHERE).read_text(encoding="utf-8").strip()
    path = folder.parent / Path(name).name / FILE
    if not path.exists():
        raise ModelFileError(
            f"{folder}: expected the model of another component in {path}, got no such file"
        )
    return load(path)


TOKENIZER = "tokenizer"
"""What spaCy calls the tokeniser of a pipeline, and its folder."""

UNKNOWN = object()
"""In place of a setting that cannot be read."""


def setting_beside(folder: Path) -> object:
    """The setting ``model`` of the component, or of the tokeniser, of a folder, in the
    configuration of the saved pipeline; ``UNKNOWN`` where there is none.
    """
    try:
        saved = Config().from_disk(folder.parent / "config.cfg", interpolate=False)
        settings = saved.interpolate()
        if folder.name == TOKENIZER:
            return settings["nlp"]["tokenizer"].get("model")
        return settings["components"][folder.name].get("model")
    except (OSError, ValueError, LookupError):
        return UNKNOWN


def in_package(folder: Path, name: str) -> Path | None:
    """The model file of a package of ``egparse package``, for a component's folder in its pipeline;
    None in other pipelines.
    """
    path = folder.parent.parent / f"{name}{SUFFIX}"
    return path if path.parent.joinpath("__init__.py").exists() and path.exists() else None
