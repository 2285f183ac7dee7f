"""``init``: the folders and first pages of a new vault."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.command import command

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.model.result import Result


@command(
    "init",
    schema="init",
    positional="folder",
    optional=True,
    help={"folder": "Where the vault is to be (default: kb)."},
)
def init(context: Context, folder: str = "") -> Result:
    """Make a vault: articles/, notes/, plans/, index.md and AGENTS.md; nothing that exists is touched.

    With --repo DIR the repository gets what it needs to run the same tasks by inv, doit and make: a two-line tasks.py,
    a two-line dodo.py and a Makefile fragment (kb.mk).
    """
    from kbtasks.model.result import Result
    from kbtasks.vault.starter import start_vault

    root = context.path(folder or context.root_flag or "kb")
    repository = context.path(context.repo_flag) if context.repo_flag else None
    created, kept = start_vault(root, repository)
    vault_flag = os.path.relpath(root, context.cwd)
    data: dict[str, Any] = {
        "root": root,
        "created": created,
        "kept": kept,
        "next": f"kb note.create notes/first --title 'First note' --root {vault_flag}",
    }
    return Result("init", data, text=_text, tail="created")


def _text(data: dict[str, Any]) -> str:
    lines = [f"Vault at {data['root']}"]
    lines += [f"  created  {path}" for path in data["created"]]
    lines += [f"  kept     {path}" for path in data["kept"]]
    lines.append(f"Next: {data['next']}")
    return "\n".join(lines)
