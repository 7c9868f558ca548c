"""Values in the notation of TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence


def toml_value(value: object, width: int | None = None) -> str:
    """A string, number, truth value, list or table; keys of tables need no quotes.

    It stands on one line, but for a list of more than ``width`` characters, whose values get a line
    each.
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = [toml_value(item) for item in value]
        line = f"[{', '.join(items)}]"
        if width is None or len(line) <= width:
            return line
        return "[\n" + "".join(f"    {item},\n" for item in items) + "]"
    if isinstance(value, float):
        return str(value)  # inf and nan are written so in TOML, unlike in JSON
    # JSON escapes every character that TOML requires to be escaped, except DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
