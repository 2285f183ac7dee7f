"""``refresh``: bring every derived artefact up to date, and say what ran and why."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.model.result import Result

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context


@command(
    "refresh",
    schema="refresh",
    help={
        "only": "Make only this target and what must come before it (repeatable): "
        "scan, structure, links, search, catalog, backlinks, vectors, check.",
        "force": "Make again what is up to date; with --only, that target alone.",
        "explain": "Say for each target why it ran or did not.",
        "dry_run": "Write nothing; say what would run.",
    },
)
def refresh(
    context: Context,
    only: list[str] = [],  # noqa: B006
    force: bool = False,
    explain: bool = False,
    dry_run: bool = False,
) -> Result:
    """Bring the index, the catalog page and the backlinks view up to date.

    Nothing needs it to answer truly: every command looks at the files itself. It keeps index.md (where it has the two
    kb:catalog marks) and .kbtasks/views/ in step, and makes the next commands quick. What is up to date is left alone.
    """
    from kbtasks.build.run import run_build

    bar = _Bar(enabled=sys.stderr.isatty() and not (context.quiet or context.plain or context.json))
    try:
        build = run_build(
            context.vault, context.cache, only=only, force=force, dry_run=dry_run, progress=bar.move if bar.on else None
        )
    finally:
        bar.end()
    data = build.summary()
    data["dry_run"] = dry_run
    notes = []
    if data["catalog"] == "unmarked":
        notes.append("the catalog page has no kb:catalog marks, so nothing is listed in it")
    return Result("refresh", data, text=_explained if explain or dry_run else _text, notes=notes)


def _text(data: dict[str, Any]) -> str:
    ran = [target for target in data["targets"] if target["state"] == "ran" and target["name"] != "scan"]
    if not ran:
        return "Nothing changed."
    return "\n".join(f"{target['name']}: {target['did']}" for target in ran)


def _explained(data: dict[str, Any]) -> str:
    width = max((len(target["name"]) for target in data["targets"]), default=0)
    lines = []
    for target in data["targets"]:
        did = f" -> {target['did']}" if target["did"] else ""
        lines.append(f"{target['name']:<{width}}  {target['state']}: {target['why']}{did}")
    return "\n".join(lines)


class _Bar:
    """A progress bar on stderr, drawn only on a terminal and only once there is something to count."""

    def __init__(self, *, enabled: bool) -> None:
        self.on = enabled
        self._stream = sys.stderr  # doit gives actions another one, that nobody sees
        self._progress: Any = None
        self._task: Any = None

    def move(self, done: int, total: int, what: str = "Reading notes") -> None:
        """Show that ``done`` of ``total`` are done; ``what`` names the work."""
        if self._progress is None:
            from rich.console import Console
            from rich.progress import Progress

            self._progress = Progress(
                console=Console(file=self._stream), transient=True, redirect_stdout=False, redirect_stderr=False
            )
            self._progress.start()
            self._task = self._progress.add_task(what, total=total)
        self._progress.update(self._task, description=what, completed=done, total=total)

    def end(self) -> None:
        """Take the bar away."""
        if self._progress is not None:
            self._progress.stop()
