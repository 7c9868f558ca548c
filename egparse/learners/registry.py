"""The learners by name. Each is imported when its settings are checked or when it is built: what
only names learners, such as a model that is loaded, needs none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, get_args

from egparse.errors import ConfigError, import_with_extra

if TYPE_CHECKING:
    from egparse.learners.learner import Learner, LearnerConfig
    from egparse.learners.problem import Problem

Structure = Literal["choices", "sequences", "trees", "vectors"]
"""What the examples of a problem are: choices among labels made one by one, sequences of labels,
trees, or vectors of one class each.
"""

EVERYTHING: tuple[Structure, ...] = ("choices", "sequences", "trees", "vectors")
MULTICLASS: tuple[Structure, ...] = ("choices", "vectors")


class Entry(NamedTuple):
    """A learner of the registry.

    ``place`` is that of its class, as ``module:class``, which is imported when it is needed.
    ``summary`` is one line for people, with the source. ``further`` is the place of a class of
    experiments with more options, which takes its place where one of them is given. ``fits`` lists
    the structures that it can learn. ``probabilities`` says whether exp(score) is fitted as a
    probability under a loss with finite beta, so that marginals of the model mean something.
    ``loss`` names the only loss of a learner that has but one; ``regularised`` says whether it has
    a regularisation constant C; ``warm_starts`` whether it can solve for one C from the solution
    for another (``eg.path``). ``continues`` says whether it can keep the scores of a base model and
    learn what is added to them: learners do that which use a problem by its contract alone
    (``offset_problem``). ``distributions`` says whether it can learn from distributions over
    structures, which may change between passes (``completion``), under a loss with finite beta.
    ``shards`` says whether its dual variables can be divided among the nodes of a cluster;
    ``gathers`` whether it can gather what it needs from shards of the examples there;
    ``checkpoints`` whether its state can be saved, which that of SciPy's optimisers cannot.
    """

    place: str
    summary: str
    further: str = ""
    fits: tuple[Structure, ...] = EVERYTHING
    probabilities: bool = True
    continues: bool = False
    loss: str | None = None
    regularised: bool = True
    warm_starts: bool = False
    distributions: bool = False
    shards: bool = False
    gathers: bool = False
    checkpoints: bool = True


def build(name: str, problem: Problem, config: LearnerConfig, **options: Any) -> Learner:
    """A learner for a problem. ``options`` are the settings that only this learner has.

    Raises:
        ConfigError: an unknown learner, one that does not fit the loss or the options, or one that
            needs a package which is not installed.
    """
    if name not in LEARNERS:
        raise ConfigError(f"expected a learner among {', '.join(LEARNERS)}, got {name!r}")
    settings = check_settings(name, config, options)
    return class_of(name, options)(problem, settings)  # type: ignore[call-arg]


def check_settings(name: str, config: LearnerConfig, options: Mapping[str, Any]) -> Any:
    """The configuration of a learner; None for unknown ones, which are left to ``build``.

    Raises:
        ConfigError: settings that it refuses whatever its problem, or a package that it needs is
            not installed.
    """
    if name not in LEARNERS:
        return None
    try:
        return class_of(name, options).config_type.configured(config, options)
    except ConfigError as error:
        if str(error).startswith(("unknown option", "no option")):
            raise ConfigError(f"learner {name}: {error}") from None
        raise


def class_of(name: str, options: Collection[str] = ()) -> type[Learner]:
    """The class of a learner with these options.

    Raises:
        ConfigError: a package that it needs is not installed.
    """
    entry = LEARNERS[name]
    found = _imported(name, entry.place)
    if entry.further and not {*options} <= {*found.config_type.options()}:
        return _imported(name, entry.further)
    return found


def options_of(name: str) -> dict[str, Any]:
    """The options of a learner: name -> type with its range, which its configuration declares."""
    entry = LEARNERS[name]
    found = _imported(name, entry.further or entry.place).config_type.options()
    return {
        option: Annotated[(kind, *ranges)] if ranges else kind
        for option, hint in found.items()
        for kind, *ranges, meaning in [get_args(hint)]
        if isinstance(meaning, str)
    }


def check_installed(name: str) -> None:
    """Raise ConfigError where a learner needs a package that is not installed; unknown learners are
    left to ``build``.
    """
    if name in LEARNERS:
        _imported(name, LEARNERS[name].place)


def _imported(name: str, place: str) -> type[Learner]:
    module, _, attribute = place.partition(":")
    found: type[Learner] = getattr(import_with_extra(module, f"learner {name}"), attribute)
    return found


LEARNERS: dict[str, Entry] = {
    "eg-online": Entry(
        "egparse.learners.eg.online:OnlineEG",
        "online exponentiated gradient in the dual, randomised; with published = true as "
        "published (Collins et al. 2008, Fig. 2-3)",
        further="egparse.experiments.learners.published_eg:PublishedEG",
        continues=True,
        distributions=True,
        warm_starts=True,
        shards=True,
    ),
    "eg-cyclic": Entry(
        "egparse.experiments.learners.published_eg:CyclicEG",
        "online exponentiated gradient in the dual, in corpus order (Collins et al. 2008, "
        "section 7.1)",
        continues=True,
        distributions=True,
        warm_starts=True,
    ),
    "eg-2007": Entry(
        "egparse.experiments.learners.published_eg:EG2007",
        "online exponentiated gradient in the dual, in corpus order, a fresh learning rate at each "
        "visit (Globerson et al. 2007, Fig. 2 and section 7)",
        continues=True,
        distributions=True,
    ),
    "eg-batch": Entry(
        "egparse.experiments.learners.batch_eg:BatchEG",
        "batch exponentiated gradient in the dual (Collins et al. 2008, Fig. 1; Globerson et "
        "al. 2007)",
        continues=True,
        distributions=True,
    ),
    "dca": Entry(
        "egparse.learners.dca:DCA",
        "online dual coordinate ascent for any loss of the family, averaged (Martins et al. "
        "2010, Alg. 1-2)",
        continues=True,
        distributions=True,
        shards=True,
    ),
    "sdca": Entry(
        "egparse.learners.sdca:SDCA",
        "dual coordinate ascent that remembers its dual variables, any loss of the family "
        "(Shalev-Shwartz & Zhang 2013; Lacoste-Julien et al. 2013)",
        continues=True,
        shards=True,
    ),
    "mira": Entry(
        "egparse.learners.mira:MIRA",
        "k-best MIRA, 1-best by default, averaged (Crammer et al. 2006; McDonald et al. 2005; "
        "Martins et al. 2010, eq. 17)",
        probabilities=False,
        continues=True,
        loss="max-margin",
    ),
    "perceptron": Entry(
        "egparse.learners.perceptron:Perceptron",
        "structured perceptron, averaged by default (Collins 2002; McDonald 2009)",
        probabilities=False,
        continues=True,
        loss="perceptron",
        regularised=False,
    ),
    "sgd": Entry(
        "egparse.learners.sgd:SGD",
        "stochastic gradient descent on the primal, any loss (Collins et al. 2008, section 7.1.3)",
        continues=True,
        distributions=True,
    ),
    "lbfgs": Entry(
        "egparse.experiments.learners.quasi_newton:QuasiNewton",
        "L-BFGS on the primal, by SciPy (Collins et al. 2008, section 7)",
        continues=True,
        distributions=True,
        gathers=True,
        checkpoints=False,
    ),
    "cg": Entry(
        "egparse.experiments.learners.quasi_newton:ConjugateGradient",
        "conjugate gradient on the primal, by SciPy (Globerson et al. 2007, section 7)",
        continues=True,
        distributions=True,
        gathers=True,
        checkpoints=False,
    ),
    "n-slack": Entry(
        "egparse.experiments.learners.n_slack:NSlack",
        "structured SVM by working sets of each example (Tsochantaridis et al. 2004, Alg. 1)",
        probabilities=False,
        continues=True,
        loss="max-margin",
    ),
    "frank-wolfe": Entry(
        "egparse.experiments.learners.frank_wolfe:FrankWolfe",
        "structured SVM by block-coordinate Frank-Wolfe (Lacoste-Julien et al. 2013)",
        probabilities=False,
        continues=True,
        loss="max-margin",
    ),
    "gis": Entry(
        "egparse.experiments.learners.maxent.scaling:GIS",
        "generalised iterative scaling, multiclass (Darroch & Ratcliff 1972; Huang et al. "
        "2009, section 2.2)",
        fits=MULTICLASS,
    ),
    "iis": Entry(
        "egparse.experiments.learners.maxent.scaling:IIS",
        "improved iterative scaling, multiclass (Della Pietra et al. 1997; Huang et al. 2009, "
        "section 2.2)",
        fits=MULTICLASS,
    ),
    "scgis": Entry(
        "egparse.experiments.learners.maxent.scaling:SCGIS",
        "sequential conditional iterative scaling, multiclass (Goodman 2002; Huang et al. "
        "2009, section 2.2)",
        fits=MULTICLASS,
    ),
    "cd": Entry(
        "egparse.experiments.learners.maxent.scaling:CoordinateDescent",
        "coordinate descent on the primal, multiclass (Huang et al. 2009, section 3.2)",
        fits=MULTICLASS,
    ),
    "cd-exact": Entry(
        "egparse.experiments.learners.maxent.scaling:ExactCoordinateDescent",
        "coordinate descent with exact sub-problems, multiclass (Huang et al. 2009, section 3.2)",
        fits=MULTICLASS,
    ),
    "tron": Entry(
        "egparse.experiments.learners.maxent.tron:TrustRegionNewton",
        "trust region Newton, multiclass (Lin, Weng & Keerthi 2008)",
        fits=MULTICLASS,
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
