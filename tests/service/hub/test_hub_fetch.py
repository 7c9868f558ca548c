"""Downloads from a server that cuts, lies, forgets and falls silent: all or nothing, and nothing
twice.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from service.hub.conftest import CORPUS
from service.hub.local_server import Site

import egparse.service.hub.fetch as transfer
from egparse.service.hub.catalogue import (
    MODEL,
    TREEBANK,
    CatalogueEntry,
    RemoteFile,
    entries,
    find_entry,
)
from egparse.service.hub.fetch import DownloadError, fetch, folder_of, is_downloaded

NAME = "corpus.conllu"


def entry_of(site: Site, data: bytes = CORPUS, sha256: str | None = None) -> CatalogueEntry:
    """A treebank of one file that the site has."""
    site.files["/" + NAME] = data
    file = RemoteFile(NAME, f"https://nowhere.invalid/{NAME}", sha256)
    return CatalogueEntry("UD_Test", TREEBANK, "English", "CC BY 4.0", "r1", (file,))


def sha256(data: bytes) -> str:
    """In hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def names(folder: Path) -> list[str]:
    """All files in a folder, hidden ones too."""
    return sorted(path.name for path in folder.iterdir())


def refused(entry: CatalogueEntry, folder: Path, reason: str) -> None:
    """The download fails, and says why."""
    with pytest.raises(DownloadError, match=reason):
        fetch(entry, folder)


def test_a_treebank_arrives_with_its_checksums(site: Site, home: Path) -> None:
    entry = find_entry("UD_French-Sequoia")
    assert entry is not None
    assert not is_downloaded(entry)
    paths = fetch(entry)
    assert paths == [
        home / "treebanks" / "r2.16" / entry.name / f"fr_sequoia-ud-{part}.conllu"
        for part in ("train", "dev", "test")
    ]
    assert [path.read_bytes() for path in paths] == list(site.files.values())
    kept = [path.with_name(path.name + ".sha256").read_text() for path in paths]
    assert kept == [f"{sha256(path.read_bytes())}  {path.name}\n" for path in paths]
    assert len(names(folder_of(entry))) == 6
    assert is_downloaded(entry)
    assert [request.path for request in site.requests] == list(site.files)


def test_what_is_there_is_checked_and_not_downloaded_again(site: Site, tmp_path: Path) -> None:
    entry = entry_of(site)
    (path,) = fetch(entry, tmp_path / "own")
    assert fetch(entry, tmp_path / "own") == [path]
    assert len(site.requests) == 1
    path.write_bytes(CORPUS[:-1] + b"x")
    reason = r"corpus.conllu: expected SHA-256 .*, got .*: altered since its download"
    refused(entry, tmp_path / "own", reason)
    assert path.read_bytes() == CORPUS[:-1] + b"x"


def test_somebody_elses_file_is_left_alone(site: Site, tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("mine")
    reason = "expected a downloaded file or none, got a file without a checksum"
    refused(entry_of(site), tmp_path, reason)
    assert (tmp_path / NAME).read_text() == "mine"


@pytest.mark.parametrize("kind", [TREEBANK, MODEL])
def test_a_known_checksum_is_required(site: Site, home: Path, kind: str) -> None:
    data = os.urandom(1000)
    right = entry_of(site, data, sha256(data))._replace(kind=kind)
    (path,) = fetch(right)
    assert path.read_bytes() == data
    assert names(path.parent) == [NAME]
    assert path.parent == (
        home / "models" if kind == MODEL else home / "treebanks" / "r1" / "UD_Test"
    )


def test_wrong_bytes_are_refused(site: Site, tmp_path: Path) -> None:
    entry = entry_of(site, CORPUS, sha256(CORPUS + b"\n"))
    reason = r"expected SHA-256 [0-9a-f]{64}, got other bytes; nothing was kept"
    refused(entry, tmp_path / "own", reason)
    assert names(tmp_path / "own") == []


@pytest.mark.parametrize("data", [b"<html>Log in first</html>\n\n", b"", b"# text = cut\n1\tcu"])
def test_what_is_no_corpus_is_refused(site: Site, tmp_path: Path, data: bytes) -> None:
    reason = "expected whole sentences in CoNLL-U, got something else"
    refused(entry_of(site, data), tmp_path / "own", reason)
    assert names(tmp_path / "own") == []


@pytest.mark.parametrize("known", [True, False])
def test_a_length_that_lies_is_seen(site: Site, tmp_path: Path, known: bool) -> None:
    """The server announces half, and sends that."""
    site.faults = ["short"]
    entry = entry_of(site, sha256=sha256(CORPUS) if known else None)
    reason = "got other bytes" if known else "expected whole sentences"
    refused(entry, tmp_path / "own", reason)
    assert names(tmp_path / "own") == []
    assert fetch(entry, tmp_path / "own")[0].read_bytes() == CORPUS


def test_a_transfer_that_is_cut_goes_on_by_itself(site: Site, tmp_path: Path) -> None:
    site.faults = ["cut"]
    heard: list[tuple[str, int, int | None]] = []
    (path,) = fetch(entry_of(site), tmp_path / "own", lambda *news: heard.append(news))
    assert path.read_bytes() == CORPUS
    first, second = site.requests
    assert first.range is None
    assert second.range is not None
    begun = int(second.range.removeprefix("bytes=").removesuffix("-"))
    assert len(CORPUS) // 2 - transfer.CHUNK <= begun <= len(CORPUS) // 2
    assert [size for _, size, _ in heard] == sorted(size for _, size, _ in heard)
    assert heard[-1] == (NAME, len(CORPUS), len(CORPUS))


def test_a_transfer_that_is_always_cut_fails_and_can_be_taken_up(
    site: Site, tmp_path: Path
) -> None:
    site.faults = ["cut"] * transfer.ATTEMPTS
    entry = entry_of(site)
    reason = f"expected {len(CORPUS):,} bytes, got [0-9,]+ bytes; run the command again to resume"
    refused(entry, tmp_path / "own", reason)
    (part,) = names(tmp_path / "own")
    assert part.startswith(".")
    assert part.endswith(".part")
    done = (tmp_path / "own" / part).stat().st_size
    assert fetch(entry, tmp_path / "own")[0].read_bytes() == CORPUS
    assert site.requests[-1].range == f"bytes={done}-"
    assert names(tmp_path / "own") == [NAME, NAME + ".sha256"]


@pytest.mark.parametrize("change", ["no ranges", "no version", "another version", "a shorter file"])
def test_what_cannot_be_continued_is_sent_again(site: Site, tmp_path: Path, change: str) -> None:
    site.faults = ["cut"] * transfer.ATTEMPTS
    site.version = None if change == "no version" else '"1"'
    site.ranges = change != "no ranges"
    entry, data = entry_of(site), CORPUS
    refused(entry, tmp_path / "own", "bytes")
    if change in ("another version", "a shorter file"):
        site.version = '"2"'
        data = (
            CORPUS.replace(b"Hello", b"Salut")
            if change == "another version"
            else CORPUS[: CORPUS.index(b"# ", 1)]
        )
        entry = entry_of(site, data)
    assert fetch(entry, tmp_path / "own")[0].read_bytes() == data
    assert names(tmp_path / "own") == [NAME, NAME + ".sha256"]


def test_a_transfer_ends_where_what_was_received_can_neither_be_continued_nor_removed(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.faults = ["cut"] * transfer.ATTEMPTS
    refused(entry_of(site), tmp_path / "own", "bytes")
    monkeypatch.setattr(transfer, "_forget", lambda _: None)
    site.version = '"2"'
    refused(entry_of(site), tmp_path / "own", r"expected bytes from [0-9,]+ on, got others")
    assert len(site.requests) == 2 * transfer.ATTEMPTS


def test_a_missing_file_is_named(site: Site, tmp_path: Path) -> None:
    entry = entry_of(site)
    del site.files["/" + NAME]
    refused(entry, tmp_path / "own", f"{site.base}/{NAME}: expected a file, got 404 Not Found")
    assert names(tmp_path / "own") == []


def test_without_a_network_the_reason_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EGPARSE_MIRROR", "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    reason = "cannot be reached: Connection refused; downloads need a connection"
    refused(entries()[0], tmp_path / "own", reason)
    assert names(tmp_path / "own") == []


def test_a_silent_server_is_given_up(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "TIMEOUT", (0.2, 0.2))
    monkeypatch.setattr(transfer, "ATTEMPTS", 1)
    site.faults = ["stall"]
    refused(entry_of(site), tmp_path / "own", "bytes; run the command again")


def test_a_place_that_cannot_be_written_is_named(site: Site, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    reason = r"file/corpus.conllu: cannot be written: File exists"
    refused(entry_of(site), tmp_path / "file", reason)
    assert site.requests == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_named(site: Site, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir(mode=0o500)
    reason = r"own/corpus.conllu: cannot be written: Permission denied"
    refused(entry_of(site), tmp_path / "own", reason)


def test_downloads_of_one_file_at_once_wait_for_each_other(site: Site, tmp_path: Path) -> None:
    site.faults = ["cut"]
    entry, found = entry_of(site), []
    threads = [
        threading.Thread(
            target=lambda: found.append(fetch(entry, tmp_path / "own")[0].read_bytes())
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [CORPUS] * 4
    assert len(site.requests) == 2  # the one that was cut, and its continuation
    assert names(tmp_path / "own") == [NAME, NAME + ".sha256"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda one: one.name)
def test_a_killed_download_holds_nobody_up_and_is_taken_up(
    site: Site, tmp_path: Path, number: signal.Signals
) -> None:
    site.faults = ["stall"]
    own = tmp_path / "own"
    program = (sys.executable, "-m", "egparse")
    command = [*program, "download", "UD_French-Sequoia", "--output", str(own)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        for _ in range(3000):
            if any(path.stat().st_size > transfer.CHUNK for path in own.glob(".*.part")):
                break
            time.sleep(0.01)
        process.send_signal(number)
    assert not list(own.glob("*.conllu"))
    if number == signal.SIGTERM:
        assert process.returncode == 128 + number
        assert all(name.endswith(".part") for name in names(own))
    entry = find_entry("UD_French-Sequoia")
    assert entry is not None
    paths = fetch(entry, own)
    assert [path.read_bytes() for path in paths] == list(site.files.values())
    assert site.requests[1].range is not None
    assert not list(own.glob(".*.part"))
