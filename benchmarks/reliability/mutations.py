"""Corpora and texts with faults in them: bytes, lines, cells, numbers, marks, long words.

A case is made from a seed and its number alone, so that each can be made again.
"""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

FORMATS = ("conllu", "conllu", "conllu", "conllx", "conll2000", "conll2002", "conll2003", "text")
"""CoNLL-U, which has most to it, is drawn most often."""

ODD_NAMES = (
    "na\u00efve",
    "two words",
    "line\nend",
    "escape\x1b[31m",
    "tab\there",
    "-dash",
    "a%sb{}",
)

RICH = """\
# newdoc
# newpar
# sent_id = s-1
# text = Del vamos a Roma
1-2\tDel\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tDe\tde\tADP\tIN\tA=B|C=D\t3\tcase\t3:case\t_
2\tel\tel\tDET\tDT\t_\t3\tdet\t3:det\t_
3\tvamos\tir\tVERB\tVB\t_\t0\troot\t0:root\tGloss=go|NE=B-ORG|HeadProb=0.5
3.1\te\t_\t_\t_\t_\t_\t_\t3:x\tCopyOf=-1
3.2\tf\t_\t_\t_\t_\t_\t_\t3:y\t_
4\ta\t_\tADP\tIN\t_\t5\tcase\t5:case\tNE=I-ORG|SpaceAfter=No
5\tRoma\t_\tPROPN\tNNP\tNumber=Sing\t3\tobl\t3:obl\tNE=B-LOC|UposProb=0.9

"""

NUMBERS = (
    "0", "-1", "1", "2", "3", "7", "999", "2147483648", "99999999999999999999", "1-2", "2-1",
    "1-1", "3-99", "0-1", "0.1", "1.1", "1.0", "3.1", "1-", "-", "_", "", "*", "1e3", "0x1", "+1",
    " 1", "\u0661", "\u00b2", "1_0", "nan", "inf",
)  # fmt: skip
CELLS = (
    "_", "", "-", "=", "|", "A=B|A=B", "A=", "=B", "A=B|", "|A=B", "a=b=c", "Case=Nom,Acc", "NE=",
    "NE=B-X", "NE=I-X", "NE=B-", "NE=X", "NE=O|NE=O", "B-NP", "I-NP", "O", "B-", "-X", "E-NP",
    "S-NP", "U-X", "HeadProb=nan", "HeadProb=2", "HeadProb=", "SpaceAfter=No",
    "SpacesAfter=\\s\\n", "root", "ROOT", "0:root", "3:x|3:x", "9:x", "a:b", "X", "NOUN", "noun",
    "*", "x" * 300, "\u00a0", "\u200b", "\u202e", "\x1b[31m", "\x07", "\x00", "a b", " ", "None",
    "#", "# text = x", "<b>&amp;",
)  # fmt: skip
COMMENTS = (
    "#", "# ", "#text", "# text = ", "# text = other words", "# sent_id = ", "# sent_id = s-1",
    "# newpar", "# newdoc id = x", "# global.columns = ID FORM MISC", "# \x1b]0;x\x07", "#\t#",
    "# text_en = \u2028", "-DOCSTART- -X- O O", "-DOCSTART-",
)  # fmt: skip
PIECES = (
    b"\x00", b"\xed\xa0\x80", b"\xed\xb0\x80", b"\xff", b"\xfe", b"\xc0\x80", b"\xf4\x90\x80\x80",
    b"\x80", b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85", b"\x0b", b"\x0c", b"\x1c", b"\r",
    b"\r\n", b"\n\r", b"\n\n\n", b"\t", b"\t\t", b" ", b"\xc2\xa0", b"\xe3\x80\x80",
    b"\xef\xbb\xbf", b"\xff\xfe", b"\x1b[2J", b"\x07", b"\x7f", b"\xe2\x80\x8b", b"\xe2\x80\xae",
    b"\xcc\x81" * 40, b"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9", b"\x1f\x8b", b"PK\x03\x04",
    b"\x28\xb5\x2f\xfd", b"#", b"_", b"-", b".", b"|", b"=", b"'", b'"', b"<", b"&", b"1", b"0",
)  # fmt: skip


class Case(NamedTuple):
    """A faulty input: its format, the bytes, the name of its file, and what was done to it."""

    format: str
    content: bytes
    name: str
    faults: tuple[str, ...]


def case(seed: int, number: int, samples: dict[str, Sequence[bytes]]) -> Case:
    """The case of this number; ``samples`` has sentences for each format."""
    draw = random.Random(f"{seed}/{number}")
    format = draw.choice(FORMATS)
    content = b"".join(draw.choices(samples[format], k=draw.randint(1, 3)))
    faults = draw.choices(
        tuple(FAULTS), weights=WEIGHTS, k=draw.choice((0, 1, 1, 1, 1, 1, 2, 3, 5))
    )
    for fault in faults:
        content = FAULTS[fault](draw, content)
    stem = draw.choice(ODD_NAMES) if draw.random() < 0.02 else "case"
    ending = (
        draw.choice((".conllu", ".conll", ".txt", ".gz", ".zst", "")) if draw.random() < 0.1 else ""
    )
    if "gzip" in faults and draw.random() < 0.5:
        ending += ".gz"
    name = stem + (
        ending or (".txt" if format == "text" else ".conllu" if draw.random() < 0.3 else ".in")
    )
    return Case(format, content, name, tuple(faults))


def samples_of(corpus: Path) -> dict[str, Sequence[bytes]]:
    """Short sentences of a CoNLL-U corpus, one that uses all of the format, and the same words in
    the other formats.
    """
    blocks = [block for block in corpus.read_text(encoding="utf-8").split("\n\n") if block.strip()]
    chosen = [block + "\n\n" for block in blocks if block.count("\n") < 25][:200]
    chosen += [RICH] * max(1, len(chosen) // 3)
    rows = [_rows(block) for block in chosen]
    conllx = ["".join("\t".join([*r[:8], "_", "_"]) + "\n" for r in s) + "\n" for s in rows]
    chunks = ["".join(f"{r[1]} {r[4]} {_chunk(k)}\n" for k, r in enumerate(s)) + "\n" for s in rows]
    entities = ["".join(f"{r[1]} {_chunk(k)}\n" for k, r in enumerate(s)) + "\n" for s in rows]
    both = ["".join(f"{r[1]} {r[4]} O {_chunk(k)}\n" for k, r in enumerate(s)) + "\n" for s in rows]
    texts = [
        " ".join(r[1] for r in s) + ("\n\n" if k % 3 == 0 else "\n") for k, s in enumerate(rows)
    ]
    found = {
        "conllu": chosen,
        "conllx": conllx,
        "conll2000": chunks,
        "conll2002": entities,
        "conll2003": ["-DOCSTART- -X- O O\n\n", *both],
        "text": texts,
    }
    return {format: [text.encode() for text in sentences] for format, sentences in found.items()}


def _rows(block: str) -> list[list[str]]:
    rows = [line.split("\t") for line in block.splitlines() if line and not line.startswith("#")]
    return [row for row in rows if row[0].isdigit()]


def _chunk(place: int) -> str:
    return ("B-NP", "I-NP", "O")[place % 3]


def _place(draw: random.Random, content: bytes) -> int:
    return draw.randint(0, len(content))


def _insert_piece(draw: random.Random, content: bytes) -> bytes:
    place = _place(draw, content)
    return content[:place] + draw.choice(PIECES) + content[place:]


def _change_bytes(draw: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        if changed:
            changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def _remove_bytes(draw: random.Random, content: bytes) -> bytes:
    place = _place(draw, content)
    return content[:place] + content[place + draw.choice((1, 1, 2, 5, 20, 200)) :]


def _repeat_bytes(draw: random.Random, content: bytes) -> bytes:
    place = _place(draw, content)
    piece = content[place : place + draw.randint(1, 60)]
    return content[:place] + piece * draw.choice((2, 2, 3, 50)) + content[place:]


def _truncate(draw: random.Random, content: bytes) -> bytes:
    return content[: _place(draw, content)]


def _change_lines(draw: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    place, other = draw.randrange(len(lines)), draw.randrange(len(lines))
    kind = draw.randrange(6)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(other, lines[place])
    elif kind == 2:
        lines[place], lines[other] = lines[other], lines[place]
    elif kind == 3:
        lines[place : place + 2] = [b"".join(lines[place : place + 2])]
    elif kind == 4:
        lines.insert(place, b"")
    else:
        lines = [line for line in lines if line]
    return b"\n".join(lines)


def _add_comment(draw: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    lines.insert(draw.randint(0, len(lines)), draw.choice(COMMENTS).encode())
    return b"\n".join(lines)


def _change_tabs(draw: random.Random, content: bytes) -> bytes:
    parts = content.split(b"\t" if b"\t" in content else b" ")
    if len(parts) < 2:
        return content + b"\t"
    place = draw.randrange(len(parts) - 1)
    glue = draw.choice((b"", b" ", b"  ", b"\t\t", b"\t ", b"\n", b"\xc2\xa0", b"\x0b"))
    parts[place : place + 2] = [parts[place] + glue + parts[place + 1]]
    return (b"\t" if b"\t" in content else b" ").join(parts)


def _change_cell(draw: random.Random, content: bytes, column: int | None = None) -> bytes:
    lines = content.split(b"\n")
    places = [k for k, line in enumerate(lines) if line and not line.startswith(b"#")]
    if not places:
        return content + draw.choice(CELLS).encode()
    place = draw.choice(places)
    glue = b"\t" if b"\t" in lines[place] else b" "
    cells = lines[place].split(glue)
    values = CELLS if column is None else NUMBERS
    which = draw.randrange(len(cells)) if column is None else min(column, len(cells) - 1)
    cells[which] = draw.choice(values).encode()
    lines[place] = glue.join(cells)
    return b"\n".join(lines)


def _change_number(draw: random.Random, content: bytes) -> bytes:
    return _change_cell(draw, content, 0)


def _change_head(draw: random.Random, content: bytes) -> bytes:
    return _change_cell(draw, content, 6)


def _lengthen_word(draw: random.Random, content: bytes) -> bytes:
    letters = draw.choice(
        ("a", "\u00e9", "\u0301", "1", ".", "'", "\U0001f600", "Aa", "-", "\u4e2d")
    )
    return _in_word(draw, content, letters.encode() * draw.choice((50, 300, 1500)))


def _in_word(draw: random.Random, content: bytes, piece: bytes) -> bytes:
    lines = content.split(b"\n")
    place = draw.randrange(len(lines))
    cells = lines[place].split(b"\t")
    which = min(1, len(cells) - 1)
    cells[which] = cells[which] + piece
    lines[place] = b"\t".join(cells)
    return b"\n".join(lines)


def _lengthen_sentence(draw: random.Random, content: bytes) -> bytes:
    """A sentence of some hundred words."""
    count = draw.choice((60, 150, 600))
    chain = draw.random() < 0.5
    rows = (
        f"{k}\tw{k % 7}\t_\tNOUN\tNN\t_\t{k - 1 if chain else min(k - 1, 1)}\tdep\t_\t_\n"
        for k in range(1, count + 1)
    )
    return content + "".join(rows).encode() + b"\n"


def _mark_order(draw: random.Random, content: bytes) -> bytes:
    mark = draw.choice(
        (
            b"\xef\xbb\xbf",
            b"\xef\xbb\xbf\xef\xbb\xbf",
            b"\xff\xfe",
            b"\xfe\xff",
            b"\x00\x00\xfe\xff",
        )
    )
    return mark + content


def _recode(draw: random.Random, content: bytes) -> bytes:
    coding = draw.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7"))
    return content.decode("utf-8", "replace").encode(coding, "replace")


def _end_lines(draw: random.Random, content: bytes) -> bytes:
    return content.replace(
        b"\n", draw.choice((b"\r\n", b"\r", b"\n\r", b"\r\r\n", b"\xe2\x80\xa8", b"\x0b", b""))
    )


def _gzip(draw: random.Random, content: bytes) -> bytes:
    packed = gzip.compress(content, 1, mtime=0)
    kind = draw.randrange(5)
    if kind == 0:
        return packed
    if kind == 1:
        return packed[: _place(draw, packed)]
    if kind == 2:
        return _change_bytes(draw, packed)
    if kind == 3:
        return packed + content
    return b"\x1f\x8b" + content


def _empty(draw: random.Random, content: bytes) -> bytes:
    return draw.choice(
        (b"", b"\n", b"\n\n\n", b" ", b"\t", b"#", b"# a\n\n", b"\x00", b"\xef\xbb\xbf", b"_")
    )


def _any_bytes(draw: random.Random, content: bytes) -> bytes:
    return draw.randbytes(draw.randint(1, 300))


def _mix(draw: random.Random, content: bytes) -> bytes:
    """Two formats in one file."""
    return content + draw.choice(
        (RICH.encode(), b"a DT B-NP\n\n", b"Some plain text. And more.\n\n", b"a O\n")
    )


FAULTS: dict[str, Callable[[random.Random, bytes], bytes]] = {
    "piece": _insert_piece,
    "bytes": _change_bytes,
    "removed": _remove_bytes,
    "repeated": _repeat_bytes,
    "truncated": _truncate,
    "lines": _change_lines,
    "comment": _add_comment,
    "tabs": _change_tabs,
    "cell": _change_cell,
    "number": _change_number,
    "head": _change_head,
    "long word": _lengthen_word,
    "long sentence": _lengthen_sentence,
    "order mark": _mark_order,
    "coding": _recode,
    "line ends": _end_lines,
    "gzip": _gzip,
    "empty": _empty,
    "any bytes": _any_bytes,
    "mixed": _mix,
}
RARE = {
    "long word": 0.15,
    "long sentence": 0.1,
    "empty": 0.15,
    "any bytes": 0.2,
    "coding": 0.2,
    "gzip": 0.3,
    "tabs": 0.5,
    "truncated": 0.5,
}
WEIGHTS = [RARE.get(fault, 1.0) for fault in FAULTS]
