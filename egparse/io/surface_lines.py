"""The text of a sentence in one line, and its words in lines: without annotation."""

from __future__ import annotations

from egparse.sentences import Sentence

NO_BREAK_SPACE = "\u00a0"
"""Stands for a blank inside of a word where blanks separate words."""

_MARKS = ("# newpar", "# newdoc")


def text_lines(sentence: Sentence) -> str:
    """The text of a sentence in a line, after an empty line if it opens a paragraph."""
    opens = any(line.startswith(_MARKS) for line in sentence.lines_before)
    return ("\n" if opens else "") + sentence.text + "\n"


def horizontal_line(sentence: Sentence) -> str:
    """The words of a sentence in a line, with blanks between them."""
    return " ".join(form.replace(" ", NO_BREAK_SPACE) for form in sentence.forms) + "\n"


def vertical_lines(sentence: Sentence) -> str:
    """The words of a sentence, each in a line, and an empty line."""
    return "".join(f"{form}\n" for form in sentence.forms) + "\n"
