"""One run of the build: the vault, its view, and what each target did."""

from __future__ import annotations

import os
from threading import get_ident
from typing import TYPE_CHECKING

from kbtasks.errors import Unavailable

if TYPE_CHECKING:
    from typing import Protocol

    from kbtasks.index.update import Counts
    from kbtasks.index.view import View

    class Progress(Protocol):
        """Called with how many are ``done`` of ``total``; ``what`` names the work where it is not reading notes."""

        def __call__(self, done: int, total: int, what: str = ...) -> None:
            """Show it."""


#: Seconds that a refresh waits for another process's write.
WAIT = 10.0
_PARTS = ("structure", "links", "search")


class Outcome:
    """What became of one target: ``ran``, ``up-to-date``, ``would-run`` or ``failed``, and why."""

    __slots__ = ("did", "name", "state", "why")

    def __init__(self, name: str, state: str, why: str, did: str = "") -> None:
        self.name = name
        self.state = state
        self.why = why
        self.did = did

    def to_json(self) -> dict[str, str]:
        """The outcome as documents show it."""
        return {"name": self.name, "state": self.state, "why": self.why, "did": self.did}


class Build:
    """The state that targets share: at most one open view, looked at afresh after the catalog page was written.

    force: make again what is up to date. only: the targets asked for (empty: the defaults). progress: as in open_view.
    """

    def __init__(
        self,
        root: str,
        cache: str,
        *,
        force: bool = False,
        only: tuple[str, ...] = (),
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.root = root
        self.cache = cache
        self.force = force
        self.only = only
        self.dry_run = dry_run
        self.progress = progress
        self.catalog = ""
        self.outcomes: dict[str, Outcome] = {}
        self.errors: dict[str, Exception] = {}
        self.how = ""
        self.reason = ""
        self.counts: Counts | None = None
        self._views: dict[tuple[int, int], View] = {}
        self._rebuilt = False

    def forced(self, name: str) -> bool:
        """Whether ``name`` itself was asked to be made again."""
        return self.force and (not self.only or name in self.only)

    def view(self) -> View:
        """The vault as it is now; opened once by each process and thread (plain ``doit -n`` has several)."""
        view = self._views.get(_here())
        if view is None:
            from kbtasks.index.view import open_view

            view = open_view(
                self.root,
                self.cache,
                wait=WAIT,
                rebuild=not self.dry_run and not self._rebuilt and self.forced("structure"),
                read_only=self.dry_run,
                progress=self.progress,
            )
            self._rebuilt = True
            if not self.dry_run and not view.persistent:
                view.close()
                why = f": {view.fresh.reason}" if view.fresh.reason else ""
                raise Unavailable(message=f"the index in {self.cache} cannot be written{why}", next="kb doctor")
            self._views[_here()] = view
        return view

    def close(self) -> None:
        """Let go of this thread's view. One that came through a fork stays as it is: SQLite forbids to touch it."""
        view = self._views.pop(_here(), None)
        if view is not None:
            view.close()

    def scan(self) -> str:
        """Sweep, and apply what differs to index.db."""
        view = self.view()
        self.how, self.reason, self.counts = view.fresh.how, view.fresh.reason, view.fresh.counts
        if self.counts is None:
            return "nothing changed"
        counts = self.counts.to_json()
        words = [f"{counts[name]} {name}" for name in ("added", "changed", "removed", "unreadable") if counts[name]]
        return ", ".join(words) or "only times changed"

    def part_state(self, name: str) -> str:
        """Why a part of index.db must be made, or ``""``: it records the digest of what it was made from.

        The sweep's delta brings all three up to date in its one transaction; what remains is a part that was asked for
        with --force, or one that an older state left behind.
        """
        from kbtasks.index import facets

        connection = self.view().connection
        if facets.recorded(connection, name) != facets.digest(connection, name):
            return "its recorded input is not what the vault holds"
        if self.forced(name):
            return "asked for with --force"
        if self.counts is not None and self._touched(name):
            return "; ".join(filter(None, (self.reason, "notes changed" if name != "links" else "links changed")))
        return ""

    def _touched(self, name: str) -> bool:
        assert self.counts is not None
        return bool(self.counts.meanings) if name == "links" else self.counts.any

    def make_part(self, name: str) -> str:
        """Make a part of index.db from nothing, unless the sweep's transaction has just made it."""
        from kbtasks.index import facets, remake

        connection = self.view().connection
        current = facets.recorded(connection, name) == facets.digest(connection, name)
        fresh = self.how in ("built", "rebuilt")
        if current and (fresh or (not self.forced(name) and self.counts is not None)):
            assert self.counts is not None
            counts = self.counts
            if name == "links":
                return f"{counts.meanings} meanings"
            return f"{counts.added + counts.changed} notes written, {counts.removed} removed"
        self.close()
        return remake.remake(self.root, self.cache, name, wait=WAIT)

    def make_catalog(self) -> str:
        """Write the catalog page's region, and look at the page it has become."""
        from kbtasks.index.catalog import update_catalog

        self.close()
        changed = update_catalog(self.root, self.cache)
        self.view()
        self.catalog = "current"
        return f"{changed[0]['path']} rewritten" if changed else "the same as before"

    def summary(self) -> dict[str, object]:
        """What the result document says of the run."""
        return {
            "root": self.root,
            "index": {
                "how": self.how,
                "reason": self.reason,
                **(self.counts.to_json() if self.counts is not None else dict.fromkeys(_COUNTS, 0)),
            },
            "catalog": self.catalog or "not asked",
            "targets": [outcome.to_json() for outcome in self.outcomes.values()],
        }


def _here() -> tuple[int, int]:
    """The process and thread that is asking."""
    return os.getpid(), get_ident()


_COUNTS = ("added", "changed", "removed", "unreadable", "meanings")


def state_path(cache: str) -> str:
    """Where doit keeps its own state; losing it rebuilds nothing."""
    return os.path.join(cache, "doit.db")
