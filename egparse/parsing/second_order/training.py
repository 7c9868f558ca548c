"""Training the second-order parser: first its pruner, then all else over the arcs that the pruner
leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from egparse.errors import ConfigError, EgparseError
from egparse.features.arcs import compile_arc_templates
from egparse.features.word_table import Columns, Words
from egparse.fitting.choose_learner import build_learner, fits, is_probabilistic
from egparse.fitting.config import DEFAULT_LEARNER, ParserConfig, SecondOrderConfig
from egparse.fitting.optimise import INTERRUPTED, Best, optimise
from egparse.fitting.progress import Listener
from egparse.learners.learner import Learner, State
from egparse.learners.offset_problem import scores_of
from egparse.parsing.arc_parser import STEPS, Parser, sentence_values, train_parser
from egparse.parsing.arc_problem import Trees
from egparse.parsing.columns import ARC_TEMPLATES, BETWEEN, ArcColumns
from egparse.parsing.label_candidates import build_dictionary, label_ranks, rank_labels
from egparse.parsing.second_order.features import (
    GRANDPARENT_TEMPLATES,
    LABEL_TEMPLATES,
    SIBLING_TEMPLATES,
    compile_templates,
)
from egparse.parsing.second_order.parser import (
    MARGIN_SHARPNESS,
    SCHEDULE,
    Order,
    Pruning,
    SecondOrderParser,
    scratch_for,
    training_parts,
)
from egparse.parsing.second_order.problem import SecondOrderProblem
from egparse.storage.quantised_weights import as_stored
from egparse.types import Ints

GOLD_THETA = 1.5
"""Initial theta of each part of a correct tree: a word has four to five."""


def train_second_order(
    words: Words,
    heads: Sequence[Ints],
    deprels: Sequence[Sequence[str]],
    columns: Columns,
    config: SecondOrderConfig,
    arcs: ParserConfig,
    *,
    trees: Trees,
    seed: int,
    listener: Listener,
    score: Callable[[Parser | SecondOrderParser], float] | None = None,
    base: SecondOrderParser | None = None,
) -> Best[Any]:
    """Train on words with filled tag columns; ``heads[i]`` and ``deprels[i]`` (empty: unknown) are
    those of sentence i.

    ``arcs`` configures the pruner, an arc-factored parser. It is the parser that is returned if the
    user stops its training, or all else before the first pass is over; with a ``base``, over the
    same columns, from which training goes on, the base is.

    Raises:
        ConfigError: see ``check_second_order``.
        EgparseError: a base that does not say which labels its weights are for.
    """
    if base is None:
        check_second_order(config, trees)
    is_exact = _is_exact(config, trees) if base is None else base.order.exact
    texts = _texts(config) if base is None else dict(base.texts)
    if base is not None and len(base.dictionary.labels) and not base.labels:
        raise EgparseError(
            "the base model is of an egparse that did not store which arc labels the weights of "
            "its parser are for: "
            "expected one trained by this version"
        )
    pruned: Best[Any] = train_parser(
        words,
        heads,
        columns,
        _pruner_config(config, arcs),
        trees=trees,
        seed=seed,
        listener=listener,
        task="pruner",
        base=None if base is None else base.pruner,
    )
    if pruned.interrupted:
        return pruned if base is None else pruned._replace(model=base)
    try:
        learner, state, snapshot = _prepare(
            words,
            heads,
            deprels,
            pruned.model,
            config,
            texts=texts,
            is_exact=is_exact,
            seed=seed,
            base=base,
        )
        return optimise(learner, state, config.stop, snapshot, score, "parser", listener)
    except KeyboardInterrupt:
        return pruned._replace(model=base or pruned.model, reason=INTERRUPTED)


def check_second_order(config: SecondOrderConfig, trees: Trees) -> None:
    """Compile what can be compiled before anything is trained.

    Raises:
        ConfigError: a template that cannot be read, or exact inference for non-projective trees.
    """
    _is_exact(config, trees)
    names = ArcColumns.names
    compile_templates(compile_arc_templates(ARC_TEMPLATES, names, BETWEEN), names, **_texts(config))


def _is_exact(config: SecondOrderConfig, trees: Trees) -> bool:
    if config.inference == "exact" and trees != "projective":
        raise ConfigError(
            'second_order.inference: expected "loopy" (or "auto") for non-projective trees, got '
            '"exact"'
        )
    return config.inference != "loopy" and trees == "projective"


def _texts(config: SecondOrderConfig) -> dict[str, tuple[str, ...]]:
    return {
        "siblings": config.sibling_templates or SIBLING_TEMPLATES,
        "grandparents": config.grandparent_templates or GRANDPARENT_TEMPLATES,
        "labels": config.label_templates or LABEL_TEMPLATES,
    }


def _pruner_config(config: SecondOrderConfig, arcs: ParserConfig) -> ParserConfig:
    """What ``arcs`` says, for so many passes; by the default learner where its own gives no
    probabilities or learns no trees.
    """
    stop = replace(arcs.stop, iterations=config.pruner_passes, patience=0)
    if not is_probabilistic(arcs) or not fits(arcs):
        arcs = replace(
            arcs, learner=DEFAULT_LEARNER, options={}, loss="log-linear", beta=None, gamma=None
        )
    return replace(arcs, stop=stop, bits=min(arcs.bits, config.pruner_bits))


def _with_margin(config: SecondOrderConfig) -> SecondOrderConfig:
    """The configuration with its margin for gamma, if the learner is the default one and nothing
    else is said of the loss.
    """
    is_silent = config.loss == "log-linear" and config.beta is None and config.gamma is None
    is_default = config.learner == SecondOrderConfig.learner
    return replace(config, gamma=config.margin) if is_silent and is_default else config


def _prepare(
    words: Words,
    heads: Sequence[Ints],
    deprels: Sequence[Sequence[str]],
    pruner: Parser,
    config: SecondOrderConfig,
    *,
    texts: dict[str, tuple[str, ...]],
    is_exact: bool,
    seed: int,
    base: SecondOrderParser | None,
) -> tuple[Learner, Any, Callable[[State], SecondOrderParser]]:
    """Prune, encode the sentences, lay out parts, weights and duals."""
    sentences = sentence_values(pruner.columns.values(words), words)
    ranked = rank_labels(deprels) if config.labels else ()
    if base is not None:
        ranked = (*base.labels, *(label for label in ranked if label not in base.labels))[:255]
    ranks = label_ranks(deprels, ranked, [len(own) for own in heads])
    templates = compile_templates(pruner.templates, pruner.columns.names, **texts)
    upos = pruner.columns.names.index("upos")
    untrained = SecondOrderParser(
        pruner,
        Pruning(config.heads, config.share),
        Order(
            config.siblings,
            config.grandparents,
            pruner.trees == "projective",
            pruner.single_root,
            is_exact,
        ),
        build_dictionary(
            sentences, heads, ranks, len(ranked), upos, None if base is None else base.dictionary
        ),
        texts,
        templates,
        np.zeros(1, dtype=np.float32),
        config.sharpness if is_probabilistic(config) else MARGIN_SHARPNESS,
        labels=ranked,
    )
    kernel = untrained.kernel()
    scratch = scratch_for(max(len(own) for own in heads), untrained.order)
    found = [
        training_parts(own, correct, own_ranks, kernel, scratch)
        for own, correct, own_ranks in zip(sentences, heads, ranks, strict=True)
    ]
    problem = SecondOrderProblem(
        codes=[codes for codes, _ in found],
        parts=[parts for _, parts in found],
        heads=heads,
        ranks=ranks,
        templates=templates,
        bits=config.bits if base is None else len(base.weights).bit_length() - 1,
        trees=pruner.trees,
        single_root=pruner.single_root,
        inference="exact" if is_exact else "loopy",
        schedule=SCHEDULE,
    )
    offsets = None
    if base is not None:
        problem.weights[:] = base.weights
        offsets = scores_of(problem)
    learner = build_learner(problem, _with_margin(config), seed, offsets, **STEPS)
    state = learner.initialise(GOLD_THETA)

    def snapshot(state: State) -> SecondOrderParser:
        weights = problem.weights * np.float32(state.scale)
        return replace(
            untrained, weights=as_stored(weights if base is None else base.weights + weights)
        )

    return learner, state, snapshot
