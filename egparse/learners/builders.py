"""The learners of the core, built from the settings that all learners share and their own options.

The registry names the functions of this module by their places.
"""

from __future__ import annotations

from dataclasses import asdict, replace

from egparse.errors import ConfigError
from egparse.learners.dca import DCA, DCAConfig
from egparse.learners.eg.batch import BatchEG, EGBatchConfig
from egparse.learners.eg.config import Loss as EGLoss
from egparse.learners.eg.config import member_of
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.learner import Learner, LearnerConfig
from egparse.learners.losses import Loss
from egparse.learners.mira import MIRA, MIRAConfig
from egparse.learners.perceptron import Perceptron, PerceptronConfig
from egparse.learners.problem import VectorProblem
from egparse.learners.registry import Options
from egparse.learners.sdca import SDCA, SDCAConfig
from egparse.learners.sgd import SGD, SGDConfig


def build_eg_online(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    """Online EG, randomised."""
    return OnlineEG(problem, eg_online_config(config, options))


def build_eg_cyclic(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    """Online EG in the order of the corpus."""
    return OnlineEG(problem, eg_cyclic_config(config, options))


def build_eg_2007(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    """Online EG in the order of the corpus, whose learning rates start again at each visit."""
    return OnlineEG(problem, eg_2007_config(config, options))


def build_eg_batch(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    """Batch EG."""
    return BatchEG(problem, eg_batch_config(config, options))


def build_dca(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    """Dual coordinate ascent."""
    return DCA(problem, dca_config(config, options))


def build_sdca(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    """Dual coordinate ascent that remembers its dual variables."""
    return SDCA(problem, sdca_config(config, options))


def build_mira(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    """MIRA."""
    return MIRA(problem, mira_config(config, options))


def build_perceptron(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    """The perceptron."""
    return Perceptron(problem, perceptron_config(config, options))


def build_sgd(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    """Stochastic gradient descent."""
    return SGD(problem, sgd_config(config, options))


def eg_online_config(config: LearnerConfig, options: Options) -> EGConfig:
    """The settings of online EG; with ``published=True`` the options change
    ``EGConfig.as_published``.

    Raises:
        ConfigError: a loss that it does not minimise, or a value out of range.
    """
    changes = dict(options)
    base = EGConfig.as_published if changes.pop("published", False) else EGConfig
    return replace(base(loss=eg_loss(config), c=config.c, seed=config.seed), **changes)


def eg_cyclic_config(config: LearnerConfig, options: Options) -> EGConfig:
    """The settings of cyclic EG; it raises what ``eg_online_config`` raises."""
    base = EGConfig.as_published(loss=eg_loss(config), c=config.c, seed=config.seed, order="cyclic")
    return replace(base, **options)


def eg_2007_config(config: LearnerConfig, options: Options) -> EGConfig:
    """The settings of the online EG of 2007; it raises what ``eg_online_config`` raises."""
    base = EGConfig.of_2007(loss=eg_loss(config), c=config.c, seed=config.seed)
    return replace(base, **options)


def eg_batch_config(config: LearnerConfig, options: Options) -> EGBatchConfig:
    """The settings of batch EG; it raises what ``eg_online_config`` raises."""
    return EGBatchConfig(loss=eg_loss(config), c=config.c, **options)


def dca_config(config: LearnerConfig, options: Options) -> DCAConfig:
    """The settings of dual coordinate ascent.

    Raises:
        ConfigError: the loss of the perceptron, or a value out of range.
    """
    return DCAConfig(**asdict(config), **options)


def sdca_config(config: LearnerConfig, options: Options) -> SDCAConfig:
    """The settings of dual coordinate ascent that remembers its dual variables.

    Raises:
        ConfigError: a value out of range.
    """
    return SDCAConfig(**asdict(config), **options)


def mira_config(config: LearnerConfig, options: Options) -> MIRAConfig:
    """The settings of MIRA.

    Raises:
        ConfigError: another loss than max-margin, or a value out of range.
    """
    return MIRAConfig(**asdict(config), **options)


def perceptron_config(config: LearnerConfig, options: Options) -> PerceptronConfig:
    """The settings of the perceptron, whose loss is fixed (beta = inf, gamma = 0) and which has no
    C: ``config.c`` is ignored.

    Raises:
        ConfigError: another loss, or a value out of range.
    """
    check_perceptron_loss("perceptron", config)
    return PerceptronConfig(seed=config.seed, **options)


def sgd_config(config: LearnerConfig, options: Options) -> SGDConfig:
    """The settings of stochastic gradient descent.

    Raises:
        ConfigError: a value out of range.
    """
    return SGDConfig(loss=loss_of_family(config), c=config.c, seed=config.seed, **options)


def check_perceptron_loss(learner: str, config: LearnerConfig) -> None:
    """Raise ConfigError unless beta and gamma are those of the perceptron's loss, or the defaults
    of ``LearnerConfig``, which stand for a loss left unset.
    """
    unset = (LearnerConfig.beta, LearnerConfig.gamma)
    if (config.beta, config.gamma) not in (unset, (float("inf"), 0.0)):
        raise ConfigError(
            f"{learner} has a fixed loss (beta = inf, gamma = 0): leave the loss unset, "
            f"got beta = {config.beta:g}, gamma = {config.gamma:g}"
        )


def loss_of_family(config: LearnerConfig) -> Loss:
    """The loss that beta and gamma choose.

    Raises:
        ConfigError: a value out of range.
    """
    try:
        return Loss(config.beta, config.gamma)
    except ValueError as error:
        raise ConfigError(str(error)) from None


def eg_loss(config: LearnerConfig) -> EGLoss:
    """The loss of exponentiated gradient, by name where it has one there.

    Raises:
        ConfigError: the loss of the perceptron.
    """
    known: dict[tuple[float, float], EGLoss] = {
        (1.0, 0.0): "log-linear",
        (float("inf"), 1.0): "max-margin",
    }
    loss: EGLoss = known.get((config.beta, config.gamma)) or loss_of_family(config)
    member_of(loss)
    return loss
