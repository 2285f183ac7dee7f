"""The bookmark file that browsers write (``NETSCAPE-Bookmark-file-1``), with its folders, tags and descriptions.

The file is walked once from start to end, whatever is broken in it: no mark is looked for again after the end of the
file was reached without it.
"""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

from kbtasks.resources.importers.bookmark import BadRow, Bookmark, clean, page, texts_of, time_of

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_FOLDERS = 64
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9]*)(?=[\s/>])", re.ASCII)
_ATTRIBUTE = re.compile(r"""[\s/]*([^\s/>=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?""", re.ASCII)
_TAG_END = re.compile(r"[\s/=]*>?", re.ASCII)
#: A character reference that no character has; its digits may be too many for a number.
_NO_CHARACTER = re.compile(r"&#(?:[0-9]{8,}|[xX][0-9a-fA-F]{7,});?")


class _Reader:
    """Collects links with the folders they stand in; needs no closing tags, as the files have few."""

    def __init__(self) -> None:
        self.rows: list[dict[str, str]] = []
        self.folders: list[str] = []
        self.heading: str | None = None
        self.collecting = ""
        self.words: list[str] = []

    def open(self, tag: str, given: dict[str, str]) -> None:
        """A start tag."""
        if tag in {"a", "h3", "dd", "dt", "dl"}:
            self.close()
        if tag == "a":
            names = self.folders[:MAX_FOLDERS]
            self.rows.append({**given, "folder": "/".join(name for name in names if name)})
            self.collecting = "title"
        elif tag == "h3":
            self.collecting = "heading"
        elif tag == "dd" and self.rows:
            self.collecting = "text"
        elif tag == "dl":
            self.folders.append(self.heading or "")
            self.heading = None

    def end(self, tag: str) -> None:
        """An end tag."""
        if tag in {"a", "h3", "dl"}:
            self.close()
        if tag == "dl" and self.folders:
            self.folders.pop()

    def close(self) -> None:
        """What was collected belongs to the link or heading before it."""
        text = " ".join(_plain("".join(self.words)).split())
        if self.collecting == "heading":
            self.heading = text.replace("/", " ")
        elif self.collecting:
            self.rows[-1][self.collecting] = text
        self.collecting = ""
        self.words = []


def _plain(text: str) -> str:
    return unescape(_NO_CHARACTER.sub("\ufffd", text))


def _attributes(text: str, at: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag from ``at`` on (the first of a name counts), and where the tag ends."""
    given: dict[str, str] = {}
    while found := _ATTRIBUTE.match(text, at):
        value = next((part for part in found.group(2, 3, 4) if part is not None), "")
        given.setdefault(found[1].lower(), _plain(value))
        at = found.end()
    rest = _TAG_END.match(text, at)
    return given, rest.end() if rest else at


def _pieces(text: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """(``text``, ``open`` or ``end``; the text or the tag's name; attributes), in order."""
    at = 0
    ends = {"<!--": "-->", "<!": ">", "<?": ">"}
    while (mark := text.find("<", at)) >= 0:
        yield "text", text[at:mark], {}
        skipped = next((start for start in ends if text.startswith(start, mark)), None)
        tag = _TAG.match(text, mark)
        if skipped:
            # One that never ends is passed over as a mark: what follows it in a damaged file is still read.
            stop = text.find(ends[skipped], mark + len(skipped))
            if stop < 0:
                del ends[skipped]
                at = mark + len(skipped)
            else:
                at = stop + len(ends[skipped])
        elif tag:
            given, at = _attributes(text, tag.end())
            yield "end" if text[mark + 1] == "/" else "open", tag[1].lower(), given
        else:
            yield "text", "<", {}
            at = mark + 1
    yield "text", text[at:], {}


def rows_of(text: str) -> list[dict[str, str]]:
    """The links of a bookmark file: attributes in lower case, ``title``, ``text`` and ``folder``."""
    reader = _Reader()
    for kind, value, given in _pieces(text):
        if kind == "open":
            reader.open(value, given)
        elif kind == "end":
            reader.end(value)
        elif reader.collecting:
            reader.words.append(value)
    reader.close()
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
