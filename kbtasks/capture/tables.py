"""Tables of a page: data tables as Markdown tables, tables that only arrange things as the things themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kbtasks.capture.codes import code_text, language_of
from kbtasks.capture.escape import code_block
from kbtasks.capture.inline import write
from kbtasks.capture.page import HEADINGS, tag_of, text_of, words_of

if TYPE_CHECKING:
    from lxml.html import HtmlElement

    from kbtasks.capture.markdown import Block, Writer

MAX_COLUMNS = 100
MAX_CELLS = 100_000
_HEAVY = frozenset(("table", "ul", "ol", "pre", "blockquote", "dl", "figure", "section", "article", *HEADINGS))
_GUTTER = frozenset(
    ["gutter", "lineno", "linenos", "line-numbers", "linenumbers", "blob-num", "hljs-ln-numbers", "rouge-gutter"]
)
_BARE_PIPE = re.compile(r"(\\*)\|")


def rows_of(table: HtmlElement) -> list[list[HtmlElement]]:
    """The cells of the table's own rows; rows of tables inside it are theirs."""
    found = []
    for child in table:
        if tag_of(child) == "tr":
            found.append(child)
        elif tag_of(child) in ("thead", "tbody", "tfoot"):
            found += [row for row in child if tag_of(row) == "tr"]
    return [[cell for cell in row if tag_of(cell) in ("td", "th")] for row in found]


def write_table(writer: Writer, table: HtmlElement) -> list[Block]:
    """The blocks of ``table``: code, a data table with its caption, or what its cells hold, in order."""
    rows = [[cell for cell in row if cell not in writer.skip] for row in rows_of(table)]
    code = _code_of(rows)
    if code is not None:
        return [code_block(code, language_of(table))]
    caption = next((child for child in table if tag_of(child) == "caption" and child not in writer.skip), None)
    found = writer.blocks(caption) if caption is not None else []
    if _is_data(rows):
        return found + _data(writer, rows)
    for row in rows:
        for cell in row:
            found += writer.blocks(cell)
    return found


def _is_data(rows: list[list[HtmlElement]]) -> bool:
    cells = [cell for row in rows for cell in row]
    if not cells or max(len(row) for row in rows) < 2:
        return False
    if any(
        tag_of(inner) in ("table", *HEADINGS, "article", "section")
        for cell in cells
        for inner in cell.iter()
        if inner is not cell
    ):
        return False
    heavy = sum(1 for cell in cells if any(tag_of(inner) in _HEAVY for inner in cell.iter() if inner is not cell))
    if any(tag_of(cell) == "th" for cell in cells):
        return heavy <= len(cells) / 2
    long = sum(1 for cell in cells if len(text_of(cell)) > 400)
    return heavy == 0 and long == 0 and sum(len(row) > 1 for row in rows) >= 2


def _span(cell: HtmlElement, name: str, limit: int) -> int:
    try:
        return min(max(int(cell.get(name) or 1), 1), limit)
    except ValueError:
        return 1


def _data(writer: Writer, rows: list[list[HtmlElement]]) -> list[Block]:
    """A pipe table: a cell over several rows is said in each, a cell over several columns in its first."""
    grid: list[list[str]] = []
    hanging: dict[int, tuple[int, str]] = {}
    total = 0
    for number, row in enumerate(rows):
        line: list[str] = []

        def from_above(line: list[str] = line) -> None:
            while len(line) in hanging:
                left, text = hanging.pop(len(line))
                if left > 1:
                    hanging[len(line)] = (left - 1, text)
                line.append(text)

        for cell in row:
            from_above()
            text = _cell(writer, cell)
            height = _span(cell, "rowspan", len(rows) - number)
            for column in range(_span(cell, "colspan", MAX_COLUMNS)):
                if len(line) >= MAX_COLUMNS:
                    break
                if height > 1:
                    hanging[len(line)] = (height - 1, text if column == 0 else "")
                line.append(text if column == 0 else "")
        from_above()
        total += len(line)
        if any(line):
            grid.append(line)
        if total > MAX_CELLS:
            break
    if not grid:
        return []
    width = max(len(line) for line in grid)
    has_head = all(tag_of(cell) == "th" for cell in rows[0]) and bool(rows[0])
    head = grid[0] if has_head else [""] * width
    lines = [_line(head, width), "|" + " --- |" * width]
    lines += [_line(line, width) for line in (grid[1:] if has_head else grid)]
    return [lines]


def _line(cells: list[str], width: int) -> str:
    return "| " + " | ".join(cells + [""] * (width - len(cells))) + " |"


def _cell(writer: Writer, cell: HtmlElement) -> str:
    text = write(writer.children(cell), single_line=True)
    return escape_pipes(text)


def escape_pipes(text: str) -> str:
    """``text`` with a backslash before each bar that has none, so that it stays in its cell."""
    return _BARE_PIPE.sub(lambda found: found.group() if len(found.group(1)) % 2 else found.group(1) + "\\|", text)


def _is_gutter(cell: HtmlElement) -> bool:
    if _GUTTER.intersection(words_of(cell)) or cell.get("data-line-number") is not None:
        return True
    words = text_of(cell).split()
    return bool(words) and all(word.isdigit() for word in words) and any(True for _ in cell.iter("pre"))


def _code_of(rows: list[list[HtmlElement]]) -> str | None:
    """The code of a table that only sets line numbers beside code, or None."""
    lines = []
    for row in rows:
        gutters = [cell for cell in row if _is_gutter(cell)]
        rest = [cell for cell in row if cell not in gutters]
        if not gutters or len(rest) != 1:
            return None
        pre = next(rest[0].iter("pre"), None)
        lines.append(code_text(pre if pre is not None else rest[0]))
    return "\n".join(line.removesuffix("\n") for line in lines) if lines else None
