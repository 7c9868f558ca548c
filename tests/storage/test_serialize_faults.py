"""Every fault of a model file is one clear line, and no fault passes unnoticed."""

from __future__ import annotations

import errno
import io
import os
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from storage.crafted import MAGIC, array_of, file_of, header_of, write_crafted

from egparse import __version__
from egparse.errors import ModelFileError
from egparse.storage.model_file import read_header, read_model, write_model

PROLOGUE_BYTES = 44
READERS = pytest.mark.parametrize("read", [read_model, read_header])


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.msgpack"
    write_model(
        path,
        {"C": 10.0, "labels": ["NOUN"]},
        {"words": ["a", "é"], "w": np.arange(4, dtype=np.float32)},
    )
    return path


def fault_of(read: Callable[[Path], object], path: Path) -> str:
    """The text of the error after the file's name; checks that it is one line that starts with that
    name.
    """
    with pytest.raises(ModelFileError) as caught:
        read(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert text.isprintable()
    return text.removeprefix(f"{path}: ")


@READERS
def test_every_truncation_is_noticed(small: Path, read: Callable[[Path], object]) -> None:
    whole = small.read_bytes()
    small.write_bytes(b"")
    assert fault_of(read, small) == "not an egparse model: the file is empty"
    for length in range(1, len(whole)):
        small.write_bytes(whole[:length])
        assert fault_of(read, small).startswith("truncated: "), length


@READERS
def test_bytes_after_the_end_are_noticed(small: Path, read: Callable[[Path], object]) -> None:
    small.write_bytes(small.read_bytes() + b"\0\0\0")
    assert fault_of(read, small) == "altered: 3 bytes follow its end"


def test_every_altered_byte_is_noticed(small: Path) -> None:
    whole = small.read_bytes()
    for position in range(len(whole)):
        for change in (0x01, 0x80, 0xFF):
            altered = bytearray(whole)
            altered[position] ^= change
            small.write_bytes(altered)
            fault = fault_of(read_model, small)
            assert fault.startswith(("altered: ", "truncated: ", "not an egparse model: ")), (
                position,
                change,
            )


def test_header_and_payload_have_their_checksums(small: Path) -> None:
    whole = small.read_bytes()
    small.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert fault_of(read_model, small) == "altered: its payload does not match its checksum"
    assert read_header(small)["C"] == 10.0  # the header alone does not look at it
    changed = bytearray(whole)
    changed[PROLOGUE_BYTES + 5] ^= 1
    small.write_bytes(changed)
    assert fault_of(read_header, small) == "altered: its header does not match its checksum"


def test_random_bytes_are_refused(tmp_path: Path) -> None:
    generator = random.Random(7)
    path = tmp_path / "random"
    for _ in range(300):
        path.write_bytes(generator.randbytes(generator.randrange(1, 400)))
        assert fault_of(read_model, path).startswith("not an egparse model: ")
        path.write_bytes(MAGIC + generator.randbytes(generator.randrange(1, 400)))
        assert fault_of(read_model, path).startswith(("truncated: ", "altered: "))


def test_random_payloads_with_right_checksums_are_read_or_refused(tmp_path: Path) -> None:
    """The faults behind the checksum: mutations of a real payload and noise, signed as if meant
    so.
    """
    generator = random.Random(11)
    packed = msgpack.packb(
        {"words": ["ab", "c" * 40], "w": array_of("float32", (2,), bytes(8)), "n": {"k": [1.5]}}
    )
    for _ in range(600):
        payload = bytearray(packed)
        for _ in range(generator.randrange(1, 4)):
            payload[generator.randrange(len(payload))] = generator.randrange(256)
        path = write_crafted(tmp_path / "m", bytes(payload))
        try:
            read_model(path)
        except ModelFileError as error:
            assert str(error).isprintable()  # noqa: PT017 (being read is as good)


def zip_bytes() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("weights.bin", b"0" * 100)
    return buffer.getvalue()


@READERS
@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (zip_bytes(), "it looks like a zip archive"),
        (b"\x1f\x8b\x08" + bytes(60), "it looks like gzip data"),
        (b"\x80\x05\x95" + bytes(60), "it looks like a Python pickle"),
        ("# sent_id = 1\n1\té\n".encode(), "it looks like text"),
        (b"# sent_id = 1\n1\tThe\tthe\n", "it looks like text"),
        (msgpack.packb({"a": 1}), "it does not start as one does"),
        (MAGIC.replace(b"\r\n", b"\n") + bytes(60), "it does not start as one does"),
    ],
)
def test_foreign_files_are_named(
    tmp_path: Path, read: Callable[[Path], object], content: bytes, kind: str
) -> None:
    path = tmp_path / "foreign"
    path.write_bytes(content)
    assert fault_of(read, path) == f"not an egparse model: {kind}"


@READERS
def test_a_newer_format_says_what_to_install(
    tmp_path: Path, read: Callable[[Path], object]
) -> None:
    path = write_crafted(tmp_path / "m", b"\xc1 of a later kind", version=3, needs_egparse="0.7.0")
    assert fault_of(read, path) == (
        f"of a newer format (3) than egparse {__version__} reads (2): "
        "install egparse 0.7.0 or later"
    )


def test_an_older_format_says_what_to_do(tmp_path: Path) -> None:
    path = write_crafted(tmp_path / "m", b"\x80", version=1)
    assert fault_of(read_header, path) == (
        f"of an older format (1) than egparse {__version__} reads (2): "
        "train the model again, or get it anew ('egparse download')"
    )


@pytest.mark.parametrize("needs", [None, 3, "1\n\x1b[31m" * 100])
def test_a_newer_format_that_does_not_say_it_well_is_still_one_line(
    tmp_path: Path, needs: Any
) -> None:
    path = write_crafted(tmp_path / "m", b"\x80", version=3, needs_egparse=needs)
    assert len(fault_of(read_header, path)) < 160


NO_FORMAT = "not an egparse model: its header names no format that egparse knows"
NO_PAYLOAD = "altered: its header does not describe its payload"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"format": "other model"}, NO_FORMAT),
        ({"format": None}, NO_FORMAT),
        ({"version": 0}, NO_FORMAT),
        ({"version": True}, NO_FORMAT),
        ({"version": "1"}, NO_FORMAT),
        ({"payload_length": None}, NO_PAYLOAD),
        ({"payload_length": -1}, NO_PAYLOAD),
        ({"payload_length": 2**63}, f"truncated: 1 of {2**63} bytes of its payload are there"),
        ({"payload_length": 0}, "altered: 1 bytes follow its end"),
        ({"payload_sha256": None}, NO_PAYLOAD),
        ({"payload_sha256": "00"}, "altered: its payload does not match its checksum"),
    ],
)
def test_headers_that_do_not_fit_are_refused(
    tmp_path: Path, changes: dict[str, Any], fault: str
) -> None:
    assert fault_of(read_model, write_crafted(tmp_path / "m", b"\x80", **changes)) == fault


@pytest.mark.parametrize("header", [b"", b"\x90", b"\x01", b"\xc1", msgpack.packb("text")])
def test_headers_that_are_no_maps_are_refused(tmp_path: Path, header: bytes) -> None:
    (tmp_path / "m").write_bytes(file_of(header, b"\x80"))
    assert fault_of(read_header, tmp_path / "m") == "altered: its content is not a map"


NO_MAP = "its content is not a map"
NO_KIND = "it holds a kind of value that the format does not have"
LENGTHS = "the lengths in it do not add up to its length"


@pytest.mark.parametrize(
    ("packed", "fault"),
    [
        (b"", NO_MAP),
        (b"\x90", NO_MAP),
        (b"\x81\x01\x01", "it holds a map with a key that is not text"),
        (b"\x81\xa1a\xc1", NO_KIND),
        (msgpack.packb({"t": msgpack.Timestamp(5)}), NO_KIND),
        (msgpack.packb({"t": msgpack.ExtType(9, b"x")}), NO_KIND),
        (b"\x81\xa1a", LENGTHS),
        (b"\x80\x80", LENGTHS),
        (b"\x82\xa1a\x01\xa1a\x02", "it holds a map with a key twice"),
        (b"\x81\xa1b\x82\xa1a\x01\xd9\x01a\x02", "it holds a map with a key twice"),
        (b"\x81\xa1\xff\x01", "it holds a value that cannot be decoded (UnicodeDecodeError)"),
    ],
)
def test_payloads_outside_the_format_are_refused(tmp_path: Path, packed: bytes, fault: str) -> None:
    path = write_crafted(tmp_path / "m", packed)
    assert fault_of(read_model, path) == f"altered: {fault}"


UNKNOWN = "which the format does not have"


@pytest.mark.parametrize(
    ("array", "fault"),
    [
        (msgpack.ExtType(1, b"float32\0"), "an array of 8 bytes, shorter than any"),
        (array_of("object", (1,), bytes(8)), f"an array of type 'object', {UNKNOWN}"),
        (array_of("<U4", (1,), bytes(16)), f"an array of type '<U4', {UNKNOWN}"),
        (array_of("complex6", (1,), bytes(8)), f"an array of type 'complex6', {UNKNOWN}"),
        (array_of("\x1b[31m", (1,), bytes(8)), f"an array of type '\\x1b[31m', {UNKNOWN}"),
        (array_of("float32", (2, 2), bytes(12)), "12 bytes for float32 of shape [2, 2]"),
        (array_of("float32", (2,), bytes(12)), "12 bytes for float32 of shape [2]"),
        (array_of("float32", (), bytes(4), dimensions=33), "an array of 33 dimensions"),
        (array_of("int8", (), bytes(4), dimensions=2**64 - 1), f"an array of {2**64 - 1} dim"),
        (array_of("float32", (2**63, 2), b""), f"0 bytes for float32 of shape [{2**63}, 2]"),
        (array_of("int8", (2**32, 2**32), b""), f"0 bytes for int8 of shape [{2**32}, {2**32}]"),
        (array_of("float64", (0, 2**63), b""), f"an array of shape [0, {2**63}]"),
        (array_of("bool", (3,), b"\0\1\2"), "an array of bool with elements other than 0 and 1"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    tmp_path: Path, array: msgpack.ExtType, fault: str
) -> None:
    path = write_crafted(tmp_path / "m", msgpack.packb({"w": [array]}))
    assert fault_of(read_model, path).startswith(f"altered: it holds {fault}")


def test_an_array_in_the_header_is_refused(tmp_path: Path) -> None:
    path = write_crafted(tmp_path / "m", b"\x80", w=array_of("int8", (1,), b"\0"))
    assert fault_of(read_header, path) == f"altered: {NO_KIND}"


@READERS
def test_what_cannot_be_opened_is_named(tmp_path: Path, read: Callable[[Path], object]) -> None:
    assert fault_of(read, tmp_path / "absent") == f"cannot be read: {os.strerror(errno.ENOENT)}"
    assert fault_of(read, tmp_path) == "a directory, not a model file"
    os.mkfifo(tmp_path / "pipe")
    assert fault_of(read, tmp_path / "pipe") == "not a regular file"
    assert fault_of(read, Path("/dev/zero")) == "not a regular file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission_is_named(small: Path) -> None:
    small.chmod(0)
    assert fault_of(read_model, small) == f"cannot be read: {os.strerror(errno.EACCES)}"


def test_a_file_that_shrinks_while_it_is_read_is_truncated(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = small.stat()
    small.write_bytes(small.read_bytes()[:-1])
    monkeypatch.setattr(os, "fstat", lambda _: stale)
    assert fault_of(read_model, small) == "truncated: the file became shorter while it was read"


def test_loading_executes_nothing(tmp_path: Path) -> None:
    """No value of the format names code: what decodes is of these types only."""
    write_model(tmp_path / "m", {}, {"x": [None, True, 1, 1.5, "s", b"b", {"k": np.ones(1)}]})
    values = read_model(tmp_path / "m")[1]["x"]
    assert [type(value) for value in values] == [type(None), bool, int, float, str, bytes, dict]


def test_the_crafted_files_are_readable_when_nothing_is_wrong(tmp_path: Path) -> None:
    """Else the refusals above would prove nothing."""
    payload = msgpack.packb({"w": array_of("bool", (2, 1), b"\0\1")})
    header, content = read_model(write_crafted(tmp_path / "m", payload))
    assert header == header_of(payload)
    assert content["w"].tolist() == [[False], [True]]
