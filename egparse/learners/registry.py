"""The learners by name. Each is imported when its settings are checked or when it is built: what
only names learners, such as a model that is loaded, needs none of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

from egparse.errors import ConfigError
from egparse.extras import import_with_extra
from egparse.learners.learner import Learner, LearnerConfig

if TYPE_CHECKING:
    from egparse.learners.problem import VectorProblem

Structure = Literal["choices", "sequences", "trees", "vectors"]
"""What the examples of a problem are: choices among labels made one by one, sequences of labels,
trees, or vectors of one class each.
"""

EVERYTHING: tuple[Structure, ...] = ("choices", "sequences", "trees", "vectors")
MULTICLASS: tuple[Structure, ...] = ("choices", "vectors")

Options = dict[str, Any]
Builder: TypeAlias = "Callable[[VectorProblem, LearnerConfig, Options], Learner]"
"""A function of the problem, of the settings that all learners share, and of the learner's further
settings by name.
"""

Configure = Callable[[LearnerConfig, Options], object]
"""A function of the same settings, without a problem, that raises where they exclude each other."""


_WRONG_OPTION = re.compile(r"(unexpected|multiple values for) keyword argument ('\w+')")


class Entry(NamedTuple):
    """A learner of the registry.

    ``builder`` is the place of a function, as ``module:function``, which is imported when the
    learner is built. ``configure``, a place too, checks the settings without a problem.
    ``summary`` is one line for people, with the source. ``fits`` lists the structures that it can
    learn. ``probabilities`` says whether exp(score) is fitted as a probability under a loss with
    finite beta, so that marginals of the model mean something. ``loss`` names the only loss of a
    learner that has but one; ``regularised`` says whether it has a regularisation constant C;
    ``warm_starts`` whether it can solve for one C from the solution for another (``eg.path``).
    ``continues`` says whether it can keep the scores of a base model and learn what is added to
    them: learners do that which use a problem by its contract alone (``offset_problem``).
    ``distributions`` says whether it can learn from distributions over structures, which may change
    between passes (``targets``), under a loss with finite beta. ``shards`` says whether its dual
    variables can be divided among several jobs (``shards``); ``gathers`` whether it can gather what
    it needs from shards of the examples on a cluster (``shards.examples``).
    """

    builder: str
    configure: str
    summary: str
    fits: tuple[Structure, ...] = EVERYTHING
    probabilities: bool = True
    continues: bool = False
    loss: str | None = None
    regularised: bool = True
    warm_starts: bool = False
    distributions: bool = False
    shards: bool = False
    gathers: bool = False


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


def check_settings(name: str, config: LearnerConfig, options: Options) -> object:
    """The configuration of a learner; None for unknown ones, which are left to ``build``.

    Raises:
        ConfigError: settings that it refuses whatever its problem, or a package that it needs is
            not installed.
    """
    if name not in LEARNERS:
        return None
    entry = LEARNERS[name]
    check_installed(name)
    configure = cast(Configure, _imported(name, entry.configure))
    return _called(name, lambda: configure(config, options))


def check_installed(name: str) -> None:
    """Raise ConfigError where a learner needs a package that is not installed; unknown learners are
    left to ``build``.
    """
    if name in LEARNERS:
        _imported(name, LEARNERS[name].builder)


def _imported(name: str, place: str) -> Callable[..., Any]:
    """The function at a place."""
    module, _, attribute = place.partition(":")
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


LEARNERS: dict[str, Entry] = {
    "eg-online": Entry(
        "egparse.learners.builders:build_eg_online",
        "egparse.learners.builders:eg_online_config",
        "online exponentiated gradient in the dual, randomised; with published = true as "
        "published (Collins et al. 2008, Fig. 2-3)",
        continues=True,
        distributions=True,
        warm_starts=True,
        shards=True,
    ),
    "eg-cyclic": Entry(
        "egparse.learners.builders:build_eg_cyclic",
        "egparse.learners.builders:eg_cyclic_config",
        "online exponentiated gradient in the dual, in corpus order (Collins et al. 2008, "
        "section 7.1)",
        continues=True,
        distributions=True,
        warm_starts=True,
        shards=True,
    ),
    "eg-2007": Entry(
        "egparse.learners.builders:build_eg_2007",
        "egparse.learners.builders:eg_2007_config",
        "online exponentiated gradient in the dual, in corpus order, a fresh learning rate at each "
        "visit (Globerson et al. 2007, Fig. 2 and section 7)",
        continues=True,
        distributions=True,
        shards=True,
    ),
    "eg-batch": Entry(
        "egparse.learners.builders:build_eg_batch",
        "egparse.learners.builders:eg_batch_config",
        "batch exponentiated gradient in the dual (Collins et al. 2008, Fig. 1; Globerson et "
        "al. 2007)",
        continues=True,
        distributions=True,
    ),
    "dca": Entry(
        "egparse.learners.builders:build_dca",
        "egparse.learners.builders:dca_config",
        "online dual coordinate ascent for any loss of the family, averaged (Martins et al. "
        "2010, Alg. 1-2)",
        continues=True,
        distributions=True,
        shards=True,
    ),
    "sdca": Entry(
        "egparse.learners.builders:build_sdca",
        "egparse.learners.builders:sdca_config",
        "dual coordinate ascent that remembers its dual variables, any loss of the family "
        "(Shalev-Shwartz & Zhang 2013; Lacoste-Julien et al. 2013)",
        continues=True,
        shards=True,
    ),
    "mira": Entry(
        "egparse.learners.builders:build_mira",
        "egparse.learners.builders:mira_config",
        "k-best MIRA, 1-best by default, averaged (Crammer et al. 2006; McDonald et al. 2005; "
        "Martins et al. 2010, eq. 17)",
        probabilities=False,
        continues=True,
        loss="max-margin",
    ),
    "perceptron": Entry(
        "egparse.learners.builders:build_perceptron",
        "egparse.learners.builders:perceptron_config",
        "structured perceptron, averaged by default (Collins 2002; McDonald 2009)",
        probabilities=False,
        continues=True,
        loss="perceptron",
        regularised=False,
    ),
    "sgd": Entry(
        "egparse.learners.builders:build_sgd",
        "egparse.learners.builders:sgd_config",
        "stochastic gradient descent on the primal, any loss (Collins et al. 2008, section 7.1.3)",
        continues=True,
        distributions=True,
    ),
    "sag": Entry(
        "egparse.experiments.learners.sag:build_sag",
        "egparse.experiments.learners.sag:sag_config",
        "stochastic average gradient, or SAGA, with line search and non-uniform sampling "
        "(Schmidt et al. 2015; Defazio et al. 2014)",
        continues=True,
    ),
    "adagrad": Entry(
        "egparse.experiments.learners.adagrad:build_adagrad",
        "egparse.experiments.learners.adagrad:adagrad_config",
        "stochastic gradient descent with a learning rate for every weight, any loss (Duchi et "
        "al. 2011)",
        continues=True,
        distributions=True,
    ),
    "lbfgs": Entry(
        "egparse.experiments.learners.quasi_newton:build_lbfgs",
        "egparse.experiments.learners.quasi_newton:lbfgs_config",
        "L-BFGS on the primal, by SciPy (Collins et al. 2008, section 7)",
        continues=True,
        distributions=True,
        gathers=True,
    ),
    "cg": Entry(
        "egparse.experiments.learners.quasi_newton:build_cg",
        "egparse.experiments.learners.quasi_newton:cg_config",
        "conjugate gradient on the primal, by SciPy (Globerson et al. 2007, section 7)",
        continues=True,
        distributions=True,
        gathers=True,
    ),
    "parallel-gradient": Entry(
        "egparse.experiments.learners.parallel_gradient:build_parallel_gradient",
        "egparse.experiments.learners.parallel_gradient:parallel_gradient_config",
        "spectral gradient descent, the gradient summed over shards by local processes "
        "(McDonald 2009; Raydan 1997)",
        gathers=True,
    ),
    "parameter-mixing": Entry(
        "egparse.experiments.learners.parameter_mixing:build_parameter_mixing",
        "egparse.experiments.learners.parameter_mixing:parameter_mixing_config",
        "perceptron or SGD on shards, weights mixed once or after each pass, or another "
        "learner, each shard trained to the end (Mann et al. 2009; McDonald et al. 2010)",
        probabilities=False,
        gathers=True,
    ),
    "cutting-plane": Entry(
        "egparse.experiments.learners.cutting_plane:build_cutting_plane",
        "egparse.experiments.learners.cutting_plane:cutting_plane_config",
        "structured SVM by cutting planes with one slack (Joachims et al. 2009, Alg. 3)",
        probabilities=False,
        continues=True,
        loss="max-margin",
    ),
    "n-slack": Entry(
        "egparse.experiments.learners.n_slack:build_n_slack",
        "egparse.experiments.learners.n_slack:n_slack_config",
        "structured SVM by working sets of each example (Tsochantaridis et al. 2004, Alg. 1)",
        probabilities=False,
        continues=True,
        loss="max-margin",
    ),
    "frank-wolfe": Entry(
        "egparse.experiments.learners.frank_wolfe:build_frank_wolfe",
        "egparse.experiments.learners.frank_wolfe:frank_wolfe_config",
        "structured SVM by block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013; Osokin et "
        "al. 2016)",
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
    "cd-exact": Entry(
        "egparse.experiments.maxent.adapter:build_cd_exact",
        "egparse.experiments.maxent.adapter:check_cd_exact",
        "coordinate descent with exact sub-problems, multiclass (Huang et al. 2009, section 3.2)",
        fits=MULTICLASS,
    ),
    "tron": Entry(
        "egparse.experiments.maxent.adapter:build_tron",
        "egparse.experiments.maxent.adapter:check_tron",
        "trust region Newton, multiclass (Lin, Weng & Keerthi 2008)",
        fits=MULTICLASS,
    ),
    "dual-cd": Entry(
        "egparse.experiments.maxent.adapter:build_dual_cd",
        "egparse.experiments.maxent.adapter:check_dual_cd",
        "coordinate descent on the dual, multiclass (Yu, Huang & Lin 2011)",
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
        "perceptron in the dual with a kernel, classes of vectors, strings or trees (McDonald "
        "2009; Freund & Schapire 1999)",
        fits=("vectors",),
        regularised=False,
    ),
}
"""Name -> learner; first those of the core."""

CONTINUING = tuple(name for name, entry in LEARNERS.items() if entry.continues)
"""Learners that can continue from a base model."""

FROM_DISTRIBUTIONS = tuple(name for name, entry in LEARNERS.items() if entry.distributions)
"""Learners that can learn from distributions over structures."""

SHARDED = tuple(name for name, entry in LEARNERS.items() if entry.shards)
"""Learners whose dual variables several jobs can share."""

GATHERED = tuple(name for name, entry in LEARNERS.items() if entry.gathers)
"""Learners that can gather what they need from shards on a cluster."""
