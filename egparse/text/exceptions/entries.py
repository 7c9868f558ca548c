r"""An exception: tokens one after the other, their words, and what is known of these.

A file of exceptions is CoNLL-U, each of its sentences an exception. Tokens have blanks between them
as MISC says; a multiword token gives the words of a token. Cells of LEMMA, UPOS, XPOS and FEATS
that are not ``_`` are fixed where the exception matches. ``SentenceEnd=No`` in the MISC of a token:
no sentence ends with it. ``Case=Exact`` there: the exception matches only as it is written.
``Norm=`` is the NORM of a token in spaCy.

Forms are literal text, or text around a wildcard. ``*`` stands for 1 to 50 letters, ``<emoji>`` for
one emoji; ``\*`` and ``\<`` are the characters themselves. ``<number>`` is the last token of an
exception and stands for one that begins with a digit, whatever follows in it.

Emoji are those of Unicode (Technical Standard 51, "Unicode Emoji", version 16): sequences with skin
tones, joiners, tags and variation selectors, flags, and keycaps. Of the characters that are shown
as text unless a variation selector follows, those of the blocks Miscellaneous Symbols and Dingbats
are emoji without it too, because people write them so.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, NamedTuple

from egparse.errors import CorpusError
from egparse.io.conllu import read_conllu
from egparse.layers import LEMMAS, WORD_TAGS
from egparse.sentences import MISSING, SPACE_AFTER_NO, Sentence

VALUED = (LEMMAS, *WORD_TAGS)
"""The layers whose values an exception may fix."""

MOST_TOKENS, LONGEST_FORM = 50, 200

_TEXT = "# text = "
EXACT_CASE, NORM = "Case=Exact", "Norm="
_SENTENCE_END = "SentenceEnd="

LETTERS, NUMBER, EMOJI = "*", "<number>", "<emoji>"

_TEXT_STYLE = (
    "\u2122\u2139\u2194-\u2199\u21a9\u21aa\u2328\u23cf\u23ed-\u23ef\u23f1\u23f2\u23f8-\u23fa\u24c2"
    "\u25aa\u25ab\u25b6\u25c0\u25fb\u25fc\u2934\u2935\u2b05-\u2b07\u3030\u303d\u3297\u3299\xa9\xae"
    "\u203c\u2049\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f202\U0001f237"
)
_PICTURES = (
    "\u231a\u231b\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2600-\u2604\u260e\u2611\u2614\u2615\u2618"
    "\u261d\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f"
    "\u2660\u2663\u2665\u2666\u2668\u267b\u267e\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0\u26a1"
    "\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1\u26d3\u26d4"
    "\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712\u2714\u2716"
    "\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763\u2764"
    "\u2795-\u2797\u27a1\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f004\U0001f0cf\U0001f18e\U0001f191-\U0001f19a\U0001f201\U0001f21a\U0001f22f"
    "\U0001f232-\U0001f236\U0001f238-\U0001f23a\U0001f250\U0001f251\U0001f300-\U0001f64f"
    "\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7eb\U0001f7f0\U0001f900-\U0001faff"
)
_FLAG = "[\U0001f1e6-\U0001f1ff]"
_ONE = (
    f"(?:[{_PICTURES}]|[{_TEXT_STYLE}](?=\ufe0f))"
    "(?:\ufe0f|[\U0001f3fb-\U0001f3ff])?[\U000e0020-\U000e007f]{0,20}"
)

REGEXES = {  # what is looked for in a text is bounded, so that the time is linear
    LETTERS: r"[^\W\d_]{1,50}",
    NUMBER: r"[0-9].*",
    EMOJI: f"(?:{_FLAG}{{2}}|[0-9#*]\ufe0f?\u20e3|{_ONE}(?:\u200d{_ONE}){{0,9}})",
}


def _members(ranges: str) -> Iterator[str]:
    """The characters of what stands between the brackets of a regular expression."""
    for first, last in re.findall("(.)(?:-(.))?", ranges):
        yield from map(chr, range(ord(first), ord(last or first) + 1))


EMOJI_STARTS = (
    frozenset(_members(_PICTURES + _FLAG[1:-1]))
    | {one + "\ufe0f" for one in (*_members(_TEXT_STYLE), *"0123456789#*")}
    | {one + "\u20e3" for one in "0123456789#*"}
)
"""What an emoji begins with: one character, or two."""

_MARKS = re.compile(r"\\([*<\\])|(\*|<number>|<emoji>)")
_LETTER = re.compile(r"[^\W\d_]")


class Pattern(NamedTuple):
    """``before``, what ``wildcard`` stands for, and ``after``; without a wildcard ``before`` is the
    whole form.
    """

    before: str
    wildcard: str = ""
    after: str = ""

    @property
    def regex(self) -> str:
        """The pattern as a regular expression."""
        wild = REGEXES[self.wildcard] if self.wildcard else ""
        return re.escape(self.before) + wild + re.escape(self.after)

    def filled(self, value: str) -> str:
        """The form with ``value`` in the place of the wildcard."""
        return f"{self.before}{value}{self.after}" if self.wildcard else self.before

    def value_in(self, form: str) -> str | None:
        """What the wildcard stands for in a form, which must match; None if it does not."""
        if not self.wildcard:
            return "" if form == self.before else None
        end = len(form) - len(self.after)
        if not (form.startswith(self.before) and form.endswith(self.after)):
            return None
        value = form[len(self.before) : max(end, len(self.before))]
        return value if re.fullmatch(REGEXES[self.wildcard], value) else None

    def in_capitals(self) -> Pattern:
        """The pattern with capital letters."""
        return self._replace(before=self.before.upper(), after=self.after.upper())

    def capitalised(self) -> Pattern:
        """The pattern with a capital as its first letter; a wildcard that begins it stays."""
        return self._replace(before=_LETTER.sub(lambda one: one[0].upper(), self.before, count=1))


def pattern_of(form: str) -> Pattern | None:
    """The pattern that a form of a file stands for; None if it has several wildcards."""
    parts, wildcards, last = [""], [], 0
    for mark in _MARKS.finditer(form):
        parts[-1] += form[last : mark.start()] + (mark[1] or "")
        last = mark.end()
        if mark[2]:
            wildcards.append(mark[2])
            parts.append("")
    parts[-1] += form[last:]
    if len(wildcards) > 1:
        return None
    return Pattern(parts[0], wildcards[0], parts[1]) if wildcards else Pattern(parts[0])


def literal(form: str) -> str:
    """What a file has to say for a form without wildcards."""
    return re.sub(r"[*<\\]", lambda one: "\\" + one[0], form)


class Token(NamedTuple):
    """A token of an exception: its form, whether a blank follows inside the exception, its words,
    and whether a sentence may end with it.
    """

    form: Pattern
    spaced: bool
    words: tuple[Pattern, ...]
    may_end: bool = True
    norm: str = ""

    def in_capitals(self) -> Token:
        """The token with capital letters."""
        words = tuple(word.in_capitals() for word in self.words)
        return self._replace(form=self.form.in_capitals(), words=words)


class Entry(NamedTuple):
    """An exception. ``values[k]`` are the fixed values of its word ``k``, by layer; ``lines`` are
    those of the file, with comments and without line ends.
    """

    tokens: tuple[Token, ...]
    values: tuple[Mapping[str, str], ...]
    lines: tuple[str, ...]
    any_case: bool = True

    @property
    def text(self) -> str:
        """The text that it matches, with its wildcard."""
        return "".join(
            token.form.filled(token.form.wildcard) + " " * token.spaced for token in self.tokens
        )

    @property
    def words(self) -> tuple[Pattern, ...]:
        """The words of all tokens."""
        return tuple(word for token in self.tokens for word in token.words)

    @property
    def has_wildcard(self) -> bool:
        """Whether a token has a wildcard."""
        return any(token.form.wildcard for token in self.tokens)

    def multiword_tokens(self, start: int) -> list[tuple[int, int]]:
        """The first and last words of its multiword tokens if its words begin at ``start``."""
        places = []
        for token in self.tokens:
            end = start + len(token.words)
            if len(token.words) > 1:
                places.append((start, end - 1))
            start = end
        return places

    def casings(self) -> list[Entry]:
        """The exception as it is written; if it has no capital letters, also with its first letter
        as a capital and in capitals.
        """
        text = "".join(token.form.before + token.form.after for token in self.tokens)
        if text != text.lower() or not self.any_case:
            return [self]
        capitals = tuple(token.in_capitals() for token in self.tokens)
        first, *others = self.tokens
        head, *tail = first.words
        first = first._replace(form=first.form.capitalised(), words=(head.capitalised(), *tail))
        cased = [self.tokens, (first, *others), capitals]
        return [self._replace(tokens=tokens) for tokens in dict.fromkeys(cased)]


def read_entries(
    source: str | os.PathLike[str] | IO[bytes], name: str | None = None
) -> list[Entry]:
    """The exceptions of a file or of a stream.

    Raises:
        EgparseError: the file cannot be read.
        CorpusError: it is no CoNLL-U, or a sentence is no exception; by file and line.
    """
    sentences = read_conllu(source, name=name, trees=False, spans_key=None)
    return [_entry(sentence) for sentence in sentences]


def entries_of(blocks: Iterable[str], name: str) -> list[Entry]:
    """The exceptions that are given by their lines; errors as in ``read_entries``."""
    return read_entries(io.BytesIO("".join(one + "\n\n" for one in blocks).encode()), name)


def _entry(sentence: Sentence) -> Entry:
    surface = sentence.surface_tokens
    if len(surface) > MOST_TOKENS:
        raise _fault(sentence, 0, f"at most {MOST_TOKENS} tokens", str(len(surface)))
    patterns = [_pattern(sentence, k, form) for k, form in enumerate(sentence.forms)]
    tokens, any_case = [], True
    for first, last, form, misc in surface:
        cells, words = misc.split("|"), tuple(patterns[first : last + 1])
        pattern = _pattern(sentence, first, form) if last > first else patterns[first]
        may_end = _may_end(sentence, first, cells)
        norm = next((one[len(NORM) :] for one in cells if one.startswith(NORM)), "")
        tokens.append(Token(pattern, SPACE_AFTER_NO not in cells, words, may_end, norm))
        any_case = any_case and EXACT_CASE not in cells
        strange = {word.wildcard for word in words} - {"", pattern.wildcard}
        if strange:
            raise _fault(sentence, first, "a wildcard that its token has, too", strange.pop())
    tokens[-1] = tokens[-1]._replace(spaced=False)
    _check_wildcards(sentence, tokens)
    spelt = "".join(t.form + " " * own.spaced for t, own in zip(surface, tokens, strict=True))
    for line in sentence.lines_before:
        text = line[len(_TEXT) :].strip()
        if line.startswith(_TEXT) and text != spelt:
            raise _fault(sentence, 0, f"tokens that spell {text!r}", repr(spelt))
    columns = {layer: getattr(sentence, layer) for layer in VALUED}
    values = [
        {layer: cells[k] for layer, cells in columns.items() if cells[k] != MISSING}
        for k in range(len(sentence))
    ]
    assert sentence.source is not None
    return Entry(tuple(tokens), tuple(values), tuple(sentence.source.lines), any_case)


def _pattern(sentence: Sentence, word: int, form: str) -> Pattern:
    if len(form) > LONGEST_FORM:
        raise _fault(sentence, word, f"a form of at most {LONGEST_FORM} characters", "a longer one")
    pattern = pattern_of(form)
    if pattern is None:
        raise _fault(sentence, word, "at most one wildcard in an exception", f"{form!r}")
    return pattern


def _check_wildcards(sentence: Sentence, tokens: list[Token]) -> None:
    """Raise CorpusError for several wildcards, or one without text that it could be found by."""
    wild = [(k, token) for k, token in enumerate(tokens) if token.form.wildcard]
    if len(wild) > 1:
        got = " and ".join(repr(token.form.filled(token.form.wildcard)) for _, token in wild)
        raise _fault(sentence, 0, "at most one wildcard in an exception", got)
    for k, token in wild:
        before, wildcard, after = token.form
        if wildcard == NUMBER and (before or after or not 0 < k == len(tokens) - 1):
            raise _fault(sentence, 0, f"{NUMBER} as the last of several tokens", "another place")
        beside = after or (len(tokens) > 1 and not token.spaced)
        if wildcard == LETTERS and not (k or before or beside):
            raise _fault(sentence, 0, f"text directly after {LETTERS}", "none")


def _may_end(sentence: Sentence, word: int, entries: list[str]) -> bool:
    for one in entries:
        if one.startswith(_SENTENCE_END):
            if one != _SENTENCE_END + "No":
                raise _fault(sentence, word, f"{_SENTENCE_END}No in MISC, or nothing", repr(one))
            return False
    return True


def _fault(sentence: Sentence, word: int, expected: str, got: str) -> CorpusError:
    source = sentence.source
    assert source is not None
    line = source.first_line + source.word_lines[word]
    return CorpusError(source.path, line, expected, got, sentence.sentence_id)
