"""Where the sentences of an experiment come from: the data directory, the project's sample
treebank, or a random generator.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from egparse.errors import EgparseError
from egparse.experiments.problems.generated import sentences as generated_sentences
from egparse.experiments.request import Request
from egparse.io.corpus import read_corpus
from egparse.sentences import Sentence

CORPORA = Path(__file__).resolve().parents[3] / "corpora"
"""The sample treebank. It lies beside the package in a checkout; an installation has none."""


class Sample(NamedTuple):
    """The parts of a corpus; ``name`` says where they come from."""

    name: str
    train: Sequence[Sentence]
    dev: Sequence[Sentence]
    test: Sequence[Sentence] = ()


class Corpus(NamedTuple):
    """The files of a corpus in the data directory. The first ``n_train`` sentences of ``train`` are
    trained on (0: all).

    Without ``dev`` the remaining sentences of ``train`` are the validation part; with ``n_train`` 0
    these are the last tenth.
    """

    train: str
    dev: str | None = None
    test: str | None = None
    n_train: int = 0


SPANISH_FILES = ("conll2007/esp.test", "conll2007/esp.train")
"""The Spanish treebank of CoNLL-X (Cast3LB), as a later package of it divides it."""

SPANISH_NAMES = Corpus("conll2002/esp.train", "conll2002/esp.testa", "conll2002/esp.testb")

UD_ENGLISH = Corpus(
    "ud/en_ewt-ud-train.conllu", dev="ud/en_ewt-ud-dev.conllu", test="ud/en_ewt-ud-test.conllu"
)

UD_LATIN = Corpus("ud/la_perseus-ud-train.conllu", test="ud/la_perseus-ud-test.conllu")
"""It has no development part."""

_HELD_OUT = 10  # without a development part, one sentence in so many


def files_of(corpus: Corpus) -> tuple[str, ...]:
    """The names of the files that the data directory must hold."""
    return tuple(name for name in (corpus.train, corpus.dev, corpus.test) if name)


def sample(request: Request, corpus: Corpus, quick: tuple[int, int]) -> Sample:
    """The corpus. A quick run takes its first sentences, ``quick`` for training and validation; if
    the corpus is not there, those of the sample treebank, or else generated sentences.

    Raises:
        ConfigError: a file that is needed is not there.
    """
    paths = [request.file(name) for name in files_of(corpus)]
    if all(paths):
        found = _from_files([path for path in paths if path], corpus)
    elif (CORPORA / "en_sample-train.conllu").is_file():
        parts = (_read(CORPORA / f"en_sample-{part}.conllu") for part in ("train", "dev", "test"))
        found = Sample("sample treebank of the project", *parts)
    else:
        drawn = generated_sentences(3 * sum(quick), request.seed)
        found = Sample(
            "generated sentences",
            drawn[: quick[0]],
            drawn[quick[0] : sum(quick)],
            drawn[sum(quick) :],
        )
    if request.quick:
        name, train, dev, test = found
        found = Sample(f"{name} (a slice)", train[: quick[0]], dev[: quick[1]], test[: quick[1]])
    return found


def spanish_trees(request: Request, quick: tuple[int, int]) -> Sample:
    """The training and validation parts of Collins et al. 2008, section 7.2, to the token: of both
    files in this order, the first 206 sentences left out, the next 1,000 for validation (30,563
    words) and the last 2,306 for training (58,771 words).

    Raises:
        ConfigError: a file that is needed is not there.
    """
    paths = [request.file(name) for name in SPANISH_FILES]
    if request.quick or not all(paths):
        return sample(request, Corpus(SPANISH_FILES[1], n_train=quick[0]), quick)
    every = [sentence for path in paths if path for sentence in _read(path)]
    return Sample("Spanish, CoNLL-X (Cast3LB)", every[1206:], every[206:1206])


def _from_files(paths: Sequence[Path], corpus: Corpus) -> Sample:
    parts = dict(zip(files_of(corpus), map(_read, paths), strict=True))
    train = parts[corpus.train]
    n_train = corpus.n_train or len(train) - (corpus.dev is None) * -(-len(train) // _HELD_OUT)
    dev = parts[corpus.dev] if corpus.dev else train[n_train:]
    if len(train) < n_train or not (dev and n_train):
        raise EgparseError(
            f"{paths[0]}: expected {'more than' if corpus.dev is None else 'at least'} "
            f"{max(1, n_train)} sentences, got {len(train)}"
        )
    return Sample(
        Path(corpus.train).as_posix(),
        train[:n_train],
        dev,
        parts[corpus.test] if corpus.test else (),
    )


def _read(path: Path) -> list[Sentence]:
    # CoNLL-X trees may have several roots; spans keep their own layer's name
    return [sentence for sentence in read_corpus(path) if len(sentence)]
