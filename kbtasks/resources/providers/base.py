"""What a provider is: it takes changes, confirms each or says why not, reads back, and searches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import Any

    Resource = dict[str, Any]


class Change:
    """One record or deletion to send: ``resource`` is None for a deletion, ``at`` its updatedAt or deletedAt."""

    __slots__ = ("at", "id", "resource", "revision")

    def __init__(self, identity: str, revision: str, at: str, resource: Resource | None) -> None:
        self.id = identity
        self.revision = revision
        self.at = at
        self.resource = resource

    @property
    def operation(self) -> str:
        """``upsert`` or ``delete``."""
        return "delete" if self.resource is None else "upsert"


class Outcome:
    """What became of a change. state: ``confirmed``, ``refused`` (nothing changed there), ``uncertain`` or ``not_started``."""

    __slots__ = ("error", "id", "silent", "state")

    def __init__(self, identity: str, state: str, error: str | None = None, *, silent: bool = False) -> None:
        """silent: the provider did not answer at all; after a few of those in a row a sync gives up for now."""
        self.id = identity
        self.state = state
        self.error = error
        self.silent = silent


class Provider(Protocol):
    """A destination. ``key`` names its configuration in receipts, ``batch`` is how many changes one call may take."""

    kind: str
    key: str
    batch: int

    def send(self, changes: list[Change]) -> list[Outcome]:
        """Apply ``changes`` and say what became of each, in order; never raises for a single change."""

    def search(self, query: str, limit: int) -> list[Resource]:
        """At most 50 valid resources that answer ``query``; a KbError where the provider cannot."""

    def read_back(self, changes: list[Change]) -> dict[str, str | None]:
        """What the provider holds now, by id: the revision, ``deleted``, None for nothing, ``unknown`` where it cannot say."""

    def count(self) -> int | None:
        """How many live records of ours it holds, None where it cannot say."""

    def close(self) -> None:
        """Let go of what is open."""
