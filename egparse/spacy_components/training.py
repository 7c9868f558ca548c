"""Examples as training data: gold aligned with the tokens that spaCy makes, and one model for
several components.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from spacy.tokens import Doc
from spacy.training import Example, biluo_to_iob

from egparse.errors import EgparseError
from egparse.fitting.config import TrainConfig
from egparse.fitting.config_files import config_as_table, load_config, read_config
from egparse.fitting.progress import silent
from egparse.fitting.task import fit
from egparse.layers import SPLITTER
from egparse.pipeline.model import Model
from egparse.readers.docs import SPACE_AFTER_NO
from egparse.readers.trees import find_tree_fault
from egparse.sentences import MISSING, MISSING_HEAD, Sentence, Source
from egparse.spacy_components.documents import BLANK_LINE, read
from egparse.spacy_components.label_tables import from_spacy, to_spacy
from egparse.spacy_components.shared_models import SharedModel
from egparse.splitting.training import SplitterTask
from egparse.training.columns import annotated_layers, build_columns
from egparse.training.run import splitter_parts, train

logger = logging.getLogger(__name__)

_PARAGRAPH = Source("<examples>", 1, ("# newpar",), (1,))
"""The source of a sentence that begins a paragraph, as the training of splitters knows it."""


def train_shared(
    get_examples: Callable[[], Iterable[Example]],
    wanted: Collection[str],
    required: Collection[str],
    training: Mapping[str, Any] | str | None,
    labels: Mapping[str, Sequence[str]] | None,
) -> SharedModel | None:
    """A model of the ``wanted`` layers that the Examples annotate; None if none of the ``required``
    ones is annotated (where no layer is required, a sentence splitter is enough).

    Sentences that lack some of it, for instance a head because tokens of spaCy and of the corpus do
    not match, are left out.

    Raises:
        EgparseError: faulty settings, a label that is not among ``labels``, no sentence that has
            everything.
    """
    config = _config(training)
    examples = [example for example in get_examples() if len(example.predicted)]
    sentences = [sentence for example in examples for sentence in sentences_of(example)]
    if not all(example.reference.has_annotation("SENT_START") for example in examples):
        config = replace(config, splitter=replace(config.splitter, train=False))
    found = [layer for layer in annotated_layers(sentences) if layer in wanted]
    layers = tuple(layer for layer in found if not config.layers or layer in config.layers)
    if not layers and not required:
        return _splitter_alone(sentences, config)
    if not layers or not any(layer in (required or layers) for layer in layers):
        return None
    kept = [sentence for sentence in sentences if _is_complete(sentence, layers)]
    if not kept:
        raise EgparseError(
            f"expected Examples with sentences that have {', '.join(layers)} for every token, got "
            "none"
        )
    if len(kept) < len(sentences):
        logger.info(
            "%d of %d sentences lack %s",
            len(sentences) - len(kept),
            len(sentences),
            " or ".join(layers),
        )
    if labels is not None:
        _check_labels(kept, labels)
    return SharedModel(train(kept, None, replace(config, layers=layers)).model)


def _splitter_alone(sentences: Sequence[Sentence], config: TrainConfig) -> SharedModel | None:
    """A model that splits sentences and does nothing else; None where there is too little to learn
    from.
    """
    parts = splitter_parts(sentences, None, config)
    if parts is None:
        return None
    best = fit(SplitterTask(parts, config.splitter, config.seed), silent)
    columns = build_columns(sentences, (), config)
    record = {
        "sentences": len(sentences),
        "seed": config.seed,
        "tasks": {SPLITTER: best.record._asdict()},
    }
    return SharedModel(
        Model(
            columns,
            {},
            None,
            None,
            config.language,
            record,
            config_as_table(config),
            best.predictor,
        )
    )


def sentences_of(example: Example) -> Iterator[Sentence]:
    """The sentences of an Example: the tokens that spaCy predicts on, without white space, with the
    gold that is aligned with them.

    What is not aligned is missing. Without gold sentence starts they are found by rule.
    """
    doc = example.predicted
    if not len(doc):
        return
    starts = _starts(example)
    upos = _tags(example, "POS")
    xpos, feats = _tags(example, "TAG"), _tags(example, "MORPH")
    heads, deps = example.get_aligned_parse(projectivize=False)  # type: ignore[no-untyped-call]
    has_trees, has_spans = (
        example.reference.has_annotation("DEP"),
        example.reference.has_annotation("ENT_IOB"),
    )
    spans = biluo_to_iob(example.get_aligned_ner()) if has_spans else []
    words = [token.i for token in doc if not token.is_space]
    firsts = [place for place, token in enumerate(words) if starts[token] or place == 0]
    for first, end in zip(firsts, [*firsts[1:], len(words)], strict=True):
        own = words[first:end]
        positions = {token: place for place, token in enumerate(own, 1)}
        yield Sentence(
            forms=tuple(doc[token].text for token in own),
            upos=tuple(upos[token] for token in own),
            xpos=tuple(xpos[token] for token in own),
            feats=tuple(feats[token] for token in own),
            heads=tuple(_head(token, heads[token], positions) for token in own)
            if has_trees
            else (),
            deprels=tuple(from_spacy(deps[token] or MISSING) for token in own) if has_trees else (),
            spans=tuple(spans[token] for token in own) if has_spans else (),
            misc=tuple(MISSING if _is_spaced(doc, token) else SPACE_AFTER_NO for token in own),
            source=_PARAGRAPH if first == 0 or _opens_paragraph(doc, own[0]) else None,
        )


def _is_spaced(doc: Doc, token: int) -> bool:
    return bool(doc[token].whitespace_) or token + 1 == len(doc) or doc[token + 1].is_space


def _opens_paragraph(doc: Doc, token: int) -> bool:
    """Whether there is a blank line before a token."""
    return bool(BLANK_LINE.search(doc[token - 1].text)) if token else True


def _starts(example: Example) -> Sequence[bool]:
    """Whether a sentence starts at each token; a start at white space is one at the word after
    it.
    """
    doc = example.predicted
    gold = example.get_aligned_sent_starts()  # type: ignore[no-untyped-call]
    starts = [False] * len(doc)
    if None in gold:
        batch = read([doc], None, keep_starts=False)
        for token in batch.places[batch.starts[:-1]].tolist():
            starts[token] = True
        return starts
    pending = False
    for token in doc:
        pending = pending or bool(gold[token.i])
        if pending and not token.is_space:
            starts[token.i], pending = True, False
    return starts


def _tags(example: Example, attribute: str) -> list[str]:
    """The aligned values, ``_`` where there is none; in FEATS that is a value."""
    return [value or MISSING for value in example.get_aligned(attribute, as_string=True)]


def _head(token: int, head: int | None, positions: Mapping[int, int]) -> int:
    if head is None:
        return MISSING_HEAD
    return 0 if head == token else positions.get(head, MISSING_HEAD)


def _is_complete(sentence: Sentence, layers: Sequence[str]) -> bool:
    """Whether every word has its tags, and the sentence a tree."""
    tags = [layer for layer in ("upos", "xpos", "spans", "deprels") if layer in layers]
    if any(not getattr(sentence, layer) or MISSING in getattr(sentence, layer) for layer in tags):
        return False
    if "spans" in layers and "-" in sentence.spans:
        return False
    if "heads" not in layers:
        return True
    return (
        len(sentence.heads) == len(sentence)
        and find_tree_fault(sentence.heads, single_root=True) is None
    )


def _config(training: Mapping[str, Any] | str | None) -> TrainConfig:
    if isinstance(training, str):
        return load_config(Path(training).expanduser())
    return read_config(_plain(training or {}), "training")


def _plain(table: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: _plain(value) if isinstance(value, Mapping) else value for key, value in table.items()
    }


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
