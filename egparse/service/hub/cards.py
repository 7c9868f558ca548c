"""Model cards in Markdown: what a model is, its training data, its scores and its intended use.

The header of the model file is written down, and facts that it does not hold
(``egparse.service.hub.facts``); nothing is measured here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from egparse.config.fields import toml_value
from egparse.layers import EXPANDER, LAYERS, SPLITTER, TOKENISER, joined_titles
from egparse.service.hub.facts import CardMetadata

LAYER_NAMES = {
    TOKENISER: "tokens",
    SPLITTER: "sentence starts",
    EXPANDER: "multiword tokens",
    **{name: layer.title for name, layer in LAYERS.items()},
}
"""The tasks of plain text and the layers -> their names in running text."""

_WORDS = ("UPOS", "XPOS", "UFeats", "AllTags", "Lemmas", "UAS", "LAS", "CLAS", "MLAS", "BLEX")
_METRICS = dict(zip(_WORDS, _WORDS, strict=True)) | {"NE": "entities, F1"}
_SEGMENTS = {"Sentences": "sentences, F1", "Tokens": "tokens, F1", "Words": "words, F1"}

_GIVEN = ("UPOS", "XPOS", "UFeats", "AllTags")
"""The metrics of layers that are not predicted where gold tags are given."""

_CONVENTIONS = {
    "conllx06": "CoNLL-X 2006: without punctuation, whole labels",
    "conll07": "CoNLL 2007: all words, whole labels",
    "spacy": "spaCy: without the label `punct`, whole labels",
}
"""The conventions other than that of CoNLL 2018, which the metrics follow."""

_LIMITS = (
    "Other kinds of text than that of the training data are annotated less well; by how much was "
    "not measured.",
    "Errors in the training data, and what its authors chose to annotate in which way, are learned "
    "with the rest.",
)
_LIMIT_OF_ENTITIES = (
    "Entities that name people are found by their form and context alone: not fit to decide "
    "anything about a person."
)
_OWN_DATA = "its training data"
_UNTESTED = "No test scores were given for this card."
_UNKNOWN = "not stated"
_SHOWN_ITEMS = 6


def card(path: Path, facts: CardMetadata, name: str | None = None) -> str:
    """The card of a model file, titled ``name`` or else the name of the file; ends with a newline.

    Raises:
        ModelFileError: not a model, damaged, or of a newer format.
    """
    from egparse.storage.header import read_model_header

    header = read_model_header(path)
    like = _listed(source.name for source in facts.sources) if facts.sources else _OWN_DATA
    use = (
        f"To annotate text in the language `{header['language']}` that is like {like}: on the "
        "command line (`egparse parse`), in Python and in spaCy."
    )
    limits = [*_LIMITS, *[_LIMIT_OF_ENTITIES] * ("spans" in header["layers"])]
    limits += [_UNTESTED] * (not facts.scores.predicted)
    sections = [
        f"# {name or path.stem}",
        " ".join(filter(None, (facts.note, facts.description or description_of(header)))),
        _table(("", ""), _overview(path, header, facts)),
        _section("Data", _data(header["record"], facts)),
        _section("Training", _training(header)),
        _section("Scores", _scores(facts)),
        _section("Speed", [facts.speed] if facts.speed else []),
        _section("Intended use", [facts.intended_use or use]),
        _section("Limits", ["\n".join(f"* {limit}" for limit in facts.limits or limits)]),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def layers_of(header: Mapping[str, Any]) -> tuple[str, ...]:
    """The layers that a header lists, after tokeniser, splitter and expander if the
    model has them.
    """
    tasks = header["record"].get("tasks", {})
    return (*(name for name in (TOKENISER, SPLITTER, EXPANDER) if name in tasks), *header["layers"])


def development_scores(record: Mapping[str, Any]) -> dict[str, float | None]:
    """The score of each layer, and of the splitter, on development data, by the record of a model;
    of layers that are learned together each alone.
    """
    found: dict[str, float | None] = {}
    for layer, task in record.get("tasks", {}).items():
        found |= task.get("scores") or {layer: task.get("score")}
    return found


def changed_settings(configuration: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The settings that differ from their defaults, by the full names that ``--set`` takes; the
    language, which differs always, is a fact of the model.
    """
    from dataclasses import asdict

    from egparse.config.reading import defaults_for
    from egparse.config.removed import without_removed

    configuration = without_removed(configuration)
    order = configuration.get("parser", {}).get("order", 2)
    config = defaults_for(order)
    defaults = dict(_flat(asdict(config)))
    return [
        (name, value)
        for name, value in _flat(configuration)
        if name != "language" and defaults.get(name) != value
    ]


def _flat(configuration: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in configuration.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, list(value) if isinstance(value, tuple) else value


def description_of(header: Mapping[str, Any]) -> str:
    """One sentence about a model, from its header: its language and its layers."""
    named = _listed(LAYER_NAMES.get(layer, layer) for layer in layers_of(header))
    return f"A model of egparse for the language `{header['language']}`: {named}."


def _overview(
    path: Path, header: Mapping[str, Any], facts: CardMetadata
) -> Iterator[tuple[str, str]]:
    from egparse.storage.model_file import digest_of

    layers = [LAYER_NAMES.get(layer, layer) for layer in layers_of(header)]
    commit = f", commit {facts.commit}" if facts.commit else ""
    yield "Language", f"`{header['language']}`"
    yield "Layers", ", ".join(layers)
    yield "Licence", facts.licence or _UNKNOWN
    if facts.author or facts.address:
        yield "Author", _link(facts.author or facts.address, facts.address)
    yield "Size", f"{path.stat().st_size / 1e6:.1f} MB"
    yield "SHA-256", f"`{digest_of(path)}`"
    yield "SHA-256 of the content, as `egparse inspect` shows it", f"`{header['payload_sha256']}`"
    yield "Trained with", f"egparse {header['package_version']}{commit}"
    yield "Read by", f"egparse {header['needs_egparse']} or later"
    yield "Seed", str(header["record"].get("seed", _UNKNOWN))


def _data(record: Mapping[str, Any], facts: CardMetadata) -> Iterator[str]:
    if facts.sources:
        rows = [
            (_link(source.name, source.address), source.release, source.licence, source.author)
            for source in facts.sources
        ]
        yield _table(("source", "release", "licence", "authors"), rows)
    parts = [("training", record.get("sentences"), record.get("words"))]
    if "development_sentences" in record:
        parts.append(("development", record["development_sentences"], None))
    tested = facts.scores.predicted or facts.scores.gold_tags
    if tested is not None:
        counts = tested["counts"]
        parts.append(("test", counts["sentences"], counts["words"]))
    yield _table(("part", "sentences", "words"), parts, "lrr")
    if tables := record.get("classes"):
        of_tables = [
            (one["name"], one["source"], one["licence"] or _UNKNOWN, one["forms"], one["classes"])
            for one in tables
        ]
        yield "Word classes, of which the model holds what it needs:"
        yield _table(("table", "source", "licence", "forms", "classes"), of_tables, "lllrr")
    for base in record.get("bases", ()):
        yield (
            f"Training continued from {base['name']} (SHA-256 of its content "
            f"`{base['payload_sha256']}`)."
        )


def _training(header: Mapping[str, Any]) -> Iterator[str]:
    record, configuration = header["record"], header["config"]
    labels = header.get("labels", {})
    rows: list[tuple[object, ...]] = []
    for layer, task in record.get("tasks", {}).items():
        scores = task.get("scores") or {}
        numbers = {layer: len(known) for layer, known in labels.items()}
        title = joined_titles(scores) if scores else LAYER_NAMES.get(layer, layer)
        count = task.get("combinations", numbers.get(layer))
        rows.append((title, count, task.get("iteration"), task.get("score")))
        rows += [(LAYER_NAMES[one], numbers.get(one), None, score) for one, score in scores.items()]
    if rows:
        words = "tags and lemmas" if "lemmas" in record["tasks"] else "tags"
        together = any(task.get("scores") for task in record["tasks"].values())
        share = "of tags learned together the share of words with all of them right, " * together
        yield _table(("layer", "labels", "passes", "score on development data"), rows, "lrrr")
        yield (
            f"Scores are per cent: of {words} accuracy, {share}of tokens, sentence starts and "
            "entities F1, of heads UAS, of labels LAS."
        )
    if "heads" in header["layers"]:
        yield f"Parser: {_parser(configuration, record)}."
    if "cpu_seconds" in record:
        yield f"CPU time: {record['cpu_seconds']:,.0f} s."
    written = "the egparse that wrote this card"
    if changed := changed_settings(configuration):
        lines = "\n".join(f"{name} = {_setting(value)}" for name, value in changed)
        yield f"Configuration, where it is not the default of {written}:\n\n```toml\n{lines}\n```"
    else:
        yield f"Configuration: all as by default in {written}."
    yield "All of it is in the model file; `egparse inspect MODEL --json` shows it."


def _parser(configuration: Mapping[str, Any], record: Mapping[str, Any]) -> str:
    orders = {1: "arc-factored", 2: "second-order"}
    order = orders.get(configuration.get("parser", {}).get("order"))
    trees = record.get("tasks", {}).get("heads", {}).get("trees")
    return ", ".join(filter(None, (order, trees and f"{trees} trees"))) or _UNKNOWN


def _scores(facts: CardMetadata) -> Iterator[str]:
    tested = facts.scores
    columns = {
        "from words alone": tested.predicted,
        "with gold tags": tested.gold_tags,
        "from raw text": tested.raw_text,
    }
    runs = {heading: run for heading, run in columns.items() if run is not None}
    if not runs:
        return
    where = f" on {tested.test}" if tested.test else ""
    yield (
        f"Per cent{where}, words given unless raw text is; in brackets 95 % intervals by bootstrap "
        "over sentences (from raw text over documents or paragraphs, if there are enough). The "
        "metrics are those of CoNLL 2018."
    )
    align = "l" + "r" * len(runs)

    def cell(run: Mapping[str, Any], metric: str) -> str:
        return "given" if run is tested.gold_tags and metric in _GIVEN else _interval(run, metric)

    rows: list[tuple[object, ...]] = [
        (name, *(cell(run, key) for run in runs.values())) for key, name in _METRICS.items()
    ]
    rows += [
        (name, *((run.get("segmentation") or {}).get(key) for run in runs.values()))
        for key, name in _SEGMENTS.items()
    ]
    yield _table(
        ("metric", *runs), [row for row in rows if set(row[1:]) - {"", None, "given"}], align
    )
    others = [
        (shown, *(_attachment(run, name) for run in runs.values()))
        for name, shown in _CONVENTIONS.items()
    ]
    if any(any(row[1:]) for row in others):
        yield "UAS and LAS as others count:"
        yield _table(("convention", *runs), others, align)
    if tested.further:
        names = [*_SEGMENTS, *_METRICS]
        yield "From raw text of other test data, F1:"
        rows = [(name, *(f1(run, one) for one in names)) for name, run in tested.further.items()]
        yield _table(("test data", *names), rows, "l" + "r" * len(names))


def _interval(run: Mapping[str, Any], metric: str) -> str:
    value = run.get(metric)
    if isinstance(value, Mapping):
        value = value["f"]
    if value is None:
        return ""
    low_high = run["intervals"].get(metric)
    return f"{value:.2f} [{low_high[0]:.2f}, {low_high[1]:.2f}]" if low_high else f"{value:.2f}"


def f1(run: Mapping[str, Any], metric: str) -> float | None:
    """The F1 of a metric, or its accuracy where words were given."""
    value = (run.get("segmentation") or {}).get(metric, run.get(metric))
    return value["f"] if isinstance(value, Mapping) else value


def _attachment(run: Mapping[str, Any], convention: str) -> str:
    scores = run["conventions"].get(convention)
    if not scores:
        return ""
    labelled = "" if scores["LAS"] is None else f" / {scores['LAS']:.2f}"
    return f"{scores['UAS']:.2f}{labelled}"


def _section(title: str, parts: Iterable[str]) -> str:
    body = "\n\n".join(parts)
    return f"## {title}\n\n{body}" if body else ""


def _table(headings: Sequence[str], rows: Iterable[Sequence[object]], align: str = "") -> str:
    """A table in Markdown; columns that are empty in all rows are left out. Scores have two
    decimals, and None is an empty cell.
    """
    lines = [tuple(_cell(cell) for cell in row) for row in rows]
    kept = [column for column in range(len(headings)) if any(line[column] for line in lines)]
    rule = [
        "---:" if align[column : column + 1] == "r" else "---" for column in range(len(headings))
    ]
    return "\n".join(
        "| " + " | ".join(line[column] for column in kept) + " |"
        for line in (headings, rule, *lines)
    )


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else " ".join(str(value).replace("|", "\\|").split())


def _link(text: str, address: str) -> str:
    return f"[{text}]({address})" if address else text


def _listed(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _setting(value: Any) -> str:
    """A setting in TOML; long lists are cut."""
    if value is None:
        return '"none"'
    if isinstance(value, list) and len(value) > _SHOWN_ITEMS:
        return f"{toml_value(value[:_SHOWN_ITEMS])[:-1]}, ...]  # {len(value)} values"
    return toml_value(value)
