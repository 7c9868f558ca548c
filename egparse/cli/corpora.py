"""Annotated corpora, read whole and checked, with the faults that were skipped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from egparse.cli import tables
from egparse.layers import LAYERS, Layer

if TYPE_CHECKING:
    from egparse.errors import CorpusError
    from egparse.sentences import Sentence

_LABELS = {"tag": "tag", "span": "type", "label": "label"}
"""What the labels of a layer are called, by kind of layer; heads have none."""


class Corpus(NamedTuple):
    """The sentences of a file, and the faults of skipped ones."""

    sentences: list[Sentence]
    skipped: list[CorpusError]


def read(
    path: Path,
    format: str | None,
    *,
    skip_bad: bool = False,
    multiple_roots: bool | None = None,
    whole_trees: bool = True,
) -> Corpus:
    """All sentences of a corpus; with ``whole_trees``, all words must have heads if any has one.

    Raises:
        CorpusError: the first fault, unless ``skip_bad``.
    """
    from egparse.sentences import MISSING_HEAD

    corpus = _read(path, format, skip_bad, multiple_roots, require_trees=False)
    attached = any(
        any(head != MISSING_HEAD for head in sentence.heads) for sentence in corpus.sentences
    )
    if (
        whole_trees
        and attached
        and any(MISSING_HEAD in sentence.heads for sentence in corpus.sentences)
    ):
        return _read(path, format, skip_bad, multiple_roots, require_trees=True)
    return corpus


def described(sentences: list[Sentence]) -> str:
    """The numbers of sentences and words."""
    words = sum(map(len, sentences))
    return f"{tables.things(len(sentences), 'sentence')}, {tables.things(words, 'word')}"


def layers_described(sentences: list[Sentence]) -> str:
    """The layers that a corpus annotates, each with its number of labels."""
    from egparse.evaluation.report import annotated_layers

    annotated = annotated_layers(sentences)
    layers = [layer for name, layer in LAYERS.items() if name in annotated]
    return ", ".join(_described(sentences, layer) for layer in layers) or "none"


def _described(sentences: list[Sentence], layer: Layer) -> str:
    if layer.kind == "head":
        return layer.title
    values = {value for sentence in sentences for value in getattr(sentence, layer.name)}
    if layer.kind == "span":
        values = {tag[2:] for tag in values if tag[2:]}
    return f"{layer.title} ({tables.things(len(values), _LABELS[layer.kind])})"


def _read(
    path: Path,
    format: str | None,
    skip_bad: bool,
    multiple_roots: bool | None,
    *,
    require_trees: bool,
) -> Corpus:
    from egparse.readers.corpus import read_corpus

    skipped: list[CorpusError] = []
    sentences = read_corpus(
        path,
        format,
        skip_bad=skip_bad,
        on_bad=skipped.append,
        require_trees=require_trees,
        multiple_roots=multiple_roots,
    )
    return Corpus(list(sentences), skipped)
