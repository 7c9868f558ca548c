"""CoNLL-U: ten tab-separated columns, comments, multiword tokens and empty nodes; and CoNLL-X, the
format of the shared tasks of 2006 and 2007, whose every line is a word.

The format is that of https://universaldependencies.org/format.html. The reader splits a sentence
into whole columns and checks it by counting cells (see ``rows``); only if a count is wrong it looks
at single lines. docs/decisions/conllu-reader.md gives the reasons for not using the ``conllu``
package.

``Sentence.source`` keeps every line, so that a sentence is written as it was read, byte by byte,
except that line ends become LF, byte order marks are dropped, and every sentence is followed by one
blank line.

The columns of CoNLL-X are ID FORM LEMMA CPOSTAG POSTAG FEATS HEAD DEPREL PHEAD PDEPREL (Buchholz &
Marsi 2006, section 3). CPOSTAG is read as ``upos`` and POSTAG as ``xpos``; a sentence may have
several roots. PHEAD and PDEPREL are written as they were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any

from egparse.io.blocks import (
    SPANS_KEY,
    Block,
    CorpusSource,
    Reading,
    parse_blocks,
    read_blocks,
    shown,
)
from egparse.io.rows import (
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
    check_rows,
    checked_heads,
    escape,
    find_other_rows,
    ids_ascend,
    plain_rows,
    refill,
    split_cells,
    with_multiword_tokens,
    without_rows,
)
from egparse.layers import LAYERS
from egparse.schemes import OUTSIDE, find_tag_fault, to_iob2
from egparse.sentences import MISSING, Sentence, Source, SurfaceToken

_OPENING_MARKS = ("# newdoc", "# newpar")

PROBABILITY_KEYS = {
    name: layer.probability_key for name, layer in LAYERS.items() if layer.kind != "span"
}
"""Layer -> the key of its probabilities in MISC, as in ``PHead=0.973``; for spans it is ``P`` and
the key of their tags.
"""


def read_conllu(
    source: CorpusSource, *, name: str | None = None, format: str = "conllu", **options: Any
) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U or CoNLL-X file or stream, one at a time; ``options`` are those of
    ``Reading``.

    Heads must form a tree. A sentence without any head is not annotated; a missing head is a fault
    only with ``require_trees``.

    Raises:
        CorpusError: a faulty sentence, unless ``skip_bad``.
        EgparseError: the file cannot be read.
    """
    return parse_conllu(read_blocks(source, name), format, Reading(**options))


def parse_conllu(blocks: Iterable[Block], format: str, reading: Reading) -> Iterator[Sentence]:
    """The sentences of blocks; see ``read_conllu``."""
    multiple_roots = reading.multiple_roots
    parse = partial(
        _parse,
        format=format,
        trees=reading.trees,
        require_trees=reading.require_trees,
        multiple_roots=format == "conllx" if multiple_roots is None else multiple_roots,
        key=reading.spans_key and reading.spans_key + "=",
        absent=MISSING if reading.partial_spans else OUTSIDE,
    )
    return parse_blocks(blocks, parse, reading)


def format_sentence(sentence: Sentence, spans_key: str = SPANS_KEY, format: str = "conllu") -> str:
    """The lines of a sentence in CoNLL-U or CoNLL-X, with the blank line.

    A sentence that was read from the same format keeps its lines: only UPOS, XPOS, FEATS, HEAD and
    DEPREL of its words are replaced, as far as the sentence has these layers, and the spans in MISC
    if they differ from those of the lines; DEPS is that of the sentence if it has one, else renewed
    or dropped where the tree has changed (``rows.refill``). Any other sentence gets new lines, with
    its comments, ``# sent_id`` and, if it has MISC or multiword tokens, which tell whether a blank
    follows, ``# text``. ``Sentence.probabilities`` are appended to MISC, with three decimals;
    earlier ones are removed.

    CoNLL-X cannot represent comments, multiword tokens, spans, enhanced dependencies and
    probabilities: they are lost.
    """
    if sentence.deps and format == "conllx":
        sentence = sentence.with_layers(deps=())
    source = sentence.source
    is_kept = source is not None and source.format == format
    if format == "conllx":
        lines = refill(sentence, source) if source and is_kept else plain_rows(sentence)
    elif source is not None and is_kept:
        misc: Sequence[str] | None = _changed_misc(sentence, source, spans_key)
        if sentence.probabilities:
            misc = misc or [source.lines[line].rpartition("\t")[2] for line in source.word_lines]
            misc = _with_probabilities(misc, sentence.probabilities, spans_key)
        lines = refill(sentence, source, misc)
    else:
        misc = _plain_misc(sentence, spans_key)
        if sentence.probabilities:
            misc = misc or [MISSING] * len(sentence)
            misc = _with_probabilities(misc, sentence.probabilities, spans_key)
        rows = with_multiword_tokens(plain_rows(sentence, misc), sentence.tokens)
        lines = [*_comments(sentence), *rows]
    return "\n".join(lines) + "\n\n"


def _parse(
    block: Block,
    *,
    format: str,
    trees: bool,
    require_trees: bool,
    multiple_roots: bool,
    key: str | None,
    absent: str,
) -> Sentence:
    if block.undecodable:
        block.check_encoding()
    sentence_id: str | None = None
    misc: tuple[str, ...] = ()
    spans: tuple[str, ...] = ()
    heads: tuple[int, ...] = ()
    if format == "conllu":
        comments, sentence_id = _read_comments(block.lines)
        word_lines, cells, tokens = _words(block, comments, sentence_id)
        misc = tuple(cells[MISC::STRIDE])
        if key is not None:
            tags = _raw_tags(misc, key, absent)
            partial = absent == MISSING
            spans = (
                _spans(block, tags, word_lines, sentence_id, partial)
                if tags
                else (absent,) * len(misc)
            )
    else:
        word_lines, cells, tokens = _words(block, 0, None, only_words=True)
    if trees:
        heads = checked_heads(
            block, cells[HEAD::STRIDE], word_lines, sentence_id, multiple_roots, require_trees
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
        Source(block.path, block.first_line, tuple(block.lines), word_lines, format),
        None,
        tokens,
    )


def _read_comments(lines: Sequence[str]) -> tuple[int, str | None]:
    """The number of comments before the words, and the sentence's ID in them."""
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
    block: Block, comments: int, sentence_id: str | None, only_words: bool = False
) -> tuple[Sequence[int], Sequence[str], Sequence[SurfaceToken]]:
    """The lines of the words, their cells, and the multiword tokens; with ``only_words``, as in
    CoNLL-X, every line is a word.
    """
    lines: Sequence[int] = range(comments, len(block.lines))
    cells: Sequence[str] | None = split_cells(block.lines[comments:])
    if cells is not None and ids_ascend(cells[ID::STRIDE]):
        return lines, cells, ()
    # a fault, or a comment between the words
    if cells is None or (not only_words and "#" in "".join(cells[ID::STRIDE])):
        lines = check_rows(block, sentence_id, comments=not only_words)
        cells = split_cells([block.lines[line] for line in lines])
        if cells is None:
            raise AssertionError("check_rows accepts no row that split_cells rejects")
    others = find_other_rows(block, lines, cells[ID::STRIDE], sentence_id, only_words)
    tokens = _multiword_tokens(cells, others)
    return without_rows(lines, others, 1), without_rows(cells, others), tokens


def _multiword_tokens(cells: Sequence[str], rows: Sequence[int]) -> tuple[SurfaceToken, ...]:
    """The multiword tokens among rows that are no words."""
    tokens = []
    for row in rows:
        start = row * STRIDE
        first, dash, last = cells[start].partition("-")
        if dash:
            form, misc = cells[start + FORM], cells[start + MISC]
            tokens.append(SurfaceToken(int(first) - 1, int(last) - 1, form, misc))
    return tuple(tokens)


def _raw_tags(misc: Sequence[str], key: str, absent: str = OUTSIDE) -> list[str]:
    """The span tag of each word as it is written, ``absent`` for words without one; an empty list
    if no word has one.
    """
    if key not in "|".join(misc):
        return []
    tags = [absent] * len(misc)
    for word, cell in enumerate(misc):
        if cell != MISSING and key in cell:
            tags[word] = _value(cell, key) or absent
    return tags


def _value(cell: str, key: str) -> str:
    """The value of the key in a MISC cell; empty if the key is only part of another."""
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
    """IOB2 of tags some of which are missing: a tag after a gap that continues a span may continue
    one that began in the gap, and stays I.
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
    """The column MISC with the sentence's spans; None if the source has the same spans."""
    spans = sentence.spans
    if not spans:
        return None
    if len(spans) != len(sentence):
        raise ValueError(f"{len(spans)} span tags for {len(sentence)} words")
    prefix = key + "="
    no_spans = spans.count(OUTSIDE) == len(spans)
    if no_spans and not any(prefix in source.lines[line] for line in source.word_lines):
        return None
    misc = [source.lines[line].rpartition("\t")[2] for line in source.word_lines]
    raw = _raw_tags(misc, prefix) or [OUTSIDE] * len(misc)
    if find_tag_fault(raw) is None and to_iob2(raw) == tuple(spans):
        return None
    return [
        cell if tag == previous else _with_tag(cell, prefix, tag)
        for cell, tag, previous in zip(misc, spans, raw, strict=True)
    ]


def _with_tag(cell: str, prefix: str, tag: str) -> str:
    """The MISC cell with another span tag; O removes the tag."""
    items = [] if cell == MISSING else cell.split("|")
    index = next((k for k, item in enumerate(items) if item.startswith(prefix)), len(items))
    items[index : index + 1] = [] if tag == OUTSIDE else [prefix + tag]
    return "|".join(items) or MISSING


def _with_probabilities(
    misc: Sequence[str], probabilities: Mapping[str, Sequence[float | None]], key: str
) -> list[str]:
    """The column MISC with the probabilities of each word; earlier values of their keys are
    removed, also from words without a probability.
    """
    names = {**PROBABILITY_KEYS, "spans": "P" + key}
    by_key = {names[layer] + "=": values for layer, values in probabilities.items()}
    if any(len(values) != len(misc) for values in by_key.values()):
        raise ValueError(f"expected a probability or None for each of {len(misc)} words")
    keys, cells = tuple(by_key), []
    for word, cell in enumerate(misc):
        items = [item for item in cell.split("|") if cell != MISSING and not item.startswith(keys)]
        items += [
            f"{prefix}{values[word]:.3f}"
            for prefix, values in by_key.items()
            if values[word] is not None
        ]
        cells.append("|".join(items) or MISSING)
    return cells


def _plain_misc(sentence: Sentence, key: str) -> Sequence[str] | None:
    if not sentence.spans or sentence.spans.count(OUTSIDE) == len(sentence.spans):
        return sentence.misc or None
    misc = sentence.misc or [MISSING] * len(sentence)
    return [_with_tag(cell, key + "=", tag) for cell, tag in zip(misc, sentence.spans, strict=True)]


def _comments(sentence: Sentence) -> list[str]:
    """The comments of a sentence without a source: what opens documents and paragraphs first."""
    given = [escape(line) for line in sentence.comments]
    comments = [line for line in given if line.startswith(_OPENING_MARKS)]
    if sentence.sentence_id is not None:
        comments.append(f"# sent_id = {escape(sentence.sentence_id)}")
    comments += [line for line in given if not line.startswith(_OPENING_MARKS)]
    has_text = any(line.startswith("# text =") for line in given)
    if (sentence.misc or sentence.tokens) and not has_text:
        comments.append(f"# text = {escape(sentence.text)}")
    return comments
