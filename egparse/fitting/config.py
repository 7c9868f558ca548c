"""The configuration of training: what a TOML file may say, with its defaults; checked by
pydantic.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Interval

from egparse.errors import ConfigError

Loss = Literal["log-linear", "max-margin", "softmax-margin", "perceptron"]
Trees = Literal["auto", "projective", "non-projective"]
Positive = Annotated[float, Gt(0)]
Natural = Annotated[int, Ge(0)]
Count = Annotated[int, Ge(1)]
Share = Annotated[float, Interval(ge=0, lt=1)]
Order = Annotated[int, Interval(ge=1, le=3)]

WORD_TEMPLATES = (
    "bias", "form[0]", "normal[0]", "normal[-1]", "normal[1]", "normal[-2]", "normal[2]",
    "normal[-1]|normal[0]", "normal[0]|normal[1]", "normal[-1]|normal[1]", "normal[-2]|normal[-1]",
    "normal[1]|normal[2]", "prefix1[0]", "prefix2[0]", "prefix3[0]", "prefix4[0]", "suffix1[0]",
    "suffix2[0]", "suffix3[0]", "suffix4[0]", "suffix5[0]", "shape[0]", "shape[-1]|shape[0]",
    "shape[0]|shape[1]", "shape[0]|first[0]", "suffix3[-1]", "suffix3[1]", "suffix2[-1]|suffix2[0]",
    "suffix2[0]|suffix2[1]", "suffix2[-1]|suffix2[1]", "suffix3[-1]|suffix3[0]",
    "suffix3[0]|suffix3[1]",
)  # fmt: skip
"""Word, affix, shape and neighbour templates for tags."""

SPAN_TEMPLATES = (
    "bias", "form[0]", "lower[0]", "lower[-1]", "lower[1]", "lower[-2]", "lower[2]",
    "lower[-1]|lower[0]", "lower[0]|lower[1]", "prefix1[0]", "prefix2[0]", "prefix3[0]",
    "prefix4[0]", "suffix1[0]", "suffix2[0]", "suffix3[0]", "suffix4[0]", "shape[0]", "shape[-1]",
    "shape[1]", "shape[-1]|shape[0]", "shape[0]|shape[1]", "traits[0]", "upos[0]", "upos[-1]",
    "upos[1]", "xpos[0]", "upos[0]|lower[0]", "upos[0]|shape[0]", "upos[-1]|upos[0]|upos[1]",
    "lower[-1]|upos[0]", "upos[0]|lower[1]", "lower[-1]|upos[0]|upos[1]",
    "upos[-1]|upos[0]|lower[1]", "suffix5[0]", "prefix5[0]", "suffix3[-1]", "suffix3[1]",
    "suffix2[0]|shape[0]", "suffix3[0]|shape[0]", "casing[0]", "casing[0]|shape[0]", "casing[-1]",
    "casing[1]", "casing[0]|casing[1]", "casing[-1]|casing[0]", "history[0]",
    "history[0]|casing[0]", "history[-1]|history[0]", "history[0]|history[1]",
)  # fmt: skip
"""The same with predicted tags and what the corpus says of forms, for entities."""

SPLITTER_TEMPLATES = (
    "bias", "class[-1]", "class[0]", "class[-1]|class[0]", "class[-1]|class[0]|spaced[-1]",
    "class[-2]|class[-1]|class[0]", "class[-1]|class[0]|class[1]", "class[-2]|class[-1]|spaced[-1]",
    "class[-1]|spaced[-1]|spaced[-2]", "lower[-1]", "lower[0]", "lower[-1]|lower[0]",
    "lower[-1]|class[0]", "lower[0]|class[-1]", "lower[0]|class[0]",
    "lower[-1]|class[0]|spaced[-1]", "lower[0]|class[0]|class[-1]", "lower[-2]|lower[-1]",
    "lower[-2]|lower[-1]|class[0]", "lower[0]|lower[1]", "lower[1]|class[0]|class[-1]",
    "lower[-1]|lower[0]|lower[1]", "shape[-1]", "shape[0]", "shape[-1]|shape[0]",
    "shape[-2]|shape[-1]|class[0]", "shape[-1]|class[0]|class[1]", "suffix[-1]|class[0]",
    "suffix[0]|class[-1]", "inside[0]|class[-1]|class[0]", "inside[0]|lower[-1]|class[0]",
    "inside[0]|lower[0]|class[-1]",
)  # fmt: skip
"""What may tell that a sentence starts, of the columns of ``egparse.splitting.columns``."""


@dataclass(frozen=True, kw_only=True)
class StopConfig:
    """When a learner stops: after so many passes, at a relative duality gap, or when the
    development score is stale.
    """

    iterations: Count = 12
    gap: Annotated[float, Ge(0)] = 0.001
    patience: Natural = 3


DEFAULT_LEARNER = "eg-online"
TASKS = ("upos", "xpos", "feats", "spans", "parser", "second_order", "labeller")
"""The sections of a configuration that each have a learner."""
_TAGGERS = ("upos", "xpos", "feats", "spans")


@dataclass(frozen=True, kw_only=True)
class LearningConfig:
    """How the weights of a task are found. ``learner`` is one of ``egparse.learners.registry``,
    ``options`` are its own settings.

    ``loss`` names a member of the family of ``egparse.losses``; ``beta`` and ``gamma`` choose any
    other. ``c`` is the constant C of sum of losses + C/2 |w|^2; online EG begins with
    ``anneal_from``, if that is greater, and comes down by ``anneal_decay`` a pass.
    """

    learner: str = DEFAULT_LEARNER
    options: Mapping[str, bool | int | float | str] = field(default_factory=dict)
    loss: Loss = "log-linear"
    beta: Positive | None = None
    gamma: Annotated[float, Ge(0)] | None = None
    c: Positive = 1.0
    anneal_from: Annotated[float, Ge(0)] = 0.0
    anneal_decay: Share = 0.7


@dataclass(frozen=True, kw_only=True)
class TaggerConfig(LearningConfig):
    """A linear-chain CRF (``bigrams``) or a log-linear classifier of words, for one layer of tags.

    ``order`` is how many labels back a label looks: with 2 there are label trigrams too, which take
    memory and time as the third power of the number of labels. An attribute seen
    ``all_labels_from`` times or more has a weight for every label, any other for the labels seen
    with it (0: always the latter). A tag set larger than ``dictionary_above`` is narrowed for each
    word by a tag dictionary of ``dictionary_size`` candidates for rare forms (all seen tags for
    forms seen ``frequent`` times). ``scheme`` is the tagging scheme that spans are learned in
    (files may have any). Weights smaller than ``drop_below`` are left out of the model. ``search``
    and ``settled`` are the learner's (see EGConfig).
    """

    templates: tuple[str, ...] = WORD_TEMPLATES
    bigrams: bool = True
    order: Order = 1
    pads: bool = True
    min_count: Count = 2
    all_labels_from: Natural = 0
    drop_below: Annotated[float, Ge(0)] = 0.02
    dictionary_above: Natural = 32
    dictionary_size: Count = 20
    frequent: Count = 200
    scheme: Literal["iob2", "iobes"] = "iob2"
    c: Positive = 0.25
    anneal_from: Annotated[float, Ge(0)] = 4.0
    search: Literal["halving", "quadratic"] = "halving"
    settled: Annotated[float, Ge(0)] = 0.02
    stop: StopConfig = StopConfig(iterations=18)


@dataclass(frozen=True, kw_only=True)
class ParserConfig(LearningConfig):
    """The arc-factored parser, or with ``order`` 2 the pruner of the second-order one
    (``SecondOrderConfig``).

    Empty ``templates`` stand for the built-in ones. ``trees`` "auto" is non-projective where more
    than ``non_projective_above`` of the training arcs cross others. ``bits`` is the binary
    logarithm of the size of the hashed weight table. ``arc_share``: an arc is considered if arcs
    like it are at least this share as frequent as the most frequent ones of its dependent (0: all
    arcs). ``sharpness`` multiplies the scores of which a log-linear parser takes arc probabilities,
    whose sum is greatest in the tree that it chooses; 0 chooses the tree of highest score, as
    max-margin always does.
    """

    order: Literal[1, 2] = 2
    templates: tuple[str, ...] = ()
    trees: Trees = "auto"
    non_projective_above: Annotated[float, Interval(ge=0, le=1)] = 0.02
    single_root: bool = True
    bits: Annotated[int, Interval(ge=8, le=28)] = 22
    arc_share: Share = 0.003
    min_form_count: Count = 2
    sharpness: Annotated[float, Ge(0)] = 1.5
    c: Positive = 25.0
    anneal_from: Annotated[float, Ge(0)] = 75.0
    anneal_decay: Share = 0.3
    stop: StopConfig = StopConfig()


@dataclass(frozen=True, kw_only=True)
class SecondOrderConfig(LearningConfig):
    """The second-order parser, over the arcs that the pruner leaves. Empty templates stand for the
    built-in ones.

    Each word keeps at most ``heads`` heads, those at least ``share`` times as probable as its best
    one, after ``pruner_passes`` passes of training the pruner. ``siblings`` and ``grandparents``
    say which pairs of arcs are scored, ``labels`` whether arcs are scored with their labels, which
    helps to find them. ``inference`` "exact" is a dynamic program over projective trees, "loopy" is
    belief propagation, "auto" exact where the trees are projective. ``sharpness`` and ``bits`` are
    as in ParserConfig (no sharpness of 0). Where nothing else is said of the loss, dual coordinate
    ascent learns with gamma = ``margin``: every wrong head costs so much.
    """

    siblings: bool = True
    grandparents: bool = True
    labels: bool = True
    inference: Literal["auto", "exact", "loopy"] = "auto"
    heads: Annotated[int, Interval(ge=1, le=32)] = 8
    share: Share = 0.003
    pruner_passes: Count = 5
    pruner_bits: Annotated[int, Interval(ge=8, le=28)] = 21
    sibling_templates: tuple[str, ...] = ()
    grandparent_templates: tuple[str, ...] = ()
    label_templates: tuple[str, ...] = ()
    bits: Annotated[int, Interval(ge=8, le=28)] = 23
    sharpness: Positive = 1.0
    learner: str = "dca"
    margin: Annotated[float, Ge(0)] = 4.0
    c: Positive = 50.0
    stop: StopConfig = StopConfig(iterations=8, patience=3)


@dataclass(frozen=True, kw_only=True)
class LabellerConfig(LearningConfig):
    """The log-linear classifier of arc labels. Empty ``templates`` stand for the built-in ones; the
    rest as in TaggerConfig.
    """

    templates: tuple[str, ...] = ()
    min_count: Count = 2
    all_labels_from: Natural = 20
    drop_below: Annotated[float, Ge(0)] = 0.02
    c: Positive = 3.0
    anneal_from: Annotated[float, Ge(0)] = 8.0
    stop: StopConfig = StopConfig(iterations=14)


@dataclass(frozen=True, kw_only=True)
class SplitterConfig(LearningConfig):
    """The splitter of paragraphs into sentences; with ``train`` false there is none, and plain text
    is split by rule.

    In training a share ``join`` of the paragraphs is joined to the one before, and what is longer
    than ``longest`` sentences is cut (0: never). The rest is as in TaggerConfig.
    """

    train: bool = True
    templates: tuple[str, ...] = SPLITTER_TEMPLATES
    bigrams: bool = True
    join: Share = 0.5
    longest: Natural = 10
    min_count: Count = 2
    drop_below: Annotated[float, Ge(0)] = 0.02
    c: Positive = 4.0
    anneal_from: Annotated[float, Ge(0)] = 12.0
    stop: StopConfig = StopConfig(iterations=12)


@dataclass(frozen=True, kw_only=True)
class JackknifeConfig:
    """Tags for training as they will be at parsing time: ``folds`` parts (0 or 1: correct tags),
    each tagged by a tagger of the others.

    Those taggers make ``passes`` passes with a regularisation constant of at least ``c``.
    """

    folds: Natural = 5
    passes: Count = 8
    c: Positive = 1.0


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Everything that ``egparse train`` may be told by a file.

    ``layers`` limits what is trained (upos, xpos, feats, spans, heads, deprels); empty: all that
    the corpus annotates (the splitter has a switch of its own). ``hold_out`` is the share of
    sentences kept as a development part where none is given. ``language`` chooses the tokeniser for
    plain text. Where training goes on from a base model, ``closeness`` times the C of each task is
    how strongly its weights are held to those of the base.
    """

    language: str = "en"
    seed: Natural = 1
    layers: tuple[str, ...] = ()
    jackknife: JackknifeConfig = JackknifeConfig()
    hold_out: Share = 0.1
    upos: TaggerConfig = TaggerConfig(c=0.5, all_labels_from=3)
    xpos: TaggerConfig = TaggerConfig(all_labels_from=10)
    feats: TaggerConfig = TaggerConfig(dictionary_size=16, frequent=100)
    spans: TaggerConfig = TaggerConfig(
        templates=SPAN_TEMPLATES,
        scheme="iobes",
        c=0.7,
        all_labels_from=3,
        search="quadratic",
        settled=float("inf"),
    )
    parser: ParserConfig = ParserConfig()
    second_order: SecondOrderConfig = SecondOrderConfig()
    labeller: LabellerConfig = LabellerConfig()
    splitter: SplitterConfig = SplitterConfig()
    closeness: Positive = 10.0


def load_config(path: Path | None = None, overrides: Sequence[str] = ()) -> TrainConfig:
    """The configuration of a TOML file (or the defaults), with ``a.b=value`` overrides, values in
    TOML notation.

    Raises:
        ConfigError: an unreadable file, an unknown key, a value of the wrong type.
    """
    return check_config(load_table(path, overrides), str(path) if path else "configuration")


def load_table(path: Path | None = None, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """What a TOML file and overrides say, not checked yet.

    Raises:
        ConfigError: an unreadable file, or an override that is none.
    """
    table: dict[str, Any] = {}
    if path is not None:
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise ConfigError(f"{path}: expected a configuration in TOML, got: {error}") from error
    for override in overrides:
        _override(table, override)
    return table


def check_config(table: dict[str, Any], name: str = "configuration") -> TrainConfig:
    """The configuration that a table of plain values describes: the defaults, with what the table
    says in their place.

    Raises:
        ConfigError: naming the key, what was expected and what came.
    """
    from pydantic import (
        ConfigDict,
        TypeAdapter,
        ValidationError,
        with_config,
    )  # costs 0.1 s: only where needed

    sections = (TaggerConfig, ParserConfig, SecondOrderConfig, LabellerConfig, SplitterConfig)
    for known in (StopConfig, *sections, TrainConfig):
        with_config(ConfigDict(extra="forbid"))(known)
    try:
        config = TypeAdapter(TrainConfig).validate_python(
            merge_tables(asdict(TrainConfig()), table)
        )
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"{name}: {key}: {first['msg'].lower()}, got {first['input']!r}"
        ) from error
    for task in _TAGGERS:
        own: TaggerConfig = getattr(config, task)
        if own.order > 1 and not own.bigrams:
            raise ConfigError(
                f"{name}: {task}.order: expected 1 where {task}.bigrams is false, got {own.order}"
            )
    return config


def merge_tables(defaults: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The first table with what the second says in its place.

    Tables within tables are merged too: a section that says one thing leaves the rest of the
    section as it was.
    """
    merged = dict(defaults)
    for key, value in table.items():
        known = merged.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            value = merge_tables(known, value)
        merged[key] = value
    return merged


def config_as_table(config: TrainConfig) -> dict[str, Any]:
    """Plain values, for the model file."""
    return asdict(config)


def _override(table: dict[str, Any], text: str) -> None:
    key, separator, value = text.partition("=")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"] if separator else None
    except tomllib.TOMLDecodeError:
        parsed = value  # a bare word is a string
    if not separator or not key.strip():
        raise ConfigError(f"expected an override such as parser.c=5, got {text!r}")
    *sections, last = key.strip().split(".")
    for section in sections:
        table = table.setdefault(section, {})
    table[last] = parsed
