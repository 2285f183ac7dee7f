"""The tree of a page: parsed with lxml, freed of what no reader sees, with the addresses it stands under."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.html import HtmlElement

#: Elements that start a block of their own; everything else flows in a line.
BLOCKS = frozenset((
    "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir", "div", "dl",
    "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "h1", "h2", "h3", "h4", "h5", "h6",
    "header", "hgroup", "hr", "html", "legend", "li", "main", "menu", "nav", "ol", "optgroup", "option", "p", "pre",
    "search", "section", "summary", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", "caption", "xmp",
    "listing", "plaintext",
))  # fmt: skip
HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_UNSEEN = frozenset((
    "script", "style", "template", "noscript", "noframes", "object", "embed", "applet", "svg", "canvas", "map",
    "button", "select", "textarea", "input", "datalist", "link", "meta", "base", "title", "head", "frame", "param",
    "track", "area", "col", "colgroup", "slot", "progress", "meter",
))  # fmt: skip
#: Base of relative addresses in a file whose own address is not known; never written anywhere.
UNKNOWN = "http://saved-page.invalid/"
_MAX_ELEMENTS = 400_000
#: Characters that no text needs and that XML forbids, or that would break words: controls, soft hyphen, byte order mark.
_DROPPED = "\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f\xad\ufeff\ufffe\uffff"
_METADATA = frozenset(
    ("title", "meta", "link", "base", "script", "style", "noscript", "template", "object", "basefont", "isindex")
)
#: Elements that the parser does not know to be empty: what follows them would become their content.
_WBR = re.compile(r"</?wbr\s{0,8}/?>", re.IGNORECASE)
_EMPTY = re.compile(r"<(source|track|embed)\b([^<>]{0,4000}?)/?>", re.IGNORECASE)
_CONTROL = re.compile(f"[{_DROPPED}\x0c]")


def parse(text: str) -> HtmlElement:
    """The root ``html`` element of ``text``; an empty page where there is no element at all. Nesting is bounded by the parser."""
    from lxml import etree, html

    clean = _WBR.sub("", without_controls(text).replace("\r\n", "\n").replace("\r", "\n"))
    clean = _EMPTY.sub(r"<\1\2 />", clean)
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True, remove_pis=True)
    try:
        root = html.document_fromstring(clean.encode("utf-8", "replace") or b"<html></html>", parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, AssertionError):
        root = html.document_fromstring(b"<html><body></body></html>")
    _rescue_from_head(root)
    for element in root.iter():  # character references can still name controls
        if element.text and _CONTROL.search(element.text):
            element.text = without_controls(element.text)
        if element.tail and _CONTROL.search(element.tail):
            element.tail = without_controls(element.tail)
        if isinstance(element.tag, str):
            for name, value in element.attrib.items():
                if _CONTROL.search(str(value)):
                    element.set(name, without_controls(str(value)))
    return root


def _rescue_from_head(root: HtmlElement) -> None:
    """Move what is no metadata out of ``head``: the parser leaves newer elements there when a page names no ``body``."""
    from lxml import html

    head = root.find("head")
    if head is None:
        return
    first = next((at for at, child in enumerate(head) if tag_of(child) and tag_of(child) not in _METADATA), None)
    if first is None:
        return
    body = root.find("body")
    if body is None:
        body = html.Element("body")
        root.append(body)
    moved = list(head)[first:]
    text = body.text
    body.text = None
    for at, child in enumerate(moved):
        body.insert(at, child)
    if text and moved:
        moved[-1].tail = (moved[-1].tail or "") + text


def without_controls(text: str) -> str:
    """``text`` without control characters, soft hyphens and byte order marks; a form feed becomes a blank."""
    return _CONTROL.sub(lambda found: " " if found.group() == "\x0c" else "", text)


def tag_of(element: HtmlElement) -> str:
    """The element's name in lower case; empty for comments and other nodes."""
    tag = element.tag
    return tag.rpartition(":")[2].lower() if isinstance(tag, str) else ""


def words_of(element: HtmlElement) -> list[str]:
    """The words of the element's class and id, lower case."""
    return f"{element.get('class') or ''} {element.get('id') or ''}".lower().split()


def base_of(root: HtmlElement, page_url: str) -> str:
    """The address that relative addresses are resolved against: ``<base href>`` (itself against the page), else the page."""
    for base in root.iter("base"):
        href = (base.get("href") or "").strip()
        if href:
            return absolute(href, page_url) or page_url
        break
    return page_url


def absolute(href: str, base: str) -> str | None:
    """``href`` resolved by RFC 3986 section 5 against ``base``: an http, https, mailto or tel address, or None."""
    href = "".join(char for char in href.strip() if char not in "\t\r\n")
    if not href or len(href) > 8192:
        return None
    try:
        joined = urljoin(base, href) if base else href
        parts = urlsplit(joined)
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if scheme in ("http", "https"):
        return joined if parts.netloc else None
    return joined if scheme in ("mailto", "tel") else None


def remove(element: HtmlElement) -> None:
    """Take ``element`` out of its tree; the text after it stays."""
    parent = element.getparent()
    if parent is None:
        return
    tail = element.tail
    if tail:
        before = element.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + tail
        else:
            parent.text = (parent.text or "") + tail
    element.tail = None
    parent.remove(element)


def is_hidden(element: HtmlElement) -> bool:
    """Whether the markup itself says that the element is not shown."""
    if element.get("hidden") is not None and element.get("hidden") != "until-found":
        return True
    style = element.get("style")
    if style:
        plain = style.lower().replace(" ", "")
        if "display:none" in plain or "visibility:hidden" in plain:
            return True
    return element.get("aria-hidden") == "true" and tag_of(element) not in ("img", "figure", "picture", "table")


def clean(root: HtmlElement) -> None:
    """Remove from the tree what no reader sees; scripts that hold TeX become ``kb-math``, task boxes stay."""
    doomed = []
    for number, element in enumerate(root.iter()):
        if number > _MAX_ELEMENTS:
            doomed.append(element)
            continue
        tag = tag_of(element)
        if not tag:
            doomed.append(element)
        elif tag == "script" and (element.get("type") or "").startswith("math/tex"):
            element.set("kb-display", "1" if "mode=display" in (element.get("type") or "").replace(" ", "") else "")
            element.tag = "kb-math"
        elif tag == "input" and (element.get("type") or "").lower() == "checkbox" and _in_item(element):
            element.tag = "kb-box"
        elif tag == "noscript":
            _keep_lazy_image(element)
            doomed.append(element)
        elif tag in _UNSEEN or is_hidden(element):
            doomed.append(element)
    for element in doomed:
        remove(element)


def _in_item(element: HtmlElement) -> bool:
    node = element.getparent()
    for _ in range(4):
        if node is None:
            return False
        if tag_of(node) == "li":
            return True
        node = node.getparent()
    return False


def _keep_lazy_image(noscript: HtmlElement) -> None:
    """Give the image before a ``noscript`` the real address that only the ``noscript`` names."""
    image = next(noscript.iter("img"), None)
    before = noscript.getprevious()
    if image is None or not image.get("src"):
        return
    lazy = before if before is not None and tag_of(before) == "img" else None
    if lazy is None and before is not None:
        lazy = next(before.iter("img"), None)
    if lazy is not None:
        lazy.set("data-src", lazy.get("data-src") or image.get("src") or "")
    else:
        image.tail = None
        noscript.addprevious(image)


def text_of(element: HtmlElement) -> str:
    """All text below ``element`` with runs of white space as one blank."""
    return " ".join("".join(element.itertext(with_tail=False)).split())


def elements(root: HtmlElement) -> Iterator[HtmlElement]:
    """All elements below and including ``root``, in document order, comments left out."""
    return (element for element in root.iter() if isinstance(element.tag, str))
