r"""The sentence: what readers produce, models annotate and evaluation compares; tokens as they
stand in their text, and what the MISC column of CoNLL-U says of that.

``TokenRange=start:end`` is where a token stands. Blanks after tokens are as UDPipe writes them:
``SpaceAfter=No`` for none, ``SpacesAfter=...`` for others than one space, in which ``\s`` is a
space, ``\t`` a tab, ``\r`` and ``\n`` line ends, ``\p`` a vertical bar and ``\\`` a backslash
(Straka and Strakova 2017, "Tokenizing, POS tagging, lemmatizing and parsing UD 2.0 with UDPipe";
UDPipe's manual, section "Preservation of spaces"). Treebanks also have ``\uXXXX`` (EWT a no-break
space), which is read and not written.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import compress
from typing import TYPE_CHECKING, Any, NamedTuple

from egparse.errors import EgparseError
from egparse.layers import SUPERTAGS

if TYPE_CHECKING:
    from conllu import TokenList as TokenList

MISSING = "_"
"""The value of an empty cell, as in CoNLL-U."""

MISSING_HEAD = -1
"""The head of a word that is not annotated (``_`` in CoNLL-U), in contrast to 0, the root."""

ROW_KEYS = {
    "forms": "form",
    "lemmas": "lemma",
    "upos": "upos",
    "xpos": "xpos",
    "feats": "feats",
    "spans": "spans",
    "heads": "head",
    "deprels": "deprel",
    "deps": "deps",
    "misc": "misc",
}
"""Field of ``Sentence`` -> its key in ``Sentence.rows``, in the order of the keys."""

SPACE_AFTER_NO = "SpaceAfter=No"
SPACES_AFTER = "SpacesAfter="
SPACES_BEFORE = "SpacesBefore="

TOKEN_RANGE = "TokenRange="
_RANGE = re.compile(rf"(?:^|\|){TOKEN_RANGE}(\d+):(\d+)(?:\||$)")

_ESCAPES = {" ": "\\s", "\t": "\\t", "\r": "\\r", "\n": "\\n", "|": "\\p", "\\": "\\\\"}
_CHARACTERS = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPED = re.compile(r"\\(?:[strnp\\]|u([0-9a-fA-F]{4}))")
_TO_ESCAPE = str.maketrans(_ESCAPES)


class HiddenLayer(NamedTuple):
    """A layer that a tagger predicts for parser and labeller alone, and that is not put out: a
    property of ``Sentence`` and a section of the settings have its name.
    """

    needs: tuple[str, ...]
    """The layers that its values follow from."""

    column: str
    """The name of its column in templates of arcs."""


HIDDEN = {SUPERTAGS: HiddenLayer(("heads", "deprels"), "supertag")}
"""Name -> hidden layer; templates over it are in ``features/default_templates.py``."""

_TEXT = "# text ="
_DOCUMENT_ID = re.compile(r"#\s*newdoc\s+id\b")
_DOCUMENT_MARKS = ("# newdoc", "-DOCSTART-")


@dataclass(frozen=True, slots=True)
class Source:
    """The lines that a sentence was read from, so that a writer can reproduce them.

    ``lines`` are all lines of the sentence without line ends: comments, multiword tokens, words and
    empty nodes. ``lines[word_lines[k]]`` is the line of word ``k`` (0-based). ``first_line`` is the
    number (from 1) of ``lines[0]`` in the file. ``format`` is the corpus format of the lines.
    """

    path: str
    first_line: int
    lines: Sequence[str]
    word_lines: Sequence[int]
    format: str = "conllu"


class SurfaceToken(NamedTuple):
    """A token of the text, mostly one that stands for several words, as French ``du`` for ``de``
    and ``le``: the line ``1-2`` of CoNLL-U.

    Its words are ``first`` to ``last``, positions from 0, both included. ``misc`` is its cell MISC,
    which tells whether a blank follows the token; the MISC of several words does not.
    """

    first: int
    last: int
    form: str
    misc: str = MISSING


@dataclass(frozen=True, slots=True)
class Sentence:
    """The syntactic words of a sentence, column by column; a column has one value a word, or is
    empty if the sentence lacks it.

    ``heads[k]`` is the position (from 1) of the head of word ``k``, 0 for the root, or
    ``MISSING_HEAD``. Missing strings are ``MISSING``. ``spans`` are IOB2 tags (entities or chunks).
    ``probabilities[layer][k]`` is the probability that a model gives to the value that it predicted
    in the layer ``"upos"``, ``"xpos"``, ``"feats"``, ``"spans"``, ``"heads"`` or ``"deprels"`` for
    word ``k``; None where it predicted no value or computes no probabilities. ``probabilities`` is
    None if none were requested.

    ``tokens`` are the multiword tokens, in order; each word outside of them is a token.
    ``comments`` are the lines of comments, with ``#``, of a sentence that has no ``source``; its ID
    is in ``sentence_id`` alone. ``treebank`` names the treebank that it is from, where a model
    learns from several. ``deps`` are enhanced dependencies that rules have made of the tree, as the
    column DEPS has them (``egparse.enhanced``); those of a corpus are in ``source`` alone.
    """

    forms: Sequence[str]
    lemmas: Sequence[str] = ()
    upos: Sequence[str] = ()
    xpos: Sequence[str] = ()
    feats: Sequence[str] = ()
    heads: Sequence[int] = ()
    deprels: Sequence[str] = ()
    misc: Sequence[str] = ()
    spans: Sequence[str] = ()
    sentence_id: str | None = None
    source: Source | None = field(default=None, compare=False)
    probabilities: Mapping[str, Sequence[float | None]] | None = field(default=None, hash=False)
    tokens: Sequence[SurfaceToken] = ()
    comments: Sequence[str] = field(default=(), compare=False)
    treebank: str = field(default="", compare=False)
    deps: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.forms)

    @property
    def opens_document(self) -> bool:
        """Whether the sentence is marked as the first of a document: by ``# newdoc`` in
        CoNLL-U, by ``-DOCSTART-`` in column files.
        """
        return any(line.startswith(_DOCUMENT_MARKS) for line in self.lines_before)

    @property
    def document_id(self) -> str | None:
        """The ID of the document that the sentence opens, if it has one."""
        found = (line.partition("=")[2] for line in self.lines_before if _DOCUMENT_ID.match(line))
        return next(found, "").strip() or None

    @property
    def lines_before(self) -> Sequence[str]:
        """The lines before the first word: those of the source, or ``comments`` without one."""
        if self.source is None:
            return self.comments
        return self.source.lines[: self.source.word_lines[0]] if len(self) else ()

    @property
    def supertags(self) -> Sequence[str]:
        """What can be said of the place of each word in the tree: the label of its arc, the side of
        its head (``L``, ``R``, ``0`` for the root), and ``<`` and ``>`` for dependents on the left
        and on the right (Ouchi et al. 2014, "Improving dependency parsers with supertags";
        Falenska et al. 2015, "Stacking or supertagging for dependency parsing: what's the
        difference?"). Empty without trees; ``_`` for a word without head or label. A word without
        head is nobody's dependent.

        They are tagged like another layer, as features of parser and labeller, and not written.
        """
        n = len(self)
        if len(self.heads) != n or len(self.deprels) != n:
            return ()
        has_left, has_right = [False] * (n + 1), [False] * (n + 1)
        for word, head in enumerate(self.heads, 1):
            if head != MISSING_HEAD:
                (has_left if word < head else has_right)[head] = True
        return [
            MISSING
            if head == MISSING_HEAD or label == MISSING
            else f"{label} {'0' if head == 0 else 'L' if head < word else 'R'}"
            f"{'<' * has_left[word]}{'>' * has_right[word]}"
            for word, (head, label) in enumerate(zip(self.heads, self.deprels, strict=True), 1)
        ]

    @property
    def surface_tokens(self) -> list[SurfaceToken]:
        """The tokens of the text: the multiword tokens, and each word outside of them."""
        misc = self.misc or (MISSING,) * len(self)
        tokens = [
            SurfaceToken(place, place, form, cell)
            for place, (form, cell) in enumerate(zip(self.forms, misc, strict=True))
        ]
        for token in reversed(self.tokens):
            tokens[token.first : token.last + 1] = [token]
        return tokens

    @property
    def text(self) -> str:
        """The text in one line: that of the comment ``# text`` if it is the text of the tokens,
        else the tokens with the blanks between them that MISC says, each run of blanks as one.
        """
        tokens = self.surface_tokens
        for line in self.lines_before:
            if line.startswith(_TEXT) and is_text_of(line[len(_TEXT) :], (t.form for t in tokens)):
                return line[len(_TEXT) :].strip()
        pieces = [form + (" " if blanks_after(misc) else "") for _, _, form, misc in tokens]
        return "".join(pieces).strip()

    def with_layers(self, **layers: Sequence[str] | Sequence[int]) -> Sentence:
        """A copy in which the named columns are replaced."""
        return replace(self, **layers)  # type: ignore[arg-type]

    def with_lines_before(self, lines: Sequence[str]) -> Sentence:
        """A copy with other lines before its first word: comments, with ``#``."""
        if self.source is None:
            return replace(self, comments=tuple(lines))
        first, *_ = self.source.word_lines
        moved = [each + len(lines) - first for each in self.source.word_lines]
        changed = replace(self.source, lines=(*lines, *self.source.lines[first:]), word_lines=moved)
        return replace(self, source=changed)

    def rows(self, sentence: str | int | None = None) -> list[dict[str, Any]]:
        """One dictionary a word, for a data frame: ``pandas.DataFrame(sentence.rows())``.

        Its keys are ``sentence``, which is the argument, such as a number, or else the ID, ``id``
        (from 1), and those of ``columns``.
        """
        name = self.sentence_id if sentence is None else sentence
        columns: dict[str, Iterable[Any]] = {
            "sentence": (name,) * len(self),
            "id": range(1, len(self) + 1),
            **self.columns(),
        }
        words = zip(*columns.values(), strict=True)
        return [dict(zip(columns, word, strict=True)) for word in words]

    def columns(self) -> dict[str, Sequence[Any]]:
        """The columns of a table with one row a word: ``form``, ``token``, ``start`` and ``end``,
        then ``lemma``, ``upos``, ``xpos``, ``feats``, ``spans``, ``head``, ``deprel``, ``deps`` and
        ``misc`` as far as the sentence has them, then ``p_upos``, ``p_head`` and so on as far as it
        has probabilities. The values are those of the sentence; a missing probability is None.

        ``token`` is the token of the text that the word is, or is part of; ``start`` and ``end``
        are where it stands, in characters from 0: in the text that the sentence was found in, as
        ``TokenRange`` in MISC says, or else in ``text``.
        """
        tokens = self.surface_tokens
        places = [place for token in tokens if (place := range_of(token.misc))]
        if len(places) < len(tokens):
            places = [*places_in(self.text, (token.form for token in tokens))]
        of_words = [
            (token.form, *place)
            for token, place in zip(tokens, places, strict=True)
            for _ in range(token.first, token.last + 1)
        ]
        columns: dict[str, Sequence[Any]] = {"form": self.forms}
        columns |= {
            key: [word[place] for word in of_words]
            for place, key in enumerate(("token", "start", "end"))
        }
        for field_name, key in ROW_KEYS.items():
            if values := getattr(self, field_name):
                columns[key] = values
        for layer, values in (self.probabilities or {}).items():
            columns["p_" + ROW_KEYS[layer]] = values
        return columns

    @classmethod
    def from_conllu(cls, text: str) -> Sentence:
        """The sentence of a text in CoNLL-U; several roots are allowed.

        Raises:
            CorpusError: a faulty sentence, or none.
            EgparseError: several sentences, or no text.
        """
        from egparse import read_corpus

        if not isinstance(text, str):
            raise EgparseError(f"expected a text in CoNLL-U, got {type(text).__name__}")
        options: Any = {"name": "<text>", "multiple_roots": True}
        sentence, *others = read_corpus(StringIO(text), "conllu", **options)
        if others:
            raise EgparseError(
                f"expected one sentence in CoNLL-U, got {1 + len(others)}; egparse.read_corpus "
                "reads them"
            )
        return sentence

    def to_conllu(self) -> str:
        """The sentence in CoNLL-U with its comments and the empty line, as ``write_corpus`` writes
        it.
        """
        from egparse import write_corpus

        stream = StringIO()
        write_corpus([self], stream, "conllu")
        return stream.getvalue()

    @classmethod
    def from_token_list(cls, tokens: TokenList) -> Sentence:
        """The sentence of a ``TokenList`` of the package ``conllu``, with all that it has.

        Raises:
            EgparseError: no such list, or one that is no sentence in CoNLL-U.
        """
        from conllu import TokenList
        from conllu.exceptions import ParseException

        if not isinstance(tokens, TokenList):
            raise EgparseError(f"expected a TokenList of conllu, got {type(tokens).__name__}")
        try:
            text = tokens.serialize()
        except (TypeError, ParseException) as error:
            raise EgparseError(f"expected a TokenList that conllu can write: {error}") from error
        return cls.from_conllu(text)

    def to_token_list(self) -> TokenList:
        """The sentence as a ``TokenList`` of the package ``conllu``, with all that it has."""
        from conllu import parse

        def comment(key: str, value: str | None) -> tuple[str, str | None]:
            return key, value  # else conllu leaves out comments without a value

        return parse(self.to_conllu(), metadata_parsers={"__fallback__": comment})[0]


class Selectable(Sequence[Sentence]):
    """Sentences that are not all in memory: a selection of them is not, either."""

    @abstractmethod
    def select(self, chosen: Iterable[bool]) -> Sequence[Sentence]:
        """Those of the sentences that are chosen."""


def select(sentences: Sequence[Sentence], chosen: Iterable[bool]) -> Sequence[Sentence]:
    """The chosen ones of some sentences: a list, or stored sentences if they are."""
    if isinstance(sentences, Selectable):
        return sentences.select(chosen)
    return list(compress(sentences, chosen))


def escaped(blanks: str) -> str:
    """Blanks as MISC has them."""
    return blanks.translate(_TO_ESCAPE)


def unescaped(value: str) -> str:
    """The blanks that a value of MISC stands for."""
    if "\\" not in value:
        return value
    return _ESCAPED.sub(
        lambda match: chr(int(match[1], 16)) if match[1] else _CHARACTERS[match[0]], value
    )


def blanks_after(misc: str) -> str:
    """What follows a token in its text, by the MISC column: one space, unless it says otherwise."""
    if misc == "_":
        return " "
    for entry in misc.split("|"):
        if entry == SPACE_AFTER_NO:
            return ""
        if entry.startswith(SPACES_AFTER):
            return unescaped(entry[len(SPACES_AFTER) :])
    return " "


def range_of(misc: str) -> tuple[int, int] | None:
    """Where a token starts and ends in its text, in characters from 0, by the MISC column."""
    found = _RANGE.search(misc)
    return None if found is None else (int(found[1]), int(found[2]))


def is_text_of(text: str, forms: Iterable[str]) -> bool:
    """Whether a text consists of some tokens, with any blanks between and within them."""
    return "".join(text.split()) == "".join("".join(forms).split())


def places_in(text: str, forms: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where the tokens that a text consists of start and end in it, in characters from 0."""
    end = 0
    for form in forms:
        while text[end : end + 1].isspace():
            end += 1
        start = end
        for letter in "".join(form.split()):
            end = text.index(letter, end) + 1
        yield start, end
