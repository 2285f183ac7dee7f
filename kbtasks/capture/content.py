"""Where the main content of a page is: trafilatura says which text, this module which part of the tree holds it.

The text is only used to find the place. What is written comes from the page's own tree, so that code, tables, footnotes and
figures that an extractor flattens or drops are kept as they were found.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from kbtasks.capture.page import HEADINGS, tag_of, text_of, words_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_WORD = re.compile(r"[぀-ヿ㐀-䶿一-鿿가-힯]|\w+")
_LEAVES = frozenset((
    "p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "td", "th", "pre", "dt", "dd", "figcaption", "summary",
    "caption", "blockquote", "div", "section", "article", "span", "font",
))  # fmt: skip
_BOILER_TAGS = frozenset(("nav", "aside", "footer", "form", "dialog", "menu"))
_BOILER_ROLES = frozenset(
    ("navigation", "complementary", "contentinfo", "search", "banner", "dialog", "alert", "menu", "menubar")
)
_STRONG = frozenset((
    "ad", "ads", "advert", "advertisement", "advertising", "adbox", "adsense", "banner-ad", "breadcrumb",
    "breadcrumbs", "comment-list", "comments", "cookie", "cookies", "consent", "disqus", "footer", "legal", "login",
    "menu", "modal", "nav", "navbar", "navigation", "newsletter", "online", "pager", "pagination", "paywall-offer",
    "plugin", "popup", "promo", "promoted", "recommendations", "recommended", "related", "related-posts", "rss",
    "share", "sharing", "share-buttons", "sidebar", "signup", "skip-link", "social", "sponsor", "sponsored",
    "subscribe", "subscription", "toolbar", "topbar", "unsubscribe", "preheader", "widget", "most-read", "popular",
    "prev-next", "mw-editsection", "headerlink", "anchor-link", "entry-footer", "footer-links", "hot", "nomobile",
    "noprint", "printfooter", "catlinks", "jump-link", "toc-nav",
))  # fmt: skip
_STRONG_PART = (
    "cookie-",
    "-cookie",
    "newsletter",
    "share-",
    "-share",
    "advert",
    "sidebar",
    "breadcrumb",
    "related-",
    "-nav",
    "nav-",
    "popup",
    "promo-",
    "teaser",
)
_NOTES = ("footnote", "reference", "endnote", "fn")


class Content:
    """The place of the main content: its ``root`` element, elements inside it to ``skip``, and how it was found.

    words: number of words in the kept part, by the same count for every page. share: part of the page's words that is.
    """

    __slots__ = ("root", "share", "skip", "words")

    def __init__(self, root: HtmlElement, skip: set[HtmlElement], words: int, share: float) -> None:
        self.root = root
        self.skip = skip
        self.words = words
        self.share = share


def count_words(text: str) -> int:
    """Words of ``text``; every CJK character counts as one."""
    return sum(1 for _ in _WORD.finditer(text))


def find(root: HtmlElement, extracted: str) -> Content:
    """The main content of the cleaned page ``root``, given the text an extractor took for it (may be empty)."""
    body = root.find("body")
    body = root if body is None else body
    shingles = _shingles(_WORD.findall(extracted.lower()))
    found: dict[HtmlElement, int] = {}
    total = 0
    if shingles:
        for element in body.iter():
            if tag_of(element) in _LEAVES:
                words = _WORD.findall(_own_text(element).lower())
                if words and _overlap(words, shingles) >= 0.7:
                    found[element] = len(words)
                    total += len(words)
    place = _deepest_with(body, found, total)
    place = _widen(place)
    skip = _boilerplate(place, found, total)
    kept = count_words(_text_without(place, skip))
    whole = count_words(text_of(body))
    return Content(place, skip, kept, kept / whole if whole else 0.0)


def _own_text(element: HtmlElement) -> str:
    """Text of the element that is not inside a block of its own kind below it."""
    parts = [element.text or ""]
    for child in element:
        if tag_of(child) not in _LEAVES or tag_of(child) in ("span", "font"):
            parts += child.itertext(with_tail=False) if len(child) < 200 else [child.text or ""]
        parts.append(child.tail or "")
    return "".join(parts)


def _shingles(words: list[str]) -> set[int]:
    found = {hash((a, b, c)) for a, b, c in zip(words, words[1:], words[2:], strict=False)}
    found.update(hash((a, b)) for a, b in pairwise(words))
    found.update(hash((a,)) for a in words)
    return found


def _overlap(words: list[str], shingles: set[int]) -> float:
    size = min(3, len(words))
    grams = [hash(tuple(words[at : at + size])) for at in range(len(words) - size + 1)]
    return sum(gram in shingles for gram in grams) / len(grams)


def _deepest_with(body: HtmlElement, found: dict[HtmlElement, int], total: int) -> HtmlElement:
    """The deepest element that holds nine tenths of the extracted words."""
    if not total:
        return body
    held: dict[HtmlElement, int] = {}
    for element, words in found.items():
        node = element
        while node is not None:
            held[node] = held.get(node, 0) + words
            if node is body:
                break
            node = node.getparent()
    place = body
    while True:
        best = max(place, key=lambda child: held.get(child, 0), default=None)
        if best is None or held.get(best, 0) < 0.9 * total:
            return place
        place = best


def _widen(place: HtmlElement) -> HtmlElement:
    """Go up from a lone paragraph, row or list item to the block it is a part of, and to an article that is mostly it."""
    while tag_of(place) in (
        "p",
        "li",
        "tr",
        "tbody",
        "thead",
        "dt",
        "dd",
        "pre",
        "code",
        "blockquote",
        "span",
        "font",
        "b",
        "a",
        *HEADINGS,
    ):
        parent = place.getparent()
        if parent is None or tag_of(parent) == "html":
            break
        place = parent
    node = place
    while (parent := node.getparent()) is not None and tag_of(parent) not in ("body", "html"):
        if tag_of(parent) in ("article", "main"):
            return parent
        node = parent
    return place


def _is_boilerplate(element: HtmlElement) -> bool:
    tag = tag_of(element)
    if tag in _BOILER_TAGS or element.get("role") in _BOILER_ROLES:
        return True
    return any(word in _STRONG or any(part in word for part in _STRONG_PART) for word in words_of(element))


def _boilerplate(place: HtmlElement, found: dict[HtmlElement, int], total: int) -> set[HtmlElement]:
    """Elements inside ``place`` that are not content: marked as furniture, or mostly links that the extractor left out."""
    held: dict[HtmlElement, int] = {}
    for element, words in found.items():
        node = element
        while node is not None and node is not place:
            held[node] = held.get(node, 0) + words
            node = node.getparent()
    skip: set[HtmlElement] = set()
    walk = [child for child in reversed(place) if tag_of(child)]
    while walk:
        element = walk.pop()
        inside = held.get(element, 0)
        if _is_boilerplate(element) and not _is_notes(element) and inside <= 0.3 * total:
            skip.add(element)
            continue
        if not inside and _mostly_links(element) and not _is_notes(element):
            skip.add(element)
            continue
        if tag_of(element) not in ("p", "pre", "li", "math", *HEADINGS):
            walk.extend(child for child in reversed(element) if tag_of(child))
    return skip


def _is_notes(element: HtmlElement) -> bool:
    return any(word.startswith(_NOTES) for word in words_of(element)) or (element.get("role") or "").startswith("doc-")


def _mostly_links(element: HtmlElement) -> bool:
    if tag_of(element) not in ("ul", "ol", "div", "section", "table", "td", "header"):
        return False
    links = list(element.iter("a"))
    if len(links) < 2 and tag_of(element) not in ("td", "div", "header"):
        return False
    if not links:
        return False
    whole = len(text_of(element))
    return whole > 0 and sum(len(text_of(link)) for link in links) > 0.6 * whole


def _text_without(place: HtmlElement, skip: set[HtmlElement]) -> str:
    parts: list[str] = []
    walk: list[HtmlElement | str] = [place]
    while walk:
        node = walk.pop()
        if isinstance(node, str):
            parts.append(node)
            continue
        if node in skip or not tag_of(node):
            continue
        parts.append(node.text or "")
        for child in reversed(node):
            if child.tail:
                walk.append(child.tail)
            walk.append(child)
    return " ".join(parts)
