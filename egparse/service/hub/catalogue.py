"""The catalogue of models and treebanks that can be downloaded, with their addresses.

Models are listed by an index: a file in JSON, or ``index.json`` in a folder, that
``$EGPARSE_INDEX`` names by its address or its path (``egparse models --index FOLDER`` writes it).
The files of models are found beside it. ``egparse download`` keeps a copy of an index on a server;
nothing else asks that server.

``catalogue.json`` lists UD treebanks at one release of Universal Dependencies. Licences are those
that the documentation of each treebank states; that documentation is authoritative. An index
has the SHA-256 of each model. None is known for treebanks so far: the SHA-256 of the first download
is then kept beside the file, which detects later damage but not a wrong first download.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from egparse.errors import ConfigError
from egparse.service.hub.model_paths import SUFFIX, could_be_name, home, is_of_language

INDEX_VARIABLE = "EGPARSE_INDEX"
INDEX = "index.json"
MIRROR_VARIABLE = "EGPARSE_MIRROR"
MODEL = "model"
TREEBANK = "treebank"


class RemoteFile(NamedTuple):
    """A file at a public address; ``sha256`` in hexadecimal, None where it is not known."""

    name: str
    address: str
    sha256: str | None = None


class CatalogueEntry(NamedTuple):
    """A model or treebank; ``kind`` is ``MODEL`` or ``TREEBANK``, ``release`` its version."""

    name: str
    kind: str
    language: str
    licence: str
    release: str
    files: tuple[RemoteFile, ...]


def entries() -> tuple[CatalogueEntry, ...]:
    """All entries: the models of the index, then treebanks.

    Raises:
        ConfigError: an index that cannot be read.
    """
    return (*index_entries(), *_treebanks())


def find_entry(name: str) -> CatalogueEntry | None:
    """The entry of that name, or else the first model of that language, if there is one.

    Raises:
        ConfigError: an index that cannot be read.
    """
    known = entries()
    models = (entry for entry in known if entry.kind == MODEL)
    first = next((entry for entry in models if is_of_language(entry.name, name)), None)
    return next((entry for entry in known if entry.name == name), first)


def treebank_entry(name: str) -> CatalogueEntry | None:
    """The treebank of that name, if there is one."""
    return next((entry for entry in _treebanks() if entry.name == name), None)


def index_address() -> str:
    """The address or the path of the index, empty if none is set."""
    named = os.environ.get(INDEX_VARIABLE, "")
    if named and not is_remote(named) and Path(named).is_dir():
        return str(Path(named) / INDEX)
    return named


def is_remote(address: str) -> bool:
    """Whether this is the address of a server, and not a path."""
    return "://" in address


def index_copy() -> Path:
    """Where the copy of an index on a server is kept."""
    digest = hashlib.sha256(index_address().encode()).hexdigest()[:16]
    return home() / f"index-{digest}.json"


def index_entries() -> Iterator[CatalogueEntry]:
    """The models of the index, or of the copy of it that is here.

    Raises:
        ConfigError: an index that cannot be read.
    """
    address = index_address()
    path = index_copy() if is_remote(address) else Path(address)
    if not address or (is_remote(address) and not path.is_file()):
        return
    try:
        for model in json.loads(path.read_text(encoding="utf-8"))["models"]:
            name, file = str(model["name"]), str(model["file"])
            if not could_be_name(name):
                raise ValueError(f"a model of the name {name!r}")
            beside = str(Path(address).parent / file)
            if is_remote(address):
                beside = f"{address.rpartition('/')[0]}/{file}"
            place = file if is_remote(file) else beside
            remote = RemoteFile(f"{name}{SUFFIX}", place, str(model["sha256"]))
            language, licence = str(model["language"]), str(model["licence"])
            yield CatalogueEntry(name, MODEL, language, licence, str(model["version"]), (remote,))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{address} ({INDEX_VARIABLE}): expected an index of models, got: {error}"
        ) from error


def mirrored(address: str) -> str:
    """The address to download from: the same path below ``$EGPARSE_MIRROR``, if that is set."""
    mirror = os.environ.get(MIRROR_VARIABLE)
    return mirror.rstrip("/") + urlsplit(address).path if mirror else address


@cache
def _treebanks() -> tuple[CatalogueEntry, ...]:
    from importlib.resources import files  # not needed by a model that is on this machine

    catalogue = files("egparse.service.hub").joinpath("catalogue.json")
    return (*_of_table(json.loads(catalogue.read_text(encoding="utf-8"))["treebanks"]),)


def _of_table(table: Mapping[str, Any]) -> Iterator[CatalogueEntry]:
    release = table["release"]
    for entry in table["entries"]:
        remote = []
        for part in entry["parts"]:
            address = table["address"].format(
                name=entry["name"], release=release, prefix=entry["prefix"], part=part
            )
            remote.append(
                RemoteFile(address.rpartition("/")[2], address, entry["sha256"].get(part))
            )
        yield CatalogueEntry(
            entry["name"], TREEBANK, entry["language"], entry["licence"], release, tuple(remote)
        )
