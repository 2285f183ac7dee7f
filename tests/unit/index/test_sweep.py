"""The sweep's rules of trust, with stats and clocks that are given, not hoped for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from support.dropped import as_nobody
from support.indexed import opened, words, write
from support.nobody import folder, own

from kbtasks.index.sweep import UNTRUSTED, sweep, trusted
from kbtasks.index.view import open_view
from kbtasks.vault.walk import Rules

SECOND = 10**9


def given(path: str, real: os.stat_result, *, now: dict[str, tuple[int, int]]) -> Any:
    """The true stat with times from ``now``: path -> (mtime, ctime)."""
    if path not in now:
        return real

    class Given:
        st_size, st_ino, st_mode = real.st_size, real.st_ino, real.st_mode
        st_mtime_ns, st_ctime_ns = now[path]

    return Given


@pytest.mark.parametrize(
    ("mtime", "ctime", "trusts"),
    [
        (50 * SECOND + 5, 50 * SECOND + 5, True),
        (100 * SECOND - 10_000_007, 100 * SECOND - 10_000_007, False),
        (50 * SECOND, 100 * SECOND - 10_000_007, False),
        (200 * SECOND + 1, 50 * SECOND + 1, False),
        (50 * SECOND + 1, 200 * SECOND + 1, False),
        (99 * SECOND, 99 * SECOND, False),
        (97 * SECOND, 97 * SECOND, True),
    ],
)
def test_a_young_tuple_is_recorded_so_that_it_never_compares_equal(mtime: int, ctime: int, trusts: bool) -> None:
    seen = (10, mtime, ctime, 7)
    assert trusted(seen, 100 * SECOND) == (seen if trusts else (UNTRUSTED, mtime, ctime, 7))


def test_same_tuple_after_a_young_read_is_read_again(tmp_path: Path) -> None:
    """Two edits within one tick of the clock: nothing but the bytes differs, and the second is seen."""
    root = write(tmp_path / "vault", {"n.md": "alpha\n"})
    inode = (root / "n.md").stat().st_ino
    times = {"n.md": (1000 * SECOND + 3, 1000 * SECOND + 3)}

    def stat(path: str, real: os.stat_result) -> Any:
        return given(path, real, now=times)

    with opened(root, stat=stat, clock=lambda: 1000 * SECOND + 4) as view:
        assert words(view, "alpha") == ["n.md"]
    (root / "n.md").write_text("bravo\n", encoding="utf-8")
    assert (root / "n.md").stat().st_ino == inode
    with opened(root, stat=stat, clock=lambda: 1000 * SECOND + 5) as view:
        assert (words(view, "alpha"), words(view, "bravo")) == ([], ["n.md"])


def test_verify_reads_everything(tmp_path: Path) -> None:
    """Where a platform has no change time, only --verify can see an edit that keeps size, time and inode."""
    root = write(tmp_path / "vault", {"n.md": "alpha\n"})
    old = (5 * SECOND + 3, 5 * SECOND + 3)
    frozen: dict[str, Any] = {}

    def stat(path: str, real: os.stat_result) -> Any:
        return frozen.setdefault(path, given(path, real, now={"n.md": old}))

    rows = {
        path: folder.row()
        for path, folder in sweep(str(root), {}, Rules, stat=stat, clock=lambda: 9 * SECOND).folders.items()
    }
    (root / "n.md").write_text("bravo\n", encoding="utf-8")
    assert sweep(str(root), rows, Rules, stat=stat, clock=lambda: 9 * SECOND).quiet
    assert list(sweep(str(root), rows, Rules, stat=stat, clock=lambda: 9 * SECOND, verify=True).suspects) == ["n.md"]
    opened(root).close()
    with opened(root, verify=True) as view:
        assert words(view, "bravo") == ["n.md"]


def test_clock_ahead_then_back(tmp_path: Path) -> None:
    root = write(tmp_path / "vault", {"n.md": "alpha\n"})
    ahead = 4_000_000_000 * SECOND
    os.utime(root / "n.md", ns=(ahead, ahead))
    opened(root).close()
    for word in ("bravo", "delta"):
        (root / "n.md").write_text(word + "\n", encoding="utf-8")
        os.utime(root / "n.md", ns=(ahead, ahead))
        with opened(root) as view:
            assert words(view, word) == ["n.md"]


def test_kinds_that_change_under_one_name(tmp_path: Path) -> None:
    root = write(tmp_path / "vault", {"a.md": "alpha [[p.png]]\n", "p.png": "x"})
    opened(root).close()
    (root / "p.png").unlink()
    (root / "p.png").mkdir()
    (root / "p.png" / "in.md").write_text("inside\n", encoding="utf-8")
    with opened(root) as view:
        assert words(view, "inside") == ["p.png/in.md"]
        assert view.connection.execute("SELECT count(*) FROM attachment").fetchone() == (0,)
    (root / "a.md").unlink()
    (root / "a.md").symlink_to("p.png/in.md")
    with opened(root) as view:
        assert words(view, "alpha") == []
        assert [(problem.code, problem.path) for problem in view.problems] == [("not-regular", "a.md")]
    (root / "a.md").unlink()
    os.mkfifo(root / "a.md")
    with opened(root) as view:
        assert [(problem.code, problem.path) for problem in view.problems] == [("not-regular", "a.md")]


def test_names_that_are_not_text(tmp_path: Path) -> None:
    root = write(tmp_path / "vault", {"a.md": "alpha\n"})
    odd = os.fsencode(root) + b"/odd\xff\xfe.md"
    with open(odd, "wb") as file:
        file.write(b"gamma [[a]] [[odd%FF]]\n")
    for _ in range(2):
        with opened(root) as view:
            name = "odd\udcff\udcfe.md"
            paths = sorted(path for (path,) in view.connection.execute("SELECT path FROM note"))
            assert paths == ["a.md", name]
            number = view.note_id(name)
            assert number is not None
            assert words(view, "gamma") == [name]
    os.rename(odd, os.fsencode(root) + b"/odd\xfd.md")
    with opened(root) as view:
        assert words(view, "gamma") == ["odd\udcfd.md"]


def test_settings_are_kept_by_their_tuple(tmp_path: Path) -> None:
    root = write(tmp_path / "vault", {"a.md": "alpha\n", "sub/b.md": "beta\n"})
    opened(root).close()
    (root / "kb.toml").write_text('[vault]\nignore = ["sub"]\n', encoding="utf-8")
    with opened(root) as view:
        assert view.settings.ignore == ["sub"]
        assert words(view, "beta") == []
    with opened(root) as view:
        assert view.settings.ignore == ["sub"]
    (root / "kb.toml").unlink()
    with opened(root) as view:
        assert view.settings.ignore == []
        assert words(view, "beta") == ["sub/b.md"]


def test_nothing_changed_writes_nothing(tmp_path: Path) -> None:
    root = write(tmp_path / "vault", {"a.md": "alpha\n", "sub/b.md": "beta\n"})
    opened(root, clock=lambda: 2**62).close()
    path = tmp_path / "vault.cache" / "index.db"
    before = path.stat()
    for _ in range(3):
        with opened(root) as view:
            assert view.fresh.how == "unchanged"
    after = path.stat()
    assert (before.st_mtime_ns, before.st_size, before.st_ino) == (after.st_mtime_ns, after.st_size, after.st_ino)


def test_private_notes_keep_the_index_private(tmp_path: Path) -> None:
    root = write(tmp_path / "vault", {"a.md": "alpha\n"})
    (root / "a.md").chmod(0o644)
    opened(root).close()
    path = tmp_path / "vault.cache" / "index.db"
    assert path.stat().st_mode & 0o777 == 0o644 & (tmp_path / "vault").stat().st_mode | 0o600
    (root / "b.md").write_text("secret\n", encoding="utf-8")
    (root / "b.md").chmod(0o600)
    opened(root).close()
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to drop its rights")
def test_a_folder_that_cannot_be_listed_is_named_and_comes_back_whole() -> None:
    with folder() as place:
        root = write(place / "vault", {"top.md": "kept\n", "shut/in.md": "secret\n", "shut/deep/low.md": "secret\n"})
        own(*root.rglob("*"), root)

        def look() -> list[object]:
            with open_view(str(root), str(place / "cache")) as view:
                problems = [(problem.code, problem.path) for problem in view.problems if problem.code == "unreadable"]
                return [words(view, "kept"), words(view, "secret"), problems]

        whole = [["top.md"], ["shut/deep/low.md", "shut/in.md"], []]
        assert as_nobody(look) == whole
        (root / "shut").chmod(0)
        for _ in range(2):
            assert as_nobody(look) == [["top.md"], [], [["unreadable", "shut"]]]
        (root / "shut").chmod(0o755)
        assert as_nobody(look) == whole
        (root / "shut").chmod(0o600)  # its names can be listed, its files not looked at
        for _ in range(2):
            assert as_nobody(look) == [["top.md"], [], [["unreadable", "shut"]]]
        (root / "shut").chmod(0o755)
        assert as_nobody(look) == whole
