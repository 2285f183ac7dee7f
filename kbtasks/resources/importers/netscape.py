"""The bookmark file that browsers write (``NETSCAPE-Bookmark-file-1``), with its folders, tags and descriptions."""

from __future__ import annotations

from html.parser import HTMLParser

from kbtasks.resources.importers.bookmark import BadRow, Bookmark, clean, page, texts_of, time_of

MAX_FOLDERS = 64


class _Reader(HTMLParser):
    """Collects links with the folders they stand in; needs no closing tags, as the files have few."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[dict[str, str]] = []
        self.folders: list[str] = []
        self.heading: str | None = None
        self.collecting = ""
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in {"a", "h3", "dd", "dt", "dl"}:
            self._close()
        if tag == "a":
            self.rows.append({**given, "folder": "/".join(name for name in self.folders if name)})
            self.collecting = "title"
        elif tag == "h3":
            self.collecting = "heading"
        elif tag == "dd" and self.rows:
            self.collecting = "text"
        elif tag == "dl" and len(self.folders) < MAX_FOLDERS:
            self.folders.append(self.heading or "")
            self.heading = None

    def handle_endtag(self, tag: str) -> None:
        if tag in {"a", "h3", "dl"}:
            self._close()
        if tag == "dl" and self.folders:
            self.folders.pop()

    def handle_data(self, data: str) -> None:
        if self.collecting:
            self.words.append(data)

    def _close(self) -> None:
        text = " ".join("".join(self.words).split())
        if self.collecting == "heading":
            self.heading = text.replace("/", " ")
        elif self.collecting:
            self.rows[-1][self.collecting] = text
        self.collecting = ""
        self.words = []


def rows_of(text: str) -> list[dict[str, str]]:
    """The links of a bookmark file: attributes in lower case, ``title``, ``text`` and ``folder``."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    reader._close()
    return reader.rows


def read_row(row: dict[str, str]) -> Bookmark:
    """The bookmark in a link; BadRow for what is no https page."""
    if not row.get("href"):
        raise BadRow("the link has no address")
    found = page(row["href"], title=row.get("title", ""), text=row.get("text", ""))
    found.extras = {
        "savedAt": time_of(row.get("add_date") or row.get("time_added") or ""),
        "tags": [clean(tag, 100) for tag in texts_of(row.get("tags", ""))][:100],
        "folder": clean(row.get("folder"), 200),
    }
    return found
