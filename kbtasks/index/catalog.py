"""The catalog page: the marked region of ``index.md`` that lists every note, in vaults that asked for it.

The region is rendered from the index, sorted and grouped by folder. It records the digest of what it was made from and
of its own lines in a comment, so that whether it is up to date is known without rendering it, and an edit by hand is
noticed. Text outside the marks is never touched.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from kbtasks import fsio
from kbtasks.errors import Unavailable, UsageError
from kbtasks.index import facets
from kbtasks.index.region import region

if TYPE_CHECKING:
    from kbtasks.index.view import View

#: What the page is: ``absent`` (no page), ``authored`` (kept by its author), ``unmarked`` (a page without the marks),
#: ``current`` or ``stale``.
ABSENT, AUTHORED, UNMARKED, CURRENT, STALE = "absent", "authored", "unmarked", "current", "stale"

#: Version of the rendering: a region made by another one is stale.
_RULES = "1"
_DIGEST = b"<!-- kb:catalog:digest "
_MAX_PAGE = 64 << 20
#: What a wikilink cannot hold in its target or label, or what would begin something else in the page.
_SPECIAL = re.compile(r"[\[\]|#^\\<>]|%%")
_HIDDEN = dict.fromkeys((*range(32), *range(127, 160), 1564, 8206, 8207, *range(8234, 8239), *range(8294, 8298)), " ")


def catalog_state(view: View) -> str:
    """What the catalog page is now; MalformedCatalog where its marks are, UsageError for an unknown ``kb_catalog``."""
    data = _read_page(view)
    if data is None:
        return ABSENT
    mode = _mode(view)
    if mode == AUTHORED:
        return AUTHORED
    found = region(data, path=view.settings.index_note)
    if found is None:
        return UNMARKED
    start, end = found
    return CURRENT if _is_current(data[start:end], input_digest(view)) else STALE


def input_digest(view: View) -> str:
    """The digest of everything the region is made from."""
    return f"{_RULES}-{facets.digest(view.connection, 'catalog')}"


def render_catalog(view: View, *, limit: int = 0) -> str:
    """The listing as Markdown: a heading per folder, a line per note; at most ``limit`` notes (0: all)."""
    rows = view.connection.execute(
        "SELECT folder, title, path, id, summary, type, status FROM note WHERE generated = 0"
    ).fetchall()
    rows.sort(key=lambda row: (row[0], _plain(row[1]).casefold(), row[2]))
    lines: list[str] = []
    folder = None
    for note in rows[: limit or None]:
        if note[0] != folder:
            folder = note[0]
            lines += ["", f"## {_escaped(_plain(folder)) or 'Notes'}", ""]
        lines.append(_line(*note[1:]))
    return "\n".join(lines[1:]) + "\n" if lines else ""


def update_catalog(root: str, cache: str, *, dry_run: bool = False) -> list[dict[str, object]]:
    """Bring the region up to date; one entry ``{path, applied, message, diff}`` when the page differs, else none.

    dry_run: only show how. Raises MalformedCatalog, UsageError (unknown mode), RevisionConflict when someone else
    writes the page at this moment, Busy, Unavailable where it cannot be written.
    """
    from kbtasks.index.view import open_view

    with open_view(root, cache) as view:
        path = view.settings.index_note
        if catalog_state(view) != STALE:
            return []
        data = _read_page(view) or b""
        start, end = region(data, path=path) or (0, 0)
        made = _region_text(view, input_digest(view), b"\r\n" if b"\r\n" in data else b"\n")
        status = os.stat(os.path.join(root, path))
    new = data[:start] + made + data[end:]
    entry: dict[str, object] = {
        "path": path,
        "applied": not dry_run,
        "message": "the catalog's region lists what the vault holds now",
        "diff": diff_of(path, data, new),
    }
    if dry_run:
        return [entry]
    full = os.path.join(root, path)
    try:
        os.makedirs(cache, exist_ok=True)
        with fsio.Lock(os.path.join(cache, "catalog.lock"), what="the catalog page", wait=5.0):
            fsio.atomic_write(full, new, mode=status.st_mode & 0o777, expected=fsio.revision(data))
    except OSError as error:
        raise Unavailable(message=f"{path} cannot be written: {error.strerror}") from None
    return [entry]


def _read_page(view: View) -> bytes | None:
    if view.note_id(view.settings.index_note) is None:
        return None  # no note of this vault: it is not there, ignored, or would be reached through a link or ``..``
    path = os.path.join(view.root, view.settings.index_note)
    try:
        if os.path.islink(path) or not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            data = file.read(_MAX_PAGE + 1)
    except OSError:
        return None
    return None if len(data) > _MAX_PAGE else data


def _mode(view: View) -> str:
    from json import loads

    row = view.connection.execute("SELECT meta FROM note WHERE path = ?", (view.settings.index_note,)).fetchone()
    mode = loads(row[0]).get("kb_catalog", "managed") if row is not None else "managed"
    if mode not in ("managed", AUTHORED):
        raise UsageError(
            message=f"{view.settings.index_note}: kb_catalog is {mode!r}; it may be managed or authored",
            next="mend the front matter of the page",
        )
    return str(mode)


def _is_current(made: bytes, digest: str) -> bool:
    head, _, listing = made.partition(b"\n")
    return head.strip() == _stamp(digest, listing)


def _stamp(digest: str, listing: bytes) -> bytes:
    """The comment that says what the region was made from, and what it was when it was made (however lines end)."""
    from hashlib import blake2b

    own = blake2b(listing.replace(b"\r\n", b"\n"), digest_size=8).hexdigest()
    return _DIGEST + f"{digest} {own} -->".encode()


def _region_text(view: View, digest: str, newline: bytes) -> bytes:
    listing = ("\n" + render_catalog(view) + "\n").encode("utf-8", "surrogateescape")
    return (_stamp(digest, listing) + b"\n" + listing).replace(b"\n", newline)


def _line(title: str, path: str, id: str, summary: str, type: str | None, status: str | None) -> str:
    label = _plain(title) or _plain(id)
    if id.isprintable() and not _SPECIAL.search(id) and not _SPECIAL.search(label):
        link = f"[[{id}]]" if label == id else f"[[{id}|{label}]]"
    else:
        from urllib.parse import quote

        link = f"[{_escaped(label)}]({quote(os.fsencode(path))})"
    state = f" ({_escaped(_plain(status))})" if type == "plan" and status else ""
    words = _escaped(_plain(summary))
    return f"- {link}{state}" + (f": {words}" if words else "")


def _plain(text: str) -> str:
    """``text`` on one line, without control and bidirectional characters."""
    return " ".join(text.translate(_HIDDEN).split())


def _escaped(text: str) -> str:
    """``text`` so that it can neither end a link, nor begin a comment, link, tag or table cell in the page."""
    for char in "\\[]|<>#`*$%^":
        text = text.replace(char, "\\" + char) if char != "%" else text.replace("%%", "%\\%")
    return text


def diff_of(path: str, old: bytes, new: bytes) -> str:
    """How ``new`` differs from ``old``, as a unified diff with one line around each change."""
    from difflib import unified_diff

    before, after = (data.decode("utf-8", "replace").splitlines() for data in (old, new))
    return "\n".join(unified_diff(before, after, f"a/{path}", f"b/{path}", lineterm="", n=1))
