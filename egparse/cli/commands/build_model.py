"""``egparse build-model``: a model made again from its recipe, with its scores and its card."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from egparse.cli import progress, tables
from egparse.cli.commands.classes import learn_table
from egparse.cli.files import Kind, check_folder, check_output, require_file
from egparse.cli.notices import INTERRUPTED, Say, announce_compilation, say, silence, warnings_shown
from egparse.cli.process import interruptible, uninterrupted
from egparse.cli.training import described, layers_described
from egparse.errors import EgparseError

if TYPE_CHECKING:
    from egparse.pipeline.model import Model
    from egparse.sentences import Sentence
    from egparse.service.hub.ingredients import Ingredients
    from egparse.service.hub.recipes import Recipe, Recipes
    from egparse.training.run import Trained

_ROUNDS = 3  # of annotating the test data, of which the fastest counts
_TIMES = {"cpu_seconds", "seconds"}  # what differs from one run to the next
_SHOWN = ("Words", "Sentences", "UPOS", "UFeats", "Lemmas", "UAS", "LAS")


def build_model(
    name: str,
    output: Path = Path("."),
    treebanks: Path | None = None,
    recipes: Path | None = None,
    force: bool = False,
    quiet: bool = False,
    json_: bool = False,
) -> None:
    """Make a model again from its recipe, with its scores and its card.

    The recipe names the files that a model learns from and is scored by, each with the commit and
    the SHA-256 of its source. They are looked for below --treebanks, also compressed; what is not
    there is downloaded. The same recipe makes the same model, byte by byte, on one machine.

    Beside the model NAME.msgpack stand its scores on the test data (NAME.json), its card (NAME.md)
    and a notice of licences and sources (NAME.LICENSE).

    Arguments:
        NAME: A model that the recipes have.

    Options:
        --output, -o DIRECTORY: Folder for the model and what belongs to it.
        --treebanks DIRECTORY: Folder with treebanks, in folders within it too.
        --recipes FILE: Recipes in TOML (default: those of the models that come with egparse).

    Examples:
        egparse build-model ga_idt
        egparse build-model de_gsd --treebanks ud-treebanks-v2.16 --output models
        egparse build-model mine --recipes recipes.toml --treebanks corpora
    """
    from egparse.service.hub.ingredients import files_for, ingredients_of
    from egparse.service.hub.recipes import read_recipes

    known = read_recipes(_recipes(recipes))
    recipe = _recipe(known, name)
    check_folder(output)
    model_path = output / f"{name}.msgpack"
    output.mkdir(parents=True, exist_ok=True)
    for path, kind in _outputs(model_path):
        check_output(path, kind, {}, force=force)
    if treebanks is not None:
        check_folder(treebanks)
    tell = silence if quiet else say
    files = files_for(known, name, treebanks)
    with warnings_shown(quiet), TemporaryDirectory() as folder:
        classes = [_table(known, one, files, Path(folder), tell) for one in recipe.classes]
        read = ingredients_of(recipe, files)
        tell(f"corpus       {described(read.train)}")
        tell(f"annotated    {layers_described(read.train)}")
        trained = _train(known, name, classes, read, quiet, tell)
    model = replace(trained.model, record=_without_times(trained.model.record))
    if trained.interrupted:
        raise SystemExit(INTERRUPTED)
    scores = _scores(known, model, read, trained, tell)
    with uninterrupted():
        _write(known, name, model, scores, model_path)
    found = {"model": str(model_path), **scores}
    print(tables.as_json(found) if json_ else _summary(model_path, scores))


def _recipes(path: Path | None) -> Path:
    from egparse.service.hub.model_paths import shipped
    from egparse.service.hub.recipes import NAME

    path = path or shipped() / NAME
    require_file(path, "recipes of models in TOML")
    return path


def _recipe(known: Recipes, name: str) -> Recipe:
    from egparse.service.hub.resolve import did_you_mean

    if name not in known.models:
        hint = did_you_mean(name, list(known.models)) or f": {', '.join(known.models)}"
        raise EgparseError(f"{name}: expected a model that the recipes have{hint}")
    return known.models[name]


def _outputs(model: Path) -> Iterator[tuple[Path, Kind]]:
    yield model, Kind.MODEL
    yield model.with_suffix(".json"), Kind.JSON
    yield model.with_suffix(".md"), Kind.MARKDOWN
    yield model.with_suffix(".LICENSE"), Kind.TEXT


def _table(known: Recipes, name: str, files: Mapping[str, Path], folder: Path, tell: Say) -> str:
    """The path of a table of word classes, which is learned if need be."""
    if name not in known.tables:
        return str(files[name])
    table, path = known.tables[name], folder / name
    texts = [files[text] for text in table.texts]
    learn_table(texts, path, table.language, table.classes, tell)
    return str(path)


def _train(
    known: Recipes, name: str, classes: Sequence[str], read: Ingredients, quiet: bool, tell: Say
) -> Trained:
    from egparse.config.reading import read_config
    from egparse.io.spacy_rules import NEUTRAL
    from egparse.text.rules import languages
    from egparse.training.run import train

    recipe = known.models[name]
    sources = [known.described(table) for table in recipe.classes]
    of_classes = {
        "tables": list(classes),
        "licences": [licence for _, licence in sources],
        "sources": [source for source, _ in sources],
    }
    language = recipe.language if recipe.language in languages() else NEUTRAL
    settings = {"language": language, **recipe.settings}
    config = read_config(settings | ({"classes": of_classes} if classes else {}), name)
    announce_compilation(tell)
    with interruptible(), progress.shown(quiet) as standings:
        return train(read.train, read.dev, config, standings)


def _without_times(record: Any) -> Any:
    """The record of a model without the times that its training took."""
    if isinstance(record, Mapping):
        return {key: _without_times(one) for key, one in record.items() if key not in _TIMES}
    return record


def _scores(
    known: Recipes, model: Model, read: Ingredients, trained: Trained, tell: Say
) -> dict[str, Any]:
    """The scores of a model on its test data, its speed and the time that its training took."""
    from egparse.evaluation.report import report_as_json

    found: dict[str, Any] = {}
    for number, (file, gold) in enumerate(read.tests.items()):
        tell(f"test         {file}: {described(gold)}")
        own = _in_treebank(model, file)
        from_text = report_as_json(own.evaluate(gold, from_text=True))
        if number:
            found.setdefault("further", {})[known.title(file)] = from_text
            continue
        found["test"] = f"{known.title(file)}, gold sentences and words"
        found["predicted"] = report_as_json(own.evaluate(gold))
        if {"upos", "heads"} <= set(model.layers):
            found["gold_tags"] = report_as_json(own.evaluate(gold, gold_tags=True))
        found["raw_text"] = from_text
        found["words_per_second"] = round(_speed(own, gold), -2)
    found["cpu_seconds"] = round(trained.model.record["cpu_seconds"])
    return found


def _in_treebank(model: Model, file: str) -> Model:
    from egparse.training.corpus import treebank_of

    name = treebank_of(Path(file))
    return model.in_treebank(name) if name in model.columns.treebanks else model


def _speed(model: Model, gold: Sequence[Sentence]) -> float:
    """Words a second of one core from raw text, by CPU time, when all has been loaded."""
    from egparse.text.treebank_text import raw_text

    text, seconds, words = raw_text(gold), [], 1
    for _ in range(_ROUNDS):
        begun = time.process_time()
        words = sum(map(len, model(text)))
        seconds.append(time.process_time() - begun)
    return words / min(seconds)


def _write(known: Recipes, name: str, model: Model, scores: Mapping[str, Any], path: Path) -> None:
    from egparse.service.hub.cards import card
    from egparse.service.hub.licences import notice
    from egparse.storage.files import write_atomically

    model.save(path)
    beside = path.with_suffix(".json")
    write_atomically(beside, tables.as_json(scores).encode() + b"\n")
    facts = known.facts(name, beside)
    write_atomically(path.with_suffix(".md"), card(path, facts).encode())
    write_atomically(path.with_suffix(".LICENSE"), notice(name, facts).encode())


def _summary(path: Path, scores: Mapping[str, Any]) -> str:
    from egparse.service.hub.cards import f1

    runs = {"from words alone": "predicted", "with gold tags": "gold_tags", "from text": "raw_text"}
    rows = [
        (shown, *(tables.per_cent(f1(scores[key], one)) for one in _SHOWN))
        for shown, key in runs.items()
        if key in scores
    ]
    rows += [
        (f"{name}, from text", *(tables.per_cent(f1(run, one)) for one in _SHOWN))
        for name, run in scores.get("further", {}).items()
    ]
    facts = [
        ("model", f"{path} ({tables.size(path.stat().st_size)})"),
        ("CPU time", tables.seconds(scores["cpu_seconds"])),
    ]
    if rows:
        facts.append(("speed", f"{scores['words_per_second']:,.0f} words/s from raw text"))
    table = [tables.table(("test data", *_SHOWN), rows, "l" + "r" * len(_SHOWN))] if rows else []
    return "\n\n".join([*table, tables.record(facts)])
