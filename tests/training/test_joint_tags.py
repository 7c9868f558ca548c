"""One tagger of UPOS, XPOS and FEATS: which corpora and settings have it, how it is continued from
a base, tuned, and learns in steps.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sample_treebank import (
    quick,
    quick_joint,
    quick_joint_model,
    quick_model,
    sample,
    taggers,
)
from training.continued import accuracy, gone_on

from egparse.config.reading import read_config
from egparse.config.sections import TrainConfig, joint_layers, section_of
from egparse.errors import ConfigError, EgparseError
from egparse.features.request import Request
from egparse.fitting.progress import Iteration
from egparse.fitting.task import Part
from egparse.learners.eg.path import PathConfig
from egparse.pipeline.model import Model
from egparse.sentences import Sentence
from egparse.sequences.training import combinations_of
from egparse.training.columns import build_columns
from egparse.training.continuation import configure
from egparse.training.corpus import layers_together
from egparse.training.run import train
from egparse.training.steps import StepLearner, untrained_model
from egparse.training.tune import tune

TAGS = ("upos", "xpos", "feats")
OLD, NEW = list(sample("train")[:60]), list(sample("train")[100:140])


@cache
def gone_on_quick() -> Model:
    return gone_on(quick_joint_model(), NEW)


# --- which layers ---------------------------------------------------------------------------------


def test_layers_are_joint_unless_their_own_settings_are_changed() -> None:
    default, changed = TrainConfig(), read_config({"xpos": {"c": 3.0}})
    assert joint_layers(default, ("upos", "xpos", "feats", "heads")) == TAGS
    assert joint_layers(default, ("feats", "upos")) == ("upos", "feats")
    assert joint_layers(default, ("upos", "heads")) == ()
    assert joint_layers(changed, TAGS) == ()
    always = read_config({"xpos": {"c": 3.0}, "morphology": {"joint": "always"}})
    assert joint_layers(always, TAGS) == TAGS
    assert joint_layers(read_config({"morphology": {"joint": "never"}}), TAGS) == ()
    assert [section_of(layer, TAGS) for layer in (*TAGS, "heads")] == ["morphology"] * 3 + [
        "parser"
    ]
    assert section_of("xpos") == "xpos"


def test_a_corpus_with_too_many_combinations_gets_a_tagger_for_each_layer() -> None:
    tags = [f"T{k}" for k in range(270)]
    sentences = [Sentence(forms=["a"] * 270, upos=[f"U{k}"] * 270, xpos=tags) for k in range(270)]
    assert layers_together(TrainConfig(), sentences[:100], ("upos", "xpos")) == ("upos", "xpos")
    assert layers_together(TrainConfig(), sentences, ("upos", "xpos")) == ()
    always = read_config({"morphology": {"joint": "always"}})
    with pytest.raises(ConfigError, match=r"morphology\.joint: expected 'auto' or 'never' for a"):
        layers_together(always, sentences, ("upos", "xpos"))


@pytest.mark.parametrize(
    ("feats", "setting", "expected"),
    [
        (["Case=1", "Case=2"], "auto", False),  # 1 bit a word
        (["Case=1", "Case=2", "Case=3"], "auto", True),  # 1.6 bits
        (["Case=1|Person=1", "Case=2|Person=2", "Case=3|Person=3"], "never", False),
        (["Person=1", "Person=2", "Person=3"], "auto", False),  # none of agreement
        (["Case=1", "Case=2"], "always", True),
    ],
)
def test_bigrams_see_what_words_agree_in_where_upos_leaves_much_of_it_open(
    feats: list[str], setting: str, expected: bool
) -> None:
    tags = ["N"] * len(feats)
    sentence = Sentence(tags, upos=tags, xpos=feats, feats=feats)
    config = read_config({"morphology": {"agreement": setting}})
    columns = build_columns([sentence], TAGS, config, TAGS)
    part = Part([sentence], columns.words([sentence.forms]))
    combinations = combinations_of(columns, part, TAGS, config.morphology)
    assert combinations.agreement == expected
    assert not combinations_of(columns, part, TAGS[:2], config.morphology).agreement


def test_a_model_whose_bigrams_see_agreement_is_stored_and_continued(tmp_path: Path) -> None:
    settings = ("morphology.agreement=always", "hold_out=0", "layers=['upos','xpos','feats']")
    model = train(OLD[:20], None, quick_joint(*settings)).model
    model.save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    assert list(again.annotate(NEW)) == list(model.annotate(NEW))
    longer = gone_on(again, NEW[:20], layers=list(TAGS))
    assert longer.components["morphology"].combinations.agreement
    assert accuracy(longer, NEW[:20], "feats") > accuracy(model, NEW[:20], "feats")


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            {"morphology": {"c": 3.0, "joint": "never"}},
            r"morphology\.c: has no effect where morphology\.joint = 'never'",
        ),
        (
            {"morphology": {"c": 3.0}, "upos": {"c": 3.0}},
            r"morphology\.c: has no effect where \[upos\], \[xpos\] or \[feats\] is changed",
        ),
        ({"morphology": {"joint": "maybe"}}, r"morphology\.joint: expected "),
    ],
)
def test_settings_that_do_not_fit_are_refused(table: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        read_config(table)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("morphology.learner=gis", r"morphology\.learner: expected one that learns from scores"),
        ("morphology.templates=['xpos[-1]']", r"morphology\.templates: expected layers that are"),
    ],
)
def test_what_cannot_be_learned_together_is_refused_before_training(
    settings: str, expected: str
) -> None:
    with pytest.raises(ConfigError, match=expected):
        train(sample("train")[:10], None, quick_joint(settings))


@pytest.mark.parametrize(
    ("settings", "is_probabilistic"),
    [
        (("learner=dca",), True),
        (("learner=perceptron",), False),
        (("loss=max-margin", "stop.iterations=25"), False),
        (("bigrams=false",), True),
    ],
)
def test_other_learners_and_losses_learn_layers_together(
    settings: tuple[str, ...], is_probabilistic: bool
) -> None:
    own = [f"morphology.{text}" for text in settings]
    config = quick_joint("hold_out=0", "layers=['upos','xpos','feats']", *own)
    model = train(OLD[:20], None, config).model
    assert accuracy(model, OLD[:20], "feats") > 0.75
    assert model.probabilistic == (TAGS if is_probabilistic else ())


# --- from a base ----------------------------------------------------------------------------------


def test_a_joint_base_learns_the_new_sentences_and_does_not_forget_the_old_ones() -> None:
    base, model = quick_joint_model(), gone_on_quick()
    before, now = (
        base.components["morphology"].combinations.numbers,
        model.components["morphology"].combinations.numbers,
    )
    np.testing.assert_array_equal(now[: len(before)], before)
    assert len(now) > len(before)
    assert set(model.record["tasks"]) == {"morphology", "lemmas", "spans", "heads", "deprels"}
    for layer in TAGS:
        assert accuracy(model, NEW, layer) > accuracy(base, NEW, layer) + 0.1
        assert accuracy(model, OLD, layer) > accuracy(base, OLD, layer) - 0.1


def test_held_infinitely_close_a_joint_model_is_the_base() -> None:
    base = quick_joint_model()
    near = gone_on(base, OLD[:30], base_strength=1e9)
    old, new = base.components["morphology"].model, near.components["morphology"].model
    assert (new.index.numbers(old.index.keys) >= 0).all()
    np.testing.assert_allclose(new.transitions, old.transitions, atol=1e-3)
    for layer in TAGS:
        said = [[getattr(one, layer) for one in own.annotate(OLD[:30])] for own in (base, near)]
        assert said[0] == said[1]


def test_the_gap_closes_around_a_joint_base() -> None:
    heard: list[Iteration] = []
    stop = {"stop": {"iterations": 80, "gap": 0.01}}

    def listener(event: object) -> None:
        if isinstance(event, Iteration) and event.task == "morphology":
            heard.append(event)

    gone_on(quick_joint_model(), NEW[:12], listener, morphology=stop, layers=list(TAGS))
    last = heard[-1]
    assert last.gap >= -1e-3 * abs(last.dual)
    assert last.relative_gap <= 0.011


def test_a_longer_tagger_scores_what_its_known_parts_score() -> None:
    """Over more combinations, the known ones are predicted as before, with the same marginals where
    the new ones are no candidates.
    """
    base, model = quick_joint_model(), gone_on_quick()
    longer = base.components["morphology"].over(
        model.columns, model.components["morphology"].combinations
    )
    forms = [one.forms for one in NEW]
    plain, found = (
        tagger.annotate(Request(columns.words(forms), columns, asked=TAGS))
        for tagger, columns in (
            (base.components["morphology"], base.columns),
            (longer, model.columns),
        )
    )
    for layer in TAGS:
        np.testing.assert_array_equal(found[layer].values, plain[layer].values)
        np.testing.assert_allclose(found[layer].probabilities, plain[layer].probabilities)


def test_a_continued_joint_model_is_saved_and_loaded(tmp_path: Path) -> None:
    gone_on_quick().save(tmp_path / "m")
    loaded = Model.load(tmp_path / "m")
    assert list(loaded.annotate(NEW[:5])) == list(gone_on_quick().annotate(NEW[:5]))


def test_without_one_of_its_layers_a_joint_tagger_stays_as_it_is() -> None:
    base = quick_joint_model()
    partly = [one.with_layers(xpos=()) for one in NEW]
    model = gone_on(base, partly)
    assert set(model.record["tasks"]) == {"lemmas", "spans", "heads", "deprels"}
    assert model.layers == base.layers
    assert model.probabilistic == base.probabilistic
    for layer in TAGS:
        assert [getattr(one, layer) for one in model.annotate(NEW)] == [
            getattr(one, layer) for one in base.annotate(NEW)
        ]
    expected = (
        "expected all of upos, xpos, feats, which one tagger of the base model predicts together, "
        "or none of them, got upos"
    )
    for layers in (["upos"], ["upos", "heads"]):
        with pytest.raises(EgparseError, match=expected):
            gone_on(base, partly, layers=layers)
        with pytest.raises(EgparseError, match=expected):
            gone_on(base, NEW, layers=layers)
    with pytest.raises(EgparseError, match=expected):
        gone_on(base, [Sentence(forms=one.forms, upos=one.upos) for one in NEW])


@pytest.mark.parametrize(
    ("joint", "table", "expected"),
    [
        (True, {"xpos": {"c": 7.0}}, "xpos: the base model has one tagger of upos, xpos, feats"),
        (True, {"morphology": {"joint": "never"}}, r"morphology\.joint: expected always as in the"),
        (True, {"morphology": {"single_features": "always"}}, r"morphology\.single_features: expe"),
        (False, {"morphology": {"c": 7.0, "joint": "always"}}, "has a tagger for each layer"),
    ],
)
def test_settings_that_a_base_fixes_are_refused(
    joint: bool, table: dict[str, Any], expected: str
) -> None:
    with pytest.raises(ConfigError, match=expected):
        configure(quick_joint_model() if joint else quick_model(), table)


def test_the_learner_and_the_constant_of_a_joint_base_can_be_changed() -> None:
    everywhere = {section: {"learner": "dca"} for section in (*TAGS, "morphology", "spans")}
    model = gone_on(quick_joint_model(), NEW[:20], **everywhere)
    assert model.config_table["morphology"]["learner"] == "dca"


def test_a_base_without_trees_may_get_a_layer_beside_its_joint_tagger() -> None:
    config = quick_joint("hold_out=0", "layers=['upos','feats']")
    base = train([one.with_layers(xpos=()) for one in OLD], None, config).model
    model = gone_on(base, NEW, layers=["upos", "feats", "xpos"])
    assert model.layers == TAGS
    assert set(taggers(model)) == {"xpos"}
    assert model.components["morphology"].layers == ("upos", "feats")
    assert accuracy(model, NEW, "xpos") > 0.8


# --- tuning ---------------------------------------------------------------------------------------

SHORT = PathConfig(c_from=4.0, c_to=1.0, decay=0.5, gap=0.01, iterations=20)


def test_the_joint_task_is_tuned() -> None:
    done = tune(OLD[:30], sample("dev")[:15], quick_joint(), {"morphology": SHORT})
    (own,) = done.tasks
    assert own.task == "morphology"
    assert own.setting == "morphology.c"
    assert [point.solution.c for point in own.points] == [4.0, 2.0, 1.0]
    assert all(point.score is not None and point.score > 20 for point in own.points)


def test_tasks_that_read_tags_are_tuned_on_those_of_the_joint_tagger() -> None:
    heard: list[str] = []
    done = tune(
        OLD[:30], sample("dev")[:15], quick_joint(), {"parser": SHORT},
        lambda event: heard.append(event.task),
    )  # fmt: skip
    assert [one.task for one in done.tasks] == ["parser"]
    assert "morphology" in heard
    assert not set(heard) & {*TAGS, "spans"}


def test_a_path_for_one_layer_has_taggers_for_each() -> None:
    config = TrainConfig(**{key: getattr(quick(), key) for key in ("jackknife", "parser")})
    done = tune(OLD[:30], sample("dev")[:15], config, {"xpos": SHORT})
    assert [one.task for one in done.tasks] == ["xpos"]
    with pytest.raises(EgparseError, match="upos: upos, xpos, feats are learned together"):
        tune(OLD[:30], [], quick_joint(), {"upos": SHORT})
    with pytest.raises(EgparseError, match="expected a task that the corpus annotates"):
        tune(OLD[:30], [], quick("morphology.joint=never"), {"morphology": SHORT})


# --- steps ----------------------------------------------------------------------------------------


def test_a_joint_model_learns_in_steps(tmp_path: Path) -> None:
    learner = StepLearner(quick_joint_model())
    losses = []
    learned = {"upos", "lemmas", "spans", "heads", "deprels"}
    for _ in range(3):
        found = [learner.update(NEW[k : k + 10], learner.layers) for k in range(0, len(NEW), 10)]
        assert all(learned == set(one) for one in found)
        losses.append(sum(one["upos"] for one in found))
    assert losses == sorted(losses, reverse=True)
    for layer in TAGS:
        assert accuracy(learner.model, NEW, layer) > accuracy(quick_joint_model(), NEW, layer) + 0.1
    learner.model.save(tmp_path / "m")
    assert list(Model.load(tmp_path / "m").annotate(NEW)) == list(learner.model.annotate(NEW))


def test_a_step_for_one_layer_takes_the_best_tags_of_the_others() -> None:
    """The sentences have an XPOS tag that nothing has been seen with; its UPOS and FEATS are those
    that the model gives to the word.
    """
    base = quick_joint_model()
    sentences = [
        Sentence(forms=one.forms, xpos=["ZZ" if tag == "NN" else tag for tag in one.xpos])
        for one in OLD[:20]
    ]
    learner = StepLearner(base)
    learner.add_labels("xpos", ["ZZ"])
    for _ in range(4):
        losses = learner.update(sentences, ("xpos",))
        assert set(losses) == {"xpos"}
    assert accuracy(learner.model, sentences, "xpos") > 0.9
    for layer in ("upos", "feats"):
        before, after = (
            [tag for one in own.annotate(OLD[:20]) for tag in getattr(one, layer)]
            for own in (base, learner.model)
        )
        same = sum(a == b for a, b in zip(before, after, strict=True))
        assert same > 0.9 * len(before)


def test_steps_for_other_layers_leave_a_joint_tagger_as_it_is() -> None:
    learner = StepLearner(quick_joint_model())
    learner.update(NEW[:10], ("heads",))
    assert learner.model.components["morphology"] is quick_joint_model().components[
        "morphology"
    ] or all(
        np.array_equal(first, second)
        for first, second in zip(
            learner.model.components["morphology"].model.rows,  # type: ignore[union-attr]
            quick_joint_model().components["morphology"].model.rows,  # type: ignore[union-attr]
            strict=True,
        )
    )


def test_a_model_that_learns_from_nothing_has_a_tagger_for_each_layer() -> None:
    model = untrained_model(OLD[:10], TAGS, TrainConfig())
    assert "morphology" not in model.components
    assert set(taggers(model)) == set(TAGS)
    assert model.config_table["morphology"]["joint"] == "never"
    learner = StepLearner(model)
    assert set(learner.update(OLD[:10], TAGS)) == set(TAGS)


def test_combinations_of_parts_that_are_known_need_no_training() -> None:
    """A combination that is only added scores its parts, so that constraints can ask for it."""
    base = quick_joint_model().components["morphology"]
    assert base is not None
    rows = {tuple(row) for row in base.combinations.numbers.tolist()}
    sizes = [int(base.combinations.numbers[:, k].max()) + 1 for k in range(3)]
    new = next(row for row in product(*map(range, sizes)) if row not in rows)
    labels = {layer: np.array([tag], dtype=np.int32) for layer, tag in zip(TAGS, new, strict=True)}
    longer = base.over(quick_joint_model().columns, base.combinations.extended(labels))
    assert longer.model.n_parts == base.model.n_parts
    assert len(longer.combinations.numbers) == len(rows) + 1
