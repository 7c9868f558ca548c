"""``egparse inspect``: layers, labels, training record and strongest features of a model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from egparse.cli import tables
from egparse.cli.files import Kind, check_output, require_file
from egparse.cli.options import FROM_0, MODEL
from egparse.cli.progress import scored_together, without_bound
from egparse.errors import EgparseError
from egparse.layers import LAYERS

if TYPE_CHECKING:
    from egparse.pipeline.model import Model

_WIDTH = 78
_LABEL_LINES = 5
"""Lines shown of each label set; FEATS may have hundreds of labels."""


def inspect(
    model: Annotated[Path, MODEL],
    features: Annotated[int, FROM_0] = 10,
    layer: str | None = None,
    json_: bool = False,
    card: bool = False,
    facts: Path | None = None,
    exceptions: bool = False,
) -> None:
    """Show what a model contains and how it was trained.

    Options:
        --features N: Number of strongest features to show of each layer.
        --layer LAYER: Show only the features of this layer, such as upos or deprels.
        --card: Write a model card in Markdown, with the facts of --facts.
        --exceptions: Write the exceptions of the model in CoNLL-U, as a file to edit, and no more.

    Examples:
        egparse inspect model.msgpack
        egparse inspect model.msgpack --layer spans --features 30
        egparse inspect model.msgpack --json > model.json
        egparse inspect model.msgpack --card > model.md
        egparse inspect model.msgpack --exceptions > exceptions.conllu
    """
    if card and json_:
        raise typer.BadParameter("cannot be combined with --json", param_hint="'--card'")
    if facts is not None and not card:
        raise typer.BadParameter("expects --card", param_hint="'--facts'")
    if exceptions and (card or json_):
        other = "--card" if card else "--json"
        raise typer.BadParameter(f"cannot be combined with {other}", param_hint="'--exceptions'")
    if facts is not None:
        require_file(facts, "facts of a model in TOML")
    check_output(None, Kind.MARKDOWN, {"the model": model, "the facts": facts})
    if card:
        from egparse.service.hub import cards
        from egparse.service.hub.recipes import metadata_of
        from egparse.service.hub.resolve import find_model

        path = find_model(model)
        print(cards.card(path, metadata_of(path, facts)), end="")
        return
    found = contents_of(model, features=features, layer=layer)
    if exceptions:
        print("".join(f"{one['conllu']}\n\n" for one in found["exceptions"]), end="")
    else:
        print(tables.as_json(found) if json_ else "\n".join(_described(found)))


def contents_of(model: Path, *, features: int = 10, layer: str | None = None) -> dict[str, Any]:
    """The contents of a model, given by path or name, as plain data.

    ``features`` is the number of strongest features of each layer, or of ``layer`` alone.

    Raises:
        EgparseError: the model does not have the layer.
        ModelFileError: not a model, damaged, or of a newer format.
    """
    from egparse.service.hub.resolve import find_model
    from egparse.storage.header import read_model_header
    from egparse.storage.model_file import digest_of

    path = find_model(model)
    header = read_model_header(path)  # refuses other files before numba is imported
    from egparse.pipeline.model import Model

    loaded = Model.load(path)
    if layer is not None and layer not in loaded.layers:
        raise EgparseError(f"{path}: expected a layer of {', '.join(loaded.layers)}, got {layer!r}")
    layers = [layer] if layer else loaded.layers
    return {
        "path": str(path),
        "bytes": path.stat().st_size,
        "sha256": digest_of(path),
        **{key: header[key] for key in ("format", "version", "package_version", "payload_sha256")},
        "language": loaded.language,
        "layers": list(loaded.layers),
        "sizes": loaded.sizes(),
        "labels": {name: list(labels) for name, labels in header.get("labels", {}).items()},
        "fine_tags": _fine_tags(loaded),
        "exceptions": _exceptions(loaded),
        "record": dict(loaded.record),
        "configuration": dict(loaded.config_table),
        "features": {
            name: [
                dict(zip(("attribute", "label", "weight"), one, strict=True))
                for one in loaded.strongest(name, features)
            ]
            for name in layers
        },
    }


def _fine_tags(model: Model) -> dict[str, Any] | None:
    """The fine tags that stand in for XPOS, and the features of each UPOS; None without any."""
    fine_tags = model.columns.fine_tags
    if fine_tags is None:
        return None
    features = {upos: list(names) for upos, names in fine_tags.features.items()}
    return {"features": features, "tags": list(fine_tags.tags)}


def _exceptions(model: Model) -> list[dict[str, str]]:
    """The exceptions of a model: what each matches, and its lines in CoNLL-U."""
    if model.exceptions is None:
        return []
    lines = model.exceptions.to_payload()
    return [
        {"text": entry.text, "conllu": block}
        for entry, block in zip(model.exceptions.entries, lines, strict=True)
    ]


def _described(found: Mapping[str, Any]) -> Iterator[str]:
    written = f"written by egparse {found['package_version']}"
    yield tables.record(
        [
            ("model", f"{found['path']} ({tables.size(found['bytes'])})"),
            ("format", f"{found['format']} {found['version']}, {written}"),
            ("SHA-256", found["sha256"]),
            ("of its content", found["payload_sha256"]),
            ("language", found["language"]),
        ]
    )
    yield tables.section("Layers", _size_table(found["sizes"]))
    for name, labels in found["labels"].items():
        yield tables.section(f"Labels of {name} ({len(labels):,})", _wrapped(labels))
    fine_tags = found["fine_tags"]
    if fine_tags is not None:
        title = f"Fine tags in the place of XPOS ({len(fine_tags['tags']):,})"
        yield tables.section(title, _wrapped(fine_tags["tags"]))
    exceptions = [one["text"] for one in found["exceptions"]]
    if exceptions:
        title = f"Exceptions ({len(exceptions):,}; --exceptions shows all)"
        yield tables.section(title, _wrapped(exceptions))
    yield tables.section("Training", _training(found["record"], found["configuration"]))
    from egparse.service.hub.cards import changed_settings

    changed = [(name, _shown(value)) for name, value in changed_settings(found["configuration"])]
    settings = tables.record(changed) or "all settings have their defaults"
    yield tables.section("Settings that differ from the default", settings)
    for name, features in found["features"].items():
        if features:
            rows = [(one["attribute"], one["label"], f"{one['weight']:+.4f}") for one in features]
            table = tables.table(("attribute", "label", "weight"), rows, "llr")
            yield tables.section(f"Strongest features of {name}", table)


def _size_table(sizes: Mapping[str, Mapping[str, int]]) -> str:
    rows = [
        (
            layer,
            *(tables.count(size[key]) for key in ("labels", "attributes", "weights")),
            tables.size(size["bytes"]),
        )
        for layer, size in sizes.items()
    ]
    return tables.table(("layer", "labels", "attributes", "weights", "memory"), rows, "lrrrr")


def _training(record: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    facts = [
        (name.replace("_", " "), _shown(value))
        for name, value in record.items()
        if name not in ("tasks", "bases", "classes")
    ]
    facts += [("word classes", _of_classes(table)) for table in record.get("classes") or ()]
    facts += [
        ("base", f"{base['name']}, SHA-256 {base['payload_sha256']}")
        for base in record.get("bases", ())
    ]
    tasks = record.get("tasks", {})
    facts += [("trees", task["trees"]) for task in tasks.values() if "trees" in task]
    rows = [
        (
            layer,
            _shown(task.get("iteration")),
            *tables.nats(task["primal"], task["dual"]),
            tables.gap(task["relative_gap"]),
            tables.per_cent(task.get("score")),
            _shown(task.get("stopped", tables.NOTHING)).replace("development score", "score"),
        )
        for layer, task in tasks.items()
    ]
    headings = ("layer", "pass", "primal", "dual", "gap %", "dev", "stopped after")
    parts = [tables.record(facts)] if facts else []
    open_tasks = [layer for layer, task in tasks.items() if not math.isfinite(task["dual"])]
    bounds = without_bound({layer: _learner(layer, settings) for layer in open_tasks})
    table = [tables.table(headings, rows, "lrrrrrl")] if rows else []
    notes = [*_scores_together(tasks), *([bounds] if bounds else [])]
    return "\n\n".join([*parts, "\n".join([*table, *notes])])


def _scores_together(tasks: Mapping[str, Any]) -> Iterator[str]:
    """What the score of layers that are learned together means, and the score of each of them."""
    for task in tasks.values():
        scores = task.get("scores")
        if scores:
            each = ", ".join(f"{layer} {tables.per_cent(one)}" for layer, one in scores.items())
            yield scored_together(tuple(scores))
            yield f"dev of each: {each}"


def _of_classes(table: Mapping[str, Any]) -> str:
    """A table of word classes: its name, source, licence and size."""
    size = f"{table['forms']:,} forms in {table['classes']:,} classes"
    licence = table["licence"] or "licence not stated"
    return ", ".join(filter(None, [table["name"], table["source"], licence, size]))


def _learner(layer: str, settings: Mapping[str, Any]) -> str:
    """The learner of a layer, by the stored settings."""
    section = LAYERS[layer].section if layer in LAYERS else layer
    return str(settings.get(section, {}).get("learner", tables.NOTHING))


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) if len(value) <= 6 else f"{len(value)} values"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: tables.NOTHING}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)


def _wrapped(labels: Sequence[str]) -> str:
    """The first labels in a few lines of the width of a terminal, and the number of the others."""
    lines, line = [], ""
    for number, label in enumerate(labels):
        if len(line) + 1 + len(label) <= _WIDTH or not line:
            line = f"{line} {label}".lstrip()
            continue
        lines.append(line)
        if len(lines) == _LABEL_LINES:
            return "\n".join([*lines, f"... and {len(labels) - number:,} more (--json shows all)"])
        line = label
    return "\n".join([*lines, line])
