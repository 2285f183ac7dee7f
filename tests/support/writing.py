"""Write commands called in this process, as ``kb`` calls them: a line is parsed, the task run, its document checked."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from kbtasks import schema
from kbtasks.cli import parse
from kbtasks.command import Context, complete
from kbtasks.tasks.table import resolve


def run(vault: Path, task: str, *words: str) -> dict[str, Any]:
    """The document of ``kb TASK WORDS`` in ``vault``, which fits its schema. Raises what the task raises."""
    command = resolve(task)
    common: dict[str, Any] = {"root": str(vault)}
    values = complete(command, parse(command, words, common))
    result = command.function(Context(cwd=str(vault), environ=os.environ, common=common), **values)
    document = result.to_json()
    assert schema.problems(result.kind, document) == []
    assert result.text is None or isinstance(result.text(result.data), str)
    return document


def files(vault: Path) -> dict[str, bytes]:
    """Every file of the vault but the derived ones, by path."""
    found = {}
    for path in vault.rglob("*"):
        name = path.relative_to(vault).as_posix()
        if path.is_file() and not path.is_symlink() and not name.startswith(".kbtasks/"):
            found[name] = path.read_bytes()
    return found


def debris(vault: Path) -> list[str]:
    """What a write should never leave: journals and temporary files."""
    journal = [str(path) for path in (vault / ".kbtasks" / "journal").rglob("*")]
    return sorted(journal + [str(path) for path in vault.rglob(".kbtasks-tmp-*")])
