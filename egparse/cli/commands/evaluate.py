"""``egparse evaluate``: scores of a model or of predictions in a file, and of two such systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from egparse.cli import completion, tables
from egparse.cli.files import Kind, check_output, require_file
from egparse.cli.notices import announce_compilation, warnings_shown
from egparse.cli.options import FROM_0, MODEL, CorpusFormat, model_and_input
from egparse.cli.scores import COMPARISON_LEGEND, comparison_table, report_text
from egparse.cli.validation import require_validator, rules_text
from egparse.errors import EgparseError, ModelFileError

if TYPE_CHECKING:
    from egparse.evaluation.report import Report
    from egparse.evaluation.significance import PairedDifference
    from egparse.pipeline.model import Model
    from egparse.sentences import Sentence


class Start(StrEnum):
    """What of the gold corpus a model is given."""

    WORDS = "words"
    TEXT = "text"


class _Options(NamedTuple):
    """The options that apply to every system."""

    start: Start
    gold_tags: bool
    exceptions: Path | None
    treebank: str | None
    valid_labels: bool
    enhanced: bool
    bootstrap: int
    seed: int
    details: bool
    format: str | None
    encoding: str


class _System(NamedTuple):
    """A system to score; ``path`` is a model, or a corpus that holds its predictions."""

    name: str
    path: Path
    is_model: bool

    def report(self, gold: list[Sentence], asked: _Options) -> Report:
        """The scores of the system."""
        shared: dict[str, Any] = {
            "bootstrap": asked.bootstrap,
            "seed": asked.seed,
            "details": asked.details,
            "from_text": asked.start is Start.TEXT,
            "enhanced": asked.enhanced,
        }
        if not self.is_model:
            from egparse.evaluation.report import evaluate

            if asked.start is Start.TEXT:
                from egparse.text.treebank_text import resampled_units

                shared["units"] = resampled_units(gold)
            return evaluate(gold, _sentences(self.path, asked), **shared)
        return self.model(asked).evaluate(gold, gold_tags=asked.gold_tags, **shared)

    def model(self, asked: _Options) -> Model:
        """The model that the system is, as the options want it."""
        announce_compilation()
        from egparse.pipeline.model import Model

        model = Model.load(self.path)
        if asked.exceptions is not None:
            model = model.with_exceptions(str(asked.exceptions))
        if asked.treebank is not None:
            model = model.in_treebank(asked.treebank)
        if asked.valid_labels:
            model = model.with_valid_labels()
        if asked.enhanced:
            model.require_enhanced()
        return model

    def broken_rules(self, gold: list[Sentence], asked: _Options) -> dict[str, int]:
        """The rules of Universal Dependencies that the predictions break, and how often."""
        from egparse.cli.validation import broken_rules

        if not self.is_model:
            return broken_rules(_sentences(self.path, asked))
        model = self.model(asked)
        if asked.start is Start.TEXT:
            from egparse.text.treebank_text import raw_text

            return broken_rules(model(raw_text(gold), enhanced=asked.enhanced))
        options: dict[str, Any] = {"gold_tags": asked.gold_tags, "enhanced": asked.enhanced}
        return broken_rules(list(model.annotate(gold, **options)))

    def described(self, asked: _Options) -> str:
        """The name of the system and, for a model, its input."""
        if not self.is_model:
            return self.name
        if asked.start is Start.TEXT:
            return f"{self.name}, from the text alone"
        return f"{self.name}, {'gold tags' if asked.gold_tags else 'from the words alone'}"

    def text(self, report: Report, asked: _Options) -> str:
        """All tables of the system."""
        given = self.is_model and asked.gold_tags
        return f"{self.described(asked)}\n\n{report_text(report, gold_tags=given)}"


def evaluate(
    model: Annotated[Path, MODEL],
    gold: Annotated[Path | None, typer.Argument(show_default=False)] = None,
    predicted: Path | None = None,
    against: Annotated[Path | None, typer.Option(autocompletion=completion.models)] = None,
    from_: Start = Start.WORDS,
    gold_tags: bool = False,
    exceptions: Path | None = None,
    treebank: str | None = None,
    valid_labels: bool = False,
    enhanced: bool = False,
    details: bool = False,
    validate: bool = False,
    bootstrap: Annotated[int, FROM_0] = 1000,
    seed: Annotated[int, FROM_0] = 0,
    format: CorpusFormat | None = None,
    encoding: str = "utf-8",
    json_: bool = False,
) -> None:
    """Score a model, or predictions in a file, against a gold corpus.

    A model predicts every layer from the words alone, and its parser uses predicted tags, unless
    --gold-tags is given. Scores are in per cent, with 95 % intervals by bootstrap over sentences.
    --against compares two systems on the same gold corpus.

    With --from text a model is given the raw text of GOLD. The words that it finds are aligned with
    those of GOLD as in the CoNLL 2018 shared task, and there are scores of tokens, sentences and
    words. Intervals are then by bootstrap over documents or paragraphs, if there are 30 of them.

    Arguments:
        MODEL: Path or name of a model; with --predicted there is only GOLD.
        GOLD: The gold corpus.

    Options:
        --predicted FILE: Score the predictions in this corpus instead.
        --against SYSTEM: Compare with a second system: a corpus of predictions, or the path or name
            of a model.
        --from WORDS|TEXT: What a model is given: the words of GOLD, or its text, in which it finds
            tokens, words and sentences itself.
        --enhanced: Add scores of the enhanced dependencies in DEPS, which a model has by the rules
            of 'egparse parse --enhanced'.
        --details: Add scores by relation, tag, arc length and sentence length and, for a model, by
            known and unknown form and the calibration of its probabilities.
        --validate: Count the rules of Universal Dependencies that the predictions break, up to
            level 3 of its validator (pip install 'egparse[validate]').
        --bootstrap N: Number of resamples for intervals and p values; 0: none.
        --seed N: Random seed of the resamples.

    Examples:
        egparse evaluate model.msgpack test.conllu
        egparse evaluate model.msgpack test.conllu --from text
        egparse evaluate model.msgpack test.conllu --gold-tags --details
        egparse evaluate model.msgpack test.conllu --enhanced
        egparse evaluate --predicted system.conllu test.conllu --json
        egparse evaluate model.msgpack test.conllu --against other.conllu

    Conventions:
        CoNLL 2018    all words; relations up to the colon; AllTags: UPOS, XPOS and
                      UFeats all correct; CLAS, MLAS, BLEX: content words; where words
                      differ, aligned: correct ones in per cent of the aligned ones
        IWPT 2021     F1 of edges in DEPS, in which a path through empty nodes is an edge;
                      ELAS: whole labels; EULAS: their universal relations
        conlleval     F1 of spans; type and both ends must be correct
        CoNLL-X 2006  all words but those of punctuation only; whole relations
        CoNLL 2007    all words; whole relations
        spaCy         F1 of words not labelled punct; whole relations, lower-cased

    Comparison (--against):
        {COMPARISON_LEGEND}
    """
    named, gold_path = model_and_input(model, gold)
    if named is None and predicted is None:
        raise typer.BadParameter(
            "missing; expected MODEL GOLD, or --predicted FILE GOLD", param_hint="'GOLD'"
        )
    if named and predicted:
        raise typer.BadParameter("expected no MODEL beside --predicted", param_hint="'MODEL'")
    # Models are looked up before a corpus is read: a wrong name fails at once.
    system = _System(str(predicted), predicted, False) if predicted else _model(model)
    other = None if against is None else _model_or_predictions(against)
    if from_ is Start.TEXT and (gold_tags or details):
        option = "--gold-tags" if gold_tags else "--details"
        raise EgparseError(f"{option}: expected --from words, got --from text")
    asked = _Options(
        from_,
        gold_tags,
        exceptions,
        treebank,
        valid_labels,
        enhanced,
        bootstrap,
        seed,
        details,
        format,
        encoding,
    )
    if validate:
        require_validator()
    _check_files(gold_path, [system, *([other] if other else [])])
    from egparse.evaluation.report import report_as_json
    from egparse.evaluation.significance import compare_reports, comparison_as_json

    with warnings_shown(quiet=json_):
        sentences = _sentences(gold_path, asked)
        report = system.report(sentences, asked)
        scored = [(system, report)]
        rules = system.broken_rules(sentences, asked) if validate else None
        differences = {}
        if other is not None:
            with _named(other):
                scored.append((other, other.report(sentences, asked)))
            differences = compare_reports(report, scored[1][1], resamples=bootstrap, seed=seed)
    if json_:
        found = report_as_json(report)
        if rules is not None:
            found["broken_rules"] = rules
        for second, its_report in scored[1:]:
            found["against"] = {"system": second.name, **report_as_json(its_report)}
            found["comparison"] = comparison_as_json(differences)
        print(tables.as_json(found))
    else:
        text = (
            system.text(report, asked) if other is None else _compared(scored, differences, asked)
        )
        if rules is not None:
            text += "\n" + rules_text(rules, report.system_words or report.words)
        print(f"{gold_path}: {tables.amount(report.sentences, report.words)}\n{text}")


def _check_files(gold: Path, systems: list[_System]) -> None:
    """Raise EgparseError if a corpus is missing, or standard output is one of the inputs."""
    require_file(gold, "a gold corpus")
    for system in systems:
        if not system.is_model:
            require_file(system.path, "a corpus of predictions")
    inputs = {"the gold corpus": gold, **{system.name: system.path for system in systems}}
    check_output(None, Kind.JSON, inputs)


def _compared(
    scored: Sequence[tuple[_System, Report]],
    differences: Mapping[str, PairedDifference],
    asked: _Options,
) -> str:
    """The table of differences; with --details all tables of both systems after it."""
    named = list(zip("AB", scored, strict=True))
    given = asked.gold_tags and any(system.is_model for system, _ in scored)
    parts = [f"{key}: {system.described(asked)}" for key, (system, _) in named]
    parts += ["", comparison_table(differences, gold_tags=given)]
    if asked.bootstrap:
        parts += ["", COMPARISON_LEGEND]
        parts += [f"resamples      {asked.bootstrap:,} of {scored[0][1].unit}s"]
    if asked.details:
        for key, (system, report) in named:
            parts += ["", f"{key}: {system.text(report, asked)}"]
    return "\n".join(parts)


def _model(path: Path) -> _System:
    from egparse.service.hub.resolve import find_model

    return _System(str(path), find_model(path), True)


def _model_or_predictions(path: Path) -> _System:
    """A model by its path or name, or a file of predictions, also if the file is missing."""
    from egparse.service.hub.model_paths import SUFFIX

    predictions = _System(str(path), path, False)
    if path.exists() and not path.is_dir():
        return _model(path) if path.suffix == SUFFIX or _is_model_file(path) else predictions
    try:
        return _model(path)
    except ModelFileError:
        if path.suffix in ("", SUFFIX):
            raise
        return predictions


def _is_model_file(path: Path) -> bool:
    from egparse.storage.model_file import MAGIC

    if not path.is_file():  # a pipe can be read only once
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


@contextmanager
def _named(system: _System) -> Iterator[None]:
    """Name the system that an error is about."""
    try:
        yield
    except EgparseError as error:
        text = str(error)
        raise EgparseError(
            text if text.startswith(system.name) else f"{system.name}: {text}"
        ) from None


def _sentences(path: Path, asked: _Options) -> list[Sentence]:
    """All sentences of a corpus; trees may have several roots or lack heads, as evaluation can
    score them.
    """
    from egparse.io.corpus import read_whole

    corpus = read_whole(path, asked.format, encoding=asked.encoding, multiple_roots=True)
    return list(corpus.sentences)
