"""Notes at the foot of a page: which links are marks, which elements are the notes, and their order."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.capture.page import tag_of, text_of, words_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from kbtasks.capture.markdown import Block, Writer

_MARK = re.compile(r"^[\[(]?(?:\d{1,4}|[a-z]{1,3}|[*†‡§¶]{1,3}|[ivx]{1,6})[\])]?$", re.IGNORECASE)
_BACK = frozenset(("↩", "↩︎", "^", "↑", "⏎", "back", "return", "↵"))
_REFERENCE_WORDS = ("footnote", "fnref", "fn-ref", "noteref", "reference", "citation", "endnote", "sidenote")
_NOTE_WORDS = ("footnote", "fn", "note", "reference", "cite_note", "endnote", "citation")
MAX_NOTES = 5000


class Footnotes:
    """The notes of a page.

    references: the elements (a link, or the ``sup`` around it) that stand in the text as a mark.
    notes: the elements of the notes themselves, left out where they stand and written at the end.
    """

    def __init__(self, root: HtmlElement) -> None:
        self.references: dict[HtmlElement, HtmlElement] = {}
        self.notes: set[HtmlElement] = set()
        self._labels: dict[HtmlElement, str] = {}
        self._back: set[HtmlElement] = set()
        by_id: dict[str, HtmlElement] = {}
        for element in root.iter():
            if isinstance(element.tag, str):
                for name in ("id", "name"):
                    value = element.get(name)
                    if value:
                        by_id.setdefault(value, element)
        links = [
            link
            for link in root.iter("a")
            if (link.get("href") or "").startswith("#") and len(link.get("href") or "") > 1
        ]
        for link in links[: 2 * MAX_NOTES]:
            note = self._note_for(link, by_id)
            if note is not None:
                parent = link.getparent()
                holder = parent if parent is not None and tag_of(parent) == "sup" and len(parent) == 1 else link
                self.references[holder] = note
                self.notes.add(note)
        for link in links:
            if any(note in self.notes for note in _above(link)) and (
                text_of(link) in _BACK or "backref" in (link.get("class") or "") or link.get("role") == "doc-backlink"
                or by_id.get((link.get("href") or "")[1:]) in self.references
            ):  # fmt: skip
                self._back.add(link)

    def _note_for(self, link: HtmlElement, by_id: dict[str, HtmlElement]) -> HtmlElement | None:
        text = text_of(link)
        if not _MARK.match(text) or text in _BACK:
            return None
        parent = link.getparent()
        raised = any(True for _ in link.iter("sup")) or (parent is not None and tag_of(parent) == "sup")
        words = " ".join(
            [*words_of(link), link.get("role") or "", link.get("{http://www.idpf.org/2007/ops}type") or ""]
        )
        if not raised and not any(word in words for word in _REFERENCE_WORDS):
            return None
        from urllib.parse import unquote

        identity = (link.get("href") or "")[1:]
        note = by_id.get(identity, by_id.get(unquote(identity)))
        for _ in range(3):
            if note is None or tag_of(note) in ("li", "p", "div", "aside", "dd", "td"):
                break
            note = note.getparent()
        if note is None or tag_of(note) not in ("li", "p", "div", "aside", "dd") or note in _above(link):
            return None
        if len(text_of(note)) > 20_000 or note.tag == "body":
            return None
        around = " ".join(
            [*words_of(note), *(word for element in _above(note)[:3] for word in words_of(element)), identity.lower()]
        )
        return note if tag_of(note) == "li" or any(word in around for word in _NOTE_WORDS) else None

    def label(self, reference: HtmlElement) -> str:
        """The number of the note that ``reference`` points to, by order of first mention."""
        note = self.references[reference]
        if note not in self._labels:
            self._labels[note] = str(len(self._labels) + 1)
        return self._labels[note]

    def definitions(self, writer: Writer) -> list[Block]:
        """The notes that were mentioned, as Markdown footnote definitions."""
        found: list[Block] = []
        done: set[HtmlElement] = set()
        writer.skip |= self._back
        while len(done) < len(self._labels):  # a note may mention another
            for note, label in [item for item in self._labels.items() if item[0] not in done]:
                done.add(note)
                lines: list[str] = []
                for block in writer.blocks(note):
                    if lines:
                        lines.append("")
                    lines += block
                first = lines[0] if lines else ""
                found.append([f"[^{label}]: {first}".rstrip(), *("    " + line if line else "" for line in lines[1:])])
        return found


def _above(element: HtmlElement) -> list[HtmlElement]:
    """The elements around ``element``, nearest first."""
    found: list[HtmlElement] = []
    node = element.getparent()
    while node is not None:
        found.append(node)
        node = node.getparent()
    return found
