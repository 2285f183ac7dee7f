"""The catalog page's region: rendered, found, kept apart from what a person wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.indexed import opened, write

from kbtasks.build.run import run_build
from kbtasks.errors import KbError, UsageError
from kbtasks.index.catalog import catalog_state, render_catalog, update_catalog
from kbtasks.index.region import MalformedCatalog

PAGE = "# Mine\n\nbefore\n\n<!-- kb:catalog:start -->\n<!-- kb:catalog:end -->\n\nafter\n"
NOTES = {
    "b.md": "# Bee\n\nBuzzes a lot.\n",
    "a/x.md": "# X\n\nFirst words.\n\nMore.\n",
    "a/計画.md": "---\ntype: plan\nstatus: active\n---\n# 計画\n\n説明。\n",
}


def vault(tmp_path: Path, page: str | None = PAGE) -> Path:
    files = dict(NOTES)
    if page is not None:
        files["index.md"] = page
    return write(tmp_path / "vault", files)


def update(root: Path, **more: bool) -> list[dict[str, object]]:
    return update_catalog(str(root), str(root.parent / "vault.cache"), **more)


def state(root: Path) -> str:
    with opened(root) as view:
        return catalog_state(view)


def test_lists_every_note_and_leaves_the_rest(tmp_path: Path) -> None:
    root = vault(tmp_path)
    assert state(root) == "stale"
    assert [entry["applied"] for entry in update(root)] == [True]
    text = (root / "index.md").read_text(encoding="utf-8")
    assert text.startswith("# Mine\n\nbefore\n\n<!-- kb:catalog:start -->\n<!-- kb:catalog:digest ")
    assert text.endswith("<!-- kb:catalog:end -->\n\nafter\n")
    assert (
        "## Notes\n\n- [[b|Bee]]: Buzzes a lot.\n\n## a\n\n- [[a/x|X]]: First words.\n- [[a/計画|計画]] (active): 説明。\n"
        in text
    )
    assert state(root) == "current"
    assert update(root) == []


def test_prose_does_not_make_it_stale_and_a_rename_does(tmp_path: Path) -> None:
    root = vault(tmp_path)
    update(root)
    (root / "a/x.md").write_text("# X\n\nFirst words.\n\nOther #tag [[b]].\n", encoding="utf-8")
    assert state(root) == "current"
    (root / "a/x.md").rename(root / "a/y.md")
    assert state(root) == "stale"
    update(root)
    assert "[[a/y|X]]" in (root / "index.md").read_text(encoding="utf-8")


def test_an_edit_by_hand_inside_is_noticed(tmp_path: Path) -> None:
    root = vault(tmp_path)
    update(root)
    page = root / "index.md"
    page.write_text(page.read_text(encoding="utf-8").replace("Buzzes", "Hums"), encoding="utf-8")
    assert state(root) == "stale"
    page.write_text(page.read_text(encoding="utf-8").replace("before", "other words"), encoding="utf-8")
    update(root)
    text = page.read_text(encoding="utf-8")
    assert "Buzzes" in text
    assert "other words" in text


def test_its_links_are_not_a_persons(tmp_path: Path) -> None:
    root = vault(tmp_path, PAGE + "[[a/x]]\n")
    update(root)
    with opened(root) as view:
        rows = view.connection.execute(
            "SELECT link.generated, count(*) FROM link JOIN note ON note.rowid = link.note WHERE path = 'index.md' GROUP BY 1"
        ).fetchall()
    assert rows == [(0, 1), (1, 3)]


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    root = vault(tmp_path)
    (root / "index.md").write_bytes(PAGE.replace("\n", "\r\n").encode())
    update(root)
    data = (root / "index.md").read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n") > 10
    assert state(root) == "current"


@pytest.mark.parametrize(
    "page",
    [
        "<!-- kb:catalog:start -->\n",
        "<!-- kb:catalog:end -->\n",
        "<!-- kb:catalog:end -->\n<!-- kb:catalog:start -->\n",
        PAGE + PAGE,
        "text <!-- kb:catalog:start -->\n<!-- kb:catalog:end -->\n",
        "<!-- kb:catalog:start\n<!-- kb:catalog:end -->\n",
        "<!-- kb:catalog:start --><!-- kb:catalog:end -->\n",
    ],
)
def test_malformed_marks_are_an_error_and_no_loss(page: str, tmp_path: Path) -> None:
    root = vault(tmp_path, page)
    with pytest.raises(MalformedCatalog):
        update(root)
    assert (root / "index.md").read_text(encoding="utf-8") == page


@pytest.mark.parametrize(
    ("page", "expected"),
    [(None, "absent"), ("# No marks\n", "unmarked"), ("---\nkb_catalog: authored\n---\n" + PAGE, "authored")],
)
def test_left_alone(page: str | None, expected: str, tmp_path: Path) -> None:
    root = vault(tmp_path, page)
    assert state(root) == expected
    assert update(root) == []
    assert (root / "index.md").exists() is (page is not None)
    if page is not None:
        assert (root / "index.md").read_text(encoding="utf-8") == page


def test_unknown_mode_is_refused(tmp_path: Path) -> None:
    root = vault(tmp_path, "---\nkb_catalog: sometimes\n---\n" + PAGE)
    with pytest.raises(UsageError):
        state(root)


def test_dry_run_shows_and_writes_nothing(tmp_path: Path) -> None:
    root = vault(tmp_path)
    entries = update(root, dry_run=True)
    assert entries[0]["applied"] is False
    assert "+- [[b|Bee]]: Buzzes a lot." in str(entries[0]["diff"])
    assert (root / "index.md").read_text(encoding="utf-8") == PAGE


def test_odd_titles_cannot_break_the_page(tmp_path: Path) -> None:
    root = vault(tmp_path)
    write(
        root,
        {
            "odd [1] #x.md": "---\ntitle: 'A | B ]] <!-- kb:catalog:end -->'\n---\nSee [[b]] <b>now</b> `code` %%hidden%%\n"
        },
    )
    update(root)
    assert state(root) == "current"
    with opened(root) as view:
        line = next(line for line in render_catalog(view).splitlines() if "odd" in line)
        sources = view.connection.execute("SELECT count(*) FROM link WHERE generated = 1 AND state = 'ok'").fetchone()
    assert line.startswith("- [A \\| B \\]\\] \\<!-- kb:catalog:end --\\>](odd%20%5B1%5D%20%23x.md)")
    assert sources == (4,)


def test_errors_are_kb_errors() -> None:
    assert issubclass(MalformedCatalog, KbError)
    assert MalformedCatalog.exit_code == 5


@pytest.mark.parametrize("index", ["linked/page.md", "../outside/page.md", "./page.md/../../outside/page.md"])
def test_no_page_outside_the_vault_is_touched(tmp_path: Path, index: str) -> None:
    outside = write(tmp_path / "outside", {"page.md": "<!-- kb:catalog:start -->\n<!-- kb:catalog:end -->\n"})
    before = (outside / "page.md").read_bytes()
    root = write(tmp_path / "v", {"a.md": "alpha\n", "kb.toml": f'[vault]\nindex = "{index}"\n'})
    (root / "linked").symlink_to(outside)
    try:
        run_build(str(root), str(root / ".kbtasks"), only=["catalog"], force=True)
    except UsageError as error:
        assert ".." in index and "/vault/index" in str(error)
    assert (outside / "page.md").read_bytes() == before
