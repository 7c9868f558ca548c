"""The front door in Python: training a model from corpora with one call.

Everything else that is public is defined in its room and exported by ``egparse``
(``egparse.__all__``): ``load`` finds a model, ``Model`` annotates, evaluates and saves,
``read_corpus`` and ``write_corpus`` read and write sentences.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from egparse.config.fields import merge_tables
from egparse.config.reading import put, read_config
from egparse.config.sections import TrainConfig
from egparse.fitting.progress import Listener, silent
from egparse.io.corpus import read_whole
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.service.hub.resolve import find_model
from egparse.storage.model_file import read_header
from egparse.training.continuation import Base, configure, continue_training
from egparse.training.corpus import together, treebank_of
from egparse.training.run import train as train_sentences

Name = str | os.PathLike[str]
Corpus = Name | Iterable[Sentence] | Sequence[Name]
"""A corpus as a path or as sentences, or several as paths."""


def train(
    corpus: Corpus,
    dev: Corpus | None = None,
    *,
    base: str | os.PathLike[str] | Model | None = None,
    listener: Listener = silent,
    **settings: Any,
) -> Model:
    """Train a model on every layer that a corpus annotates, or several, and return it.

    Paths of several corpora are treebanks of those names (``en_ewt`` is that of
    ``en_ewt-ud-train.conllu``): the model annotates like the first unless ``Model.in_treebank``
    names another. Without ``dev`` a tenth of the sentences is held out for development. The
    language of the model, whose rules split plain text into words, is that of the corpus unless
    ``language`` names one:
    ``egparse.text.rules`` finds it out, ``Model.language`` holds it. With a ``base``,
    a model or its path or name, training continues from it. ``settings``, which
    ``egparse.settings`` lists, are nested tables or full keys: ``train(..., seed=7,
    parser={"c": 20.0}, **{"upos.c": 1.0})``. ``listener`` gets an event for each pass
    (``egparse.fitting.progress``). Ctrl-C ends training with what has been trained so far.

    Raises:
        CorpusError: a faulty sentence in a corpus that is given as a path.
        ConfigError: an unknown setting, or a value that it cannot have.
        EgparseError: a corpus without sentences or annotation, a model that cannot be loaded.
    """
    table = settings_table(settings)
    start = None
    if base is None:
        config = read_config(table, "settings")
    else:
        start = Base(base) if isinstance(base, Model) else load_base(base)
        config = configure(start.model, table, "settings")
    sentences = _sentences(corpus, config)
    dev_sentences = None if dev is None else _sentences(dev, config)
    if start is None:
        return train_sentences(sentences, dev_sentences, config, listener).model
    return continue_training(start, sentences, dev_sentences, config, listener).model


def load_base(name_or_path: str | os.PathLike[str]) -> Base:
    """The model to continue from, with the checksum for the record of the new model.

    Raises:
        ModelFileError: no such model, not a model, damaged, or of a newer format.
    """
    path = find_model(name_or_path)
    return Base(Model.load(path), path.name, read_header(path)["payload_sha256"])


def settings_table(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Nested tables from settings of which some are given by their full key, as ``upos.c``."""
    table: dict[str, Any] = {}
    for key, value in settings.items():
        nested: dict[str, Any] = {}
        put(nested, key, value)
        table = merge_tables(table, nested)
    return table


def _sentences(corpus: Corpus, config: TrainConfig) -> list[Sentence]:
    """The sentences of a corpus; trees may have several roots if the settings allow it."""
    multiple_roots = None if config.parser.single_root else True

    def read(path: Name) -> Sequence[Sentence]:
        return read_whole(Path(path), None, multiple_roots=multiple_roots).sentences

    if isinstance(corpus, str | os.PathLike):
        return list(read(corpus))
    given = list(corpus)
    paths = [one for one in given if isinstance(one, str | os.PathLike)]
    if not paths:
        return cast("list[Sentence]", given)
    return list(together((treebank_of(Path(path)), read(path)) for path in paths))
