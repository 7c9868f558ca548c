"""What is fixed in the sentences of a batch: by the caller, by the input, and by exceptions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from egparse.errors import EgparseError
from egparse.pipeline.annotate import ABSENT
from egparse.pipeline.components import LABELLER, PARSER, Components
from egparse.pipeline.constraints import (
    BatchConstraints,
    Constraints,
    ResolvedConstraints,
    labels_below,
)
from egparse.sentences import Sentence
from egparse.text.exceptions.table import FixedValues
from egparse.types import Ints


def given_constraints(
    layers: Sequence[str],
    batch: Sequence[Sentence],
    given: Iterator[Constraints] | None,
    respect_input: bool,
) -> list[Constraints]:
    """The constraints of each sentence of a batch: the given ones take precedence over the input's.

    Raises:
        EgparseError: constraints on none of ``layers``, or for fewer sentences.
    """
    from_input = [
        Constraints.of(sentence, layers) if respect_input else Constraints() for sentence in batch
    ]
    if given is None:
        return from_input
    each = list(islice(given, len(batch)))
    if len(each) < len(batch):
        raise EgparseError("expected constraints for every sentence, got fewer")
    constrained = frozenset().union(*(constraints.layers for constraints in each))
    for layer in constrained.difference(layers):
        raise EgparseError(
            f"constraints: expected layers that the model predicts ({', '.join(layers)}), got "
            f"{layer!r}"
        )
    return [given.over(before) for given, before in zip(each, from_input, strict=True)]


def excepted(
    each: Sequence[Constraints] | None,
    fixed: FixedValues,
    batch: Sequence[Sentence],
    layers: Collection[str],
    given: Mapping[str, Ints],
) -> Sequence[Constraints] | None:
    """The constraints ``each`` of a batch, over the values that exceptions fix for the words
    without a ``given`` tag; None if there are none.
    """
    found: list[Constraints] = []
    begin, nothing = -1, Constraints()  # as if words counted from 0 on
    for sentence in batch:
        values = {
            layer: {
                word: value
                for word, value in words.items()
                if layer not in given or given[layer][begin + word] == ABSENT
            }
            for layer, words in fixed.of(sentence.forms, sentence.tokens).items()
            if layer in layers
        }
        found.append(Constraints(values) if values else nothing)
        begin += len(sentence)
    if not any(found):
        return each
    if each is None:
        return found
    return [one.over(other) if other else one for one, other in zip(each, found, strict=True)]


def resolved(model: Components, constraints: BatchConstraints) -> ResolvedConstraints:
    """Constraints in the numbers of a model's labels.

    Raises:
        EgparseError: see ``BatchConstraints.resolve``.
    """
    strings = {layer: labels.strings for layer, labels in model.columns.labels.items()}
    below: dict[str, bool] = {}
    if (labeller := model.get(LABELLER)) is not None:
        below = labels_below(strings["deprels"], labeller.of_root, labeller.of_words)
    single_root = PARSER not in model or model[PARSER].single_root
    return constraints.resolve(model.layers, strings, single_root=single_root, below=below)
