"""A link must not match a longer or a shorter name."""

from __future__ import annotations

from support.notes import small_vault

VAULT = {
    "tern.md": "# tern\n",
    "arctic-tern.md": "# arctic\n",
    "outline.md": "# o\n",
    "outline-draft.md": "# od\n",
    "2026-08-27.md": "# day\n",
    "2026-08-27_b.md": "# day b\n",
    "greed/bed.md": "# greed\n",
    "reed/bed.md": "# reed\n",
    "Index.md": "[[tern]] [[outline]] [x](2026-08-27.md) [[reed/bed]] [[outl]] [[ern]]\n",
}


def test_whole_names_only() -> None:
    vault = small_vault(VAULT)
    assert vault.targets("Index.md") == ["tern.md", "outline.md", "2026-08-27.md", "reed/bed.md", None, None]
    for path in ("arctic-tern.md", "outline-draft.md", "2026-08-27_b.md", "greed/bed.md"):
        assert vault.backlinks(path) == []


def test_the_end_of_a_path_is_whole_folders() -> None:
    vault = small_vault({"x/greed/bed.md": "", "x/reed/bed.md": "", "I.md": "[[reed/bed]] [[eed/bed]]"})
    assert vault.targets("I.md") == ["x/reed/bed.md", None]
