"""What ``check --fix`` mends: links whose note was renamed outside kb, and the catalog's region."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context


def apply_fixes(
    context: Context, codes: list[str], folder: str, *, catalog: bool, dry_run: bool
) -> list[dict[str, Any]]:
    """Mend what ``codes`` (none: everything) and ``folder`` leave: an entry ``{path, applied, message, diff}`` a file.

    catalog: the catalog's region too. dry_run: only show how.
    """
    from kbtasks.index.catalog import update_catalog
    from kbtasks.index.region import MalformedCatalog

    def asked(*names: str) -> bool:
        return not codes or any(f"-{code}-" in f"-{name}-" for name in names for code in codes)

    fixes: list[dict[str, Any]] = []
    if asked("broken-link", "missing-attachment", "broken-relation", "not-obsidian"):
        fixes += _mended_links(context, folder, dry_run=dry_run)
    if catalog and not folder and asked("stale-catalog"):
        try:
            fixes += update_catalog(context.vault, context.cache, dry_run=dry_run)
        except MalformedCatalog:
            pass  # it is among the findings
    return fixes


def _mended_links(context: Context, folder: str, *, dry_run: bool) -> list[dict[str, Any]]:
    """Rewrite stale links, all of them or none, through the vault's journal."""
    from contextlib import nullcontext

    from kbtasks.graph.mending import plan_mending, present_paths
    from kbtasks.graph.movement import edits_as_changes
    from kbtasks.graph.renames import find_renames
    from kbtasks.index.catalog import diff_of
    from kbtasks.index.view import open_view
    from kbtasks.vault.places import read
    from kbtasks.vault.writer import Writer

    fixes: list[dict[str, Any]] = []
    with nullcontext() if dry_run else Writer(context.vault) as writer:
        with open_view(context.vault, context.cache) as view:
            renames = find_renames(context.vault, present_paths(view.connection), environ=context.environ)
            mended = plan_mending(view.connection, context.vault, renames, folder=folder)
        changes = edits_as_changes(context.vault, [edit for edit, _ in mended])
        for change in changes:
            own = [(edit, target) for edit, target in mended if edit.path == change.path]
            leads_to = sorted({target for _, target in own})
            words = f"{len(own)} link{'s lead' if len(own) > 1 else ' leads'} again to {', '.join(leads_to[:5])}"
            diff = diff_of(change.path, read(context.vault, change.path), change.data or b"")
            fixes.append({"path": change.path, "applied": not dry_run, "message": words, "diff": diff})
        if writer is not None and changes:
            writer.commit(changes)
    return fixes
