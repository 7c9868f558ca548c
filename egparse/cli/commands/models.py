"""``egparse models``: list installed models, and the models and treebanks to download."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from egparse.cli import options, tables
from egparse.cli.notices import reported
from egparse.cli.options import examples
from egparse.errors import EgparseError

EPILOG = examples("egparse models", "egparse models --json > models.json")


def models() -> dict[str, list[dict[str, Any]]]:
    """Installed models, in the order of look-up, and the catalogue of downloads, as plain data.

    Only the headers of model files are read. A name that occurs twice refers to the first model;
    the others are ``hidden``.
    """
    from egparse.service.hub.catalogue import entries
    from egparse.service.hub.fetch import folder_of, is_downloaded
    from egparse.service.hub.model_paths import stored_models

    installed: list[dict[str, Any]] = []
    for stored in stored_models():
        hidden = any(stored.name == other["name"] for other in installed)
        installed.append(
            {"name": stored.name, "path": str(stored.path), "place": stored.place, "hidden": hidden}
            | _described(stored.path)
        )
    available = [
        {
            **{
                key: getattr(entry, key)
                for key in ("name", "kind", "language", "licence", "release")
            },
            "downloaded": str(folder_of(entry)) if is_downloaded(entry) else None,
            "files": [file._asdict() for file in entry.files],
        }
        for entry in entries()
    ]
    return {"installed": installed, "available": available}


def models_cli(as_json: options.JsonOption = False) -> None:
    """List installed models, and what can be downloaded."""
    with reported():
        found = models()
        if as_json:
            print(tables.as_json(found))
        else:
            print("\n".join(_shown(found)))


def _described(path: Path) -> dict[str, Any]:
    """Facts from the header of a model file, or ``fault``: why it cannot be used."""
    from egparse.service.hub.cards import development_scores
    from egparse.storage.header import read_model_header
    from egparse.storage.model_file import digest_of

    try:
        header, digest, size = read_model_header(path), digest_of(path), path.stat().st_size
    except EgparseError as error:
        return {"fault": str(error)}
    record = header.get("record", {})
    scores = development_scores(record)
    return {
        "language": header.get("language"),
        "bytes": size,
        "sha256": digest,
        "layers": header.get("layers", []),
        "development_scores": {layer: scores.get(layer) for layer in header.get("layers", [])},
        "record": {name: value for name, value in record.items() if name != "tasks"},
    }


def _shown(found: Mapping[str, list[dict[str, Any]]]) -> Iterator[str]:
    usable = [one for one in found["installed"] if "fault" not in one]
    if usable:
        rows = [
            (
                one["name"],
                one["language"],
                tables.size(one["bytes"]),
                one["sha256"][:12],
                _where(one),
            )
            for one in usable
        ]
        yield "Installed\n" + tables.table(
            ("name", "language", "size", "SHA-256", "file"), rows, "llrll"
        )
        yield tables.section("Layers, with their scores on development data", _scores(usable))
    else:
        yield "Installed: no models. Give models that 'egparse train' wrote by their paths."
    if faulty := [one["fault"] for one in found["installed"] if "fault" in one]:
        yield tables.section("Cannot be used", "\n".join(faulty))
    yield tables.section("Available with 'egparse download NAME'", _offers(found["available"]))
    if not any(one["kind"] == "model" for one in found["available"]):
        yield "\nNo models are published for download yet."


def _where(one: Mapping[str, Any]) -> str:
    return f"{one['path']} (hidden by the one above)" if one["hidden"] else str(one["path"])


def _scores(installed: Sequence[Mapping[str, Any]]) -> str:
    layers = list(dict.fromkeys(layer for one in installed for layer in one["layers"]))
    rows = [
        (one["name"], *(_score(one["development_scores"], layer) for layer in layers))
        for one in installed
    ]
    return tables.table(("name", *layers), rows, "l" + "r" * len(layers))


def _score(scores: Mapping[str, float | None], layer: str) -> str:
    if layer not in scores:
        return tables.NOTHING
    return "yes" if scores[layer] is None else tables.per_cent(scores[layer])


def _offers(available: Sequence[Mapping[str, Any]]) -> str:
    columns = ("name", "kind", "language", "release", "licence")
    rows = [
        (*(one[column] for column in columns), "yes" if one["downloaded"] else tables.NOTHING)
        for one in available
    ]
    return tables.table((*columns, "downloaded"), rows, "llllll")
