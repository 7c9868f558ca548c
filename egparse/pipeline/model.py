"""A model: splitter, taggers, parser and labeller over one set of columns, from words to annotated
sentences and to a file and back.
"""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from egparse.errors import EgparseError, ModelFileError
from egparse.features.form_statistics import FormStatistics
from egparse.features.forms import Lexicon
from egparse.features.vocabulary import Vocabulary
from egparse.features.word_table import Columns, Words
from egparse.fitting.choose_learner import was_probabilistic
from egparse.layers import TAG_LAYERS
from egparse.parsing.arc_parser import Parser, ScoredTree
from egparse.parsing.constraints import ArcLimits
from egparse.parsing.second_order.parser import SecondOrderParser
from egparse.pipeline.constraints import (
    LAYERS,
    BatchConstraints,
    Constraints,
    LabelLimits,
    labels_below,
)
from egparse.schemes import to_iob2
from egparse.sentences import MISSING, Sentence
from egparse.splitting.splitter import SPLITTER, Splitter
from egparse.storage.model_file import read_model, write_model
from egparse.tagging.labeller import Labeller
from egparse.tagging.strongest_features import strongest_attributes
from egparse.tagging.tagger import (
    LabelsWithProbabilities,
    Tagger,
    iob2_kinds,
    without_probabilities,
)
from egparse.types import Floats, Ints, Mask

BATCH_WORDS = 8_000
"""Words annotated at a time: enough to make calls cheap, few enough to stay in the processor's
cache.
"""


class ScoredSentence(NamedTuple):
    """A sentence with one of its trees, and the log probability of that tree in nats."""

    sentence: Sentence
    log_probability: float


@dataclass(frozen=True)
class Model:
    """Everything that annotates; immutable, so that threads may share it. ``record`` says how it
    was trained.

    ``splitter`` finds the sentences of plain text; ``annotate`` keeps to those that it is given.
    """

    columns: Columns
    taggers: Mapping[str, Tagger]
    parser: Parser | SecondOrderParser | None = None
    labeller: Labeller | None = None
    language: str = "en"
    record: Mapping[str, Any] = field(default_factory=dict)
    config_table: Mapping[str, Any] = field(default_factory=dict)
    splitter: Splitter | None = None

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers that the model fills, in the order in which it does."""
        heads = ("heads",) if self.parser else ()
        labels = ("deprels",) if self.labeller else ()
        return (*(layer for layer in TAG_LAYERS if layer in self.taggers), *heads, *labels)

    @property
    def forms(self) -> frozenset[str]:
        """The forms of the training corpus."""
        return frozenset(self.columns.lexicon.forms)

    @property
    def probabilistic(self) -> tuple[str, ...]:
        """The layers whose values the model can say the probability of: not those of max-margin and
        perceptron models.
        """
        return tuple(layer for layer in self.layers if was_probabilistic(self.config_table, layer))

    def annotate(
        self,
        sentences: Iterable[Sentence],
        *,
        gold_tags: bool = False,
        constraints: Iterable[Constraints] | None = None,
        respect_input: bool = False,
        marginals: bool | Collection[str] = False,
    ) -> Iterator[Sentence]:
        """Copies of the sentences with the model's layers filled, batch by batch, in order.

        Layers are predicted from the words alone, predicted tags feeding the tasks after them. With
        ``gold_tags`` the UPOS, XPOS and FEATS that the sentences bring are kept and used; a layer
        that a sentence lacks is predicted.

        ``constraints``, one for each sentence, say what must and must not be predicted: the rest is
        the best completion given that. With ``respect_input`` every value that a sentence brings in
        one of the model's layers is fixed (unless ``constraints`` fix another one); missing are
        ``MISSING`` and ``MISSING_HEAD``.

        With ``marginals``, of all layers or of those named, ``Sentence.probabilities`` says how
        probable each value is: a tag and a head by its marginal over all sequences and trees that
        the constraints allow, given the layers before it; the label of an arc given the tree. What
        is fixed has probability 1; tags that are kept because of ``gold_tags``, and values that the
        model does not know, have none. It takes a second inference.

        Raises:
            EgparseError: constraints that nothing can meet, or on a layer that the model does not
                predict; ``marginals`` of a layer that the model does not predict or knows no
                probabilities of (see ``probabilistic``).
            ValueError: fewer or more constraints than sentences.
        """
        asked = self.require_probabilities(marginals)
        if constraints is None and not respect_input:
            for batch in batches(sentences, BATCH_WORDS):
                yield from self._annotate(batch, gold_tags, asked)
            return
        given = constraints if constraints is None else iter(constraints)
        number = 1
        for batch in batches(sentences, BATCH_WORDS):
            own = self._constraints(batch, given, respect_input)
            limits = BatchConstraints(batch, own, number) if any(own) else None
            yield from self._annotate(batch, gold_tags, asked, limits)
            number += len(batch)
        if given is not None and next(given, None) is not None:
            raise ValueError(f"expected constraints for {number - 1} sentences, got more")

    def k_best(
        self, sentences: Iterable[Sentence], k: int, *, gold_tags: bool = False
    ) -> Iterator[list[ScoredSentence]]:
        """For each sentence copies with its ``k`` most probable trees, best first, and the log
        probability of each; see ``Parser.k_best``.

        Tags are those of ``annotate``, with ``gold_tags`` as there; labels are the best given the
        tree, and no part of its probability. That is nan where the model knows no probabilities of
        heads (see ``probabilistic``).

        Raises:
            ValueError: k < 1.
            EgparseError: a model without a parser, or a sentence of more words than are parsed
                whole.
        """
        if self.parser is None:
            raise EgparseError(
                f"k best trees: expected a model with a parser, got one of {', '.join(self.layers)}"
            )
        for batch in batches(sentences, BATCH_WORDS):
            words, filled, _ = self._annotate_tags(batch, gold_tags, frozenset(), None)
            trees = self.parser.k_best(words, k)
            by_rank = [
                list(self._with_trees(batch, words, filled, trees, rank))
                for rank in range(max(map(len, trees)))
            ]
            for i, own in enumerate(trees):
                yield [
                    ScoredSentence(
                        by_rank[rank][i],
                        tree.log_probability if "heads" in self.probabilistic else np.nan,
                    )
                    for rank, tree in enumerate(own)
                ]

    def _with_trees(
        self,
        batch: Sequence[Sentence],
        words: Words,
        tags: Mapping[str, list[str]],
        trees: Sequence[Sequence[ScoredTree]],
        rank: int,
    ) -> Iterator[Sentence]:
        """The sentences with tags and the trees of the rank; those that have none of it with the
        last that they have.
        """
        heads = np.zeros(len(words.form_ids), dtype=np.int32)
        for own, first, end in zip(trees, words.starts, words.starts[1:], strict=False):
            if own:
                heads[first:end] = own[min(rank, len(own) - 1)].heads
        filled = dict(tags)
        if self.labeller is not None:
            filled["deprels"] = self._strings(
                "deprels", self.labeller.predict(words, heads, self.columns)
            )
        return _put_back(batch, words, filled, heads, {})

    def _constraints(
        self, batch: Sequence[Sentence], given: Iterator[Constraints] | None, respect_input: bool
    ) -> list[Constraints]:
        """What each sentence of a batch must keep to: the next of the given constraints, and what
        it brings.
        """
        brought = [
            Constraints.of(own, self.layers) if respect_input else Constraints() for own in batch
        ]
        if given is None:
            return brought
        own = list(islice(given, len(batch)))
        if len(own) < len(batch):
            raise ValueError("expected constraints for every sentence, got fewer")
        for layer in (
            frozenset().union(*(constraints.layers for constraints in own)).difference(self.layers)
        ):
            layers = ", ".join(self.layers)
            raise EgparseError(
                f"constraints: expected layers that the model predicts ({layers}), got {layer!r}"
            )
        return [constraints.over(before) for constraints, before in zip(own, brought, strict=True)]

    def require_probabilities(self, marginals: bool | Collection[str] = True) -> frozenset[str]:
        """The layers whose probabilities are asked for by the option of ``annotate``.

        Raises:
            EgparseError: one that the model does not predict or knows no probabilities of.
        """
        asked = frozenset(self.layers if marginals is True else marginals or ())
        if not asked <= frozenset(self.layers):
            unknown = ", ".join(sorted(asked.difference(self.layers)))
            raise EgparseError(
                f"marginals: expected layers of the model ({', '.join(self.layers)}), got {unknown}"
            )
        without = [layer for layer in LAYERS if layer in asked and layer not in self.probabilistic]
        if without:
            wanted = (
                "expected layers learned with a loss that has probabilities, such as log-linear"
            )
            raise EgparseError(f"marginals: {wanted}, got {', '.join(without)}")
        return asked

    def _annotate(
        self,
        batch: Sequence[Sentence],
        gold_tags: bool,
        asked: frozenset[str],
        limits: BatchConstraints | None = None,
    ) -> Iterator[Sentence]:
        words, filled, probabilities = self._annotate_tags(batch, gold_tags, asked, limits)
        heads = None
        if self.parser is not None:
            arcs = self._arc_limits(self.parser, limits)
            if "heads" in asked:
                heads, probabilities["heads"] = self.parser.predict_with_probabilities(words, arcs)
            else:
                heads = self.parser.predict(words, arcs)
            if limits is not None:
                limits.check("heads", heads, "a tree")
            if self.labeller is not None:
                own = (
                    limits.labels("deprels", self.columns.labels["deprels"].strings)
                    if limits is not None
                    else None
                )
                labels, found = self._arc_labels(
                    self.labeller, words, heads, own, "deprels" in asked
                )
                filled["deprels"] = self._strings("deprels", labels)
                if own is not None:
                    own.keep_unknown(filled["deprels"])
                    found[list(own.unknown)] = np.nan
                probabilities["deprels"] = found
        told = {layer: own for layer, own in probabilities.items() if layer in asked}
        yield from _put_back(batch, words, filled, heads, told)

    def _annotate_tags(
        self,
        batch: Sequence[Sentence],
        gold_tags: bool,
        asked: frozenset[str],
        limits: BatchConstraints | None,
    ) -> tuple[Words, dict[str, list[str]], dict[str, Floats]]:
        """The words of a batch with filled columns of tags, the tags and their probabilities by
        layer.
        """
        words = self.columns.words([sentence.forms for sentence in batch])
        for layer in self.columns.given(self.taggers):
            self.columns.fill(words, layer, self.columns.label_numbers(batch, layer))
        filled: dict[str, list[str]] = {}
        probabilities: dict[str, Floats] = {}
        for layer in TAG_LAYERS:
            if layer not in self.taggers:
                continue
            own = (
                limits.labels(layer, self.columns.labels[layer].strings)
                if limits is not None
                else None
            )
            labels, found = self._tags(layer, words, own, layer in asked)
            if own is not None and limits is not None:
                limits.check(layer, labels, "a sequence")
                labels[list(own.unknown)] = -1
            if gold_tags and layer != "spans":
                present, kept = _given(batch, layer)
                if own is not None:
                    present[own.fixed] = False
                labels = np.where(present, self.columns.label_numbers(batch, layer), labels)
                found[present] = np.nan
                strings = self._strings(layer, labels)
                filled[layer] = [
                    old if own else new
                    for own, old, new in zip(present, kept, strings, strict=True)
                ]
            else:
                filled[layer] = self._strings(layer, labels)
            if own is not None:
                own.keep_unknown(filled[layer])
                found[list(own.unknown)] = np.nan
            self.columns.fill(words, layer, labels)
            probabilities[layer] = found
        return words, filled, probabilities

    def _tags(
        self, layer: str, words: Words, own: LabelLimits | None, with_probabilities: bool
    ) -> LabelsWithProbabilities:
        """The labels of a layer of tags, with their probabilities or nan."""
        tagger, limits = self.taggers[layer], own.limits if own is not None else None
        if with_probabilities:
            kinds = iob2_kinds(self.columns.labels[layer].strings) if layer == "spans" else None
            return tagger.predict_with_probabilities(words, limits, kinds)
        return without_probabilities(tagger.predict(words, limits))

    def _arc_labels(
        self,
        labeller: Labeller,
        words: Words,
        heads: Ints,
        own: LabelLimits | None,
        with_probabilities: bool,
    ) -> LabelsWithProbabilities:
        """The labels of arcs, with their probabilities or nan."""
        limits = own.limits if own is not None else None
        if with_probabilities:
            return labeller.predict_with_probabilities(words, heads, self.columns, limits)
        return without_probabilities(labeller.predict(words, heads, self.columns, limits))

    def _arc_limits(
        self, parser: Parser | SecondOrderParser, limits: BatchConstraints | None
    ) -> ArcLimits | None:
        if limits is None:
            return None
        below: dict[str, bool] = {}
        if self.labeller is not None:
            strings = self.columns.labels["deprels"].strings
            below = labels_below(strings, self.labeller.of_root, self.labeller.of_words)
        return limits.arcs(single_root=parser.single_root, below=below)

    def _strings(self, layer: str, labels: Ints) -> list[str]:
        names = np.array([*self.columns.labels[layer].strings, ""], dtype=object)
        strings: list[str] = names[labels].tolist()
        return strings

    def save(self, path: Path | str) -> None:
        """Write the model file, atomically."""
        header = {
            "language": self.language,
            "layers": list(self.layers),
            "labels": {
                layer: list(labels.strings) for layer, labels in self.columns.labels.items()
            },
            "record": dict(self.record),
            "config": dict(self.config_table),
        }
        lexicon = self.columns.lexicon
        payload = {
            "forms": list(lexicon.forms),
            "scheme": self.columns.scheme,
            "statistics": self.columns.statistics and self.columns.statistics.to_payload(),
            "vocabularies": {
                name: list(lexicon.vocabularies[name].strings) for name in lexicon.names
            },
            "taggers": {layer: tagger.to_payload() for layer, tagger in self.taggers.items()},
            "parser": self.parser and self.parser.to_payload(),
            "labeller": self.labeller and self.labeller.to_payload(),
            "splitter": self.splitter and self.splitter.to_payload(),
        }
        write_model(Path(path), header, payload)

    @classmethod
    def load(cls, path: Path | str) -> Model:
        """Read a model file.

        Raises:
            ModelFileError: not a model, damaged, or of a newer format.
        """
        with _without_collector():
            header, payload = read_model(Path(path))
            try:
                return cls._from_file(header, payload)
            except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
                raise ModelFileError(
                    f"{path}: expected the parts of an egparse model, got {error!r}"
                ) from error

    @classmethod
    def _from_file(cls, header: Mapping[str, Any], payload: Mapping[str, Any]) -> Model:
        vocabularies = {
            name: Vocabulary(strings) for name, strings in payload["vocabularies"].items()
        }
        labels = {layer: Vocabulary(strings) for layer, strings in header["labels"].items()}
        statistics = payload["statistics"] and FormStatistics.from_payload(
            payload["statistics"], payload["forms"]
        )
        columns = Columns(
            Lexicon(vocabularies, payload["forms"]), labels, payload["scheme"], statistics
        )
        return cls(
            columns=columns,
            taggers={
                layer: Tagger.from_payload(own, columns.names)
                for layer, own in payload["taggers"].items()
            },
            parser=_parser_of(payload["parser"], columns) if payload["parser"] else None,
            labeller=Labeller.from_payload(payload["labeller"], columns)
            if payload["labeller"]
            else None,
            language=header["language"],
            record=header["record"],
            config_table=header["config"],
            splitter=Splitter.from_payload(payload["splitter"])
            if payload.get("splitter")
            else None,
        )

    def strongest(self, layer: str, count: int) -> list[tuple[str, str, float]]:
        """The (attribute, label, weight) triples of greatest weight, by size; none for parser and
        splitter, whose features are hashed.
        """
        model = self._sequence_models().get(layer)
        if model is None or layer == SPLITTER:
            return []
        return strongest_attributes(model, self.columns, self.columns.labels[layer].strings, count)

    def sizes(self) -> dict[str, dict[str, int]]:
        """For each layer, and the splitter: labels, attributes, weights and the bytes of its
        weights in memory.
        """
        sizes = {
            layer: {
                "labels": model.n_labels,
                "attributes": len(model.index),
                "weights": len(model.rows.weights)
                + sum(
                    int(np.count_nonzero(np.isfinite(table) & (table != 0)))
                    for table in (model.transitions, *model.longer)
                ),
                "bytes": sum(
                    array.nbytes
                    for array in (*model.rows, model.index.keys, model.transitions, *model.longer)
                ),
            }
            for layer, model in self._sequence_models().items()
        }
        if self.parser is not None:
            weights = self.parser.weights
            sizes["heads"] = {
                "labels": 0,
                "attributes": len(weights),
                "weights": int(np.count_nonzero(weights)),
                "bytes": weights.nbytes,
            }
        splitter = (SPLITTER,) if self.splitter is not None else ()
        return {layer: sizes[layer] for layer in (*splitter, *self.layers)}

    def _sequence_models(self) -> dict[str, Any]:
        models = {layer: tagger.model for layer, tagger in self.taggers.items()}
        if self.labeller is not None:
            models["deprels"] = self.labeller.model
        if self.splitter is not None:
            models[SPLITTER] = self.splitter.model
        return models


@contextmanager
def _without_collector() -> Iterator[None]:
    """A model has some 100,000 objects, none of them garbage: to look for some while they are made
    takes a third of the time.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _parser_of(payload: Mapping[str, Any], columns: Columns) -> Parser | SecondOrderParser:
    kind = SecondOrderParser if "pruner" in payload else Parser
    return kind.from_payload(payload, columns)


def batches(sentences: Iterable[Sentence], n_words: int) -> Iterator[list[Sentence]]:
    """Lists of consecutive sentences with about ``n_words`` words each."""
    batch: list[Sentence] = []
    size = 0
    for sentence in sentences:
        batch.append(sentence)
        size += len(sentence)
        if size >= n_words:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _given(batch: Sequence[Sentence], layer: str) -> tuple[Mask, list[str]]:
    """Which words bring a tag of the layer, and the tags; ``_`` is a tag in FEATS alone, and there
    only beside a UPOS.
    """
    tags = [
        tag
        for sentence in batch
        for tag in (getattr(sentence, layer) or (MISSING,) * len(sentence))
    ]
    present = np.array([tag != MISSING for tag in tags], dtype=bool)
    if layer == "feats":
        has_layer = np.array(
            [bool(sentence.feats) for sentence in batch for _ in sentence.forms], dtype=bool
        )
        present |= has_layer & _given(batch, "upos")[0]
    return present, tags


def _put_back(
    batch: Sequence[Sentence],
    words: Words,
    filled: Mapping[str, list[str]],
    heads: Ints | None,
    probabilities: Mapping[str, Floats],
) -> Iterator[Sentence]:
    """The sentences with their slices of the flat layers."""
    flat = heads.tolist() if heads is not None else []
    told = {
        layer: [None if np.isnan(value) else value for value in own.tolist()]
        for layer, own in probabilities.items()
    }
    starts = words.starts.tolist()
    for sentence, first, end in zip(batch, starts, islice(starts, 1, None), strict=False):
        layers: dict[str, Any] = {
            layer: tuple(values[first:end]) for layer, values in filled.items()
        }
        if "spans" in layers:
            layers["spans"] = to_iob2(layers["spans"])
        if heads is not None:
            layers["heads"] = tuple(flat[first:end])
        layers["probabilities"] = {
            layer: tuple(own[first:end]) for layer, own in told.items()
        } or None
        yield sentence.with_layers(**layers)
