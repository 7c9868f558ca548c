"""The model of a component: found by name, shared between pipes, kept in files and bytes.

A model that the configuration names is loaded when the component is made, so that a wrong name
fails there. Only ``spacy.load`` of a saved pipeline makes components that wait: it makes them from
the configuration and lets them read their own copies afterwards, maybe where no model of that name
is installed.
"""

from __future__ import annotations

import copyreg
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from spacy import util
from spacy.vocab import Vocab

from egparse.errors import EgparseError, ModelFileError
from egparse.pipeline.model import Model
from egparse.spacy_components import shared_models as models
from egparse.spacy_components.label_tables import LabelTables

ANY_LANGUAGE = ("", "xx")
"""Languages of pipelines and models that fit every other."""


class LanguageWarning(UserWarning):
    """A model of another language than the pipeline's."""


class ModelHolder:
    """A component that has, shares and stores a model."""

    predicts: ClassVar[tuple[str, ...]] = ()
    """The layers to predict; a model must have one of them (a sentence splitter has none)."""

    uses: ClassVar[tuple[str, ...]] = ()
    """Layers that those are predicted from, where the model has them."""

    name: str
    vocab: Vocab
    configured: str | None = None
    probabilities: bool = False
    _shared: models.SharedModel | None = None
    _awaits_copy: bool = False

    _tables: LabelTables | None = None
    _branch: models.Learning | None = None
    """Where the model learns in steps; None until it does."""

    passing: ClassVar[tuple[str, ...]] = ("_tables", "_branch")
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
        self._follow_branch()
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
            shared = models.load(models.resolve(model))
        except EgparseError as error:
            raise type(error)(f"{self.name}: {error}") from error
        self.share(shared)

    @property
    def model(self) -> Model | None:
        """The model, or None while there is none: spaCy asks any pipe for it."""
        self._follow_branch()
        return self._shared.model if self._shared is not None else None

    @property
    def required_model(self) -> Model:
        """The model.

        Raises:
            EgparseError: there is none, and why.
        """
        self._follow_branch()
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
        self._follow_branch()
        if self._tables is None:
            raise EgparseError(f"{self.name}: expected a model, got none")
        return self._tables

    def share(self, shared: models.SharedModel) -> None:
        """Use this model from now on.

        Raises:
            EgparseError: it lacks the layers, or the probabilities, that this component is for.
        """
        self._require_layers(shared.model)
        self._shared, self._awaits_copy, self._branch = shared, False, None
        self._tables = LabelTables(shared.model, self.vocab)
        self._compare_languages(shared)

    def _follow_branch(self) -> None:
        """Take the model as it is after the last step, if it learns."""
        if self._branch is None:
            return
        shared = self._branch.shared
        if shared is not self._shared:
            self._shared, self._tables = shared, LabelTables(shared.model, self.vocab)

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

    def _compare_languages(self, shared: models.SharedModel) -> None:
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
        self._follow_branch()
        if self._shared is not None and "model" not in exclude:
            models.save_in(self._shared, folder)

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

    def _copy_in(self, folder: Path) -> models.SharedModel | None:
        if folder.is_dir():
            return models.load_from(folder)
        beside = None if self.configured is None else models.in_package(folder, self.configured)
        if beside is not None:
            return models.load(beside)
        raise ModelFileError(
            f"{self.name}: expected the folder of the component in the saved pipeline, {folder}, "
            "got none"
        )

    def _is_overridden(self, folder: Path) -> bool:
        """Whether the configuration that is saved beside a folder names another model."""
        saved = models.setting_beside(folder)
        return saved is not models.UNKNOWN and saved != self.configured

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The model as bytes, empty without one; in ``nlp.to_bytes`` only its checksum if the
        model is there already.
        """
        self._follow_branch()
        return (
            models.to_bytes(self._shared)
            if self._shared is not None and "model" not in exclude
            else b""
        )

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Take what ``to_bytes`` gave.

        Raises:
            ModelFileError: a checksum, of a model that is nowhere.
        """
        if data and "model" not in exclude:
            self.share(models.from_bytes(data))
        return self
