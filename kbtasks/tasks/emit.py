"""How a Result or an error leaves the process: one JSON document, or text for a person."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.errors import KbError
    from kbtasks.model.result import Result

#: Control characters other than tab and newline, and the bidirectional controls: they can rewrite a terminal.
_HIDDEN = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160))) | dict.fromkeys(
    (1564, 8206, 8207, *range(8234, 8239), *range(8294, 8298))
)

#: Fields that say what a document is about: without them the others mean nothing.
_KEPT_LONGEST = frozenset(("note", "id", "path", "query"))


def for_terminal(text: str) -> str:
    """``text`` without control and bidirectional characters (tabs and newlines stay); lone surrogates become U+FFFD."""
    return text.translate(_HIDDEN).encode("utf-8", "replace").decode("utf-8")


def to_json(document: Any) -> str:
    """Compact JSON on one line; text that is not UTF-8 on disk (lone surrogates) is written as ``\\udcXX`` escapes."""
    import json

    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(document, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text


def bounded(document: dict[str, Any], limit: int, tail: str | None) -> str:
    """The JSON of ``document`` within ``limit`` bytes (0: no limit): items of the list ``tail`` go first, from the end.

    Where that is not enough, the largest other fields go, the note that is spoken of last of all; then the document is
    only its schema and ``truncated``.
    """
    text = to_json(document)
    if not limit or len(text.encode()) <= limit:
        return text
    document = dict(document)
    if tail and isinstance(document.get(tail), list):
        items = document[tail]
        low, high = 0, len(items)
        while low < high:
            middle = (low + high + 1) // 2
            shorter = to_json({**document, tail: items[:middle], "truncated": True, "omitted": len(items) - middle})
            if len(shorter.encode()) <= limit:
                low = middle
            else:
                high = middle - 1
        document.update({tail: items[:low], "truncated": True, "omitted": len(items) - low})
        text = to_json(document)
    optional = sorted(
        (key for key in document if key not in {"schema", "truncated", "total", "omitted", tail}),
        key=lambda key: (key not in _KEPT_LONGEST, len(to_json(document[key]))),
    )
    while len(text.encode()) > limit and optional:
        del document[optional.pop()]
        document["truncated"] = True
        text = to_json(document)
    return text


def emit(result: Result, context: Context) -> int:
    """Print ``result`` on stdout and its notes on stderr; return the exit code."""
    document = result.to_json()
    if context.validate:
        from kbtasks import schema

        schema.check(result.kind, document, what="the output")
    if not context.quiet:
        for note in result.notes:
            sys.stderr.write(for_terminal(note) + "\n")
    if context.json:
        data = (bounded(document, context.max_bytes, result.tail) + "\n").encode("utf-8")
        if 0 < context.max_bytes < len(data) - 1:
            sys.stderr.write(f"the least that can be said takes {len(data) - 1} bytes, not {context.max_bytes}\n")
        _write(data)
    elif result.raw is not None:
        if 0 < context.max_bytes < len(result.raw):
            sys.stderr.write(f"it takes {len(result.raw)} bytes, not {context.max_bytes}: this form is never cut\n")
        _write(result.raw)
    else:
        text = result.text(result.data) if result.text else generic(result.data)
        if text:
            data = (for_terminal(text).rstrip("\n") + "\n").encode("utf-8")
            if context.max_bytes and len(data) > context.max_bytes:
                kept, whole, _ = data[: context.max_bytes].rpartition(b"\n")
                if not whole:  # not even one line: what fits of it, no character cut in two
                    kept = data[: context.max_bytes - 1].decode("utf-8", "ignore").encode()
                data = kept + b"\n" if kept else b""
                sys.stderr.write(f"cut to {context.max_bytes} bytes\n")
            _write(data)
    return result.exit_code


def emit_error(error: KbError, *, json: bool) -> int:
    """Print ``error``: JSON on stdout with ``--json``, else one or two lines on stderr; return its exit code."""
    if json and _written((to_json(error.to_json()) + "\n").encode("utf-8")):
        return error.exit_code
    lines = [f"kb: {error.message}"]
    if error.next:
        lines.append(f"  next: {error.next}")
    sys.stderr.write(for_terminal("\n".join(lines)) + "\n")
    return error.exit_code


def generic(data: dict[str, Any]) -> str:
    """A plain rendering: scalars as ``name: value``, then one line per item of each list of records."""
    lines = []
    for key, value in data.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines.append(f"{key} ({len(value)}):")
            lines += ["  " + _line(item) for item in value]
        elif isinstance(value, list):
            lines.append(f"{key}: {in_words(value) or 'none'}")
        elif isinstance(value, dict):
            lines.append(f"{key}: {_line(value)}")
        elif value is not None and not (key == "truncated" and value is False):
            lines.append(f"{key}: {in_words(value)}")
    return "\n".join(lines)


def _line(item: dict[str, Any]) -> str:
    return "  ".join(f"{key}={in_words(value)}" for key, value in item.items() if value not in (None, "", [], {}))


def in_words(value: Any) -> str:
    """A value as a person reads it: yes and no, lists with commas, records in brackets."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(in_words, value))
    return f"({_line(value)})" if isinstance(value, dict) else str(value)


def _written(data: bytes) -> bool:
    """Whether stdout took ``data``: it may be what the error is about (a full disk, a reader that went)."""
    import os

    try:
        _write(data)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return False
    return True


def _write(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
