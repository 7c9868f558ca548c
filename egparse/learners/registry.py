"""The learners by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from egparse.errors import ConfigError
from egparse.learners.eg import EGConfig, OnlineEG
from egparse.learners.learner import Learner, LearnerConfig, VectorProblem


class Entry(NamedTuple):
    """``build(problem, config, options)``; ``summary`` is a line for people, with the source."""

    build: Callable[[VectorProblem, LearnerConfig, dict[str, Any]], Learner]
    summary: str


def build(name: str, problem: VectorProblem, config: LearnerConfig, **options: Any) -> Learner:
    """A learner for a problem. ``options`` are its own settings, by name.

    Raises:
        ConfigError: an unknown learner, or one that does not fit the loss or the options.
    """
    entry = LEARNERS.get(name)
    if entry is None:
        raise ConfigError(f"expected a learner among {', '.join(LEARNERS)}, got {name!r}")
    try:
        return entry.build(problem, config, options)
    except TypeError as error:
        raise ConfigError(f"learner {name}: {error}") from error


def _eg_online(problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]) -> Learner:
    return OnlineEG(problem, EGConfig(loss=eg_loss(config), c=config.c, seed=config.seed, **options))


def eg_loss(config: LearnerConfig) -> Any:
    """The loss of EG: its two ends of the family have a dual of the form it needs.

    Raises:
        ConfigError: another loss.
    """
    known = {(1.0, 0.0): "log-linear", (float("inf"), 1.0): "max-margin"}
    if (config.beta, config.gamma) not in known:
        raise ConfigError(
            f"exponentiated gradient expects the loss log-linear (beta = 1, gamma = 0) or max-margin (beta = inf, gamma = 1), "
            f"got beta = {config.beta:g}, gamma = {config.gamma:g}"
        )
    return known[config.beta, config.gamma]


LEARNERS: dict[str, Entry] = {
    "eg-online": Entry(
        _eg_online,
        "online exponentiated gradient in the dual, randomised (Collins et al. 2008, Fig. 2-3)",
    ),
}
"""Name -> how to build it."""
