"""Formulas of a page as TeX: what the page gives in TeX itself, else a plain reading of its MathML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.capture.page import tag_of, text_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

MAX_TEX = 20_000
_OUTER = re.compile(r"^\{\\(?:displaystyle|textstyle) ?(.*)\}$", re.DOTALL)


def tex_of(element: HtmlElement) -> str:
    """The TeX of a ``math`` (or ``kb-math``) element on one line, without dollar signs; empty where nothing can be read."""
    if tag_of(element) == "kb-math":
        source = element.text or ""
    else:
        source = ""
        for annotation in element.iter("annotation"):
            if "tex" in (annotation.get("encoding") or "").lower():
                source = annotation.text or ""
                break
        source = source or element.get("alttext") or _read(element)
    source = " ".join(source.replace("$", "").split())[:MAX_TEX]
    outer = _OUTER.match(source)
    return (outer.group(1) if outer else source).strip()


def is_display(element: HtmlElement) -> bool:
    """Whether the formula stands in a line of its own."""
    if element.get("kb-display") or element.get("display") == "block" or element.get("mode") == "display":
        return True
    parent = element.getparent()
    for _ in range(4):
        if parent is None:
            return False
        if "katex-display" in (parent.get("class") or "").split() or parent.get("display") == "true":
            return True
        parent = parent.getparent()
    return False


def _group(text: str) -> str:
    return text if len(text) == 1 or re.fullmatch(r"\\[A-Za-z]+", text) else "{" + text + "}"


def _read(element: HtmlElement) -> str:
    tag = tag_of(element)
    if tag in ("annotation", "annotation-xml"):
        return ""
    children = [child for child in element if tag_of(child) not in ("", "annotation", "annotation-xml")]
    if tag in ("mi", "mn", "mo", "ms", "mtext") or not children:
        return text_of(element)
    parts = [_read(child) for child in children]
    if tag == "mfrac" and len(parts) == 2:
        return f"\\frac{{{parts[0]}}}{{{parts[1]}}}"
    if tag == "msqrt":
        return f"\\sqrt{{{' '.join(parts)}}}"
    if tag == "mroot" and len(parts) == 2:
        return f"\\sqrt[{parts[1]}]{{{parts[0]}}}"
    if tag in ("msup", "mover") and len(parts) == 2:
        return f"{_group(parts[0])}^{_group(parts[1])}"
    if tag in ("msub", "munder") and len(parts) == 2:
        return f"{_group(parts[0])}_{_group(parts[1])}"
    if tag in ("msubsup", "munderover") and len(parts) == 3:
        return f"{_group(parts[0])}_{_group(parts[1])}^{_group(parts[2])}"
    if tag == "mtr":
        return " & ".join(parts)
    if tag == "mtable":
        return "\\begin{matrix} " + " \\\\ ".join(parts) + " \\end{matrix}"
    return " ".join(part for part in parts if part)
