"""A part of a page's tree as Markdown blocks that CommonMark reads back as the same structure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.capture import mathml, pictures, tables
from kbtasks.capture.codes import code_text, language_of
from kbtasks.capture.escape import code_block, code_span
from kbtasks.capture.inline import Token, plain, text_tokens, write
from kbtasks.capture.page import BLOCKS, HEADINGS, UNKNOWN, absolute, tag_of, text_of, words_of
from kbtasks.capture.redact import redact_url

if TYPE_CHECKING:
    from collections.abc import Callable

    from lxml.html import HtmlElement

    from kbtasks.capture.footnotes import Footnotes

#: A block: its lines, without the prefix of what it stands in.
Block = list[str]

_STRONG = frozenset(("b", "strong"))
_EMPHASIS = frozenset(("i", "em", "cite", "dfn", "var"))
_STRUCK = frozenset(("s", "strike", "del"))
_CODE = frozenset(("code", "kbd", "samp", "tt"))
_HEADINGS_LEVEL = {name: int(name[1]) for name in HEADINGS}
_SUPER = str.maketrans("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ")
_SUB = str.maketrans("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎")
_ANCHORS = frozenset((
    "headerlink", "anchor", "anchor-link", "header-anchor", "heading-anchor", "hash-link", "heading-link",
    "footnote-backref",
))  # fmt: skip
_MAX_LIST_NUMBER = 999_999_999


class Writer:
    """Writes one page.

    base: absolute address that relative ones resolve against (under UNKNOWN a link loses its address and keeps its words).
    page_url: the page's own address, for links to its own parts. skip: elements left out.
    After writing, ``pictures`` holds the images in order; each stands in the text as U+0002, number, colon, words, U+0003.
    """

    def __init__(
        self, root: HtmlElement, *, base: str, page_url: str, skip: set[HtmlElement], footnotes: Footnotes
    ) -> None:
        self.base = base
        self.page_url = page_url
        self.skip = skip
        self.footnotes = footnotes
        self.pictures: list[pictures.Picture] = []
        self.with_blocks: set[HtmlElement] = set()
        self._link: list[str] = []
        self._open: set[str] = set()
        for element in root.iter():
            if tag_of(element) in BLOCKS or (tag_of(element) == "math" and mathml.is_display(element)):
                node = element.getparent()
                while node is not None and node not in self.with_blocks:
                    self.with_blocks.add(node)
                    node = node.getparent()

    # Blocks

    def blocks(self, element: HtmlElement) -> list[Block]:
        """The blocks of everything inside ``element``."""
        found: list[Block] = []
        run: list[Token] = text_tokens(element.text or "")
        for child in element:
            if child not in self.skip and tag_of(child):
                if tag_of(child) in BLOCKS or child in self.with_blocks or self._is_display(child):
                    self._flush(run, found)
                    found += self._block(child, found)
                else:
                    run += self.inline(child)
            run += text_tokens(child.tail or "")
        self._flush(run, found)
        return found

    def _is_display(self, element: HtmlElement) -> bool:
        return tag_of(element) in ("math", "kb-math") and mathml.is_display(element)

    def _flush(self, run: list[Token], found: list[Block]) -> None:
        """Add the words gathered so far as paragraphs; two line breaks in a row part them."""
        for part in _parted(run):
            text = write(self._linked(part))
            if text:
                found.append(text.split("\n"))
        run.clear()

    def _linked(self, run: list[Token]) -> list[Token]:
        """The words of a line inside a link that spans blocks, as that link."""
        if not self._link or any(kind == "l" for kind, _ in run) or not any(kind in "tc" for kind, _ in run):
            return run
        return [("l", ""), *run, ("k", redact_url(self._link[-1]))]

    def _block(self, element: HtmlElement, before: list[Block]) -> list[Block]:
        tag = tag_of(element)
        if tag in HEADINGS:
            return self._heading(element)
        if tag in ("pre", "xmp", "listing", "plaintext"):
            return self._code(element)
        if tag in ("ul", "ol", "dir", "menu"):
            return self._list(element, before)
        if tag == "blockquote":
            return self._quote(element)
        if tag == "table":
            return tables.write_table(self, element)
        if tag == "hr":
            return [["***"]]
        if tag == "dl":
            return self._definitions(element)
        if tag in ("math", "kb-math"):
            tex = mathml.tex_of(element)
            return [["$$", tex, "$$"]] if tex else []
        if tag == "summary":
            return self._titled(element)
        if tag == "a":
            url = self._address(element)
            if url:
                self._link.append(url)
            found = self.blocks(element)
            if url:
                self._link.pop()
            return found
        if tag == "li":  # a list item outside of any list
            return self._items([element], ordered=False, start=1, mark="-")
        if element in self.footnotes.notes:
            return []
        return self.blocks(element)

    def _heading(self, element: HtmlElement) -> list[Block]:
        tokens = self._without_own_links(self.children(element))
        text = write(self._linked(tokens), single_line=True)
        if not text:
            return []
        return [["#" * _HEADINGS_LEVEL[tag_of(element)] + " " + text]]

    def _without_own_links(self, tokens: list[Token]) -> list[Token]:
        """A heading's tokens without links to its own place: their words stay, a mark (as ¶ or §) goes."""
        here = self.page_url.partition("#")[0] + "#"
        out: list[Token] = []
        start = -1
        for token in tokens:
            if token[0] == "l":
                start = len(out)
            out.append(token)
            if token[0] == "k" and start >= 0 and token[1].startswith(here):
                inner = out[start + 1 : -1]
                is_mark = not any(char.isalnum() for kind, value in inner if kind in "tc" for char in value)
                out[start:] = [] if is_mark else inner
        return out

    def _titled(self, element: HtmlElement) -> list[Block]:
        if element in self.with_blocks:
            return self.blocks(element)
        text = write([("o", "**"), *self.children(element, without="**"), ("x", "**")], single_line=True)
        return [[text]] if text else []

    def _quote(self, element: HtmlElement) -> list[Block]:
        inner = join(self.blocks(element))
        return [["> " + line if line else ">" for line in inner]] if inner else []

    def _code(self, element: HtmlElement) -> list[Block]:
        text = code_text(element)
        return [code_block(text, language_of(element))] if text.strip() else []

    def _definitions(self, element: HtmlElement) -> list[Block]:
        items: list[tuple[list[Block], list[Block]]] = []
        nodes = [node for child in element for node in (child if tag_of(child) == "div" else [child])]
        for node in nodes:
            if node in self.skip:
                continue
            if tag_of(node) == "dt":
                items.append((self.blocks(node), []))
            elif tag_of(node) and items:
                items[-1][1].extend(self.blocks(node))
            elif tag_of(node):
                items.append(([], self.blocks(node)))
        return [list_lines([(term + rest) for term, rest in items if term or rest], lambda _: "- ")] if items else []

    def _list(self, element: HtmlElement, before: list[Block]) -> list[Block]:
        ordered = tag_of(element) == "ol"
        try:
            start = min(max(int(element.get("start") or 1), 0), _MAX_LIST_NUMBER - len(element))
        except ValueError:
            start = 1
        last = before[-1][0] if before else ""
        bullet, number = "*" if last.startswith("- ") else "-", ")" if re.match(r"\d{1,9}\. ", last) else "."
        mark = number if ordered else bullet
        return self._items([child for child in element if tag_of(child)], ordered=ordered, start=start, mark=mark)

    def _items(self, children: list[HtmlElement], *, ordered: bool, start: int, mark: str) -> list[Block]:
        """List items; a list straight inside a list belongs to the item before it."""
        items: list[list[Block]] = []
        for child in children:
            if child in self.skip or child in self.footnotes.notes:
                continue
            tag = tag_of(child)
            if tag in ("ul", "ol", "dir", "menu") and items:
                items[-1] += self._list(child, items[-1])
                continue
            blocks = (
                self.blocks(child)
                if tag == "li"
                else self._block(child, [])
                if tag in BLOCKS
                else self.blocks_of_one(child)
            )
            if blocks or tag == "li":
                items.append(blocks)
        if not any(items):
            return []
        return [list_lines(items, (lambda n: f"{start + n}{mark} ") if ordered else (lambda _: f"{mark} "))]

    def blocks_of_one(self, element: HtmlElement) -> list[Block]:
        """The blocks of ``element`` itself, which is an inline element."""
        found: list[Block] = []
        self._flush(self.inline(element), found)
        return found

    # Lines

    def children(self, element: HtmlElement, without: str = "") -> list[Token]:
        """The tokens of everything inside ``element``; ``without`` names an emphasis that is open already."""
        fresh = without and without not in self._open
        if fresh:
            self._open.add(without)
        tokens = text_tokens(element.text or "")
        for child in element:
            if child not in self.skip and tag_of(child):
                if tag_of(child) in BLOCKS:
                    tokens += [("b", ""), *self.inline(child), ("b", "")]
                else:
                    tokens += self.inline(child)
            tokens += text_tokens(child.tail or "")
        if fresh:
            self._open.discard(without)
        return tokens

    def inline(self, element: HtmlElement) -> list[Token]:
        """The tokens of ``element``, which stands in a line."""
        tag = tag_of(element)
        if element in self.footnotes.references:
            label = self.footnotes.label(element)
            return [("c", f"[^{label}]")] if label else []
        if tag == "br":
            return [("b", "")]
        if tag == "img":
            return self._image(element)
        if tag == "a":
            return self._anchor(element)
        if tag in _STRONG:
            return self._emphasis(element, "**")
        if tag in _EMPHASIS:
            return self._emphasis(element, "*")
        if tag in _STRUCK:
            return self._emphasis(element, "~~")
        if tag in _CODE:
            span = code_span(code_text(element))
            return [("c", span)] if span else []
        if tag in ("math", "kb-math"):
            tex = mathml.tex_of(element)
            return [("c", f"${tex}$")] if tex else []
        if tag in ("sup", "sub"):
            return self._raised(element, _SUPER if tag == "sup" else _SUB, "^" if tag == "sup" else "_")
        if tag == "q":
            return [("t", "“"), *self.children(element), ("t", "”")]
        if tag == "kb-box":
            return [("c", "[x]" if element.get("checked") is not None else "[ ]"), ("s", " ")]
        if tag in ("iframe", "video", "audio", "embed"):
            return self._embedded(element)
        return self.children(element)

    def _emphasis(self, element: HtmlElement, mark: str) -> list[Token]:
        if mark in self._open:
            return self.children(element)
        return [("o", mark), *self.children(element, without=mark), ("x", mark)]

    def _address(self, element: HtmlElement) -> str:
        href = (element.get("href") or "").strip()
        if href.startswith("#"):
            url = self.page_url.partition("#")[0] + href if len(href) > 1 else ""
        else:
            url = absolute(href, self.base) or ""
        return "" if url.startswith(UNKNOWN) else url

    def _anchor(self, element: HtmlElement) -> list[Token]:
        if _ANCHORS.intersection(words_of(element)) and len(text_of(element)) <= 2:
            return []
        tokens = self.children(element)
        url = self._address(element)
        if (
            not url
            or self._link
            or any(kind in "lb" for kind, _ in tokens)
            or not any(kind in "tc" for kind, _ in tokens)
        ):
            return tokens
        return [("l", ""), *tokens, ("k", redact_url(url))]

    def _image(self, element: HtmlElement) -> list[Token]:
        if pictures.is_tracker(element):
            return []
        alt = " ".join((element.get("alt") or "").split())[:1000]
        if "emoji" in (element.get("class") or "").lower() and alt:
            return [("t", alt)]
        if alt and {"tex", "mwe-math-fallback-image-inline", "latex"} & set(words_of(element)):
            return [("c", f"${mathml_alt(alt)}$")]
        url = pictures.address_of(element, self.base)
        if not url:
            return [("t", alt)] if alt else []
        picture = pictures.Picture(len(self.pictures), url, alt)
        self.pictures.append(picture)
        return [("c", f"\x02{picture.number}:{write(text_tokens(alt), single_line=True)}\x03")]

    def _raised(self, element: HtmlElement, table: dict[int, int], mark: str) -> list[Token]:
        tokens = self.children(element)
        words = plain(tokens)
        if len(tokens) == 1 and words and all(ord(char) in table for char in words):
            return [("t", words.translate(table))]
        if tokens and all(kind in "ts" for kind, _ in tokens) and words:
            return [("t", mark + (words if len(words) == 1 else f"({words})"))]
        return tokens

    def _embedded(self, element: HtmlElement) -> list[Token]:
        source = element.get("src") or next((item.get("src") or "" for item in element.iter("source")), "")
        url = absolute(source, self.base)
        if not url or not url.startswith("http") or url.startswith(UNKNOWN):
            return []
        kind = {"iframe": "Embedded page", "embed": "Embedded file"}.get(tag_of(element), tag_of(element).capitalize())
        title = " ".join((element.get("title") or "").split())[:200]
        label = f"{kind}: {title}" if title else kind
        if tag_of(element) in ("video", "audio"):
            picture = pictures.Picture(len(self.pictures), url, title, media=True)
            self.pictures.append(picture)
            return [("c", f"\x02{picture.number}:{write(text_tokens(label), single_line=True)}\x03")]
        return [("l", ""), ("t", label), ("k", redact_url(url))]


def _parted(run: list[Token]) -> list[list[Token]]:
    """``run`` cut where two line breaks follow each other outside of emphasis and links."""
    parts: list[list[Token]] = [[]]
    depth = breaks = 0
    for token in run:
        kind = token[0]
        depth += (kind in "ol") - (kind in "xk")
        breaks = breaks + 1 if kind == "b" else breaks if kind == "s" else 0
        if breaks > 1 and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def mathml_alt(alt: str) -> str:
    """The TeX that a formula's picture carries as its alternative text."""
    return " ".join(alt.replace("$", "").split()) or "?"


def join(blocks: list[Block]) -> list[str]:
    """The lines of ``blocks`` with a blank line between them."""
    lines: list[str] = []
    for block in blocks:
        if lines:
            lines.append("")
        lines += block
    return lines


def list_lines(items: list[list[Block]], marker_of: Callable[[int], str]) -> Block:
    """The lines of a list: children are indented by the width of their item's marker; loose where an item needs it."""
    loose = any(len(blocks) > 1 and any(not _is_list(block) for block in blocks[1:]) for blocks in items)
    lines: list[str] = []
    for number, blocks in enumerate(items):
        marker = marker_of(number)
        inner: list[str] = []
        for block in blocks:
            if inner and loose:
                inner.append("")
            inner += block
        if lines and loose:
            lines.append("")
        indent = " " * len(marker)
        lines.append((marker + inner[0]).rstrip() if inner else marker.rstrip())
        lines += [indent + line if line else "" for line in inner[1:]]
    return lines


def _is_list(block: Block) -> bool:
    return bool(re.match(r"(?:[-*]|\d{1,9}[.)])(?: |$)", block[0]))
