"""A locked, read-only, foreign or damaged index never stands in the way of a true answer."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest
from support.dropped import as_nobody
from support.indexed import assert_sound, assert_true, opened, words, write

from kbtasks.errors import Unavailable
from kbtasks.index.view import open_view

FILES = {"a.md": "alpha [[b]]\n", "b.md": "# B\nbeta\n", "sub/c.md": "gamma [[a]]\n"}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write(tmp_path / "vault", FILES)


def database(vault: Path) -> Path:
    return vault.parent / "vault.cache" / "index.db"


def test_locked_by_a_writer(vault: Path) -> None:
    opened(vault).close()
    holder = sqlite3.connect(database(vault), isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        (vault / "a.md").write_text("zeta [[nowhere]]\n", encoding="utf-8")
        with opened(vault) as view:
            assert (view.fresh.how, view.persistent) == ("overlaid", False)
            assert words(view, "zeta") == ["a.md"]
            assert words(view, "alpha") == []
            assert_true(vault, view)
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    with opened(vault) as view:
        assert view.fresh.how == "applied"
        assert words(view, "zeta") == ["a.md"]


def test_locked_while_it_is_built(vault: Path) -> None:
    database(vault).parent.mkdir()
    holder = sqlite3.connect(database(vault), isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    try:
        with opened(vault) as view:
            assert view.fresh.how == "overlaid"
            assert words(view, "alpha") == ["a.md"]
    finally:
        holder.execute("ROLLBACK")
        holder.close()
    with opened(vault) as view:
        assert view.fresh.how == "built"


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to drop its rights")
@pytest.mark.parametrize("built", [True, False])
@pytest.mark.parametrize("log", [True, False])
def test_read_only_vault_and_cache_under_a_dropped_uid(built: bool, log: bool) -> None:
    from support.nobody import folder

    with folder() as place:
        vault = write(place / "vault", FILES)
        cache = vault / ".kbtasks"
        keep = None
        if built:
            open_view(str(vault), str(cache)).close()
            if log:  # a reader that holds the write-ahead log in use
                keep = sqlite3.connect(cache / "index.db")
                keep.execute("SELECT count(*) FROM note").fetchone()
                (vault / "b.md").write_text("# B\nbeta two\n", encoding="utf-8")
                open_view(str(vault), str(cache)).close()
        (vault / "a.md").write_text("zeta [[b]]\n", encoding="utf-8")

        def look() -> list[object]:
            with open_view(str(vault), str(cache)) as view:
                return [view.fresh.how, words(view, "zeta"), words(view, "alpha"), words(view, "beta")]

        before = sorted(cache.iterdir()) if built else []
        assert as_nobody(look) == ["overlaid", ["a.md"], [], ["b.md"]]
        assert (sorted(cache.iterdir()) if built else []) == before
        if keep is not None:
            keep.close()


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to drop its rights")
def test_unchanged_read_only_cache_is_used_as_it_is() -> None:
    from support.nobody import folder

    with folder() as place:
        vault = write(place / "vault", FILES)
        for path in vault.rglob("*.md"):
            os.utime(path, ns=(10**18, 10**18))
        os.sync()
        cache = vault / ".kbtasks"
        import time

        time.sleep(0.1)
        open_view(str(vault), str(cache)).close()

        def look() -> list[object]:
            with open_view(str(vault), str(cache)) as view:
                return [view.fresh.how, words(view, "alpha")]

        assert as_nobody(look) == ["unchanged", ["a.md"]]


@pytest.mark.parametrize("damage", ["zeros", "text", "cut", "middle", "empty", "foreign", "version", "tables"])
def test_damaged_or_foreign_is_thrown_away(damage: str, vault: Path) -> None:
    opened(vault).close()
    path = database(vault)
    data = path.read_bytes()
    if damage == "zeros":
        path.write_bytes(bytes(len(data)))
    elif damage == "text":
        path.write_bytes(b"this is no database" * 100)
    elif damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "middle":
        path.write_bytes(data[:4096] + os.urandom(len(data) - 4096))
    elif damage == "empty":
        path.write_bytes(b"")
    else:
        if damage == "foreign":
            path.unlink()
        connection = sqlite3.connect(path)
        if damage == "foreign":
            connection.execute("CREATE TABLE theirs (x)")
        elif damage == "version":
            connection.execute("PRAGMA user_version = 9999")
        else:
            connection.execute("DROP TABLE heading")
        connection.commit()
        connection.close()
    (vault / "a.md").write_text("zeta [[b]]\n", encoding="utf-8")
    with opened(vault) as view:
        assert view.fresh.how == ("built" if damage == "empty" else "rebuilt")
        assert words(view, "zeta") == ["a.md"]
        assert_true(vault, view)
        assert_sound(view)


def test_damage_met_by_a_query_is_told_and_mended(vault: Path) -> None:
    write(vault, {f"more/n{number}.md": f"filler {number} " * 200 for number in range(60)})
    opened(vault).close()
    path = database(vault)
    connection = sqlite3.connect(path)
    page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'search_text'").fetchone()[0]
    connection.close()
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[16:18], "big")
    data[(page - 1) * size : page * size] = os.urandom(size)
    path.write_bytes(bytes(data))
    with pytest.raises(Unavailable) as raised, opened(vault) as view:
        view.connection.execute("SELECT count(body) FROM search_text").fetchall()
    assert "thrown away" in str(raised.value)
    with opened(vault) as view:
        assert view.fresh.how == "built"
        assert words(view, "alpha") == ["a.md"]


def test_many_at_once_all_answer(vault: Path) -> None:
    answers: list[list[str]] = []
    lock = threading.Lock()

    def look(number: int) -> None:
        if number % 3 == 0:
            (vault / f"t{number}.md").write_text("theta\n", encoding="utf-8")
        with opened(vault) as view:
            found = words(view, "alpha")
        with lock:
            answers.append(found)

    threads = [threading.Thread(target=look, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [["a.md"]] * 12
    with opened(vault) as view:
        assert len(words(view, "theta")) == 4
        assert_true(vault, view)
        assert_sound(view)
