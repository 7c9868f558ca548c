"""What a model is made of: columns, and components in the order in which they predict. Annotating,
storing, loading and measuring a model are loops over this table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from operator import attrgetter
from typing import Any, Protocol, Self

import numpy as np

from egparse.features.word_table import Columns
from egparse.layers import (
    EXPANDER,
    LAYERS,
    LEMMAS,
    MORPHOLOGY,
    SPLITTER,
    SUPERTAGS,
    TAG_LAYERS,
    TOKENISER,
)
from egparse.sentences import HIDDEN
from egparse.storage.schema import SECTION, Field, Maybe, Stored, TableOf

PARSER, LABELLER = "parser", "labeller"

_TAGGER = "egparse.sequences.tagger:Tagger"
COMPONENTS: Mapping[str, str] = {
    TOKENISER: "egparse.text.tokeniser:Tokeniser",
    SPLITTER: "egparse.text.splitter:Splitter",
    EXPANDER: "egparse.text.expander:Expander",
    MORPHOLOGY: _TAGGER,
    **dict.fromkeys(TAG_LAYERS, _TAGGER),
    LEMMAS: "egparse.sequences.lemmatiser:Lemmatiser",
    **dict.fromkeys(HIDDEN, _TAGGER),
    PARSER: "egparse.parsing.second_order.parser:StoredParser",
    LABELLER: "egparse.sequences.labeller:Labeller",
}
"""The class of each component by the name of its section, in the order of prediction. A class is
imported when a model with such a component is read.
"""

_IN_FILE = {LEMMAS: "lemmatiser", SUPERTAGS: "supertagger"}
"""Names in the payload of model files that are not those of sections."""

_ALWAYS = (MORPHOLOGY, LEMMAS, SUPERTAGS, PARSER, LABELLER, SPLITTER)
"""What every file has, also as None."""

FIELDS: Mapping[str, Field] = {
    "taggers": TableOf(SECTION, TAG_LAYERS),
    **{_IN_FILE.get(name, name): Maybe(SECTION) for name in COMPONENTS if name not in TAG_LAYERS},
}
"""The components in the declaration of the payload of model files."""

OPTIONAL = tuple(name for name in FIELDS if name not in ("taggers", PARSER, LABELLER))
"""Those that a file may lack."""


class Component(Protocol):
    """One predictor of a model. Components of plain text have no layers and are run by
    ``egparse.text``; the others also have ``annotate(request: Request) -> dict[str, Values]``, the
    values of their layers.
    """

    @property
    def name(self) -> str:
        """Its section in settings, records and tables."""

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that it predicts."""

    @property
    def temperature(self) -> float:
        """The temperature of the probabilities."""

    def with_temperature(self, temperature: float) -> Self:
        """The same with probabilities from scores divided by a temperature."""

    def over(self, columns: Columns) -> Self:
        """The same over columns that extend its own; what is new scores 0."""

    def size(self) -> dict[str, int]:
        """The numbers of labels, attributes and weights, and the bytes of its weights in memory;
        empty without weights.
        """

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file, which ``from_payload(stored, columns, name)`` reads."""


@dataclass(frozen=True)
class Components:
    """The components of a model over one set of columns, by name; immutable, for threads to
    share. Iteration follows the order of prediction.
    """

    columns: Columns
    by_name: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: Columns, components: Iterable[Component | None]) -> Components:
        """The components that are not None."""
        return cls(columns, {one.name: one for one in components if one is not None})

    def __iter__(self) -> Iterator[Any]:
        return (self.by_name[name] for name in COMPONENTS if name in self.by_name)

    def __contains__(self, name: str) -> bool:
        return name in self.by_name

    def __getitem__(self, name: str) -> Any:
        return self.by_name[name]

    def get(self, name: str) -> Any:
        """The component of this name, None if there is none."""
        return self.by_name.get(name)

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """The layers that are predicted and put out."""
        held = {layer for component in self for layer in component.layers}
        return tuple(layer for layer in LAYERS if layer in held)

    def of_layer(self, layer: str) -> Any:
        """The component that predicts a layer, None if there is none."""
        return next((one for one in self if layer in one.layers), None)

    def with_components(self, *changed: Component) -> Components:
        """The same with other components in place of those with their names, or beside them."""
        return Components(self.columns, {**self.by_name, **{one.name: one for one in changed}})

    def without(self, *names: str) -> Components:
        """The same without some of them."""
        kept = {name: one for name, one in self.by_name.items() if name not in names}
        return Components(self.columns, kept)

    def over(self, columns: Columns) -> Components:
        """The same over columns that extend theirs; what is new scores 0."""
        if columns is self.columns:
            return self
        return Components(columns, {name: one.over(columns) for name, one in self.by_name.items()})

    def sizes(self) -> dict[str, dict[str, int]]:
        """The size of each component, by its layer where it predicts just one."""
        order = [TOKENISER, SPLITTER, EXPANDER, *LAYERS]
        order[order.index("heads") : order.index("heads")] = HIDDEN
        found = {}
        for one in sorted(self, key=lambda one: order.index((*one.layers, one.name)[0])):
            if size := one.size():
                found[one.layers[0] if len(one.layers) == 1 else one.name] = size
        return found

    def strongest(self, layer: str, count: int) -> list[tuple[str, str, float]]:
        """The (attribute, label, weight) triples of greatest absolute weight in a layer, the
        greatest first; none where features are hashed.
        """
        component = self.of_layer(layer)
        if component is None or not hasattr(component, "part_labels"):
            return []
        model, labels = component.model, component.part_labels(layer, self.columns.labels)
        named = np.array([text is not None for text in labels], dtype=np.bool_)
        weights = np.where(named[model.rows.labels], model.rows.weights, np.float32(0.0))
        count = min(count, len(weights))
        if count <= 0:
            return []
        places = np.argpartition(-np.abs(weights), count - 1)[:count]
        places = places[np.argsort(-np.abs(weights[places]), kind="stable")]
        attributes = np.searchsorted(model.rows.starts, places, side="right") - 1
        return [
            (
                model.templates.describe(int(model.index.keys[attribute]), self.columns.describe),
                labels[int(model.rows.labels[place])] or "",
                float(weights[place]),
            )
            for place, attribute in zip(places.tolist(), attributes.tolist(), strict=True)
        ]

    def to_payload(self) -> dict[str, Any]:
        """Plain data for the model file, see ``FIELDS``."""
        stored = {one.name: one.to_payload() for one in self}
        taggers = {layer: stored.pop(layer) for layer in TAG_LAYERS if layer in stored}
        others = {name: stored.get(name) for name in (*_ALWAYS, *stored)}
        return {"taggers": taggers, **{_IN_FILE.get(name, name): others[name] for name in others}}

    @classmethod
    def from_payload(cls, read: Mapping[str, Any], columns: Columns) -> Components:
        """The components of a payload that was ``read``.

        Raises:
            Misfit: content that the declarations do not allow.
        """
        sections: dict[str, Stored] = {
            **read["taggers"],
            **{
                name: section
                for name in COMPONENTS
                if name not in TAG_LAYERS
                and (section := read[_IN_FILE.get(name, name)]) is not None
            },
        }
        found = cls(
            columns,
            {
                name: _class_of(name).from_payload(section, columns, name)
                for name, section in sections.items()
            },
        )
        joint = found.get(MORPHOLOGY)
        if joint is not None:
            twice = [layer for layer in joint.layers if layer in found]
            sections[MORPHOLOGY].require(
                not twice, "layers", "layers without a tagger of their own", twice
            )
        if LABELLER in found:
            sections[LABELLER].require(PARSER in found, "", "a parser", "none")
        return found


def _class_of(name: str) -> Any:
    module, _, place = COMPONENTS[name].partition(":")
    return attrgetter(place)(import_module(module))
