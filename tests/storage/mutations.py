"""Mutations of what a model file holds: against its declaration, and within it.

A mutation changes one place of a header and a payload, somewhere in the tree of maps, lists,
arrays and numbers. Compressed arrays are decompressed first and compressed again, so that lengths
and checksums stay right and the content alone is wrong.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
import numpy as np
from storage.crafted import array_of, file_of, header_of

Tree = dict[str, Any]

INTEGERS = (
    0, 1, 2, 3, -1, -2, 7, 8, 31, 32, 33, 100, 127, 128, 255, 256, 257, 1000, 65_535, 65_536,
    100_000, 2**28, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**62, 2**63 - 1, -(2**63), 2**64 - 1,
)  # fmt: skip
FLOATS = (
    0.0, -0.0, 1.0, -1.0, 0.5, 0.999, 1e-9, 1e-10, 1e-300, 5e-324, 1e6, 1e9, 1e30, 1.7e308,
    float("inf"), -float("inf"), float("nan"), 2.0, 1000.0, 65504.0, -65504.0, 3.4e38,
)  # fmt: skip
TEXTS = (
    "", " ", "_", "\u00a0", "\x85", "|", "#", "# newdoc",
    "a", "O", "bias", "\t", "a\tb", "a\nb", "\u2028", "\x00", "é" * 600, "x" * 100_000, "en",
    "xx", "qqq", "iob2", "iob1", "bilou", "B-PER", "I-", "E-X", "form[0]", "nothing[0]",
    "form[99999999999999999999]", "lower[-999]", "h.xpos + d.xpos", "h.upos", "+", "upos", "heads",
    "deprels", "lower", "projective", "non-projective", "uint64", "uint8", "float32",
)  # fmt: skip
OTHERS: tuple[Any, ...] = (None, True, False, 0, 1, -1, 1.5, "a", b"", b"ab", [], [1], {}, {"a": 1})


CHUNK = 1 << 16
"""Bytes that are decompressed at a time."""


class Place(NamedTuple):
    """A place of the tree: the keys that lead to it."""

    path: tuple[str | int, ...]

    def __str__(self) -> str:
        return ".".join(map(str, self.path))


class Mutant(NamedTuple):
    """A header and a payload with one change, which ``name`` describes."""

    name: str
    header: Tree
    payload: Tree

    def content(self) -> bytes:
        """The bytes of its file, with right lengths and checksums."""
        body = msgpack.packb(self.payload, default=_array)
        kept = {"version", "needs_egparse", "package_version"}
        header = {k: v for k, v in self.header.items() if k in kept or k not in FORMAT_KEYS}
        return file_of(msgpack.packb(header_of(body, **header)), body)

    def write(self, path: Path) -> Path:
        """Write its file."""
        path.write_bytes(self.content())
        return path


FORMAT_KEYS = {
    "format", "version", "needs_egparse", "package_version", "payload_length", "payload_sha256",
}  # fmt: skip


def _array(value: object) -> msgpack.ExtType:
    if isinstance(value, np.generic):
        return value.item()
    assert isinstance(value, np.ndarray)
    return array_of(value.dtype.name, value.shape, np.ascontiguousarray(value).tobytes())


def places_of(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[Place]:
    """All places of a tree, of long lists the first three and the last."""
    yield Place(path)
    if isinstance(tree, dict) and not _compressed_in(tree):
        for key in tree:
            yield from places_of(tree[key], (*path, key))
    elif isinstance(tree, dict):
        for key in tree:
            yield Place((*path, key))
    elif isinstance(tree, list):
        for k in {0, 1, 2, len(tree) - 1}.intersection(range(len(tree))):
            yield from places_of(tree[k], (*path, k))


def mutants(header: Tree, payload: Tree, seed: int) -> Iterator[Mutant]:
    """Endless mutants of a model file; each place comes about equally often, whatever its depth."""
    generator = random.Random(seed)
    whole = {"header": {k: v for k, v in header.items() if k not in FORMAT_KEYS}}
    whole["payload"] = payload
    places = [place for place in places_of(whole) if len(place.path) > 1]
    while True:
        generator.shuffle(places)
        for place in places:
            changed = copy_of(whole)
            names = []
            for chosen in (place, *(generator.sample(places, generator.choice((0, 0, 0, 1))))):
                names.append(f"{chosen}: {mutate(changed, chosen, generator)}")
            formats = {k: v for k, v in header.items() if k in FORMAT_KEYS}
            yield Mutant("; ".join(names), formats | changed["header"], changed["payload"])


def copy_of(tree: Any) -> Any:
    """A copy of maps and lists; texts and arrays, which are never changed in place, are shared."""
    if isinstance(tree, dict):
        return {key: copy_of(value) for key, value in tree.items()}
    if isinstance(tree, list):
        # long lists hold texts and numbers
        return list(tree) if len(tree) > 50 else [copy_of(value) for value in tree]
    return tree


def mutate(tree: Any, place: Place, generator: random.Random) -> str:
    """Change a place; returns how."""
    *way, last = place.path
    for key in way:
        if not _has(tree, key):
            return "gone"
        tree = tree[key]
    if not _has(tree, last):
        return "gone"
    changes = list(_changes(tree[last], generator))
    if last == "exact":  # inference that is not exact has kernels that take a minute to compile
        changes = [(name, change) for name, change in changes if change() is not False]
    name, change = generator.choice(changes or [("nothing", lambda: None)])
    try:
        with np.errstate(all="ignore"):
            tree[last] = change()
    except (TypeError, ValueError, zlib.error):  # of what an earlier change has left
        tree[last] = None
    if isinstance(tree, dict) and generator.random() < 0.03:
        del tree[last]
        name = "removed"
    return name


def _has(tree: Any, key: str | int) -> bool:
    if isinstance(tree, dict):
        return key in tree
    return isinstance(tree, list) and isinstance(key, int) and key < len(tree)


Change = tuple[str, Callable[[], Any]]


def _changes(value: Any, generator: random.Random) -> Iterator[Change]:
    """Changes of a value; those of its kind come first and most."""
    other = generator.choice(OTHERS)
    yield f"{other!r} instead", lambda: other
    if isinstance(value, bool):
        yield "negated", lambda: not value
    elif isinstance(value, int | float):
        integer, number = generator.choice(INTEGERS), generator.choice(FLOATS)
        yield f"{integer}", lambda: integer
        yield f"{number}", lambda: number
        yield "a little more", lambda: value + 1
        yield "a little less", lambda: value - 1
        yield "double", lambda: value * 2
    elif isinstance(value, str):
        text = generator.choice(TEXTS)
        yield f"{text[:30]!a}", lambda: text
        yield "longer", lambda: value + generator.choice("ab[]\t\n|+-0.")
    elif isinstance(value, bytes):
        yield from _changes_of_bytes(value, generator)
    elif isinstance(value, np.ndarray):
        yield from _changes_of_array(value, generator)
    elif isinstance(value, dict):
        yield from _changes_of_map(value, generator)
    elif isinstance(value, list):
        yield from _changes_of_list(value, generator)


def _changes_of_bytes(value: bytes, generator: random.Random) -> Iterator[Change]:
    def flipped() -> bytes:
        changed = bytearray(value or b"0")
        changed[generator.randrange(len(changed))] ^= 1 << generator.randrange(8)
        return bytes(changed)

    yield "a bit flipped", flipped
    yield "shorter", lambda: value[: len(value) // 2]
    yield "longer", lambda: value + b"more"
    yield "twice", lambda: value + value
    yield "a bomb", lambda: zlib.compress(bytes(30_000_000), 9)


def _changes_of_map(value: Tree, generator: random.Random) -> Iterator[Change]:
    if key := _compressed_in(value):
        try:
            plain = plain_of(value)
        except (TypeError, ValueError, zlib.error):  # after an earlier change of a part of it
            plain = np.zeros(7, dtype=np.uint8)
        for _ in range(4):
            name, change = generator.choice(list(_changes_of_array(plain, generator)))
            yield name, lambda change=change: _packed(value, change())  # type: ignore[misc]
        stored = value[key] if isinstance(value[key], bytes) else b""
        more = generator.choice((b"j", b"junk", bytes(CHUNK), stored))
        yield f"{len(more)} bytes after it", lambda: {**value, key: stored + more}
        yield "in two streams", lambda: {**value, key: _in_two(stored)}
        size = generator.choice((0, 1)) + generator.choice((0, CHUNK - 1, CHUNK, 2 * CHUNK))
        level = generator.choice((0, 1, 9))
        yield (
            f"{size} of them at level {level}",
            lambda: {**value, **_resized(value, plain, size, level)},
        )
        claim = generator.choice(INTEGERS)
        yield f"claims {claim}", lambda: {**value, "count": claim}
        bomb = 1 << generator.randrange(10, 29)
        yield f"a bomb of {bomb}", lambda: {**value, **_bomb(value, bomb)}
    yield "one more", lambda: {**value, "unknown": 1}
    yield "empty", dict
    if len(value) > 1:
        one, two = generator.sample(sorted(value), 2)
        yield f"{one} and {two} swapped", lambda: {**value, one: value[two], two: value[one]}


def _compressed_in(value: Tree) -> str:
    """The field with the compressed bytes of an array or a table of weights; empty without any."""
    return next((key for key in ("planes", "pairs") if key in value), "")


def _in_two(stored: bytes) -> bytes:
    """The same bytes, of which the last one is in another compressed stream."""
    content = zlib.decompress(stored)
    return zlib.compress(content[:-1]) + zlib.compress(content[-1:])


def _resized(value: Tree, plain: np.ndarray[Any, Any], size: int, level: int) -> Tree:
    """So many elements, at the borders of what is decompressed at a time; an empty array stays."""
    array = np.resize(plain, size)
    return {_compressed_in(value): zlib.compress(planes_of(array), level), "count": size}


def _bomb(value: Tree, count: int) -> Tree:
    itemsize = np.dtype(value.get("type", "uint8")).itemsize
    packer = zlib.compressobj(9)
    zeros = bytes(1 << 20)
    total = count * itemsize
    parts = [packer.compress(zeros) for _ in range(total >> 20)]
    parts += [packer.compress(bytes(total & (1 << 20) - 1)), packer.flush()]
    return {_compressed_in(value): b"".join(parts), "count": count}


def plain_of(value: Tree) -> np.ndarray[Any, Any]:
    """A compressed array, or the bytes of a table of weights."""
    dtype = np.dtype(value.get("type", "int8"))  # tables of weights are of bytes
    content = zlib.decompress(value[_compressed_in(value)])
    return np.frombuffer(content, np.uint8).reshape(dtype.itemsize, -1).T.copy().view(dtype)[:, 0]


def planes_of(array: np.ndarray[Any, Any]) -> bytes:
    """The lowest byte of each element, then the next of each, and so on."""
    return np.ascontiguousarray(array).view(np.uint8).reshape(-1, array.itemsize).T.tobytes()


def _packed(value: Tree, array: np.ndarray[Any, Any]) -> Tree:
    """As ``value``, with another array; the type may then not be one that files hold."""
    flat = array.reshape(-1)
    stored = {_compressed_in(value): zlib.compress(planes_of(flat), 1), "count": len(flat)}
    return {**value, **stored, **({"type": flat.dtype.name} if "type" in value else {})}


def _changes_of_array(value: np.ndarray[Any, Any], generator: random.Random) -> Iterator[Change]:
    numbers = np.random.default_rng(generator.randrange(2**32))
    flat, dtype = value.reshape(-1), value.dtype

    def filled(new: Any, share: float) -> np.ndarray[Any, Any]:
        chosen = numbers.random(value.shape) < share
        with np.errstate(all="ignore"):
            return np.where(chosen, np.array(new).astype(dtype), value).astype(dtype)

    extremes = FLOATS if dtype.kind == "f" else INTEGERS
    with np.errstate(all="ignore"):
        fits = [x for x in extremes if dtype.kind == "f" or _holds(dtype, x)]
    new = generator.choice(fits)
    share = generator.choice((1.0, 0.3, 0.001, 1.5 / max(1, value.size)))
    yield f"{new} for a share of {share:.2g}", lambda: filled(new, share)
    yield "shuffled", lambda: numbers.permutation(flat).reshape(value.shape)
    yield "sorted", lambda: np.sort(flat).reshape(value.shape)
    yield "reversed", lambda: flat[::-1].reshape(value.shape).copy()
    yield "empty", lambda: flat[:0]
    yield "one left", lambda: flat[:1]
    yield "one less", lambda: flat[:-1]
    yield "half", lambda: flat[: len(flat) // 2]
    yield "one more", lambda: np.concatenate([flat, flat[-1:]])
    yield "twice", lambda: np.concatenate([flat, flat])
    yield "a row", lambda: value.reshape(1, -1)
    yield "a number", lambda: np.array(3, dtype=dtype)
    yield "first axis shorter", lambda: value[:-1]
    kind = generator.choice(("bool", "int8", "int32", "int64", "uint8", "uint16", "uint64"))
    kind = generator.choice((kind, "float16", "float32", "float64"))
    with np.errstate(all="ignore"):
        yield f"as {kind}", lambda: value.astype(kind)
    if value.size > 1:
        one, two = generator.sample(range(value.size), 2)
        yield "two swapped", lambda: _swapped(value, one, two)
    if dtype.kind != "f" and value.size:
        low, high = int(flat.min()), int(flat.max())
        yield (
            "others of its range",
            lambda: numbers.integers(low, high, value.shape, dtype=dtype, endpoint=True),
        )
        yield "one too large", lambda: _swapped(filled(min(high + 1, np.iinfo(dtype).max), 0.01))
    elif value.size:
        yield "others of its kind", lambda: numbers.normal(0, 3, value.shape).astype(dtype)
        yield "large ones", lambda: numbers.uniform(-6e4, 6e4, value.shape).astype(dtype)


def _holds(dtype: np.dtype[Any], value: float) -> bool:
    if dtype.kind == "b":
        return value in (0, 1)
    limits = np.iinfo(dtype)
    return int(limits.min) <= value <= int(limits.max)


def _swapped(value: np.ndarray[Any, Any], one: int = 0, two: int = 0) -> np.ndarray[Any, Any]:
    changed = value.copy().reshape(-1)
    changed[[one, two]] = changed[[two, one]]
    return changed.reshape(value.shape)


def _changes_of_list(value: list[Any], generator: random.Random) -> Iterator[Change]:
    yield "empty", list
    yield "one left", lambda: value[:1]
    yield "one less", lambda: value[:-1]
    yield "one twice", lambda: [*value, *value[-1:]]
    yield "twice", lambda: value + value
    yield "reversed", lambda: value[::-1]
    yield "shuffled", lambda: generator.sample(value, len(value))
    other = generator.choice(OTHERS)
    yield f"{other!r} at the end", lambda: [*value, other]
    if value and all(isinstance(text, str) for text in value):
        text = generator.choice(TEXTS)
        yield f"{text[:30]!a} at the end", lambda: [*value, text]
        yield f"{text[:30]!a} first", lambda: [text, *value[1:]]
        count = generator.choice((127, 257, 5_000, 200_000))
        yield f"{count} of them", lambda: (value * (count // len(value) + 1))[:count]
        yield f"{count} others", lambda: [f"{k}" for k in range(count)]
    if value and all(isinstance(number, int) for number in value):
        number = generator.choice(INTEGERS)
        yield f"{number} at the end", lambda: [*value, number]
        yield "a sample", lambda: sorted(generator.sample(value, generator.randint(1, len(value))))
        yield "200,000 of them", lambda: value * (200_000 // len(value))
