"""Corpora as commands read and describe them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from egparse.cli import tables
from egparse.cli.files import require_file
from egparse.cli.notices import Say
from egparse.cli.training import in_files
from egparse.layers import LAYERS, Layer

if TYPE_CHECKING:
    from egparse.config.sections import TrainConfig
    from egparse.io.corpus import WholeCorpus
    from egparse.sentences import Sentence

_LABELS = {"tag": "tag", "span": "type", "label": "label"}
"""What the labels of a layer are called, by kind of layer; heads and lemmas have none."""


_SHOWN_FAULTS = 5


class Corpora(NamedTuple):
    """The corpora of a training, as the arguments name them, and other inputs."""

    corpus: Path
    dev: Path | None
    format: str | None
    encoding: str
    skip_bad: bool
    config: Path | None = None
    classes: tuple[str, ...] = ()

    @property
    def inputs(self) -> dict[str, Path | None]:
        """All files that are read, by what a message calls them."""
        tables = [Path(table).expanduser() for table in self.classes]
        return {
            "the corpus": self.corpus,
            "the development corpus": self.dev,
            "the configuration": self.config,
        } | {f"the table {path.name}": path for path in tables if path.is_file()}

    def require(self) -> None:
        """Raise EgparseError unless the files are there."""
        require_file(self.corpus, "an annotated corpus")
        if self.dev is not None:
            require_file(self.dev, "a development corpus")
        if self.config is not None:
            require_file(self.config, "a configuration in TOML")

    def read(
        self, config: TrainConfig, say: Say, *, holds_out: bool = True
    ) -> tuple[WholeCorpus, WholeCorpus | None]:
        """Read the corpora, and say what was found in them, and what is held out if need be.

        Raises:
            CorpusError: the first fault, unless ``skip_bad``.
        """
        corpus = self._read(self.corpus, "corpus", config, say)
        dev = self._read(self.dev, "development", config, say) if self.dev else None
        if dev is None and holds_out and config.hold_out > 0:
            say(held_out(len(corpus.sentences), config.hold_out))
        return corpus, dev

    def _read(self, path: Path, name: str, config: TrainConfig, say: Say) -> WholeCorpus:
        from egparse.io.corpus import read_whole

        corpus = read_whole(
            path,
            self.format,
            encoding=self.encoding,
            skip_bad=self.skip_bad,
            multiple_roots=None if config.parser.single_root else True,
        )
        for fault in corpus.skipped[:_SHOWN_FAULTS]:
            say(f"skipped      {fault}")
        if len(corpus.skipped) > _SHOWN_FAULTS:
            say(f"skipped      {len(corpus.skipped) - _SHOWN_FAULTS:,} more")
        say(f"{name:<11}  {path}: {described(corpus.sentences)}")
        if name == "corpus":
            if (files := in_files(corpus.sentences)) is not None:
                say(f"files        {files}")
            say(f"annotated    {layers_described(corpus.sentences)}")
        return corpus


def with_language(config: TrainConfig, sentences: Sequence[Sentence], say: Say) -> TrainConfig:
    """The settings with the language of the corpus, and say which it is and why."""
    from egparse.config.sections import AUTO
    from egparse.text.rules import find_language

    if config.language != AUTO:
        say(f"language     {config.language}, as set")
        return config
    found = find_language(sentences)
    if found.sure:
        say(f"language     {found.code}, {found.reason}; --language names another")
    else:
        say(f"language     {found.code}, rules of no language ({found.reason}): set --language")
    return replace(config, language=found.code)


def say_what_tokens_are(config: TrainConfig, sentences: Sequence[Sentence], say: Say) -> None:
    """Say where plain text will not be split into tokens as a corpus with blanks splits it."""
    from egparse.io.spacy_rules import split_words
    from egparse.training.corpus import blanks_of_corpus, learns_tokens

    if not learns_tokens(sentences, config):
        why = "as set" if not config.tokeniser.train else "as the corpus is no running text"
        say(f"tokens       by spaCy's rules for {config.language}, {why}")
        split_words("", config.language)  # warns if they need a package that is not installed
        return
    blanks = blanks_of_corpus(sentences)
    if blanks.close < config.tokeniser.least_rate * blanks.tokens:
        say(
            f"tokens       between blanks, as {blanks.close:,} of {blanks.tokens:,} tokens are "
            "marked SpaceAfter=No; tokeniser.train=false takes spaCy's rules"
        )


def held_out(sentences: int, share: float) -> str:
    """What is said where no development part is named, for so many sentences in all."""
    from egparse.training.corpus import held_out_of

    count = held_out_of(sentences, share)
    if count:
        return (
            f"development  {100 * share:g} % of the sentences, held out: {count:,}; --dev names a "
            "file instead"
        )
    return (
        "development  none: so few sentences are all needed to learn from; --dev names a file "
        "to score on"
    )


def described(sentences: Sequence[Sentence]) -> str:
    """The numbers of sentences and words."""
    words = sum(map(len, sentences))
    return f"{tables.things(len(sentences), 'sentence')}, {tables.things(words, 'word')}"


def layers_described(sentences: Sequence[Sentence]) -> str:
    """The layers that a corpus annotates, each with its number of labels."""
    from egparse.evaluation.report import annotated_layers

    annotated = annotated_layers(sentences)
    layers = [layer for name, layer in LAYERS.items() if name in annotated]
    values: dict[str, set[str]] = {one.name: set() for one in layers if one.kind in _LABELS}
    for sentence in sentences:
        for name, found in values.items():
            found.update(getattr(sentence, name))
    return ", ".join(_described(layer, values.get(layer.name)) for layer in layers) or "none"


def _described(layer: Layer, values: set[str] | None) -> str:
    if values is None:
        return layer.title
    if layer.kind == "span":
        values = {tag[2:] for tag in values if tag[2:]}
    return f"{layer.title} ({tables.things(len(values), _LABELS[layer.kind])})"
