"""Case 050: ghosts of deleted notes, moved folders, swapped names."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.indexed import View, opened, words, write


def links(view: View) -> list[str]:
    rows = view.connection.execute(
        "SELECT link.state, link.target, target.path FROM link JOIN note ON note.rowid = link.note"
        " LEFT JOIN note AS target ON target.rowid = link.target_note WHERE note.path = 'Ref.md' ORDER BY ordinal"
    )
    return [f"unresolved {target}" if state == "broken" else str(path) for state, target, path in rows]


def tagged(view: View, tag: str) -> list[str]:
    rows = view.connection.execute("SELECT path FROM tag JOIN note ON note.rowid = tag.note WHERE key = ?", (tag,))
    return [path for (path,) in rows]


@pytest.mark.parametrize("refresh_between", [False, True])
def test_no_ghosts(refresh_between: bool, tmp_path: Path) -> None:
    root = write(
        tmp_path / "vault",
        {
            "Gone.md": "# Gone\n\nghostword #ghosttag\n",
            "Ref.md": "[[Gone]] [[Moved]] [[old/Moved]]\n",
            "S1.md": "swapone\n",
            "S2.md": "swaptwo\n",
            "old/Moved.md": "# Moved\n\nmoveword\n",
        },
    )
    with opened(root) as view:
        assert words(view, "ghostword") == ["Gone.md"]
        assert links(view) == ["Gone.md", "old/Moved.md", "old/Moved.md"]
    (root / "Gone.md").unlink()
    (root / "old").rename(root / "new")
    (root / "S1.md").rename(root / "S3.md")
    (root / "S2.md").rename(root / "S1.md")
    (root / "S3.md").rename(root / "S2.md")
    if refresh_between:
        opened(root).close()
    with opened(root) as view:
        assert words(view, "ghostword") == []
        assert tagged(view, "ghosttag") == []
        assert words(view, "moveword") == ["new/Moved.md"]
        assert links(view) == ["unresolved Gone", "new/Moved.md", "unresolved old/Moved"]
        assert (words(view, "swapone"), words(view, "swaptwo")) == (["S2.md"], ["S1.md"])
