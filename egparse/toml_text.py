"""Values in the notation of TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence


def toml_value(value: object) -> str:
    """A string, number, truth value, list or table on one line; keys of tables need no quotes."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, float):
        return str(value)  # inf and nan are written so in TOML, unlike in JSON
    # JSON escapes every character that TOML requires to be escaped, except DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
