"""A PDF's bytes to the Markdown of its pages, with what was missing on each. Runs in the worker: no file is opened or written."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pypdfium2 as pdfium  # type: ignore[import-untyped]

from kbtasks.capture import pdf_images
from kbtasks.capture.escape import escape_line_start, escape_text
from kbtasks.capture.pdf_layout import BULLET, LEADER, Line, join_lines, lines_of, paragraphs, reading_order
from kbtasks.capture.pdf_open import open_pdf
from kbtasks.capture.pdf_read import PageView
from kbtasks.capture.pdf_tables import Grid, find_grids, is_filled, markdown_table

if TYPE_CHECKING:
    from typing import Any

#: A page with pictures on this part of it and fewer characters than the next number is a scan.
SCAN_SHARE = 0.25
SCAN_CHARACTERS = 60
HEADING_RATIO = 1.15
MAX_HEADING = 200
_DIGITS = re.compile(r"\d+|\b[ivxlc]{1,6}\b")


class _Page:
    """One page read: lines outside of tables, tables, turned lines, pictures, and its place in the running order."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.lines: list[Line] = []
        self.tables: list[tuple[float, list[list[str]]]] = []
        self.turned: list[str] = []
        self.images: list[dict[str, Any]] = []
        self.text = "layer"
        self.rotation = 0
        self.characters = 0
        self.lost = 0
        self.scan = False
        self.height = 0.0
        self.note = ""
        self.label = ""


def read_pdf(
    data: bytes, *, password: str, max_pages: int, images: bool, max_images: int, max_image_bytes: int
) -> dict[str, Any]:
    """The PDF as a JSON-able mapping: ``pages`` with Markdown, ``images`` (base64), document facts, warnings; or ``error``.

    images: also take the pictures out, at most ``max_images`` of ``max_image_bytes`` each.
    """
    document, data, warnings = open_pdf(data, password)
    if isinstance(document, dict):
        return document
    count = len(document)
    taken = pdf_images.Taken(max_images, max_image_bytes)
    pages = [_read_page(document, number, taken=taken if images else None) for number in range(min(count, max_pages))]
    if count > max_pages:
        warnings.append(
            {
                "code": "page-limit",
                "message": f"pages {max_pages + 1} to {count} are past the limit of {max_pages} pages",
            }
        )
    sizes = _sizes(pages)
    _drop_running(pages, sizes[0])
    known = {
        word.lower().strip(".,;:()")
        for page in pages
        for line in page.lines
        for word in line.text.split()
        if "-" in word[1:-1] or word.isalpha()
    }
    levels = _levels(sizes)
    headings = tables = 0
    answers = []
    for page in pages:
        blocks = _blocks(page, levels, known)
        headings += sum(block[0].startswith("#") for block in blocks)
        tables += len(page.tables)
        answers.append(
            {
                "page": page.number,
                "label": page.label,
                "blocks": blocks,
                "text": page.text,
                "rotation": page.rotation,
                "characters": page.characters,
                "lost": page.lost,
                "images": page.images,
                "note": page.note,
                "scan": page.scan,
            }
        )
    return {
        "version": f"{pdfium.PYPDFIUM_INFO.version}",
        "engine": f"{pdfium.PDFIUM_INFO.version}",
        "metadata": _metadata(document),
        "encrypted": b"/Encrypt" in data[-2048:] or b"/Encrypt" in data,
        "page_count": count,
        "pages": answers,
        "images": taken.files,
        "headings": headings,
        "tables": tables,
        "warnings": warnings + taken.warnings,
    }


def _metadata(document: pdfium.PdfDocument) -> dict[str, str]:
    try:
        found = document.get_metadata_dict(skip_empty=True)
    except (pdfium.PdfiumError, UnicodeError, ValueError):
        return {}
    return {
        name: " ".join(str(value).replace("\0", "").split())[:1000].encode("utf-8", "replace").decode()
        for name, value in found.items()
    }


def _read_page(document: pdfium.PdfDocument, number: int, *, taken: pdf_images.Taken | None) -> _Page:
    page = _Page(number + 1)
    try:
        handle = document[number]
        page.label = str(document.get_page_label(number) or "")[:50].encode("utf-8", "replace").decode()
    except (pdfium.PdfiumError, UnicodeError, ValueError):
        page.text, page.note = "none", "the page is damaged and could not be read"
        return page
    view = PageView(handle.raw)
    try:
        page.rotation = view.rotation if view.rotation in (0, 90, 180, 270) else 0
        page.characters, page.lost, page.height = view.characters, view.lost, view.height
        grids = find_grids(view.rules)
        free = list(view.words)
        for grid in grids:
            inside = [word for word in free if grid.holds(word)]
            if inside:
                cells = grid.cells(inside)
                if len(cells) >= 2 and is_filled(cells):
                    held = {id(word) for word in inside}
                    free = [word for word in free if id(word) not in held]
                    page.tables.append((grid.top, cells))
        page.lines = lines_of(free)
        for line in page.lines:
            line.bold = view.weight(line.words[0]) >= 600 and view.weight(line.words[-1]) >= 600
        if view.turned:
            page.turned = [_turned_text(view)]
        share = view.picture_share()
        if view.images and share >= SCAN_SHARE and page.characters < SCAN_CHARACTERS:
            page.text = "none"
            page.scan = True
        elif not page.characters:
            page.text = "blank" if not view.images and not view.drawn else "none"
        if taken is not None:
            page.images = taken.take(view, page.number)
        else:
            page.images = [{"path": ""} for _ in view.images]
    finally:
        view.close()
        handle.close()
    return page


def _turned_text(view: PageView) -> str:
    return " ".join(line.text for line in sorted(lines_of(view.turned), key=lambda line: (line.top, line.x0)))


def _sizes(pages: list[_Page]) -> tuple[float, Counter[float]]:
    """The size that most characters have, and how many characters each size (in half points) has."""
    counted: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            counted[round(line.size * 2) / 2] += len(line.text)
    return (counted.most_common(1)[0][0] if counted else 0.0), counted


def _drop_running(pages: list[_Page], body: float) -> None:
    """Remove lines that come back at the same height of many pages, their numbers apart: running headers and footers."""
    places: Counter[tuple[str, int]] = Counter()
    edges: list[list[tuple[Line, tuple[str, int]]]] = []
    for page in pages:
        ordered = sorted(page.lines, key=lambda line: line.top)
        candidates = {
            id(line): line
            for line in (*ordered[:3], *ordered[-3:])
            if line.size <= HEADING_RATIO * body or len(line.text) < 6
        }
        keyed = [
            (line, (_DIGITS.sub("#", line.text.lower()), round(line.top / 4)))
            for line in candidates.values()
            if line.top < 0.1 * page.height or line.bottom > 0.9 * page.height
        ]
        edges.append(keyed)
        places.update({key for _, key in keyed})
    needed = 3
    for page, keyed in zip(pages, edges, strict=True):
        doomed = set()
        for line, (text, place) in keyed:
            if sum(places[text, near] for near in (place - 1, place, place + 1)) >= needed:
                doomed.add(id(line))
        if doomed:
            page.lines = [line for line in page.lines if id(line) not in doomed]


def _levels(sizes: tuple[float, Counter[float]]) -> dict[float, int]:
    """Heading level by size, 2 for the largest; sizes within half a point are one. Level 0 of ``-1`` is that of bold lines."""
    body, counted = sizes
    total = sum(counted.values())
    found: dict[float, int] = {}
    level, last = 1, 1e9
    for size in sorted(
        (size for size, number in counted.items() if size > HEADING_RATIO * body and number < 0.3 * total), reverse=True
    ):
        if last - size > 1.0:
            level, last = min(level + 1, 5), size
        found[size] = level
    found[-1.0] = min(level + 1, 6)
    return found


def _blocks(page: _Page, levels: dict[float, int], known: set[str]) -> list[list[str]]:
    """The page's Markdown blocks: columns in order, each table before the first line below it."""
    blocks: list[list[str]] = []
    waiting = list(page.tables)

    def tables_above(top: float) -> None:
        while waiting and waiting[0][0] < top:
            blocks.append(markdown_table(waiting.pop(0)[1]))

    for column in reading_order(page.lines):
        for lines in paragraphs(column):
            tables_above(lines[0].top)
            text = join_lines(lines, known)
            block = _block(text, lines, levels)
            if block:
                blocks.append(block)
    tables_above(float("inf"))
    blocks += [[escape_line_start(escape_text(text))] for text in page.turned if text]
    return blocks


def _block(text: str, lines: list[Line], levels: dict[float, int]) -> list[str]:
    level = levels.get(round(lines[0].size * 2) / 2, 0)
    if LEADER.search(lines[-1].text):
        return [escape_line_start(escape_text(text))]
    if level and len(text) <= MAX_HEADING and any(char.isalnum() for char in text):
        return ["#" * level + " " + escape_text(text)]
    if (
        all(line.bold for line in lines)
        and len(lines) <= 2
        and 2 < len(text) <= 100
        and text[-1] not in ".,;:"
        and any(c.isalpha() for c in text)
    ):
        return ["#" * levels[-1.0] + " " + escape_text(text)]
    bullet = BULLET.match(text)
    if bullet and bullet.end() < len(text):
        return ["- " + escape_line_start(escape_text(text[bullet.end() :]))]
    return [escape_line_start(escape_text(text))]


__all__ = ["Grid", "read_pdf"]
