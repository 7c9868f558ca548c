"""The learners by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, Literal, NamedTuple

from egparse.errors import ConfigError
from egparse.learners.dca import DCA, DCAConfig
from egparse.learners.eg.batch import BatchEG, EGBatchConfig
from egparse.learners.eg.online import EGConfig, OnlineEG
from egparse.learners.learner import Learner, LearnerConfig, VectorProblem
from egparse.learners.mira import MIRA, MIRAConfig
from egparse.learners.perceptron import Perceptron, PerceptronConfig
from egparse.learners.sgd import SGD, SGDConfig
from egparse.losses import Loss

Structure = Literal["choices", "sequences", "trees", "vectors"]
"""What the examples of a problem are: choices among labels made one by one, sequences of labels,
trees, or vectors of one class each.
"""

EVERYTHING: tuple[Structure, ...] = ("choices", "sequences", "trees", "vectors")


class Entry(NamedTuple):
    """``build(problem, config, options)``; ``summary`` is a line for people, with the source;
    ``fits`` says what it can learn.
    """

    build: Callable[[VectorProblem, LearnerConfig, dict[str, Any]], Learner]
    summary: str
    fits: tuple[Structure, ...] = EVERYTHING


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
    """With ``published=True`` the options change ``EGConfig.as_published``."""
    own = dict(options)
    base = EGConfig.as_published if own.pop("published", False) else EGConfig
    return OnlineEG(
        problem, replace(base(loss=eg_loss(config), c=config.c, seed=config.seed), **own)
    )


def _eg_cyclic(problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]) -> Learner:
    base = EGConfig.as_published(loss=eg_loss(config), c=config.c, seed=config.seed, order="cyclic")
    return OnlineEG(problem, replace(base, **options))


def _eg_batch(problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]) -> Learner:
    return BatchEG(problem, EGBatchConfig(loss=eg_loss(config), c=config.c, **options))


def _lbfgs(problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]) -> Learner:
    return _quasi_newton("L-BFGS-B", problem, config, options)


def _cg(problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]) -> Learner:
    return _quasi_newton("CG", problem, config, options)


def _quasi_newton(
    method: Literal["L-BFGS-B", "CG"],
    problem: VectorProblem,
    config: LearnerConfig,
    options: dict[str, Any],
) -> Learner:
    from egparse.experiments.learners.quasi_newton import (  # SciPy: dear to import
        QuasiNewton,
        QuasiNewtonConfig,
    )

    own = QuasiNewtonConfig(
        method=method, beta=config.beta, gamma=config.gamma, c=config.c, **options
    )
    return QuasiNewton(problem, own)


def _cutting_plane(
    problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]
) -> Learner:
    from egparse.experiments.learners.cutting_plane import (  # SciPy: dear to import
        CuttingPlane,
        CuttingPlaneConfig,
    )

    own = CuttingPlaneConfig(beta=config.beta, gamma=config.gamma, c=config.c, **options)
    return CuttingPlane(problem, own)


def _dca(problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]) -> Learner:
    return DCA(problem, DCAConfig(**asdict(config), **options))


def _mira(problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]) -> Learner:
    return MIRA(problem, MIRAConfig(**asdict(config), **options))


def _perceptron(problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]) -> Learner:
    return Perceptron(problem, _perceptron_config(config, options))


def _sgd(problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]) -> Learner:
    return SGD(problem, _sgd_config(config, options))


def _parallel_gradient(
    problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]
) -> Learner:
    from egparse.experiments.learners.parallel import (  # multiprocessing: dear to import
        GradientConfig,
        ParallelGradient,
    )

    return ParallelGradient(
        problem, GradientConfig(loss=loss_of_family(config), c=config.c, **options)
    )


def _parameter_mixing(
    problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]
) -> Learner:
    """``inner`` is perceptron or sgd; options that are not of the mixing are its own."""
    from egparse.experiments.learners.parallel import (  # multiprocessing: dear to import
        MixingConfig,
        ParameterMixing,
    )

    own = dict(options)
    name = own.pop("inner", "perceptron")
    mixing = {key: own.pop(key) for key in ("shards", "iterated", "processes") if key in own}
    if name not in ("perceptron", "sgd"):
        raise ConfigError(f"parameter-mixing: expected inner to be perceptron or sgd, got {name!r}")
    inner = _sgd_config(config, own) if name == "sgd" else _perceptron_config(config, own)
    return ParameterMixing(problem, inner, MixingConfig(**mixing))


def _maxent(name: str) -> Callable[[VectorProblem, LearnerConfig, dict[str, Any]], Learner]:
    def build_one(
        problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]
    ) -> Learner:
        from egparse.experiments.maxent.adapter import MaxentAdapter  # SciPy: dear to import
        from egparse.experiments.maxent.registry import ALGORITHMS

        return MaxentAdapter(ALGORITHMS[name], problem, config, options)

    return build_one


def _counting(name: str) -> Callable[[VectorProblem, LearnerConfig, dict[str, Any]], Learner]:
    """Counting minimises no loss and has no C, which is not looked at."""

    def build_one(
        problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]
    ) -> Learner:
        from egparse.experiments.learners.counting import (  # SciPy: dear to import
            Counting,
            CountingConfig,
        )

        _expect_no_loss(f"{name} counts and minimises no loss: it", config)
        return Counting(name, problem, CountingConfig(**options))

    return build_one


def _kernel_perceptron(
    problem: VectorProblem, config: LearnerConfig, options: dict[str, Any]
) -> Learner:
    from egparse.experiments.kernels.kernel_learner import KernelLearner  # SciPy: dear to import

    _expect_no_loss("the kernel perceptron has its own loss: it", config, perceptron=True)
    return KernelLearner(problem, seed=config.seed, **options)


def _expect_no_loss(who: str, config: LearnerConfig, *, perceptron: bool = False) -> None:
    own = [
        (LearnerConfig.beta, LearnerConfig.gamma),
        *([(float("inf"), 0.0)] if perceptron else []),
    ]
    if (config.beta, config.gamma) not in own:
        raise ConfigError(
            f"{who} expects the defaults beta = 1 and gamma = 0, got beta = {config.beta:g}, "
            f"gamma = {config.gamma:g}"
        )


def _perceptron_config(config: LearnerConfig, options: dict[str, Any]) -> PerceptronConfig:
    """The perceptron has its own loss (beta = inf, gamma = 0) and no C, which is not looked at."""
    if (config.beta, config.gamma) not in (
        (LearnerConfig.beta, LearnerConfig.gamma),
        (float("inf"), 0.0),
    ):
        raise ConfigError(
            f"the perceptron expects its own loss (beta = inf, gamma = 0, or the defaults), "
            f"got beta = {config.beta:g}, gamma = {config.gamma:g}"
        )
    return PerceptronConfig(seed=config.seed, **options)


def _sgd_config(config: LearnerConfig, options: dict[str, Any]) -> SGDConfig:
    return SGDConfig(loss=loss_of_family(config), c=config.c, seed=config.seed, **options)


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
    """The loss of EG: its two ends of the family have a dual of the form it needs.

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


MULTICLASS: tuple[Structure, ...] = ("choices", "vectors")

LEARNERS: dict[str, Entry] = {
    "dca": Entry(
        _dca,
        "online dual coordinate ascent for any loss of the family, averaged (Martins et al. 2010, "
        "Alg. 1-2)",
    ),
    "mira": Entry(
        _mira,
        "k-best MIRA, 1-best by default, averaged (Crammer et al. 2006; McDonald et al. 2005; "
        "Martins et al. 2010, eq. 17)",
    ),
    "eg-online": Entry(
        _eg_online,
        "online exponentiated gradient in the dual, randomised (Collins et al. 2008, Fig. 2-3)",
    ),
    "eg-cyclic": Entry(
        _eg_cyclic,
        "online exponentiated gradient in the dual, in corpus order (Collins et al. 2008, section "
        "7.1)",
    ),
    "eg-batch": Entry(
        _eg_batch,
        "batch exponentiated gradient in the dual (Collins et al. 2008, Fig. 1; Globerson et al. "
        "2007)",
    ),
    "lbfgs": Entry(_lbfgs, "L-BFGS on the primal, by SciPy (Collins et al. 2008, section 7)"),
    "cg": Entry(
        _cg, "conjugate gradient on the primal, by SciPy (Globerson et al. 2007, section 7)"
    ),
    "perceptron": Entry(
        _perceptron, "structured perceptron, averaged by default (Collins 2002; McDonald 2009)"
    ),
    "sgd": Entry(
        _sgd,
        "stochastic gradient descent on the primal, any loss (Collins et al. 2008, section 7.1.3)",
    ),
    "parallel-gradient": Entry(
        _parallel_gradient,
        "spectral gradient descent, the gradient summed over shards by local processes (McDonald "
        "2009; Raydan 1997)",
    ),
    "parameter-mixing": Entry(
        _parameter_mixing,
        "perceptron or SGD on shards, weights mixed once or after each pass (Mann et al. 2009; "
        "McDonald et al. 2010)",
    ),
    "cutting-plane": Entry(
        _cutting_plane,
        "structured SVM by cutting planes (Tsochantaridis et al. 2004; Joachims et al. 2009, Alg. "
        "3)",
    ),
    "gis": Entry(
        _maxent("gis"),
        "generalised iterative scaling, multiclass (Darroch & Ratcliff 1972; Huang et al. 2009, "
        "section 2.2)",
        MULTICLASS,
    ),
    "iis": Entry(
        _maxent("iis"),
        "improved iterative scaling, multiclass (Della Pietra et al. 1997; Huang et al. 2009, "
        "section 2.2)",
        MULTICLASS,
    ),
    "scgis": Entry(
        _maxent("scgis"),
        "sequential conditional iterative scaling, multiclass (Goodman 2002; Huang et al. 2009, "
        "section 2.2)",
        MULTICLASS,
    ),
    "cd": Entry(
        _maxent("cd"),
        "coordinate descent on the primal, multiclass (Huang et al. 2009, section 3.2)",
        MULTICLASS,
    ),
    "hmm": Entry(
        _counting("hmm"),
        "hidden Markov model by counting, sequences (McDonald 2009)",
        ("sequences",),
    ),
    "naive-bayes": Entry(
        _counting("naive-bayes"), "naive Bayes by counting, multiclass (McDonald 2009)", MULTICLASS
    ),
    "kernel-perceptron": Entry(
        _kernel_perceptron,
        "perceptron in the dual with a kernel, classes of vectors (McDonald 2009; Freund & "
        "Schapire 1999)",
        ("vectors",),
    ),
}
"""Name -> how to build it."""
