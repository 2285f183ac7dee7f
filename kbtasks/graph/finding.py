"""One thing that ``check`` found."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Finding:
    """A fault or a piece of advice: a stable ``code``, the note's ``path``, a sentence, where, and what would mend it.

    line: from 1; 0 when the whole file is meant. advice: it does not fail a check. candidates: paths that may have
    been meant.
    fix: the command a person could type.
    """

    __slots__ = ("advice", "candidates", "code", "end", "fix", "line", "message", "path", "start", "target")

    def __init__(
        self,
        code: str,
        path: str,
        message: str,
        *,
        line: int = 0,
        start: int | None = None,
        end: int | None = None,
        advice: bool = False,
        target: str | None = None,
        candidates: Sequence[str] = (),
        fix: str | None = None,
    ) -> None:
        self.code = code
        self.path = path
        self.message = message
        self.line = line
        self.start = start
        self.end = end
        self.advice = advice
        self.target = target
        self.candidates = list(candidates)
        self.fix = fix

    def to_json(self) -> dict[str, Any]:
        """The finding as ``check`` shows it."""
        place = None if not self.line else {"line": self.line, "start_byte": self.start, "end_byte": self.end}
        return {
            "code": self.code,
            "severity": "advice" if self.advice else "error",
            "path": self.path,
            "place": place,
            "target": self.target,
            "message": self.message,
            "candidates": self.candidates,
            "fix": self.fix,
        }
