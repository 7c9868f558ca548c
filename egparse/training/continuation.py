"""Training that continues from a base model, whose weights are the centre of the regulariser.

Each task minimises sum_i L_i(w) + C/2 |w - w0|^2 over the new sentences, w0 being the weights of
the base, by the same learners and with the same certificates (``egparse.learners.offset_problem``).
Templates, orders and table sizes are the base's; words, tags and labels may be new. Layers that the
new corpus does not annotate stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from egparse.config.fields import about, merge_tables
from egparse.config.reading import (
    check_config,
    config_of_model,
    learning_sections,
    refuse_without_effect,
)
from egparse.config.sections import (
    ORDER_1,
    LearningConfig,
    ParserConfig,
    PrunerConfig,
    TrainConfig,
    section_of,
)
from egparse.errors import ConfigError, EgparseError
from egparse.features.form_statistics import FormStatistics
from egparse.features.word_table import Columns
from egparse.fitting.choose_learner import check_continues, loss_of
from egparse.fitting.journal import Journal
from egparse.fitting.progress import Listener, silent
from egparse.layers import MORPHOLOGY, TAG_LAYERS
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.pipeline.components import PARSER, Components
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.text.exceptions.table import AUTO, read_exceptions
from egparse.training.checks import check_for_corpus, check_settings, with_language
from egparse.training.columns import (
    CountForms,
    count_forms,
    extend_columns,
    in_lower_case,
    named_columns,
    part_of,
)
from egparse.training.corpus import (
    Corpus,
    annotated_layers,
    hold_out,
    lacking_layers,
    layers_to_train,
)
from egparse.training.run import Background, Run, Trained
from egparse.training.tasks import PRUNER
from egparse.types import Mask

LEAST_HELD_OUT = 50
"""Sentences; the score on fewer is too noisy to choose among passes."""


@dataclass(frozen=True)
class Base:
    """A model to continue from; ``name`` and ``checksum`` (SHA-256 of its payload) identify it in
    the record of the new model.
    """

    model: Model
    name: str = ""
    checksum: str = ""

    def record(self) -> dict[str, Any]:
        """Plain values that identify the model and hold its record."""
        record = {key: value for key, value in self.model.record.items() if key != "bases"}
        return {"name": self.name, "payload_sha256": self.checksum, "record": record}


def configure(base: Model, table: Mapping[str, Any], name: str = "configuration") -> TrainConfig:
    """The configuration of the base, updated with the values of ``table``.

    Raises:
        ConfigError: an unknown key, a value of the wrong type, a setting without effect, a setting
            that the base fixes (its templates, orders, sizes of tables), or a learner that cannot
            continue from a base.
    """
    before = check_config(base.config_table, "the base model")
    given = table.get("classes", {})
    if not isinstance(given, Mapping) or given.get("tables"):
        raise ConfigError(
            f"{name}: classes: expected none beside a base model, whose tables of word classes "
            "stay, got some"
        )
    table = {key: value for key, value in table.items() if key != "classes"}
    config = check_config(merge_tables(base.config_table, table), name)
    refuse_without_effect(table, config, name)
    _refuse_other_taggers(base, before, config, name)
    for section in _sections(base):
        settings = getattr(before, section)
        for key in (one.name for one in fields(settings)):
            known, wanted = getattr(settings, key), getattr(getattr(config, section), key)
            if known != wanted and about(type(settings), key).get("fixed"):
                got = "others" if isinstance(wanted, tuple) else _shown(wanted)
                raise ConfigError(
                    f"{name}: {section}.{key}: expected {_shown(known)} as in the base model, "
                    f"whose weights are for that, got {got}"
                )
    return config


def _refuse_other_taggers(base: Model, before: TrainConfig, config: TrainConfig, name: str) -> None:
    """Raise ConfigError for settings of taggers of single layers where one tagger of the base has
    these layers, or the other way round; ``--learner`` sets the learner everywhere.
    """
    joint = _joint(base)
    for section in joint or (MORPHOLOGY,):
        wanted, known = getattr(config, section), getattr(before, section)
        if replace(wanted, learner=known.learner) != known:
            tagged = f"one tagger of {', '.join(joint)}" if joint else "a tagger for each layer"
            sections = f"[{MORPHOLOGY}]" if joint else "[upos], [xpos] and [feats]"
            raise ConfigError(
                f"{name}: {section}: the base model has {tagged}, whose settings are those of "
                f"{sections}"
            )


def _joint(base: Model) -> tuple[str, ...]:
    """The layers that one tagger of the base predicts together."""
    tagger = base.components.get(MORPHOLOGY)
    return () if tagger is None else tagger.layers


def continue_training(
    base: Base,
    sentences: Sequence[Sentence],
    dev: Sequence[Sentence] | None,
    config: TrainConfig,
    listener: Listener = silent,
    journal: Journal | None = None,
) -> Trained:
    """Continue training every task that the corpus supports; see ``egparse.training.run.train``.

    ``config`` is a result of ``configure``. A layer that the base does not have is trained from
    zero, unless layers of the base have features of it, for they were trained without its values.
    Tokeniser, splitter and expander are the base's, and its exceptions unless that setting changes.

    Raises:
        EgparseError: no sentence, no annotated layer, or a requested layer that is not annotated
            or that layers of the base have features of; a word without a tag in a layer that one
            tagger learns with others.
        ConfigError: a learner that does not fit its task, or cannot continue from a base; raised
            before anything is trained.
    """
    config = with_language(check_settings(config), sentences)
    kept = [sentence for sentence in sentences if len(sentence)]
    layers = layers_to_continue(base.model, kept, config)
    joint = tuple(layer for layer in _joint(base.model) if layer in layers)
    if lacking := lacking_layers(kept, joint):
        raise EgparseError(
            f"expected a tag in {', '.join(joint)} for every word, for one tagger of the base "
            f"model learns them together, got a word without {lacking[0]}; see the setting layers"
        )
    check_for_corpus(config, Corpus(kept, (), layers, joint))
    for layer in layers:
        if layer in base.model.layers:
            check_continues(getattr(config, section_of(layer, joint)))
    exceptions = base.model.exceptions
    if config.exceptions != base.model.config_table.get("exceptions", AUTO):
        exceptions = read_exceptions(config.exceptions, config.language)
    held_out = 0
    if dev is None:
        share = share_held_out(len(kept), config)
        kept, dev = hold_out(kept, share, config.seed)
        held_out = len(dev)
    corpus = Corpus(kept, list(dev), layers, joint, held_out=held_out)
    in_force = _in_force(base.model, config)
    columns = extend_columns(base.model.columns, base.model.layers, kept, layers, in_force, joint)
    extended = base.model.components.over(columns)
    run = Run(
        corpus=corpus,
        config=in_force,
        columns=columns,
        train=part_of(corpus.train, columns, corpus.layers),
        dev=part_of(corpus.dev, columns, corpus.layers),
        base=extended,
        count=_counting(base.model, corpus, columns),
        background=Background(listener, turns=True),
        journal=journal,
        exceptions=exceptions,
    )
    interrupted = run.fit()
    model = _merged(base, run.model(interrupted), extended, layers, config)
    return Trained(model, interrupted, held_out, corpus.dev)


def share_held_out(sentences: int, config: TrainConfig) -> float:
    """The share of the sentences that is held out: 0 if it comes to fewer than ``LEAST_HELD_OUT``.

    So few would be missed in training, and would choose among its passes by chance. The penalty on
    leaving the base prevents overfitting to few sentences (docs/decisions/continuing-a-model.md).
    """
    return config.hold_out if config.hold_out * sentences >= LEAST_HELD_OUT else 0.0


def layers_to_continue(
    base: Model, sentences: Sequence[Sentence], config: TrainConfig
) -> tuple[str, ...]:
    """The layers to be trained: all that the sentences annotate and the configuration asks for, but
    none that would change the input of other layers of the base.

    Raises:
        EgparseError: there are none, or one that the configuration names is not annotated or would
            change that input.
    """
    asked = set(config.layers) != set(base.config_table.get("layers", ()))
    if not asked:  # not all that the base was asked for need be there
        annotated = set(annotated_layers(sentences))
        config = replace(config, layers=tuple(set(config.layers) & annotated))
    found = layers_to_train(sentences, config)
    joint = _joint(base)
    if not set(joint) <= set(found):
        others = set(found) - set(joint)
        if set(joint) & set(found) and (asked or not others):
            raise EgparseError(
                f"expected all of {', '.join(joint)}, which one tagger of the base model predicts "
                f"together, or none of them, got {', '.join(found)}"
            )
        found = tuple(layer for layer in found if layer not in joint)
    new = [layer for layer in found if layer not in base.layers and _is_read(layer, base, config)]
    if new and asked:
        raise EgparseError(
            f"expected layers that the base model has ({', '.join(base.layers)}) or does not read, "
            f"got {new[0]!r}"
        )
    kept = tuple(layer for layer in found if layer not in new)
    if not kept:
        raise EgparseError(
            f"expected a corpus with layers of the base model ({', '.join(base.layers)}), got "
            f"{', '.join(found)}"
        )
    return kept


def _is_read(layer: str, base: Model, config: TrainConfig) -> bool:
    """Whether other layers of the base have a column for it."""
    others = [section_of(other, _joint(base)) for other in base.layers if other != layer]
    return layer in TAG_LAYERS and layer in named_columns(others, config)


def _counting(base: Model, corpus: Corpus, columns: Columns) -> CountForms:
    """A function that counts statistics of forms: the base's, with the new words if spans are
    trained.
    """
    known = base.columns.statistics
    forms = in_lower_case(columns.lexicon.forms)

    def count(counted: Mask | None) -> FormStatistics:
        if known is None:
            return count_forms(corpus.train, counted)
        new = count_forms(corpus.train, counted) if "spans" in corpus.layers else None
        return known.extended(new, forms)

    return count


def _merged(
    base: Base,
    trained_model: Model,
    extended: Components,
    trained: Sequence[str],
    config: TrainConfig,
) -> Model:
    """The model of a run with the predictors of the base that were not trained."""
    before = base.model
    bases = [*before.record.get("bases", ()), base.record()]
    kept = [layer for layer in before.layers if layer not in trained]
    model = replace(
        trained_model,
        components=extended.with_components(*trained_model.components),
        record={**trained_model.record, "bases": bases},
        config_table=_config_table(before, trained, config),
    )
    known = {*trained_model.probabilistic}
    known |= {layer for layer in kept if layer in before.probabilistic}
    known |= {layer for layer in before.probabilistic if layer not in trained_model.layers}
    return replace(model, probabilistic=tuple(layer for layer in model.layers if layer in known))


def _config_table(base: Model, trained: Sequence[str], config: TrainConfig) -> dict[str, Any]:
    """The given settings, but the base's in the sections of layers that were not trained."""
    sections = {section_of(layer, _joint(base)) for layer in trained}
    if "heads" in trained:
        sections.add("pruner")
    kept = _sections(base) - sections
    known = base.config_table
    table = config_of_model(config)
    return table | {section: known[section] for section in kept if section in known}


def _in_force(base: Model, config: TrainConfig) -> TrainConfig:
    """The configuration with each C times ``base_strength``, and with the order of the base's
    parser, which is only a pruner if training of the base was interrupted.
    """
    changed: dict[str, Any] = {
        section: replace(learning, c=config.base_strength * learning.c)
        for section, learning in learning_sections(config)
        if section in _sections(base) | {"pruner"}
    }
    if isinstance(base.components.get(PARSER), ArcParser) and config.parser.order == 2:
        changed["parser"] = _as_arc_factored(config.parser, changed["pruner"])
    return replace(config, **changed)


def _as_arc_factored(parser: ParserConfig, pruner: PrunerConfig) -> ParserConfig:
    """The settings of a base whose parser is only a pruner, as its training was interrupted."""
    names = [*(one.name for one in fields(LearningConfig)), "bits", "mbr_scale"]
    learning = {name: getattr(pruner, name) for name in names}
    beta, gamma = loss_of(pruner)
    changed = {"order": 1, "stop": ORDER_1.stop, "beta": beta, "gamma": gamma}
    return replace(parser, **(learning | changed))


def _sections(base: Model) -> set[str]:
    """The sections of the configuration for the predictors of the base."""
    sections = {section_of(layer, _joint(base)) for layer in base.layers}
    is_second_order = isinstance(base.components.get(PARSER), SecondOrderParser)
    return sections | ({PRUNER} if is_second_order else set())


def _shown(value: Any) -> str:
    """A setting in TOML notation; of a list only its length."""
    if isinstance(value, tuple):
        return f"the {len(value)} templates" if value else "the built-in templates"
    return str(value).lower() if isinstance(value, bool) else str(value)
