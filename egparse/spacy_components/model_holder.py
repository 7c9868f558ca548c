"""The model of a component: found by name, shared between pipes, kept in files and bytes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Self

from spacy import util
from spacy.vocab import Vocab

from egparse.errors import EgparseError
from egparse.pipeline.model import Model
from egparse.spacy_components import shared_models as models
from egparse.spacy_components.label_tables import LabelTables


class ModelHolder:
    """A component that has, shares and stores a model; ``EgparsePipe`` sets the attributes."""

    predicts: ClassVar[tuple[str, ...]] = ()
    """The layers to predict; a model must have one of them (a sentence splitter has none)."""

    uses: ClassVar[tuple[str, ...]] = ()
    """Layers that those are predicted from, where the model has them."""

    name: str
    vocab: Vocab
    probabilities: bool
    _shared: models.SharedModel | None
    _tables: LabelTables | None
    _fault: str | None

    def load_configured(self, model: str) -> None:
        """Load the model that the configuration names.

        A saved pipeline is made anew from its configuration before its own copy of the model is
        read, maybe where no such file exists any more: so a fault is raised when the model is
        needed.
        """
        try:
            self.share(models.load(models.resolve(model)))
        except EgparseError as error:
            self._fault = str(error)

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
            reason = (
                self._fault
                or "expected a model, by the setting 'model' or nlp.initialize, got none"
            )
            raise EgparseError(f"{self.name}: {reason}")
        return self._shared.model

    @property
    def tables(self) -> LabelTables:
        """The labels of the model as spaCy's numbers."""
        if self._tables is None:
            raise EgparseError(f"{self.name}: expected a model, got none")
        return self._tables

    def share(self, shared: models.SharedModel) -> None:
        """Use this model from now on.

        Raises:
            EgparseError: it lacks the layers, or the probabilities, that this component is for.
        """
        self._require_layers(shared.model)
        self._shared, self._fault = shared, None
        self._tables = LabelTables(shared.model, self.vocab)

    def _require_layers(self, model: Model) -> None:
        if self.predicts and not set(self.predicts) & set(model.layers):
            raise EgparseError(
                f"{self.name}: expected a model with {' or '.join(self.predicts)}, got one with "
                f"{', '.join(model.layers) or 'nothing'}"
            )
        if self.probabilities:
            model.require_probabilities([layer for layer in self.predicts if layer in model.layers])

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model into a folder, or the name of the pipe beside it that has the same."""
        folder = util.ensure_path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if self._shared is not None and "model" not in exclude:
            models.save_in(self._shared, folder)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Read what ``to_disk`` has written."""
        if "model" not in exclude:
            shared = models.load_from(util.ensure_path(path))
            if shared is not None:
                self.share(shared)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """The model as bytes, empty without one."""
        return (
            self._shared.to_bytes() if self._shared is not None and "model" not in exclude else b""
        )

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Take what ``to_bytes`` gave."""
        if data and "model" not in exclude:
            self.share(models.from_bytes(data))
        return self
