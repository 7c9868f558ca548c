"""Reading and checking configurations: TOML files, ``key=value`` overrides, plain tables."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from egparse.classes.columns import MAX_TABLES
from egparse.config.faults import (
    check_layers,
    check_learner,
    is_number,
    out_of_range,
    settings_by_key,
    shown,
    unknown_key,
)
from egparse.config.joint_tags import have_own_settings
from egparse.config.named_losses import DEFAULT_LEARNER
from egparse.config.sections import (
    ORDER_2_ONLY,
    ClassesConfig,
    LearningConfig,
    TrainConfig,
    WordLabelConfig,
    defaults_for,
)
from egparse.errors import ConfigError
from egparse.layers import MORPHOLOGY, WORD_TAGS

_NO_TOML = (ValueError, RecursionError)
"""What ``tomllib`` raises for other text, numbers of thousands of digits and nested brackets."""

_NO_OPTIONS = ("c", "seed", "loss")
_EG_ONLINE_ONLY = ("anneal_from", "anneal_decay", "search", "prioritise_below_gain")


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
        _override(table, override)
    return table


def read_config(table: Mapping[str, Any], name: str = "configuration") -> TrainConfig:
    """The configuration that a user's table describes: the defaults with the table's values.

    Raises:
        ConfigError: see ``check_config``; also a setting that would have no effect beside the
            others, and ``base_strength``, which needs a base model.
    """
    table = _as_tables(table)
    config = check_config(table, name)
    if config.base_strength != TrainConfig.base_strength:
        raise ConfigError(f"{name}: base_strength: expected a base model beside it, got none")
    refuse_without_effect(table, config, name)
    return config


def check_config(table: Mapping[str, Any], name: str = "configuration") -> TrainConfig:
    """The configuration that a table of plain values describes.

    Raises:
        ConfigError: an unknown key, a value of the wrong type or out of range, or settings that
            exclude each other; it names the key, what was expected and what came.
    """
    table = _as_tables(table)
    parser = table.get("parser")
    order = parser.get("order") if isinstance(parser, Mapping) else None
    _refuse_truth_values(table, name)
    config = _validated(merge_tables(asdict(defaults_for(order)), table), name)
    check_layers(config.layers, name)
    _check_classes(config.classes, name)
    for section, learning in learning_sections(config):
        settings = {own.name for own in fields(learning)}
        for option in learning.options:
            if option in _NO_OPTIONS or (option in _EG_ONLINE_ONLY and option in settings):
                raise ConfigError(
                    f"{name}: {section}.options.{option}: expected the setting "
                    f"{'' if option == 'seed' else section + '.'}{option} instead"
                )
        check_learner(section, learning, name)
    if config.parser.order == 2 and not config.parser.mbr_scale:
        raise ConfigError(f"{name}: parser.mbr_scale: expected more than 0 for order 2, got 0")
    return _with_templates(config)


def _check_classes(classes: ClassesConfig, name: str) -> None:
    """Raise ConfigError for too many tables, or facts about fewer or more than there are."""
    if len(classes.tables) > MAX_TABLES:
        raise ConfigError(
            f"{name}: classes.tables: expected at most {MAX_TABLES} tables, got "
            f"{len(classes.tables)}"
        )
    for key in ("licences", "sources"):
        count = len(getattr(classes, key))
        if count not in (0, len(classes.tables)):
            raise ConfigError(
                f"{name}: classes.{key}: expected one for each of {len(classes.tables)} tables, "
                f"got {count}"
            )


def read_section(section: str, table: Mapping[str, Any]) -> Any:
    """One section, from a table that holds what differs from the defaults.

    Raises:
        ConfigError: see ``check_config``.
    """
    return getattr(check_config({section: table}, "settings"), section)


def refuse_without_effect(table: Mapping[str, Any], config: TrainConfig, name: str) -> None:
    """Raise ConfigError for a setting in a user's table that the others leave without effect.

    Settings at their defaults pass, so that a file with all settings can be edited.
    """
    defaults = defaults_for(config.parser.order)

    def changed(section: str, key: str) -> bool:
        known, default = getattr(config, section), getattr(defaults, section)
        given = table.get(section, {})
        return key in given and getattr(known, key) != getattr(default, key)

    for section, learning in learning_sections(config):
        _refuse_for_learner(section, learning, changed, name)
    for section, condition, keys in _without_effect(config):
        for key in keys:
            if changed(section, key):
                raise ConfigError(f"{name}: {section}.{key}: has no effect where {condition}")
    if config.parser.order == 1 and config.pruner != defaults.pruner:
        raise ConfigError(f"{name}: pruner: a parser of order 1 has no pruner")


def _refuse_for_learner(
    section: str, learning: LearningConfig, changed: Callable[[str, str], bool], name: str
) -> None:
    """Raise ConfigError for settings that the learner of a section does not have."""
    if learning.learner != DEFAULT_LEARNER:
        for key in _EG_ONLINE_ONLY:
            if changed(section, key):
                raise ConfigError(
                    f"{name}: {section}.{key}: expected learner = {DEFAULT_LEARNER!r}, "
                    f"whose setting it is, got {learning.learner!r}"
                )
    if changed(section, "c") and not _is_regularised(learning.learner):
        raise ConfigError(
            f"{name}: {section}.c: the learner {learning.learner} has no regularisation constant"
        )


def _is_regularised(learner: str) -> bool:
    """Whether a learner has a constant C; unknown ones are refused elsewhere."""
    from egparse.learners.registry import LEARNERS  # imports numba: only where needed

    return learner not in LEARNERS or LEARNERS[learner].regularised


def _without_effect(config: TrainConfig) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Section, condition and the settings of the section that have no effect under it."""
    for section in (*WORD_TAGS, MORPHOLOGY):
        yield section, "tags are no spans", ("scheme",)
    yield from _without_joint_tags(config)
    parser = config.parser
    if not config.classes.tables:
        yield (
            "classes",
            "there are no tables of word classes",
            tuple(one.name for one in fields(ClassesConfig) if one.name != "tables"),
        )
        for section, learning in learning_sections(config):
            keys = [one.name for one in fields(learning) if one.name.startswith("class_")]
            yield section, "there are no tables of word classes", tuple(keys)
    if parser.order == 1:
        yield "parser", "parser.order = 1", ORDER_2_ONLY
    if parser.trees != "auto":
        yield "parser", f"parser.trees = {parser.trees!r}", ("non_projective_above",)
    for switch, templates in (
        ("siblings", "sibling_templates"),
        ("grandparents", "grandparent_templates"),
        ("labels", "label_templates"),
    ):
        if not getattr(parser, switch):
            yield "parser", f"parser.{switch} is false", (templates, f"class_{switch}")
    for section in ("tokeniser", "expander", "splitter", "supertags"):
        settings = getattr(config, section)
        if not settings.train:
            rest = tuple(own.name for own in fields(settings) if own.name != "train")
            yield section, f"{section}.train is false", rest
    if config.jackknife.folds < 2:
        yield "jackknife", "jackknife.folds is less than 2", ("passes", "c")


def _without_joint_tags(config: TrainConfig) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The settings of [morphology] that have no effect where each layer has its own tagger. Its
    learner is left out, which ``--learner`` sets everywhere.
    """
    joint = config.morphology.joint
    if joint == "always" or (joint == "auto" and not have_own_settings(config)):
        return
    condition = "morphology.joint = 'never'"
    if joint == "auto":
        condition = "[upos], [xpos] or [feats] is changed, unless morphology.joint = 'always'"
    keys = [one.name for one in fields(config.morphology) if one.name not in ("joint", "learner")]
    yield MORPHOLOGY, condition, tuple(keys)


def learning_sections(config: TrainConfig) -> Iterator[tuple[str, LearningConfig]]:
    """The sections that have a learner, by name."""
    for section in fields(config):
        value = getattr(config, section.name)
        if isinstance(value, LearningConfig):
            yield section.name, value


def merge_tables(defaults: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The first table, updated with the values of the second, in nested tables too."""
    merged = dict(defaults)
    for key, value in table.items():
        known = merged.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            value = merge_tables(known, value)
        merged[key] = value
    return merged


def config_as_table(config: TrainConfig) -> dict[str, Any]:
    """Plain values."""
    return asdict(config)


def config_of_model(config: TrainConfig) -> dict[str, Any]:
    """Plain values for the model file, in which folders of tables of word classes are of no use,
    nor how many threads this machine had for training.
    """
    names = tuple(Path(table).name for table in config.classes.tables)
    table = asdict(replace(config, classes=replace(config.classes, tables=names)))
    del table["jobs"]
    return table


def _validated(table: Mapping[str, Any], name: str) -> TrainConfig:
    from pydantic import ValidationError  # costs 0.1 s: only where needed

    try:
        config: TrainConfig = _adapter().validate_python(table)
    except ValidationError as error:
        first = error.errors()[0]
        parts = [str(part) for part in first["loc"]]
        raise ConfigError(_fault(parts, first["type"], first["input"], name)) from None
    return config


def _fault(parts: Sequence[str], kind: str, value: object, name: str) -> str:
    """What is wrong at a place of the table."""
    known, key = settings_by_key(), ".".join(parts)
    if kind == "unexpected_keyword_argument":
        return f"{name}: {key}: {unknown_key(key)}"
    for end in range(len(parts), 0, -1):  # a value in a list or a table has a longer place
        setting = known.get(".".join(parts[:end]))
        if setting is not None:
            return f"{name}: {setting.key}: {out_of_range(setting, value)}"
    within = next((one for one in known if one.startswith(f"{key}.")), "parser.c")
    return f"{name}: {key}: expected a section with settings such as {within}, got {shown(value)}"


def _as_tables(table: Mapping[str, Any]) -> dict[str, Any]:
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


def _refuse_truth_values(table: Mapping[str, Any], name: str, prefix: str = "") -> None:
    """Raise ConfigError for a truth value in place of a number, which would count as 0 or 1."""
    for key, value in table.items():
        if isinstance(value, Mapping):
            _refuse_truth_values(value, name, f"{prefix}{key}.")
        elif isinstance(value, bool):
            setting = settings_by_key().get(f"{prefix}{key}")
            if setting is not None and is_number(setting.range):
                raise ConfigError(f"{name}: {setting.key}: {out_of_range(setting, value)}")


def _with_templates(config: TrainConfig) -> TrainConfig:
    """The configuration with the built-in templates in place of empty ones of a section."""
    defaults = TrainConfig()
    changed: dict[str, Any] = {
        section: replace(learning, templates=getattr(defaults, section).templates)
        for section, learning in learning_sections(config)
        if isinstance(learning, WordLabelConfig) and not learning.templates
    }
    return replace(config, **changed) if changed else config


@cache
def _adapter() -> Any:
    from pydantic import ConfigDict, TypeAdapter, with_config

    forbid = with_config(ConfigDict(extra="forbid"))
    defaults = TrainConfig()
    for section in (defaults, *(getattr(defaults, one.name) for one in fields(defaults))):
        if hasattr(section, "__dataclass_fields__"):
            forbid(type(section))
            if isinstance(section, LearningConfig):
                forbid(type(section.stop))
    return TypeAdapter(TrainConfig)


def _override(table: dict[str, Any], text: str) -> None:
    key, separator, value = text.partition("=")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"] if separator else None
    except _NO_TOML:
        parsed = value  # a bare word is a string
    if not separator or not key.strip():
        raise ConfigError(f"expected an override such as parser.c=5, got {text!r}")
    put(table, key.strip(), parsed)


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
