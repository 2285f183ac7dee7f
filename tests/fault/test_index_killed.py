"""Killed at any moment of a build, a rebuild or a delta, the index on disk is the old one or the new one, never a part."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from support.dropped import killed_after
from support.indexed import assert_sound, assert_true, opened, words, write

from kbtasks.index import opener, update

FILES = {
    f"notes/n{number}.md": f"# Note {number}\n\ncommonword uniq{number} [[n{(number * 7 + 1) % 30}]] #tag\n"
    for number in range(30)
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write(tmp_path / "vault", FILES)


def ticking(tick: Callable[[], None]) -> None:
    """Let every SQL statement that any step of the delta runs be a moment to be killed at."""

    class Counting(sqlite3.Connection):
        def execute(self, *words_: object, **more: object) -> sqlite3.Cursor:  # type: ignore[override]
            tick()
            return super().execute(*words_, **more)  # type: ignore[arg-type]

        def executemany(self, *words_: object, **more: object) -> sqlite3.Cursor:  # type: ignore[override]
            tick()
            return super().executemany(*words_, **more)  # type: ignore[arg-type]

    opener.store.connect = lambda path, *, wait: sqlite3.connect(  # type: ignore[assignment]
        path, timeout=wait, isolation_level=None, factory=Counting
    )


def moments() -> list[int]:
    """Early, late and in between: steps grow, so that a run of some hundred statements is tried at about forty."""
    found, step = [0], 1.0
    while found[-1] < 2000:
        step *= 1.16
        found.append(found[-1] + max(1, int(step)))
    return found


@pytest.mark.parametrize("kind", ["build", "rebuild", "delta"])
def test_killed_at_any_moment(kind: str, vault: Path) -> None:
    if kind != "build":
        opened(vault).close()
    tried = 0
    for number, moment in enumerate(moments()):
        if kind == "build":
            for path in (vault.parent / "vault.cache").glob("*"):
                path.unlink()
        (vault / "notes/n3.md").write_text(f"changed round{number} [[new{number}]]\n", encoding="utf-8")
        (vault / f"new{number}.md").write_text("# fresh\n", encoding="utf-8")

        def act(tick: Callable[[], None]) -> None:
            ticking(tick)
            opened(vault, rebuild=kind == "rebuild").close()

        killed = killed_after(moment, act)
        tried += killed
        with opened(vault) as view:
            assert words(view, f"round{number}") == ["notes/n3.md"]
            assert len(words(view, "commonword")) == 29
            if number % 8 == 0 or not killed:
                assert_true(vault, view)
                assert_sound(view)
        if not killed:
            break
    assert tried > 10
    left = {path.name for path in (vault.parent / "vault.cache").iterdir()}
    assert left <= {".gitignore", "index.db", "index.db-wal", "index.db-shm", "index.lock"}


def test_error_in_a_delta_leaves_the_old_index(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(vault).close()
    (vault / "notes/n1.md").write_text("laterword\n", encoding="utf-8")

    def fail(*_: object) -> None:
        raise RuntimeError("stop")

    with monkeypatch.context() as patch:
        patch.setattr(update.Delta, "finish", fail)
        with pytest.raises(RuntimeError):
            opened(vault)
    with opened(vault) as view:
        assert words(view, "laterword") == ["notes/n1.md"]
        assert_true(vault, view)
