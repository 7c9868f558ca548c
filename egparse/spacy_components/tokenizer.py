"""``egparse.Tokenizer.v1``: a tokeniser for ``nlp.tokenizer`` that splits text as the treebank of a
model does.

The Doc has the text unchanged: a token for each token of the text, and one for white space that is
more than a blank. The words of multiword tokens stand beside it (``token._.egparse_words``), where
the components of egparse find them; or each is a token, whose text is a piece of the multiword
token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

from spacy.attrs import IDS
from spacy.tokens import Doc
from spacy.util import ensure_path
from spacy.vocab import Vocab

from egparse.errors import ConfigError, EgparseError
from egparse.io.conllu import format_sentence
from egparse.pipeline.model import Model
from egparse.sentences import MISSING, SPACE_AFTER_NO, Sentence, SurfaceToken
from egparse.spacy_components.doc_conversion import LAYERS_OF_TOKENS
from egparse.spacy_components.multiword import pieces_of, put_norms, put_words, register
from egparse.spacy_components.shared_models import TOKENIZER, ModelHolder
from egparse.storage.files import write_atomically
from egparse.text.exceptions.entries import EXACT_CASE, NORM, entries_of, literal
from egparse.text.exceptions.table import Exceptions, read_exceptions
from egparse.text.tokeniser import Tokens

_FILE = "exceptions.conllu"
_MARK = b"egparse special cases\n"
_OF_SPECIAL_CASES = ("ORTH", "NORM", *LAYERS_OF_TOKENS.values())
_NAMES = {IDS[name]: name for name in _OF_SPECIAL_CASES}


class EgparseTokenizer(ModelHolder):
    """Makes Docs of texts by the tokeniser of a model.

    With ``split_multiword`` each word of a multiword token is a token of the Doc.
    """

    def __init__(
        self,
        vocab: Vocab,
        *,
        model: str | None = None,
        split_multiword: bool = False,
        awaits_copy: bool = False,
    ) -> None:
        self.split_multiword = split_multiword
        self._special: Exceptions | None = None
        register()
        self.start(vocab, TOKENIZER, model, awaits_copy)

    def __call__(self, text: str) -> Doc:
        """The Doc of a text.

        Raises:
            EgparseError: there is no model.
        """
        return next(self._docs([text]))

    def pipe(self, texts: Iterable[str], batch_size: int = 1000) -> Iterator[Doc]:
        stream = iter(texts)
        while batch := list(islice(stream, batch_size)):
            yield from self._docs(batch)

    def _docs(self, texts: Sequence[str]) -> Iterator[Doc]:
        plain_text = self.required_model.plain_text.with_exceptions(self._special)
        layouts = [_laid_out(text, plain_text.tokens(text)) for text in texts]
        of_tokens = [layout.sentence() for layout in layouts]
        of_words = plain_text.expand(of_tokens)
        for layout, tokens, words in zip(layouts, of_tokens, of_words, strict=True):
            if self.split_multiword and words.tokens:
                layout = layout.split(words)
            doc = Doc(self.vocab, words=layout.forms, spaces=layout.spaces)
            if words is not tokens:
                _put_multiword_tokens(doc, layout, words)
            if self.split_multiword:
                put_norms(doc)
            if self._special is not None:
                _put_special_cases(doc, self._special, tokens.forms, layout.places)
            yield doc

    def add_special_case(self, string: str, token_attrs: Iterable[Mapping[int | str, str]]) -> None:
        """Split a string as it is written into given tokens wherever it stands alone, as spaCy's
        tokenizer does; it goes before the model's exceptions and earlier special cases.

        Besides ORTH and NORM a token may have LEMMA, POS, TAG and MORPH, which are set in the Doc:
        components without ``overwrite`` keep them.

        Raises:
            ConfigError: the tokens do not spell the string, or have other attributes.
        """
        self._special = _special_case(string, token_attrs).before(self._special)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the model, and the special cases as a file of exceptions, into a folder."""
        super().to_disk(path, exclude=exclude)
        file = ensure_path(path) / _FILE
        if self._special is not None:
            write_atomically(file, self._special.to_bytes())
        else:
            file.unlink(missing_ok=True)

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Read what ``to_disk`` has written; errors as those of the components, and of files of
        exceptions.
        """
        super().from_disk(path, exclude=exclude)
        file = ensure_path(path) / _FILE
        self._special = read_exceptions(file) if file.exists() else None
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        model = super().to_bytes(exclude=exclude)
        if self._special is None:
            return model
        special = self._special.to_bytes()
        return _MARK + len(special).to_bytes(8, "little") + special + model

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        self._special = None
        if data.startswith(_MARK):
            begin = len(_MARK) + 8
            end = begin + int.from_bytes(data[len(_MARK) : begin], "little")
            self._special = read_exceptions(BytesIO(data[begin:end]))
            data = data[end:]
        return super().from_bytes(data, exclude=exclude)

    def _require_layers(self, model: Model) -> None:
        if "tokeniser" not in model.components:
            raise EgparseError(f"{self.name}: expected a model with a tokeniser, got one without")

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        register()
        super().__setstate__(state)


class _Layout(NamedTuple):
    """The tokens of a Doc, whether a blank follows each, and which of them are no white space; of
    multiword tokens that are split, the first piece.
    """

    forms: list[str]
    spaces: list[bool]
    places: list[int]

    def sentence(self) -> Sentence:
        """The tokens that are no white space, as one sentence."""
        blank = [*(form.isspace() for form in self.forms[1:]), True]
        misc = [
            MISSING if self.spaces[place] or blank[place] else SPACE_AFTER_NO
            for place in self.places
        ]
        return Sentence(forms=[self.forms[place] for place in self.places], misc=misc)

    def put_blanks(self, blanks: str) -> None:
        """Add white space: one blank after a token belongs to it, as in spaCy, and what is more is
        a token.
        """
        if self.forms and blanks[:1] == " ":
            self.spaces[-1], blanks = True, blanks[1:]
        if blanks:
            ends = len(blanks) > 1 and blanks[-1] == " "
            self.forms.append(blanks[:-1] if ends else blanks)
            self.spaces.append(ends)

    def split(self, words: Sentence) -> _Layout:
        """The layout with multiword tokens in pieces, one a word, as far as that can be."""
        pieces = {
            self.places[number]: pieces_of(token.form, words.forms[token.first : token.last + 1])
            for number, token in _numbered(words)
        }
        split = _Layout([], [], [])
        first_of = []
        for place, (form, space) in enumerate(zip(self.forms, self.spaces, strict=True)):
            several = pieces.get(place) or [form]
            first_of.append(len(split.forms))
            split.forms.extend(several)
            split.spaces.extend([False] * (len(several) - 1) + [space])
        split.places.extend(first_of[place] for place in self.places)
        return split


def _laid_out(text: str, tokens: Tokens) -> _Layout:
    layout = _Layout([], [], [])
    before = 0
    for start, end in zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True):
        layout.put_blanks(text[before:start])
        layout.places.append(len(layout.forms))
        layout.forms.append(text[start:end])
        layout.spaces.append(False)
        before = end
    layout.put_blanks(text[before:])
    return layout


def _numbered(words: Sentence) -> Iterator[tuple[int, SurfaceToken]]:
    """The multiword tokens of a sentence, each with its number among all tokens, from 0."""
    shift = 0  # words more than tokens, so far
    for token in words.tokens:
        yield token.first - shift, token
        shift += token.last - token.first


def _put_multiword_tokens(doc: Doc, layout: _Layout, words: Sentence) -> None:
    for number, token in _numbered(words):
        forms = words.forms[token.first : token.last + 1]
        put_words(doc, doc[layout.places[number]].idx, token.form, forms)


def _special_case(string: str, tokens: Iterable[Mapping[int | str, str]]) -> Exceptions:
    """A special case as exceptions, of which there is one: it matches as it is written."""
    rows = [_named(string, token) for token in tokens]
    forms = [row.get("ORTH", "") for row in rows]
    if "".join(forms) != string or not all(form.strip() for form in forms):
        raise ConfigError(
            f"special case {string!r}: expected ORTH of tokens that spell it, got {forms}"
        )
    marks = [SPACE_AFTER_NO] * (len(rows) - 1) + [EXACT_CASE]
    misc = [
        f"{mark}|{NORM}{row['NORM']}" if "NORM" in row else mark
        for mark, row in zip(marks, rows, strict=True)
    ]
    columns = {
        layer: tuple(row.get(name, MISSING) for row in rows)
        for layer, name in LAYERS_OF_TOKENS.items()
    }
    sentence = Sentence(tuple(map(literal, forms)), misc=misc).with_layers(**columns)
    return Exceptions(tuple(entries_of([format_sentence(sentence).strip()], repr(string))))


def _named(string: str, token: Mapping[int | str, Any]) -> dict[str, str]:
    named = {}
    for key, value in token.items():
        name = _NAMES.get(key, str(key)) if isinstance(key, int) else key.upper()
        if name not in _OF_SPECIAL_CASES or not isinstance(value, str):
            raise ConfigError(
                f"special case {string!r}: expected texts of {', '.join(_OF_SPECIAL_CASES)}, got "
                f"{name} {value!r}"
            )
        named[name] = value
    return named


def _put_special_cases(
    doc: Doc, exceptions: Exceptions, forms: Sequence[str], places: list[int]
) -> None:
    """Set what special cases say of the tokens ``forms``, which are at ``places`` of a Doc."""
    for start, _, entry, _ in exceptions.in_tokens.find(forms):
        for place, token, values in zip(places[start:], entry.tokens, entry.values, strict=False):
            if token.norm:
                doc[place].norm_ = token.norm
            for layer, name in LAYERS_OF_TOKENS.items():
                if layer in values and name == "MORPH":
                    doc[place].set_morph(values[layer])  # type: ignore[attr-defined]
                elif layer in values:
                    setattr(doc[place], f"{name.lower()}_", values[layer])
