"""What a table of word classes takes in a model: bytes in the file, time to load, memory, and time
of a look-up, of fingerprints and of the forms themselves.

Usage: python benchmarks/class_tables.py TABLE...

A table is whatever ``egparse train --classes`` takes. Times are CPU seconds, the least of five.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from egparse.classes.formats import find_table
from egparse.classes.tables import PackedTable
from egparse.storage.schema import Stored

RUNS = 5
LOOKED_UP = 20_000


def least(work: Callable[[], object]) -> float:
    """The CPU seconds of the fastest of some runs."""
    seconds = []
    for _ in range(RUNS):
        begun = time.process_time()
        work()
        seconds.append(time.process_time() - begun)
    return min(seconds)


def memory(work: Callable[[], object]) -> float:
    """The megabytes that a result holds."""
    tracemalloc.start()
    kept = work()
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return size / 1e6


def front_coded(words: Sequence[str]) -> bytes:
    """Sorted words without what each has in common with the one before."""
    out, before = bytearray(), b""
    for word in words:
        now = word.encode()
        same = 0
        while same < min(len(now), len(before), 255) and now[same] == before[same]:
            same += 1
        out += bytes([same]) + now[same:] + b"\n"
        before = now
    return bytes(out)


def main() -> None:
    """Measure each table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", nargs="+")
    for name in parser.parse_args().table:
        table = find_table(name)
        kept = table.generalised().without_repetitions().paths
        packed = PackedTable.of(table.generalised())
        payload: dict[str, Any] = packed.to_payload()
        words = sorted(kept)
        numbers = {path: number for number, path in enumerate(packed.paths)}
        classes = np.array([numbers[kept[word]] for word in words], dtype=np.uint16)
        texts, of_texts = (
            zlib.compress("\n".join(words).encode()),
            zlib.compress(classes.tobytes()),
        )
        coded = zlib.compress(front_coded(words))

        def as_texts(texts: bytes = texts, of_texts: bytes = of_texts) -> dict[str, int]:
            forms = zlib.decompress(texts).decode().split("\n")
            numbers = np.frombuffer(zlib.decompress(of_texts), dtype=np.uint16)
            return dict(zip(forms, numbers.tolist(), strict=True))

        def as_fingerprints(payload: dict[str, Any] = payload) -> PackedTable:
            return PackedTable.from_payload(Stored(payload))

        fingerprints = len(payload["buckets"]["deflated"]) + payload["low"].nbytes
        sizes = {
            "forms": len(texts) + len(of_texts),
            "forms, front-coded": len(coded) + len(of_texts),
            "fingerprints": fingerprints + len(payload["classes"]["deflated"]),
        }
        print(f"{name}: {len(table.paths):,} forms, {len(packed):,} kept")
        for kind, size in sizes.items():
            print(f"  {kind:<20}{size / 1e3:8.0f} kB")
        for kind, load in (("forms", as_texts), ("fingerprints", as_fingerprints)):
            print(
                f"  {kind:<20}{1e3 * least(load):8.1f} ms to load{memory(load):8.1f} MB of memory"
            )
        known = list(table.paths)[:LOOKED_UP]
        for kind, forms in (("known", known), ("unknown", [f"{form}Qq7" for form in known])):
            seconds = least(partial(packed.find, forms))
            print(f"  {kind:<20}{1e6 * seconds / len(forms):8.2f} microseconds a form")


if __name__ == "__main__":
    main()
