"""``egparse_parser``: HEAD, DEP and sentence starts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from spacy.tokens import Doc

from egparse.errors import EgparseError
from egparse.features.request import Values
from egparse.layers import WORD_TAGS
from egparse.pipeline.annotate import BATCH_WORDS, Prediction, predict_trees
from egparse.spacy_components.component import TAG_ATTRIBUTES, EgparsePipe
from egparse.spacy_components.documents import Batch, columns_of
from egparse.spacy_components.label_tables import to_spacy
from egparse.spacy_components.noun_chunks import install
from egparse.spacy_components.pipes.senter import STARTS, is_parsed, start_codes
from egparse.spacy_components.shared_models import SharedModel
from egparse.spacy_components.tokens.multiword import expanded
from egparse.types import Ints, Longs, UInt64s

logger = logging.getLogger(__name__)


class ScoredParse(NamedTuple):
    """One tree of the tokens ``start`` to ``end - 1`` of a Doc.

    ``heads`` are token indices in the Doc (the root is its own head); ``log_probability`` is in
    nats, nan for a model without probabilities.
    """

    start: int
    end: int
    heads: tuple[int, ...]
    labels: tuple[str, ...]
    log_probability: float


class EgparseParser(EgparsePipe):
    """Sets a tree for each sentence, in spaCy's terms: the root is its own head, with label ROOT.

    Sentence starts of a Doc are kept, missing ones are predicted first. White space is attached to
    the word before it, or to the word after it at the start of a sentence, with the label ``dep``.
    Without ``overwrite``, parsed Docs are not changed.
    """

    predicts = ("heads", "deprels")
    uses = WORD_TAGS
    n_words = BATCH_WORDS

    def share(self, shared: SharedModel) -> None:
        """Use this model from now on; ``doc.noun_chunks`` fits its labels."""
        super().share(shared)
        install(self.vocab, self.labels)

    def open_docs(self, docs: Sequence[Doc]) -> Sequence[Doc]:
        """The Docs without a tree, unless trees are replaced."""
        return [doc for doc in docs if self.overwrite or not is_parsed(doc)]

    def put(self, batch: Batch, found: Prediction) -> None:
        """Write trees and labels into the Docs."""
        of_heads, of_labels = found["heads"], found.get("deprels", Values(None))
        labels = self._label_hashes(of_heads.values, of_labels.values)
        heads = token_heads(batch, of_heads.values)
        deps = batch.on_tokens(labels, self.tables.attached)
        deps[heads == np.arange(len(heads))] = self._roots(batch, heads, deps)
        relative = (heads - np.arange(len(heads))).view(np.uint64)
        batch.put(("HEAD", "DEP"), (relative, deps))
        self._check_starts(batch)
        self.keep_probabilities(batch, "head", of_heads.probabilities)
        self.keep_probabilities(batch, "dep", of_labels.probabilities)

    def _label_hashes(self, heads: Ints, labels: Ints | None) -> UInt64s:
        if labels is not None:
            return self.tables.of["deprels"][labels]
        tables = self.tables
        return np.where(heads == 0, tables.root, tables.attached).astype(np.uint64)

    def _roots(self, batch: Batch, heads: Longs, deps: UInt64s) -> UInt64s:
        """The labels of tokens that are their own heads, which may be white space in Docs without
        words.
        """
        roots = np.flatnonzero(heads == np.arange(len(heads)))
        is_word = np.zeros(batch.n_tokens, dtype=np.bool_)
        is_word[batch.places] = True
        return np.where(is_word[roots], deps[roots], self.tables.root)

    def _check_starts(self, batch: Batch) -> None:
        """Correct sentence starts: spaCy derives them from the trees in a fixed number of sweeps,
        which may be too few where many arcs cross.
        """
        wanted = start_codes(batch).view(np.uint64)
        if np.array_equal(columns_of(batch.docs, ("SENT_START",))["SENT_START"], wanted):
            return
        logger.debug("%s: spaCy derived other sentence starts from the trees; corrected", self.name)
        batch.put(("SENT_START",), (wanted,))

    def as_spacy(self, layer: str, labels: Sequence[str]) -> tuple[str, ...]:
        """Labels of arcs, with ROOT for the root."""
        return tuple(sorted(map(to_spacy, labels)))

    def k_best(self, doc: Doc, k: int) -> list[list[ScoredParse]]:
        """For each sentence its ``k`` most probable trees, best first; see ``Model.k_best``.

        The Doc is not changed.

        Raises:
            ValueError: k < 1.
            EgparseError: a sentence longer than the longest that is parsed whole.
        """
        batch, model = self.read([doc], attributes=TAG_ATTRIBUTES), self.required_model
        if "parser" not in model.components:
            raise EgparseError(
                f"{self.name}: expected a model with heads, got one with {', '.join(model.layers)}"
            )
        if not batch.forms:
            return []
        given = self.given_tags(batch) if self.use_tags else {}
        of_words = expanded(batch)
        if of_words is None:
            words = model.columns.words(batch.sentences())
        else:
            words = model.columns.words(of_words.sentences())
            given = of_words.given(given, model.columns.labels)
        ranked = predict_trees(model.components, words, self.layers, given, k)
        trees = ranked.trees
        starts = np.append(np.flatnonzero(start_codes(batch) == STARTS), batch.n_tokens).tolist()
        result: list[list[ScoredParse]] = [[] for _ in trees]
        for rank, (flat, labels) in enumerate(ranked.ranks):
            if of_words is not None:
                highest = of_words.highest(flat)
                labels = None if labels is None else labels[highest]
                flat = of_words.token_heads(flat, highest)
            deps = batch.on_tokens(self._label_hashes(flat, labels), self.tables.attached).tolist()
            heads = token_heads(batch, flat).tolist()
            for best, parses, (first, end) in zip(trees, result, pairwise(starts), strict=True):
                if rank < len(best):
                    names = tuple(self.vocab.strings[dep] for dep in deps[first:end])
                    known = "heads" in model.probabilistic
                    score = best[rank].log_probability if known else float("nan")
                    parses.append(ScoredParse(first, end, tuple(heads[first:end]), names, score))
        return result


def token_heads(batch: Batch, heads: Ints) -> Longs:
    """The head of each token as a token index, shape (tokens,), from heads within sentences.

    A root is its own head. In a Doc of white space, the first token is the head of all.
    """
    lengths = np.diff(batch.starts)
    firsts = np.repeat(batch.starts[:-1], lengths)
    words = np.arange(len(heads))
    of_words = np.where(heads > 0, firsts + heads - 1, words)
    owners = batch.owners()
    first_tokens = np.repeat(batch.token_starts[:-1], np.diff(batch.token_starts))
    if not len(batch.places):
        return first_tokens
    on_tokens = np.where(owners >= 0, batch.places[np.maximum(owners, 0)], first_tokens)
    on_tokens[batch.places] = batch.places[of_words]
    return on_tokens
