"""Facts about a model that its file does not hold, for its card and for packages: from a TOML file
beside it, or from its recipe (``egparse.service.hub.recipes``). In the TOML file all keys are
optional::

    description = "Tags, entities and trees of written English."
    licence = "CC BY-SA 4.0"
    author = "..."
    email = "..."
    address = "https://..."
    commit = "0123abc"
    speed = "30,000 words/s on one core of ..."
    intended_use = "..."
    limits = ["...", "..."]

    [[sources]]
    name = "UD English EWT"
    release = "2.16"
    licence = "CC BY-SA 4.0"
    address = "https://..."
    author = "..."

    [scores]
    test = "its test part"
    predicted = "en_ewt.json"
    gold_tags = "en_ewt-gold-tags.json"
    raw_text = "en_ewt-raw-text.json"

``predicted``, ``gold_tags`` and ``raw_text`` are files that ``egparse evaluate MODEL TEST --json``
wrote, without more options, with ``--gold-tags``, and with ``--from text``; paths are relative to
the folder of the TOML file.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from egparse.errors import ConfigError

Declared = TypeVar("Declared")


@dataclass(frozen=True, kw_only=True)
class DataSource:
    """A data set that a model was trained on, with the licence of the data."""

    name: str
    release: str = ""
    licence: str = ""
    address: str = ""
    author: str = ""


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores of a model on test data: what ``evaluate --json`` wrote, None where not tested.

    ``test`` names the test data; ``further`` has the scores from raw text of other test data by
    their names. Times are of one core: from raw text, and of training.
    """

    test: str = ""
    predicted: dict[str, Any] | None = None
    gold_tags: dict[str, Any] | None = None
    raw_text: dict[str, Any] | None = None
    further: dict[str, dict[str, Any]] = field(default_factory=dict)
    words_per_second: float | None = None
    cpu_seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class CardMetadata:
    """Facts about a model; empty where unknown. ``note`` is what its card begins with."""

    note: str = ""
    description: str = ""
    licence: str = ""
    author: str = ""
    email: str = ""
    address: str = ""
    commit: str = ""
    speed: str = ""
    intended_use: str = ""
    limits: tuple[str, ...] = ()
    sources: tuple[DataSource, ...] = ()
    scores: Scores = field(default_factory=Scores)


def load_metadata(path: Path) -> CardMetadata:
    """The facts in a TOML file, with the scores in the files that it names.

    Raises:
        ConfigError: an unreadable file, an unknown key, a value of the wrong type, or scores in
            another form than ``evaluate --json`` writes.
    """
    table = read_table(path, "facts of a model")
    return declared(CardMetadata, _with_scores(table, path.parent), path, DataSource, Scores)


def read_table(path: Path, content: str) -> dict[str, Any]:
    """The table of a TOML file with such ``content``.

    Raises:
        ConfigError: an unreadable file.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: expected {content} in TOML, got: {error}") from error


def declared(kind: type[Declared], table: Mapping[str, Any], path: Path, *parts: type) -> Declared:
    """What a dataclass declares, from a table of the file ``path``; ``parts`` are the dataclasses
    within it.

    Raises:
        ConfigError: an unknown key, or a value of the wrong type.
    """
    from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config  # costs 0.1 s

    for known in (*parts, kind):
        with_config(ConfigDict(extra="forbid"))(known)
    try:
        return TypeAdapter(kind).validate_python(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"{path}: {key}: {first['msg'].lower()}, got {first['input']!r}"
        ) from error


def _with_scores(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The table with the contents of score files in place of their paths."""
    scores = table.get("scores")
    if not isinstance(scores, Mapping):
        return dict(table)
    read = {
        key: read_scores(folder / value) if key != "test" and isinstance(value, str) else value
        for key, value in scores.items()
    }
    return {**table, "scores": read}


def read_scores(path: Path) -> dict[str, Any]:
    """Scores that ``evaluate --json`` wrote.

    Raises:
        ConfigError: an unreadable file, or other JSON.
    """
    found = read_json(path)
    if not {"counts", "intervals", "conventions"} <= set(found):
        raise ConfigError(f"{path}: expected what 'egparse evaluate --json' writes, got other JSON")
    return found


def read_json(path: Path) -> dict[str, Any]:
    """An object in JSON.

    Raises:
        ConfigError: an unreadable file, or no object.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: expected scores in JSON, got: {error}") from error
    if not isinstance(found, dict):
        raise ConfigError(f"{path}: expected scores in JSON, got {type(found).__name__}")
    return found
