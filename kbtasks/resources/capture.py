"""Capture: a file of bookmarks meets the store. The file is only read; deletions stay deleted, reviews stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.resources import canonical, records
from kbtasks.resources.design import made_stale, with_images
from kbtasks.resources.extras import merged, normal_extras
from kbtasks.resources.faults import InvalidRecord
from kbtasks.resources.importers.bookmark import BadRow
from kbtasks.resources.model import Reader, canonical_url, normal_resource, resource_of, with_limitation
from kbtasks.resources.review import queue
from kbtasks.resources.whatwg import parse_https, secret_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.resources.importers.bookmark import Bookmark
    from kbtasks.resources.importers.detect import Detected

#: The source key of records that a capture queued.
CAPTURE_KEY = canonical.digest({"kind": "capture", "scope": "personal"})
CHANGED_NOTE = "The captured text changed after the last review; review summary, purpose and uses again."
MAX_BYTES = 256 << 20
_PROGRESS_EVERY = 500


class Report:
    """What a capture did; rows = taken + repeated + problems."""

    def __init__(self, shape: str) -> None:
        self.shape = shape
        self.counts = records.Counts()
        self.rows = self.taken = self.repeated = self.queued = self.skipped_deleted = 0
        self.problems: list[dict[str, Any]] = []
        self.warnings: list[str] = []


def read_bookmarks(found: Detected) -> tuple[Report, dict[tuple[str, str], tuple[int, Bookmark]]]:
    """All bookmarks of a file by source and id (the last row of an id wins), with the rows that are none."""
    report = Report(found.shape)
    report.warnings += found.warnings
    bookmarks: dict[tuple[str, str], tuple[int, Bookmark]] = {}
    for row in found.rows:
        position = report.rows
        report.rows += 1
        try:
            bookmark = found.read(row)
        except BadRow as error:
            report.problems.append({"row": position, "reason": str(error)})
            continue
        key = (bookmark.provider, bookmark.id)
        if key in bookmarks:
            report.repeated += 1
            del bookmarks[key]
        bookmarks[key] = (position, bookmark)
    report.taken = len(bookmarks)
    return report, bookmarks


def capture(connection: Connection, found: Detected, *, progress: Callable[[int, int], None] | None = None) -> Report:
    """Take all bookmarks of ``found`` inside the caller's transaction; bad rows are reported and block nothing."""
    report, bookmarks = read_bookmarks(found)
    secrets = 0
    for done, (position, bookmark) in enumerate(bookmarks.values(), 1):
        try:
            secrets += _take(connection, bookmark, report)
        except InvalidRecord as error:
            report.problems.append({"row": position, "reason": f"{error.pointer}: {error.rule}"})
            report.taken -= 1
        if progress is not None and (done % _PROGRESS_EVERY == 0 or done == len(bookmarks)):
            progress(done, len(bookmarks))
    report.problems.sort(key=lambda problem: int(problem["row"]))
    if secrets:
        report.warnings.append(f"{secrets} URLs carry what looks like a secret; store them without")
    return report


def _take(connection: Connection, bookmark: Bookmark, report: Report) -> int:
    """Take one bookmark; returns 1 where its URL carries what looks like a secret."""
    reader = Reader("the bookmark")
    provider = bookmark.provider
    href = canonical_url(provider, bookmark.id, reader.url(bookmark.url, "/url"))
    identity = canonical.resource_id(provider, bookmark.id)
    if records.deleted_at(connection, identity) is not None:
        report.skipped_deleted += 1
        return 0
    stored = records.find(connection, identity)
    extras = safe_extras(bookmark.extras)
    images = [url for url in map(_safe_url, bookmark.images) if url]
    review = True
    if stored is None:
        resource = resource_of(provider, bookmark.id, href, bookmark.title, bookmark.text)
        resource["summary"] = bookmark.summary
        resource["updatedAt"] = canonical.now()
        design = with_images(None, list(dict.fromkeys(images)))
        if design is not None:
            resource["design"] = design
        resource = normal_resource(resource, reader)
        records.write(connection, resource, extras, None)
        report.counts.added += 1
    else:
        old = stored.resource
        resource = {**old, "source": {**old["source"], "url": href}, "text": bookmark.text}
        resource["summary"] = old["summary"] or bookmark.summary
        design = with_images(old.get("design"), list(dict.fromkeys(images)))
        review = resource["text"] != old["text"]
        if review:
            resource["limitations"] = with_limitation(old, CHANGED_NOTE)
            design = made_stale(design) if design else None
        if design is not None:
            resource["design"] = design
        extras = merged(stored.extras, extras)
        if resource == old:
            changed = records.set_extras(connection, stored, extras)
            report.counts.extras_updated += changed
            report.counts.unchanged += 1
            return 0
        resource["updatedAt"] = canonical.later_than(old["updatedAt"])
        records.write(connection, resource, extras, stored)
        report.counts.updated += 1
    if review:
        said = canonical.content_revision(provider, bookmark.id, bookmark.title, bookmark.text, href)
        queue(connection, identity, CAPTURE_KEY, said)
        report.queued += 1
    return int(bool(secret_names(href)))


def safe_extras(extras: dict[str, Any]) -> dict[str, Any] | None:
    """Extras that can be stored: a field that does not fit is left out, an unusable link does not take the rest with it."""
    held = {name: value for name, value in extras.items() if value}
    for name in ("links", "media"):
        if isinstance(held.get(name), list):
            held[name] = [item for item in held[name] if _safe_url(item["url"] if name == "media" else item)]
    reader = Reader("the bookmark")
    try:
        return normal_extras(held, reader)
    except InvalidRecord:
        found: dict[str, Any] = {}
        for name, value in held.items():
            try:
                found |= normal_extras({name: value}, reader) or {}
            except InvalidRecord:
                continue
        return normal_extras(found, reader)


def _safe_url(url: str) -> str | None:
    """The URL as stored where it is https without credentials and not too long."""
    try:
        href = parse_https(url).href if len(url) <= 4096 else ""
    except ValueError:
        return None
    return href if 0 < len(href) <= 4096 else None
