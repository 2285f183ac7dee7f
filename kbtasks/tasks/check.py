"""``check``: all faults of the vault at once."""

from __future__ import annotations

import os

from kbtasks.command import command
from kbtasks.errors import NotFound, UsageError
from kbtasks.model.result import Result

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.graph.finding import Finding
    from kbtasks.index.view import View


@command(
    "check",
    schema="check",
    help={
        "code": "Only faults of this code, or with this word in it: broken-link, relation, plan (repeatable).",
        "folder": "Only below this folder (or in this note) of the vault.",
        "severity": "Only errors, or only advice.",
        "obsidian": "List also the links that Obsidian itself would not follow, as errors.",
        "catalog": "Leave the catalog page to whoever integrates it.",
        "limit": "At most this many findings are listed, 1 to 100000.",
        "fix": "Mend what is mechanical and reversible: links to notes renamed outside kb, the catalog's region.",
        "dry_run": "With --fix: show what would be changed and change nothing.",
    },
    choices={"severity": ("error", "advice")},
)
def check(
    context: Context,
    code: list[str] = [],  # noqa: B006
    folder: str = "",
    severity: str = "",
    obsidian: bool = False,
    catalog: bool = True,
    limit: int = 200,
    fix: bool = False,
    dry_run: bool = False,
) -> Result:
    """Find all faults at once: front matter, links, attachments, names, relations, scopes, plans, the catalog.

    Exit 3 when there are any. Headings and blocks that are gone, names that several notes claim, and scopes that
    vanished are advice: listed, but no reason to fail. With --repo the scopes of current notes are looked for in the
    code. --no-catalog leaves the catalog to whoever integrates. --fix rewrites links whose note was renamed (Git knows
    it, or one note alone has that file name), all or none, and shows each change; --dry-run only shows them.
    """
    from kbtasks.graph import check as checks
    from kbtasks.index.view import open_view
    from kbtasks.tasks.fixes import apply_fixes

    if not 1 <= limit <= 100_000:
        raise UsageError(message=f"--limit takes 1 to 100000, not {limit}")
    if dry_run and not fix:
        raise UsageError(message="--dry-run belongs to --fix", next="kb check --fix --dry-run")
    if folder and not os.path.lexists(os.path.join(context.vault, folder)):
        raise NotFound(
            what="folder or note of the vault", name=folder, next="name it by its path from the vault's root"
        )
    fixes = apply_fixes(context, code, folder, catalog=catalog, dry_run=dry_run) if fix else []
    with open_view(context.vault, context.cache) as view:
        bare = view.connection.execute("SELECT 1 FROM note LIMIT 1").fetchone() is None
        found = checks.find_faults(view.connection, repository=context.repository, obsidian=obsidian)
        if catalog:
            found += catalog_faults(view)
    found = checks.select(checks.in_order(found), codes=code, folder=folder, severity=severity)
    errors = sum(not finding.advice for finding in found)
    found.sort(key=lambda finding: finding.advice)
    data = {
        "root": context.vault,
        "errors": errors,
        "advice": len(found) - errors,
        "counts": checks.counts(found),
        "problems": [finding.to_json() for finding in found[:limit]],
        "total": len(found),
        "truncated": len(found) > limit,
        "fixes": fixes,
    }
    notes = [f"{errors} faults, {len(found) - errors} pieces of advice"]
    if bare:
        notes.append(f"there is no note in {context.vault}")
    if len(found) > limit:
        notes.append(f"only {limit} of {len(found)} are listed; --limit shows more")
    calm = context.quiet and not found and not fixes  # in a line of cron no news is good news
    return Result(
        "check",
        data,
        text=(lambda _: "") if calm else _text,
        exit_code=3 if errors else 0,
        tail="problems",
        notes=notes,
    )


def catalog_faults(view: View) -> list[Finding]:
    """The finding that the catalog page is malformed, or does not list what the vault holds now."""
    from kbtasks.errors import KbError
    from kbtasks.graph.finding import Finding
    from kbtasks.index.catalog import STALE, catalog_state

    path = view.settings.index_note
    try:
        stale = catalog_state(view) == STALE
    except KbError as error:
        return [Finding(error.code, path, error.message)]
    if stale:
        return [
            Finding(
                "stale-catalog",
                path,
                "the catalog does not list what the vault holds now",
                fix="kb refresh --only catalog",
            )
        ]
    return []


def _text(data: dict[str, Any]) -> str:
    lines = []
    for each in data["problems"]:
        line = f":{each['place']['line']}" if each["place"] else ""
        near = f"  (perhaps {', '.join(each['candidates'][:3])})" if each["candidates"] else ""
        advice = " (advice)" if each["severity"] == "advice" else ""
        lines.append(f"{each['path']}{line}  {each['code']}{advice}: {each['message']}{near}")
    for each in data["fixes"]:
        lines.append(f"{each['path']}  {'mended' if each['applied'] else 'would be mended'}: {each['message']}")
        lines.append(each["diff"])
    return "\n".join(lines) or "Nothing is wrong."
