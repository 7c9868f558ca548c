"""The learner, the loss and the checks that a task's configuration asks for."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any, cast

from egparse.config.reading import learning_sections
from egparse.config.sections import (
    DEFAULT_LEARNER,
    ExpanderConfig,
    LabellerConfig,
    LearningConfig,
    LemmasConfig,
    ParserConfig,
    PrunerConfig,
    SplitterConfig,
    TaggerConfig,
    TokeniserConfig,
    TrainConfig,
    section_of,
)
from egparse.errors import ConfigError
from egparse.fitting.jobs import Jobs, JobsWarning, present_jobs
from egparse.layers import LEMMAS, MORPHOLOGY
from egparse.learners.learner import Learner, LearnerConfig
from egparse.learners.registry import (
    CONTINUING,
    EVERYTHING,
    FROM_DISTRIBUTIONS,
    GATHERED,
    LEARNERS,
    SHARDED,
    Structure,
    build,
    check_installed,
    check_settings,
    class_of,
)
from egparse.types import Singles

if TYPE_CHECKING:
    from egparse.learners.problem import Problem

LOSSES = {
    "log-linear": (1.0, 0.0),
    "max-margin": (math.inf, 1.0),
    "softmax-margin": (1.0, 1.0),
    "perceptron": (math.inf, 0.0),
}
"""Name -> beta and gamma of the loss family (``egparse.learners.losses``)."""

PARSER_MARGIN = 4.0
"""Gamma of the parser, unless the settings say otherwise: each wrong head costs so much in its
softmax-margin loss (docs/decisions/successors.md).
"""

_IN_WORDS = {
    "choices": "labels chosen one by one",
    "sequences": "label sequences",
    "trees": "trees",
}


def build_learner(
    problem: Problem,
    config: LearningConfig,
    seed: int,
    offsets: Singles | None = None,
    **eg_settings: Any,
) -> Learner:
    """The learner that a task's configuration names.

    ``eg_settings`` are settings of online EG that only this task has. ``offsets`` are fixed scores
    of all parts, to which the learned ones are added (``egparse.learners.offset_problem``). Where
    some examples are annotated in part, the learner completes them before each pass.

    Raises:
        ConfigError: an unknown learner, one that does not fit the loss or its options, or one that
            cannot learn in addition to offsets, or from partial annotation where there is any.
    """
    beta, gamma = loss_of(config)
    common = LearnerConfig(beta=beta, gamma=gamma, c=config.c, seed=seed)
    parts = problem
    if offsets is not None:
        from egparse.learners.offset_problem import OffsetProblem

        check_continues(config)
        beta, gamma = LOSSES["perceptron"] if config.algorithm == "perceptron" else (beta, gamma)
        problem = OffsetProblem(problem, offsets, beta=beta, gamma=gamma)
    options = dict(config.options)
    if config.algorithm == DEFAULT_LEARNER:
        options = {
            "anneal_from": config.anneal_from,
            "anneal_decay": config.anneal_decay,
            **eg_settings,
            **options,
        }
    is_partial = len(parts.partial) > 0
    settings = check_settings(config.algorithm, common, options)
    jobs = present_jobs()
    if jobs.connect is not None and is_divided(config):
        if is_partial:
            refuse_partial(jobs.count)
        if config.algorithm in GATHERED:
            return _gathering(config.algorithm, problem, common, options, jobs)
        return jobs.connect(problem, class_of(config.algorithm, options), settings, jobs.count)
    learner = build(config.algorithm, problem, common, **options)
    learner.threads = jobs.threads
    if not is_partial:
        return learner
    from egparse.learners.completion import CompletingLearner

    check_partial(config)
    return CompletingLearner(learner, parts, beta, offsets)


def _gathering(
    name: str, problem: Problem, common: LearnerConfig, options: dict[str, Any], jobs: Jobs
) -> Learner:
    """A learner that sums over shards elsewhere."""
    assert jobs.gather is not None  # ``is_divided``
    shards = min(jobs.count, max(1, len(problem.part_starts) - 1))
    learner: Any = build(name, problem, common, **options)
    learner.calls = jobs.gather(problem, shards)
    return cast(Learner, learner)


def is_divided(config: LearningConfig) -> bool:
    """Whether the nodes of a cluster share the work of this learner."""
    gathered = present_jobs().gather is not None and config.algorithm in GATHERED
    return gathered or config.algorithm in SHARDED


def refuse_partial(jobs: int) -> None:
    """Raise ConfigError for partial annotation on a cluster: targets that follow the weights would
    move the dual while the shards raise it.
    """
    if jobs > 1 and present_jobs().connect is not None:
        raise ConfigError(
            f"expected jobs = 1 for a corpus that is annotated in part, got jobs = {jobs}"
        )


def check_partial(config: LearningConfig) -> None:
    """Raise ConfigError for a learner or a loss that cannot learn from partial annotation or other
    distributions; unknown learners are left to ``build_learner``.
    """
    if config.algorithm not in LEARNERS:
        return
    if config.algorithm not in FROM_DISTRIBUTIONS:
        raise ConfigError(
            "expected a learner that can learn from distributions, as partial annotation needs "
            f"({', '.join(FROM_DISTRIBUTIONS)}), got {config.algorithm!r}"
        )
    beta, _ = loss_of(config)
    if math.isinf(beta):
        raise ConfigError(
            "expected a loss with a finite beta, such as log-linear, to learn from distributions, "
            f"as partial annotation needs, got {loss_name(config)}"
        )


def check_continues(config: LearningConfig) -> None:
    """Raise ConfigError for a learner that cannot continue from the weights of another model;
    unknown ones are left to ``build_learner``.
    """
    if config.algorithm in LEARNERS and config.algorithm not in CONTINUING:
        raise ConfigError(
            f"expected a learner that can continue from a base model ({', '.join(CONTINUING)}), "
            f"got {config.algorithm!r}"
        )


def check_savable(config: TrainConfig) -> None:
    """Check, before time is spent on training, that the states of all learners can be saved.

    Raises:
        ConfigError: one that cannot, with its section.
    """
    for section, learning in learning_sections(config):
        entry = LEARNERS.get(learning.algorithm)
        if entry is not None and not entry.checkpoints:
            raise ConfigError(
                f"{section}.learner: expected one whose state can be saved, as --checkpoint needs, "
                f"got {learning.algorithm!r}"
            )


def check_learners(config: TrainConfig, layers: Iterable[str], joint: Collection[str] = ()) -> None:
    """Check, before time is spent on training, that the learner of each layer fits its structure;
    ``joint`` layers have one learner.

    Raises:
        ConfigError: one that does not, with what can be done about it, or whose settings exclude
            each other. Unknown learners are left to ``build_learner``.
    """
    layers = tuple(layers)
    sections = {layer: section_of(layer, joint) for layer in layers}
    learning_of = {layer: getattr(config, section) for layer, section in sections.items()}
    for layer, learning in learning_of.items():
        check_installed(learning.algorithm)
        check_learner_settings(sections[layer], learning, config.jobs)
    if joint:
        check_joint(config.morphology)
    if "heads" in sections and config.parser.order == 2:
        check_pruner(config.pruner)
        check_learner_settings("pruner", config.pruner, config.jobs)
    misfits = [layer for layer in layers if not fits(learning_of[layer])]
    if not misfits:
        return
    name = learning_of[misfits[0]].algorithm
    misfits = [layer for layer in misfits if learning_of[layer].algorithm == name]
    tasks = ", ".join(
        f"{sections[layer]} ({_IN_WORDS[structure_of(learning_of[layer])]})" for layer in misfits
    )
    choices = " ".join(f"--set {sections[layer]}.learner={DEFAULT_LEARNER}" for layer in misfits)
    ways = [f"choose other learners for those ({choices})"]
    rest = [layer for layer in layers if layer not in misfits]
    alone = [
        layer for layer in rest if layer != "deprels" or "heads" in rest
    ]  # arc labels need a parser
    if alone:
        listed = ", ".join(f'"{layer}"' for layer in alone)
        ways.append(f"train without them (--set 'layers=[{listed}]')")
    if rest:
        ways.append(
            f"choose {name} for one task only (--set {sections[rest[0]]}.learner={name}, no "
            "--learner)"
        )
    chained = [
        sections[layer]
        for layer in misfits
        if structure_of(learning_of[layer]) == "sequences" and layer != LEMMAS
    ]
    if chained and "choices" in LEARNERS[name].fits:
        ways.append(f"let taggers choose word by word (--set {chained[0]}.bigrams=false)")
    raise ConfigError(f"{_wanted(name)}, and cannot train {tasks}: {'; or '.join(ways)}")


def check_joint(config: LearningConfig) -> None:
    """Raise ConfigError for a learner that looks at the weights of single labels, which share
    weights where layers are learned together.
    """
    entry = LEARNERS.get(config.algorithm)
    if entry is not None and entry.fits != EVERYTHING:
        raise ConfigError(
            f"{MORPHOLOGY}.learner: expected one that learns from scores alone, such as "
            f"{DEFAULT_LEARNER}, or {MORPHOLOGY}.joint = 'never', got {config.algorithm!r}"
        )


def check_learner_settings(section: str, config: LearningConfig, jobs: int = 1) -> None:
    """Raise ConfigError, which names the section, for a loss or options that the learner refuses
    whatever its problem, or by so many jobs.
    """
    try:
        beta, gamma = loss_of(config)
        common = LearnerConfig(beta=beta, gamma=gamma, c=config.c)
        check_settings(config.algorithm, common, dict(config.options))
        if jobs > 1 and present_jobs().connect is not None and not is_divided(config):
            warnings.warn(
                f"{section}: {config.algorithm} learns by one job; the work of "
                f"{', '.join(SHARDED)} can be divided",
                JobsWarning,
                stacklevel=2,
            )
    except ConfigError as error:
        raise ConfigError(f"{section}: {error}") from error


def check_pruner(config: PrunerConfig) -> None:
    """Raise ConfigError for a pruner without probabilities, or whose learner learns no trees."""
    if not (is_probabilistic(config) and fits(config)):
        raise ConfigError(
            "pruner: expected a learner of trees and a loss that have probabilities, such as "
            f"{DEFAULT_LEARNER} and log-linear, got {config.algorithm} and {config.loss}"
        )


def structure_of(config: LearningConfig) -> Structure:
    """What a task's examples are. Lemmas are chosen word by word, but their labels share weights,
    which learners for choices alone do not know.
    """
    if isinstance(config, LemmasConfig):
        return "sequences"
    if isinstance(config, TaggerConfig | SplitterConfig | TokeniserConfig):
        return "sequences" if config.bigrams else "choices"
    return "choices" if isinstance(config, LabellerConfig | ExpanderConfig) else "trees"


def fits(config: LearningConfig) -> bool:
    """Whether the learner fits what the task's examples are; unknown learners are left to
    ``build_learner``.
    """
    entry = LEARNERS.get(config.algorithm)
    return entry is None or structure_of(config) in entry.fits


def require_fit(section: str, config: LearningConfig, learns: str = "label sequences") -> None:
    """Check that the learner of a section fits its task, which ``learns`` says in words.

    Raises:
        ConfigError: it does not.
    """
    if not fits(config):
        raise ConfigError(
            f"{section}.learner: expected one that learns {learns}, got {config.algorithm!r}"
        )


def _wanted(name: str) -> str:
    """What a learner fits, in words."""
    structures = LEARNERS[name].fits
    return (
        f"{name} fits {' and '.join(_IN_WORDS[one] for one in structures if one != 'vectors')} only"
    )


def loss_of(config: LearningConfig) -> tuple[float, float]:
    """Beta and gamma of a task's loss (``egparse.learners.losses``).

    Raises:
        ConfigError: a named loss that the learner does not minimise.
    """
    beta, gamma = named_loss(config.algorithm, config.loss)
    is_free = config.loss == "auto" and (beta, gamma) == LOSSES["log-linear"]
    if isinstance(config, ParserConfig) and is_free and fits(config):
        gamma = PARSER_MARGIN
    return (
        beta if config.beta is None else config.beta,
        gamma if config.gamma is None else config.gamma,
    )


def loss_name(config: LearningConfig) -> str:
    """The name of a task's loss, or its beta and gamma if it has no name."""
    beta, gamma = loss_of(config)
    for name, known in LOSSES.items():
        if known == (beta, gamma):
            return name
    return (
        f"softmax-margin, gamma = {gamma:g}"
        if beta == 1.0
        else f"beta = {beta:g}, gamma = {gamma:g}"
    )


def is_probabilistic(config: LearningConfig) -> bool:
    """Whether exp(score) of the model is fitted as a probability; without that its marginals are no
    estimates of probabilities.
    """
    return fits_probabilities(config.algorithm, config.loss, config.beta)


def named_loss(learner: str, loss: str) -> tuple[float, float]:
    """Beta and gamma of a loss by its name; ``auto`` is the only loss of a learner that has but
    one, else log-linear. Unknown learners are left to ``build_learner``.

    Raises:
        ConfigError: a loss that the learner does not minimise.
    """
    entry = LEARNERS.get(learner)
    only = None if entry is None else entry.loss
    if loss == "auto":
        return LOSSES[only or "log-linear"]
    if only is not None and loss != only:
        raise ConfigError(f"learner {learner}: expected loss = {only!r} or 'auto', got {loss!r}")
    return LOSSES[loss]


def fits_probabilities(learner: str, loss: str, beta: float | None) -> bool:
    """Whether exp(score) is fitted as a probability by a learner with a loss, whose ``beta`` takes
    the place of that of the name unless it is None.
    """
    entry = LEARNERS.get(learner)
    if entry is not None and not entry.probabilities:
        return False
    named, _ = named_loss(learner, loss)
    return math.isfinite(named if beta is None else beta)
