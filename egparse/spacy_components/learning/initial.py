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
from egparse.spacy_components.label_tables import to_spacy
from egparse.spacy_components.learning.examples import Complete, complete_sentences, sentences_of
from egparse.spacy_components.shared_models import SharedModel
from egparse.text.training import SplitterTask
from egparse.training.columns import build_columns, record_of_classes
from egparse.training.corpus import annotated_layers, splitter_parts
from egparse.training.run import train
from egparse.training.steps import untrained_model

logger = logging.getLogger("spacy.egparse")
"""Below spaCy's logger, so that its handler shows the progress of training; spaCy itself logs
warnings only, unless it is told to be verbose, and would be silent for minutes.
"""
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


def layers_of(
    examples: Sequence[Example], wanted: Collection[str], config: TrainConfig
) -> tuple[str, ...]:
    """The wanted layers that Examples annotate and the settings ask for."""
    sentences = [sentence for example in examples for sentence in sentences_of(example)]
    return tuple(
        layer
        for layer in annotated_layers(sentences)
        if layer in wanted and (not config.layers or layer in config.layers)
    )


def train_shared(
    given: Corpora,
    wanted: Collection[str],
    required: Collection[str],
    config: TrainConfig,
    labels: Mapping[str, Sequence[str]] | None,
) -> SharedModel | None:
    """A model of the ``wanted`` layers that the Examples annotate; None if none of the ``required``
    ones is annotated (where no layer is required, a sentence splitter is enough).

    Raises:
        EgparseError: faulty settings, a label that is not among ``labels``, no sentence that has
            everything.
    """
    if not all(example.reference.has_annotation("SENT_START") for example in given.train):
        config = replace(config, splitter=replace(config.splitter, train=False))
    layers = layers_of(given.train, wanted, config)
    if not layers and not required:
        return _splitter_alone(given, config)
    if not layers or not any(layer in (required or layers) for layer in layers):
        return None
    kept = complete_sentences(given.train, layers)
    if not kept.sentences:
        raise EgparseError(
            f"expected Examples with sentences that have {', '.join(layers)} for every token, got "
            "none"
        )
    if labels is not None:
        check_labels(kept.sentences, labels)
    dev = None
    if given.dev is not None:
        found = complete_sentences(given.dev, layers)
        dev = found.sentences
        _tell("development", found, layers)
    _tell("training", kept, layers)
    trained = train(kept.sentences, dev, replace(config, layers=layers), log_progress)
    return SharedModel(trained.model)


def untrained_shared(
    given: Corpora,
    wanted: Collection[str],
    required: Collection[str],
    config: TrainConfig,
    labels: Mapping[str, Sequence[str]] | None,
) -> SharedModel | None:
    """A model like that of ``train_shared`` with weights of 0, which is to learn in steps."""
    layers = layers_of(given.train, wanted, config)
    if not any(layer in required for layer in layers):
        return None
    kept = complete_sentences(given.train, layers).sentences
    if not kept:
        raise EgparseError(
            f"expected Examples with sentences that have {', '.join(layers)} for every token, got "
            "none"
        )
    if labels is not None:
        check_labels(kept, labels)
    return SharedModel(untrained_model(kept, layers, config))


def _tell(part: str, found: Complete, layers: Sequence[str]) -> None:
    """Log how many sentences there are, and what was done about those that lack something."""
    logger.info("%d %s sentences", len(found.sentences), part)
    if found.with_gold_words:
        logger.info(
            "%d of them with the words of the gold, which differ from spaCy's tokens",
            found.with_gold_words,
        )
    if found.left_out:
        logger.info("%d left out, which lack %s", found.left_out, " or ".join(layers))


def log_progress(event: Iteration | Step) -> None:
    """Write the passes of training to spaCy's logger, which ``spacy train`` shows."""
    if isinstance(event, Step):
        if event.done:
            logger.info("%-16s fold %d of %d", event.task, event.done, event.total)
        return
    score = "" if event.score is None else f", development score {event.score:.2f}"
    gap = f", gap {100 * event.relative_gap:.2g} %" if 0 <= event.relative_gap < 1 else ""
    logger.info(
        "%-16s pass %2d%s%s, %.1f CPU s%s",
        event.task,
        event.iteration,
        score,
        gap,
        event.seconds,
        " (best)" if event.best and score else "",
    )


def _splitter_alone(given: Corpora, config: TrainConfig) -> SharedModel | None:
    """A model that splits sentences and does nothing else; None where there is too little to learn
    from.
    """
    sentences = _all_sentences(given.train)
    dev = None if given.dev is None else _all_sentences(given.dev)
    parts = splitter_parts(sentences, dev, config)
    if parts is None:
        return None
    columns = build_columns(sentences, (), config)
    task = SplitterTask(parts, columns.class_tables, config=config.splitter, seed=config.seed)
    best = fit(task, log_progress)
    record = {
        "sentences": len(sentences),
        "seed": config.seed,
        "tasks": {SPLITTER: best.record._asdict()},
        **record_of_classes(columns),
    }
    return SharedModel(
        Model(
            Components.of(columns, [best.predictor]),
            config.language,
            record,
            config_of_model(config),
        )
    )


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


def check_labels(sentences: Sequence[Sentence], labels: Mapping[str, Sequence[str]]) -> None:
    """Check that the sentences have no other labels than those.

    Raises:
        EgparseError: the first one that has.
    """
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
