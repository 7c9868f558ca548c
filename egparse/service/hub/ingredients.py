"""The files that a recipe names, from a folder or by download, and the sentences in them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from egparse.errors import EgparseError, import_with_extra
from egparse.io.compression import SUFFIXES, decompressed
from egparse.io.corpus import read_whole
from egparse.sentences import MISSING, MISSING_HEAD, Sentence
from egparse.service.hub.catalogue import RemoteFile
from egparse.service.hub.fetch import Listener, fetch_file
from egparse.service.hub.model_paths import home
from egparse.service.hub.recipes import Recipe, Recipes
from egparse.training.corpus import together, treebank_of

_PIECE = 1 << 20


def files_for(
    recipes: Recipes, name: str, folder: Path | None, listener: Listener = lambda *_: None
) -> dict[str, Path]:
    """The files of a model by their names: in ``folder`` or below, also compressed, and otherwise
    downloaded into the folder of downloads.

    Raises:
        EgparseError: a file that is not there and cannot be downloaded, or has another SHA-256 than
            the recipe says.
    """
    named = recipes.files_of(name)
    there = _below(folder, named) if folder else {}
    found = {}
    for file in named:
        if path := there.get(file):
            _require_digest(path, recipes.files[file].sha256)
            found[file] = path
        else:
            found[file] = _download(recipes, file, folder, listener)
    return found


def _below(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """Which files of these names are in a folder or those in it."""
    wanted = {f"{name}{suffix}": name for name in names for suffix in ("", *SUFFIXES)}
    found: dict[str, Path] = {}
    for place, folders, files in os.walk(folder):
        folders.sort()
        for file in sorted(set(files) & set(wanted)):
            found.setdefault(wanted[file], Path(place, file))
    return found


def _require_digest(path: Path, sha256: str) -> None:
    if not sha256:
        return
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in decompressed(iter(lambda: file.read(_PIECE), b""), str(path)):
            digest.update(piece)
    if digest.hexdigest() != sha256:
        raise EgparseError(
            f"{path}: expected SHA-256 {sha256} (not compressed), as its recipe says, got "
            f"{digest.hexdigest()}"
        )


def _download(recipes: Recipes, name: str, folder: Path | None, listener: Listener) -> Path:
    file, address = recipes.files[name], recipes.address_of(name)
    if address is None:
        source = recipes.sources[file.source]
        where = source.address or source.name or file.source
        made = f"; {file.made}" if file.made else ""
        raise EgparseError(
            f"{name}: expected this file in {folder or '--treebanks'}, as it cannot be downloaded, "
            f"got none: it is from {where}{made}"
        )
    place = home() / "treebanks" / (file.commit or "latest") / file.source
    return fetch_file(RemoteFile(name, address, file.sha256 or None), place, listener)


class Ingredients(NamedTuple):
    """What a model learns from and is scored by: sentences to train on, with their treebanks if
    there are several; the development part, if there is one; test data by the names of their files.
    """

    train: Sequence[Sentence]
    dev: Sequence[Sentence] | None
    tests: dict[str, Sequence[Sentence]]


def ingredients_of(recipe: Recipe, files: dict[str, Path]) -> Ingredients:
    """The sentences in the files of a recipe.

    Raises:
        CorpusError: a faulty sentence.
        ConfigError: characters are to be converted, and OpenCC is not installed.
    """

    def read(name: str) -> Sequence[Sentence]:
        sentences = read_whole(files[name], None).sentences
        return [*simplified(sentences)] if name in recipe.simplified else sentences

    def treebank(name: str) -> str:
        return treebank_of(Path(name))

    tests = {name: read(name) for name in recipe.test}
    parts = [(treebank(name), read(name)) for name in recipe.train]
    for first, second in recipe.agreed:
        parts.append((treebank(first), [*both_say(read(first), read(second))]))
    dev = [(treebank(name), read(name)) for name in recipe.dev]
    if recipe.apart:
        held_out = {one.forms for _, part in (*dev, *tests.items()) for one in part}
        parts = [(name, [one for one in part if one.forms not in held_out]) for name, part in parts]
    if len({name for name, _ in (*parts, *dev)}) > 1:
        return Ingredients(together(parts), together(dev) if dev else None, tests)
    return Ingredients(_joined(parts), _joined(dev) if dev else None, tests)


def _joined(parts: Iterable[tuple[str, Sequence[Sentence]]]) -> list[Sentence]:
    return [one for _, part in parts for one in part]


def simplified(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Chinese sentences with the simplified characters of their forms, lemmas and tokens, by the
    tables of OpenCC.

    Raises:
        ConfigError: OpenCC is not installed.
    """
    convert = import_with_extra("opencc", "simplified characters").OpenCC("t2s").convert
    for one in sentences:
        tokens = tuple(token._replace(form=convert(token.form)) for token in one.tokens)
        forms, lemmas = (tuple(map(convert, column)) for column in (one.forms, one.lemmas))
        yield replace(one, forms=forms, lemmas=lemmas, tokens=tokens)


def both_say(first: Iterable[Sentence], second: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences of two annotations of one corpus: as in the first, without heads and labels in
    which the second differs. Those whose words differ are left out.
    """
    for one, other in zip(first, second, strict=True):
        if one.forms == other.forms:
            arcs = list(zip(one.heads, one.deprels, other.heads, other.deprels, strict=True))
            heads = (head if head == theirs else MISSING_HEAD for head, _, theirs, _ in arcs)
            labels = (
                label if (head, label) == (theirs, its) else MISSING
                for head, label, theirs, its in arcs
            )
            yield one.with_layers(heads=tuple(heads), deprels=tuple(labels))
