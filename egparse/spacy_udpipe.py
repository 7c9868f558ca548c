"""A drop-in for the package spacy_udpipe: ``load("fr")`` gives a pipeline of spaCy that makes trees
of Universal Dependencies of a text, of its sentences or of their tokens.

Where spacy_udpipe replaces the text of a Doc by its words, here it stays: the tokens of *du* are
*d* and *u*, whose ``norm_`` are the words *de* and *le* (``egparse.Tokenizer.v1`` with
``split_multiword``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import get_lang_class

from egparse.errors import EgparseError
from egparse.service.hub.resolve import find_model, stored_model
from egparse.spacy_components.packaging import pipeline_of
from egparse.spacy_components.shared_models import load as load_shared


def load(lang: str) -> Language:
    """The pipeline of a model, given its name or its language; ``fr-sequoia``, as UDPipe writes it,
    is ``fr_sequoia``.

    Beside a text, ``nlp`` and ``nlp.pipe`` take a list of sentences, each a text, and a list of
    lists of tokens.

    Raises:
        ModelFileError: no such model; ``download`` gets it, if it is known.
        EgparseError: a language without a tokeniser in spaCy.
    """
    return _made(find_model(_name(lang)), None, {})


def load_from_path(
    lang: str, path: str | PathLike[str], meta: Mapping[str, Any] | None = None
) -> Language:
    """The pipeline of a model file, for a language; ``meta`` is added to ``nlp.meta``.

    Raises:
        ModelFileError: no such model, not a model, damaged, or of a newer format.
        EgparseError: a language without a tokeniser in spaCy.
    """
    return _made(find_model(path), lang.partition("-")[0], meta or {})


def download(lang: str) -> Path:
    """The file of a model, given its name or its language; it is downloaded unless it is here.

    Raises:
        DownloadError: no connection, or a file that is not the expected one.
        ModelFileError: no such model is known.
    """
    name = _name(lang)
    if stored_model(name) is None:
        from egparse.service.hub.catalogue import MODEL, find_entry
        from egparse.service.hub.fetch import fetch, fetch_index

        fetch_index()
        entry = find_entry(name)
        if entry is not None and entry.kind == MODEL:
            fetch(entry)
    return find_model(name)  # or says which models there are


def _name(lang: str) -> str:
    return lang.replace("-", "_")


def _made(path: Path, language: str | None, meta: Mapping[str, Any]) -> Language:
    nlp = pipeline_of(load_shared(path).model, path, language=language, split_multiword=True)
    nlp.__class__ = _class_for(nlp.lang)
    nlp.meta.update(meta)
    return nlp


class _SentencesToo(Language):  # type: ignore[no-untyped-call]
    """What makes a Language take sentences and tokens."""

    def __call__(self, text: Any, **settings: Any) -> Doc:
        return super().__call__(self._prepared(text), **settings)

    def pipe(
        self, texts: Iterable[Any], *, as_tuples: bool = False, **settings: Any
    ) -> Iterator[Any]:
        if as_tuples:
            pairs = ((self._prepared(text), context) for text, context in texts)
            return super().pipe(pairs, as_tuples=True, **settings)
        return super().pipe(map(self._prepared, texts), **settings)

    def _prepared(self, text: Any) -> Any:
        """A Doc of a list of sentences or of lists of tokens; anything else as it is."""
        if not isinstance(text, list | tuple):
            return text
        if all(isinstance(sentence, str) for sentence in text):
            docs = [self.make_doc(sentence) for sentence in text if sentence.strip()]
        elif all(
            isinstance(sentence, list | tuple) and all(isinstance(form, str) for form in sentence)
            for sentence in text
        ):
            docs = [Doc(self.vocab, [*forms], _spaces(forms)) for forms in text if forms]
        else:
            raise EgparseError(
                "expected a text, a list of sentences or a list of lists of tokens, got a list of "
                f"{' and '.join(sorted({type(one).__name__ for one in text}))}"
            )
        for doc in docs:
            for token in doc:
                token.is_sent_start = token.i == 0
        return (Doc.from_docs(docs) if docs else None) or Doc(self.vocab)

    def __reduce__(self) -> tuple[Callable[[str], Language], tuple[str], dict[str, Any]]:
        return _empty, (str(self.lang),), vars(self)


def _spaces(forms: Sequence[str]) -> list[bool]:
    """Whether a blank follows each token: none before punctuation, as spacy_udpipe has it."""
    return [re.match(r"\W", after) is None for after in [*forms[1:], "."]]


@cache
def _class_for(language: str) -> type[Language]:
    base = get_lang_class(language)
    return type(base.__name__, (_SentencesToo, base), {})


def _empty(language: str) -> Language:
    """The object that a pickle of a pipeline fills."""
    made = _class_for(language)
    return made.__new__(made)
