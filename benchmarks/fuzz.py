"""Coverage-guided fuzzing of what reads bytes that others have made: atheris (libFuzzer) changes
inputs, and keeps those that reach code which no other has reached. The targets, and what must hold
for them, are those of ``tests/fuzzing/targets.py``.

Inputs change in their structure as well as in their bytes: a place in the tree of a model file, a
cell or a line of a corpus, a parameter of a request. Branches are counted in Python; of modules
with kernels only in methods. ``NUMBA_BOUNDSCHECK=1`` compiles kernels that check each
index, which takes some minutes first.

The first input for which something does not hold ends the run with its traceback, and is written to
the folder. What has been found stays there, and is where the next run begins. ``--keep`` tries the
inputs of the folder, by size, and copies those that run lines which none before them has run to the
corpus of the tests.

Usage: python benchmarks/fuzz.py {model,msgpack,conllu,request} [--seconds 3600] [--corpus FOLDER]
       [--seed 1] [--keep [--at-most 60]]  (pip install atheris)
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import msgpack

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "egparse"
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "benchmarks" / "reliability")]

LONGEST = {"model": 1 << 16, "msgpack": 1 << 14, "conllu": 1 << 13, "request": 1 << 13}
"""Bytes of an input at most."""

LONGEST_KEPT = 1 << 13
"""Bytes of an input that the tests keep, at most."""

SECONDS, MEGABYTES = 300, 4096
"""More of either is a finding; the first model of a kind may have to compile kernels."""

PARAMETERS = ("data", "model", "tokenizer", "tagger", "parser", "input", "output", "other", "")
VALUES = (
    "", "none", "en", "en_small", "xx", "conllu", "conllu=v2", "horizontal", "vertical", "text",
    "presegmented", "presegmented;ranges", "sentences", "generic_tokenizer", "plaintext", "json",
    "jsonl", "tree", "matxin", "=", ";", "\u00e9", "a\nb", "She saw him.", "I can't go. Why?\n\nA",
)  # fmt: skip

Mutator = Callable[[bytes, random.Random], bytes]


def main() -> None:
    """Fuzz a target, or keep the inputs of a folder."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=LONGEST)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--corpus", type=Path, metavar="FOLDER", help="inputs that are found")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="choose inputs for the tests instead")
    parser.add_argument("--at-most", type=int, default=60, help="inputs that are kept")
    options = parser.parse_args()
    folder = options.corpus or Path(f"fuzz-{options.target}")
    folder.mkdir(parents=True, exist_ok=True)
    if options.keep:
        keep(options.target, folder, options.at_most)
    else:
        fuzz(options.target, folder, options.seconds, options.seed)


def fuzz(target: str, folder: Path, seconds: int, seed: int) -> None:
    """Try inputs for so many seconds; does not return."""
    import atheris

    with_kernels = [name for name, path in modules() if "njit" in path.read_text("utf-8")]
    with atheris.instrument_imports(include=["egparse"], exclude=with_kernels):
        targets = import_module("fuzzing.targets")
        for name, _ in modules("storage", "pipeline", "sequences", "parsing", "text", "io", "rest"):
            import_module(name)
    for name in {*with_kernels}.intersection(sys.modules):
        instrument_methods(sys.modules[name])
    for number, content in enumerate(seeds_of(target)):
        (folder / f"seed-{number}").write_bytes(content)
    mutate = MUTATORS[target]

    def changed(data: bytes, longest: int, number: int) -> bytes:
        draw = random.Random(number)
        with suppress(
            AssertionError, ValueError, TypeError, LookupError, OverflowError, RecursionError
        ):  # of inputs without structure
            if draw.random() < 0.7 and len(new := mutate(data, draw)) <= longest:
                return new
        return bytes(atheris.Mutate(data, longest))

    flags = {
        "max_total_time": seconds,
        "max_len": LONGEST[target],
        "timeout": SECONDS,
        "rss_limit_mb": MEGABYTES,
        "seed": seed,
        "artifact_prefix": f"{folder}/",
        "print_final_stats": 1,
    }
    words = [f"-{name}={value}" for name, value in flags.items()]
    places = [str(folder), str(targets.CORPUS / target)]
    atheris.Setup([sys.argv[0], *words, *places], targets.TARGETS[target], custom_mutator=changed)
    atheris.Fuzz()


def modules(*rooms: str) -> Iterator[tuple[str, Path]]:
    """Names and files of the modules of egparse, or of those in folders of these names."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if path.stem not in ("__init__", "__main__") and (not rooms or {*rooms} & {*parts}):
            yield ".".join(parts), path


def instrument_methods(module: ModuleType) -> None:
    """Count branches in the methods of a module: other functions may become kernels."""
    import atheris

    classes = [one for one in vars(module).values() if isinstance(one, type)]
    for owner in (one for one in classes if one.__module__ == module.__name__):
        for value in vars(owner).values():
            function = getattr(value, "__func__", value)
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                atheris.instrument_func(function)


# --- inputs ---------------------------------------------------------------------------------------


def seeds_of(target: str) -> Iterator[bytes]:
    """Inputs to begin with."""
    if target == "model":
        yield b"\x90"
    elif target == "msgpack":
        crafted = import_module("storage.crafted")
        array = crafted.array_of("float32", (2, 1), bytes(8))
        content = {"a": [None, True, 1, -5, 1.5, "s", b"b"], "b": {"c": {}}, "w": array}
        yield msgpack.packb(content)
        yield msgpack.packb(crafted.header_of(b"\x80") | {"record": {"a": [1, 2**40, "\u00e9"]}})
    elif target == "conllu":
        yield import_module("mutations").RICH.encode()
        yield import_module("row_samples").FULL.encode()
    else:
        full = import_module("row_samples").FULL
        for first, output in enumerate(("conllu", "json", "horizontal", "vertical", "tree")):
            yield bytes([first % 2]) + form({"data": full, "parser": "", "output": output})
            given = {"data": "I saw her. Why?", "tokenizer": "", "tagger": "", "output": output}
            yield bytes([first % 2]) + form(given)
            yield bytes([2 + first % 2]) + parts(given)


def form(parameters: dict[str, str]) -> bytes:
    """The parameters as the body of a form."""
    from urllib.parse import urlencode

    return urlencode(parameters).encode()


def parts(parameters: dict[str, str]) -> bytes:
    """The parameters as a body in several parts, with the boundary ``x``."""
    said = [
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in parameters.items()
    ]
    return ("".join(said) + "--x--\r\n").encode()


# --- mutators -------------------------------------------------------------------------------------


def mutate_model(data: bytes, draw: random.Random) -> bytes:
    """One more change of the model, or one less."""
    targets, mutations = import_module("fuzzing.targets"), import_module("storage.mutations")
    changes = targets.changes_of(data)
    if len(changes) == targets.MOST_CHANGES or (changes and draw.random() < 0.2):
        changes.pop(draw.randrange(len(changes)))
    else:
        mutant = targets.changed(changes)
        tree = {"header": mutant.header, "payload": mutant.payload}
        places = [place for place in mutations.places_of(arrays_in(tree)) if len(place.path) > 1]
        place = draw.choice(places)
        tree = mutations.copy_of(arrays_in(tree))
        mutations.mutate(tree, place, draw)
        changes.append(targets.Change([*place.path], value_at(tree, place.path)))
    return bytes(msgpack.packb(changes, default=mutations._array))


def value_at(tree: Any, path: tuple[str | int, ...]) -> list[Any]:
    """The value of a place in a list, which is empty where the place is gone."""
    try:
        for key in path:
            tree = tree[key]
    except (LookupError, TypeError):
        return []
    return [tree]


def arrays_in(tree: Any) -> Any:
    """The tree with arrays in place of msgpack's extensions, as far as they are arrays."""
    if isinstance(tree, dict):
        return {key: arrays_in(value) for key, value in tree.items()}
    if isinstance(tree, list) and len(tree) <= 50:
        return [arrays_in(value) for value in tree]
    if isinstance(tree, msgpack.ExtType):
        from egparse.storage.model_file import _array_from_extension

        with suppress(ValueError):
            return _array_from_extension(tree.code, tree.data)
    return tree


def mutate_msgpack(data: bytes, draw: random.Random) -> bytes:
    """A value changed, a key twice, a number in more bytes than it needs, bytes at the end."""
    mutations = import_module("storage.mutations")
    kind = draw.randrange(8)
    if kind == 0:
        place = draw.randrange(len(data) + 1)
        return data[:place] + draw.choice(PIECES) + data[place:]
    if kind == 1:
        return data + draw.choice(PIECES)
    pairs = msgpack.unpackb(data, object_pairs_hook=Pairs, strict_map_key=False)
    if kind == 2 and isinstance(pairs, Pairs):
        pairs.append(draw.choice(pairs))
        return packed(pairs)
    tree = arrays_in(msgpack.unpackb(data))
    place = draw.choice([place for place in mutations.places_of(tree) if place.path])
    mutations.mutate(tree, place, draw)
    return bytes(msgpack.packb(tree, default=mutations._array))


PIECES = (
    b"\x80", b"\x81\xa1a\x01", b"\x82\xa1a\x01\xa1a\x02", b"\xd9\x01a", b"\xcc\x01",
    b"\xd3" + bytes(8), b"\xdc\x00\x01\x01", b"\xdd\xff\xff\xff\xff", b"\xc1", b"\xd4\x01\x00",
    b"\xdf\x00\x00\x00\x01\xa1x\x01", b"\xc7\x18\x01int8\0\0\0\0" + bytes(12), b"\xa1\xff",
    b"\xd6\xff\x00\x00\x00\x00", b"\x00", b"\xc4\x00",
)  # fmt: skip
"""Values in more bytes than they need, keys twice, kinds that the format does not have, ..."""


class Pairs(list[Any]):
    """The pairs of a map, whose keys may be equal."""


def packed(value: Any) -> bytes:
    """A tree of ``Pairs`` in msgpack."""
    if isinstance(value, Pairs):
        packer = msgpack.Packer()
        inner = b"".join(packed(key) + packed(one) for key, one in value)
        return bytes(packer.pack_map_header(len(value))) + inner
    if isinstance(value, list):
        packer = msgpack.Packer()
        return bytes(packer.pack_array_header(len(value))) + b"".join(map(packed, value))
    return bytes(msgpack.packb(value))


def mutate_corpus(data: bytes, draw: random.Random) -> bytes:
    """One of the faults of ``reliability/mutations.py``; what is compressed takes long to read."""
    faults = import_module("mutations").FAULTS
    return bytes(faults[draw.choice([name for name in faults if name != "gzip"])](draw, data))


def mutate_request(data: bytes, draw: random.Random) -> bytes:
    """A parameter added, changed, removed or twice; a fault in the corpus that is one; another
    kind of body.
    """
    from urllib.parse import parse_qsl, quote_plus

    first, body = data[:1] or b"\0", data[1:]
    kind = draw.randrange(6)
    if kind == 0:
        return bytes([draw.randrange(12)]) + body
    if kind == 1 or not body:
        given = dict(zip(draw.sample(PARAMETERS, 3), draw.sample(VALUES, 3), strict=True))
        given.setdefault("data", draw.choice(VALUES))
        return bytes([draw.randrange(4)]) + (form if draw.random() < 0.6 else parts)(given)
    if first[0] // 2 % 6:  # in parts, or of no form
        return first + mutate_corpus(body, draw)
    pairs = [*parse_qsl(body.decode("latin-1"), keep_blank_values=True, encoding="latin-1")]
    place = draw.randrange(len(pairs))
    name, value = pairs[place]
    if kind == 2:
        pairs[place] = (name, draw.choice(VALUES))
    elif kind == 3:
        pairs.insert(place, (draw.choice(PARAMETERS), draw.choice(VALUES)))
    elif kind == 4 and len(pairs) > 1:
        del pairs[place]
    else:
        changed = mutate_corpus(value.encode("latin-1"), draw)
        pairs[place] = (name, changed.decode("latin-1"))
    said = (
        f"{quote_plus(n, encoding='latin-1')}={quote_plus(v, encoding='latin-1')}" for n, v in pairs
    )
    return first + "&".join(said).encode()


MUTATORS: dict[str, Mutator] = {
    "model": mutate_model,
    "msgpack": mutate_msgpack,
    "conllu": mutate_corpus,
    "request": mutate_request,
}


# --- keeping --------------------------------------------------------------------------------------


def keep(target: str, folder: Path, at_most: int) -> None:
    """Copy inputs of the folder that run new lines to the corpus of the tests, in place of those
    that are there.
    """
    targets = import_module("fuzzing.targets")
    kept = targets.CORPUS / target
    read = (path.read_bytes() for place in (folder, kept) for path in place.iterdir())
    found = {data for data in read if len(data) <= LONGEST_KEPT}
    run = targets.TARGETS[target]
    run(b"")  # what runs but once
    news: list[tuple[int, bytes]] = []
    seen: set[tuple[str, int]] = set()
    for data in sorted(found, key=lambda data: (len(data), data)):
        lines = lines_of(lambda data=data: run(data))
        if new := len(lines - seen):
            news.append((new, data))
        seen |= lines
    news.sort(reverse=True)
    for path in kept.iterdir():
        path.unlink()
    for _, data in news[:at_most]:
        (kept / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
    chosen = [data for _, data in news[:at_most]]
    print(f"{len(found)} inputs run {len(seen)} lines, {len(news)} of them new ones")
    print(f"kept: {len(chosen)}, {sum(map(len, chosen))} bytes")


def lines_of(call: Callable[[], object]) -> set[tuple[str, int]]:
    """The lines of egparse that a call runs."""
    lines: set[tuple[str, int]] = set()
    inside = str(PACKAGE)

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if not frame.f_code.co_filename.startswith(inside):
            return None
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    threading.settrace(trace)  # requests are worked on by threads
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
    return lines


if __name__ == "__main__":
    main()
