"""Saved pages: MHTML archives, SingleFile pages, and HTML files with a folder of their pictures beside them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from kbtasks.capture.guard import parse_url
from kbtasks.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_PARTS = 5000
_SAVED_FROM = re.compile(rb"<!--\s{0,8}saved from url=\(\d{1,6}\)(\S{1,4000}?)\s{0,8}-->", re.IGNORECASE)
_SINGLEFILE = re.compile(rb"Page saved with SingleFile\s{0,8}url:\s{0,8}(\S{1,4000})", re.IGNORECASE)


class SavedPage:
    """The page inside a saved file: its HTML, content type (empty for plain files), own address, and pictures by address."""

    __slots__ = ("content_type", "html", "inside", "url", "warnings")

    def __init__(self, html: bytes, *, content_type: str = "", url: str = "") -> None:
        self.html = html
        self.content_type = content_type
        self.url = url
        self.inside: dict[str, bytes] = {}
        self.warnings: list[dict[str, str]] = []


def is_mhtml(data: bytes) -> bool:
    """Whether ``data`` looks like an MHTML archive: mail headers that promise a multipart/related message."""
    head = data[:4096].lower()
    return b"multipart/related" in head and b"content-type:" in head and not head.lstrip().startswith(b"<")


def read_saved(data: bytes) -> SavedPage:
    """The page in ``data``, an MHTML archive or an HTML file, with the address its saver noted."""
    if is_mhtml(data):
        return _read_mhtml(data)
    page = SavedPage(data)
    head = data[:20_000]
    found = _SINGLEFILE.search(head) or _SAVED_FROM.search(head)
    if found:
        page.url = _address(found.group(1).decode("utf-8", "replace"))
    return page


def _address(noted: str) -> str:
    """The address a saver noted, without a user name and password; empty where it is none of the web."""
    if not noted.startswith(("http://", "https://")):
        return ""
    scheme, _, rest = noted.partition("://")
    end = next((number for number, char in enumerate(rest) if char in "/?#\\"), len(rest))
    address = f"{scheme}://{rest[:end].rpartition('@')[2]}{rest[end:]}"
    try:
        parse_url(address)
    except UsageError:
        return ""
    return address


def _read_mhtml(data: bytes) -> SavedPage:
    from email import message_from_bytes
    from email.errors import MessageError

    try:
        message = message_from_bytes(data)
        parts = [part for number, part in enumerate(message.walk()) if number < MAX_PARTS and not part.is_multipart()]
    except (MessageError, ValueError, RecursionError, LookupError):
        parts = []
    page = SavedPage(b"")
    wanted = str(message.get_param("start", "") or "") if parts else ""
    root = None
    for part in parts:
        kind = part.get_content_type()
        if kind in ("text/html", "application/xhtml+xml") and (
            root is None or (wanted and part.get("Content-ID") == wanted)
        ):
            root = part
    if root is None:
        page.warnings.append({"code": "archive", "message": "the archive holds no HTML page"})
        return page
    page.html = _bytes_of(root)
    page.content_type = str(root.get("Content-Type", ""))
    location = str(root.get("Content-Location", "") or message.get("Snapshot-Content-Location", "")).strip()
    page.url = _address(location)
    for part in parts:
        if part is root:
            continue
        name = str(part.get("Content-Location", "")).strip()
        identity = str(part.get("Content-ID", "")).strip().strip("<>")
        body = _bytes_of(part)
        if name:
            page.inside.setdefault(urljoin(page.url, name).partition("#")[0], body)
        if identity:
            page.inside.setdefault("cid:" + identity, body)
    return page


def _bytes_of(part: object) -> bytes:
    try:
        body = part.get_payload(decode=True)  # type: ignore[attr-defined]
    except (ValueError, LookupError, AssertionError):
        return b""
    return body if isinstance(body, bytes) else b""


def neighbour_reader(file: str, page_url: str, limit: int) -> Callable[[str], bytes | None]:
    """A reader of files that lie beside the saved page ``file``: below its folder, regular files, at most ``limit`` bytes.

    The page's relative addresses were made absolute against ``page_url`` (a made-up one for a file without an address).
    """
    folder = os.path.realpath(os.path.dirname(file))
    stem = page_url.rpartition("/")[0] + "/"

    def read(url: str) -> bytes | None:
        if not url.startswith(stem):
            return None
        name = unquote(urlsplit(url[len(stem) :]).path)
        if not name or "\0" in name:
            return None
        path = os.path.realpath(os.path.join(folder, name))
        if not path.startswith(folder + os.sep) or not os.path.isfile(path):
            return None
        try:
            with open(path, "rb") as handle:
                data = handle.read(limit + 1)
        except OSError:
            return None
        return data if len(data) <= limit else None

    return read
