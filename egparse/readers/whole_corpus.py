"""A corpus read as a whole: all its sentences, and the faults of those that were skipped."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from egparse.errors import CorpusError
from egparse.readers.corpus import read_corpus
from egparse.readers.encodings import UTF_8
from egparse.readers.stored_sentences import StoredSentences
from egparse.sentences import Sentence
from egparse.storage.scratch import active


class WholeCorpus(NamedTuple):
    """The sentences of a file, and the faults of skipped ones."""

    sentences: Sequence[Sentence]
    skipped: list[CorpusError]


def read_whole(
    path: Path,
    format: str | None,
    *,
    encoding: str = UTF_8,
    skip_bad: bool = False,
    multiple_roots: bool | None = None,
) -> WholeCorpus:
    """All sentences of a corpus, whose words may lack heads; in a file where memory is limited.
    ``encoding`` is that of the corpus.

    Raises:
        CorpusError: the first fault, unless ``skip_bad``.
    """
    skipped: list[CorpusError] = []
    sentences = read_corpus(
        path,
        format,
        encoding=encoding,
        skip_bad=skip_bad,
        on_bad=skipped.append,
        multiple_roots=multiple_roots,
    )
    scratch = active()
    if scratch is None:
        return WholeCorpus(list(sentences), skipped)
    return WholeCorpus(StoredSentences.of(sentences, scratch), skipped)
