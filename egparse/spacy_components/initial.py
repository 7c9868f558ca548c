"""Training a model to its end when a pipeline is initialised: one model for several components."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.training import Example
from spacy.util import resolve_dot_names
from thinc.api import Config

from egparse.config.reading import config_of_model, load_config, read_config
from egparse.config.sections import TrainConfig
from egparse.errors import EgparseError
from egparse.fitting.progress import Iteration, Step
from egparse.fitting.task import fit
from egparse.layers import SPLITTER
from egparse.pipeline.components import Components
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.spacy_components.doc_conversion import Learnable, sentences_of, sentences_to_learn
from egparse.spacy_components.label_tables import to_spacy
from egparse.spacy_components.shared_models import SharedModel, logger
from egparse.text.training import SplitterTask
from egparse.training.columns import build_columns, record_of_classes
from egparse.training.corpus import annotated_layers, splitter_parts
from egparse.training.run import train
from egparse.training.steps import untrained_model

# Below spaCy's logger, so that its handler shows the progress of training; spaCy itself logs
# warnings only, unless it is told to be verbose, and would be silent for minutes.
if logger.level == logging.NOTSET:
    logger.setLevel(logging.INFO)


class Corpora(NamedTuple):
    """The Examples to train on, and those of the development part (None: a share is held out)."""

    train: list[Example]
    dev: list[Example] | None


def corpora(get_examples: Callable[[], Iterable[Example]], nlp: Language | None) -> Corpora:
    """The Examples, and those of the pipeline's development corpus, if its configuration has one:
    ``[training] dev_corpus``, which ``spacy train`` scores on as well.
    """
    dev = None if nlp is None else _development(nlp)
    return Corpora(_not_empty(get_examples()), dev)


def _not_empty(examples: Iterable[Example]) -> list[Example]:
    return [example for example in examples if len(example.predicted)]


def _development(nlp: Language) -> list[Example] | None:
    config = nlp.config.interpolate()
    name = config["training"].get("dev_corpus")
    if not isinstance(name, str) or name.count(".") != 1:
        return None
    section, key = name.split(".")
    reader = config.get(section, {}).get(key)
    if reader is None or reader.get("path", "") is None:  # the default of a pipeline without one
        return None
    (read,) = resolve_dot_names(Config({section: {key: reader}}), [name])
    return _not_empty(read(nlp))


def config_of(training: Mapping[str, Any] | str | None, nlp: Language | None) -> TrainConfig:
    """The settings of a configuration file or a table; the language is the pipeline's if they name
    none.

    Raises:
        ConfigError: faulty settings.
    """
    if isinstance(training, str):
        config = load_config(Path(training).expanduser())
    else:
        config = read_config(_plain(training or {}), "training")
    if nlp is None or config.language != TrainConfig().language:
        return config
    return replace(config, language=str(nlp.lang))


def _plain(table: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _plain(value) if isinstance(value, Mapping) else value for key, value in table.items()
    }


def make_shared(
    given: Corpora,
    wanted: Collection[str],
    required: Collection[str],
    config: TrainConfig,
    labels: Mapping[str, Sequence[str]] | None,
    by_steps: bool,
) -> SharedModel | None:
    """A model of the ``wanted`` layers that the Examples annotate; None if none of the ``required``
    ones is annotated (where no layer is required, a sentence splitter is enough). With ``by_steps``
    its weights are 0: it is to learn in steps.

    Raises:
        EgparseError: faulty settings, a label that is not among ``labels``, no sentence that has
            everything.
    """
    sentences = _all_sentences(given.train)
    has_starts = all(example.reference.has_annotation("SENT_START") for example in given.train)
    if not has_starts and not by_steps:
        config = replace(config, splitter=replace(config.splitter, train=False))
    layers = tuple(
        layer
        for layer in annotated_layers(sentences)
        if layer in wanted and (not config.layers or layer in config.layers)
    )
    if not by_steps and not required:
        if not layers:
            return _splitter_alone(sentences, given.dev, config)
        required = layers
    if not any(layer in required for layer in layers):
        return None
    kept = sentences_to_learn(given.train, layers)
    if not kept.sentences:
        raise EgparseError(
            f"expected Examples with sentences that have {', '.join(layers)} for every token, got "
            "none"
        )
    if labels is not None:
        _check_labels(kept.sentences, labels)
    if by_steps:
        return SharedModel(untrained_model(kept.sentences, layers, config))
    dev = None
    if given.dev is not None:
        found = sentences_to_learn(given.dev, layers)
        dev = found.sentences
        _log("development", found, layers)
    _log("training", kept, layers)
    return SharedModel(train(kept.sentences, dev, replace(config, layers=layers), _log_pass).model)


def _log(part: str, found: Learnable, layers: Sequence[str]) -> None:
    """Log how many sentences there are, and what was done about those that lack something."""
    logger.info("%d %s sentences", len(found.sentences), part)
    if found.with_gold_words:
        logger.info(
            "%d of them with the words of the gold, which differ from spaCy's tokens",
            found.with_gold_words,
        )
    if found.left_out:
        logger.info("%d left out, which lack %s", found.left_out, " or ".join(layers))


def _log_pass(event: Iteration | Step) -> None:
    """Write the passes of training to spaCy's logger, which ``spacy train`` shows."""
    if isinstance(event, Step):
        if event.done:
            logger.info("%-16s fold %d of %d", event.task, event.done, event.total)
        return
    score = "" if event.score is None else f", development score {event.score:.2f}"
    gap = f", gap {100 * event.relative_gap:.2g} %" if 0 <= event.relative_gap < 1 else ""
    best = " (best)" if event.best and score else ""
    facts = (event.task, event.iteration, score, gap, event.seconds, best)
    logger.info("%-16s pass %2d%s%s, %.1f CPU s%s", *facts)


def _splitter_alone(
    sentences: Sequence[Sentence], of_dev: Sequence[Example] | None, config: TrainConfig
) -> SharedModel | None:
    """A model that splits sentences and does nothing else; None where there is too little to learn
    from.
    """
    dev = None if of_dev is None else _all_sentences(of_dev)
    parts = splitter_parts(sentences, dev, config)
    if parts is None:
        return None
    columns = build_columns(sentences, (), config)
    task = SplitterTask(parts, columns.class_tables, config=config.splitter, seed=config.seed)
    best = fit(task, _log_pass)
    record = {
        "sentences": len(sentences),
        "seed": config.seed,
        "tasks": {SPLITTER: best.record._asdict()},
        **record_of_classes(columns),
    }
    components, table = Components.of(columns, [best.predictor]), config_of_model(config)
    return SharedModel(Model(components, config.language, record, table))


def _all_sentences(examples: Iterable[Example]) -> list[Sentence]:
    return [sentence for example in examples for sentence in sentences_of(example)]


def end_training_loop(nlp: Language, finished: Collection[object]) -> None:
    """Let ``spacy train`` make one step, and so one evaluation, if all components that it would
    update are ``finished``: their models do not change any more.
    """
    training = nlp.config.get("training", {})
    open_ones = [
        name
        for name, pipe in nlp.pipeline
        if getattr(pipe, "is_trainable", False) and not any(pipe is one for one in finished)
    ]
    if open_ones or "max_steps" not in training or training["max_steps"] == 1:
        return
    training["max_steps"] = 1
    logger.info("all components are trained to their end: one step and one evaluation")


def _check_labels(sentences: Sequence[Sentence], labels: Mapping[str, Sequence[str]]) -> None:
    for layer, allowed in labels.items():
        found = {value for sentence in sentences for value in getattr(sentence, layer, ())}
        if layer == "spans":
            found = {tag[2:] for tag in found if tag[2:]}
        if layer == "deprels":
            found = set(map(to_spacy, found))
        unknown = sorted(found.difference(allowed))
        if unknown:
            raise EgparseError(
                f"labels of {layer}: expected those of the settings, got {unknown[0]!r}"
            )
