"""Where exceptions stand in texts and in sequences of forms."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lines_run import lines_run
from text.test_exceptions_files import exceptions_of, rows

from egparse.text.exceptions.entries import EMOJI, EMOJI_STARTS, REGEXES


def found_in(text: str, *blocks: str) -> list[list[str]]:
    """The tokens of each exception in a text."""
    matches = exceptions_of(*blocks).in_text.matches(text)
    return [[text[start:end] for start, end in match.tokens] for match in matches]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a fig. 2", ["fig."]),
        ("Fig. FIG.", ["Fig.", "FIG."]),
        ("fIg. config. _fig. @fig. #fig.", []),
        ("(fig.) fig.3 -fig.,", ["fig.", "fig.", "fig."]),
        ("http://fig.org www.x.fig. fig.x@y.org", []),
        ("fig.\u0301", []),
    ],
)
def test_an_exception_stands_alone_in_any_case(text: str, found: list[str]) -> None:
    assert [token for (token,) in found_in(text, rows("1 fig."))] == found


def test_capitals_and_case_exact_match_as_they_are_written() -> None:
    blocks = rows("1 xD"), rows("1 b4 _ _ Case=Exact")
    assert found_in("xD xd XD b4 B4", *blocks) == [["xD"], ["b4"]]


def test_a_blank_is_white_space_without_a_blank_line() -> None:
    block = rows("1 et", "2 al. _ _ SpaceAfter=No", "3 ,")
    text = "et al., et  al., et\nal., et \n al., et\n\nal., etal., et al ,"
    assert found_in(text, block) == [["et", "al.", ","]] * 4


def test_a_wildcard_stands_for_letters() -> None:
    block = rows("1 * _ _ SpaceAfter=No", "2 -le _ _ SpaceAfter=No", "3 -moi")
    text = "Dis-le-moi, DONNE-LE-MOI! 3-le-moi -le-moi re-dis-le-moi dis-le-moin"
    expected = [["Dis", "-le", "-moi"], ["DONNE", "-LE", "-MOI"]]
    assert found_in(text, block) == expected


def test_a_number_is_only_the_context() -> None:
    block = rows("1 no.", "2 <number>")
    assert found_in("No. 5-7, no. x, no.5", block) == [["No."]]


def test_scripts_without_blanks_have_no_boundaries_of_words() -> None:
    assert found_in("我爱北京天安门", rows("1 北京")) == [["北京"]]


def test_the_most_specific_goes_first() -> None:
    blocks = rows("1 *-me"), rows("1 dá-me"), rows("1 dá-me", "2 lá"), rows("1 lá _ X")
    assert found_in("dá-me lá dá-me diz-me lá", *blocks) == [
        ["dá-me", "lá"],
        ["dá-me"],
        ["diz-me"],
        ["lá"],
    ]


@pytest.mark.parametrize(
    "emoji",
    [
        "😂",
        "👍🏽",
        "❤",
        "❤️",
        "1️⃣",
        "🇫🇷",
        "👨‍👩‍👧",
        "🏳️‍🌈",
        "☺",
        "™️",
        "\U0001f3f4\U000e0067\U000e007f",
    ],
)
def test_an_emoji_is_one_match(emoji: str) -> None:
    assert found_in(f"so {emoji}{emoji}!", rows("1 <emoji>")) == [[emoji], [emoji]]


def test_other_symbols_are_no_emoji() -> None:
    assert found_in("1 # * © ™ → ▪ • ● ★ \U0001f1eb x", rows("1 <emoji>")) == []


def test_every_emoji_begins_as_the_search_expects() -> None:
    one = re.compile(REGEXES[EMOJI])
    for code in range(0x23, 0x20000):
        text = chr(code)
        for sequence in (text, text + "\ufe0f", text + "\u20e3"):
            if one.match(sequence):
                assert text in EMOJI_STARTS or sequence[:2] in EMOJI_STARTS


_SMALL = st.text(alphabet="ab-. ", min_size=1, max_size=3).map(str.strip).filter(str.strip)


@given(texts=st.lists(_SMALL, min_size=1, max_size=4), text=st.text("abAB-. \n", max_size=30))
def test_the_search_finds_what_trying_everywhere_finds(texts: list[str], text: str) -> None:
    exceptions = exceptions_of(*(rows("1 " + one.replace(" ", "")) for one in texts))
    patterns = {one.replace(" ", "") for one in texts}
    patterns |= {one.upper() for one in patterns}
    patterns |= {re.sub("[ab]", lambda letter: letter[0].upper(), one, count=1) for one in patterns}
    possible = {
        (place, place + len(one))
        for one in patterns
        for place in range(len(text))
        if text.startswith(one, place)
        and not re.search(r"\w\Z", text[:place] if one[0].isalpha() else "")
        and not re.match(r"\w", text[place + len(one) :] if one[-1].isalpha() else "")
    }
    matches = [(match.start, match.end) for match in exceptions.in_text.matches(text)]
    assert set(matches) <= possible
    covered = {place for start, end in matches for place in range(start, end)}
    assert all(covered.intersection(range(start, end)) for start, end in possible)


def test_the_time_is_linear_in_a_text_of_beginnings() -> None:
    blocks = rows("1 *-le", "2 -moi"), rows("1 <emoji>"), rows("1 et", "2 al.")
    search = exceptions_of(*blocks).in_text
    work = []
    for size in (1_000, 2_000):
        text = "a-le" * size + "a" * size + "😂\u200d" * size + "et al. " * size
        work.append(lines_run(lambda text=text: search.matches(text)))  # type: ignore[misc]
    assert work[1] < 2.1 * work[0]


def test_forms_are_found_in_a_sequence() -> None:
    exceptions = exceptions_of(
        rows("1-2 *-me", "1 *", "2 me"), rows("1 et", "2 al."), rows("1 no.", "2 <number>")
    )
    forms = ["Et", "al.", "diz-me", "x", "No.", "5-7", "et", "no.", "x"]
    found = exceptions.in_tokens.find(forms)
    assert [(one.start, one.entry.text.lower(), one.value) for one in found] == [
        (0, "et al.", ""),
        (2, "*-me", "diz"),
        (4, "no. <number>", "5-7"),
    ]
