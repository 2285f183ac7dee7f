"""What opening a view that nothing changed in may import, and what a reader without any lock is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.indexed import opened, words, write

from kbtasks.errors import Busy

HEAVY = {"dataclasses", "argparse", "pathlib", "tomllib", "typing", "invoke", "doit", "jsonschema", "rich", "sqlite_utils", "yaml",
         "rapidfuzz", "numpy", "json", "re", "hashlib", "datetime", "sqlite3", "array"}  # fmt: skip


def test_nothing_changed_imports_nothing_heavy(tmp_path: Path) -> None:
    root = write(tmp_path / "vault", {"a.md": "alpha\n"})
    opened(root, clock=lambda: 2**62).close()
    program = (
        "import sys\nbefore = set(sys.modules)\nfrom kbtasks.index.view import open_view\n"
        f"view = open_view({str(root)!r}, {str(tmp_path / 'vault.cache')!r})\nassert view.fresh.how == 'unchanged'\n"
        "print(*(set(sys.modules) - before))\n"
    )
    # -S: what this environment's site packages import by themselves is not ours
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True, env={"PYTHONPATH": path}
    )
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & HEAVY


def test_a_write_under_a_reader_without_a_lock_is_told(tmp_path: Path) -> None:
    root = write(tmp_path / "vault", {"a.md": "alpha\n"})
    opened(root, clock=lambda: 2**62).close()
    with opened(root, read_only=True) as view:
        assert words(view, "alpha") == ["a.md"]
    with pytest.raises(Busy), opened(root, read_only=True) as view:
        (root / "b.md").write_text("beta\n", encoding="utf-8")
        opened(root).close()


def test_a_folder_that_goes_during_the_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write(tmp_path / "vault", {"a.md": "alpha\n", "sub/b.md": "beta\n"})
    opened(root).close()
    true_open = os.open

    def vanishing(path: str, *rest: object, **more: object) -> int:
        if path == "sub":
            raise FileNotFoundError(2, "gone", path)
        return true_open(path, *rest, **more)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", vanishing)
        with opened(root) as view:
            assert words(view, "beta") == []
            assert view.problems == []
    with opened(root) as view:
        assert words(view, "beta") == ["sub/b.md"]


def test_the_cache_ignores_itself_and_leaves_a_users_folder_alone(tmp_path: Path) -> None:
    from kbtasks.index.view import open_view

    root = write(tmp_path / "vault", {"a.md": "alpha\n"})
    (root / ".kbtasks").mkdir()
    open_view(str(root), str(root / ".kbtasks")).close()
    assert b"*" in (root / ".kbtasks/.gitignore").read_bytes()
    (tmp_path / "mine").mkdir()
    open_view(str(root), str(tmp_path / "mine")).close()
    assert not (tmp_path / "mine/.gitignore").exists()
