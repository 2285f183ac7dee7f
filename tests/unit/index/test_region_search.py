"""The derived region of the catalog page is not found by search; what its author wrote around it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.indexed import content
from support.searching import Vault

from kbtasks.build.run import run_build
from kbtasks.index import search
from kbtasks.index.view import open_view

if TYPE_CHECKING:
    from pathlib import Path

PAGE = """# Home

Welcome, wanderer.

<!-- kb:catalog:start -->
<!-- kb:catalog:end -->

Beneath the list.

#### Deeper

The cellar 地下室.
"""


def vault(tmp_path: Path, page: str = PAGE) -> Vault:
    made = Vault(
        tmp_path / "v",
        {"index.md": page, "a/zebra.md": "# Zebra stripes\n\nThey run.\n", "a/b.md": "# 数据库 note\n\nQuagga.\n"},
    )
    run_build(str(made.root), str(made.root / ".kbtasks"))
    return made


def test_only_the_listed_notes_are_found(tmp_path: Path) -> None:
    made = vault(tmp_path)
    assert "Zebra stripes" in (made.root / "index.md").read_text()
    for mode in ("exact", "keyword"):
        assert made.paths("zebra", mode) == ["a/zebra.md"]
        assert made.paths("数据库", mode) == ["a/b.md"]
        for word in ("wanderer", "beneath", "cellar", "地下室", "home"):
            assert made.paths(word, mode) == ["index.md"]


def test_places_around_the_region_are_places_in_the_file(tmp_path: Path) -> None:
    for number, page in enumerate((PAGE, PAGE.replace("\n", "\r\n"), "\ufeff" + PAGE, "---\ntitle: x\n---\n" + PAGE)):
        made = vault(tmp_path / str(number), page)
        data = (made.root / "index.md").read_bytes()
        with open_view(str(made.root), str(made.root / ".kbtasks")) as view:
            note = view.note_id("index.md")
            assert note is not None
            rows = view.connection.execute(
                "SELECT line, start_byte, end_byte, heading, body FROM search_text WHERE id >> ? = ? ORDER BY id",
                (search.SHIFT, note),
            ).fetchall()
            assert search.faults(view.connection) == []
        for line, start, end, heading, body in rows:
            assert data[start:end].decode() == body
            assert data.count(b"\n", 0, start) + 1 == line
            assert set(heading.split("\n")) <= {"", "Home", "Deeper"}
        assert [row[3] for row in rows][-1] == "Home\nDeeper"


def test_a_page_of_nothing_but_a_region_is_sound(tmp_path: Path) -> None:
    made = vault(tmp_path, "<!-- kb:catalog:start -->\n<!-- kb:catalog:end -->\n")
    assert made.paths("zebra", "exact") == ["a/zebra.md"]
    assert made.paths("index", "exact") == ["index.md"]


def test_the_search_part_alone_is_made_by_the_same_rule(tmp_path: Path) -> None:
    made = vault(tmp_path)
    root, cache = str(made.root), str(made.root / ".kbtasks")
    with open_view(root, cache) as view:
        before = content(view.connection)
    run_build(root, cache, only=["search"], force=True)
    with open_view(root, cache) as view:
        assert content(view.connection) == before
