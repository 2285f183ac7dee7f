"""How to capture, and a page as one route brought it."""

from __future__ import annotations

import os
from typing import Any

from kbtasks.errors import UsageError


def shown_name(path: str) -> str:
    """The file name of ``path`` for documents: bytes that are not UTF-8 become U+FFFD."""
    return os.path.basename(path).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class Options:
    """How to capture. Sizes are bytes, times seconds; see ``kb clip --help`` for each."""

    def __init__(self, **values: Any) -> None:
        self.mode: str = "auto"
        self.source: str = ""
        self.slug: str = ""
        self.scope: str = "auto"
        self.media: str = "images"
        self.evidence: str = "none"
        self.timeout: float = 60.0
        self.max_html_bytes: int = 25_000_000
        self.max_asset_bytes: int = 50_000_000
        self.max_total_asset_bytes: int = 200_000_000
        self.max_items: int = 500
        self.force: bool = False
        self.beside: bool = False
        self.refreshes: dict[str, str] | None = None
        for name, value in values.items():
            if not hasattr(self, name):
                raise TypeError(name)
            setattr(self, name, value)


class Page:
    """A page as one route brought it: HTML, address, how, what the server said; ``offline``: nothing more is loaded for it."""

    __slots__ = (
        "content_type",
        "cut",
        "file",
        "hops",
        "html",
        "inside",
        "method",
        "offline",
        "screenshot",
        "status_code",
        "url",
        "warnings",
    )

    def __init__(self, html: bytes, *, method: str, url: str, content_type: str = "") -> None:
        self.html = html
        self.method = method
        self.url = url
        self.content_type = content_type
        self.status_code: int | None = None
        self.cut: str | None = None
        self.hops: list[tuple[int, str]] = []
        self.inside: dict[str, bytes] = {}
        self.file: str | None = None
        self.offline = method == "file"
        self.screenshot: bytes | None = None
        self.warnings: list[dict[str, str]] = []


def check_mode(mode: str, *, is_url: bool) -> None:
    """UsageError where ``mode`` cannot take what was given."""
    if is_url and mode == "file":
        raise UsageError(message="--mode file takes a saved page, not an address")
    if not is_url and mode in ("http", "browser"):
        raise UsageError(message=f"--mode {mode} takes an address, not a file")
