"""A small file never makes the reader allocate much: measured bounds, with right checksums all
over.
"""

from __future__ import annotations

import hashlib
import struct
import tracemalloc
from pathlib import Path

import msgpack
import pytest
from lines_run import lines_run
from storage.crafted import MAGIC, array_of, file_of, write_crafted

from egparse.errors import ModelFileError
from egparse.storage.model_file import read_header, read_model

MEGABYTE = 1_000_000
HUGE = b"\xff\xff\xff\xff"


def peak_of_reading(path: Path) -> tuple[int, str]:
    """Bytes that Python and numpy had allocated at most, and the fault ("" for none)."""
    fault = ""
    tracemalloc.start()
    try:
        read_model(path)
    except ModelFileError as error:
        fault = str(error)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak, fault


@pytest.mark.parametrize(
    "claim",
    [
        b"\xdd" + HUGE,  # a list of 2**32-1 elements
        b"\xdf" + HUGE + b"\xa1a",  # a map
        b"\xdb" + HUGE,  # a string
        b"\xc6" + HUGE,  # a binary
        b"\xc9" + HUGE + b"\x01",  # an array
        b"\xdc\xff\xff" * 60,  # lists in lists
        bytes(array_of("float64", (2**61,), b"").data),
        msgpack.packb(array_of("float64", (2**61,), b"")),
        msgpack.packb(array_of("int8", (2**32 - 1,), b"")),
    ],
    ids=lambda claim: claim[:6].hex(),
)
def test_claims_of_small_files_allocate_nothing(tmp_path: Path, claim: bytes) -> None:
    peak, fault = peak_of_reading(write_crafted(tmp_path / "m", b"\x81\xa1x" + claim))
    assert "altered: " in fault
    assert peak < 100_000


def test_nested_claims_of_the_file_size_are_refused_at_once(tmp_path: Path) -> None:
    """Each list claims as many elements as there are bytes, which msgpack alone would reserve for
    each.
    """
    filler = 100_000
    claims = (b"\xdd" + struct.pack(">I", filler)) * 60
    path = write_crafted(tmp_path / "m", b"\x81\xa1x" + claims + b"\x01" * filler)
    peak, fault = peak_of_reading(path)
    assert "do not add up" in fault
    assert peak < 3 * filler


@pytest.mark.parametrize(
    "opening", [b"\x91", b"\x81\xa1x", b"\xdc\x00\x01", b"\xdf\x00\x00\x00\x01\xa1x"]
)
def test_deep_nesting_is_refused(tmp_path: Path, opening: bytes) -> None:
    path = write_crafted(tmp_path / "m", b"\x81\xa1x" + opening * 200_000 + b"\x01")
    peak, fault = peak_of_reading(path)
    assert fault.endswith("altered: it nests lists and maps more than 64 deep")
    assert peak < 3 * path.stat().st_size


def test_a_million_empty_containers_are_refused(tmp_path: Path) -> None:
    payload = b"\x81\xa1x\xdd" + struct.pack(">I", MEGABYTE) + b"\x80" * MEGABYTE
    peak, fault = peak_of_reading(write_crafted(tmp_path / "m", payload))
    assert fault.endswith("altered: it holds more than 100000 lists and maps")
    assert peak < 3 * MEGABYTE  # a million maps would take 64
    count = 99_998
    payload = b"\x81\xa1x\xdd" + struct.pack(">I", count) + b"\x80" * count
    peak, fault = peak_of_reading(write_crafted(tmp_path / "m", payload))
    assert fault == ""
    assert peak < 8 * MEGABYTE


@pytest.mark.parametrize(
    "element",
    [
        b"\xa0",
        b"\xa2ab",
        b"\xa3\xe2\x82\xac",
        b"\xcd\x7f\xff",
        b"\xd2\x7f\xff\xff\xff",
        b"\xcb\x3f\xf1\x11\x11\x11\x11\x11\x11",
        b"\xc4\x02ab",
        msgpack.packb(array_of("int8", (), b"\x01")),
    ],
    ids=lambda element: element[:6].hex(),
)
def test_a_file_takes_memory_in_proportion_to_its_size(tmp_path: Path, element: bytes) -> None:
    """The worst elements of the format, by the ten thousand."""
    count = 30_000
    payload = b"\x81\xa1x\xdd" + struct.pack(">I", count) + element * count
    peak, fault = peak_of_reading(write_crafted(tmp_path / "m", payload))
    assert fault == ""
    assert peak < 25 * len(payload)


def test_millions_of_short_values_are_refused(tmp_path: Path) -> None:
    """Two letters take 3 bytes on disk and 64 in memory."""
    count = 3_000_000
    payload = b"\x81\xa1x\xdd" + struct.pack(">I", count) + b"\xa2ab" * count
    peak, fault = peak_of_reading(write_crafted(tmp_path / "m", payload))
    assert fault.endswith("altered: it holds more than 2500001 values, too many for its length")
    assert peak < 3 * len(payload)


def test_a_file_of_arrays_takes_twice_its_size(tmp_path: Path) -> None:
    payload = msgpack.packb({"w": array_of("float32", (MEGABYTE,), bytes(4 * MEGABYTE))})
    peak, fault = peak_of_reading(write_crafted(tmp_path / "m", payload))
    assert fault == ""
    assert peak < 2.1 * len(payload)


def test_the_length_of_the_header_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(MAGIC + HUGE + bytes(32))
    assert (
        peak_of_reading(path)[1]
        == f"{path}: altered: it claims a header of {2**32 - 1} bytes, more than any has"
    )
    with path.open("wb") as file:
        file.truncate(2**25)  # sparse: large without taking room
        file.write(MAGIC + struct.pack("<I", 2**24 + 1) + hashlib.sha256(b"").digest())
    peak, fault = peak_of_reading(path)
    assert fault.endswith("more than any has")
    assert peak < 100_000


def test_claims_in_the_header_allocate_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_bytes(file_of(b"\x81\xa1x" + (b"\xdd" + HUGE) * 50, b"\x80"))
    peak, fault = peak_of_reading(path)
    assert fault.endswith("altered: the lengths in it do not add up to its length")
    assert peak < 100_000


def test_the_header_is_read_without_the_payload(tmp_path: Path) -> None:
    payload = msgpack.packb({"w": array_of("int8", (20 * MEGABYTE,), bytes(20 * MEGABYTE))})
    path = write_crafted(tmp_path / "m", payload, labels=["NOUN"])
    tracemalloc.start()
    try:
        assert read_header(path)["labels"] == ["NOUN"]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300_000  # a buffered read of the file's start, and no more


def test_a_bomb_is_refused_with_work_in_proportion_to_its_size(tmp_path: Path) -> None:
    def work(size: int) -> int:
        path = write_crafted(tmp_path / "m", b"\x81\xa1x" + (b"\xdd" + HUGE) * 63 + b"\x01" * size)

        def refuse() -> None:
            with pytest.raises(ModelFileError, match="do not add up"):
                read_model(path)

        return lines_run(refuse)

    once = work(MEGABYTE)
    assert work(2 * MEGABYTE) < 2.05 * once
    assert once < 5 * MEGABYTE  # three lines for each element: nothing is walked over twice
