"""Case 048: an edit that keeps size and time."""

from __future__ import annotations

import os
from pathlib import Path

from support.indexed import opened, words


def test_an_edit_that_keeps_size_and_time(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    stamp = 1_767_261_600 * 10**9
    for word in ("alpha", "bravo"):
        (root / "N.md").write_text(f"word {word} here\n", encoding="utf-8")
        os.utime(root / "N.md", ns=(stamp, stamp))
        opened(root).close()
    with opened(root) as view:
        assert words(view, "bravo") == ["N.md"]
        assert words(view, "alpha") == []


def test_many_quick_rewrites(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    for number in range(100):
        (root / "N.md").write_text(f"word{number:03d}\n", encoding="utf-8")
        with opened(root) as view:
            assert words(view, f"word{number:03d}") == ["N.md"]
