"""A lane: one way of finding candidates, with how far it got, so that a result can say what it left out."""

from __future__ import annotations

from time import monotonic

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from types import TracebackType
    from typing import Any


class Lane:
    """How a lane answered: ``status`` ready, degraded or unavailable, why, and how many candidates it gave.

    wanted: it was asked for, by name or as part of the mode asked for; a lane that is wanted and not ready makes the
    result partial. seconds: its deadline, from when it was made.
    """

    __slots__ = ("candidates", "deadline", "message", "name", "started", "status", "took", "wanted")

    def __init__(self, name: str, *, seconds: float, wanted: bool = True) -> None:
        self.name = name
        self.status = "ready"
        self.message: str | None = None
        self.candidates = 0
        self.wanted = wanted
        self.started = monotonic()
        self.deadline = self.started + seconds
        self.took = 0.0

    def worsen(self, status: str, message: str) -> None:
        """Lower the status to ``status`` (never raise it); the first message stays."""
        if self.status != "unavailable":
            self.status = status
        self.message = self.message or message

    def late(self) -> bool:
        """Whether the deadline has passed."""
        return monotonic() > self.deadline

    def done(self, candidates: int) -> None:
        """Note the end of the lane's work."""
        self.candidates = candidates
        self.took = monotonic() - self.started

    @property
    def partial(self) -> bool:
        """Whether something that was asked for is missing because of this lane."""
        return self.wanted and self.status != "ready"

    def to_json(self) -> dict[str, Any]:
        """The lane as the result shows it."""
        return {
            "name": self.name,
            "status": self.status,
            "message": self.message,
            "candidates": self.candidates,
            "milliseconds": round(self.took * 1000, 1),
        }


class within:  # noqa: N801 (reads as a word of the language: with within(lane, connection))
    """Context: SQL on ``connection`` is broken off at the lane's deadline, and the lane is then degraded."""

    def __init__(self, lane: Lane, connection: Connection) -> None:
        self._lane = lane
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.set_progress_handler(self._lane.late, 20_000)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> bool:
        self._connection.set_progress_handler(None, 0)
        if value is not None and self._lane.late() and "interrupted" in str(value):
            self._lane.worsen("degraded", "stopped at its deadline")
            return True
        return False
