"""Which browser a capture may use: the one named, the one found, or the user's own over its debugging port."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from kbtasks.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kbtasks.capture.browser import Browser
    from kbtasks.capture.fetch import Fetcher

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "brave-browser",
)
_MAC = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)


def find_browser(environ: Mapping[str, str], *, chromium: str, cdp: str, fetcher: Fetcher) -> Browser | None:
    """The browser to use, or None where there is none; UsageError where a named one cannot be used."""
    from kbtasks.capture.browser import Attached, Headless

    if cdp:
        return Attached(debugging_address(cdp))
    path = chromium or environ.get("KB_CHROMIUM", "")
    if path:
        if not os.path.isfile(path) or not os.access(path, os.X_OK):
            raise UsageError(message=f"{path} is not a program that can be run")
        return Headless(path, fetcher, environ)
    found = installed_browser(environ)
    return Headless(found, fetcher, environ) if found else None


def installed_browser(environ: Mapping[str, str]) -> str | None:
    """The path of the Chromium or Chrome that is installed here: on PATH, or where macOS keeps it."""
    for name in NAMES:
        found = shutil.which(name, path=environ.get("PATH"))
        if found:
            return found
    return next((place for place in _MAC if os.access(place, os.X_OK)), None)


def debugging_address(value: str) -> tuple[str, int]:
    """Host and port of ``--cdp``: a port alone means 127.0.0.1; only this machine is accepted."""
    host, colon, port = value.rpartition(":")
    host = host if colon else "127.0.0.1"
    if host.strip("[]") not in ("127.0.0.1", "localhost", "::1"):
        raise UsageError(message="--cdp takes a debugging port of this machine", next="--cdp 9222")
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise UsageError(message=f"--cdp takes a port, not {value!r}", next="--cdp 9222")
    return host.strip("[]"), int(port)
