"""Code of a page: its characters as they are, and the language it names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.capture.page import tag_of, words_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_LANGUAGE = re.compile(r"^(?:language|lang|highlight-source|highlight|brush:?)-?([a-z0-9+#._-]{1,30})$")
_BRUSH = re.compile(r"brush:\s{0,3}[a-z0-9+#._-]{1,30}")
_LINE_NUMBERS = frozenset((
    "lineno", "linenos", "linenumber", "line-number", "line-numbers", "ln", "gutter", "hljs-ln-numbers", "blob-num",
    "rouge-gutter", "linenodiv",
))  # fmt: skip


def language_of(element: HtmlElement) -> str:
    """The language a code block names, in its own class, that of its ``code`` child or of the elements around it."""
    nodes = [element, *element.iter("code")][:2]
    parent = element.getparent()
    for _ in range(2):
        if parent is not None:
            nodes.append(parent)
            parent = parent.getparent()
    for node in nodes:
        named = (node.get("data-lang") or node.get("data-language") or "").strip().lower()
        if re.fullmatch(r"[a-z0-9+#._-]{1,30}", named):
            return named
        for word in [
            *words_of(node),
            *(found.group() for found in _BRUSH.finditer((node.get("class") or "").lower()[:500])),
        ]:
            found = _LANGUAGE.match(word.replace(" ", ""))
            if found and found.group(1) not in ("highlight", "none", "plaintext", "text", "numbers"):
                return found.group(1)
    return ""


def code_text(element: HtmlElement) -> str:
    """The characters of a code element as they are: blanks, tabs, blank lines; ``br`` and line elements end a line."""
    parts: list[str] = []

    def take(text: str | None) -> None:
        if text:
            parts.append(text)

    def walk(node: HtmlElement) -> None:
        take(node.text)
        for child in node:
            tag = tag_of(child)
            if tag == "br":
                parts.append("\n")
            elif tag == "img":
                take(child.get("alt"))
            elif tag and not _LINE_NUMBERS.intersection(words_of(child)):
                walk(child)
                if tag in ("div", "p", "li", "tr") and not (parts and parts[-1].endswith("\n")):
                    parts.append("\n")
            take(child.tail)

    walk(element)
    text = "".join(parts)
    if tag_of(element) == "pre" and text.startswith("\n"):
        text = text[1:]  # HTML drops one line end straight after <pre>
    return text
