"""The derived artefacts of a vault, one row each: what makes it, when it is up to date, what must be made before.

A new target is one more row here (and, where it is to run by default, one more default). Its functions get the
``Build``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kbtasks.errors import KbError, Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from kbtasks.build.session import Build


class Target:
    """One derived artefact.

    name: as in ``--only``. after: targets that come first (order only, not staleness). default: made by a plain
    refresh. state: says why it must be made, or ``""`` when it is up to date; it is asked when the target is reached.
    make: makes it and says what was done, in a few words.
    summary: one line for ``doit list``.
    """

    __slots__ = ("after", "default", "make", "name", "state", "summary")

    def __init__(
        self,
        name: str,
        summary: str,
        make: Callable[[Build], str],
        state: Callable[[Build], str] | None,
        *,
        after: tuple[str, ...] = (),
        default: bool = True,
    ) -> None:
        self.name = name
        self.summary = summary
        self.make = make
        self.state = state
        self.after = after
        self.default = default


def _scan(build: Build) -> str:
    return build.scan()


def _make_part(name: str) -> Callable[[Build], str]:
    return lambda build: build.make_part(name)


def _part_state(name: str) -> Callable[[Build], str]:
    return lambda build: build.part_state(name)


def _catalog_state(build: Build) -> str:
    from kbtasks.index import catalog

    state = catalog.catalog_state(build.view())
    build.catalog = state
    if state == catalog.STALE:
        return "titles, summaries or folders changed, or the region was edited by hand"
    return "asked for with --force" if build.force and state == catalog.CURRENT else ""


def _make_catalog(build: Build) -> str:
    return build.make_catalog()


def _backlinks_state(build: Build) -> str:
    from kbtasks.index import backlinks

    recorded = backlinks.recorded_input(build.cache)
    if recorded is None:
        return "it is not there yet"
    if recorded != backlinks.input_digest(build.view()):
        return "links or what they mean changed"
    return "asked for with --force" if build.force else ""


def _make_backlinks(build: Build) -> str:
    from kbtasks.index.backlinks import view_path, write_backlinks

    try:
        return f"{write_backlinks(build.view())} notes with backlinks"
    except OSError as error:
        path = view_path(build.cache)
        raise Unavailable(
            message=f"{path} cannot be written: {error.strerror}", next="take away what lies there: it is derived"
        ) from None


def _vectors_state(build: Build) -> str:
    from kbtasks.index import modelfile, vectors

    if build.forced("vectors"):
        return "asked for with --force"
    if modelfile.find() is None:
        return "the semantic extra is not installed"
    return "" if vectors.is_current(build.view().connection, build.cache) else "notes changed since, or there are none"


def _make_vectors(build: Build) -> str:
    from kbtasks.index import vectors

    if build.forced("vectors"):
        vectors.discard(build.cache)
    view = build.view()
    progress = partial(build.progress, what="Encoding sections") if build.progress else None
    done = vectors.build(view.connection, build.cache, progress=progress, threads=vectors.processors())
    return f"{done.encoded} pieces encoded, {done.reused} kept"


def _make_check(build: Build) -> str:
    from kbtasks.graph import check

    found = check.find_faults(build.view().connection, repository=None, obsidian=False)
    errors = sum(not finding.advice for finding in found)
    if errors:
        raise FaultsFound(count=errors, next="kb check")
    return f"no faults, {len(found)} pieces of advice"


class FaultsFound(KbError):
    """The vault has {count} faults."""

    code, exit_code = "faults", 3


# fmt: off
TARGETS: tuple[Target, ...] = (
    Target("scan", "Sweep the vault and bring index.db up to date with it", _scan, None),
    Target("structure", "Notes, names, headings, tags and links as written, in index.db",
           _make_part("structure"), _part_state("structure"), after=("scan",)),
    Target("links", "What every link means, in index.db",
           _make_part("links"), _part_state("links"), after=("structure",)),
    Target("search", "The search tables of index.db",
           _make_part("search"), _part_state("search"), after=("structure",)),
    Target("catalog", "The marked region of the catalog page", _make_catalog, _catalog_state, after=("structure",)),
    Target("backlinks", "views/backlinks.json", _make_backlinks, _backlinks_state, after=("links",)),
    Target("vectors", "Vectors for semantic search",
           _make_vectors, _vectors_state, after=("search",), default=False),
    Target("check", "All faults of the vault; fails when there are any", _make_check, None,
           after=("links",), default=False),
)
# fmt: on


def closure(names: list[str]) -> list[str]:
    """``names`` and what comes before them, in the table's order."""
    wanted = set(names)
    for target in reversed(TARGETS):
        if target.name in wanted:
            wanted.update(target.after)
    return [target.name for target in TARGETS if target.name in wanted]
