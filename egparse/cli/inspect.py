"""``egparse inspect``: what is in a model, how it was trained, and what weighs most in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from egparse.cli import tables
from egparse.cli.faults import reported
from egparse.cli.options import JsonOption, ModelArgument, examples
from egparse.errors import EgparseError

EPILOG = examples(
    "egparse inspect model.msgpack",
    "egparse inspect model.msgpack --layer spans --features 30",
    "egparse inspect model.msgpack --json | python -m json.tool",
)

_WIDTH = 78


def inspect(path: Path, *, features: int = 10, layer: str | None = None) -> dict[str, Any]:
    """What a model file holds, as plain data; ``features`` strongest weights of each layer, or of one.

    Raises EgparseError for a layer that the model does not have.
    """
    from egparse.serialize import read_header
    from egparse.tasks.pipeline import Model

    model, header = Model.load(path), read_header(path)
    if layer is not None and layer not in model.layers:
        raise EgparseError(f"{path}: expected a layer of {', '.join(model.layers)}, got {layer!r}")
    layers = [layer] if layer else model.layers
    return {
        "path": str(path),
        "bytes": path.stat().st_size,
        **{key: header[key] for key in ("format", "version", "package_version", "payload_sha256")},
        "language": model.language,
        "layers": list(model.layers),
        "sizes": model.sizes(),
        "labels": {name: list(labels) for name, labels in header.get("labels", {}).items()},
        "record": dict(model.record),
        "configuration": dict(model.config_table),
        "features": {name: _strongest(model.strongest(name, features)) for name in layers},
    }


def inspect_cli(
    model: ModelArgument,
    features: Annotated[
        int,
        typer.Option(
            "--features", metavar="N", min=0, help="How many of each layer's strongest features to show."
        ),
    ] = 10,
    layer: Annotated[
        str | None,
        typer.Option(
            "--layer", metavar="LAYER", help="Only the features of this layer, such as upos or deprels."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is in a model, and how it was trained."""
    with reported():
        found = inspect(model, features=features, layer=layer)
        if as_json:
            print(json.dumps(tables.finite(found), ensure_ascii=False, indent=2))
        else:
            print("\n".join(_described(found)))


def _strongest(features: Sequence[tuple[str, str, float]]) -> list[dict[str, Any]]:
    return [
        {"attribute": attribute, "label": label, "weight": weight} for attribute, label, weight in features
    ]


def _described(found: Mapping[str, Any]) -> Iterator[str]:
    yield tables.record(
        [
            ("model", f"{found['path']} ({tables.size(found['bytes'])})"),
            (
                "format",
                f"{found['format']} {found['version']}, written by egparse {found['package_version']}",
            ),
            ("payload", f"SHA-256 {found['payload_sha256']}"),
            ("language", found["language"]),
        ]
    )
    yield tables.section("Layers", _size_table(found["sizes"]))
    for name, labels in found["labels"].items():
        yield tables.section(f"Labels of {name} ({len(labels):,})", _wrapped(labels))
    yield tables.section("Training", _training(found["record"]))
    yield tables.section("Configuration", tables.record(_flat(found["configuration"])))
    for name, features in found["features"].items():
        if features:
            yield tables.section(f"Strongest features of {name}", _feature_table(features))


def _size_table(sizes: Mapping[str, Mapping[str, int]]) -> str:
    rows = [
        (
            layer,
            *(tables.count(own[key]) for key in ("labels", "attributes", "weights")),
            tables.size(own["bytes"]),
        )
        for layer, own in sizes.items()
    ]
    return tables.table(("layer", "labels", "attributes", "weights", "memory"), rows, "lrrrr")


def _training(record: Mapping[str, Any]) -> str:
    facts = [(name.replace("_", " "), _shown(value)) for name, value in record.items() if name != "tasks"]
    rows = [
        (
            layer,
            _shown(task.get("iteration")),
            tables.nats(task["primal"]),
            tables.nats(task["dual"]),
            tables.gap(task["relative_gap"]),
            tables.per_cent(task.get("score")),
            _shown(task.get("stopped", tables.NOTHING)),
        )
        for layer, task in record.get("tasks", {}).items()
    ]
    headings = ("layer", "pass", "primal", "dual", "gap %", "dev", "stopped after")
    parts = [tables.record(facts)] if facts else []
    return "\n\n".join([*parts, *([tables.table(headings, rows, "lrrrrrl")] if rows else [])])


def _feature_table(features: Sequence[Mapping[str, Any]]) -> str:
    rows = [(one["attribute"], one["label"], f"{one['weight']:+.4f}") for one in features]
    return tables.table(("attribute", "label", "weight"), rows, "llr")


def _flat(configuration: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Settings by their names in full, as ``--set`` takes them."""
    for name, value in configuration.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) if len(value) <= 6 else f"{len(value)} values"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: tables.NOTHING}[value]
    return f"{value:,}" if isinstance(value, int) else str(value)


def _wrapped(labels: Sequence[str]) -> str:
    """Labels in lines of a width that a terminal has."""
    import textwrap

    shown = [label for label in labels if label]
    return textwrap.fill(" ".join(shown), _WIDTH, break_long_words=False, break_on_hyphens=False)
