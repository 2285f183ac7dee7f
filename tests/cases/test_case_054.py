"""Case 054: after edits, deletes, renames and repeated refreshes no old word has a hit, and FTS5's own check passes."""

from __future__ import annotations

from pathlib import Path

from support.indexed import assert_sound, opened, words


def test_no_old_word_stays(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    count = 50
    for turn in range(4):
        for n in range(count):
            one, other = root / f"n{n}.md", root / f"m{n}.md"
            if turn == 0:
                one.write_text(f"---\ntags: [x{n}]\n---\nold{n} same\n", encoding="utf-8")
            elif turn == 1:
                one.write_text(f"mid{n} same\n", encoding="utf-8")
            elif turn == 2 and n % 2:
                one.unlink()
            elif turn == 2:
                one.rename(other)
            else:
                one.unlink(missing_ok=True)
                other.unlink(missing_ok=True)
                one.write_text(f"---\ntags: [y{n}]\n---\nnew{n} same\n", encoding="utf-8")
        opened(root).close()
    with opened(root) as view:
        assert_sound(view)
        for n in range(count):
            assert words(view, f"old{n}") == []
            assert words(view, f"mid{n}") == []
            assert words(view, f"new{n}") == [f"n{n}.md"]
        assert len(words(view, "same")) == count
        assert view.connection.execute("SELECT count(*) FROM tag WHERE key = 'x0'").fetchone() == (0,)
        for table in ("search", "search_grams"):
            view.connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 0)")
