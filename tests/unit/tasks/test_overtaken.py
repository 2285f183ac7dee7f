"""A read that, without a lock, saw the index being written is made again."""

from __future__ import annotations

import os
import sqlite3
from json import loads
from typing import TYPE_CHECKING, Any

import pytest
from support.indexed import write

from kbtasks import cli
from kbtasks.index import opener, store

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault whose index is read as in a read-only cache: without a lock."""
    vault = write(tmp_path / "vault", {"a.md": "alpha [[b]]\n", "b.md": "beta\n"})
    for path in vault.rglob("*.md"):
        os.utime(path, ns=(10**18, 10**18))
    assert cli.run(["--root", str(vault), "--quiet", "stats"]) == 0

    def connect(self: opener.Opener) -> sqlite3.Connection:
        self.read_only = True
        self.frozen = opener._stamp(self.path)
        return store.connect_frozen(self.path)

    monkeypatch.setattr(opener.Opener, "_connect", connect)
    return vault


@pytest.mark.parametrize(("writes", "code"), [(1, 0), (2, 0), (9, 8)])
def test_it_is_made_again_twice(
    frozen: Path, writes: int, code: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from kbtasks.retrieval import search

    real = search.search
    calls = [0]

    def overtaken(*given: Any) -> Any:
        calls[0] += 1
        if calls[0] <= writes:
            now = os.stat(frozen / ".kbtasks/index.db").st_mtime_ns
            os.utime(frozen / ".kbtasks/index.db", ns=(now + calls[0], now + calls[0]))
        return real(*given)

    monkeypatch.setattr(search, "search", overtaken)
    capfd.readouterr()
    assert cli.run(["search", "alpha", "--root", str(frozen), "--mode", "exact", "--json"]) == code
    document = loads(capfd.readouterr().out)
    if code:
        assert document["error"]["code"] == "busy"
        assert calls == [3]
    else:
        assert [hit["path"] for hit in document["hits"]] == ["a.md"]
        assert calls == [writes + 1]
