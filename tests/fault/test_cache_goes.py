"""The cache is thrown away at the worst moment of opening it: the answer is the same."""

from __future__ import annotations

import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from support.indexed import words, write

from kbtasks.index import opener, store
from kbtasks.index.view import open_view

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("moment", ["made", "read"])
def test_it_goes_while_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    vault = write(tmp_path / "v", {"a.md": "alpha [[b]]\n", "b.md": "beta\n"})
    cache = vault / ".kbtasks"
    if moment == "read":
        open_view(str(vault), str(cache)).close()
    name = "connect" if moment == "made" else "connect_reading"
    real = getattr(store, name)
    gone = []

    def connect(path: str, **more: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = real(path, **more)
        if not gone:
            gone.append(path)
            shutil.rmtree(cache)
        return connection

    monkeypatch.setattr(store, name, connect)
    if moment == "read":
        stamp = opener._stamp

        def late(path: str) -> tuple[int, int]:
            shutil.rmtree(cache, ignore_errors=True)
            return stamp(path)

        monkeypatch.setattr(opener, "_stamp", late)
    with open_view(str(vault), str(cache), read_only=moment == "read") as view:
        assert words(view, "alpha") == ["a.md"]
