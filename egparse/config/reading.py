"""Reading and checking settings: TOML files, ``key=value`` overrides, plain tables."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from egparse.classes.tables import MAX_TABLES
from egparse.config.fields import about, expected, range_of, shown, updated
from egparse.config.sections import (
    DEFAULT_LEARNER,
    ORDER_1,
    ClassesConfig,
    LearningConfig,
    TrainConfig,
    WordLabelConfig,
    may_be_joint,
)
from egparse.errors import ConfigError, did_you_mean
from egparse.layers import LAYERS, MORPHOLOGY, WORD_TAGS
from egparse.learners.registry import LEARNERS, options_of

_NO_TOML = (ValueError, RecursionError)
"""What ``tomllib`` raises for other text, numbers of thousands of digits and nested brackets."""


def load_config(path: Path | None = None, overrides: Sequence[str] = ()) -> TrainConfig:
    """The configuration of a TOML file (or the defaults) with ``a.b=value`` overrides.

    Raises:
        ConfigError: see ``load_table`` and ``read_config``.
    """
    return read_config(load_table(path, overrides), str(path) if path else "configuration")


def load_table(path: Path | None = None, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The table of a TOML file with overrides, whose values are in TOML notation; not yet checked.

    Raises:
        ConfigError: a file that cannot be read, or an override without ``=``.
    """
    table: dict[str, Any] = {}
    if path is not None:
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ConfigError(f"{path}: expected a configuration in TOML: {reason}") from error
        except _NO_TOML as error:
            raise ConfigError(f"{path}: expected a configuration in TOML, got: {error}") from error
    for override in overrides:
        key, separator, value = override.partition("=")
        if not separator or not key.strip():
            raise ConfigError(f"expected an override such as parser.c=5, got {override!r}")
        try:
            parsed = tomllib.loads(f"value = {value}")["value"]
        except _NO_TOML:
            parsed = value  # a bare word is a string
        put(table, key.strip(), parsed)
    return table


def put(table: dict[str, Any], key: str, value: Any) -> None:
    """Set ``a.b`` of a table of tables.

    Raises:
        ConfigError: ``a`` is a value and no table.
    """
    *sections, last = key.split(".")
    for section in sections:
        table = table.setdefault(section, {})
        if not isinstance(table, dict):
            raise ConfigError(
                f"{key}: expected {section} to be a section, got a value, {shown(table)}"
            )
    table[last] = value


def read_config(table: Mapping[str, Any], name: str = "configuration") -> TrainConfig:
    """The configuration that a user's table describes: the defaults with the table's values.

    Raises:
        ConfigError: see ``check_config``; also a setting that would have no effect beside the
            others, and ``base_strength``, which needs a base model.
    """
    table = as_tables(table)
    config = check_config(table, name)
    if config.base_strength != TrainConfig.base_strength:
        raise ConfigError(f"{name}: base_strength: expected a base model beside it, got none")
    refuse_without_effect(table, config, name)
    return config


def check_config(table: Mapping[str, Any], name: str = "configuration") -> TrainConfig:
    """The defaults, updated with a table of plain values.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or out of range, an unknown learner
            or option, or settings that exclude each other; it names the key, what was expected and
            what came.
    """
    table = as_tables(table)
    parser = table.get("parser")
    order = parser.get("order") if isinstance(parser, Mapping) else None
    config: TrainConfig = updated(defaults_for(order), table, name)
    for section, learning in learning_sections(config):
        _check_learner(learning, f"{name}: {section}", section)
        if isinstance(learning, WordLabelConfig) and not learning.templates:
            built_in = getattr(TrainConfig, section).templates
            filled: dict[str, Any] = {section: replace(learning, templates=built_in)}
            config = replace(config, **filled)
    check_layers(config.layers, name)
    _check_classes(config.classes, name)
    if config.parser.order == 2 and not config.parser.mbr_scale:
        raise ConfigError(f"{name}: parser.mbr_scale: expected more than 0 for order 2, got 0")
    return config


def _check_learner(learning: LearningConfig, key: str, section: str) -> None:
    """Raise ConfigError for an unknown learner, an option that it does not have, or a value that
    the option cannot have.
    """
    for option in learning.options:
        of_eg = about(type(learning), option)["meaning"].startswith("eg-online: ")
        if option in ("c", "seed", "loss") or of_eg:
            setting = option if option == "seed" else f"{section}.{option}"
            raise ConfigError(f"{key}.options.{option}: expected the setting {setting} instead")
    learner = learning.algorithm
    if learner not in LEARNERS:
        raise ConfigError(
            f"{key}.learner: expected a learner among {', '.join(LEARNERS)}, got {shown(learner)}"
            + did_you_mean(learner, LEARNERS)
        )
    known = options_of(learner) if learning.options else {}
    for option, value in learning.options.items():
        if option not in known:
            listed = ", ".join(known) or "none"
            raise ConfigError(
                f"{key}.options.{option}: unknown option {option!r}: those of the learner "
                f"{learner} are: {listed}{did_you_mean(option, known)}"
            )
        if not _has_type(value, known[option]):
            fault = expected(range_of(known[option]), value)
            raise ConfigError(f"{key}.options.{option}: {fault}")


def _has_type(value: object, hint: Any) -> bool:
    from pydantic import TypeAdapter, ValidationError  # costs 0.1 s: only where needed

    if isinstance(value, bool) and hint is not bool:
        return False
    try:
        TypeAdapter(hint).validate_python(value, strict=not isinstance(value, int))
    except ValidationError:
        return False
    return True


def as_tables(table: Mapping[str, Any]) -> dict[str, Any]:
    """The table, with sections that are dataclasses as tables; ``classes`` may also be a table of
    word classes, or a list of them.
    """
    sections = {
        key: asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
        for key, value in table.items()
    }
    classes = sections.get("classes")
    if isinstance(classes, str | PathLike):
        classes = [classes]
    if isinstance(classes, list | tuple):
        tables = [str(one) if isinstance(one, PathLike) else one for one in classes]
        sections["classes"] = {"tables": tables}
    return sections


def defaults_for(order: object) -> TrainConfig:
    """The default settings with a parser of an order: those of ``ORDER_1`` for 1."""
    return TrainConfig(parser=ORDER_1) if order == 1 else TrainConfig()


def check_layers(layers: Sequence[str], name: str) -> None:
    """Raise ConfigError for an unknown layer, or arc labels without a parser."""
    for layer in layers:
        if layer not in LAYERS:
            raise ConfigError(
                f"{name}: layers: expected layers among {', '.join(LAYERS)}, got {shown(layer)}"
                + did_you_mean(layer, LAYERS)
            )
    if "deprels" in layers and "heads" not in layers:
        raise ConfigError(
            f"{name}: layers: expected heads beside deprels, which label their arcs, got "
            f"{', '.join(layers)}"
        )


def _check_classes(classes: ClassesConfig, name: str) -> None:
    """Raise ConfigError for too many tables, or facts about fewer or more than there are."""
    tables = len(classes.tables)
    if tables > MAX_TABLES:
        raise ConfigError(
            f"{name}: classes.tables: expected at most {MAX_TABLES} tables, got {tables}"
        )
    for key in ("licences", "sources"):
        count = len(getattr(classes, key))
        if count not in (0, tables):
            raise ConfigError(
                f"{name}: classes.{key}: expected one for each of {tables} tables, got {count}"
            )


def refuse_without_effect(table: Mapping[str, Any], config: TrainConfig, name: str) -> None:
    """Raise ConfigError for a setting in a user's table that the others leave without effect.

    Settings at their defaults pass, so that a file with all settings can be edited.
    """
    defaults = defaults_for(config.parser.order)
    for section, given in table.items():
        known, default = getattr(config, section), getattr(defaults, section)
        for key in given if isinstance(given, Mapping) else ():
            if getattr(known, key) == getattr(default, key):
                continue
            for fault in _without_effect(config, section, key):
                raise ConfigError(f"{name}: {section}.{key}: {fault}")
    if config.parser.order == 1 and config.pruner != defaults.pruner:
        raise ConfigError(f"{name}: pruner: a parser of order 1 has no pruner")


def _without_effect(config: TrainConfig, section: str, key: str) -> Iterator[str]:
    """Why a setting has no effect beside the others, if so."""
    settings, parser = getattr(config, section), config.parser
    only = about(type(settings), key)["meaning"].partition(": ")[0]
    learner = getattr(settings, "algorithm", DEFAULT_LEARNER)
    if only == "eg-online" and learner != DEFAULT_LEARNER:
        yield f"expected learner = {DEFAULT_LEARNER!r}, whose setting it is, got {learner!r}"
    if isinstance(settings, LearningConfig) and key == "c" and not LEARNERS[learner].regularised:
        yield f"the learner {learner} has no regularisation constant"
    if only == "spans only" and section in (*WORD_TAGS, MORPHOLOGY):
        yield "has no effect where tags are no spans"
    joint = config.morphology.joint
    # ``--learner`` sets the learner of all tasks
    if section == MORPHOLOGY and key not in ("joint", "learner") and not may_be_joint(config):
        where = "morphology.joint = 'never'"
        if joint == "auto":
            where = "[upos], [xpos] or [feats] is changed, unless morphology.joint = 'always'"
        yield f"has no effect where {where}"
    of_classes = section == "classes" and key != "tables"
    if (of_classes or key.startswith("class_")) and not config.classes.tables:
        yield "has no effect where there are no tables of word classes"
    if only == "order 2" and parser.order == 1:
        yield "has no effect where parser.order = 1"
    if only == "trees = auto" and parser.trees != "auto":
        yield f"has no effect where parser.trees = {parser.trees!r}"
    for switch in ("siblings", "grandparents", "labels"):
        templates = (f"{switch[:-1]}_templates", f"class_{switch}")
        if section == "parser" and key in templates and not getattr(parser, switch):
            yield f"has no effect where parser.{switch} is false"
    if not getattr(settings, "train", True) and key != "train":
        yield f"has no effect where {section}.train is false"
    if section == "jackknife" and key != "folds" and config.jackknife.folds < 2:
        yield "has no effect where jackknife.folds is less than 2"


def learning_sections(config: TrainConfig) -> Iterator[tuple[str, LearningConfig]]:
    """The sections that have a learner, by name."""
    for section in fields(config):
        value = getattr(config, section.name)
        if isinstance(value, LearningConfig):
            yield section.name, value


def config_of_model(config: TrainConfig) -> dict[str, Any]:
    """Plain values for the model file, in which folders of tables of word classes are of no use,
    nor how many threads this machine had for training.
    """
    names = tuple(Path(table).name for table in config.classes.tables)
    table = asdict(replace(config, classes=replace(config.classes, tables=names)))
    del table["jobs"]
    return table
