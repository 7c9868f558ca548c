"""The text of a sentence in one line, and its words in lines: without annotation."""

from __future__ import annotations

from egparse.sentences import Sentence
from egparse.splitting.paragraphs import surface_tokens
from egparse.tokenising.blanks import blanks_after

NO_BREAK_SPACE = "\u00a0"
"""Stands for a blank inside of a word where blanks separate words."""

_TEXT = "# text ="
_MARKS = ("# newpar", "# newdoc")


def text_of_sentence(sentence: Sentence) -> str:
    """The text in its comment, or else that of its tokens."""
    for line in sentence.lines_before:
        if line.startswith(_TEXT):
            return line[len(_TEXT) :].strip()
    return text_of_tokens(sentence)


def text_of_tokens(sentence: Sentence) -> str:
    """The tokens of a sentence with the blanks that MISC says, but that line ends and several
    blanks become one.
    """
    parts = []
    for form, misc in surface_tokens(sentence):
        parts += [form, " " if blanks_after(misc) else ""]
    return "".join(parts).removesuffix(" ")


def text_lines(sentence: Sentence) -> str:
    """The text of a sentence in a line, after an empty line if it opens a paragraph."""
    opens = any(line.startswith(_MARKS) for line in sentence.lines_before)
    return ("\n" if opens else "") + text_of_sentence(sentence) + "\n"


def horizontal_line(sentence: Sentence) -> str:
    """The words of a sentence in a line, with blanks between them."""
    return " ".join(form.replace(" ", NO_BREAK_SPACE) for form in sentence.forms) + "\n"


def vertical_lines(sentence: Sentence) -> str:
    """The words of a sentence, each in a line, and an empty line."""
    return "".join(f"{form}\n" for form in sentence.forms) + "\n"
