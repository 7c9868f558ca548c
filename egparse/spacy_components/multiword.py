"""Multiword tokens of Docs: *du* stays one token of the Doc, whose text is never rewritten, and the
model annotates its words *de* and *le*.

``egparse.Tokenizer.v1`` leaves the words of a multiword token in ``Doc.user_data``. Components give
the words to the model, and take back one value for each token: the tags of the first word, all
lemmas with blanks between them, the head and the label of the word that stands highest in the tree.
spaCy does much the same where it merges the words of a treebank (``spacy convert
--merge-subtokens``). What the model says of each word is in ``token._.egparse_words``.

A Doc may also have one token for each word, whose texts are the pieces of a multiword token: *ca*
and *n't*, or *d* and *u*. The model annotates the words *de* and *le*, and each token gets what
belongs to its word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise, takewhile
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from spacy.symbols import NORM, ORTH
from spacy.tokens import Doc, Token
from spacy.util import get_lang_class

from egparse.features.request import ABSENT, Values
from egparse.features.vocabulary import Vocabulary
from egparse.layers import LEMMAS
from egparse.pipeline.annotate import Prediction
from egparse.sentences import ROW_KEYS, SurfaceToken
from egparse.spacy_components.documents import (
    Batch,
    characters_of,
    entries_at,
    key_at,
    user_data,
)
from egparse.types import Ints, Longs, Mask

Word: TypeAlias = dict[str, Any]
"""A word of a multiword token: its ``form``, and under the keys of ``Sentence.rows`` what was
predicted for it. ``head`` is None for a root, else two numbers: the distance in characters from the
start of this token to that of the head's token, and which word of that token the head is, from 0.
"""

_ATTRIBUTE, _STORED = "egparse_words", "egparse_multiword"


def register() -> None:
    """Register ``token._.egparse_words``: the words of a multiword token, None for other tokens."""
    if not Token.has_extension(_ATTRIBUTE):
        Token.set_extension(_ATTRIBUTE, getter=words_of)


def put_words(doc: Doc, start: int, text: str, forms: Sequence[str]) -> None:
    """Say that the token of a text that starts at a character has the words ``forms``."""
    user_data(doc)[key_at(_STORED, start)] = [text, [{"form": form} for form in forms]]


def words_of(token: Token) -> list[Word] | None:
    """The words of a multiword token, None for other tokens."""
    entry = user_data(token.doc).get(key_at(_STORED, token.idx))
    return entry[1] if entry is not None and entry[0] == token.text else None


class Multiword(NamedTuple):
    """A multiword token of a Doc: its first token there, how many tokens it is (one, or one a
    word), its text and its words.
    """

    first: int
    n_tokens: int
    text: str
    words: list[Word]


def multiword_tokens(doc: Doc) -> Iterator[Multiword]:
    """The multiword tokens of a Doc that are still there."""
    kept = entries_at(doc, _STORED)
    if not kept:
        return
    starts, ends = characters_of(doc).T.tolist()
    places = {start: token for token, start in enumerate(starts)}
    for start, (text, words) in sorted(kept.items()):
        first = places.get(start, len(doc))
        for end in (first + 1, first + len(words)):
            if end <= len(doc) and ends[end - 1] == start + len(text):
                if "".join(doc[token].text for token in range(first, end)) == text:
                    yield Multiword(first, end - first, text, words)
                break


def forms_of(doc: Doc) -> list[str]:
    """The forms of the tokens of a Doc for a model: the words themselves where a multiword token is
    one token a word, else the texts.
    """
    forms = [token.text for token in doc]
    for first, n_tokens, _, words in multiword_tokens(doc):
        if n_tokens > 1:
            forms[first : first + n_tokens] = [word["form"] for word in words]
    return forms


def continued(docs: Sequence[Doc]) -> Mask | None:
    """Which tokens of some Docs, laid end to end, continue the multiword token that begins before
    them, shape (tokens,); None if none does.
    """
    found: list[int] = []
    start = 0
    for doc in docs:
        for first, n_tokens, *_ in multiword_tokens(doc) if doc.user_data else ():
            found += range(start + first + 1, start + first + n_tokens)
        start += len(doc)
    if not found:
        return None
    mask = np.zeros(start, dtype=np.bool_)
    mask[found] = True
    return mask


def pieces_of(text: str, forms: Sequence[str]) -> list[str] | None:
    """The text of a multiword token in pieces, one for each word; None if that cannot be: it has
    fewer characters than words, or blanks that would be pieces.

    From the last word to the second, each gets the end that it shares with what is left of the
    text, at least one character, as long as one is left for each word before it. So the pieces are
    the words where these spell the text.
    """
    ends = [len(text)]
    for before in range(len(forms) - 1, 0, -1):
        pairs = zip(reversed(text[: ends[-1]]), reversed(forms[before]), strict=False)
        shared = len([*takewhile(lambda pair: pair[0].lower() == pair[1].lower(), pairs)])
        ends.append(max(before, ends[-1] - max(shared, 1)))
    pieces = [text[a:b] for a, b in pairwise([0, *reversed(ends)])]
    return pieces if all(piece.strip() for piece in pieces) else None


def put_norms(doc: Doc) -> None:
    """Set NORM of the tokens of split multiword tokens: as spaCy's own tokeniser does where it
    splits them in the same way (``n't`` is ``not``), else to the word where it differs from the
    text.
    """
    for first, n_tokens, text, words in multiword_tokens(doc):
        if n_tokens == 1:
            continue
        tokens = doc[first : first + n_tokens]
        rules = _rules_of(doc.vocab.lang).get(text, ())
        same = [rule[ORTH] for rule in rules] == [token.text for token in tokens]
        norms = [rule.get(NORM) for rule in rules] if same else [None] * n_tokens
        for token, word, norm in zip(tokens, words, norms, strict=True):
            form = word["form"].lower()
            if norm or form != token.lower_:
                token.norm_ = norm or form


@cache
def _rules_of(language: str) -> Mapping[str, Sequence[Mapping[int, str]]]:
    """The tokens of strings that spaCy has rules for, such as ``can't``."""
    try:
        rules: Mapping[str, Sequence[Mapping[int, str]]] = get_lang_class(
            language
        ).Defaults.tokenizer_exceptions
    except ImportError:
        return {}
    return rules


class Expanded(NamedTuple):
    """The words of a batch of Docs with multiword tokens.

    Token ``t`` of the batch, white space not counted, has the words ``firsts[t]`` to
    ``firsts[t + 1] - 1``, and word ``w`` the form ``forms[w]``. ``entries[t]`` are the words of a
    multiword token that is one token, as they are kept in its Doc. ``ranges`` are the first word,
    the number of words and the text of each multiword token.
    """

    batch: Batch
    firsts: Longs
    forms: list[str]
    entries: Mapping[int, list[Word]]
    ranges: Sequence[tuple[int, int, str]]

    @property
    def bounds(self) -> Longs:
        """The first word of each sentence, and the end."""
        return self.firsts[self.batch.starts]

    def sentences(self) -> list[list[str]]:
        return [self.forms[first:end] for first, end in pairwise(self.bounds.tolist())]

    def tokens(self) -> list[list[SurfaceToken]]:
        bounds = self.bounds
        found: list[list[SurfaceToken]] = [[] for _ in bounds[1:]]
        for first, n_words, text in self.ranges:
            number = _part(bounds, first)
            begin, end = bounds[number : number + 2].tolist()
            if first + n_words <= end:  # no sentence was said to start inside
                found[number].append(SurfaceToken(first - begin, first - begin + n_words - 1, text))
        return found

    def given(self, tags: Mapping[str, Ints], labels: Mapping[str, Vocabulary]) -> dict[str, Ints]:
        """Given tags of tokens as tags of words: a multiword token has that of its first word, the
        others have what was predicted for them before.
        """
        spread = {}
        for layer, values in tags.items():
            numbers = np.full(len(self.forms), ABSENT, dtype=np.int32)
            numbers[self.firsts[:-1]] = values
            known = {label: number for number, label in enumerate(labels[layer].strings)}
            for token, words in self.entries.items():
                for k, word in enumerate(words[1:], 1):
                    label = word.get(ROW_KEYS[layer], "")
                    numbers[self.firsts[token] + k] = known.get(label, ABSENT)
            spread[layer] = numbers
        return spread

    def keep(self, found: Prediction, labels: Mapping[str, Vocabulary]) -> None:
        """Keep what was predicted for the words of multiword tokens beside their forms."""
        for layer, (values, _) in found.items():
            key = ROW_KEYS[layer]
            for token, words in self.entries.items():
                for w, word in enumerate(words, int(self.firsts[token])):
                    if layer == "heads":
                        word[key] = self._place(token, int(values[w]))
                    elif layer == LEMMAS:
                        word[key] = values[w]
                    elif values[w] >= 0:
                        word[key] = labels[layer].strings[values[w]]

    def on_tokens(self, found: Prediction, is_outside: Mask | None = None) -> Prediction:
        """A prediction for words as one for tokens; ``is_outside`` says which labels of spans say
        that a word is in none.
        """
        chosen = dict.fromkeys(found, self.firsts[:-1])
        if "heads" in found:
            chosen["heads"] = chosen["deprels"] = self.highest(found["heads"].values)
        if "spans" in found and is_outside is not None:  # the first word inside a span
            is_inside = ~is_outside[found["spans"].values]
            chosen["spans"] = self._chosen(lambda first, end: int(is_inside[first:end].argmax()))
        on_tokens = {}
        for layer, (values, probabilities) in found.items():
            if layer == LEMMAS:
                values = [" ".join(values[a:b]) for a, b in pairwise(self.firsts.tolist())]
            elif layer == "heads":
                values = self.token_heads(values, chosen[layer])
            else:
                values = values[chosen[layer]]
            probable = None if probabilities is None else probabilities[chosen[layer]]
            on_tokens[layer] = Values(values, probable)
        return on_tokens

    def highest(self, heads: Ints) -> Longs:
        """The word of each token that stands highest in the tree, the first of several."""
        bounds = self.bounds

        def highest(first: int, end: int) -> int:
            begin = int(bounds[_part(bounds, first)])
            depths = [_depth(word - begin, heads[begin:]) for word in range(first, end)]
            return depths.index(min(depths))

        return self._chosen(highest)

    def _chosen(self, choose: Callable[[int, int], int]) -> Longs:
        """One word of each token, of multiword tokens the one that is chosen among its words."""
        chosen = self.firsts[:-1].copy()
        for token in self.entries:
            chosen[token] += choose(*self.firsts[token : token + 2].tolist())
        return chosen

    def token_heads(self, heads: Ints, highest: Longs) -> Ints:
        """The heads of words as heads of tokens, both positions in their sentences; of each token
        that of its ``highest`` word.

        There is no cycle: the highest word of a token stands no lower than the others, so that each
        step from a token to its head goes up in the tree of words.
        """
        own = heads[highest].astype(np.int64)
        first_tokens = np.repeat(self.batch.starts[:-1], np.diff(self.batch.starts))
        tokens = _part(self.firsts, self.firsts[first_tokens] + own - 1)
        return np.where(own > 0, tokens - first_tokens + 1, 0).astype(np.int32)

    def _place(self, token: int, head: int) -> list[int] | None:
        if head == 0:
            return None
        starts = self.batch.starts
        place = int(self.firsts[starts[_part(starts, token)]]) + head - 1
        other = _part(self.firsts, place)
        return [self._character(other) - self._character(token), place - int(self.firsts[other])]

    def _character(self, token: int) -> int:
        place, starts = int(self.batch.places[token]), self.batch.token_starts
        number = _part(starts, place)
        return int(self.batch.docs[number][place - int(starts[number])].idx)


def _part(bounds: Longs, place: Any) -> Any:
    """Between which bounds a place is, from 0; also for an array of places."""
    return bounds.searchsorted(place, side="right") - 1


def expanded(batch: Batch) -> Expanded | None:
    """The words of a batch of Docs, None if none has multiword tokens."""
    found: dict[int, Multiword] = {}
    for doc, tokens in batch.slices():
        if doc.user_data:
            for one in multiword_tokens(doc):
                found[int(batch.places.searchsorted(tokens.start + one.first))] = one
    if not found:
        return None
    entries = {token: one.words for token, one in found.items() if one.n_tokens == 1}
    counts = np.ones(len(batch.forms), dtype=np.int64)
    counts[list(entries)] = [len(words) for words in entries.values()]
    firsts = np.append(0, np.cumsum(counts))
    forms: list[str] = []
    last = 0
    for token, one in found.items():
        forms += batch.forms[last:token]
        forms += [word["form"] for word in one.words]
        last = token + one.n_tokens
    ranges = [(int(firsts[token]), len(one.words), one.text) for token, one in found.items()]
    return Expanded(batch, firsts, forms + batch.forms[last:], entries, ranges)


def _depth(word: int, heads: Ints) -> int:
    """The number of arcs from a word, numbered from 0 in its sentence, up to the root."""
    depth, head = 0, int(heads[word])
    while head:
        depth, head = depth + 1, int(heads[head - 1])
    return depth
