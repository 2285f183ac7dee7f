"""Pictures and media of a page, stored by their content: from the page itself, from its saved files, or fetched within bounds."""

from __future__ import annotations

import base64
import binascii
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from kbtasks.capture.bundle import BundleFile
from kbtasks.capture.page import UNKNOWN
from kbtasks.capture.redact import redact_url
from kbtasks.errors import KbError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from kbtasks.capture.fetch import Fetcher

LANES = 4
_ACTIVE = (
    b"<script",
    b"javascript:",
    b"<foreignobject",
    b"onload",
    b"onclick",
    b"onerror",
    b"onmouse",
    b"onbegin",
    b"<!entity",
)


class Limits:
    """Bounds of one capture's files: ``items``, bytes of ``each`` and in ``total``, the ``deadline`` (monotonic seconds)."""

    __slots__ = ("deadline", "each", "items", "total")

    def __init__(self, *, items: int, each: int, total: int, deadline: float) -> None:
        self.items = items
        self.each = each
        self.total = total
        self.deadline = deadline


def sniff(data: bytes) -> tuple[str, str] | None:
    """Media type and file suffix of ``data`` by its first bytes; None for anything that is not a picture, sound or film."""
    head = data[:64]
    for start, found in (
        (b"\x89PNG\r\n\x1a\n", ("image/png", "png")), (b"\xff\xd8\xff", ("image/jpeg", "jpg")), (b"GIF87a", ("image/gif", "gif")),
        (b"GIF89a", ("image/gif", "gif")), (b"BM", ("image/bmp", "bmp")), (b"\x00\x00\x01\x00", ("image/x-icon", "ico")),
        (b"II*\x00", ("image/tiff", "tiff")), (b"MM\x00*", ("image/tiff", "tiff")), (b"OggS", ("audio/ogg", "ogg")),
        (b"ID3", ("audio/mpeg", "mp3")), (b"\xff\xfb", ("audio/mpeg", "mp3")), (b"fLaC", ("audio/flac", "flac")),
        (b"\x1aE\xdf\xa3", ("video/webm", "webm")),
    ):  # fmt: skip
        if head.startswith(start):
            return found
    if head[:4] == b"RIFF":
        return {b"WEBP": ("image/webp", "webp"), b"WAVE": ("audio/wav", "wav")}.get(head[8:12])
    if head[4:8] == b"ftyp":
        brand = head[8:12]
        return (
            ("image/avif", "avif")
            if brand in (b"avif", b"avis")
            else ("image/heic", "heic")
            if brand in (b"heic", b"mif1")
            else ("video/mp4", "mp4")
        )
    start = data[:1000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith((b"<svg", b"<?xml", b"<!--", b"<!DOCTYPE svg")) and b"<svg" in start:
        return "image/svg+xml", "svg"
    return None


def data_url(url: str, limit: int) -> bytes | None:
    """The bytes of a ``data:`` address; None where it is malformed or larger than ``limit``."""
    head, comma, body = url.partition(",")
    if not comma or len(body) > 2 * limit + 1000:
        return None
    if head.lower().rstrip().endswith(";base64"):
        raw = unquote_to_bytes(body)
        raw = b"".join(raw.split())
        try:
            data = base64.b64decode(raw + b"=" * (-len(raw) % 4), validate=True)
        except (binascii.Error, ValueError):
            return None
    else:
        data = unquote_to_bytes(body)
    return data if len(data) <= limit else None


def collect(
    pictures: list[dict[str, Any]],
    *,
    media: str,
    inside: Mapping[str, bytes],
    beside: Callable[[str], bytes | None] | None,
    fetcher: Fetcher | None,
    limits: Limits,
) -> tuple[dict[int, str], list[BundleFile], list[dict[str, str]]]:
    """Number of picture -> its path in the bundle, the files, and warnings for those that could not be had.

    media: ``none``, ``images`` or ``all``. inside: bytes by address from the saved page or the browser.
    beside: reads a file saved next to the page. fetcher: None keeps the capture off the network.
    """
    wanted = [item for item in pictures if media == "all" or (media == "images" and not item["media"])]
    warnings: list[dict[str, str]] = []
    if len(wanted) > limits.items:
        warnings.append(
            {
                "code": "too-many-assets",
                "message": f"{len(wanted) - limits.items} of {len(wanted)} pictures are past the limit of {limits.items}",
            }
        )
        wanted = wanted[: limits.items]
    by_url: dict[str, list[int]] = {}
    for item in wanted:
        by_url.setdefault(item["url"], []).append(item["number"])
    found: dict[str, bytes | str] = {}
    remote = []
    for url in by_url:
        data = data_url(url, limits.each) if url[:5].lower() == "data:" else inside.get(url.partition("#")[0])
        if data is None and beside is not None and url[:5].lower() != "data:":
            data = beside(url)
        if data is not None:
            found[url] = data
        elif url[:5].lower() == "data:":
            found[url] = "it is malformed or too large"
        elif fetcher is not None:
            remote.append(url)
        else:
            found[url] = "it is not in the page as it was read"
    if remote and fetcher is not None:
        found.update(_fetch_all(remote, fetcher, limits))
    return _store(by_url, found, limits, warnings)


def _fetch_all(urls: list[str], fetcher: Fetcher, limits: Limits) -> dict[str, bytes | str]:
    from concurrent.futures import ThreadPoolExecutor

    spent = [0]

    def one(url: str) -> bytes | str:
        if monotonic() >= limits.deadline:
            return "the deadline passed"
        if spent[0] > limits.total:
            return "the pictures before it reached the total size"
        try:
            answer = fetcher.fetch(url, accept="image/*,*/*;q=0.5", max_bytes=limits.each, deadline=limits.deadline)
        except KbError as error:
            return error.message
        spent[0] += len(answer.body)
        if answer.status != 200:
            return f"the server answered {answer.status}"
        return f"it came in part only ({answer.cut})" if answer.cut else answer.body

    with ThreadPoolExecutor(LANES) as pool:
        return dict(zip(urls, pool.map(one, urls), strict=True))


def _store(
    by_url: dict[str, list[int]], found: dict[str, bytes | str], limits: Limits, warnings: list[dict[str, str]]
) -> tuple[dict[int, str], list[BundleFile], list[dict[str, str]]]:
    paths: dict[int, str] = {}
    files: dict[str, BundleFile] = {}
    total = 0
    for url, numbers in by_url.items():
        data = found[url]
        shown = "data:" if url[:5].lower() == "data:" else redact_url(url.removeprefix(UNKNOWN))
        if isinstance(data, bytes):
            kind = sniff(data)
            if kind is None:
                data = "it is not a picture or media file"
            elif kind[1] == "svg" and any(mark in data.lower() for mark in _ACTIVE):
                data = "it is a drawing with active content"
            elif total + len(data) > limits.total:
                data = "the pictures before it reached the total size"
            else:
                path = f"assets/{sha256(data).hexdigest()[:20]}.{kind[1]}"
                if path not in files:
                    total += len(data)
                    files[path] = BundleFile(
                        path, data, role="asset", media_type=kind[0], source=None if shown == "data:" else shown
                    )
                paths.update(dict.fromkeys(numbers, path))
        if isinstance(data, str):
            warnings.append({"code": "asset", "message": f"picture {shown[:300]} was not kept: {data}"})
    return paths, list(files.values()), warnings
