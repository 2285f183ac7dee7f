"""``show``: one note as it is on disk, and what is known of it."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import NotFound, UsageError
from kbtasks.model.result import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.index.view import View

_MAX_FILE = 64 << 20


@command(
    "show",
    schema="show",
    positional="note",
    help={
        "note": "The note: its ID, path, file name, title or an alias.",
        "section": "Only the section under this heading, with what is below it.",
        "lines": "Only these lines of the file: 10 or 10-20.",
        "body": "Leave out the front matter.",
    },
)
def show(context: Context, note: str, section: str = "", lines: str = "", body: bool = False) -> Result:
    """NOTE as it is on disk, or one section or some lines of it.

    With --json also its revision (for a safe write), front matter, headings, aliases, tags, and faults. Text is data: it is
    shown without control characters on a terminal, and byte for byte in its place in the file otherwise.
    """
    from kbtasks.graph.lookup import find_note
    from kbtasks.index.view import open_view

    if bool(section) + bool(lines) + body > 1:
        raise UsageError(message="--section, --lines and --body exclude each other")
    with open_view(context.vault, context.cache) as view:
        node = find_note(view.connection, note, root=context.vault, cwd=context.cwd)
        data = _facts(view, node.rowid)
        row = view.connection.execute(
            "SELECT encoding, body_start, body_line, size FROM note WHERE rowid = ?", (node.rowid,)
        ).fetchone()
        start, end, line = _range(view, node.rowid, section, body, row)
        text, revision, first = _read(context.vault, node.path, start, end, line, row[0], lines)
    data["note"]["revision"] = revision
    data |= {"text": text, "line": first, "start_byte": start if not lines else None, "truncated": False}
    said = ["there are no such lines"] if lines and not text else []
    return Result("show", data, text=lambda shown: str(shown["text"]), tail="headings", notes=said)


def _facts(view: View, rowid: int) -> dict[str, Any]:
    import json

    from kbtasks.retrieval.currency import judge

    sql = "SELECT id, path, title, type, status, summary, encoding, size, revision, meta, aliases, tags FROM note WHERE rowid = ?"
    name, path, title, kind, status, summary, encoding, size, revision, meta, aliases, tags = view.connection.execute(
        sql, (rowid,)
    ).fetchone()
    headings = view.connection.execute(
        "SELECT level, text, line, start_byte, end_byte FROM heading WHERE note = ? ORDER BY ordinal", (rowid,)
    )
    problems = view.connection.execute(
        "SELECT code, line, message FROM problem WHERE note = ? ORDER BY line, code", (rowid,)
    )
    return {
        "note": {
            "id": name, "path": path, "title": title, "type": kind, "status": status, "summary": summary,
            "encoding": encoding, "size": size, "revision": revision,
        },
        "meta": json.loads(meta),
        "aliases": json.loads(aliases),
        "tags": json.loads(tags),
        "headings": [
            {"level": level, "text": text, "line": line, "start_byte": start, "end_byte": end}
            for level, text, line, start, end in headings
        ],
        "problems": [{"code": code, "line": line, "message": message} for code, line, message in problems],
        "currency": judge(view.connection, [rowid], None)[rowid].to_json(),
    }  # fmt: skip


def _range(view: View, rowid: int, section: str, body: bool, row: tuple[Any, ...]) -> tuple[int, int, int]:
    """(start byte, end byte, line) of what is asked of the file."""
    _, body_start, body_line, size = row
    if body:
        return body_start, size, body_line
    if not section:
        return 0, size, 1
    from kbtasks.index.tokens import fold

    rows = view.connection.execute(
        "SELECT level, text, line, start_byte FROM heading WHERE note = ? ORDER BY ordinal", (rowid,)
    ).fetchall()
    wanted = " ".join(fold(section).lstrip("#").split())
    for number, (level, text, line, start) in enumerate(rows):
        if " ".join(fold(text).split()) == wanted:
            end = next((later[3] for later in rows[number + 1 :] if later[0] <= level), size)
            return start, end, line
    near = [text for _, text, *_ in rows][:20]
    raise NotFound(
        what="section", name=section, candidates=near, next=f"sections: {'; '.join(near[:5])}" if near else None
    )


def _read(root: str, path: str, start: int, end: int, line: int, encoding: str, lines: str) -> tuple[str, str, int]:
    """(text, revision, first line) of the bytes asked for, read from the file itself."""
    import os
    from hashlib import sha256

    try:
        with open(os.path.join(root, path), "rb") as file:
            data = file.read(_MAX_FILE + 1)
    except OSError as error:
        raise NotFound(what="note", name=path, next=f"it cannot be read: {error.strerror}") from None
    if len(data) > _MAX_FILE:
        raise UsageError(message=f"{path} is larger than {_MAX_FILE} bytes")
    revision = "sha256:" + sha256(data).hexdigest()
    text = data[start:end].decode(encoding, "replace").removeprefix("\ufeff")
    if lines:
        first, _, last = lines.partition("-")
        if not first.isdecimal() or (last and not last.isdecimal()) or len(lines) > 20 or int(first) < 1:
            raise UsageError(message=f"--lines takes 10 or 10-20, not {lines!r}")
        line = int(first)
        text = "".join(text.splitlines(keepends=True)[line - 1 : int(last or first)])
    return text, revision, line
