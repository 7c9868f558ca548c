"""The settings of training: one dataclass for each section.

Each setting carries a line of meaning and, in its type, the range of its values. A section may be
given as a table of what differs from its defaults.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import wrap
from typing import Annotated, ClassVar, Literal

from annotated_types import Interval

from egparse.classes.limits import MAX_CLASSES, VECTOR_CLASSES
from egparse.config.fields import (
    Beta,
    Bits,
    Constant,
    Count,
    Folds,
    Natural,
    NonNegative,
    OrInfinite,
    Scale,
    Seed,
    Setting,
    Share,
    fixed,
    setting,
    settings_in,
)
from egparse.features import default_templates as built_in
from egparse.layers import LAYERS, MORPHOLOGY, WORD_TAGS

Strings = tuple[str, ...]
Loss = Literal["auto", "log-linear", "max-margin", "softmax-margin", "perceptron"]
Trees = Literal["auto", "projective", "non-projective"]
AUTO = "auto"
DEFAULT_LEARNER = "eg-online"

OF_CLASSES = {
    "templates": "class_templates",
    "sibling_templates": "class_siblings",
    "grandparent_templates": "class_grandparents",
    "label_templates": "class_labels",
}
"""The setting of templates -> the setting of further ones over word classes."""


class Section:
    """A section has no other settings than its fields."""

    __pydantic_config__: ClassVar[Mapping[str, str]] = {"extra": "forbid"}


@dataclass(frozen=True, kw_only=True)
class StopConfig(Section):
    """When the training of a task stops; the best pass by development score is kept."""

    iterations: Count = setting(12, "passes over the training part at most")
    gap: NonNegative = setting(0.001, "stop once the relative duality gap is at most this")
    patience: Natural = setting(
        3, "stop after this many passes without a better development score; 0: never"
    )


@dataclass(frozen=True, kw_only=True)
class LearningConfig(Section):
    """The settings that every task has: its learner, its loss and its regularisation."""

    learner: str = setting(
        DEFAULT_LEARNER,
        "learning algorithm; egparse train --list-learners names them; auto: eg-online, but dca "
        "for a parser of order 2 by loopy inference",
    )
    options: Mapping[str, bool | int | float | str] = field(
        default_factory=dict,
        metadata={"meaning": "settings of the learner itself, by name"},
    )
    loss: Loss = setting(
        "auto",
        "loss; auto: log-linear, but max-margin for mira, n-slack and frank-wolfe, "
        "perceptron for perceptron, and softmax-margin with gamma = 4 for a parser by any other",
    )
    beta: Beta | None = setting(None, "beta of the loss family, instead of that of the named loss")
    gamma: NonNegative | None = setting(
        None, "gamma of the loss family (weight of the cost), instead of that of the named loss"
    )
    c: Constant = setting(1.0, "regularisation constant C of sum of losses + C/2 |w|^2")
    anneal_from: NonNegative = setting(0.0, "eg-online: C of the first pass, if greater than c")
    anneal_decay: Share = setting(0.7, "eg-online: factor by which C approaches c at each pass")
    stop: StopConfig = StopConfig()

    @property
    def algorithm(self) -> str:
        """The learner, "auto" being that of exact inference."""
        return DEFAULT_LEARNER if self.learner == AUTO else self.learner


@dataclass(frozen=True, kw_only=True)
class WordLabelConfig(LearningConfig):
    """The settings of tasks that give each word a label: taggers, the labeller, the splitter."""

    templates: Strings = fixed((), "feature templates; empty: the built-in ones")
    class_templates: Strings = fixed((), "further templates, added for each table of word classes")
    min_count: Count = setting(2, "attributes seen less often than this are left out")
    weight_threshold: NonNegative = setting(0.02, "weights smaller than this are not stored")


@dataclass(frozen=True, kw_only=True)
class TaggerConfig(WordLabelConfig):
    """A linear-chain CRF, or without ``bigrams`` a log-linear classifier of words, for one layer.

    A tag set larger than ``dictionary_above`` is narrowed for each word by a tag dictionary.
    """

    templates: Strings = (*built_in.WORD_TEMPLATES, *built_in.LONG_AFFIX_TEMPLATES)
    class_templates: Strings = built_in.WORD_CLASS_TEMPLATES
    bigrams: bool = fixed(True, "whether label bigrams have weights; false: words one by one")
    pads: bool = fixed(True, "whether templates may look beyond the ends of a sentence")
    full_row_min_count: Natural = setting(
        0,
        "attributes seen this often have a weight for every label, others for the labels seen with "
        "them; 0: no attribute has one for every label",
    )
    dictionary_above: Natural = setting(32, "tag sets larger than this get a tag dictionary")
    dictionary_size: Count = setting(20, "candidate tags of a rare form in the tag dictionary")
    frequent: Count = setting(
        200, "forms seen this often have only the tags seen with them as candidates"
    )
    scheme: Literal["iob2", "iobes"] = fixed(
        "iob2", "spans only: tagging scheme of the model, whatever the scheme of the files"
    )
    c: Constant = 0.25
    anneal_from: NonNegative = 4.0
    search: Literal["halving", "quadratic"] = setting("halving", "eg-online: line search of a step")
    prioritise_below_gain: OrInfinite = setting(
        0.02,
        "eg-online: once a pass raises the dual by less than this fraction of it, sentences that "
        "gain more are visited more often",
    )
    stop: StopConfig = StopConfig(iterations=18)


@dataclass(frozen=True, kw_only=True)
class MorphologyConfig(TaggerConfig):
    """The tagger of UPOS, XPOS and FEATS together: a linear-chain CRF over the combinations of tags
    that training has seen.
    """

    joint: Literal["auto", "always", "never"] = fixed(
        "auto",
        "whether layers of word tags are learned together, if there are at least two in which each "
        "word has a tag; auto: if [upos], [xpos] and [feats] are as by default",
    )
    single_features: Literal["auto", "always", "never"] = fixed(
        "auto",
        "whether single features of a bundle have weights; auto: where the corpus has more than "
        "one bundle for a hundred words",
    )
    agreement: Literal["auto", "always", "never"] = fixed(
        "auto",
        "whether bigrams are of UPOS, case, gender and number, and not of UPOS and XPOS; auto: "
        "where UPOS leaves more than 1.5 bits a word of the three features open",
    )
    full_row_min_count: Natural = setting(
        5,
        "attributes seen this often have a weight for every UPOS and XPOS tag (of at most 64), "
        "others for the tags seen with them; 0: no attribute has one for every tag",
    )
    dictionary_size: Count = 16
    frequent: Count = 100
    c: Constant = 0.5
    anneal_decay: Share = 0.6
    stop: StopConfig = StopConfig(iterations=18, patience=0)


@dataclass(frozen=True, kw_only=True)
class SupertagsConfig(TaggerConfig):
    """The supertagger: label of a word's arc, side of its head, and on which sides it has
    dependents, predicted before there is a tree, as features of parser and labeller.
    """

    train: bool = setting(True, "whether to train one, where trees and labels are annotated")
    templates: Strings = (*built_in.WORD_TEMPLATES, *built_in.SUPERTAG_CONTEXT_TEMPLATES)
    bigrams: bool = False
    frequent: Count = 30
    c: Constant = 1.0
    anneal_from: NonNegative = 3.0
    stop: StopConfig = StopConfig(iterations=12)


@dataclass(frozen=True, kw_only=True)
class LemmasConfig(WordLabelConfig):
    """The lemmatiser: a log-linear classifier of edit scripts from form to lemma, word by word."""

    templates: Strings = built_in.LEMMA_TEMPLATES
    full_row_min_count: Natural = setting(
        0,
        "attributes seen this often have a weight for every script, others for the scripts seen "
        "with them; 0: no attribute has one for every script",
    )
    candidates: Annotated[int, Interval(ge=1, le=1000)] = fixed(
        64,
        "scripts of an unseen word, by its suffixes: the first eight and those giving known lemmas",
    )
    longest_suffix: Annotated[int, Interval(ge=1, le=20)] = fixed(
        5, "characters of the longest suffix by which scripts are found"
    )
    frequent: Count = setting(30, "forms seen this often with a UPOS say nothing about suffixes")
    rare: Natural = setting(
        10,
        "training treats words seen less often than this with their form and UPOS as unseen ones; "
        "annotation gives every seen word the scripts that it was seen with",
    )
    anneal_from: NonNegative = 4.0
    stop: StopConfig = StopConfig(iterations=12)


@dataclass(frozen=True, kw_only=True)
class PrunerConfig(LearningConfig):
    """The arc-factored CRF that chooses the arcs which the second-order parser scores.

    It shares candidate arcs and kind of trees with the parser, and needs a learner and a loss that
    have probabilities.
    """

    templates: Strings = fixed((), "templates of arcs; empty: the built-in ones, few and cheap")
    max_heads: Annotated[int, Interval(ge=1, le=32)] = setting(8, "heads that a word keeps at most")
    min_relative_marginal: Share = setting(
        0.01,
        "a head is kept if its marginal is at least this share of that of the word's best head",
    )
    bits: Bits = fixed(19, "binary logarithm of the size of the hashed weight table")
    mbr_scale: Scale = setting(
        1.5,
        "score multiplier where the pruner chooses the tree itself (sentences without a tree over "
        "the arcs that it keeps)",
    )
    c: Constant = 25.0
    anneal_from: NonNegative = 75.0
    anneal_decay: Share = 0.3
    stop: StopConfig = StopConfig(iterations=5, patience=0)


@dataclass(frozen=True, kw_only=True)
class ParserConfig(LearningConfig):
    """The dependency parser: arc-factored (``order`` 1), or with pairs of arcs and labels (2).

    Defaults that differ for order 1 are those of ``ORDER_1``.
    """

    order: Literal[1, 2] = fixed(2, "1: arcs alone; 2: siblings, grandparents and labels too")
    templates: Strings = fixed((), "templates of arcs; empty: the built-in ones")
    class_templates: Strings = fixed(
        built_in.ARC_CLASS_TEMPLATES,
        "further templates of arcs, added for each table of word classes",
    )
    trees: Trees = fixed("auto", "kind of trees; auto: by the share of crossing arcs")
    non_projective_above: Annotated[float, Interval(ge=0, le=1)] = setting(
        0.02, "trees = auto: non-projective if more than this share of the arcs cross others"
    )
    single_root: bool = fixed(True, "whether a tree has just one word below the root")
    arc_share: Share = setting(
        0.003,
        "an arc is a candidate if arcs like it are at least this share as frequent as the most "
        "frequent ones of its dependent; 0: all arcs",
    )
    min_form_count: Count = setting(2, "forms seen less often than this are unknown to templates")
    bits: Bits = fixed(23, "binary logarithm of the size of the hashed weight table")
    mbr_scale: Scale = setting(
        1.0,
        "score multiplier for the probabilities of arcs (order 2: with their best labels) whose "
        "sum the chosen tree maximises; order 1 only: 0 chooses the tree of highest score, as "
        "learners without probabilities always do",
    )
    siblings: bool = fixed(True, "order 2: score pairs of consecutive siblings")
    grandparents: bool = fixed(True, "order 2: score pairs of an arc and the arc above it")
    labels: bool = fixed(True, "order 2: score arcs jointly with their labels")
    inference: Literal["auto", "exact", "loopy"] = fixed(
        "auto",
        "order 2: exact (dynamic program over projective trees) or loopy (belief propagation); "
        "auto: exact if trees are projective",
    )
    sibling_templates: Strings = fixed((), "order 2: templates of siblings")
    grandparent_templates: Strings = fixed((), "order 2: templates of grandparents")
    label_templates: Strings = fixed((), "order 2: templates of labelled arcs")
    class_siblings: Strings = fixed(
        built_in.SIBLING_CLASS_TEMPLATES,
        "order 2: templates of siblings for each table of word classes",
    )
    class_grandparents: Strings = fixed(
        built_in.GRANDPARENT_CLASS_TEMPLATES,
        "order 2: templates of grandparents for each table of word classes",
    )
    class_labels: Strings = fixed(
        built_in.ARC_LABEL_CLASS_TEMPLATES,
        "order 2: templates of labelled arcs for each table of word classes",
    )
    learner: str = AUTO
    c: Constant = 28.0
    anneal_from: NonNegative = 84.0
    anneal_decay: Share = 0.4
    stop: StopConfig = StopConfig(iterations=8)


ORDER_1 = ParserConfig(
    order=1,
    bits=22,
    c=12.5,
    anneal_from=37.5,
    anneal_decay=0.3,
    stop=StopConfig(),
)
"""The defaults of an arc-factored parser."""


@dataclass(frozen=True, kw_only=True)
class LabellerConfig(WordLabelConfig):
    """The log-linear classifier of arc labels, given the tree."""

    class_templates: Strings = built_in.LABEL_CLASS_TEMPLATES
    full_row_min_count: Natural = setting(
        20, "attributes seen this often have a weight for every label; 0: only for labels seen"
    )
    c: Constant = 3.0
    anneal_from: NonNegative = 8.0
    stop: StopConfig = StopConfig(iterations=14)


@dataclass(frozen=True, kw_only=True)
class SplitterConfig(WordLabelConfig):
    """The splitter of paragraphs into sentences."""

    train: bool = setting(
        True, "whether to train one; without it plain text is split into sentences by rule"
    )
    templates: Strings = built_in.SPLITTER_TEMPLATES
    bigrams: bool = setting(True, "whether label bigrams have weights; false: words one by one")
    join: Share = setting(0.5, "share of the paragraphs that training joins to the previous one")
    longest: Natural = setting(
        10, "training cuts paragraphs longer than this many sentences; 0: never"
    )
    c: Constant = 4.0
    anneal_from: NonNegative = 12.0
    stop: StopConfig = StopConfig(iterations=60)


@dataclass(frozen=True, kw_only=True)
class TokeniserConfig(LearningConfig):
    """The tokeniser of plain text."""

    train: bool = setting(
        True,
        "whether to train one, on a treebank (CoNLL-U, CoNLL-X); without it plain text is split "
        "into words by spaCy's rules",
    )
    templates: Strings = setting(built_in.TOKENISER_TEMPLATES, "feature templates")
    continuous_templates: Strings = setting(
        built_in.CONTINUOUS_TEMPLATES,
        "feature templates for text whose words follow each other without blanks",
    )
    continuous_c: Constant = setting(8.0, "regularisation constant C for such text")
    bigrams: bool = setting(True, "whether label bigrams have weights; false: places one by one")
    min_count: Count = setting(2, "attributes seen less often than this are left out")
    weight_threshold: NonNegative = setting(0.02, "weights smaller than this are not stored")
    least_rate: Annotated[float, Interval(ge=0, lt=0.5)] = setting(
        0.002,
        "between two kinds of characters of which fewer than this share start tokens, or do not, "
        "nothing is decided",
    )
    c: Constant = 2.0
    anneal_from: NonNegative = 6.0

    @property
    def of_continuous(self) -> TokeniserConfig:
        """The settings for continuous text, whose templates and constant stand for the others."""
        c, templates = self.continuous_c, self.continuous_templates
        return replace(self, templates=templates, c=c, anneal_from=max(c, self.anneal_from))


@dataclass(frozen=True, kw_only=True)
class ExpanderConfig(LearningConfig):
    """What finds multiword tokens and their words."""

    train: bool = setting(
        True,
        "whether to train one, where the corpus has multiword tokens; without it each token is a "
        "word",
    )
    templates: Strings = setting(built_in.EXPANDER_TEMPLATES, "feature templates")
    min_count: Count = setting(2, "attributes seen less often than this are left out")
    weight_threshold: NonNegative = setting(0.02, "weights smaller than this are not stored")
    frequent: Count = setting(
        5, "forms that occur less often than this show what to expect of unknown forms"
    )
    least_rate: Annotated[float, Interval(ge=0, le=1)] = setting(
        0.1,
        "an unknown form may be a multiword token if at least this share of the forms with its "
        "prefix or suffix is",
    )
    c: Constant = 0.5
    anneal_from: NonNegative = 6.0


@dataclass(frozen=True, kw_only=True)
class JackknifeConfig(Section):
    """Predicted tags for training: each part of the corpus is tagged by a tagger of the others."""

    folds: Folds = setting(5, "parts; 0 or 1: no jackknifing, later tasks learn from gold tags")
    passes: Count = setting(8, "passes of the tagger that is trained on the other parts")
    c: Constant = setting(
        1.0, "regularisation constant of those taggers, if greater than that of the task"
    )


@dataclass(frozen=True, kw_only=True)
class ClassesConfig(Section):
    """Tables of word classes, whose columns templates may name."""

    tables: Strings = setting(
        (),
        "tables of word classes or word vectors: files, codes of languages (en, de, es: the tables "
        "of spacy-lookups-data), or spaCy pipelines with vectors",
    )
    licences: Strings = setting(
        (), "the licence of each table, for the card of the model; those of spaCy are known"
    )
    sources: Strings = setting(
        (), "where each table comes from, for the card of the model; those of spaCy are known"
    )
    vector_classes: Annotated[int, Interval(ge=2, le=MAX_CLASSES)] = setting(
        VECTOR_CLASSES, "classes that are made of a table of word vectors"
    )
    min_count: Count = setting(
        1, "words that were counted less often than this are left out, where a table has counts"
    )


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Section):
    """All settings of ``egparse train``."""

    language: str = setting(
        AUTO,
        "language code of the spaCy rules that split plain text into words; auto: that of the "
        "corpus, by the name of its file, else xx",
    )
    seed: Seed = setting(1, "random seed; equal seeds give equal models on one machine")
    jobs: Annotated[int, Interval(ge=1, le=1000)] = setting(
        1,
        "threads that learn folds, gaps and tasks beside each other; the model does not depend on "
        "their number",
    )
    layers: Strings = setting(
        (),
        "layers to train (upos, xpos, feats, lemmas, spans, heads, deprels); empty: all that are "
        "annotated",
    )
    exceptions: str = setting(
        AUTO,
        "file of exceptions in CoNLL-U, forms whose tokens, words, tags or lemmas the model is "
        "given; auto: those of the package for the language, if there are some; none",
    )
    hold_out: Share = setting(
        0.1, "share of the sentences held out for development if no development corpus is given"
    )
    base_strength: Constant = setting(
        10.0, "with a base model: factor of each C, that is, of the penalty on leaving its weights"
    )
    classes: ClassesConfig = ClassesConfig()
    jackknife: JackknifeConfig = JackknifeConfig()
    upos: TaggerConfig = TaggerConfig(c=0.5, full_row_min_count=3)
    xpos: TaggerConfig = TaggerConfig(full_row_min_count=10)
    feats: TaggerConfig = TaggerConfig(dictionary_size=16, frequent=100)
    morphology: MorphologyConfig = MorphologyConfig()
    lemmas: LemmasConfig = LemmasConfig()
    spans: TaggerConfig = TaggerConfig(
        templates=built_in.SPAN_TEMPLATES,
        class_templates=built_in.SPAN_CLASS_TEMPLATES,
        scheme="iobes",
        c=1.5,
        full_row_min_count=3,
        search="quadratic",
        prioritise_below_gain=float("inf"),
    )
    supertags: SupertagsConfig = SupertagsConfig()
    pruner: PrunerConfig = PrunerConfig()
    parser: ParserConfig = ParserConfig()
    labeller: LabellerConfig = LabellerConfig()
    tokeniser: TokeniserConfig = TokeniserConfig()
    expander: ExpanderConfig = ExpanderConfig()
    splitter: SplitterConfig = SplitterConfig()


TASK_SECTIONS = ("upos", "xpos", "feats", "morphology", "lemmas", "spans", "parser", "labeller")
"""The sections whose learner ``--learner`` sets: layers that are written, but not [pruner] and
[supertags], whose probabilities or tags the parser needs, nor what finds tokens and sentences.
"""


def settings() -> list[Setting]:
    """Every setting of training, section by section; the settings of no section come first."""
    of_order_1 = {one.key: one.default for one in settings_in(ORDER_1, "parser.")}
    del of_order_1["parser.order"]
    return [
        one._replace(default_order_1=other)
        if (other := of_order_1.get(one.key, one.default)) != one.default
        else one
        for one in settings_in(TrainConfig())
    ]


def settings_as_toml() -> str:
    """A configuration file with every setting at its default, each with its meaning above it.

    A setting without a default value is commented out: another setting decides its value.
    """
    lines = [
        "# The settings of egparse train, with their defaults. Keep what you change, for example",
        "#   egparse train corpus.conllu --config this-file.toml",
    ]
    section = ""
    for one in settings():
        path, _, name = one.key.rpartition(".")
        if path != section:
            lines += ["", f"[{path}]"]
            section = path
        other = f"; with order = 1: {one.default_order_1}" if one.default_order_1 else ""
        comment = f"{one.meaning} ({one.range}{other})"
        lines += wrap(comment, 98, initial_indent="# ", subsequent_indent="# ")
        lines.append(f"# {name} = ..." if one.default == "" else f"{name} = {one.default}")
    return "\n".join(lines) + "\n"


def joint_layers(config: TrainConfig, layers: Collection[str]) -> tuple[str, ...]:
    """The layers of word tags among ``layers`` that one tagger learns together, at least two or
    none.

    By default they are learned together unless their own sections are changed: who gives a layer
    settings of its own gets a tagger of its own.
    """
    chosen = tuple(layer for layer in WORD_TAGS if layer in layers)
    return chosen if len(chosen) > 1 and may_be_joint(config) else ()


def may_be_joint(config: TrainConfig) -> bool:
    """Whether one tagger learns layers of word tags together, where there are several."""
    if config.morphology.joint != "auto":
        return config.morphology.joint == "always"
    defaults = TrainConfig()
    return all(getattr(config, layer) == getattr(defaults, layer) for layer in WORD_TAGS)


def section_of(layer: str, joint: Collection[str] = ()) -> str:
    """The section of the configuration for the task that learns a layer, where ``joint`` layers are
    learned together.
    """
    return MORPHOLOGY if layer in joint else LAYERS[layer].section


def with_classes(
    settings: WordLabelConfig | ParserConfig,
    n_tables: int,
    built_in: Sequence[str] = (),
    name: str = "templates",
) -> tuple[str, ...]:
    """The templates of a task by the setting ``name``, or the built-in ones, and further ones over
    word classes for each table; for words and many tables only the first ones, as many for each
    table as there may be beside the others.
    """
    from egparse.classes.tables import for_each_table
    from egparse.features.templates import MAX_TEMPLATES  # settings are listed without arrays

    templates = getattr(settings, name) or tuple(built_in)
    of_classes: Sequence[str] = getattr(settings, OF_CLASSES[name])
    if not isinstance(settings, ParserConfig):
        of_classes = of_classes[: max(0, MAX_TEMPLATES - len(templates)) // max(1, n_tables)]
    return (*templates, *for_each_table(of_classes, n_tables))
