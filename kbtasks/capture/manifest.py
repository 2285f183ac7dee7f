"""The manifest of a bundle, ``capture.json``: made, sealed, checked, and read back."""

from __future__ import annotations

import os
from hashlib import sha256
from typing import TYPE_CHECKING

from kbtasks import schema
from kbtasks.errors import KbError, NotFound, UsageError

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.capture.bundle import BundleFile

NAME = "capture.json"
SCHEMA = "capture-manifest"
MAX_BYTES = 64 << 20


def digest(data: bytes) -> str:
    """``sha256:`` and 64 hex digits of ``data``."""
    return "sha256:" + sha256(data).hexdigest()


def seal(document: dict[str, Any]) -> str:
    """The hash of the manifest itself, its ``seal`` left out: of its JSON with sorted keys and no blanks, as UTF-8."""
    import json

    rest = {key: value for key, value in document.items() if key != "seal"}
    return digest(
        json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    )


def now() -> str:
    """The present time, RFC 3339 in UTC, to the second."""
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def complete(document: dict[str, Any], files: list[BundleFile]) -> bytes:
    """``document`` with its ``files`` and ``seal`` filled in and checked against the schema, as bytes for ``capture.json``."""
    import json

    document["files"] = [
        {
            "path": file.path,
            "role": file.role,
            "media_type": file.media_type,
            "bytes": len(file.data),
            "sha256": digest(file.data),
            "source": file.source,
        }
        for file in files
    ]
    document["document"] = next(item for item in document["files"] if item["role"] == "markdown")["path"]
    document["seal"] = seal(document)
    schema.check(SCHEMA, document, what="the capture manifest")
    return (json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode("utf-8")


def read(bundle: str) -> dict[str, Any]:
    """The checked manifest of the bundle folder ``bundle``; NotFound, UsageError or InvalidInput where it has none that fits."""
    import json

    path = os.path.join(bundle, NAME)
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError:
        raise NotFound(what="capture bundle", name=bundle, next="name a folder that holds capture.json") from None
    if len(data) > MAX_BYTES:
        raise UsageError(message=f"{path} is larger than {MAX_BYTES} bytes")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise UsageError(message=f"{path} is not JSON") from None
    schema.check(SCHEMA, document, what=path)
    result: dict[str, Any] = document
    return result


def read_or_none(bundle: str) -> dict[str, Any] | None:
    """The manifest of ``bundle``, or None where it has none that fits."""
    try:
        return read(bundle)
    except KbError:
        return None
