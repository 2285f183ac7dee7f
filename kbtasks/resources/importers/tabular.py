"""CSV exports: posts (twitter-web-exporter and spreadsheets) and reading lists (Pocket, Raindrop, Instapaper)."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

from kbtasks.resources.importers.bookmark import BadRow, Bookmark, clean, page, texts_of, time_of
from kbtasks.resources.importers.posts import read_post

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_FIELD = 4 << 20
#: How many times over a file with broken quotes may be read.
MAX_AGAIN = 8


def read_table(text: str) -> tuple[list[str], Iterator[Any]]:
    """The header and the rows (as mappings; a row of another length is given as a list) of a CSV text."""
    csv.field_size_limit(MAX_FIELD)
    head = text.split("\n", 1)[0]
    delimiter = max(",\t;", key=head.count)
    lines = _Lines(text)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
    except csv.Error as error:
        raise BadRow(f"the header: {error}") from None
    return header, _rows(reader, lines, header)


class _Lines:
    """The lines of a text one by one, so that reading can go back to the line after a broken one."""

    def __init__(self, text: str) -> None:
        self._file = io.StringIO(text, newline="")
        self.number = 0
        #: Characters that may be read a second time; keeps a file of broken quotes from being read over and over.
        self._again = MAX_AGAIN * len(text)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._file.readline()
        if not line:
            raise StopIteration
        self.number += 1
        return line

    def place(self) -> tuple[int, int]:
        """Where the next line begins."""
        return self._file.tell(), self.number

    def go_on_after(self, place: tuple[int, int]) -> bool:
        """Go on with the line after the one at ``place``; False where too much has been read again already."""
        self._again -= self._file.tell() - place[0]
        if self._again < 0:
            return False
        self._file.seek(place[0])
        self._file.readline()
        self.number = place[1] + 1
        return True


def _rows(reader: Any, lines: _Lines, header: list[str]) -> Iterator[Any]:
    """The rows; a broken one is given as text that says why, and the line after its first is the next to be read."""
    while True:
        place = lines.place()
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield f"line {place[1] + 1}: {error}"
            if not lines.go_on_after(place):
                yield f"line {place[1] + 2}: nothing from here on was read: too many rows are broken"
                return
            continue
        if not values:
            continue
        yield dict(zip(header, values, strict=True)) if len(values) == len(header) else values


def shape_of(header: list[str]) -> str | None:
    """The shape that a header means."""
    names = {name.lower() for name in header}
    if {"id", "full_text", "screen_name"} <= names:
        return "twitter-web-exporter-csv"
    if "tweet id" in names:
        return "spreadsheet-csv"
    if {"url", "title", "selection", "folder"} <= names:
        return "instapaper-csv"
    if {"url", "title", "excerpt", "folder", "created"} <= names:
        return "raindrop-csv"
    if {"url", "title", "time_added"} <= names:
        return "pocket-csv"
    if "url" in names or {"id", "text"} <= names:
        return "csv"
    return None


def read_row(row: Any, shape: str, provider: str) -> Bookmark:
    """The bookmark in a CSV row."""
    if isinstance(row, str):
        raise BadRow(row)
    if not isinstance(row, dict):
        raise BadRow(f"it has {len(row)} fields where the header has another number")
    if shape == "twitter-web-exporter-csv":
        fields = {name: _unpacked(name, value) for name, value in row.items()}
        return read_post(fields, provider)
    if shape == "spreadsheet-csv":
        return read_post(row, provider)
    lower = {name.lower(): value for name, value in row.items()}
    if shape == "csv" and lower.get("id") and (lower.get("text") or lower.get("full_text")):
        return read_post(lower, provider)
    found = page(
        lower.get("url", ""), title=lower.get("title", ""), text=lower.get("excerpt") or lower.get("selection") or ""
    )
    tags = lower.get("tags", "")
    found.extras = {
        "savedAt": time_of(lower.get("time_added") or lower.get("created") or lower.get("timestamp") or ""),
        "tags": [clean(tag, 100) for tag in texts_of(tags.replace("|", ",").strip("[]").replace('"', ""))][:100],
        "note": clean(lower.get("note"), 10_000),
        "folder": clean(lower.get("folder"), 200),
    }
    if lower.get("cover", "").startswith("https:"):
        found.images = [lower["cover"]]
    return found


def _unpacked(name: str, value: str) -> Any:
    """A field of twitter-web-exporter: objects are JSON text, line ends are written as backslash and n."""
    if name in {"media", "metadata", "quoted_status", "tags"} and value[:1] in {"[", "{"}:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value.replace("\\n", "\n") if name == "full_text" else value
