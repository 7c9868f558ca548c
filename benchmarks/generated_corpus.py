"""A corpus of any size, in CoNLL-U, made of a small one: its sentences are drawn with replacement,
and some of their words are replaced, so that the vocabulary grows as that of text does.

A word of an open class (noun, proper noun, verb, adjective, adverb) is replaced by a word of the
same UPOS, XPOS, FEATS and capitalisation, with its lemma: by a known one, as frequently as it
occurs in the source, or by a new one. Tags, heads and labels stay, so trees remain correct. A new
word consists of syllables, which are its rank in the class written as a number, and of the ending
of a rare word of its class; ending of form and of lemma belong together.

The vocabulary of text grows by Heaps' law: n words have about K n^beta forms (Heaps 1978, section
7.5), and the probability of the word of rank r is then about proportional to r^(-1/beta). beta is
measured on growing parts of the source, of which the sentences are shuffled. The ranks of the new
words of a class with V known ones have probabilities proportional to (c V + r)^(-1/beta). The share
of a class's words that is new is proportional to the share of those that occur once (Good 1953,
equation 9), with the same factor for all classes. Factor and c are chosen such that the expected
number of forms continues the law up to ``REACH`` times the source's words.

Equal arguments give equal files; fewer sentences are the beginning of more. Memory does not depend
on their number: new words are computed, not remembered. --length makes sentences of that many
words, of several side by side: their roots depend on the first one's by parataxis. Enhanced
dependencies are left out; "a" may stand before a vowel; inflected forms of one new word do not
belong together.

Usage: python benchmarks/generated_corpus.py SOURCE.conllu SENTENCES [--seed N] [--length WORDS]
[-o FILE] [--growth]
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

OPEN = {"ADJ", "ADV", "NOUN", "PROPN", "VERB"}
REPLACED = 0.25
"""Share of the words of open classes that are replaced by known words."""
REACH = 80
"""At how many times the source's words the expected number of forms is as the law says."""
MOST_NEW = 0.5
"""Largest share of new words in a class."""
BATCH = 1000
"""Sentences whose random numbers are drawn together."""
FEWEST = 20
"""Source sentences of a length that it takes to fill what is left of a sentence by one of them."""
SYLLABLES = [onset + vowel for onset in "bdfghklmnprstvwz" for vowel in "aeiou"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Word(NamedTuple):
    """A word of the source: what stands in its line, and what follows it in the text."""

    form: str
    lemma: str
    tags: str  # UPOS, XPOS and FEATS
    head: int
    label: str
    space: str  # " ", or nothing
    misc: str


class Token(NamedTuple):
    """A token of several words, ``end`` being the number of the last."""

    end: int
    form: str
    space: str
    misc: str


@dataclass
class Source:
    """A sentence of the source. ``places`` are those of the words that may be replaced, ``kinds``
    numbers of their classes.
    """

    words: list[Word]
    tokens: dict[int, Token]
    places: list[int] = field(default_factory=list)
    kinds: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))


class Kinds(NamedTuple):
    """The classes of words. Those of class c are ``words[starts[c] : starts[c + 1]]``, form and
    lemma, as often as they occur. The share ``new[c]`` is new: of rank r with probability
    proportional to (offsets[c] + r)^(-1/beta), with the endings (form, lemma, is capitalised)
    ``endings[c]``.
    """

    words: list[tuple[str, str]]
    starts: Ints
    offsets: Floats
    new: Floats
    endings: list[list[tuple[str, str, bool]]]


def read(path: Path) -> list[Source]:
    """The sentences of a CoNLL-U file, without empty nodes."""
    found = []
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        words: list[Word] = []
        tokens: dict[int, Token] = {}
        for line in block.splitlines():
            number, form, lemma, *tags, head, label, _, misc = (
                line.split("\t") if line[:1] != "#" else ["."] * 10
            )
            tight = "SpaceAfter=No" in misc.split("|")
            after = ("", "SpaceAfter=No") if tight else (" ", "_")
            if number.isdigit():
                words.append(Word(form, lemma, "\t".join(tags), int(head), label, *after))
            elif "-" in number:
                first, end = map(int, number.split("-"))
                tokens[first] = Token(end, form, *after)
        found.append(Source(words, tokens))
    return found


def exponent(points: Sequence[tuple[int, int]]) -> float:
    """The slope of log forms over log words."""
    words, forms = np.log(np.array(points, dtype=np.float64)).T
    return float(np.polyfit(words, forms, 1)[0])


def source_law(source: Sequence[Source], seed: int) -> list[tuple[int, int]]:
    """Words and different forms in 1/16, 1/8, ... and all of the sentences, in random order."""
    forms: set[str] = set()
    n_words, points = 0, []
    marks = [len(source) >> halvings for halvings in range(4, -1, -1)]
    for count, i in enumerate(np.random.default_rng(seed).permutation(len(source)).tolist(), 1):
        forms.update(word.form for word in source[i].words)
        n_words += len(source[i].words)
        if count in marks:
            points.append((n_words, len(forms)))
    return points


def kinds_of(source: Sequence[Source], beta: float) -> Kinds:
    """Sort the replaceable words into classes, entered in ``source``, and choose their shares of
    new words.
    """
    members: defaultdict[tuple[str, bool], list[tuple[str, str]]] = defaultdict(list)
    for sentence in source:
        inside = {
            k for first, token in sentence.tokens.items() for k in range(first, token.end + 1)
        }
        kinds = []
        for k, word in enumerate(sentence.words, 1):
            is_title = word.form.istitle()
            plain = word.form.isalpha() and (is_title or word.form.islower())
            if word.tags.split("\t")[0] in OPEN and plain and k not in inside:
                kind = (word.tags, is_title)
                members[kind].append((word.form, word.lemma))
                sentence.places.append(k - 1)
                kinds.append(kind)
        numbers = {kind: number for number, kind in enumerate(members)}
        sentence.kinds = np.array([numbers[kind] for kind in kinds], dtype=np.int64)
    counts = [Counter(of_kind) for of_kind in members.values()]
    endings = [
        [ending for word, n in count.items() if n <= 2 for ending in ending_of(*word)]
        for count in counts
    ]
    sizes = np.array([len(of_kind) for of_kind in members.values()], dtype=np.int64)
    known = np.array([len(count) for count in counts], dtype=np.int64)
    once = np.array([sum(n == 1 for n in count.values()) for count in counts])
    share = np.where([bool(of_kind) for of_kind in endings], once / np.maximum(sizes, 1), 0.0)
    occurrences = Counter(word.form for sentence in source for word in sentence.words)
    new, offsets = _law(share, sizes, known, np.array(list(occurrences.values())), beta)
    words = [word for of_kind in members.values() for word in of_kind]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Kinds(words, starts, offsets, new, endings)


def ending_of(form: str, lemma: str) -> Iterator[tuple[str, str, bool]]:
    """The endings of form and lemma after what they share, with three letters of that; none if it
    is shorter than four.
    """
    both = zip(form.lower(), lemma.lower(), strict=False)
    shared = next((k for k, (a, b) in enumerate(both) if a != b), min(len(form), len(lemma)))
    if shared >= 4:
        yield form[shared - 3 :], lemma[shared - 3 :], lemma[:1].isupper()


def _law(
    share: Floats, sizes: Ints, known: Ints, occurrences: Ints, beta: float
) -> tuple[Floats, Floats]:
    """The share of new words in each class, and the offset of their ranks, with which the expected
    number of forms is nearest to the law, from the source's words to ``REACH`` times as many (least
    squares of logarithms).
    """
    ranks = np.logspace(0, 9, 300)  # of new words, as multiples of the offset
    density = (1 / beta - 1) * ranks ** (-1 / beta)

    def expected(times: float, new: Floats, offsets: Floats) -> float:
        rates = times * new * sizes / offsets
        seen = -np.expm1(-rates[:, None] * density) * offsets[:, None]
        return float(np.trapezoid(seen, ranks, axis=1).sum() - np.expm1(-times * occurrences).sum())

    times = np.logspace(0, math.log10(REACH), 6)
    law = np.log(len(occurrences) * times**beta)
    best: tuple[float, Floats, Floats] = (math.inf, share, share)
    for multiple in 2.0 ** np.arange(-2, 7):
        for factor in 2.0 ** np.arange(-4, 1.5, 0.25):
            new, offsets = np.minimum(MOST_NEW, factor * share), multiple * known
            forms = [expected(each, new, offsets) for each in times.tolist()]
            best = min(
                best, (float(np.sum((np.log(forms) - law) ** 2)), new, offsets), key=itemgetter(0)
            )
    return best[1:]


def new_word(kinds: Kinds, kind: int, rank: int) -> tuple[str, str]:
    """Form and lemma of the new word of a rank (from 0 on) in a class."""
    endings = kinds.endings[kind]
    form, lemma, is_name = endings[(rank * 2654435761 + kind) % len(endings)]
    number, stem = rank // len(SYLLABLES), SYLLABLES[rank % len(SYLLABLES)]
    while number:
        number -= 1
        stem += SYLLABLES[number % len(SYLLABLES)]
        number //= len(SYLLABLES)
    title = stem.capitalize()
    is_title = kinds.words[int(kinds.starts[kind])][0].istitle()
    return (title if is_title else stem) + form, (title if is_name else stem) + lemma


def replacements(
    chosen: Sequence[Source], kinds: Kinds, beta: float, random: np.random.Generator
) -> Iterator[dict[int, tuple[str, str]]]:
    """What replaces which words (from 0 on) of each sentence: form and lemma."""
    kind = np.concatenate([np.empty(0, dtype=np.int64), *(sentence.kinds for sentence in chosen)])
    choice, place = random.random((2, len(kind)))
    new = kinds.new[kind]
    is_changed = choice < new + REPLACED
    is_new = choice < new
    # the inverse of the distribution function of (offset + r)^(-1/beta); 1 - place is in (0, 1]
    with np.errstate(over="ignore"):
        ranks = kinds.offsets[kind] * ((1.0 - place) ** (-beta / (1.0 - beta)) - 1.0)
    ranks = np.minimum(ranks, 1e15).astype(np.int64)
    sizes = np.diff(kinds.starts)[kind]
    numbers = (kinds.starts[kind] + (place * sizes).astype(np.int64)).tolist()
    first = 0
    for sentence in chosen:
        end = first + len(sentence.places)
        found = {}
        for slot in (first + np.flatnonzero(is_changed[first:end])).tolist():
            found[sentence.places[slot - first]] = (
                new_word(kinds, int(kind[slot]), int(ranks[slot]))
                if is_new[slot]
                else kinds.words[numbers[slot]]
            )
        yield found
        first = end


def joined(
    source: Sequence[Source], length: int, random: np.random.Generator
) -> Iterator[list[int]]:
    """Numbers of sentences that have ``length`` words together, without end."""
    of_length: defaultdict[int, list[int]] = defaultdict(list)
    for number, sentence in enumerate(source):
        of_length[len(sentence.words)].append(number)
    usual = {size for size, numbers in of_length.items() if len(numbers) >= FEWEST}
    can_fill = [True]  # whether sentences have 0, 1, ... words together
    for total in range(1, length + 1):
        can_fill.append(any(size <= total and can_fill[total - size] for size in of_length))
    if not can_fill[length]:
        raise SystemExit(f"no sentences of the source have {length} words together")
    while True:
        numbers: list[int] = []
        left = length
        while left:
            number = int(random.integers(len(source)))
            size = len(source[number].words)
            if left in usual or size > left or not can_fill[left - size]:
                sizes = [each for each in of_length if each <= left and can_fill[left - each]]
                fitting = of_length[left if left in usual else max(sizes)]
                number = fitting[int(random.integers(len(fitting)))]
            numbers.append(number)
            left -= len(source[number].words)
        yield numbers


def write(parts: Sequence[tuple[Source, dict[int, tuple[str, str]]]], name: str) -> str:
    """One sentence of several side by side, with some words replaced."""
    lines, text = [], []
    shift, root, skip = 0, 0, 0
    for sentence, changes in parts:
        for k, word in enumerate(sentence.words, 1):
            form, lemma = changes.get(k - 1, word[:2])
            token = sentence.tokens.get(k)
            if token is not None:
                end, whole, space, misc = token
                lines.append(f"{k + shift}-{end + shift}\t{whole}" + "\t_" * 7 + f"\t{misc}")
                text.append(whole + space)
                skip = end + shift
            if k + shift > skip:
                text.append(form + word.space)
            head, label = word.head + shift, word.label
            if word.head == 0:
                head, label = (root, "parataxis") if root else (0, "root")
                root = root or k + shift
            lines.append(
                f"{k + shift}\t{form}\t{lemma}\t{word.tags}\t{head}\t{label}\t_\t{word.misc}"
            )
        if text and not text[-1].endswith(" "):
            text.append(" ")
        shift += len(sentence.words)
    said = "".join(text).strip()
    return f"# sent_id = {name}\n# text = {said}\n" + "\n".join(lines) + "\n\n"


def generate(
    source: Sequence[Source], count: int, *, seed: int = 0, length: int | None = None
) -> Iterator[str]:
    """``count`` sentences as blocks of CoNLL-U, each with the blank line after it. The classes of
    words are entered in ``source``.
    """
    beta = exponent(source_law(source, seed))
    for sentence in source:
        sentence.places.clear()
    kinds = kinds_of(source, beta)
    random = np.random.default_rng(seed)
    groups = (
        ([int(i)] for i in iter(lambda: random.integers(len(source)), None))
        if length is None
        else joined(source, length, random)
    )
    made = 0
    batch = BATCH if length is None else max(1, min(BATCH, 20_000 // length))
    while made < count:
        numbers = list(islice(groups, batch))
        chosen = [source[i] for group in numbers for i in group]
        pairs = zip(chosen, replacements(chosen, kinds, beta, random), strict=True)
        for group in numbers[: count - made]:
            made += 1
            yield write(list(islice(pairs, len(group))), f"generated-{made}")


def growth(blocks: Iterable[str]) -> Iterator[tuple[int, int, int]]:
    """Sentences, words and different forms at 1,000, 3,162, 10,000, ... sentences and at the end;
    remembers the forms.
    """
    forms: set[str] = set()
    sentences = n_words = 0
    power = 6
    for block in blocks:
        rows = [line.split("\t", 2) for line in block.splitlines() if line[:1].isdigit()]
        of_sentence = [row[1] for row in rows if row[0].isdigit()]
        forms.update(of_sentence)
        n_words += len(of_sentence)
        sentences += 1
        if sentences == math.floor(10 ** (power / 2)):
            yield sentences, n_words, len(forms)
            power += 1
    yield sentences, n_words, len(forms)


def main() -> None:
    """Write the corpus, or how its vocabulary grows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("sentences", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--length", type=int, help="words of each sentence")
    parser.add_argument("-o", "--output", type=Path, help="instead of standard output")
    parser.add_argument(
        "--growth", action="store_true", help="print how the vocabulary grows instead of the corpus"
    )
    options = parser.parse_args()
    if options.sentences < 1 or (options.length or 1) < 1:
        parser.error("expected at least one sentence and one word")
    source = read(options.source)
    blocks = generate(source, options.sentences, seed=options.seed, length=options.length)
    if options.growth:
        law = source_law(source, options.seed)
        print(f"source: {law[-1][0]:,} words, {law[-1][1]:,} forms, exponent {exponent(law):.3f}")
        last: tuple[int, int] | None = None
        for sentences, words, forms in growth(blocks):
            slope = (
                ""
                if last is None or last[0] == words
                else f"{exponent([last, (words, forms)]):.3f}"
            )
            print(f"{sentences:10,} {words:12,} {forms:10,} {slope}", flush=True)
            last = (words, forms)
        return
    if options.output is None:
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
        sys.stdout.writelines(blocks)
    else:
        with options.output.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(blocks)


if __name__ == "__main__":
    main()
