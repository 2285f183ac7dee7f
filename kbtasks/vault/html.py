"""HTML inside Markdown, as far as it decides what is prose: tags, and where a block of HTML ends."""

from __future__ import annotations

import re

_HTML_RAW = re.compile(r"<(pre|script|style|textarea)(?=[\s>]|$)", re.IGNORECASE)
HTML_RAW_END = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_BLOCK_TAGS = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt|"
    "fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu|"
    "menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr|"
    "track|ul"
)
_HTML_BLOCK = re.compile(rf"</?(?:{_BLOCK_TAGS})(?=\s|/?>|$)", re.IGNORECASE)
_ATTRIBUTES = r"(?:\s++[A-Za-z_:][\w.:\-]*+(?:\s*+=\s*+(?:[^\s\"'=<>`]++|'[^']*+'|\"[^\"]*+\"))?)*+\s*+"
HTML_TAG = re.compile(rf"<(?:([A-Za-z][A-Za-z0-9\-]*+){_ATTRIBUTES}/?|/[A-Za-z][A-Za-z0-9\-]*+\s*+)>")
_ENDED_BY = (("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>"))
_DECLARATION = re.compile(r"<![A-Za-z]")


def html_block_end(bare: str, *, lazy: bool) -> str | None:
    """What ends the HTML block that ``bare`` begins: a mark, ``raw`` or ``blank``; None where it begins none.

    lazy: a paragraph is open, which only some kinds of HTML end.
    """
    for opening, closing in _ENDED_BY:
        if bare.startswith(opening):
            return closing
    if _DECLARATION.match(bare):
        return ">"
    if _HTML_RAW.match(bare):
        return "raw"
    if _HTML_BLOCK.match(bare):
        return "blank"
    if not lazy and (match := HTML_TAG.match(bare)) and not bare[match.end() :].strip():
        return "blank"
    return None
