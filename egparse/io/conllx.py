"""CoNLL-X, the format of the shared tasks of 2006 and 2007: ten columns, every line a word.

ID FORM LEMMA CPOSTAG POSTAG FEATS HEAD DEPREL PHEAD PDEPREL (Buchholz & Marsi 2006, section 3).
CPOSTAG is read as ``upos`` and POSTAG as ``xpos``; a sentence may have several roots. PHEAD and
PDEPREL are written as they were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TextIO

from egparse.errors import CorpusError
from egparse.io.blocks import Block, CorpusSource, parse_blocks, read_blocks
from egparse.io.rows import (
    DEPREL,
    FEATS,
    FORM,
    HEAD,
    ID,
    LEMMA,
    STRIDE,
    UPOS,
    XPOS,
    checked_heads,
    ids_ascend,
    plain_rows,
    refill,
    split_cells,
)
from egparse.io.word_lines import check_rows, find_other_rows
from egparse.sentences import Sentence, Source


def read_conllx(
    source: CorpusSource,
    *,
    name: str | None = None,
    skip_bad: bool = False,
    on_bad: Callable[[CorpusError], None] | None = None,
    trees: bool = True,
    require_trees: bool = False,
    multiple_roots: bool = True,
) -> Iterator[Sentence]:
    """The sentences of a CoNLL-X file or stream; options and errors as in ``read_conllu``."""
    return parse_conllx(
        read_blocks(source, name),
        skip_bad=skip_bad,
        on_bad=on_bad,
        trees=trees,
        require_trees=require_trees,
        multiple_roots=multiple_roots,
    )


def parse_conllx(
    blocks: Iterable[Block],
    *,
    skip_bad: bool = False,
    on_bad: Callable[[CorpusError], None] | None = None,
    trees: bool = True,
    require_trees: bool = False,
    multiple_roots: bool = True,
) -> Iterator[Sentence]:
    """The sentences of blocks; see ``read_conllx``."""
    parse = partial(_parse, trees=trees, require_trees=require_trees, multiple_roots=multiple_roots)
    return parse_blocks(blocks, parse, skip_bad, on_bad)


def write_conllx(sentences: Iterable[Sentence], stream: TextIO) -> int:
    """Write sentences as ``format_sentence`` does; returns how many."""
    count = 0
    for sentence in sentences:
        stream.write(format_sentence(sentence))
        count += 1
    return count


def format_sentence(sentence: Sentence) -> str:
    """The lines of a sentence in CoNLL-X, with the blank line.

    A sentence that was read from CoNLL-X keeps the columns that are not layers of it. Any other has
    ``_`` for PHEAD and PDEPREL, and loses what the format cannot represent: comments, multiword
    tokens, spans.
    """
    source = sentence.source
    if source is not None and source.format == "conllx":
        return "\n".join(refill(sentence, source)) + "\n\n"
    return "\n".join(plain_rows(sentence)) + "\n\n"


def _parse(block: Block, *, trees: bool, require_trees: bool, multiple_roots: bool) -> Sentence:
    if block.undecodable:
        block.check_encoding()
    cells = _cells(block)
    words = range(len(block.lines))
    heads: tuple[int, ...] = ()
    if trees:
        heads = checked_heads(
            block, cells[HEAD::STRIDE], words, None, multiple_roots, require_trees
        )
    return Sentence(
        forms=cells[FORM::STRIDE],
        lemmas=cells[LEMMA::STRIDE],
        upos=cells[UPOS::STRIDE],
        xpos=cells[XPOS::STRIDE],
        feats=cells[FEATS::STRIDE],
        heads=heads,
        deprels=cells[DEPREL::STRIDE],
        source=Source(block.path, block.first_line, tuple(block.lines), words, "conllx"),
    )


def _cells(block: Block) -> Sequence[str]:
    cells = split_cells(block.lines)
    if cells is None:
        check_rows(block, None, comments=False)
        raise AssertionError("check_rows accepts no row that split_cells rejects")
    ids = cells[ID::STRIDE]
    if not ids_ascend(ids):
        find_other_rows(block, range(len(ids)), ids, None, only_words=True)
    return cells
