"""A finished or planned capture as the result document that ``clip``, ``pdf`` and ``capture.refresh`` share."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.capture import bundle, manifest

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.capture.bundle import BundleFile

#: These tell that the wanted text is not in the bundle; the command then ends with exit code 3.
WANTING = frozenset(("auth-required", "blocked", "unsupported"))


def shown_path(path: str, vault: str | None) -> str:
    """``path`` relative to the vault where it lies inside it, with POSIX separators; else as it is."""
    if vault is not None:
        relative = os.path.relpath(path, vault)
        if not relative.startswith(".."):
            return relative.replace(os.sep, "/")
    return path


def finish(
    folder: str, name: str, replace: bool, files: list[BundleFile], document: dict[str, Any], *, dry_run: bool, vault: str | None
) -> dict[str, Any]:  # fmt: skip
    """Write the bundle (unless ``dry_run``) and describe it."""
    if dry_run:
        manifest.complete(document, files)
        place = os.path.join(folder, name)
    else:
        place = bundle.write(folder, name, files, document, replace=replace)
    data: dict[str, Any] = {
        "status": document["status"],
        "written": not dry_run,
        "replaced": replace,
        "bundle": shown_path(place, vault),
        "note": shown_path(os.path.join(place, document["document"]), vault),
        "title": document["title"],
        "source": document["source"]["requested"]
        or document["source"]["final"]
        or document["source"]["file"]
        or "stdin",
        "method": document["method"],
        "words": document["counts"]["words"],
        "warnings": document["warnings"],
        "files": [{key: item[key] for key in ("path", "role", "bytes", "sha256")} for item in document["files"]],
        "attempts": document["attempts"],
        "identity": document["identity"],
    }
    if "pages" in document:
        data["pages"] = len(document["pages"])
    return data


def render(data: dict[str, Any]) -> str:
    """The result for a person."""
    verb = "would write" if not data["written"] else "replaced" if data["replaced"] else "wrote"
    size = sum(item["bytes"] for item in data["files"])
    pages = f", {data['pages']} pages" if "pages" in data else ""
    found = f"{data['words']} words{pages}, {len(data['files'])} files, {size:,} bytes"
    lines = [f"{verb} {data['note']} ({data['status']}, by {data['method']}, {found})"]
    if "changes" in data:
        lines.append(
            f"  against the earlier capture: {data['changes']['added']} lines added, {data['changes']['removed']} removed"
        )
    lines += [f"  {item['code']}: {item['message']}" for item in data["warnings"]]
    return "\n".join(lines)
