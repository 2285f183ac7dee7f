"""The file provider: a version 1 JSON store of the user's choice, readable by every agent of that format."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks import fsio
from kbtasks.errors import Refused, Unavailable
from kbtasks.resources import canonical, lexical
from kbtasks.resources.providers.base import Outcome
from kbtasks.resources.providers.filelock import V1Lock
from kbtasks.resources.v1 import MAX_BYTES, MAX_RECORDS, V1Store, parse_v1

if TYPE_CHECKING:
    from kbtasks.resources.providers.base import Change, Resource


class FileProvider:
    """The store at ``path`` (absolute, links resolved), created 0600 where it is missing, rewritten whole per batch."""

    kind = "file"
    batch = 500

    def __init__(self, path: str, key: str) -> None:
        self.path = path
        self.key = key

    def _load(self) -> V1Store:
        if os.path.exists(self.path) and not os.path.isfile(self.path):  # opening a pipe would wait for its writer
            raise Unavailable(
                message=f"{self.path} is not a regular file", next="name another file in the configuration"
            )
        try:
            with open(self.path, "rb") as file:
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return V1Store()
        except OSError as error:
            raise Unavailable(message=f"{self.path} cannot be read: {error.strerror}") from None
        return parse_v1(data, what=self.path)

    def send(self, changes: list[Change]) -> list[Outcome]:
        """Apply ``changes`` in one rewrite; a batch that would pass the format's limits is tried in halves."""
        try:
            fsio.make_private_directory(os.path.dirname(self.path))
        except OSError as error:
            raise Unavailable(message=f"{self.path} cannot be created: {error.strerror}") from None
        with V1Lock(self.path):
            return self._apply(changes)

    def _apply(self, changes: list[Change]) -> list[Outcome]:
        store = self._load()
        position = {resource["id"]: resource for resource in store.resources}
        outcomes = []
        before = (dict(position), dict(store.tombstones))
        for change in changes:
            error = _refusal(change, position, store)
            if error is None:
                _take(change, position, store)
                outcomes.append(Outcome(change.id, "confirmed"))
            else:
                outcomes.append(Outcome(change.id, "refused", error))
        same = (position, store.tombstones) == before and list(position) == list(before[0])
        # What is confirmed must stand in the file as it was sent, so an older spelling of a URL is rewritten too.
        if same and store.respelt.isdisjoint(change.id for change in changes):
            return outcomes
        store.resources = list(position.values())
        try:
            data = store.to_bytes()
        except Refused as error:
            if len(changes) == 1:
                return [Outcome(changes[0].id, "refused", error.message)]
            middle = len(changes) // 2
            return self._apply(changes[:middle]) + self._apply(changes[middle:])
        try:
            fsio.atomic_write(self.path, data, mode=0o600)
        except OSError as error:
            raise Unavailable(message=f"{self.path} cannot be written: {error.strerror}") from None
        fsio.step("file:written")
        return outcomes

    def search(self, query: str, limit: int) -> list[Resource]:
        """The file's records by the lexical rule; all of them (at most 50) where the query has no words."""
        asked = lexical.terms(query)
        scored = [
            (lexical.score(asked, resource)[0] if asked else 1, resource["id"], resource)
            for resource in self._load().resources
        ]
        best = sorted((item for item in scored if item[0] > 0), key=lambda item: (-item[0], item[1]))
        return [resource for _, _, resource in best[: max(limit, 50) if not asked else limit]]

    def read_back(self, changes: list[Change]) -> dict[str, str | None]:
        """The revision of each record in the file, ``deleted`` for a deletion, None for what is not there."""
        store = self._load()
        held = {resource["id"]: resource for resource in store.resources}
        found: dict[str, str | None] = {}
        for change in changes:
            if change.id in held:
                found[change.id] = canonical.digest(held[change.id])
            else:
                found[change.id] = "deleted" if change.resource is None or change.id in store.tombstones else None
        return found

    def count(self) -> int | None:
        """Records in the file; 0 where there is none."""
        return len(self._load().resources)

    def close(self) -> None:
        """Nothing stays open."""


def _refusal(change: Change, held: dict[str, Resource], store: V1Store) -> str | None:
    """Why ``change`` may not be applied: what the file holds is later, or of the same time and different."""
    there = held.get(change.id)
    if change.resource is None:
        if there is not None and there["updatedAt"] > change.at:
            return "The file holds a later edit of this record than its deletion."
        return None
    if there is not None and there["updatedAt"] > change.at:
        return "The file holds a later edit of this record."
    if there is not None and there["updatedAt"] == change.at and canonical.digest(there) != change.revision:
        return "The file holds a different record of the same time."
    gone = store.tombstones.get(change.id)
    if gone is not None and gone >= change.at:
        return "The file holds a later deletion of this record."
    return None


def _take(change: Change, held: dict[str, Resource], store: V1Store) -> None:
    if change.resource is None:
        held.pop(change.id, None)
        store.pending.pop(change.id, None)
        # A deletion leaves its mark, so that the file's own reader does not take the item up again; a full file, where
        # nothing was removed, does without.
        if change.id in store.tombstones or len(held) + len(store.tombstones) < MAX_RECORDS:
            store.tombstones[change.id] = max(change.at, store.tombstones.get(change.id, ""))
        return
    there = held.get(change.id)
    if there is not None and canonical.digest(there) == change.revision:
        return
    held.pop(change.id, None)
    store.tombstones.pop(change.id, None)
    held[change.id] = change.resource
