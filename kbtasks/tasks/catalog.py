"""``catalog``: the inventory of the vault on demand."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import KbError, UsageError
from kbtasks.model.result import Result

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context


@command(
    "catalog",
    schema="catalog",
    help={"limit": "At most this many notes, 0 for all.", "folder": "Only notes below this folder of the vault."},
)
def catalog(context: Context, limit: int = 0, folder: str = "") -> Result:
    """Print the inventory: every note by folder, as Markdown, whatever the catalog page holds.

    In managed mode a marked region of the page (index.md) is derived from it by `kb refresh`; an authored page
    (kb_catalog: authored) is left to its author. Nothing is written here. The state says whether the page lists what
    the vault holds now.
    """
    from kbtasks.graph.nodes import listed_notes
    from kbtasks.index.catalog import catalog_state, render_catalog
    from kbtasks.index.view import open_view

    if limit < 0:
        raise UsageError(message=f"--limit takes 0 or more, not {limit}")
    with open_view(context.vault, context.cache) as view:
        try:
            state = catalog_state(view)
        except KbError as error:
            state = error.code
        notes, total = listed_notes(view.connection, folder=folder, limit=limit)
        markdown = _lines(notes) if folder else render_catalog(view, limit=limit)
        page = view.settings.index_note
    data = {
        "root": context.vault,
        "page": page,
        "mode": {"absent": "none", "unmarked": "none", "authored": "authored"}.get(state, "managed"),
        "state": state,
        "notes": notes,
        "total": total,
        "truncated": len(notes) < total,
        "catalog": markdown,
    }
    said = {
        "stale": f"{page} does not list what the vault holds now; kb refresh brings it up to date",
        "unmarked": f"{page} has no marked region, so it is left alone",
    }
    return Result(
        "catalog",
        data,
        text=lambda shown: str(shown["catalog"]),
        tail="notes",
        notes=[
            f"{len(notes)} of {total} notes" if len(notes) < total else f"{total} notes",
            *([said[state]] if state in said else []),
        ],
    )


def _lines(notes: list[dict[str, Any]]) -> str:
    return "".join(f"- [[{each['id']}|{each['title']}]]: {each['summary']}\n" for each in notes)
