"""A home of its own for each test, and a server that has a treebank."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from service.hub.local_server import Site, serving

from egparse.service.hub.catalogue import find_entry, mirrored

SENTENCE = "# text = Hello {k}\n1\tHello\thello\tINTJ\t_\t_\t0\troot\t_\t_\n\n"
CORPUS = "".join(SENTENCE.format(k=k) for k in range(10_000)).encode()
"""Several times the bytes that a download reads at a time."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the user's models and corpora."""
    folder = tmp_path / "home"
    monkeypatch.setenv("EGPARSE_HOME", str(folder))
    return folder


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A mirror of UD_French-Sequoia, whose parts differ."""
    entry = find_entry("UD_French-Sequoia")
    assert entry is not None
    with serving({}) as site:
        monkeypatch.setenv("EGPARSE_MIRROR", site.base + "/")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        for k, file in enumerate(entry.files):
            path = mirrored(file.address).removeprefix(site.base)
            site.files[path] = CORPUS + SENTENCE.format(k=f"again {k}").encode()
        yield site
