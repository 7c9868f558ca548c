"""The notice beside a model that is given to others: its licences, its sources and their authors,
and what was changed, as the licences of its training data ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import fill

from egparse.service.hub.facts import CardMetadata

_WIDTH = 100

_ATTRIBUTION = (
    "You may use, share and adapt the model, also commercially, if you name its sources as below "
    "and say what you have changed"
)
_TERMS = {
    "CC-BY-4.0": ("Creative Commons Attribution 4.0 International", _ATTRIBUTION + "."),
    "CC-BY-SA-3.0": (
        "Creative Commons Attribution-ShareAlike 3.0",
        _ATTRIBUTION + ", and distribute what you make of it under the same licence, a later "
        "version of it or a compatible one.",
    ),
    "CC-BY-SA-4.0": (
        "Creative Commons Attribution-ShareAlike 4.0 International",
        _ATTRIBUTION + ", and distribute what you make of it under the same licence or a "
        "compatible one.",
    ),
    "LGPLLR": (
        "Lesser General Public License For Linguistic Resources (LGPL-LR)",
        "You may use, share and adapt the model, also commercially; what is based on the "
        "linguistic resource stays under this licence, with its notices, a statement of what was "
        "changed, and access to the resource in legible form, which is the treebank.",
    ),
}
"""SPDX identifier -> the name of the licence, and what it allows on which condition."""


def notice(name: str, facts: CardMetadata) -> str:
    """The text of ``NAME.LICENSE``; ends with a newline."""
    return "\n\n".join(_paragraphs(name, facts)) + "\n"


def _paragraphs(name: str, facts: CardMetadata) -> Iterator[str]:
    yield f"SPDX-License-Identifier: {facts.licence}"
    identifiers = facts.licence.split(" AND ")
    names = " and ".join(_TERMS[one][0] for one in identifiers if one in _TERMS)
    many = "s" if len(identifiers) > 1 else ""
    yield _filled(
        f"{name}.msgpack is a model for egparse, trained by {_by(facts.author)}. It is "
        f"distributed under the licence{many} {names or facts.licence}: of the data that it was "
        "trained on. The licence of the program, MIT, does not cover it."
    )
    for one in identifiers:
        if one in _TERMS:
            yield _filled(
                f"{_TERMS[one][1]} There is no warranty. The full text of the licence: "
                f"https://spdx.org/licenses/{one}.html"
            )
    yield "Sources"
    for source in facts.sources:
        by = source.author
        if not by and source.licence.startswith("CC BY"):
            by = "The contributors whom the README of the source names."
        lines = [source.name, f"  {source.address}", f"  Licence: {source.licence}"]
        yield "\n".join([*lines, *(_filled(one, "  ") for one in (source.release, by) if one)])
    yield _filled(
        "What was changed: the data are not contained in the model. It holds weights, counts and "
        "lists of forms, affixes and labels that were derived from them, and of word classes "
        "fingerprints of words and paths."
    )


def _by(author: str) -> str:
    """An author within a sentence."""
    return author.replace("The ", "the ", 1) if author else "its authors"


def _filled(text: str, indent: str = "") -> str:
    return fill(
        text,
        _WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
