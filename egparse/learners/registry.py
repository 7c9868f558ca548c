"""The learners by name: those of the core, and those of ``egparse.experiments``, which are imported
when they are built.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, Literal, NamedTuple, cast

from egparse.errors import ConfigError
from egparse.extras import import_with_extra
from egparse.learners.dca import DCA, DCAConfig
from egparse.learners.eg.batch import BatchEG, EGBatchConfig
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.learner import Learner, LearnerConfig
from egparse.learners.mira import MIRA, MIRAConfig
from egparse.learners.perceptron import Perceptron, PerceptronConfig
from egparse.learners.problem import VectorProblem
from egparse.learners.sgd import SGD, SGDConfig
from egparse.losses import Loss

Structure = Literal["choices", "sequences", "trees", "vectors"]
"""What the examples of a problem are: choices among labels made one by one, sequences of labels,
trees, or vectors of one class each.
"""

EVERYTHING: tuple[Structure, ...] = ("choices", "sequences", "trees", "vectors")
MULTICLASS: tuple[Structure, ...] = ("choices", "vectors")

Options = dict[str, Any]
Builder = Callable[[VectorProblem, LearnerConfig, Options], Learner]
"""A function of the problem, of the settings that all learners share, and of the learner's further
settings by name.
"""

Configure = Callable[[LearnerConfig, Options], object]
"""A function of the same settings, without a problem, that raises where they exclude each other."""


_WRONG_OPTION = re.compile(r"(unexpected|multiple values for) keyword argument ('\w+')")


class Entry(NamedTuple):
    """A learner of the registry.

    ``builder`` is a function or its place, as ``module:function``: a place is imported when the
    learner is built. ``configure``, a function or its place too, checks the settings without a
    problem. ``summary`` is one line for people, with the source. ``fits`` lists the
    structures that it can learn. ``probabilities`` says whether exp(score) is fitted as a
    probability under a loss with finite beta, so that marginals of the model mean something.
    ``loss`` names the only loss of a learner that has but one; ``regularised`` says whether it has
    a regularisation constant C; ``warm_starts`` whether it can solve for one C from the solution
    for another (``eg.path``). ``continues`` says whether it can
    keep the scores of a base model and learn what is added to them: learners do that which use a
    problem by its contract alone (``offset_problem``).
    """

    builder: Builder | str
    configure: Configure | str
    summary: str
    fits: tuple[Structure, ...] = EVERYTHING
    probabilities: bool = True
    continues: bool = False
    loss: str | None = None
    regularised: bool = True
    warm_starts: bool = False


def build(name: str, problem: VectorProblem, config: LearnerConfig, **options: Any) -> Learner:
    """A learner for a problem. ``options`` are the settings that only this learner has.

    Raises:
        ConfigError: an unknown learner, one that does not fit the loss or the options, or one that
            needs a package which is not installed.
    """
    entry = LEARNERS.get(name)
    if entry is None:
        raise ConfigError(f"expected a learner among {', '.join(LEARNERS)}, got {name!r}")
    builder = cast(Builder, _imported(name, entry.builder))
    return cast(Learner, _called(name, lambda: builder(problem, config, options)))


def check_settings(name: str, config: LearnerConfig, options: Options) -> None:
    """Raise ConfigError for settings that a learner refuses whatever its problem, or where it needs
    a package that is not installed; unknown learners are left to ``build``.
    """
    if name in LEARNERS:
        entry = LEARNERS[name]
        check_installed(name)
        configure = cast(Configure, _imported(name, entry.configure))
        _called(name, lambda: configure(config, options))


def check_installed(name: str) -> None:
    """Raise ConfigError where a learner needs a package that is not installed; unknown learners are
    left to ``build``.
    """
    if name in LEARNERS:
        _imported(name, LEARNERS[name].builder)


def _imported(name: str, function: Callable[..., Any] | str) -> Callable[..., Any]:
    """The function, imported if it is a place."""
    if not isinstance(function, str):
        return function
    module, _, attribute = function.partition(":")
    return cast(
        Callable[..., Any], getattr(import_with_extra(module, f"learner {name}"), attribute)
    )


def _called(name: str, call: Callable[[], object]) -> object:
    """The result of a call with options by keyword, of which a wrong one raises ConfigError."""
    try:
        return call()
    except TypeError as error:
        known = _WRONG_OPTION.search(str(error))
        if known is None:
            raise ConfigError(f"learner {name}: {error}") from error
        what = "unknown option" if known[1] == "unexpected" else "no option but a setting:"
        raise ConfigError(f"learner {name}: {what} {known[2]}") from error


def _eg_online(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    return OnlineEG(problem, eg_online_config(config, options))


def _eg_cyclic(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    return OnlineEG(problem, eg_cyclic_config(config, options))


def _eg_batch(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    return BatchEG(problem, eg_batch_config(config, options))


def _dca(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    return DCA(problem, dca_config(config, options))


def _mira(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    return MIRA(problem, mira_config(config, options))


def _perceptron(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
    return Perceptron(problem, perceptron_config(config, options))


def _sgd(problem: VectorProblem, config: LearnerConfig, options: Options) -> Learner:
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


def eg_batch_config(config: LearnerConfig, options: Options) -> EGBatchConfig:
    """The settings of batch EG; it raises what ``eg_online_config`` raises."""
    return EGBatchConfig(loss=eg_loss(config), c=config.c, **options)


def dca_config(config: LearnerConfig, options: Options) -> DCAConfig:
    """The settings of dual coordinate ascent.

    Raises:
        ConfigError: the loss of the perceptron, or a value out of range.
    """
    return DCAConfig(**asdict(config), **options)


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


def eg_loss(config: LearnerConfig) -> Any:
    """The loss of exponentiated gradient, whose dual it needs in closed form: log-linear or
    max-margin.

    Raises:
        ConfigError: another loss.
    """
    known = {(1.0, 0.0): "log-linear", (float("inf"), 1.0): "max-margin"}
    if (config.beta, config.gamma) not in known:
        raise ConfigError(
            "exponentiated gradient expects the loss log-linear (beta = 1, gamma = 0) or "
            "max-margin (beta = inf, gamma = 1), "
            f"got beta = {config.beta:g}, gamma = {config.gamma:g}"
        )
    return known[config.beta, config.gamma]


LEARNERS: dict[str, Entry] = {
    "eg-online": Entry(
        _eg_online,
        eg_online_config,
        "online exponentiated gradient in the dual, randomised (Collins et al. 2008, Fig. 2-3)",
        continues=True,
        warm_starts=True,
    ),
    "eg-cyclic": Entry(
        _eg_cyclic,
        eg_cyclic_config,
        "online exponentiated gradient in the dual, in corpus order (Collins et al. 2008, "
        "section 7.1)",
        continues=True,
        warm_starts=True,
    ),
    "eg-batch": Entry(
        _eg_batch,
        eg_batch_config,
        "batch exponentiated gradient in the dual (Collins et al. 2008, Fig. 1; Globerson et "
        "al. 2007)",
        continues=True,
    ),
    "dca": Entry(
        _dca,
        dca_config,
        "online dual coordinate ascent for any loss of the family, averaged (Martins et al. "
        "2010, Alg. 1-2)",
        continues=True,
    ),
    "mira": Entry(
        _mira,
        mira_config,
        "k-best MIRA, 1-best by default, averaged (Crammer et al. 2006; McDonald et al. 2005; "
        "Martins et al. 2010, eq. 17)",
        probabilities=False,
        continues=True,
        loss="max-margin",
    ),
    "perceptron": Entry(
        _perceptron,
        perceptron_config,
        "structured perceptron, averaged by default (Collins 2002; McDonald 2009)",
        probabilities=False,
        continues=True,
        loss="perceptron",
        regularised=False,
    ),
    "sgd": Entry(
        _sgd,
        sgd_config,
        "stochastic gradient descent on the primal, any loss (Collins et al. 2008, section 7.1.3)",
        continues=True,
    ),
    "lbfgs": Entry(
        "egparse.experiments.learners.quasi_newton:build_lbfgs",
        "egparse.experiments.learners.quasi_newton:lbfgs_config",
        "L-BFGS on the primal, by SciPy (Collins et al. 2008, section 7)",
        continues=True,
    ),
    "cg": Entry(
        "egparse.experiments.learners.quasi_newton:build_cg",
        "egparse.experiments.learners.quasi_newton:cg_config",
        "conjugate gradient on the primal, by SciPy (Globerson et al. 2007, section 7)",
        continues=True,
    ),
    "parallel-gradient": Entry(
        "egparse.experiments.learners.parallel_gradient:build_parallel_gradient",
        "egparse.experiments.learners.parallel_gradient:parallel_gradient_config",
        "spectral gradient descent, the gradient summed over shards by local processes "
        "(McDonald 2009; Raydan 1997)",
    ),
    "parameter-mixing": Entry(
        "egparse.experiments.learners.parameter_mixing:build_parameter_mixing",
        "egparse.experiments.learners.parameter_mixing:parameter_mixing_config",
        "perceptron or SGD on shards, weights mixed once or after each pass (Mann et al. "
        "2009; McDonald et al. 2010)",
        probabilities=False,
    ),
    "cutting-plane": Entry(
        "egparse.experiments.learners.cutting_plane:build_cutting_plane",
        "egparse.experiments.learners.cutting_plane:cutting_plane_config",
        "structured SVM by cutting planes (Tsochantaridis et al. 2004; Joachims et al. 2009, "
        "Alg. 3)",
        probabilities=False,
        continues=True,
        loss="max-margin",
    ),
    "gis": Entry(
        "egparse.experiments.maxent.adapter:build_gis",
        "egparse.experiments.maxent.adapter:check_gis",
        "generalised iterative scaling, multiclass (Darroch & Ratcliff 1972; Huang et al. "
        "2009, section 2.2)",
        fits=MULTICLASS,
    ),
    "iis": Entry(
        "egparse.experiments.maxent.adapter:build_iis",
        "egparse.experiments.maxent.adapter:check_iis",
        "improved iterative scaling, multiclass (Della Pietra et al. 1997; Huang et al. 2009, "
        "section 2.2)",
        fits=MULTICLASS,
    ),
    "scgis": Entry(
        "egparse.experiments.maxent.adapter:build_scgis",
        "egparse.experiments.maxent.adapter:check_scgis",
        "sequential conditional iterative scaling, multiclass (Goodman 2002; Huang et al. "
        "2009, section 2.2)",
        fits=MULTICLASS,
    ),
    "cd": Entry(
        "egparse.experiments.maxent.adapter:build_cd",
        "egparse.experiments.maxent.adapter:check_cd",
        "coordinate descent on the primal, multiclass (Huang et al. 2009, section 3.2)",
        fits=MULTICLASS,
    ),
    "hmm": Entry(
        "egparse.experiments.learners.counting:build_hmm",
        "egparse.experiments.learners.counting:hmm_config",
        "hidden Markov model by counting, sequences (McDonald 2009)",
        fits=("sequences",),
        regularised=False,
    ),
    "naive-bayes": Entry(
        "egparse.experiments.learners.counting:build_naive_bayes",
        "egparse.experiments.learners.counting:naive_bayes_config",
        "naive Bayes by counting, multiclass (McDonald 2009)",
        fits=MULTICLASS,
        regularised=False,
    ),
    "kernel-perceptron": Entry(
        "egparse.experiments.kernels.learner:build_kernel_perceptron",
        "egparse.experiments.kernels.learner:check_kernel_perceptron",
        "perceptron in the dual with a kernel, classes of vectors (McDonald 2009; Freund & "
        "Schapire 1999)",
        fits=("vectors",),
        regularised=False,
    ),
}
"""Name -> learner; first those of the core."""

CONTINUING = tuple(name for name, entry in LEARNERS.items() if entry.continues)
"""Learners that can continue from a base model."""
