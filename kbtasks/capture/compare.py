"""Two captures of one source, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

MAX_LINES = 20_000


def body_lines(data: bytes) -> list[str]:
    """The lines of a note's body, front matter and blank lines left out."""
    text = data.decode("utf-8", "replace")
    if text.startswith("---\n"):
        text = text.partition("\n---\n")[2]
    return [line for line in text.split("\n") if line.strip()]


def changes(old: bytes, new: bytes) -> tuple[list[dict[str, Any]], bool]:
    """Lines removed and added from ``old`` to ``new`` in order, and whether only the first 20,000 lines were compared."""
    from rapidfuzz.distance import Indel

    before, after = body_lines(old), body_lines(new)
    cut = len(before) > MAX_LINES or len(after) > MAX_LINES
    before, after = before[:MAX_LINES], after[:MAX_LINES]
    found: list[dict[str, Any]] = []
    for step in Indel.opcodes(before, after):
        if step.tag in ("delete", "replace"):
            found += [{"change": "removed", "text": line} for line in before[step.src_start : step.src_end]]
        if step.tag in ("insert", "replace"):
            found += [{"change": "added", "text": line} for line in after[step.dest_start : step.dest_end]]
    return found, cut
