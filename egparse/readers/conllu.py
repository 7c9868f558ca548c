"""CoNLL-U: ten tab-separated columns, comments, multiword tokens and empty nodes, one sentence a
block.

The format is that of https://universaldependencies.org/format.html. The reader takes a sentence
apart in whole columns and checks it by counting (see ``rows``); only when something does not add up
it looks at single lines. The decision to read without the ``conllu`` package is in
docs/decisions/conllu-reader.md.

``Sentence.source`` keeps every line, so that writing a sentence gives back what was read, byte for
byte, but for what lies between the lines: line ends become LF, a byte order mark goes, every
sentence is followed by one blank line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TextIO

from egparse.errors import CorpusError
from egparse.readers.blocks import Block, CorpusSource, parse_blocks, read_blocks, shown
from egparse.readers.rows import (
    DEPREL,
    FEATS,
    FORM,
    HEAD,
    ID,
    LEMMA,
    MISC,
    STRIDE,
    UPOS,
    XPOS,
    checked_heads,
    escape,
    ids_ascend,
    plain_rows,
    refill,
    split_cells,
    without_rows,
)
from egparse.readers.word_lines import check_rows, find_other_rows
from egparse.schemes import OUTSIDE, find_tag_fault, to_iob2
from egparse.sentences import MISSING, Sentence, Source

SPANS_KEY = "NE"
"""The key in MISC under which entities stand: ``NE=B-LOC``."""

PROBABILITY_KEYS = {
    "upos": "PUpos",
    "xpos": "PXpos",
    "feats": "PFeats",
    "heads": "PHead",
    "deprels": "PDeprel",
}
"""Layer -> the key in MISC under which the probability of its value stands, as in ``PHead=0.973``;
for spans it is ``P`` and their key.
"""


def read_conllu(
    source: CorpusSource,
    *,
    name: str | None = None,
    skip_bad: bool = False,
    on_bad: Callable[[CorpusError], None] | None = None,
    trees: bool = True,
    require_trees: bool = False,
    multiple_roots: bool = False,
    spans_key: str | None = SPANS_KEY,
    partial_spans: bool = False,
) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file or stream, one at a time.

    Heads must make a tree with one root, or with several if ``multiple_roots``; where no word has a
    head the sentence is not annotated, which is a fault only if ``require_trees``, and so is a
    single missing head. Without ``trees`` the column HEAD is not looked at, and ``heads`` is empty.
    ``spans`` are read from the MISC key ``spans_key``, in any scheme; words without it are O, and
    None leaves ``spans`` empty. With ``partial_spans`` words without it are MISSING, and a tag
    after such a word that continues a span is I. A faulty sentence raises CorpusError, or with
    ``skip_bad`` is told to ``on_bad`` and left out.
    """
    return parse_conllu(
        read_blocks(source, name),
        skip_bad=skip_bad,
        on_bad=on_bad,
        trees=trees,
        require_trees=require_trees,
        multiple_roots=multiple_roots,
        spans_key=spans_key,
        partial_spans=partial_spans,
    )


def parse_conllu(
    blocks: Iterable[Block],
    *,
    skip_bad: bool = False,
    on_bad: Callable[[CorpusError], None] | None = None,
    trees: bool = True,
    require_trees: bool = False,
    multiple_roots: bool = False,
    spans_key: str | None = SPANS_KEY,
    partial_spans: bool = False,
) -> Iterator[Sentence]:
    """``read_conllu`` for blocks that have been read."""
    parse = partial(
        _parse,
        trees=trees,
        require_trees=require_trees,
        multiple_roots=multiple_roots,
        key=spans_key and spans_key + "=",
        absent=MISSING if partial_spans else OUTSIDE,
    )
    return parse_blocks(blocks, parse, skip_bad, on_bad)


def write_conllu(
    sentences: Iterable[Sentence], stream: TextIO, *, spans_key: str = SPANS_KEY
) -> int:
    """Write sentences, see ``format_sentence``; returns how many."""
    count = 0
    for sentence in sentences:
        stream.write(format_sentence(sentence, spans_key))
        count += 1
    return count


def format_sentence(sentence: Sentence, spans_key: str = SPANS_KEY) -> str:
    """The lines of a sentence in CoNLL-U, blank line included.

    A sentence that was read from CoNLL-U keeps its lines: only UPOS, XPOS, FEATS, HEAD and DEPREL
    of its words are replaced, each where the sentence has that layer, and the spans in MISC where
    they differ from what the lines say. ``Sentence.probabilities`` are written into MISC too, with
    three decimals, behind what it holds, in the place of those that it may hold already. Any other
    sentence is written plainly, with ``# sent_id`` and, where MISC tells how the words are spaced,
    ``# text``.
    """
    source = sentence.source
    if source is not None and source.format == "conllu":
        misc: Sequence[str] | None = _changed_misc(sentence, source, spans_key)
        if sentence.probabilities:
            misc = misc or [source.lines[line].rpartition("\t")[2] for line in source.word_lines]
            misc = _with_probabilities(misc, sentence.probabilities, spans_key)
        lines = refill(sentence, source, misc)
    else:
        misc = _plain_misc(sentence, spans_key)
        if sentence.probabilities:
            misc = _with_probabilities(
                misc or [MISSING] * len(sentence), sentence.probabilities, spans_key
            )
        lines = [*_comments(sentence), *plain_rows(sentence, misc)]
    return "\n".join(lines) + "\n\n"


def _parse(
    block: Block,
    *,
    trees: bool,
    require_trees: bool,
    multiple_roots: bool,
    key: str | None,
    absent: str,
) -> Sentence:
    if block.undecodable:
        block.check_encoding()
    comments, sentence_id = _read_comments(block.lines)
    word_lines, cells = _words(block, comments, sentence_id)
    misc = tuple(cells[MISC::STRIDE])
    spans: tuple[str, ...] = ()
    if key is not None:
        tags = _raw_tags(misc, key, absent)
        partial = absent == MISSING
        spans = (
            _spans(block, tags, word_lines, sentence_id, partial) if tags else (absent,) * len(misc)
        )
    heads: tuple[int, ...] = ()
    if trees:
        cell_heads = cells[HEAD::STRIDE]
        heads = checked_heads(
            block, cell_heads, word_lines, sentence_id, multiple_roots, require_trees
        )
    return Sentence(  # by position: the names would cost a microsecond a sentence
        tuple(cells[FORM::STRIDE]),
        tuple(cells[LEMMA::STRIDE]),
        tuple(cells[UPOS::STRIDE]),
        tuple(cells[XPOS::STRIDE]),
        tuple(cells[FEATS::STRIDE]),
        heads,
        tuple(cells[DEPREL::STRIDE]),
        misc,
        spans,
        sentence_id,
        Source(block.path, block.first_line, tuple(block.lines), word_lines),
    )


def _read_comments(lines: Sequence[str]) -> tuple[int, str | None]:
    """How many comments come first, and the sentence's ID among them."""
    count = 0
    sentence_id = None
    for line in lines:
        if line[0] != "#":
            break
        if "sent_id" in line:
            name, _, value = line[1:].partition("=")
            if name.strip() == "sent_id":
                sentence_id = value.strip() or None
        count += 1
    return count, sentence_id


def _words(
    block: Block, comments: int, sentence_id: str | None
) -> tuple[Sequence[int], Sequence[str]]:
    """The lines of the words and their cells."""
    lines: Sequence[int] = range(comments, len(block.lines))
    cells: Sequence[str] | None = split_cells(block.lines[comments:])
    if cells is not None and ids_ascend(cells[ID::STRIDE]):
        return lines, cells
    if cells is None or "#" in "".join(
        cells[ID::STRIDE]
    ):  # a fault, or a comment between the words
        lines = check_rows(block, sentence_id)
        cells = split_cells([block.lines[line] for line in lines])
        if cells is None:
            raise AssertionError("check_rows lets no row pass that split_cells refuses")
    others = find_other_rows(block, lines, cells[ID::STRIDE], sentence_id)
    return without_rows(lines, others, 1), without_rows(cells, others)


def _raw_tags(misc: Sequence[str], key: str, absent: str = OUTSIDE) -> list[str]:
    """The span tag of each word as it stands, ``absent`` where there is none; nothing where no word
    has one.
    """
    if key not in "|".join(misc):
        return []
    tags = [absent] * len(misc)
    for word, cell in enumerate(misc):
        if cell != MISSING and key in cell:
            tags[word] = _value(cell, key) or absent
    return tags


def _value(cell: str, key: str) -> str:
    """What stands after the key in a MISC cell, nothing where the key is only part of another."""
    if cell.startswith(key):
        return cell[len(key) :].partition("|")[0]
    _, found, rest = cell.partition("|" + key)
    return rest.partition("|")[0] if found else ""


def _spans(
    block: Block,
    tags: Sequence[str],
    word_lines: Sequence[int],
    sentence_id: str | None,
    partial: bool,
) -> tuple[str, ...]:
    try:
        return _partial_iob2(tags) if partial else to_iob2(tags)
    except ValueError:
        fault = find_tag_fault([OUTSIDE if partial and tag == MISSING else tag for tag in tags])
        if fault is None:
            raise
        line = word_lines[fault.position]
        raise block.fault(line, fault.expected, shown(fault.got), sentence_id) from None


def _partial_iob2(tags: Sequence[str]) -> tuple[str, ...]:
    """IOB2 of tags some of which are missing; what stands after a gap and continues a span may
    continue one that began in the gap.
    """
    iob2: list[str] = []
    for missing, group in groupby(tags, MISSING.__eq__):
        run = list(group)
        if missing:
            iob2 += run
        elif iob2 and find_tag_fault(run[:1]) is None and run[0][0] in "IEL":
            iob2 += to_iob2(["B-" + run[0][2:], *run])[1:]
        else:
            iob2 += to_iob2(run)
    return tuple(iob2)


def _changed_misc(sentence: Sentence, source: Source, key: str) -> list[str] | None:
    """The column MISC with the sentence's spans; None where the source says the same already."""
    spans = sentence.spans
    if not spans:
        return None
    if len(spans) != len(sentence):
        raise ValueError(f"{len(spans)} span tags for {len(sentence)} words")
    prefix = key + "="
    nothing = spans.count(OUTSIDE) == len(spans)
    if nothing and not any(prefix in source.lines[line] for line in source.word_lines):
        return None
    misc = [source.lines[line].rpartition("\t")[2] for line in source.word_lines]
    raw = _raw_tags(misc, prefix) or [OUTSIDE] * len(misc)
    if find_tag_fault(raw) is None and to_iob2(raw) == tuple(spans):
        return None
    return [
        cell if tag == was else _with_tag(cell, prefix, tag)
        for cell, tag, was in zip(misc, spans, raw, strict=True)
    ]


def _with_tag(cell: str, prefix: str, tag: str) -> str:
    """The MISC cell in which the span tag is replaced; O takes it out."""
    items = [] if cell == MISSING else cell.split("|")
    place = next((k for k, item in enumerate(items) if item.startswith(prefix)), len(items))
    items[place : place + 1] = [] if tag == OUTSIDE else [prefix + tag]
    return "|".join(items) or MISSING


def _with_probabilities(
    misc: Sequence[str], probabilities: Mapping[str, Sequence[float | None]], key: str
) -> list[str]:
    """The column MISC with the probabilities of each word: what they take the place of goes, also
    where a word has none.
    """
    names = {**PROBABILITY_KEYS, "spans": "P" + key}
    told = {names[layer] + "=": values for layer, values in probabilities.items()}
    if any(len(values) != len(misc) for values in told.values()):
        raise ValueError(f"expected a probability or None for each of {len(misc)} words")
    before, cells = tuple(told), []
    for word, cell in enumerate(misc):
        items = [
            item for item in cell.split("|") if cell != MISSING and not item.startswith(before)
        ]
        items += [
            f"{name}{values[word]:.3f}" for name, values in told.items() if values[word] is not None
        ]
        cells.append("|".join(items) or MISSING)
    return cells


def _plain_misc(sentence: Sentence, key: str) -> Sequence[str] | None:
    if not sentence.spans or sentence.spans.count(OUTSIDE) == len(sentence.spans):
        return sentence.misc or None
    misc = sentence.misc or [MISSING] * len(sentence)
    return [_with_tag(cell, key + "=", tag) for cell, tag in zip(misc, sentence.spans, strict=True)]


def _comments(sentence: Sentence) -> list[str]:
    comments = []
    if sentence.sentence_id is not None:
        comments.append(f"# sent_id = {escape(sentence.sentence_id)}")
    if sentence.misc:
        pieces = [
            form if "SpaceAfter=No" in misc.split("|") else form + " "
            for form, misc in zip(sentence.forms, sentence.misc, strict=True)
        ]
        comments.append(f"# text = {escape(''.join(pieces).removesuffix(' '))}")
    return comments
