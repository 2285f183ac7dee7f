"""A source captured once more: a bundle of its own beside the earlier one, which names it."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from kbtasks.capture import compare, manifest
from kbtasks.capture.clip import Clip
from kbtasks.capture.fetch import Fetcher
from kbtasks.capture.kept import note_of
from kbtasks.capture.pages import Options, shown_name
from kbtasks.capture.report import finish
from kbtasks.capture.routes import find_browser
from kbtasks.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kbtasks.capture.bundle import BundleFile

_DATED = re.compile(r"-\d{8}(?:-[0-9a-f]{6})?(?:-\d+)?$")


class Again:
    """A new capture of the source of ``bundle``; ``url`` is its address as kept, empty for a file."""

    def __init__(
        self, bundle: str, environ: Mapping[str, str], *, timeout: float, allow_private: bool, chromium: str, mode: str
    ) -> None:
        self.document, self.note = note_of(bundle)
        self.folder = os.path.dirname(bundle)
        self.environ = environ
        self.timeout = timeout
        self.chromium = chromium
        self.mode = mode or ("browser" if self.document["method"] == "browser" else "auto")
        self.url: str = self.document["source"]["requested"] or ""
        self.fetcher = Fetcher(timeout=timeout, allow_private=allow_private)
        base = _DATED.sub("", os.path.basename(bundle))
        self.slug = f"{base}-{manifest.now()[:10].replace('-', '')}"
        self.refreshes = {"bundle": os.path.basename(bundle), "seal": self.document["seal"]}

    def from_url(self, url: str, *, password: str, dry_run: bool, vault: str | None) -> dict[str, Any]:
        """Capture ``url``, as page or PDF like the earlier one."""
        if self.document["kind"] == "pdf":
            run = self._pdf(password)
            return self._finish(
                run.plan(run.download(url), requested=url, file=None, folder=self.folder), dry_run=dry_run, vault=vault
            )
        browser = None
        if self.mode != "http":
            browser = find_browser(self.environ, chromium=self.chromium, cdp="", fetcher=self.fetcher)
        clip = Clip(self._options(), self.fetcher, browser)
        page = clip.from_url(url)
        return self._finish(clip.plan(page, requested=url, folder=self.folder), dry_run=dry_run, vault=vault)

    def from_file(self, data: bytes, path: str, *, password: str, dry_run: bool, vault: str | None) -> dict[str, Any]:
        """Capture the file ``path`` with the bytes ``data`` in place of the earlier one."""
        name = shown_name(path)
        if self.document["kind"] == "pdf":
            return self._finish(
                self._pdf(password).plan(data, requested=None, file=name, folder=self.folder),
                dry_run=dry_run,
                vault=vault,
            )
        clip = Clip(self._options(), self.fetcher, None)
        clip.options.mode = "file"
        clip.options.source = self.document["source"]["final"] or ""
        page = clip.from_bytes(data, file=name, path=path)
        return self._finish(clip.plan(page, requested=None, folder=self.folder), dry_run=dry_run, vault=vault)

    def _options(self) -> Options:
        return Options(
            mode=self.mode, slug=self.slug, timeout=self.timeout, beside=True, refreshes=self.refreshes,
            scope="page" if self.document["surface"] == "page" else "auto",
        )  # fmt: skip

    def _pdf(self, password: str) -> Any:
        from kbtasks.capture.ocr import find_tesseract
        from kbtasks.capture.pdf import PdfCapture, PdfOptions

        options = PdfOptions(
            slug=self.slug, password=password, timeout=max(self.timeout, 300.0), beside=True, refreshes=self.refreshes
        )
        return PdfCapture(options, self.fetcher, find_tesseract(self.environ, "eng"))

    def _finish(
        self, planned: tuple[str, bool, list[BundleFile], dict[str, Any]], *, dry_run: bool, vault: str | None
    ) -> dict[str, Any]:
        name, replace, files, document = planned
        if replace:
            raise Conflict(message="a refresh never replaces a capture")
        data = finish(self.folder, name, False, files, document, dry_run=dry_run, vault=vault)
        found, _ = compare.changes(self.note, files[0].data)
        added = sum(item["change"] == "added" for item in found)
        data["changes"] = {"added": added, "removed": len(found) - added}
        return data
