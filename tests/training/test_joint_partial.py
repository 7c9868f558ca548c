"""One tagger of UPOS, XPOS and FEATS where words lack tags."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from sample_treebank import (
    quick,
    quick_joint,
    quick_joint_model,
    sample,
    taggers,
)

from egparse.config.sections import TrainConfig
from egparse.errors import EgparseError
from egparse.fitting.task import Part
from egparse.io.corpus import read_corpus
from egparse.layers import MORPHOLOGY
from egparse.sentences import Sentence
from egparse.sequences.training import TaggerTask
from egparse.training.continuation import Base, configure, continue_training
from egparse.training.corpus import lacking_layers, layers_together
from egparse.training.run import train

SHARED = Path(__file__).parents[3] / "shared" / "data"
TAGS = ("upos", "xpos", "feats")
TRAIN = list(sample("train")[:20])


def without(sentence: Sentence, *layers: str) -> Sentence:
    """The sentence without the tags of its first word in some layers."""
    changed = {layer: ("_", *getattr(sentence, layer)[1:]) for layer in layers}
    return sentence.with_layers(**changed)


@pytest.mark.parametrize(
    ("first", "lacking"),
    [
        (TRAIN[0], []),
        (without(TRAIN[0], "feats"), []),
        (without(TRAIN[0], "xpos"), ["xpos"]),
        (without(TRAIN[0], *TAGS), list(TAGS)),
        (TRAIN[0].with_layers(feats=()), ["feats"]),
    ],
)
def test_layers_are_learned_together_where_each_word_has_a_tag_in_all(
    first: Sentence, lacking: Sequence[str]
) -> None:
    corpus, always = [first, *TRAIN[1:]], quick_joint()
    assert lacking_layers(corpus, TAGS) == lacking
    whole = tuple(layer for layer in TAGS if layer not in lacking)
    for settings in (TrainConfig(), always):
        assert layers_together(settings, corpus, TAGS) == (whole if len(whole) > 1 else ())
        assert layers_together(settings, corpus, ("upos", *lacking)) == ()


def test_a_layer_that_some_words_lack_is_learned_beside_the_others() -> None:
    corpus = [*TRAIN[1:], without(TRAIN[0], "xpos")]
    model = train(corpus, [], quick_joint("layers=['upos','xpos','feats']", "hold_out=0")).model
    assert model.components["morphology"].layers == ("upos", "feats")
    assert list(taggers(model)) == ["xpos"]
    assert all("_" not in one.xpos for one in model(corpus))


def test_latin_perseus_has_two_layers_for_all_words() -> None:
    path = SHARED / "ud" / "la_perseus-ud-train.conllu"
    if not path.exists():
        pytest.skip("Latin Perseus is not here")
    corpus = list(read_corpus(path))
    assert lacking_layers(corpus, TAGS) == ["xpos"]
    assert layers_together(TrainConfig(), corpus, TAGS) == ("upos", "feats")


def test_partial_annotation_is_learned_layer_by_layer() -> None:
    corpus = [*TRAIN[1:], without(TRAIN[0], "xpos")]
    settings = ("jackknife.folds=0", "layers=['upos', 'xpos']", "hold_out=0")
    few = [f"{layer}.stop.iterations=1" for layer in ("upos", "xpos")]
    model = train(corpus, [], quick(*settings, *few)).model
    assert "morphology" not in model.components
    assert "_" not in model.columns.labels["xpos"].values
    assert all("_" not in one.xpos for one in model(corpus))


def test_a_joint_base_goes_on_with_whole_tags_only() -> None:
    base = quick_joint_model()
    config = configure(base, {"hold_out": 0})
    with pytest.raises(EgparseError, match=r"a tag in upos, xpos, feats .* a word without xpos"):
        continue_training(Base(base), [without(TRAIN[0], "xpos")], None, config)


def test_words_of_the_development_part_without_a_tag_do_not_count() -> None:
    model = quick_joint_model()
    tagger, combinations = (
        model.components["morphology"],
        model.components["morphology"].combinations,
    )

    def task(dev: Sequence[Sentence]) -> TaggerTask:
        parts = [Part(list(own), model.columns.words([s.forms for s in own])) for own in ([], dev)]
        settings = quick_joint().morphology
        return TaggerTask(MORPHOLOGY, model.columns, *parts, combinations, config=settings, seed=0)

    predicted = list(model([Sentence(one.forms) for one in TRAIN[:3]]))
    partly = task([without(predicted[0], "xpos"), *predicted[1:]])
    score = partly.score()
    assert score is not None
    assert score(tagger) == 100.0
    assert partly.scores(tagger) == dict.fromkeys(TAGS, 100.0)
    outcomes = partly.outcomes(tagger)
    assert np.flatnonzero(~outcomes.counted).tolist() == [0]
    bare = task([Sentence(one.forms) for one in predicted])
    assert bare.score() is None
    assert bare.scores(tagger) == dict.fromkeys(TAGS)
