"""``kb capture.*``: look at captures, check them, compare them, capture again."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.errors import Refused, UsageError
from kbtasks.model.result import Result
from kbtasks.tasks.clip import output_folder

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context

_WHERE = "Folder of the bundles (default: articles in the vault)."
_BUNDLE = "A bundle: its folder, its name, its note, or a hash of it (8 digits or more)."


@command(
    "capture.show",
    schema="capture-show",
    positional="bundle",
    help={
        "bundle": _BUNDLE + " The hash of a passage shows that passage.",
        "passage": "Words of a passage to cite.",
        "output": _WHERE,
    },
)
def show(context: Context, bundle: str, passage: str = "", output: str = "") -> Result:
    """What a capture holds; with --passage, a citation of the passage by its hash.

    A note cites a passage with the line under "citation"; the hash in it finds the passage again with kb capture.show HASH.
    """
    from kbtasks.capture.kept import find, find_passage, note_of
    from kbtasks.capture.report import shown_path

    folder, vault = output_folder(context, output)
    path, found = find(bundle, cwd=context.cwd, folder=folder, vault=vault)
    document, note = note_of(path)
    if passage:
        found = find_passage(note, passage)
    place = shown_path(os.path.join(path, document["document"]), vault)
    data: dict[str, Any] = {"bundle": shown_path(path, vault), "note": place, "manifest": document}
    if found is not None:
        label = re.sub(r"[\[\]|#^\\\n]", " ", document["title"]).strip() or os.path.basename(path)
        page = f", page {found.page}" if found.page else ""
        data["passage"] = found.to_json()
        data["citation"] = (
            f"[[{place.removesuffix('.md')}|{' '.join(label.split())}]]{page} (capture sha256:{found.sha256[7:23]})"
        )
    return Result("capture-show", data, text=_shown)


def _shown(data: dict[str, Any]) -> str:
    document = data["manifest"]
    source = document["source"]
    extractor = " ".join(document["extractor"].values()).strip()
    lines = [
        f"{document['title']}",
        f"  note      {data['note']}",
        f"  source    {source['requested'] or source['final'] or source['file'] or 'stdin'}",
        f"  captured  {document['captured']} by {document['method']} ({extractor})",
        f"  status    {document['status']} of the {document['surface']}",
        "  counts    "
        + ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in document["counts"].items() if value),
        f"  files     {len(document['files'])}, {sum(item['bytes'] for item in document['files']):,} bytes",
    ]
    lines += [f"  warning   {item['code']}: {item['message']}" for item in document["warnings"]]
    lines += [f"  attempt   {item['method']}: {item['outcome']} ({item['message']})" for item in document["attempts"]]
    if "passage" in data:
        lines += ["", data["passage"]["text"], "", data["citation"]]
        if also := data["passage"].get("also"):
            lines.append(f"also in {', '.join(also)}")
    return "\n".join(lines)


@command(
    "capture.verify",
    schema="capture-verify",
    positional="bundle",
    help={"bundle": _BUNDLE + " Default: every bundle.", "output": _WHERE},
)
def verify(context: Context, bundle: str = "", output: str = "") -> Result:
    """Check every file of one capture, or of all, against its hash; exit code 3 where something changed."""
    from kbtasks.capture.kept import bundles, find
    from kbtasks.capture.kept import verify as check
    from kbtasks.capture.report import shown_path

    folder, vault = output_folder(context, output)
    paths = (
        [find(bundle, cwd=context.cwd, folder=folder, vault=vault)[0]] if bundle else list(bundles(folder, torn=True))
    )
    problems: list[dict[str, str]] = []
    files = 0
    changed = 0
    for path in paths:
        document, found = check(path)
        files += len(document["files"]) if document else 0
        changed += bool(found)
        problems += [{"bundle": shown_path(path, vault), **item} for item in found]
    data = {
        "ok": not problems,
        "bundles": len(paths),
        "changed_bundles": changed,
        "files": files,
        "problems": problems,
        "total": len(problems),
        "truncated": False,
    }
    return Result("capture-verify", data, exit_code=3 if problems else 0, text=_verified, tail="problems")


def _verified(data: dict[str, Any]) -> str:
    lines = [f"{item['bundle']}/{item['path']}: {item['state']}: {item['message']}" for item in data["problems"]]
    lines.append(
        f"{data['bundles']} bundles, {data['files']} files: "
        + ("all as they were written" if data["ok"] else f"{data['changed_bundles']} changed")
    )
    return "\n".join(lines)


@command(
    "capture.diff",
    schema="capture-diff",
    positional="bundle",
    help={
        "bundle": _BUNDLE,
        "against": "The other capture (default: the one that BUNDLE refreshes).",
        "limit": "Most changed lines shown.",
        "output": _WHERE,
    },
)
def diff(context: Context, bundle: str, against: str = "", limit: int = 200, output: str = "") -> Result:
    """Lines that differ between two captures of one source, from the earlier one to BUNDLE."""
    from kbtasks.capture.compare import changes
    from kbtasks.capture.kept import find, note_of
    from kbtasks.capture.report import shown_path

    if limit < 0:
        raise UsageError(message="--limit must not be negative")
    folder, vault = output_folder(context, output)
    path, _ = find(bundle, cwd=context.cwd, folder=folder, vault=vault)
    document, note = note_of(path)
    earlier = against or document.get("refreshes", {}).get("bundle", "")
    if not earlier:
        raise UsageError(
            message=f"{bundle} does not refresh another capture", next="name the other one with --against BUNDLE"
        )
    other, _ = find(earlier, cwd=context.cwd, folder=os.path.dirname(path), vault=vault)
    before, old = note_of(other)
    found, cut = changes(old, note)
    added = sum(item["change"] == "added" for item in found)
    data = {
        "same_source": document["identity"] == before["identity"],
        "identical": not found,
        "old": {"bundle": shown_path(other, vault), "captured": before["captured"], "status": before["status"]},
        "new": {"bundle": shown_path(path, vault), "captured": document["captured"], "status": document["status"]},
        "added": added,
        "removed": len(found) - added,
        "changes": found[:limit],
        "total": len(found),
        "truncated": cut or len(found) > limit,
    }
    return Result("capture-diff", data, text=_differing, tail="changes")


def _differing(data: dict[str, Any]) -> str:
    lines = [
        f"--- {data['old']['bundle']} ({data['old']['captured']}, {data['old']['status']})",
        f"+++ {data['new']['bundle']} ({data['new']['captured']}, {data['new']['status']})",
    ]
    lines += [("+ " if item["change"] == "added" else "- ") + item["text"] for item in data["changes"]]
    if not data["same_source"]:
        lines.append("the two are captures of different sources")
    lines.append(
        "no line differs"
        if data["identical"]
        else f"{data['added']} lines added, {data['removed']} removed" + (" (cut)" if data["truncated"] else "")
    )
    return "\n".join(lines)


@command(
    "capture.refresh",
    schema="capture",
    positional="bundle",
    help={
        "bundle": _BUNDLE,
        "file": "The new file, for a capture of a file.",
        "source": "The address, for one whose secret parts were not kept.",
        "output": _WHERE,
        "mode": "Route, as for clip (default: the one that gave the earlier text).",
        "timeout": "Seconds for everything.",
        "allow_private": "Also connect to addresses that are not public.",
        "chromium": "Path of Chromium or Chrome.",
        "password": "Password of an encrypted PDF (better: in KB_PDF_PASSWORD).",
        "dry_run": "Show what would be written.",
    },
    choices={"mode": ("", "auto", "http", "browser")},
)
def refresh(
    context: Context,
    bundle: str,
    file: str = "",
    source: str = "",
    output: str = "",
    mode: str = "",
    timeout: float = 60.0,
    allow_private: bool = False,
    chromium: str = "",
    password: str = "",
    dry_run: bool = False,
) -> Result:
    """Capture the same source again, beside the earlier capture and never over it, and count the lines that changed."""
    from kbtasks.capture.again import Again
    from kbtasks.capture.kept import find
    from kbtasks.capture.report import WANTING, render

    folder, vault = output_folder(context, output)
    path, _ = find(bundle, cwd=context.cwd, folder=folder, vault=vault)
    again = Again(path, context.environ, timeout=timeout, allow_private=allow_private, chromium=chromium, mode=mode)
    if file:
        data = context.read_input(file, limit=200_000_000)
        result = again.from_file(
            data,
            context.path(file),
            password=password or context.environ.get("KB_PDF_PASSWORD", ""),
            dry_run=dry_run,
            vault=vault,
        )
    else:
        url = source or again.url
        if not url:
            raise UsageError(message=f"{bundle} was captured from a file", next="name the new one with --file PATH")
        if "REDACTED" in url:
            raise Refused(message="the address held a secret that was not kept", next="give it whole with --source URL")
        result = again.from_url(
            url, password=password or context.environ.get("KB_PDF_PASSWORD", ""), dry_run=dry_run, vault=vault
        )
    return Result("capture", result, exit_code=3 if result["status"] in WANTING else 0, text=render, tail="files")
