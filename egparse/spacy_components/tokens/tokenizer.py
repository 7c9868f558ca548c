"""``egparse.Tokenizer.v1``: a tokeniser for ``nlp.tokenizer`` that splits text as the treebank of a
model does.

The Doc has the text unchanged: a token for each token of the text, and one for white space that is
more than a blank. The words of multiword tokens stand beside it (``token._.egparse_words``), where
the components of egparse find them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from spacy.tokens import Doc
from spacy.vocab import Vocab

from egparse.errors import EgparseError
from egparse.pipeline.model import Model
from egparse.spacy_components.model_holder import ModelHolder
from egparse.spacy_components.tokens.multiword import put_words, register


class EgparseTokenizer(ModelHolder):
    """Makes Docs of texts by the tokeniser of a model."""

    def __init__(
        self, vocab: Vocab, *, model: str | None = None, awaits_copy: bool = False
    ) -> None:
        self.vocab = vocab
        self.name = "tokenizer"
        self.configured = model
        self.probabilities = False
        self._shared = None
        self._tables = None
        self._awaits_copy = awaits_copy
        self._branch = None
        register()
        if model is not None and not awaits_copy:
            self.load_configured(model)

    def __call__(self, text: str) -> Doc:
        """The Doc of a text.

        Raises:
            EgparseError: there is no model.
        """
        return next(self._docs([text]))

    def pipe(self, texts: Iterable[str], batch_size: int = 1000) -> Iterator[Doc]:
        """The Docs of a stream of texts."""
        stream = iter(texts)
        while batch := list(islice(stream, batch_size)):
            yield from self._docs(batch)

    def _docs(self, texts: Sequence[str]) -> Iterator[Doc]:
        tokeniser, expander = self.required_model.tokeniser, self.required_model.expander
        assert tokeniser is not None
        for text in texts:
            found = tokeniser.tokens(text)
            layout = _laid_out(text, found.starts.tolist(), found.ends.tolist())
            doc = Doc(self.vocab, words=layout.words, spaces=layout.spaces)
            if expander is not None:
                forms = [layout.words[place] for place in layout.places]
                ...
            yield doc

    def _require_layers(self, model: Model) -> None:
        if model.tokeniser is None:
            raise EgparseError(f"{self.name}: expected a model with a tokeniser, got one without")

    def __reduce__(self) -> tuple[Any, ...]:
        state = {
            "vocab": self.vocab,
            "configured": self.configured,
            "shared": self._shared,
            "awaits_copy": self._awaits_copy,
        }
        return _rebuilt, (state,)


def _rebuilt(state: Mapping[str, Any]) -> EgparseTokenizer:
    tokenizer = EgparseTokenizer(state["vocab"])
    tokenizer.configured, tokenizer._awaits_copy = state["configured"], state["awaits_copy"]
    if state["shared"] is not None:
        tokenizer.share(state["shared"])
    return tokenizer


class _Layout(NamedTuple):
    """The tokens of a Doc, whether a blank follows each, and which of them are not white space."""

    words: list[str]
    spaces: list[bool]
    places: list[int]


def _laid_out(text: str, starts: Sequence[int], ends: Sequence[int]) -> _Layout:
    """The tokens of a text, and its white space: one blank after a token belongs to it, as in
    spaCy, and what is more is a token.
    """
    layout = _Layout([], [], [])
    words, spaces, places = layout
    before = 0
    for start, end in zip([*starts, len(text)], [*ends, len(text)], strict=True):
        gap = text[before:start]
        if gap == " " and words:
            spaces[-1] = True
        elif gap:
            _put_gap(gap, words, spaces)
        if end > start:
            places.append(len(words))
            words.append(text[start:end])
            spaces.append(False)
        before = end
    return layout


def _put_gap(gap: str, words: list[str], spaces: list[bool]) -> None:
    if words and gap[0] == " ":
        spaces[-1], gap = True, gap[1:]
    if len(gap) > 1 and gap[-1] == " ":
        words.append(gap[:-1])
        spaces.append(True)
    elif gap:
        words.append(gap)
        spaces.append(False)
