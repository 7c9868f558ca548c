"""The tasks of a run: one ordered table of what is learned, each task made of what those before it
have predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np

from egparse.config.sections import AUTO, TrainConfig
from egparse.errors import EgparseError
from egparse.features.word_table import Columns
from egparse.fitting.task import Part, Task
from egparse.layers import EXPANDER, LEMMAS, MORPHOLOGY, SPLITTER, TAG_LAYERS, TOKENISER
from egparse.parsing.arc_parser import ArcParser
from egparse.parsing.gold_trees import (
    GoldHeads,
    HeadedSentences,
    choose_trees,
    complete_by_parser,
    gold_heads_of,
    headed_sentences,
    known_heads,
)
from egparse.parsing.training import (
    ArcParserTask,
    SecondOrderTask,
    is_exact_for,
    predicted_heads,
)
from egparse.parsing.tree_inference import Trees
from egparse.pipeline.components import LABELLER, PARSER, Components
from egparse.sentences import HIDDEN
from egparse.sequences.training import (
    DevelopmentTrees,
    LabellerTask,
    LemmaTask,
    TaggerTask,
    combinations_of,
)
from egparse.text.training import ExpanderTask, SplitterTask, TokeniserTask
from egparse.training.columns import named_columns
from egparse.training.corpus import Corpus

PRUNER = "pruner"

_NO_HEADS = np.empty(0, dtype=np.int32)


@dataclass(kw_only=True)
class Scene:
    """What tasks are made of: settings, columns, the words of both parts with the tags that they
    have so far, and the predictors that were ``learned`` before, by the name of their task.

    ``base`` holds what training continues from, over the same columns. With ``in_full`` predictors
    are not reduced to what a model file holds.
    """

    corpus: Corpus
    config: TrainConfig
    columns: Columns
    train: Part
    dev: Part
    base: Components | None = None
    in_full: bool = False
    learned: dict[str, Any] = field(default_factory=dict)
    kind_of_trees: Trees | None = None

    def before(self, name: str) -> Any:
        """The component of the base, None if there is none."""
        return None if self.base is None else self.base.get(name)

    @property
    def wanted(self) -> frozenset[str]:
        """The names of the tasks, and of the taggers of the base that predict tags."""
        names = {self.corpus.section_of(layer) for layer in self.corpus.layers}
        return frozenset(names | {layer for layer in TAG_LAYERS if self.before(layer) is not None})

    def is_read(self, name: str, by: Collection[str]) -> bool:
        """Whether one of some tasks has features of what another one predicts."""
        names = list(TASKS)
        later = set(by).intersection(names[names.index(name) + 1 :])
        if name in TREES:
            return bool(later)
        if name in TEXT or name == LEMMAS:
            return False
        is_replaced = name == "xpos" and self.columns.fine_tags is not None
        if later & TREES and name != "spans" and not is_replaced:
            return True
        readers = [layer for layer in (*TAG_LAYERS, LEMMAS) if layer in later]
        layers: Sequence[str] = (name,)
        if name == MORPHOLOGY:
            base = self.before(name)
            layers = self.corpus.joint or (() if base is None else base.layers)
        return not set(layers).isdisjoint(named_columns(readers, self.config))

    @cached_property
    def _headed(self) -> HeadedSentences:
        return headed_sentences(self.train.sentences)

    @cached_property
    def heads(self) -> GoldHeads | None:
        """The gold heads of both parts; of training those of the sentences that have some. None
        where no trees are learned.

        Raises:
            EgparseError: no training sentence has any that parsers can learn from.
        """
        if "heads" not in self.corpus.layers:
            return None
        if not self._headed.heads:
            raise EgparseError("expected a sentence with heads to train the parser on, got none")
        return gold_heads_of(self._headed.heads, self.dev.sentences)

    @cached_property
    def trees(self) -> Trees:
        """The kind of trees: the given one, that of the base, or what suits the training part."""
        base = self.before(PARSER)
        given: Trees | None = self.kind_of_trees if base is None else base.trees
        if given is not None:
            return given
        assert self.heads is not None
        return choose_trees(self.heads.train, self.config.parser)

    @property
    def with_heads(self) -> Part:
        """The training sentences that have heads."""
        chosen = self._headed.chosen
        return self.train if chosen.all() else self.train.select(chosen).part


def _tokeniser(scene: Scene) -> TokeniserTask | None:
    corpus, config = scene.corpus, scene.config
    if TOKENISER not in corpus.text:
        return None
    return TokeniserTask.of(corpus.train, corpus.dev, config.tokeniser, config.seed)


def _splitter(scene: Scene) -> SplitterTask | None:
    parts, config = scene.corpus.paragraphs, scene.config
    if parts is None:
        return None
    tables = scene.columns.class_tables
    return SplitterTask(parts, tables, config=config.splitter, seed=config.seed)


def _expander(scene: Scene) -> ExpanderTask | None:
    corpus, config = scene.corpus, scene.config
    if EXPANDER not in corpus.text:
        return None
    return ExpanderTask(corpus.train, corpus.dev, config=config.expander, seed=config.seed)


def _of_words(name: str, scene: Scene) -> dict[str, Any]:
    """What every task of words is made of, beside what it learns from."""
    return {
        "config": getattr(scene.config, name),
        "seed": scene.config.seed,
        "base": scene.before(name),
        "in_full": scene.in_full,
    }


def _morphology(scene: Scene) -> TaggerTask | None:
    joint, columns, train = scene.corpus.joint, scene.columns, scene.train
    if not joint:
        return None
    own = _of_words(MORPHOLOGY, scene)
    base = own["base"]
    combinations = combinations_of(columns, train, joint, own["config"], base)
    own["base"] = None if base is None else base.over(columns, combinations)
    return TaggerTask(MORPHOLOGY, columns, train, scene.dev, combinations, **own)


def _tagger(layer: str, scene: Scene) -> TaggerTask | None:
    corpus = scene.corpus
    is_new = layer in HIDDEN and scene.base is None and layer in scene.columns.labels
    if not is_new and (layer not in corpus.layers or layer in corpus.joint):
        return None  # a hidden layer of a base stays as it was trained
    return TaggerTask(layer, scene.columns, scene.train, scene.dev, **_of_words(layer, scene))


def _lemmatiser(scene: Scene) -> LemmaTask | None:
    if LEMMAS not in scene.corpus.layers:
        return None
    return LemmaTask(scene.columns, scene.train, scene.dev, **_of_words(LEMMAS, scene))


def _order(scene: Scene) -> int:
    base = scene.before(PARSER)
    if base is None:
        return scene.config.parser.order
    return 1 if isinstance(base, ArcParser) else 2


def _pruner(scene: Scene) -> ArcParserTask | None:
    if scene.heads is None or _order(scene) == 1:
        return None
    base = scene.before(PARSER)
    return _arcs(scene, pruner=scene.config.pruner, base=None if base is None else base.pruner)


def _parser(scene: Scene) -> ArcParserTask | SecondOrderTask | None:
    if scene.heads is None:
        return None
    if _order(scene) == 1:
        return _arcs(scene, base=scene.before(PARSER))
    if PRUNER not in scene.learned:
        return None
    config = scene.config.parser
    if config.learner == AUTO and not is_exact_for(config, scene.trees):
        # no learner has a bound there, and EG gets fewer arcs right (docs/decisions/successors.md)
        config = replace(config, learner="dca")
    return SecondOrderTask(
        scene.with_heads,
        scene.dev,
        scene.heads,
        scene.learned[PRUNER],
        scene.config.pruner,
        config,
        scene.config.seed,
        scene.before(PARSER),
        scene.in_full,
    )


def _arcs(scene: Scene, **options: Any) -> ArcParserTask:
    assert scene.heads is not None
    return ArcParserTask(
        scene.columns,
        scene.with_heads,
        scene.dev,
        scene.heads,
        scene.config.parser,
        scene.trees,
        scene.config.seed,
        in_full=scene.in_full,
        **options,
    )


def _labeller(scene: Scene) -> LabellerTask | None:
    heads, parser = scene.heads, scene.learned.get(PARSER)
    if heads is None or parser is None or "deprels" not in scene.corpus.layers:
        return None
    train, known = scene.with_heads, known_heads(heads.train)
    predicted = predicted_heads(parser, scene.dev.words) if len(heads.dev) else _NO_HEADS
    return LabellerTask(
        scene.columns,
        train,
        np.concatenate([*complete_by_parser(parser, train, heads.train), _NO_HEADS]),
        scene.dev,
        DevelopmentTrees(predicted, heads.dev),
        heads.is_scored,
        None if known is None else np.concatenate(known),
        **_of_words(LABELLER, scene),
    )


class Row(NamedTuple):
    """A task of the table."""

    make: Callable[[Scene], Task[Any] | None]
    """Gives the task, or None where there is nothing to learn."""

    of: Literal["text", "words", "trees"] = "words"
    """Tasks of plain text read no tags, tasks of trees all but those of spans."""

    is_put_out: bool = True
    """Whether a model puts out what it predicts; else its probabilities are not calibrated."""

    awaits: bool = False
    """Whether a run waits for its tasks in the background before this one, so that it and what
    follows is learned by all jobs.
    """

    suffices: bool = False
    """Whether a run that is stopped has a model once it is learned."""


TASKS: Mapping[str, Row] = {
    TOKENISER: Row(_tokeniser, "text"),
    SPLITTER: Row(_splitter, "text"),
    EXPANDER: Row(_expander, "text"),
    MORPHOLOGY: Row(_morphology, suffices=True),
    **{
        layer: Row(partial(_tagger, layer), awaits=layer == "upos", suffices=True)
        for layer in TAG_LAYERS
    },
    LEMMAS: Row(_lemmatiser),
    **{layer: Row(partial(_tagger, layer), is_put_out=False) for layer in HIDDEN},
    PRUNER: Row(_pruner, "trees", is_put_out=False, awaits=True),
    PARSER: Row(_parser, "trees", suffices=True),
    LABELLER: Row(_labeller, "trees"),
}
"""Name -> task, in an order in which each can use the predictions of earlier ones."""

TEXT = tuple(name for name, row in TASKS.items() if row.of == "text")
TREES = frozenset(name for name, row in TASKS.items() if row.of == "trees")
