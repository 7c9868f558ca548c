"""What an annotation must and must not hold: partial annotation, given sentence by sentence and
turned into limits for the decoders.

Everything that is not fixed is decoded as the best completion given what is: chains and trees that
contradict a constraint are no longer among those that are searched. The tasks stay a pipeline,
though: a fixed head does not change a tag, for tags come first. One constraint works backwards:
where only a DEPREL is fixed, and the model has seen it only below the root or only below words, the
head of the word is looked for there.

A fixed value that the model does not know is kept in the output; the model decodes around it, and
tasks that read the tag see that it is unknown. Its word stays open in the search for the others'
labels, but for spans, where a tag of an unknown type is as good as O.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np

from egparse.errors import CorpusError, EgparseError
from egparse.features.tag_dictionary import AllowedLabels
from egparse.layers import LAYERS
from egparse.parsing.constraints import FREE, ArcConstraints
from egparse.parsing.long_sentences import LONGEST
from egparse.readers.trees import find_tree_fault
from egparse.schemes import OUTSIDE, find_tag_fault
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.types import Ints, Mask

Value = str | int

"""What can be constrained."""

_IOB2 = {"E": "I", "L": "I", "S": "B", "U": "B"}


@dataclass(frozen=True)
class Constraints:
    """The constraints of one sentence: ``fixed[layer][word]`` is the value that a word must have,
    ``forbidden[layer][word]`` holds values that it must not have.

    Layers are those of ``Sentence`` in ``LAYERS``. Words count from 1, as in the column ID; heads
    are positions of words or 0 for the root. Span tags are IOB2 whatever the model's scheme.
    Immutable: the mappings are copied.

    Raises:
        EgparseError: another layer, a word before the first, a head that is no integer, a label
            that is no string.
    """

    fixed: Mapping[str, Mapping[int, Value]] = field(default_factory=dict)
    forbidden: Mapping[str, Mapping[int, Collection[Value]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        fixed = {layer: dict(own) for layer, own in self.fixed.items() if own}
        forbidden = {
            layer: {word: frozenset(values) for word, values in own.items()}
            for layer, own in self.forbidden.items()
            if own
        }
        for layer in (*fixed, *forbidden):
            if layer not in LAYERS:
                raise EgparseError(
                    f"constraints: expected a layer of {', '.join(LAYERS)}, got {layer!r}"
                )
        for layer, own in fixed.items():
            _check(layer, own, own.values())
        for layer, values in forbidden.items():
            _check(layer, values, chain.from_iterable(values.values()))
        object.__setattr__(self, "fixed", fixed)
        object.__setattr__(self, "forbidden", forbidden)

    def __bool__(self) -> bool:
        return bool(self.fixed or self.forbidden)

    @property
    def layers(self) -> frozenset[str]:
        """The layers that have constraints."""
        return frozenset(self.fixed) | frozenset(self.forbidden)

    def fix(self, layer: str, word: int, value: Value) -> Constraints:
        """These constraints, and one value fixed."""
        own = {**self.fixed.get(layer, {}), word: value}
        return Constraints({**self.fixed, layer: own}, self.forbidden)

    def forbid(self, layer: str, word: int, *values: Value) -> Constraints:
        """These constraints, and some values of a word forbidden."""
        before = self.forbidden.get(layer, {})
        own = {**before, word: frozenset(before.get(word, ())) | frozenset(values)}
        return Constraints(self.fixed, {**self.forbidden, layer: own})

    def over(self, other: Constraints) -> Constraints:
        """Both together; where they fix different values, these win."""
        fixed = {
            layer: {**other.fixed.get(layer, {}), **self.fixed.get(layer, {})}
            for layer in {**other.fixed, **self.fixed}
        }
        joined = Constraints(fixed, other.forbidden)
        for layer, own in self.forbidden.items():
            for word, values in own.items():
                joined = joined.forbid(layer, word, *values)
        return joined

    @classmethod
    def of(cls, sentence: Sentence, layers: Iterable[str] = LAYERS) -> Constraints:
        """Fixed is what a sentence holds in some layers: every value that is not missing."""
        return cls(
            {
                layer: {
                    word: value
                    for word, value in enumerate(getattr(sentence, layer), 1)
                    if value not in (MISSING, MISSING_HEAD)
                }
                for layer in layers
            }
        )


def _check(layer: str, words: Iterable[int], values: Iterable[Value]) -> None:
    if min(words) < 1:
        raise EgparseError(
            f"constraints: {layer}: expected words that count from 1, got {min(words)}"
        )
    kind = int if layer == "heads" else str
    for value in values:
        if not isinstance(value, kind):
            raise EgparseError(
                f"constraints: {layer}: expected values of type {kind.__name__}, got {value!r}"
            )


class LabelConstraints(NamedTuple):
    """The constraints of a batch on a layer of labels.

    ``allowed``: the labels that the decoder may choose (None: any). ``fixed``: the words whose
    label is fixed, numbered through the batch. ``unknown``: the fixed labels that the model does
    not know, by word.
    """

    allowed: AllowedLabels | None
    fixed: list[int]
    unknown: dict[int, str]


class ResolvedConstraints(NamedTuple):
    """The constraints of a batch in the numbers of a model; ``check(layer, values, what)`` raises
    EgparseError for a sentence without a solution, whose values are negative.
    """

    labels: Mapping[str, LabelConstraints]
    arcs: ArcConstraints | None
    check: Callable[[str, Ints, str], None]


@dataclass(frozen=True)
class BatchConstraints:
    """The constraints of a batch of sentences; ``number`` is that of the first one in the input,
    from 1, for messages.
    """

    batch: Sequence[Sentence]
    constraints: Sequence[Constraints]
    number: int = 1

    def resolve(
        self,
        layers: Collection[str],
        strings: Mapping[str, Sequence[str]],
        *,
        single_root: bool,
        below: Mapping[str, bool],
    ) -> ResolvedConstraints:
        """The constraints on some layers in numbers of labels, of which ``strings[layer]`` has the
        names; for ``single_root`` and ``below`` see ``arcs``.

        Raises:
            EgparseError: see ``labels`` and ``arcs``.
        """
        return ResolvedConstraints(
            {layer: self.labels(layer, strings[layer]) for layer in layers if layer != "heads"},
            self.arcs(single_root=single_root, below=below) if "heads" in layers else None,
            self.check,
        )

    def labels(self, layer: str, strings: Sequence[str]) -> LabelConstraints:
        """The constraints on a layer of labels, by the numbers of the labels ``strings``.

        Raises:
            EgparseError: a word that is not there, a value both fixed and forbidden, nothing left,
                a span tag that is none.
        """
        numbers = (
            _readings(strings)
            if layer == "spans"
            else {name: (k,) for k, name in enumerate(strings)}
        )
        allowed: dict[int, Collection[int]] = {}
        fixed_words: list[int] = []
        unknown: dict[int, str] = {}
        begin = -1  # of the sentence, as if words counted from 0 on
        for i, (sentence, own) in enumerate(zip(self.batch, self.constraints, strict=True)):
            fixed, forbidden = own.fixed.get(layer, {}), own.forbidden.get(layer, {})
            if fixed or forbidden:
                self._check_words(i, layer, (*fixed, *forbidden))
                if layer == "spans":
                    self._check_spans(i, fixed, numbers)
            for word, value in fixed.items():
                if value in forbidden.get(word, ()):
                    raise self.fault(
                        i, word, f"a value in {layer} that is not forbidden", repr(value)
                    )
                fixed_words.append(begin + word)
                known = numbers.get(str(value))
                if known is None:
                    unknown[begin + word] = str(value)
                    known = numbers.get(OUTSIDE) if layer == "spans" else None
                if known is not None:
                    allowed[begin + word] = known
            for word, values in forbidden.items():
                if word not in fixed:
                    none = {number for value in values for number in numbers.get(str(value), ())}
                    left = [number for number in range(len(strings)) if number not in none]
                    if not left:
                        raise self.fault(
                            i, word, f"a label in {layer} that is not forbidden", "none"
                        )
                    allowed[begin + word] = left
            begin += len(sentence)
        return LabelConstraints(_allowed_labels(allowed, len(strings)), fixed_words, unknown)

    def arcs(self, *, single_root: bool, below: Mapping[str, bool]) -> ArcConstraints | None:
        """The constraints on heads; None where there are none.

        ``below[label]`` is True for labels that occur only below the root, False for those that
        occur only below words.

        Raises:
            EgparseError: heads that are no part of any tree (with one root word if
                ``single_root``), a head both fixed and forbidden, or free and fixed heads in a
                sentence of more than ``LONGEST`` words.
        """
        lengths = [len(sentence) for sentence in self.batch]
        heads = np.full(sum(lengths), FREE, dtype=np.int32)
        constrained = np.zeros(len(lengths), dtype=bool)
        forbidden: dict[int, Mask] = {}
        begin = 0
        for i, (n, own) in enumerate(zip(lengths, self.constraints, strict=True)):
            fixed, barred = own.fixed.get("heads", {}), own.forbidden.get("heads", {})
            if fixed or barred:
                constrained[i] = True
                self._check_arcs(i, n, fixed, barred, single_root)
                heads[begin : begin + n][[word - 1 for word in fixed]] = [
                    int(head) for head in fixed.values()
                ]
            if n > LONGEST:
                pass  # all heads are fixed or free: no array of n^2 arcs is needed
            elif barred:
                forbidden[i] = _squared(n, barred)
            else:
                inferred, elsewhere = _by_labels(
                    own, n, heads[begin : begin + n], single_root, below
                )
                if inferred:
                    heads[begin + inferred - 1] = 0
                if elsewhere:
                    forbidden[i] = _squared(n, dict.fromkeys(elsewhere, (0,)))
                constrained[i] |= bool(inferred or elsewhere)
            begin += n
        return ArcConstraints(heads, forbidden, constrained) if constrained.any() else None

    def fault(self, i: int, word: int, expected: str, got: str) -> EgparseError:
        """The error that word ``word`` of sentence ``i`` of the batch is not as expected; with its
        line, if it came from a file.
        """
        sentence = self.batch[i]
        source = sentence.source
        if source is None:
            name = sentence.sentence_id or f"number {self.number + i}"
            return EgparseError(f"sentence {name}, word {word}: expected {expected}, got {got}")
        line = source.word_lines[min(word, len(sentence)) - 1] if len(sentence) else 0
        return CorpusError(
            source.path, source.first_line + line, expected, got, sentence.sentence_id
        )

    def check(self, layer: str, found: Ints, what: str) -> None:
        """Raise EgparseError for the first sentence for which a decoder has found nothing, -1,
        within its limits.
        """
        if not (found < 0).any():
            return
        place = int(np.argmax(found < 0))
        ends = np.cumsum([len(sentence) for sentence in self.batch])
        i = int(np.searchsorted(ends, place, side="right"))
        own = self.constraints[i]
        word = min((*own.fixed.get(layer, ()), *own.forbidden.get(layer, ())), default=1)
        raise self.fault(
            i, word, f"constraints on {layer} that leave {what}", "some that leave none"
        )

    def _check_words(self, i: int, layer: str, words: Iterable[int]) -> None:
        n = len(self.batch[i])
        last = max(words)
        if last > n:
            raise self.fault(
                i, last, f"constraints on {layer} for words from 1 to {n}", f"word {last}"
            )

    def _check_spans(self, i: int, fixed: Mapping[int, Value], known: Collection[str]) -> None:
        """Tags are of IOB2; unknown types, which no label continues, are where they make spans by
        themselves.
        """
        for word, value in fixed.items():
            tag = str(value)
            if find_tag_fault([tag], "iob2") is not None:
                raise self.fault(i, word, "a span tag O, B-TYPE or I-TYPE", repr(tag))
            before = fixed.get(word - 1)
            if tag not in known and tag[0] == "I" and before not in ("B" + tag[1:], tag):
                text = f"B{tag[1:]} or {tag} fixed before {tag}, whose type the model does not know"
                raise self.fault(i, word, text, repr(before) if before else "no tag")

    def _check_arcs(
        self,
        i: int,
        n: int,
        fixed: Mapping[int, Value],
        barred: Mapping[int, Collection[Value]],
        single_root: bool,
    ) -> None:
        self._check_words(i, "heads", (*fixed, *barred))
        heads = [int(fixed.get(word, MISSING_HEAD)) for word in range(1, n + 1)]
        negative = next((word for word in fixed if heads[word - 1] < 0), None)
        if negative is not None:
            raise self.fault(i, negative, f"a head from 0 to {n}", str(heads[negative - 1]))
        fault = find_tree_fault(heads, single_root)
        if fault is not None:
            raise self.fault(i, fault.word, fault.expected, fault.got)
        for word, values in barred.items():
            wrong = next((value for value in values if not 0 <= int(value) <= n), None)
            if wrong is not None:
                raise self.fault(i, word, f"forbidden heads from 0 to {n}", str(wrong))
            if fixed.get(word) in values:
                raise self.fault(i, word, "a head that is not forbidden", str(fixed[word]))
        if n > LONGEST and len(fixed) < n:
            text = (
                f"at most {LONGEST} words in a sentence of which some heads are fixed or forbidden"
            )
            raise self.fault(i, min((*fixed, *barred)), text, str(n))


def _allowed_labels(allowed: Mapping[int, Collection[int]], n_labels: int) -> AllowedLabels | None:
    if not allowed:
        return None
    words = sorted(allowed)
    table = np.zeros((len(words), n_labels), dtype=bool)
    rows = np.repeat(np.arange(len(words)), [len(allowed[word]) for word in words])
    table[
        rows, np.fromiter(chain.from_iterable(allowed[word] for word in words), np.int64, len(rows))
    ] = True
    return AllowedLabels(np.array(words, dtype=np.int64), table)


def _readings(tags: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The numbers of the tags, in any scheme, that mean an IOB2 tag: what begins a span, what is
    inside it, what is outside of all.
    """
    readings: dict[str, tuple[int, ...]] = {}
    for number, tag in enumerate(tags):
        name = _IOB2.get(tag[0], tag[0]) + tag[1:]
        readings[name] = (*readings.get(name, ()), number)
    return readings


def _squared(n: int, barred: Mapping[int, Collection[Value]]) -> Mask:
    square = np.zeros((n + 1, n + 1), dtype=bool)
    for word, values in barred.items():
        square[[int(head) for head in values], word] = True
    return square


def _by_labels(
    own: Constraints, n: int, heads: Ints, single_root: bool, below: Mapping[str, bool]
) -> tuple[int, list[int]]:
    """``(root, not_root)``: the word whose fixed label forces it below the root (0: none), and the
    words whose labels exclude the root.

    Only what leaves a tree with any fixed heads is concluded: labels may contradict each other, and
    need not fit heads that are fixed.
    """
    labels = own.fixed.get("deprels", {})
    told = [
        (word, below[str(label)])
        for word, label in labels.items()
        if str(label) in below and 0 < word <= n and heads[word - 1] == FREE
    ]
    if not told or (single_root and (heads == 0).any()):
        return 0, []
    roots = [word for word, at_root in told if at_root]
    if single_root and len(roots) == 1:
        return roots[0], []
    elsewhere = [word for word, at_root in told if not at_root]
    others = int((heads == FREE).sum()) > len(elsewhere) or bool((heads == 0).any())
    return 0, elsewhere if others else []


def labels_below(
    strings: Sequence[str], of_root: Collection[int], of_words: Collection[int]
) -> dict[str, bool]:
    """The labels seen only below the root (True) and those seen only below words (False), from the
    numbers of those seen below either.
    """
    found: Callable[[int], bool] = (set(of_root) ^ set(of_words)).__contains__
    return {name: number in of_root for number, name in enumerate(strings) if found(number)}
