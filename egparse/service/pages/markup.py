"""Elements of HTML and SVG whose text is escaped: text of a corpus cannot become markup."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from xml.etree.ElementTree import Element, fromstring, tostring

_NO_CHARACTERS = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Code points that XML 1.0 excludes (section 2.2): controls, lone surrogates, and U+FFFE and
U+FFFF.
"""


def node(tag: str, attributes: Mapping[str, str], *children: Element | str) -> Element:
    """An element with attributes and children, which are texts or elements."""
    element = Element(tag, {name: visible(value) for name, value in attributes.items()})
    for child in children:
        if isinstance(child, Element):
            element.append(child)
        elif len(element):
            element[-1].tail = (element[-1].tail or "") + visible(child)
        else:
            element.text = (element.text or "") + visible(child)
    return element


def visible(text: str) -> str:
    """The text with a replacement character for every code point that XML excludes."""
    return _NO_CHARACTERS.sub("\ufffd", text)


def as_text(text: str) -> str:
    """The text, escaped; parsers of XML would take a carriage return for a line end."""
    return escape(visible(text)).replace("\r", "&#13;")


def parsed(markup: str) -> Element:
    """Well-formed markup as an element without namespaces: HTML identifies SVG and links by their
    local names.
    """
    root = fromstring(markup)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(name): value for name, value in element.attrib.items()}
    return root


def html(page: Element) -> str:
    """The text of a complete page."""
    return f"<!DOCTYPE html>\n{tostring(page, encoding='unicode', method='html')}\n"


def _local(name: str) -> str:
    return name.rpartition("}")[2]
