"""Two outputs whose names differ only by case or by forbidden characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.cli import kb

if TYPE_CHECKING:
    from pathlib import Path

TITLES = {"1": ("Reed Bed", "one"), "2": ("reed bed", "two"), "3": ("Reed/Bed?", "three"), "4": ("...", "four")}


def test_four_bundles_twice(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura", reason="the extra capture is not installed")
    (tmp_path / ".kbtasks").mkdir()
    for name, (title, number) in TITLES.items():
        page = f"<title>{title}</title><p>body-{number} text long enough to be kept as the article of this page.</p>\n"
        (tmp_path / f"{name}.html").write_text(page, encoding="utf-8")
        done = kb("clip", f"{name}.html", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    bundles = sorted(path.name for path in (tmp_path / "articles").iterdir())
    assert len(bundles) == len({name.casefold() for name in bundles}) == 4
    text = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "articles").glob("*/*.md"))
    assert all(f"body-{number}" in text for _, number in TITLES.values())
    again = kb("clip", "3.html", cwd=tmp_path)
    assert again.returncode == 5 and "earlier capture of the same source" in again.stderr
    assert sorted(path.name for path in (tmp_path / "articles").iterdir()) == bundles


def test_names() -> None:
    from kbtasks.capture.slug import slugify

    assert slugify("...") == "" and slugify("🦆🦆") == "" and slugify('/\\:*?"<>|\0\n') == ""
    assert slugify("CON") == "con-page" and slugify("nul.txt") == "nul.txt-page"
    assert slugify("老茶馆重新开门") == "老茶馆重新开门"
    assert slugify("Ünïcode Tïtle") == "ünïcode-tïtle" == slugify("Ünïcode Tïtle")
    assert len(slugify("水" * 500).encode()) <= 200 and len(slugify("word " * 100)) <= 80
    assert slugify("--a--b--") == "a-b"
