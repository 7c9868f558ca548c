"""``egparse train``: from an annotated corpus to a model, its history and its scores."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from egparse.cli import completion, progress, tables
from egparse.cli.files import Kind, check_output
from egparse.cli.notices import (
    INTERRUPTED,
    Say,
    announce_compilation,
    complain,
    say,
    silence,
    warnings_shown,
)
from egparse.cli.options import FROM_0, FROM_1, CorpusFormat, Engine, check_engine
from egparse.cli.process import interruptible, uninterrupted
from egparse.cli.progress import FINAL_HEADINGS, Standings, scored_together, without_bound
from egparse.cli.scores import score_table
from egparse.cli.training import (
    Checkpoints,
    Corpora,
    History,
    described,
    downloaded,
    facts_of_files,
    folder_of,
    held_out,
    history_path,
    limited_memory,
    say_what_tokens_are,
    shards_of,
    size_of,
    with_language,
)
from egparse.layers import MORPHOLOGY

if TYPE_CHECKING:
    from egparse.config.sections import TrainConfig
    from egparse.evaluation.report import Report
    from egparse.fitting.progress import Iteration, Step
    from egparse.pipeline.model import Model
    from egparse.sentences import Sentence
    from egparse.training.continuation import Base
    from egparse.training.run import Trained


def _list_learners(wanted: bool) -> None:
    if not wanted:
        return
    from egparse.learners.registry import LEARNERS

    rows = [(name, entry.summary) for name, entry in LEARNERS.items()]
    print(tables.table(("learner", "what it is"), rows, "ll"))
    raise typer.Exit


def train(
    corpus: list[Path],
    output: Path = Path("model.msgpack"),
    dev: list[Path] | None = None,
    config: Path | None = None,
    classes: list[str] | None = None,
    set_: list[str] | None = None,
    learner: Annotated[str | None, typer.Option(autocompletion=completion.learners)] = None,
    list_learners: Annotated[bool, typer.Option(callback=_list_learners, is_eager=True)] = False,
    format: CorpusFormat | None = None,
    encoding: str = "utf-8",
    seed: int | None = None,
    jobs: Annotated[int | None, FROM_0] = None,
    engine: Engine = Engine.LOCAL,
    workers: Annotated[int | None, FROM_1] = None,
    ray_address: str | None = None,
    language: str | None = None,
    base: Annotated[str | None, typer.Option(autocompletion=completion.models)] = None,
    checkpoint: Annotated[float | None, typer.Option(min=0.0)] = None,
    resume: bool = False,
    memory: str | None = None,
    skip_bad: bool = False,
    force: bool = False,
    quiet: bool = False,
    json_: bool = False,
) -> None:
    """Train a model on everything that a corpus annotates, or several.

    The layers are UPOS, XPOS, FEATS, entities or chunks, heads, arc labels and, for running text,
    sentence boundaries. Training of a task stops when its duality gap is small or its development
    score no longer improves; the best pass is kept. A history with a record of each pass is written
    beside the model. Ctrl-C keeps the best model so far. An existing model is replaced only with
    --force, also where it is the --base.

    With --base, training continues from a model, on a few dozen sentences or more. Words, tags and
    labels may be new; settings are the base's unless changed; layers that the corpus does not
    annotate stay as they are. --set base_strength=N (default 10) sets the penalty on leaving the
    weights of the base.

    Words without a tag or a head (_) are summed out.

    Of several corpora the model learns what they have in common and, by the treebank (the name of
    the file up to -ud-train), where they are annotated differently. It annotates like the first;
    parse --treebank names another. The first --dev decides when training stops; all are scored.

    UD_German-GSD, and what else 'egparse models' lists of treebanks, is downloaded if it is not
    here; without --dev its own development part is taken.

    With --checkpoint, a run that was killed, or ended by Ctrl-C, continues with the same command
    and --resume, and makes the same model as one that was not stopped.

    Arguments:
        CORPUS: An annotated corpus or the name of a treebank, or several.

    Options:
        --output, -o FILE: File for the model.
        --dev FILE: Development corpus (default: a part of CORPUS is held out); may be repeated.
        --set KEY=VALUE: Change a setting, such as parser.c=5; 'egparse settings' lists them; may be
            repeated.
        --learner NAME: Learner of taggers, parser and labeller, where --set TASK.learner=NAME does
            not choose another; see --list-learners.
        --list-learners: List the learners and exit.
        --seed N: Random seed; equal seeds give equal models on one machine.
        --jobs, -j N: Train with N threads (0: one for each processor): the setting jobs. The model
            does not depend on N.
        --language CODE: Code of the language, such as en or de, whose spaCy rules split plain text
            into words.
        --base MODEL: Continue from this model, a file or a name; the penalty is on the distance
            from its weights.
        --checkpoint MINUTES: Write what --resume needs every so many minutes, into a folder beside
            the model (0: after every pass).
        --resume: Continue a run that wrote checkpoints and was stopped; the model will be the same.
            Without a checkpoint that is an error, or with --checkpoint a new run.
        --memory SIZE: Limit of memory, such as 2G: sentences and large arrays lie in temporary
            files (in TMPDIR); the result is the same.

    Examples:
        egparse train UD_German-GSD
        egparse train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu
        egparse train train.txt --format conll2000 --output chunker.msgpack
        egparse train corpus.conllu --set parser.c=5 --set upos.loss=max-margin
        egparse train corpus.conllu --learner perceptron
        egparse train corpus.conllu --set 'layers=["upos", "heads"]' --seed 7
        egparse train en_ewt-ud-train.conllu en_gum-ud-train.conllu --dev en_ewt-ud-dev.conllu
        egparse train --base en_ewt mine.conllu --output mine.msgpack
        egparse train corpus.conllu --jobs 0
        egparse train corpus.conllu --engine ray --workers 16 --ray-address head:6379
    """
    check_engine(engine, workers, ray_address, jobs)
    corpus, dev = downloaded(corpus, dev, silence if quiet else say)
    limit = size_of(memory)
    checkpoints = Checkpoints(checkpoint, resume, force)
    replaces = force or checkpoints.check(output)
    tables_of_classes = tuple(classes or ())
    read = Corpora(
        tuple(corpus), tuple(dev or ()), format, encoding, skip_bad, config, tables_of_classes
    )
    read.require()
    history = history_path(output)
    check_output(None, Kind.TEXT, read.inputs)
    check_output(output, Kind.MODEL, read.inputs, force=replaces)  # even that of --base
    check_output(history, Kind.HISTORY, read.inputs, force=replaces)
    check_output(History(output).part, Kind.HISTORY, read.inputs, force=True)
    given = {"seed": seed, "jobs": workers or _count_of(jobs), "language": language}
    table = read.table([*_learners(learner), *(set_ or [])])  # --set overrides --learner
    table |= {name: value for name, value in given.items() if value is not None}
    settings, source = _settings(table, read.name_of_settings, base)
    tell = silence if quiet else say
    with (
        shards_of(engine, workers, ray_address),
        warnings_shown(quiet),
        progress.shown(quiet) as standings,
        limited_memory(limit, tell),
    ):
        done = _train(read, output, settings, source, checkpoints, tell, standings)
    print(tables.as_json(_as_json(done)) if json_ else _summary(done))
    if done.trained.interrupted:
        raise typer.Exit(INTERRUPTED)


class _Training(NamedTuple):
    """The result of training: files, sizes of the corpus, the last pass of each task, and the
    development scores of the model and of its base.
    """

    output: Path
    history: Path
    sentences: int
    words: int
    skipped: int
    trained: Trained
    standings: Standings
    report: Report | None
    further: list[tuple[str, Sequence[Sentence], Report | None]]
    cpu_seconds: float
    base: Base | None = None
    base_report: Report | None = None


def _learners(name: str | None) -> list[str]:
    from egparse.config.sections import TASK_SECTIONS

    return [] if name is None else [f"{one}.learner={json.dumps(name)}" for one in TASK_SECTIONS]


def _settings(
    table: dict[str, Any], name: str, base: str | None
) -> tuple[TrainConfig, Base | None]:
    """The settings of a table, and the model to continue from."""
    from egparse.config.reading import read_config

    if base is None:
        return read_config(table, name), None
    from egparse.service.hub.resolve import find_model
    from egparse.storage.model_file import read_header

    read_header(find_model(base))  # refuses other files before numba is imported
    from egparse.api import load_base
    from egparse.training.continuation import configure

    source = load_base(base)
    return configure(source.model, table, name), source


def _train(
    read: Corpora,
    output: Path,
    config: TrainConfig,
    base: Base | None,
    checkpoints: Checkpoints,
    say: Say,
    standings: Standings,
) -> _Training:
    """Read, train, write the model and its history, and evaluate on the development part.

    Raises:
        EgparseError, OSError: the input is faulty or the output cannot be written; raised before
            training.
        KeyboardInterrupt: interrupted before anything has been trained.
    """
    begun = time.process_time()
    from egparse.training.checks import check_settings

    config = check_settings(config)
    corpora = read.read(config, say, holds_out=base is None)
    sentences = corpora.sentences
    config = with_language(config, sentences, say)
    if base is None:  # which keeps what it has for plain text
        say_what_tokens_are(config, sentences, say)
    announce_compilation(say)
    from egparse.training import run as training

    train_on: Callable[..., Trained] = training.train
    if base is not None:
        from egparse.training import continuation

        count = len(sentences)
        if corpora.dev is None and config.hold_out > 0:
            say(held_out(count, continuation.share_held_out(count, config)))
        layers = continuation.layers_to_continue(base.model, sentences, config)
        say(
            f"base         {base.name}: {', '.join(base.model.layers)}; training continues for "
            f"{', '.join(layers)}"
        )
        train_on = partial(continuation.continue_training, base)
    with interruptible(), History(output) as history:
        journal = None
        if checkpoints.wanted:
            facts = _facts(read, config, base)
            journal = checkpoints.journal(output, config, facts)
            train_on = partial(train_on, journal=journal)

        def listen(event: Iteration | Step) -> None:
            standings(event)
            history(event)

        try:
            trained = train_on(sentences, corpora.dev, config, listen)
        except KeyboardInterrupt:
            say("Nothing has been trained yet, so nothing is written.")
            raise
        with uninterrupted():
            if journal is not None:
                journal.announce_model()
            trained.model.save(output)
            history.keep()
            if trained.interrupted:  # before the evaluation, which may be interrupted too
                more = f"; --resume continues from {folder_of(output)}" if journal else ""
                complain(f"interrupted; the best model so far is in {output}{more}")
            elif journal is not None:
                journal.remove()
    return _Training(
        output=output,
        history=history.path,
        sentences=len(sentences),
        words=sum(map(len, sentences)),
        skipped=corpora.skipped,
        trained=trained,
        standings=standings,
        report=_report(trained.model, trained.dev),
        further=[
            (str(path), one, _report(trained.model, one))
            for path, one in zip(read.devs[1:], corpora.devs[1:], strict=True)
        ],
        cpu_seconds=time.process_time() - begun,
        base=base,
        base_report=None if base is None else _report(base.model, trained.dev),
    )


def _facts(read: Corpora, config: TrainConfig, base: Base | None) -> dict[str, Any]:
    """What a run that is resumed must have in common with the one that was stopped."""
    from egparse.fitting.jobs import present_jobs

    inputs = {name: path for name, path in read.inputs.items() if name != "the configuration"}
    return {
        **facts_of_files(inputs),
        "the base": None if base is None else base.checksum,
        "--format": read.format,
        "--encoding": read.encoding,
        "--skip-bad": read.skip_bad,
        "--jobs": config.jobs,
        "--engine": "ray" if present_jobs().connect else "threads",
    }


def _report(model: Model, dev: Sequence[Sentence]) -> Report | None:
    """The evaluation of a model on a development part, if there is one."""
    from egparse.evaluation.report import evaluate

    if not dev:
        return None
    model = _in_treebank_of(model, dev)
    return evaluate(dev, list(model.annotate(dev)), layers=set(model.layers))


def _in_treebank_of(model: Model, sentences: Sequence[Sentence]) -> Model:
    """The model as it annotates the treebank of some sentences, if it has learned from that."""
    name = sentences[0].treebank
    return model.in_treebank(name) if name in model.columns.treebanks else model


def _count_of(jobs: int | None) -> int | None:
    """The number of threads for ``--jobs``."""
    if jobs != 0:
        return jobs
    from egparse.cli.workers import all_cores

    return all_cores()


def _as_json(done: _Training) -> dict[str, Any]:
    from egparse.evaluation.report import report_as_json

    return {
        "model": str(done.output),
        "history": str(done.history),
        "interrupted": done.trained.interrupted,
        "sentences": done.sentences,
        "words": done.words,
        "skipped": done.skipped,
        "held_out": done.trained.held_out,
        "layers": list(done.trained.model.layers),
        "tasks": {standing.task: standing.as_json() for standing in done.standings.trained()},
        "cpu_seconds": round(done.cpu_seconds, 3),
        "development": None if done.report is None else report_as_json(done.report),
        "further": {
            path: report_as_json(report) for path, _, report in done.further if report is not None
        },
        "base": done.base
        and {
            "name": done.base.name,
            "payload_sha256": done.base.checksum,
            "development": None if done.base_report is None else report_as_json(done.base_report),
        },
    }


def _summary(done: _Training) -> str:
    """The final tables: tasks, development scores, files."""
    rows = [standing.final_row() for standing in done.standings.trained()]
    table = tables.table(FINAL_HEADINGS, rows, "l" + "r" * (len(FINAL_HEADINGS) - 1))
    settings = done.trained.model.config_table
    bounds = without_bound(
        {task: settings[task]["learner"] for task in done.standings.without_bound()}
    )
    components, is_joint = (done.trained.model.components, MORPHOLOGY in done.standings.tasks)
    together = scored_together(components[MORPHOLOGY].layers if is_joint else ())
    parts = [
        tables.section(
            "Training: the pass that is kept (objective in nats), CPU time of all",
            "\n".join([table, *filter(None, (together, bounds))]),
        )
    ]
    if done.report is not None:
        held = ", held out" if done.trained.held_out else ""
        title = f"Development part{held}, from the words alone: {described(done.trained.dev)}"
        parts.append(tables.section(title, score_table(done.report)))
    for path, dev, report in done.further:
        if report is not None:
            title = f"{path}, from the words alone: {described(dev)}"
            parts.append(tables.section(title, score_table(report)))
    if done.report is not None and done.base_report is not None:
        parts.append(
            tables.section("Before and after", _before_and_after(done.base_report, done.report))
        )
    files = [
        ("model", f"{done.output} ({tables.size(done.output.stat().st_size)})"),
        ("history", str(done.history)),
    ]
    return "\n".join(
        [*parts, "", tables.record([*files, ("CPU time", tables.seconds(done.cpu_seconds))])]
    )


def _before_and_after(before: Report, after: Report) -> str:
    """The scores of the base and of the model on the development part."""
    rows = []
    for name, score in _scores_by_name(after).items():
        was = _scores_by_name(before).get(name)
        change = tables.NOTHING if was is None else f"{score - was:+.2f}"
        rows.append((name, tables.per_cent(was), tables.per_cent(score), change))
    return tables.table(("score", "base", "now", "change"), rows, "lrrr")


def _scores_by_name(report: Report) -> dict[str, float]:
    scores = {name: metric.f1 for name, metric in report.metrics.items()}
    return scores if report.spans is None else scores | {"NE F1": report.spans.micro.f1}
