"""What a model file does not say of itself, and its card and package should: a small TOML file
beside it.

All keys may be left out::

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

``predicted`` and ``gold_tags`` are files that ``egparse evaluate MODEL TEST --json`` wrote, without
and with ``--gold-tags``; paths are relative to the folder of the TOML file.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from egparse.errors import ConfigError

SUFFIX = ".toml"


@dataclass(frozen=True, kw_only=True)
class Source:
    """Something that a model was trained on; ``licence`` is its own."""

    name: str
    release: str = ""
    licence: str = ""
    address: str = ""
    author: str = ""


@dataclass(frozen=True, kw_only=True)
class Scores:
    """What a model was tested on, and what came of it: objects that ``evaluate --json`` wrote, or
    None.
    """

    test: str = ""
    predicted: dict[str, Any] | None = None
    gold_tags: dict[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What is known of a model beside its file; an empty text is for nothing known."""

    description: str = ""
    licence: str = ""
    author: str = ""
    email: str = ""
    address: str = ""
    commit: str = ""
    speed: str = ""
    intended_use: str = ""
    limits: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    scores: Scores = field(default_factory=Scores)


def facts_of(model: Path, path: Path | None = None) -> Facts:
    """The facts of a file, by default that beside the model file with its name and ``.toml``;
    nothing if there is none.

    Raises:
        ConfigError: an unreadable file, an unknown key, a value of the wrong type, scores that
            ``evaluate`` has not written.
    """
    if path is not None:
        return load_facts(path)
    beside = model.with_suffix(SUFFIX)
    return load_facts(beside) if beside.is_file() else Facts()


def load_facts(path: Path) -> Facts:
    """The facts of a TOML file, with the scores that it names.

    Raises:
        ConfigError: as ``facts_of`` says.
    """
    from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config  # costs 0.1 s

    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: expected facts of a model in TOML, got: {error}") from error
    for known in (Source, Scores, Facts):
        with_config(ConfigDict(extra="forbid"))(known)
    try:
        return TypeAdapter(Facts).validate_python(_with_scores(table, path.parent))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"{path}: {key}: {first['msg'].lower()}, got {first['input']!r}"
        ) from error


def _with_scores(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The same table with what is in the files of scores in place of their paths."""
    scores = table.get("scores")
    if not isinstance(scores, Mapping):
        return dict(table)
    read = {
        key: _scores(folder / value) if key != "test" and isinstance(value, str) else value
        for key, value in scores.items()
    }
    return {**table, "scores": read}


def _scores(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: expected scores in JSON, got: {error}") from error
    if not isinstance(found, dict) or not {"counts", "intervals", "conventions"} <= set(found):
        raise ConfigError(f"{path}: expected what 'egparse evaluate --json' writes, got other JSON")
    return found
