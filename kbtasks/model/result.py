"""The value every task returns: one JSON document, an exit code, and what goes to stderr."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Result:
    """A finished task: ``data`` is emitted as ``{"schema": "kbtasks/<kind>/1", **data}``.

    kind: name of the document's schema file, without suffix.
    data: JSON-able mapping; lists carry their noun beside ``total`` and ``truncated``.
    exit_code: 0, 3 (findings) or 9 (partly done); anything else is a KbError.
    text: renders ``data`` for a person (called only without ``--json``); None means a generic rendering.
    notes: short lines for stderr (warnings, counts).
    raw: bytes for stdout as they are, instead of text (a Markdown block, DOT, a site page); ignored with ``--json``.
    tail: name of the list in ``data`` that ``--max-bytes`` may shorten from its end.
    """

    __slots__ = ("data", "exit_code", "kind", "notes", "raw", "tail", "text")

    def __init__(
        self,
        kind: str,
        data: dict[str, Any],
        *,
        exit_code: int = 0,
        text: Callable[[dict[str, Any]], str] | None = None,
        notes: list[str] | None = None,
        raw: bytes | None = None,
        tail: str | None = None,
    ) -> None:
        self.kind = kind
        self.data = data
        self.exit_code = exit_code
        self.text = text
        self.notes = notes or []
        self.raw = raw
        self.tail = tail

    def to_json(self) -> dict[str, Any]:
        """The whole document, schema name first."""
        return {"schema": f"kbtasks/{self.kind}/1", **self.data}
