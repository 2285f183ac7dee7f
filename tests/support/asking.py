"""A small vault written from a mapping, and its tasks asked in this process, each answer checked against its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbtasks import schema
from kbtasks.command import Context, complete
from kbtasks.tasks.table import resolve

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def write_vault(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write ``files`` (path -> content) below ``root`` and return it."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return root


def ask(
    root: Path, task: str, *, exit_code: int = 0, repo: Path | None = None, cwd: Path | None = None, **values: Any
) -> dict[str, Any]:
    """The document of ``task`` for the vault at ``root``; the exit code must be ``exit_code``, text and schema must hold."""
    import os

    command = resolve(task)
    common = {"root": str(root), "repo": str(repo or ""), "cache": str(root / ".kbtasks")}
    context = Context(cwd=str(cwd or root), environ=os.environ, common=common)
    result = command.function(context, **complete(command, values))
    document = result.to_json()
    assert schema.problems(result.kind, document) == []
    assert result.kind == command.schema
    assert result.exit_code == exit_code, document
    if result.text is not None:
        assert isinstance(result.text(result.data), str)
    return document


def paths(items: list[dict[str, Any]], key: str = "path") -> list[str]:
    """The paths of a list of notes."""
    return [item[key] for item in items]
