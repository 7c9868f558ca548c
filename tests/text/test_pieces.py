"""Pieces of texts: where they are cut, links learned from counts, grapheme clusters, addresses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from properties import examples

from egparse.text.characters import N_KINDS, as_codes, character_tables
from egparse.text.pieces import (
    ALWAYS,
    BLANK,
    CLOSE,
    EVERYWHERE,
    MOST_ALIKE,
    NEVER,
    OPEN,
    PARAGRAPH,
    WIDE,
    Links,
    Pieces,
    addresses_are_tokens,
    addresses_in,
    chains_of,
    learned_links,
    pieces_of,
    pieces_of_text,
)

TEXTS = st.text(
    st.sampled_from("aB1.,-' \n\t\u00a0\u00e9\u6f22\u0301\u200d\U0001f600"), max_size=30
)


def strings(text: str, pieces: Pieces) -> list[str]:
    return [text[a:b] for a, b in zip(pieces.begins, pieces.ends, strict=True)]


def cut(text: str, links: Links = EVERYWHERE) -> list[str]:
    return strings(text, pieces_of(as_codes(text), links))


@examples(200)
@given(TEXTS)
def test_pieces_are_all_that_is_no_white_space(text: str) -> None:
    pieces = pieces_of(as_codes(text), EVERYWHERE)
    assert "".join(strings(text, pieces)) == "".join(text.split())
    assert pieces.codes.tolist() == [ord(character) for character in "".join(text.split())]
    assert pieces.bounds[-1] == len(pieces.codes)
    before = 0
    for k in range(len(pieces)):
        blanks = text[before : pieces.begins[k]]
        before = pieces.ends[k]
        assert not blanks.strip()
        gap = pieces.gaps[k]
        if k == 0 or blanks.count("\n") > 1:
            assert gap == PARAGRAPH
        elif not blanks:
            assert gap == CLOSE
        else:
            assert gap == (BLANK if blanks in (" ", "\u00a0") else WIDE)
        assert pieces.links[k] == (OPEN if gap in (CLOSE, BLANK) else ALWAYS)


@examples(100)
@given(TEXTS, st.data())
def test_links_are_learned_from_counts(text: str, data: st.DataObject) -> None:
    pieces = pieces_of(as_codes(text), EVERYWHERE)
    starts = [k for k in range(len(pieces)) if k == 0 or data.draw(st.booleans())]
    begins = pieces.begins[np.array(starts, dtype=np.int64)]
    links = learned_links(text, begins, begins, 0.2)
    kinds = character_tables(as_codes(text)).kinds
    for gap, table, usual in ((CLOSE, links.close, NEVER), (BLANK, links.blank, ALWAYS)):
        outcomes = {k in starts for k in range(1, len(pieces)) if pieces.gaps[k] == gap}
        if outcomes <= {usual == ALWAYS}:
            assert (table == usual).all()
            continue
        for left in range(N_KINDS):
            for right in range(N_KINDS):
                places = [
                    k
                    for k in range(1, len(pieces))
                    if pieces.gaps[k] == gap
                    and kinds[pieces.codes[pieces.bounds[k - 1]]] == left
                    and kinds[pieces.codes[pieces.bounds[k]]] == right
                ]
                n, b = len(places), len(set(places) & set(starts))
                rare, usual = (b + 0.5) / (n + 1) < 0.2, (n - b + 0.5) / (n + 1) < 0.2
                assert table[left, right] == (NEVER if rare else ALWAYS if usual else OPEN)


def test_kinds_that_never_part_make_long_pieces() -> None:
    close = EVERYWHERE.close.copy()
    kinds = character_tables(as_codes("a.")).kinds
    small, final = kinds[ord("a")], kinds[ord(".")]
    close[small, small], close[small, final] = NEVER, ALWAYS
    links = Links(close, EVERYWHERE.blank)
    assert cut("ab. cd", links) == ["ab", ".", "cd"]
    assert pieces_of(as_codes("ab. cd"), links).links.tolist() == [ALWAYS, ALWAYS, OPEN]


@pytest.mark.parametrize(
    "cluster",
    [
        "\U0001f469\u200d\U0001f469\u200d\U0001f467",  # a family, joined by ZWJ
        "\u2764\ufe0f",  # a heart with a variation selector
        "\U0001f44d\U0001f3fd",  # a skin tone
        "\U0001f1eb\U0001f1f7",  # a flag
        "1\ufe0f\u20e3",  # a keycap
        "e\u0301",  # a combining accent
        "\u0e27\u0e31",  # Thai with a vowel above
        "\U0001f3f4\U000e0067\U000e0062\U000e007f",  # a flag of tags
    ],
)
def test_clusters_are_not_cut(cluster: str) -> None:
    assert cut(f"x{cluster}{cluster} {cluster}.") == ["x", cluster, cluster, cluster, "."]


def test_flags_are_pairs() -> None:
    a, b, c = "\U0001f1e6", "\U0001f1e7", "\U0001f1e8"
    assert cut(f"{a}{b}{c}{a}{b}") == [a + b, c + a, b]
    assert cut(f"{a} {b}{c}") == [a, b + c]


def test_chains_and_paragraphs() -> None:
    assert chains_of(np.array([1, 2, 5, 6, 9])).tolist() == [0, 2, 4, 5]
    assert chains_of(np.zeros(0, dtype=np.int64)).tolist() == [0]
    assert pieces_of(as_codes("a b\n\nc"), EVERYWHERE).paragraphs.tolist() == [0, 2, 3]
    assert pieces_of(as_codes(""), EVERYWHERE).paragraphs.tolist() == [0]


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("see http://a.org/b?c=1&d=2#e.", ["http://a.org/b?c=1&d=2#e"]),
        ("(www.a.org/b_(c)), <ftp://x.y>", ["www.a.org/b_(c)", "ftp://x.y"]),
        ('"https://a.b/c"', ["https://a.b/c"]),
        ("to jean-paul.d+x@mail.example.org, a@b", ["jean-paul.d+x@mail.example.org"]),
        ("http:// www. @ a:// ://b", []),
        ("HTTP://A.B WWW.C.D", ["HTTP://A.B", "WWW.C.D"]),
        ("http://a@b.c x@y.z...", ["http://a@b.c", "x@y.z"]),
        ("http://...!?", []),
        ("no address: 3/4 a/b.c", []),
    ],
)
def test_addresses(text: str, addresses: list[str]) -> None:
    assert [text[a:b] for a, b in addresses_in(text)] == addresses


@pytest.mark.parametrize("text", ["http://a" + ")" * 10**6, "@" * 10**5, "a" * 10**6 + "://b"])
def test_addresses_take_linear_time(text: str) -> None:
    assert len(list(addresses_in(text))) <= 1


def test_an_address_is_one_piece() -> None:
    text = "x:www.a-b.org/c. y"
    assert strings(text, pieces_of_text(text, EVERYWHERE, True)) == [
        "x", ":", "www.a-b.org/c", ".", "y",
    ]  # fmt: skip
    assert len(pieces_of_text(text, EVERYWHERE, False)) == 17


@pytest.mark.parametrize("character", ["(", "#", "\u6f22", "\U0001f602", "\u0e46"])
def test_a_long_run_of_one_character_is_in_one_piece(character: str) -> None:
    """However long: the work for a character has a bound."""
    short, long = character * MOST_ALIKE, character * (MOST_ALIKE + 1)
    text = f"a {short} {long}b {long * 100}"
    pieces = pieces_of_text(text, EVERYWHERE, True)
    assert strings(text, pieces) == ["a", *short, long, "b", long * 100]
    assert len(pieces_of_text(" " * 1000 + "\n" * 1000, EVERYWHERE, True)) == 0


def test_an_emoji_is_a_token_if_the_corpus_has_them_so() -> None:
    text = (
        "so\U0001f602\U0001f602\U0001f44d\U0001f3fd!\u2764\ufe0f\U0001f1eb\U0001f1f7x 5\ufe0f\u20e3"
    )
    glue = Links(np.zeros((N_KINDS, N_KINDS), dtype=np.uint8), EVERYWHERE.blank, emoji=True)
    assert cut(text, glue) == [
        "so", "\U0001f602", "\U0001f602", "\U0001f44d\U0001f3fd", "!", "\u2764\ufe0f",
        "\U0001f1eb\U0001f1f7", "x", "5\ufe0f\u20e3",
    ]  # fmt: skip
    assert cut(text, glue._replace(emoji=False)) == text.split()
    for text, starts, ends, are_tokens in (
        ("a.", [0, 1], [1, 2], True),  # none there
        ("a.\U0001f602\U0001f602 \U0001f602", [0, 1, 2, 3, 5], [1, 2, 3, 4, 6], True),
        ("a.\U0001f602\U0001f602 \U0001f602", [0, 1, 2, 5], [1, 2, 4, 6], False),
        ("a \U0001f602", [0, 2], [1, 3], False),  # blanks alone part tokens
    ):
        assert learned_links(text, np.array(starts), np.array(ends), 0.2).emoji is are_tokens


def test_addresses_are_tokens_if_the_corpus_has_them_so() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert addresses_are_tokens("no address", none, none)
    text = "a@b.c d@e.f"
    starts, ends = np.array([0, 6]), np.array([5, 11])
    assert addresses_are_tokens(text, starts, ends)
    assert not addresses_are_tokens(text, starts[:1], ends[:1])
