"""Faults of the resource memory; the words Stale, Conflicting and Duplicate are part of the compatible contract."""

from __future__ import annotations

from kbtasks.errors import Conflict, NotFound, Unavailable, UsageError


class InvalidRecord(UsageError):
    """{what} is not valid: at {pointer}: {rule}.

    pointer is an RFC 6901 JSON pointer into the document that was given.
    """

    code = "invalid-record"

    def __init__(self, *, what: str, pointer: str, rule: str, next: str | None = None) -> None:
        super().__init__(next=next, what=what, pointer=pointer or "/", rule=rule)
        self.rule = rule
        self.pointer = pointer or "/"


class NotJson(UsageError):
    """{what} is not strict JSON: {reason}."""

    code = "not-json"


class DuplicateRecord(UsageError):
    """Duplicate resource {id} in one batch: items {first} and {second}."""

    code = "duplicate-record"


class StaleRecord(Conflict):
    """Stale update of {id}: {given} is not later than {stored}; nothing was changed."""

    code = "stale"


class ConflictingRecord(Conflict):
    """Conflicting update of {id}: its updatedAt {given} is that of the stored record but the content differs."""

    code = "conflicting"


class StaleReview(Conflict):
    """Stale review of {id}: {reason}; nothing was changed."""

    code = "stale"


class NoRecord(NotFound):
    """The resource {id} was not found."""

    code = "not-found"


class DamagedStore(Unavailable):
    """The resource store {path} is damaged and was left as it is: {reason}."""

    code = "damaged-store"


class ForeignStore(Unavailable):
    """{path} is not a resource store and was left as it is: {reason}."""

    code = "foreign-store"


class NotConfigured(Unavailable):
    """No memory provider is configured: the records stay local and unsynced, and nothing was sent."""

    code = "not-configured"


class MassChange(Conflict):
    """{message}"""

    code = "mass-change"


class AdapterFailed(Unavailable):
    """The adapter did not confirm: {reason}."""

    code = "adapter-failed"
