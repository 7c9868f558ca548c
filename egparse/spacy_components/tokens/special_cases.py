"""Special cases of spaCy's tokenisers as exceptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from spacy.attrs import IDS
from spacy.tokens import Doc

from egparse.errors import ConfigError
from egparse.io.conllu import format_sentence
from egparse.layers import LAYERS
from egparse.sentences import MISSING, SPACE_AFTER_NO, Sentence
from egparse.text.exceptions.entries import EXACT_CASE, NORM, entries_of, literal
from egparse.text.exceptions.table import Exceptions

_LAYERS = {LAYERS[layer].spacy_attribute: layer for layer in ("lemmas", "upos", "xpos", "feats")}
_KNOWN = ("ORTH", "NORM", *_LAYERS)
_NAMES = {IDS[name]: name for name in _KNOWN}


def special_case(string: str, tokens: Iterable[Mapping[int | str, str]]) -> Exceptions:
    """A special case as exceptions, of which there is one: it matches as it is written.

    Raises:
        ConfigError: tokens that do not spell the string, or another attribute than ORTH, NORM,
            LEMMA, POS, TAG and MORPH.
    """
    rows = [_named(string, token) for token in tokens]
    forms = [row.get("ORTH", "") for row in rows]
    if "".join(forms) != string or not all(form.strip() for form in forms):
        raise ConfigError(
            f"special case {string!r}: expected ORTH of tokens that spell it, got {forms}"
        )
    misc = [[SPACE_AFTER_NO]] * (len(rows) - 1) + [[EXACT_CASE]]
    cells = [
        "|".join([*one, *([NORM + row["NORM"]] if "NORM" in row else [])])
        for one, row in zip(misc, rows, strict=True)
    ]
    columns = {
        layer: tuple(row.get(name, MISSING) for row in rows) for name, layer in _LAYERS.items()
    }
    sentence = Sentence(tuple(map(literal, forms)), misc=tuple(cells)).with_layers(**columns)
    return Exceptions(tuple(entries_of([format_sentence(sentence).strip()], repr(string))))


def put_special_cases(doc: Doc, exceptions: Exceptions, places: list[int]) -> None:
    """Set what special cases say of the tokens of a Doc, of which those at ``places`` are no white
    space.
    """
    for start, _, entry, _ in exceptions.in_tokens.find([doc[place].text for place in places]):
        for place, token, values in zip(places[start:], entry.tokens, entry.values, strict=False):
            if token.norm:
                doc[place].norm_ = token.norm
            for name, layer in _LAYERS.items():
                if layer in values and name == "MORPH":
                    doc[place].set_morph(values[layer])  # type: ignore[attr-defined]
                elif layer in values:
                    setattr(doc[place], f"{name.lower()}_", values[layer])


def _named(string: str, token: Mapping[int | str, Any]) -> dict[str, str]:
    named = {}
    for key, value in token.items():
        name = _NAMES.get(key, str(key).upper()) if isinstance(key, int) else key.upper()
        if name not in _KNOWN or not isinstance(value, str):
            raise ConfigError(
                f"special case {string!r}: expected texts of {', '.join(_KNOWN)}, got {name} "
                f"{value!r}"
            )
        named[name] = value
    return named
