"""The models of components: found by name, in memory once, whatever their paths and however often
they are loaded, and kept in the files and bytes of pipelines.

A model that the configuration names is loaded when the component is made, so that a wrong name
fails there. Only ``spacy.load`` of a saved pipeline makes components that wait: it makes them from
the configuration and lets them read their own copies afterwards, maybe where no model of that name
is installed.
"""

from __future__ import annotations

import copyreg
import functools
import inspect
import logging
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self
from weakref import WeakValueDictionary

from spacy import util
from spacy.vocab import Vocab
from thinc.api import Config

from egparse.compilation import variants
from egparse.errors import EgparseError, ModelFileError
from egparse.pipeline.model import Model
from egparse.service.hub.model_paths import SUFFIX
from egparse.service.hub.resolve import find_model
from egparse.spacy_components.label_tables import LabelTables
from egparse.storage.files import write_atomically
from egparse.storage.model_file import HEADER_DIGEST, MAGIC, header_digest

ANY_LANGUAGE = ("", "xx")
"""Languages of pipelines and models that fit every other."""

TOKENIZER = "tokenizer"
"""What spaCy calls the tokeniser of a pipeline, and its folder."""

_FILE = "model.msgpack"
"""The model file in the folder of a saved component."""

_ELSEWHERE = "model.txt"
"""A file in its place that names the folder of another component with the same model file."""

_REFERENCE = b"egparse model with the checksum "
"""What precedes the checksum of a model in place of the model."""

_FRAMES = 8
"""Calls between spaCy's loop and ``_siblings``, at most."""

logger = logging.getLogger("spacy.egparse")


class LanguageWarning(UserWarning):
    """A model of another language than the pipeline's."""


@functools.cache
def _log_compilation() -> None:
    """Say that kernels are compiled, once in a process: nothing else would explain the wait."""
    logger.warning(
        "egparse compiles kernels for this machine: once, up to a minute; 'egparse warm' does it "
        "beforehand"
    )


variants.listeners.append(lambda _kernel: _log_compilation())


class SharedModel:
    """A model that components share, and the checksum of its file, None while it has no file.

    A copy is the same object, and so are all objects unpickled in one process: copies of components
    still share the model.
    """

    def __init__(self, model: Model, checksum: bytes | None = None) -> None:
        self._model, self._checksum = model, checksum
        self.warned_of: set[str] = set()  # languages of pipelines, by their components

    def __deepcopy__(self, memo: dict[int, Any]) -> SharedModel:
        return self

    def __reduce__(self) -> tuple[Callable[[bytes], SharedModel], tuple[bytes]]:
        return _of_file, (self.to_bytes(),)

    @property
    def model(self) -> Model:
        return self._model

    @property
    def checksum(self) -> bytes | None:
        return self._checksum

    def save(self, path: Path) -> None:
        """Write the model file, atomically."""
        self.model.save(path)
        self._is_now(header_digest(path))

    def to_bytes(self) -> bytes:
        data = self.model.to_bytes()
        self._is_now(data[HEADER_DIGEST])
        return data

    def _is_now(self, checksum: bytes) -> None:
        self._checksum = checksum
        _LOADED.setdefault(checksum, self)


_LOADED: WeakValueDictionary[bytes, SharedModel] = WeakValueDictionary()


def load(path: Path) -> SharedModel:
    """The model of a file, from memory if a component has the same model already.

    Raises:
        ModelFileError: not a model, damaged, or of a newer format.
    """
    return _loaded(header_digest(path), lambda: Model.load(path))


def _of_file(data: bytes) -> SharedModel:
    return _loaded(data[HEADER_DIGEST], lambda: Model.from_bytes(data))


def _loaded(checksum: bytes, read: Callable[[], Model]) -> SharedModel:
    known = _LOADED.get(checksum)
    return _LOADED.setdefault(checksum, SharedModel(read(), checksum)) if known is None else known


def _to_bytes(shared: SharedModel) -> bytes:
    """The model file; its checksum alone where ``nlp.to_bytes`` has the model already, from another
    component.
    """
    checksum = shared.checksum
    for other in _siblings(util.to_dict, "serialized"):
        if checksum is not None and other[HEADER_DIGEST] == checksum:
            return _REFERENCE + checksum
    return shared.to_bytes()


def _from_bytes(data: bytes) -> SharedModel:
    """The model that ``_to_bytes`` gave; see ``load``.

    Raises:
        ModelFileError: a checksum alone, of a model that is neither in memory nor among what
            ``nlp.from_bytes`` reads.
    """
    if not data.startswith(_REFERENCE):
        return _of_file(data)
    checksum = data.removeprefix(_REFERENCE)
    if (known := _LOADED.get(checksum)) is not None:
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
            return [one for one in values if isinstance(one, bytes) and one.startswith(MAGIC)]
    return ()


class ModelHolder:
    """A component that has, shares and stores a model."""

    predicts: tuple[str, ...] = ()
    """The layers to predict; a model must have one of them (a sentence splitter has none)."""

    uses: ClassVar[tuple[str, ...]] = ()
    """Layers that those are predicted from, where the model has them."""

    name: str
    vocab: Vocab
    configured: str | None = None
    probabilities: bool = False
    _shared: SharedModel | None = None
    _tables: LabelTables | None = None
    _awaits_copy: bool = False

    passing: ClassVar[tuple[str, ...]] = ("_tables",)
    """Attributes that a pickle leaves out."""

    def start(self, vocab: Vocab, name: str, model: str | None, awaits_copy: bool) -> None:
        """Set what all holders have, and load the model that the configuration names, unless the
        component ``awaits_copy``.
        """
        self.vocab, self.name, self.configured = vocab, name, model
        self._awaits_copy = awaits_copy
        if model is not None and not awaits_copy:
            self.load_configured(model)

    def __reduce__(self) -> tuple[Any, ...]:
        state = {key: value for key, value in vars(self).items() if key not in self.passing}
        # spaCy's class keeps the name outside of the dictionary
        return copyreg.__newobj__, (type(self),), {**state, "name": self.name}  # type: ignore[attr-defined]

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for key, value in state.items():
            setattr(self, key, value)
        if self._shared is not None:
            self.share(self._shared)

    def load_configured(self, model: str) -> None:
        """Load the model that the configuration names.

        Raises:
            EgparseError: there is no such model, it is damaged, or it lacks the layers or the
                probabilities that this component is for.
        """
        try:
            shared = load(find_model(model))
        except EgparseError as error:
            raise type(error)(f"{self.name}: {error}") from error
        self.share(shared)

    @property
    def model(self) -> Model | None:
        """The model, or None while there is none: spaCy asks any pipe for it."""
        return self._shared.model if self._shared is not None else None

    @property
    def required_model(self) -> Model:
        """The model.

        Raises:
            EgparseError: there is none, and why.
        """
        if self._shared is None:
            if self.configured is None:
                raise EgparseError(
                    f"{self.name}: expected a model, by the setting 'model' or nlp.initialize, "
                    "got none"
                )
            # made as a part of a saved pipeline, of which nothing was read afterwards
            self.load_configured(self.configured)
        assert self._shared is not None
        return self._shared.model

    @property
    def tables(self) -> LabelTables:
        """The labels of the model as spaCy's numbers."""
        model = self.required_model
        if self._tables is None or self._tables.model is not model:  # the model learns
            self._tables = LabelTables(model, self.vocab)
        return self._tables

    def share(self, shared: SharedModel) -> None:
        """Use this model from now on.

        Raises:
            EgparseError: it lacks the layers, or the probabilities, that this component is for.
        """
        self._require_layers(shared.model)
        self._shared, self._awaits_copy = shared, False
        _ = self.tables  # labels become known now: strings first met in a memory zone die with it
        self._compare_languages(shared)

    def _require_layers(self, model: Model) -> None:
        if self.predicts and not set(self.predicts) & set(model.layers):
            raise EgparseError(
                f"{self.name}: expected a model with {' or '.join(self.predicts)}, got one with "
                f"{', '.join(model.layers) or 'nothing'}"
            )
        if self.probabilities:
            try:
                model.require_probabilities(
                    [layer for layer in self.predicts if layer in model.layers]
                )
            except EgparseError as error:
                raise EgparseError(f"{self.name}: {error}") from error

    def _compare_languages(self, shared: SharedModel) -> None:
        """Warn if the model is of another language than the pipeline, once for each model."""
        language, wanted = shared.model.language, self.vocab.lang
        if language == wanted or {language, wanted} & {*ANY_LANGUAGE, *shared.warned_of}:
            return
        shared.warned_of.add(wanted)
        warnings.warn(
            f"{self.name}: expected a model of the language of the pipeline, {wanted!r}, got one "
            f"of {language!r}: its annotations will be poor",
            LanguageWarning,
            stacklevel=2,
        )

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into a folder, or the name of the pipe beside it that has the same."""
        folder = util.ensure_path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if self._shared is None or "model" in exclude:
            return
        for other in sorted(folder.parent.iterdir()):
            if other != folder and _holds(other / _FILE, self._shared.checksum):
                (folder / _FILE).unlink(missing_ok=True)
                write_atomically(folder / _ELSEWHERE, f"{other.name}\n".encode())
                return
        self._shared.save(folder / _FILE)
        (folder / _ELSEWHERE).unlink(missing_ok=True)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Read what ``to_disk`` has written.

        Where ``spacy.load`` overrides the setting ``model``, the model of this name is loaded
        instead.

        Raises:
            ModelFileError: there is no such folder, or a component that has no other model finds
                none in it.
        """
        if "model" in exclude:
            return self
        folder: Path = util.ensure_path(path)
        if self._awaits_copy and self._is_overridden(folder):
            self._awaits_copy = False
            if self.configured is not None:
                self.load_configured(self.configured)
            return self
        shared = self._copy_in(folder)
        if shared is not None:
            self.share(shared)
        elif self._awaits_copy and self.configured is not None:
            raise ModelFileError(
                f"{self.name}: expected the model of the saved pipeline in {folder}, got none; "
                f"to load another one, set components.{folder.name}.model"
            )
        self._awaits_copy = False
        return self

    def _copy_in(self, folder: Path) -> SharedModel | None:
        """The model of a saved component, None if it had none."""
        if not folder.is_dir():
            # a package of ``egparse package`` has the model beside its pipeline
            beside = folder.parent.parent / f"{self.configured}{SUFFIX}"
            if beside.with_name("__init__.py").exists() and beside.exists():
                return load(beside)
            raise ModelFileError(
                f"{self.name}: expected the folder of the component in the saved pipeline, "
                f"{folder}, got none"
            )
        if (folder / _FILE).exists():
            return load(folder / _FILE)
        if not (folder / _ELSEWHERE).exists():
            return None
        name = (folder / _ELSEWHERE).read_text(encoding="utf-8").strip()
        path = folder.parent / Path(name).name / _FILE
        if not path.exists():
            raise ModelFileError(
                f"{folder}: expected the model of another component in {path}, got no such file"
            )
        return load(path)

    def _is_overridden(self, folder: Path) -> bool:
        """Whether the configuration that is saved beside a folder names another model."""
        try:
            saved = Config().from_disk(folder.parent / "config.cfg", interpolate=False)
            settings = saved.interpolate()
            if folder.name == TOKENIZER:
                model = settings["nlp"]["tokenizer"].get("model")
            else:
                model = settings["components"][folder.name].get("model")
        except (OSError, ValueError, LookupError):
            return False
        return bool(model != self.configured)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The model as bytes, empty without one; in ``nlp.to_bytes`` only its checksum if the
        model is there already.
        """
        return b"" if self._shared is None or "model" in exclude else _to_bytes(self._shared)

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Take what ``to_bytes`` gave.

        Raises:
            ModelFileError: a checksum, of a model that is nowhere.
        """
        if data and "model" not in exclude:
            self.share(_from_bytes(data))
        return self


def _holds(path: Path, checksum: bytes | None) -> bool:
    try:
        return checksum is not None and header_digest(path) == checksum
    except EgparseError:
        return False
