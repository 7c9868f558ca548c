"""``egparse train``: from an annotated corpus to a model, its history and its development
scores.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from egparse.cli import corpora, progress, tables
from egparse.cli.engines import check_engine, shards_of
from egparse.cli.exit_codes import INTERRUPTED, complain, reported
from egparse.cli.files.arguments import ForceOption, check_output, require_file
from egparse.cli.files.checkpoints import (
    CheckpointOption,
    Checkpoints,
    ResumeOption,
    facts_of_files,
    folder_of,
)
from egparse.cli.files.kinds import Kind
from egparse.cli.files.memory import limited_memory, size_of
from egparse.cli.history import History, history_path
from egparse.cli.kernel_cache import announce_compilation
from egparse.cli.notices import Say, say, silence, warnings_shown
from egparse.cli.options import (
    ClassesOption,
    ConfigOption,
    CorpusArgument,
    DevOption,
    EncodingOption,
    Engine,
    EngineOption,
    FormatOption,
    JsonOption,
    MemoryOption,
    QuietOption,
    RayAddressOption,
    SkipBadOption,
    TrainingJobsOption,
    WorkersOption,
    examples,
)
from egparse.cli.task_progress import Standings
from egparse.cli.terminal import completion
from egparse.cli.terminal.signals import interruptible, uninterrupted
from egparse.cli.training_summary import Training, summary, training_as_json

if TYPE_CHECKING:
    from egparse.config.sections import TrainConfig
    from egparse.evaluation.report import Report
    from egparse.fitting.progress import Iteration, Listener, Step
    from egparse.pipeline.model import Model
    from egparse.training.continuation import Base
    from egparse.training.run import Trained

EPILOG = examples(
    "egparse train en_ewt-ud-train.conllu --dev en_ewt-ud-dev.conllu",
    "egparse train train.txt --format conll2000 --output chunker.msgpack",
    "egparse train corpus.conllu --set parser.c=5 --set upos.loss=max-margin",
    "egparse train corpus.conllu --learner perceptron",
    "egparse train corpus.conllu --learner hmm --set 'layers=[\"upos\"]'",
    'egparse train corpus.conllu --set \'layers=["upos", "heads"]\' --seed 7',
    "egparse train --base en_ewt mine.conllu --output mine.msgpack",
    "egparse train corpus.conllu --jobs 0",
    "egparse train corpus.conllu --engine ray --workers 16 --ray-address head:6379",
)


def train(
    corpus: Path,
    output: Path,
    config: TrainConfig,
    *,
    dev: Path | None = None,
    format: str | None = None,
    encoding: str = "utf-8",
    skip_bad: bool = False,
    base: Base | None = None,
    checkpoints: Checkpoints | None = None,
    say: Say = silence,
    listener: Listener | None = None,
) -> Training:
    """Read, train, write the model and its history, and evaluate on the development part.

    With a ``base`` training continues from it, and ``config`` is a result of
    ``egparse.training.continuation.configure``. With ``checkpoints`` the run can be continued after
    it was stopped. ``say`` gets lines about the input, ``listener`` the events of training.

    Raises:
        EgparseError, OSError: the input is faulty or the output cannot be written; raised before
            training (see also ``check_files``).
        KeyboardInterrupt: interrupted before anything has been trained.
    """
    begun = time.process_time()
    from egparse.fitting.jobs import present_jobs
    from egparse.training.checks import check_settings

    config = check_settings(config)
    read = corpora.read(corpus, "corpus", config, format, skip_bad, say, encoding)
    dev_read = (
        corpora.read(dev, "development", config, format, skip_bad, say, encoding) if dev else None
    )
    if dev_read is None and base is None and config.hold_out > 0:
        say(corpora.held_out(len(read.sentences), config.hold_out))
    config = corpora.with_language(config, read.sentences, say)
    if base is None:  # which keeps what it has for plain text
        corpora.say_what_tokens_are(config, read.sentences, say)
    announce_compilation(say)
    from egparse.training import run as training

    train_on: Callable[..., Trained] = training.train
    if base is not None:
        from egparse.training.continuation import (
            continue_training,
            layers_to_continue,
            share_held_out,
        )

        if dev_read is None and config.hold_out > 0:
            say(corpora.held_out(len(read.sentences), share_held_out(len(read.sentences), config)))
        layers = layers_to_continue(base.model, read.sentences, config)
        say(
            f"base         {base.name}: {', '.join(base.model.layers)}; training continues for "
            f"{', '.join(layers)}"
        )
        train_on = partial(continue_training, base)
    standings = Standings()
    with interruptible(), History(output) as history:
        listeners: list[Listener] = [standings, history, *([listener] if listener else [])]
        journal = None
        if checkpoints is not None and checkpoints.wanted:
            inputs = {"the corpus": corpus, "the development corpus": dev}
            inputs |= class_files(config.classes.tables)
            facts: dict[str, Any] = {
                **facts_of_files(inputs),
                "the base": None if base is None else base.checksum,
                "--format": format,
                "--encoding": encoding,
                "--skip-bad": skip_bad,
                "--jobs": config.jobs,
                "--engine": "ray" if present_jobs().connect else "threads",
            }
            journal = checkpoints.journal(output, config, facts)
            train_on = partial(train_on, journal=journal)
        try:
            dev_sentences = dev_read.sentences if dev_read else None
            trained = train_on(read.sentences, dev_sentences, config, _all_of(listeners))
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
    return Training(
        output=output,
        history=history.path,
        sentences=len(read.sentences),
        words=sum(map(len, read.sentences)),
        skipped=len(read.skipped) + (len(dev_read.skipped) if dev_read else 0),
        trained=trained,
        standings=standings,
        report=_report(trained.model, trained),
        cpu_seconds=time.process_time() - begun,
        base=base,
        base_report=None if base is None else _report(base.model, trained),
    )


def check_files(
    corpus: Path,
    output: Path,
    *,
    dev: Path | None,
    config: Path | None,
    force: bool,
    classes: Sequence[str] = (),
) -> None:
    """Check the files of a training before anything is read. A base is not among the inputs that
    must stay: it is read as a whole, and ``force`` may replace it like any other model.

    Raises:
        EgparseError: an input is missing, or the model or its history would replace one of the
            inputs or, unless ``force``, something else of value.
    """
    require_corpora(corpus, dev)
    if config is not None:
        require_file(config, "a configuration in TOML")
    inputs = {"the corpus": corpus, "the development corpus": dev, "the configuration": config}
    inputs |= class_files(classes)
    check_output(None, Kind.TEXT, inputs)
    check_output(output, Kind.MODEL, inputs, force=force)
    history = history_path(output)
    check_output(history, Kind.HISTORY, inputs, force=force)
    check_output(History(output).part, Kind.HISTORY, inputs, force=True)


def class_files(tables: Sequence[str]) -> dict[str, Path | None]:
    """The tables of word classes that are files, by what a message calls them."""
    files = [Path(table).expanduser() for table in tables]
    return {f"the table {path.name}": path for path in files if path.is_file()}


def require_corpora(corpus: Path, dev: Path | None) -> None:
    """Raise EgparseError unless the corpora are there."""
    require_file(corpus, "an annotated corpus")
    if dev is not None:
        require_file(dev, "a development corpus")


def _list_learners(wanted: bool) -> None:
    if not wanted:
        return
    from egparse.learners.registry import LEARNERS

    rows = [(name, entry.summary) for name, entry in LEARNERS.items()]
    print(tables.table(("learner", "what it is"), rows, "ll"))
    raise typer.Exit


def train_cli(
    corpus: CorpusArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="File for the model.")
    ] = Path("model.msgpack"),
    dev: DevOption = None,
    config: ConfigOption = None,
    classes: ClassesOption = None,
    override: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Change a setting, such as parser.c=5; 'egparse settings' lists them; may be "
            "repeated.",
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            "--learner",
            metavar="NAME",
            help="Learner of taggers, parser and labeller, where --set TASK.learner=NAME does not "
            "choose another; see --list-learners.",
            autocompletion=completion.learners,
        ),
    ] = None,
    list_learners: Annotated[
        bool,
        typer.Option(
            "--list-learners",
            callback=_list_learners,
            is_eager=True,
            help="List the learners and exit.",
        ),
    ] = False,
    format: FormatOption = None,
    encoding: EncodingOption = "utf-8",
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", metavar="N", help="Random seed; equal seeds give equal models on one machine."
        ),
    ] = None,
    jobs: TrainingJobsOption = None,
    engine: EngineOption = Engine.LOCAL,
    workers: WorkersOption = None,
    ray_address: RayAddressOption = None,
    language: Annotated[
        str | None,
        typer.Option(
            "--language",
            metavar="CODE",
            help="Code of the language, such as en or de, whose spaCy rules split plain text into "
            "words.",
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            "--base",
            metavar="MODEL",
            help="Continue from this model, a file or a name; the penalty is on the distance from "
            "its weights.",
            autocompletion=completion.models,
        ),
    ] = None,
    checkpoint: CheckpointOption = None,
    resume: ResumeOption = False,
    memory: MemoryOption = None,
    skip_bad: SkipBadOption = False,
    force: ForceOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a model on everything that a corpus annotates.

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

    With --checkpoint, a run that was killed, or ended by Ctrl-C, continues with the same command
    and --resume, and makes the same model as one that was not stopped.
    """
    with reported():
        check_engine(engine, workers, ray_address, jobs)
        limit = size_of(memory)
        checkpoints = Checkpoints(checkpoint, resume, force)
        replaces = force or checkpoints.check(output)
        check_files(corpus, output, dev=dev, config=config, force=replaces, classes=classes or ())
        from egparse.config.reading import load_table, put, read_config
        from egparse.config.sections import TASK_SECTIONS

        # --set overrides --learner
        learners = (
            [f"{section}.learner={json.dumps(learner)}" for section in TASK_SECTIONS]
            if learner is not None
            else []
        )
        table = load_table(config, [*learners, *(override or [])]) | _given(
            seed=seed, jobs=workers or _count_of(jobs), language=language
        )
        if classes:
            put(table, "classes.tables", classes)
        name = str(config) if config else "configuration"
        source = None
        if base is None:
            settings = read_config(table, name)
        else:
            from egparse.service.hub.resolve import find_model
            from egparse.storage.model_file import read_header

            read_header(find_model(base))  # refuses other files before numba is imported
            from egparse.api import load_base
            from egparse.training.continuation import configure

            source = load_base(base)
            settings = configure(source.model, table, name)
        with (
            shards_of(engine, workers, ray_address),
            warnings_shown(quiet),
            progress.shown(quiet) as listener,
            limited_memory(limit, silence if quiet else say),
        ):
            done = train(
                corpus,
                output,
                settings,
                dev=dev,
                format=format,
                encoding=encoding,
                skip_bad=skip_bad,
                base=source,
                checkpoints=checkpoints,
                say=silence if quiet else say,
                listener=listener,
            )
        if as_json:
            print(json.dumps(tables.finite(training_as_json(done)), ensure_ascii=False, indent=2))
        else:
            print(summary(done))
        if done.trained.interrupted:
            raise typer.Exit(INTERRUPTED)


def _report(model: Model, trained: Trained) -> Report | None:
    """The evaluation of a model on the development part, if there is one."""
    from egparse.evaluation.evaluate_model import evaluate_model

    return evaluate_model(model, trained.dev) if trained.dev else None


def _all_of(listeners: list[Listener]) -> Listener:
    def listen(event: Iteration | Step) -> None:
        for listener in listeners:
            listener(event)

    return listen


def _count_of(jobs: int | None) -> int | None:
    """The number of threads for ``--jobs``."""
    if jobs != 0:
        return jobs
    from egparse.cli.workers import all_cores

    return all_cores()


def _given(**options: Any) -> dict[str, Any]:
    """The options that the user gave."""
    return {name: value for name, value in options.items() if value is not None}
