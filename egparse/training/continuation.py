"""Training that goes on from a model: what its weights are becomes where new weights are pulled to.

Each task minimises sum_i L_i(w) + C/2 |w - w0|^2 over the new sentences, w0 being the weights of
the base, by the same learners and with the same certificates (``egparse.learners.offset_problem``).
Templates, orders and sizes of tables are the base's; words, tags and labels may be new. What the
new corpus does not annotate stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from egparse.errors import ConfigError, EgparseError
from egparse.features.form_statistics import FormStatistics
from egparse.features.word_table import Columns
from egparse.fitting.choose_learner import check_continues, check_learners, section_of
from egparse.fitting.config import TrainConfig, check_config, config_as_table, merge_tables
from egparse.fitting.progress import Listener, silent
from egparse.layers import TAG_LAYERS
from egparse.parsing.arc_parser import Parser
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.tagging.tree_columns import tree_column_names
from egparse.tagging.warm_start import extend_model
from egparse.training.columns import annotated_layers, count_forms, named_columns
from egparse.training.columns_with_base import extend_columns, in_lower_case
from egparse.training.run import Trained, Training, hold_out, layers_to_train, run
from egparse.types import Mask

LEAST_HELD_OUT = 50
"""Sentences: fewer say little of what a pass was worth."""

_OF_TAGGER = ("templates", "bigrams", "order", "pads")
_FIXED = {
    **dict.fromkeys(("upos", "xpos", "feats"), _OF_TAGGER),
    "spans": (*_OF_TAGGER, "scheme"),
    "parser": ("order", "templates", "trees", "single_root", "bits"),
    "second_order": (
        "siblings",
        "grandparents",
        "labels",
        "inference",
        "bits",
        "pruner_bits",
        "sibling_templates",
        "grandparent_templates",
        "label_templates",
    ),
    "labeller": ("templates",),
}
"""Section -> the settings that the weights of a base are for: they cannot be others."""


@dataclass(frozen=True)
class Base:
    """A model to go on from; ``name`` and ``checksum`` (SHA-256 of its payload) say in the record
    of the new model which it was.
    """

    model: Model
    name: str = ""
    checksum: str = ""

    def record(self) -> dict[str, Any]:
        """Plain values: which model it was and how it was trained."""
        own = {key: value for key, value in self.model.record.items() if key != "bases"}
        return {"name": self.name, "payload_sha256": self.checksum, "record": own}


def configure(base: Model, table: Mapping[str, Any], name: str = "configuration") -> TrainConfig:
    """The configuration of the base, with what ``table`` says in its place.

    Raises:
        ConfigError: an unknown key, a value of the wrong type, a setting that the base fixes (its
            templates, orders, sizes of tables), or a learner that cannot go on from a base.
    """
    before = check_config(dict(base.config_table), "the base model")
    config = check_config(merge_tables(base.config_table, table), name)
    for section in _sections(base):
        for key in _FIXED.get(section, ()):
            own, wanted = (
                getattr(getattr(before, section), key),
                getattr(getattr(config, section), key),
            )
            if own != wanted:
                got = "others" if isinstance(wanted, tuple) else _shown(wanted)
                raise ConfigError(
                    f"{name}: {section}.{key}: expected {_shown(own)} as in the base model, whose "
                    f"weights are for that, got {got}"
                )
    return config


def continue_training(
    base: Base,
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] | None,
    config: TrainConfig,
    listener: Listener = silent,
) -> Trained:
    """Go on training every task that the corpus supports; see ``egparse.training.run.train``.

    ``config`` is one that ``configure`` gives. A layer that the base does not have is trained anew,
    unless the base has layers that would read it: those were learned without.

    Raises:
        EgparseError: no sentence, no annotated layer, or an asked-for layer that is not annotated
            or that layers of the base would read.
        ConfigError: a learner that does not fit what it is to train, or cannot go on from a base;
            said before anything is trained.
    """
    sentences = [sentence for sentence in sentences if len(sentence)]
    layers = layers_to_continue(base.model, sentences, config)
    check_learners(config, layers)
    for layer in layers:
        if layer in base.model.layers:
            check_continues(getattr(config, section_of(layer, config.parser.order)))
    held_out = 0
    if dev is None:
        share = share_held_out(len(sentences), config)
        sentences, dev = hold_out(sentences, share, config.seed)
        held_out = len(dev)
    return run(_Continuing(base, sentences, list(dev), layers, config, listener), held_out)


def share_held_out(sentences: int, config: TrainConfig) -> float:
    """The share of so many sentences that is held out: none where it would be fewer than
    ``LEAST_HELD_OUT``.

    Those would be missed in training, and choose among its passes by chance. Being held to the base
    is what keeps few sentences from being learned by heart (docs/decisions/continuing-a-model.md).
    """
    return config.hold_out if config.hold_out * sentences >= LEAST_HELD_OUT else 0.0


def layers_to_continue(
    base: Model, sentences: Sequence[Sentence], config: TrainConfig
) -> tuple[str, ...]:
    """The layers to be trained: those that the sentences annotate and the configuration asks for,
    but for what would change the input of the base's other layers.

    Raises:
        EgparseError: there are none, or one that is asked for by name is not annotated, or would
            change it.
    """
    asked = set(config.layers) != set(base.config_table.get("layers", ()))
    if not asked:  # what the base was asked for need not all be there
        config = replace(
            config, layers=tuple(set(config.layers) & set(annotated_layers(sentences)))
        )
    found = layers_to_train(sentences, config)
    strange = [
        layer for layer in found if layer not in base.layers and _is_read(layer, base, config)
    ]
    if strange and asked:
        raise EgparseError(
            f"expected layers that the base model has ({', '.join(base.layers)}) or does not "
            f"read, got {strange[0]!r}"
        )
    kept = tuple(layer for layer in found if layer not in strange)
    if not kept:
        raise EgparseError(
            f"expected a corpus with layers of the base model ({', '.join(base.layers)}), got "
            f"{', '.join(found)}"
        )
    return kept


def _is_read(layer: str, base: Model, config: TrainConfig) -> bool:
    """Whether other layers of the base have a column for it."""
    return layer in TAG_LAYERS and layer in named_columns(
        [own for own in base.layers if own != layer], config
    )


class _Continuing(Training):
    """A run whose columns are those of a base and more, and whose tasks start from the base's."""

    def __init__(
        self,
        base: Base,
        sentences: list[Sentence],
        dev: list[Sentence],
        layers: tuple[str, ...],
        config: TrainConfig,
        listener: Listener,
    ) -> None:
        self.base, self._given_config = base, config
        super().__init__(sentences, dev, layers, _as_trained(base.model, config), listener)

    def _build_columns(self) -> Columns:
        """The columns, and the models of the base over them."""
        base = self.base.model
        columns = extend_columns(
            base.columns, base.layers, self.sentences, self.layers, self.config
        )
        labels = {layer: len(own) for layer, own in columns.labels.items()}
        self.base_taggers = {
            layer: replace(own, model=extend_model(own.model, columns.names, labels[layer]))
            for layer, own in base.taggers.items()
        }
        self.base_parser = base.parser and _over(base.parser, columns)
        if base.labeller is not None:
            names = tree_column_names(columns)
            model = extend_model(base.labeller.model, names, labels["deprels"])
            self.base_labeller = replace(base.labeller, model=model)
        return columns

    def _statistics(self, counted: Mask) -> FormStatistics:
        """What the base knows of forms, and what the counted words add where spans are trained."""
        found = count_forms(self.sentences, counted) if "spans" in self.layers else None
        forms = in_lower_case(self.columns.lexicon.forms)
        own = self.base.model.columns.statistics
        if own is None:
            return super()._statistics(counted)
        return own.extended(found, forms)

    def model(self, interrupted: bool) -> Model:
        """What has been trained, and all else as it was."""
        made, base = super().model(interrupted), self.base.model
        bases = [*base.record.get("bases", ()), self.base.record()]
        kept = {
            own.name: getattr(base, own.name)
            for own in fields(Model)
            if getattr(made, own.name) is None
        }
        kept |= {
            "parser": made.parser or self.base_parser,
            "labeller": made.labeller or self.base_labeller,
        }
        return replace(
            made,
            **kept,
            taggers={**self.base_taggers, **made.taggers},
            record={**made.record, "bases": bases},
            config_table=self._config_table(),
        )

    def _config_table(self) -> dict[str, Any]:
        """The configuration that was given; of the sections of layers that were not trained, the
        base's.
        """
        table = config_as_table(self._given_config)
        trained = {section_of(layer, self.config.parser.order) for layer in self.layers}
        kept = (
            _sections(self.base.model) - trained - ({"parser"} if "heads" in self.layers else set())
        )
        known = self.base.model.config_table
        return table | {section: known[section] for section in kept if section in known}


def _over(parser: Parser | SecondOrderParser, columns: Columns) -> Parser | SecondOrderParser:
    """The same parser over columns in which those that it reads keep their numbers."""
    if isinstance(parser, SecondOrderParser):
        pruner = parser.pruner
        return replace(parser, pruner=replace(pruner, columns=pruner.columns.over(columns)))
    return replace(parser, columns=parser.columns.over(columns))


def _as_trained(base: Model, config: TrainConfig) -> TrainConfig:
    """The configuration in force: the order of the base's parser, which may be a pruner that was
    all there was time for.
    """
    changed = {
        section: replace(getattr(config, section), c=config.closeness * getattr(config, section).c)
        for section in _sections(base)
    }
    config = replace(config, **changed)
    if base.parser is None:
        return config
    order: Literal[1, 2] = 1 if isinstance(base.parser, Parser) else 2
    return replace(config, parser=replace(config.parser, order=order))


def _sections(base: Model) -> set[str]:
    """The sections of the configuration that are about what the base has."""
    sections = {section_of(layer, 1) for layer in base.layers}
    return sections | ({"second_order"} if isinstance(base.parser, SecondOrderParser) else set())


def _shown(value: Any) -> str:
    """A setting as a configuration has it; of a list how long it is."""
    if isinstance(value, tuple):
        return f"the {len(value)} templates" if value else "the built-in templates"
    return str(value).lower() if isinstance(value, bool) else str(value)
