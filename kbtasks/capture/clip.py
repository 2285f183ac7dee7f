"""A web page to a bundle: the routes tried in order, the judgement of what came, and the files that are written."""

from __future__ import annotations

import os
from time import monotonic
from typing import TYPE_CHECKING

from kbtasks.capture import bundle, manifest
from kbtasks.capture.assets import Limits, collect
from kbtasks.capture.bundle import BundleFile
from kbtasks.capture.charset import is_binary
from kbtasks.capture.facts import refresh_target
from kbtasks.capture.fetch import MAX_REDIRECTS, Fetcher, followed
from kbtasks.capture.guard import parse_url
from kbtasks.capture.judge import judge
from kbtasks.capture.needs import WEB, need
from kbtasks.capture.note import note_text
from kbtasks.capture.page import UNKNOWN
from kbtasks.capture.pages import Options, Page, shown_name
from kbtasks.capture.redact import redact_text, redact_url
from kbtasks.capture.saved import SavedPage, neighbour_reader, read_saved
from kbtasks.capture.slug import slugify
from kbtasks.capture.worker import WorkerFailed, ask
from kbtasks.errors import KbError, MissingExtra, NotFound, Unavailable

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.capture.browser import Browser

_READABLE = frozenset(("text/html", "application/xhtml+xml", "text/plain", ""))


class Clip:
    """One capture of a page: ``target`` is an address, a file's path with its ``data``, or bytes from stdin."""

    def __init__(self, options: Options, fetcher: Fetcher, browser: Browser | None) -> None:
        self.options = options
        self.fetcher = fetcher
        self.browser = browser
        self.deadline = monotonic() + options.timeout
        self.attempts: list[dict[str, Any]] = []
        self.rendered: dict[str, Any] = {}
        self._answered = False
        self.status = "partial"
        self.warnings: list[dict[str, str]] = []
        need(WEB, feature="capturing web pages", extra="capture")

    def from_url(self, url: str) -> Page:
        """The page at ``url`` by the mode's routes: ``http``, and in ``auto`` the browser where that left too little."""
        if url != "current":
            parse_url(url)
        mode = self.options.mode
        page: Page | None = None
        failure: KbError | None = None
        if mode in ("auto", "http"):
            try:
                page = self._http(url)
                self._render(page)
            except KbError as error:
                failure = error
                self._attempt("http", "failed", None, error.message)
                if not isinstance(error, Unavailable) or mode == "http" or self.browser is None or self._answered:
                    raise
        if mode == "browser" or (mode == "auto" and (page is None or self._wants_browser(page))):
            rendered = self._try_browser(url, must=mode == "browser" or page is None)
            if rendered is not None:
                self._refuse_gone(rendered)
                if self._is_better(rendered) or page is None:
                    return rendered
        if page is None:
            raise failure or Unavailable(message="the page could not be read")
        return page

    def refuse_known(self, folder: str, url: str) -> None:
        """AlreadyCaptured before anything is sent, where ``folder`` holds a capture of ``url`` and nothing allows another."""
        if url != "current" and not (self.options.force or self.options.beside):
            bundle.choose_name(folder, "x", identity_of(url, b""), force=False)

    def from_bytes(self, data: bytes, *, file: str | None, path: str | None) -> Page:
        """The page in a saved file (its name, and the path beside which its pictures lie) or in what came on stdin."""
        saved = read_saved(data)
        page = self._saved(saved, file)
        self._render(page)
        if path is not None:
            page.file = path
        return page

    def _saved(self, saved: SavedPage, file: str | None) -> Page:
        if self.options.source:
            parse_url(self.options.source)
        page = Page(saved.html, method="file", url=self.options.source or saved.url, content_type=saved.content_type)
        page.inside = saved.inside
        page.warnings += saved.warnings
        page.file = file
        return page

    def _http(self, url: str) -> Page:
        hops: list[tuple[int, str]] = []
        while True:
            answer = self.fetcher.fetch(url, deadline=self.deadline)
            page = Page(answer.body, method="http", url=answer.url, content_type=answer.headers.get("content-type", ""))
            page.status_code, page.cut, page.hops = answer.status, answer.cut, [*hops, *answer.hops]
            self._refuse_gone(page)
            further = refresh_target(answer.body, answer.url)
            if further is None or len(page.hops) >= MAX_REDIRECTS:
                return page
            hops, url = [*page.hops, (answer.status, redact_url(answer.url))], followed(further, answer.url)

    def _refuse_gone(self, page: Page) -> None:
        """NotFound or Unavailable for an answer that is no page at all: there is nothing to keep, and no other route to try."""
        code = page.status_code or 200
        if code in (404, 410):
            raise NotFound(what=f"page (the server answered {code})", name=redact_url(page.url))
        if code >= 500 and code != 503:
            self._answered = True
            raise Unavailable(message=f"the server answered {code} for {redact_url(page.url)}")

    def _left(self) -> float:
        left = self.deadline - monotonic()
        if left <= 0:
            raise Unavailable(message="the deadline passed before the capture was done", next="--timeout SECONDS")
        return left

    def _render(self, page: Page) -> None:
        """Read the page in the worker, and judge it."""
        media_type = page.content_type.partition(";")[0].strip().lower()
        if media_type not in _READABLE or page.html[:5] == b"%PDF-" or is_binary(page.html):
            self.rendered = _unread(page)
        else:
            request = {
                "content_type": page.content_type,
                "page_url": page.url or UNKNOWN,
                "extract": True,
                "scope": self.options.scope,
                "inert": self.options.evidence in ("source", "all"),
            }
            started = monotonic()
            try:
                self.rendered = ask(
                    "html", request, page.html, timeout=min(self._left(), max(self.options.timeout / 2, 1.0))
                )
            except WorkerFailed as error:
                try:
                    self.rendered = ask("html", {**request, "extract": False}, page.html, timeout=self._left())
                except WorkerFailed:
                    raise Unavailable(
                        message=f"the page could not be read: {error.reason}", next="--timeout SECONDS"
                    ) from None
                self.rendered["warnings"].append(
                    {
                        "code": "extractor",
                        "message": f"the main content was found without the extractor: {error.reason}",
                    }
                )
            self.rendered["seconds"] = round(monotonic() - started, 3)
        self.status, self.warnings = judge(page, self.rendered)
        found = f"{self.rendered['words']} words" + (f"; {self.warnings[0]['message']}" if self.warnings else "")
        self._attempt(page.method, self.status, page.status_code, found)

    def _attempt(self, method: str, outcome: str, code: int | None, message: str) -> None:
        self.attempts.append(
            {
                "at": manifest.now(),
                "method": method,
                "outcome": outcome,
                "status_code": code,
                "message": redact_text(message)[:500],
            }
        )

    def _wants_browser(self, page: Page) -> bool:
        codes = {warning["code"] for warning in self.warnings}
        return bool(codes & {"needs-script", "no-text", "challenge"}) or page.status_code in (403, 503)

    def _try_browser(self, url: str, *, must: bool) -> Page | None:
        if self.browser is None:
            if must:
                raise Unavailable(
                    message="no browser was found", next="install Chromium, or name it with --chromium PATH"
                )
            self._attempt("browser", "unavailable", None, "no browser was found")
            return None
        try:
            page = self.browser.capture(
                url, timeout=self._left(), screenshot=self.options.evidence in ("screenshot", "all")
            )
        except KbError as error:
            self._attempt(
                "browser", "unavailable" if isinstance(error, MissingExtra) else "failed", None, error.message
            )
            if must:
                raise
            return None
        return page

    def _is_better(self, page: Page) -> bool:
        before, before_status, before_warnings = self.rendered, self.status, self.warnings
        self._render(page)
        order = ["complete", "partial", "auth-required", "blocked", "unsupported"]
        if not before or (order.index(self.status), -self.rendered["words"]) <= (
            order.index(before_status),
            -before["words"],
        ):
            return True
        self.rendered, self.status, self.warnings = before, before_status, before_warnings
        return False

    def plan(
        self, page: Page, *, requested: str | None, folder: str
    ) -> tuple[str, bool, list[BundleFile], dict[str, Any]]:
        """Name, whether it replaces a bundle, files and manifest of the bundle for ``page``; nothing is written."""
        options = self.options
        rendered = self.rendered
        known = "" if page.url.startswith(UNKNOWN) else page.url
        identity = identity_of(requested or known, page.html)
        title = rendered["title"] or _title_from(known, page.file)
        wanted = slugify(options.slug or title) or slugify(_title_from(known, page.file)) or "capture"
        name, replace = bundle.choose_name(folder, wanted, identity, force=options.force, beside=options.beside)
        paths, files, missing = self._assets(page)
        if self.status == "complete" and missing:
            self.status = "partial"
        if self.status in ("complete", "partial"):
            self.warnings = self.warnings + missing
        extra = self._evidence(page)
        linked = {
            item["number"]: redact_url(item["url"])
            if item["url"].startswith("http") and not item["url"].startswith(UNKNOWN)
            else ""
            for item in rendered["pictures"]
        }
        source = redact_url(requested or known) or (page.file and shown_name(page.file)) or "stdin"
        clipped = manifest.now()
        text = note_text(
            rendered["markdown"],
            title=title,
            source=source,
            author=rendered["author"],
            published=rendered["published"],
            clipped=clipped,
            status=self.status,
            method=page.method,
            warnings=self.warnings,
            paths=paths,
            linked=linked,
            media={item["number"] for item in rendered["pictures"] if item["media"]},
            has_text=rendered["readable"],
        )
        note = BundleFile(f"{name}.md", text.encode("utf-8"), role="markdown", media_type="text/markdown")
        document = self._document(
            page, identity=identity, title=title, requested=requested, known=known, captured=clipped
        )
        document["counts"] |= {"words": rendered["words"], "assets": len(files), "redacted": text.count("REDACTED")}
        return name, replace, [note, *files, *extra], document

    def _assets(self, page: Page) -> tuple[dict[int, str], list[BundleFile], list[dict[str, str]]]:
        options = self.options
        limits = Limits(
            items=options.max_items,
            each=options.max_asset_bytes,
            total=options.max_total_asset_bytes,
            deadline=self.deadline,
        )
        beside = (
            neighbour_reader(page.file, page.url or UNKNOWN, limits.each)
            if page.method == "file" and page.file and os.path.isabs(page.file)
            else None
        )
        return collect(
            self.rendered["pictures"],
            media=options.media,
            inside=page.inside,
            beside=beside,
            fetcher=None if page.offline else self.fetcher,
            limits=limits,
        )

    def _evidence(self, page: Page) -> list[BundleFile]:
        found = []
        if self.rendered.get("inert"):
            found.append(
                BundleFile(
                    "evidence/source.html",
                    self.rendered["inert"].encode("utf-8"),
                    role="evidence",
                    media_type="text/html",
                )
            )
        if page.screenshot:
            found.append(
                BundleFile("evidence/screenshot.png", page.screenshot, role="evidence", media_type="image/png")
            )
        elif self.options.evidence in ("screenshot", "all"):
            self.warnings = [
                *self.warnings,
                {
                    "code": "screenshot",
                    "message": "no screenshot: the page was not shown in a browser (--mode browser)",
                },
            ]
            self.status = "partial" if self.status == "complete" else self.status
        return found

    def _document(
        self, page: Page, *, identity: str, title: str, requested: str | None, known: str, captured: str
    ) -> dict[str, Any]:
        rendered = self.rendered
        document: dict[str, Any] = {
            "schema": "kbtasks/capture-manifest/1",
            "identity": identity,
            "kind": "web",
            "title": title,
            "status": self.status,
            "surface": "page" if self.options.scope == "page" else "main content",
            "method": page.method,
            "captured": captured,
            "tool": {"name": "kbtasks", "version": _version()},
            "extractor": rendered["extractor"],
            "source": {
                "requested": redact_url(requested) if requested else None,
                "final": redact_url(known) or None,
                "canonical": redact_url(rendered["canonical"]) or None,
                "file": shown_name(page.file) if page.file else None,
                "media_type": page.content_type.partition(";")[0].strip().lower() or "text/html",
                "encoding": rendered["encoding"],
                "bytes": len(page.html),
                "sha256": manifest.digest(page.html),
                "redirects": [{"status": status, "url": url} for status, url in page.hops],
            },
            "metadata": {
                name: rendered[name]
                for name in ("author", "published", "description", "language", "site")
                if rendered[name]
            },
            "counts": dict(rendered["counts"]),
            "attempts": self.attempts,
            "warnings": [
                {"code": item["code"], "message": redact_text(item["message"])[:1000]} for item in self.warnings
            ],
        }
        if self.options.refreshes:
            document["refreshes"] = self.options.refreshes
        return document


def identity_of(url: str, data: bytes) -> str:
    """What is captured, as a hash: of the address without fragment, or of the bytes where there is no address.

    The address is hashed with its secrets replaced, so that a hash can confirm none of them.
    """
    if url:
        return manifest.digest(redact_url(parse_url(url).url).encode("utf-8", "surrogatepass"))
    return manifest.digest(data)


def _title_from(url: str, file: str | None) -> str:
    if url:
        target = parse_url(url)
        from urllib.parse import unquote

        last = [part for part in unquote(target.path.partition("?")[0]).split("/") if part]
        return (last[-1].rpartition(".")[0] or last[-1]) if last else target.host
    return os.path.splitext(shown_name(file))[0] if file else ""


def _unread(page: Page) -> dict[str, Any]:
    pdf = page.html[:5] == b"%PDF-"
    kind = "binary data" if is_binary(page.html) else page.content_type[:100] or "something else"
    message = "it is a PDF, not a web page; kb pdf keeps it" if pdf else f"it is {kind}, not a web page"
    return {
        "encoding": "",
        "encoding_from": "",
        "title": "",
        "author": "",
        "published": "",
        "canonical": "",
        "description": "",
        "language": "",
        "site": "",
        "paywall": False,
        "login": False,
        "challenge": False,
        "scripted": False,
        "extractor": {"name": "none", "version": ""},
        "words": 0,
        "page_words": 0,
        "counts": {},
        "markdown": "",
        "pictures": [],
        "readable": False,
        "warnings": [{"code": "unsupported", "message": message}],
    }


def _version() -> str:
    from kbtasks import __version__

    return __version__
