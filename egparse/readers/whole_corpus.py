"""A corpus read as a whole: all its sentences, and the faults of those that were skipped."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from egparse.errors import CorpusError
from egparse.readers.corpus import read_corpus
from egparse.readers.encodings import UTF_8
from egparse.sentences import MISSING_HEAD, Sentence


class WholeCorpus(NamedTuple):
    """The sentences of a file, and the faults of skipped ones."""

    sentences: list[Sentence]
    skipped: list[CorpusError]


def read_whole(
    path: Path,
    format: str | None,
    *,
    encoding: str = UTF_8,
    skip_bad: bool = False,
    multiple_roots: bool | None = None,
    whole_trees: bool = True,
) -> WholeCorpus:
    """All sentences of a corpus; with ``whole_trees``, all words must have heads if any has one.
    ``encoding`` is that of the file.

    Raises:
        CorpusError: the first fault, unless ``skip_bad``.
    """
    read = partial(_read, path, format, encoding, skip_bad, multiple_roots)
    corpus = read(require_trees=False)
    attached = any(
        any(head != MISSING_HEAD for head in sentence.heads) for sentence in corpus.sentences
    )
    if (
        whole_trees
        and attached
        and any(MISSING_HEAD in sentence.heads for sentence in corpus.sentences)
    ):
        return read(require_trees=True)
    return corpus


def _read(
    path: Path,
    format: str | None,
    encoding: str,
    skip_bad: bool,
    multiple_roots: bool | None,
    *,
    require_trees: bool,
) -> WholeCorpus:
    skipped: list[CorpusError] = []
    sentences = read_corpus(
        path,
        format,
        encoding=encoding,
        skip_bad=skip_bad,
        on_bad=skipped.append,
        require_trees=require_trees,
        multiple_roots=multiple_roots,
    )
    return WholeCorpus(list(sentences), skipped)
