r"""Forms of exceptions: literal text, or text around a wildcard. ``*`` stands for 1 to 50 letters,
``<emoji>`` for one emoji; ``\*`` and ``\<`` are the characters themselves. ``<number>`` is the last
token of an exception and stands for one that begins with a digit, whatever follows in it.

Emoji are those of Unicode (Technical Standard 51, "Unicode Emoji", version 16): sequences with skin
tones, joiners, tags and variation selectors, flags, and keycaps. Of the characters that are shown
as text unless a variation selector follows, those of the blocks Miscellaneous Symbols and Dingbats
are emoji without it too, because people write them so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LETTERS, NUMBER, EMOJI = "*", "<number>", "<emoji>"

_TEXT_STYLE = (
    "\u2122\u2139\u2194-\u2199\u21a9\u21aa\u2328\u23cf\u23ed-\u23ef\u23f1\u23f2\u23f8-\u23fa\u24c2"
    "\u25aa\u25ab\u25b6\u25c0\u25fb\u25fc\u2934\u2935\u2b05-\u2b07\u3030\u303d\u3297\u3299\xa9\xae"
    "\u203c\u2049\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f202\U0001f237"
)
_PICTURES = (
    "\u231a\u231b\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2600-\u2604\u260e\u2611\u2614\u2615\u2618"
    "\u261d\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f"
    "\u2660\u2663\u2665\u2666\u2668\u267b\u267e\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0\u26a1"
    "\u26a7\u26aa\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1\u26d3\u26d4"
    "\u26e9\u26ea\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712\u2714\u2716"
    "\u271d\u2721\u2728\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763\u2764"
    "\u2795-\u2797\u27a1\u27b0\u27bf\u2b1b\u2b1c\u2b50\u2b55"
    "\U0001f004\U0001f0cf\U0001f18e\U0001f191-\U0001f19a\U0001f201\U0001f21a\U0001f22f"
    "\U0001f232-\U0001f236\U0001f238-\U0001f23a\U0001f250\U0001f251\U0001f300-\U0001f64f"
    "\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7eb\U0001f7f0\U0001f900-\U0001faff"
)
_FLAG = "[\U0001f1e6-\U0001f1ff]"
_ONE = (
    f"(?:[{_PICTURES}]|[{_TEXT_STYLE}](?=\ufe0f))"
    "(?:\ufe0f|[\U0001f3fb-\U0001f3ff])?[\U000e0020-\U000e007f]{0,20}"
)

REGEXES = {  # what is looked for in a text is bounded, so that the time is linear
    LETTERS: r"[^\W\d_]{1,50}",
    NUMBER: r"[0-9].*",
    EMOJI: f"(?:{_FLAG}{{2}}|[0-9#*]\ufe0f?\u20e3|{_ONE}(?:\u200d{_ONE}){{0,9}})",
}


def _members(ranges: str) -> Iterator[str]:
    """The characters of what stands between the brackets of a regular expression."""
    for first, last in re.findall("(.)(?:-(.))?", ranges):
        yield from map(chr, range(ord(first), ord(last or first) + 1))


EMOJI_STARTS = (
    frozenset(_members(_PICTURES + _FLAG[1:-1]))
    | {one + "\ufe0f" for one in (*_members(_TEXT_STYLE), *"0123456789#*")}
    | {one + "\u20e3" for one in "0123456789#*"}
)
"""What an emoji begins with: one character, or two."""

_MARKS = re.compile(r"\\([*<\\])|(\*|<number>|<emoji>)")
_LETTER = re.compile(r"[^\W\d_]")


class Pattern(NamedTuple):
    """``before``, what ``wildcard`` stands for, and ``after``; without a wildcard ``before`` is the
    whole form.
    """

    before: str
    wildcard: str = ""
    after: str = ""

    @property
    def regex(self) -> str:
        """The pattern as a regular expression."""
        wild = REGEXES[self.wildcard] if self.wildcard else ""
        return re.escape(self.before) + wild + re.escape(self.after)

    def filled(self, value: str) -> str:
        """The form with ``value`` in the place of the wildcard."""
        return f"{self.before}{value}{self.after}" if self.wildcard else self.before

    def value_in(self, form: str) -> str | None:
        """What the wildcard stands for in a form, which must match; None if it does not."""
        if not self.wildcard:
            return "" if form == self.before else None
        end = len(form) - len(self.after)
        if not (form.startswith(self.before) and form.endswith(self.after)):
            return None
        value = form[len(self.before) : max(end, len(self.before))]
        return value if re.fullmatch(REGEXES[self.wildcard], value) else None

    def in_capitals(self) -> Pattern:
        """The pattern with capital letters."""
        return self._replace(before=self.before.upper(), after=self.after.upper())

    def capitalised(self) -> Pattern:
        """The pattern with a capital as its first letter; a wildcard that begins it stays."""
        return self._replace(before=_LETTER.sub(lambda one: one[0].upper(), self.before, count=1))


def pattern_of(form: str) -> Pattern | None:
    """The pattern that a form of a file stands for; None if it has several wildcards."""
    parts, wildcards, last = [""], [], 0
    for mark in _MARKS.finditer(form):
        parts[-1] += form[last : mark.start()] + (mark[1] or "")
        last = mark.end()
        if mark[2]:
            wildcards.append(mark[2])
            parts.append("")
    parts[-1] += form[last:]
    if len(wildcards) > 1:
        return None
    return Pattern(parts[0], wildcards[0], parts[1]) if wildcards else Pattern(parts[0])


def literal(form: str) -> str:
    """What a file has to say for a form without wildcards."""
    return re.sub(r"[*<\\]", lambda one: "\\" + one[0], form)
