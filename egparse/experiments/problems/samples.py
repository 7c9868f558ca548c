"""Where the sentences of an experiment come from: the data directory or a random generator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from egparse.experiments.problems.generated import sentences as generated_sentences
from egparse.experiments.request import Request
from egparse.io.corpus import read_corpus
from egparse.sentences import Sentence


class Sample(NamedTuple):
    """The parts of a corpus; ``name`` says where they come from."""

    name: str
    train: Sequence[Sentence]
    dev: Sequence[Sentence]
    test: Sequence[Sentence] = ()


class Corpus(NamedTuple):
    """The files of a corpus in the data directory. Without ``dev`` the last tenth of ``train`` is
    the validation part.
    """

    train: str
    dev: str | None = None
    test: str | None = None


SPANISH_FILES = ("conll2007/esp.test", "conll2007/esp.train")
"""The Spanish treebank of CoNLL-X (Cast3LB), as a later package of it divides it."""

SPANISH_NAMES = Corpus("conll2002/esp.train", "conll2002/esp.testa", "conll2002/esp.testb")

UD_ENGLISH = Corpus(
    "ud/en_ewt-ud-train.conllu", dev="ud/en_ewt-ud-dev.conllu", test="ud/en_ewt-ud-test.conllu"
)

UD_LATIN = Corpus("ud/la_perseus-ud-train.conllu", test="ud/la_perseus-ud-test.conllu")
"""It has no development part."""


def files_of(corpus: Corpus) -> tuple[str, ...]:
    """The names of the files that the data directory must hold."""
    return tuple(name for name in (corpus.train, corpus.dev, corpus.test) if name)


def sample(request: Request, corpus: Corpus, quick: tuple[int, int]) -> Sample:
    """The corpus. A quick run takes its first sentences, ``quick`` for training and validation, or
    generated ones if the corpus is not there.

    Raises:
        ConfigError: a file that is needed is not there.
    """
    paths = {name: request.file(name) for name in files_of(corpus)}
    if not all(paths.values()):
        drawn = generated_sentences(sum(quick) + quick[1], request.seed)
        train, rest = drawn[: quick[0]], drawn[quick[0] :]
        return Sample("generated sentences", train, rest[: quick[1]], rest[quick[1] :])
    read = {name: _read(path) for name, path in paths.items() if path}
    train, test = read[corpus.train], read.get(corpus.test or "", [])
    if corpus.dev:
        dev = read[corpus.dev]
    else:
        kept = len(train) * 9 // 10
        train, dev = train[:kept], train[kept:]
    if not request.quick:
        return Sample(corpus.train, train, dev, test)
    name, (n_train, n_dev) = f"{corpus.train} (a slice)", quick
    return Sample(name, train[:n_train], dev[:n_dev], test[:n_dev])


def spanish_trees(request: Request, quick: tuple[int, int]) -> Sample:
    """The training and validation parts of Collins et al. 2008, section 7.2, to the token: of both
    files in this order, the first 206 sentences left out, the next 1,000 for validation (30,563
    words) and the last 2,306 for training (58,771 words).

    Raises:
        ConfigError: a file that is needed is not there.
    """
    paths = [request.file(name) for name in SPANISH_FILES]
    if request.quick or not all(paths):
        return sample(request, Corpus(SPANISH_FILES[1]), quick)
    every = [sentence for path in paths if path for sentence in _read(path)]
    return Sample("Spanish, CoNLL-X (Cast3LB)", every[1206:], every[206:1206])


def _read(path: Path) -> list[Sentence]:
    # CoNLL-X trees may have several roots; spans keep their own layer's name
    return [sentence for sentence in read_corpus(path) if len(sentence)]
