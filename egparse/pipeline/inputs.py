"""What a model can be given to annotate: a text, several texts, or sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from egparse.sentences import Sentence


def batches(sentences: Iterable[Sentence], n_words: int) -> Iterator[list[Sentence]]:
    """Lists of consecutive sentences with about ``n_words`` words each."""
    batch: list[Sentence] = []
    size = 0
    for sentence in sentences:
        batch.append(sentence)
        size += len(sentence)
        if size >= n_words:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
