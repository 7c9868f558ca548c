"""What commands that train have in common: corpora, what is said of them, and what a run has beside
the model, its history, checkpoints and limit of memory.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from egparse.cli import tables
from egparse.cli.files import require_file
from egparse.cli.notices import Say
from egparse.cli.options import Engine
from egparse.cli.tables import finite
from egparse.errors import EgparseError
from egparse.layers import LAYERS, Layer
from egparse.storage.files import NamedFile, lock, open_regular, remove_if_abandoned, unfinished

if TYPE_CHECKING:
    from egparse.config.sections import TrainConfig
    from egparse.fitting.journal import Journal
    from egparse.fitting.progress import Iteration, Step
    from egparse.io.corpus import WholeCorpus
    from egparse.sentences import Sentence
    from egparse.storage.scratch import Scratch

_LABELS = {"tag": "tag", "span": "type", "label": "label"}
"""What the labels of a layer are called, by kind of layer; heads and lemmas have none."""


_SHOWN_FAULTS = 5


def downloaded(
    corpora: Sequence[Path], devs: Sequence[Path] | None, say: Say
) -> tuple[list[Path], list[Path] | None]:
    """Corpora and development corpora, with the training parts of treebanks that are named instead
    of files, and without ``devs`` the development parts of these.

    Raises:
        EgparseError: a treebank that is not here and cannot be downloaded.
    """
    from egparse.service.hub.catalogue import treebank_entry

    found: list[Path] = []
    own: list[Path] = []
    for path in corpora:
        if path.exists() or (entry := treebank_entry(str(path))) is None:
            found.append(path)
            continue
        from egparse.service.hub.fetch import fetch, is_downloaded

        if not is_downloaded(entry):
            say(f"download     {entry.name} {entry.release}, {entry.licence}")
        parts = fetch(entry)
        found += [part for part in parts if "-train." in part.name]
        own += [part for part in parts if "-dev." in part.name]
    return found, [*devs] if devs else own or None


class Corpora(NamedTuple):
    """The corpora of a training, as the arguments name them, and other inputs."""

    corpora: tuple[Path, ...]
    devs: tuple[Path, ...]
    format: str | None
    encoding: str
    skip_bad: bool
    config: Path | None = None
    classes: tuple[str, ...] = ()

    @property
    def inputs(self) -> dict[str, Path | None]:
        """All files that are read, by what a message calls them."""
        tables = [Path(table).expanduser() for table in self.classes]
        named = {"the corpus": self.corpora, "the development corpus": self.devs}
        return {
            **{
                name if len(paths) == 1 else f"{name} {path.name}": path
                for name, paths in named.items()
                for path in paths
            },
            "the configuration": self.config,
            **{f"the table {path.name}": path for path in tables if path.is_file()},
        }

    def require(self) -> None:
        """Raise EgparseError unless the files are there."""
        for path in self.corpora:
            require_file(path, "an annotated corpus")
        for path in self.devs:
            require_file(path, "a development corpus")
        if self.config is not None:
            require_file(self.config, "a configuration in TOML")

    def table(self, overrides: Sequence[str]) -> dict[str, Any]:
        """The table of settings, not yet checked. Raises ConfigError."""
        from egparse.config.reading import load_table, put

        table = load_table(self.config, overrides)
        if self.classes:
            put(table, "classes.tables", list(self.classes))
        return table

    @property
    def name_of_settings(self) -> str:
        """What messages call the table."""
        return str(self.config) if self.config else "configuration"

    def read(self, config: TrainConfig, say: Say, *, holds_out: bool = True) -> ReadCorpora:
        """Read the corpora, and say what was found in them, and what is held out if need be.

        Raises:
            CorpusError: the first fault, unless ``skip_bad``.
        """
        from egparse.training.corpus import together, treebank_of

        read = [self._read(path, "corpus", config, say) for path in self.corpora]
        devs = [self._read(path, "development", config, say) for path in self.devs]
        skipped = sum(len(one.skipped) for one in (*read, *devs))
        sentences = read[0].sentences
        of_devs = [one.sentences for one in devs]
        if len(read) > 1 or not holds_out:  # a base may know several
            names = [treebank_of(path) for path in self.corpora]
            sentences = together(zip(names, (one.sentences for one in read), strict=True))
            of_devs = [
                together([(treebank_of(path), one)])
                for path, one in zip(self.devs, of_devs, strict=True)
            ]
            if len({*names}) > 1:
                say(f"treebanks    {', '.join(dict.fromkeys(names))}: annotates like the first")
        if (files := in_files(sentences)) is not None:
            say(f"files        {files}")
        say(f"annotated    {layers_described(sentences)}")
        if not devs and holds_out and config.hold_out > 0:
            say(held_out(len(sentences), config.hold_out))
        return ReadCorpora(sentences, of_devs, skipped)

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
        return corpus


class ReadCorpora(NamedTuple):
    """The sentences of all corpora, those of each development corpus, and how many were skipped."""

    sentences: Sequence[Sentence]
    devs: list[Sequence[Sentence]]
    skipped: int

    @property
    def dev(self) -> Sequence[Sentence] | None:
        """The development corpus that decides when training stops."""
        return self.devs[0] if self.devs else None


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


_ENDING = ".history.jsonl"


def history_path(model: Path) -> Path:
    """The path of the history of a model."""
    return model.with_name(model.stem + _ENDING)


class History:
    """A listener that records passes. It is a context manager: call ``keep`` within the block once
    the model has been written.
    """

    def __init__(self, model: Path) -> None:
        self.path = history_path(model)
        self.part = self.path.with_name(self.path.name + ".part")
        self._file: TextIO | None = None
        self._open = ExitStack()
        self._recorded = False

    def __enter__(self) -> History:
        """Open the partial file.

        Raises:
            EgparseError: another process is training a model of this name.
            OSError: the folder of the model cannot be written to.
        """
        for other in self.part.parent.glob(f"*{_ENDING}.part"):
            remove_if_abandoned(other)
        with ExitStack() as opened:
            descriptor = open_regular(self.part, os.O_WRONLY | os.O_CREAT)
            opened.callback(os.close, descriptor)
            if not lock(descriptor):
                raise EgparseError(
                    f"{self.part}: expected one process that trains a model of this name, got "
                    "another one"
                )
            os.ftruncate(descriptor, 0)
            opened.enter_context(unfinished(self.part))
            raw = io.BufferedWriter(NamedFile(descriptor, str(self.part)))
            self._file = io.TextIOWrapper(raw, encoding="utf-8", newline="\n", line_buffering=True)
            self._open = opened.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is None:
            return
        with self._open:
            self._file.close()
            self._file = None
            if not self._recorded or kind is KeyboardInterrupt:
                self.part.unlink(missing_ok=True)

    def __call__(self, event: Iteration | Step) -> None:
        """Record a pass."""
        fields = event._asdict()
        if self._file is not None and "iteration" in fields:
            self._file.write(json.dumps(finite(fields), ensure_ascii=False) + "\n")
            self._recorded = True

    def keep(self) -> None:
        """Give the history its final name."""
        if self._file is not None:
            with self._open:
                self._file.close()
                self._file = None
                self.part.replace(self.path)


class Checkpoints(NamedTuple):
    """What the user asked for: ``minutes`` between checkpoints, if any, whether to ``resume``, and
    whether a checkpoint of an earlier run may be lost (``force``).
    """

    minutes: float | None = None
    resume: bool = False
    force: bool = False

    @property
    def wanted(self) -> bool:
        """Whether there are to be any."""
        return self.minutes is not None or self.resume

    def check(self, output: Path) -> bool:
        """Check, before anything is read, what is there of an earlier run; returns whether the
        model may be replaced, as the run that is resumed may have written it.

        Raises:
            EgparseError: a checkpoint of another run, none to resume, or a damaged one.
        """
        if not self.wanted:
            return False
        from egparse.fitting import journal

        folder = folder_of(output)
        there = journal.has_journal(folder)
        if self.minutes is None or (self.resume and there):
            return journal.may_replace_model(folder)
        journal.check_free(folder, force=self.force)
        return False

    def journal(
        self, output: Path, config: TrainConfig, facts: Mapping[str, Any]
    ) -> Journal | None:
        """The journal of the run, None if the user asked for none. ``facts`` say what it is made
        of beside its settings, by name.

        Raises:
            EgparseError: see ``check``; a checkpoint of a run with other facts or settings.
            ConfigError: a learner whose state cannot be saved.
        """
        if not self.wanted:
            return None
        from egparse import __version__
        from egparse.config.reading import config_of_model
        from egparse.fitting.choose_learner import check_savable
        from egparse.fitting.journal import Journal, has_journal

        check_savable(config)
        folder = folder_of(output)
        settings = {f"the setting {key}": value for key, value in _flat(config_of_model(config))}
        known = {"the version of egparse": __version__, **facts, **settings}
        if self.minutes is None or (self.resume and has_journal(folder)):
            return Journal.resumed(folder, known, self.minutes)
        return Journal.started(folder, known, self.minutes, force=self.force)


def folder_of(output: Path) -> Path:
    """The folder with the checkpoints of the run that makes a model."""
    return output.with_name(f"{output.stem}.checkpoint")


def facts_of_files(files: Mapping[str, Path | None]) -> dict[str, str]:
    """The SHA-256 digests of files, by what messages call them.

    Raises:
        EgparseError: one that can be read only once, such as a pipe.
    """
    from egparse.storage.model_file import digest_of

    facts = {}
    for name, path in files.items():
        if path is not None:
            if not path.is_file():
                raise EgparseError(
                    f"{path}: expected a regular file beside --checkpoint or --resume"
                )
            facts[name] = digest_of(path)
    return facts


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The settings by dotted name."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", json.loads(json.dumps(value, default=str))


_BYTES_OF_WORD = 1500
"""Of the arrays of a tagger or an arc-factored parser in training, roughly
(docs/decisions/larger-than-memory.md).
"""


@contextmanager
def limited_memory(limit: int | None, say: Say) -> Iterator[None]:
    """Within the block sentences and large arrays lie in temporary files, if there is a limit; says
    where, and at the end how much it was.

    Raises:
        EgparseError: the limit, or the room for the files, does not suffice.
    """
    if limit is None:
        yield
        return
    from egparse.storage.scratch import described, limited

    with limited(limit) as scratch:
        say(
            f"memory       at most {described(limit)} beside temporary files in {scratch.folder} "
            "(TMPDIR), of sentences and large arrays"
        )
        yield
        say(f"memory       {_used(scratch)}")


def size_of(memory: str | None) -> int | None:
    """The value of the option in bytes.

    Raises:
        EgparseError: no size, or too small a one.
    """
    if memory is None:
        return None
    from egparse.storage.scratch import require_enough, size_of

    return require_enough(size_of(memory))


def in_files(sentences: Sequence[Sentence]) -> str | None:
    """What of a training corpus lies in files and will, None where it is in memory."""
    from egparse.io.stored_sentences import StoredSentences

    if not isinstance(sentences, StoredSentences):
        return None
    from egparse.storage.scratch import described

    arrays = _BYTES_OF_WORD * sum(map(len, sentences))
    return (
        f"{described(sentences.nbytes)} of sentences; the arrays of a task will take about "
        f"{described(arrays)}"
    )


def _used(scratch: Scratch) -> str:
    from egparse.storage.scratch import described

    files = f"{described(scratch.most_in_files)} lay in temporary files at most"
    most = scratch.most_anonymous
    return f"{described(most)} at most beside files; {files}" if most else files


@contextmanager
def shards_of(engine: Engine, workers: int | None, address: str | None) -> Iterator[None]:
    """Inside, the shards of training are where the engine has them.

    Raises:
        EgparseError: no cluster, or too small a one.
    """
    if engine is Engine.LOCAL or workers is None:
        yield
        return
    from egparse.fitting.jobs import Jobs, working_with
    from egparse.learners.shards.cluster import connected

    with connected(workers, address):
        from egparse.learners.shards.on_cluster import Crew

        with Crew() as crew, working_with(Jobs(workers, crew, crew.gather)):
            yield
