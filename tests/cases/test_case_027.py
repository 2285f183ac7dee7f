"""``#tag`` at the start of a line against ``# Heading``."""

from __future__ import annotations

from support.notes import small_vault, tag_names

TOP = "#wader #survey2\n\n# Wader list\n\n## Birds #field\n\n####### seven\n\n#\n\n## End ##\n\n    # code\n\n- #item one\n"


def test_headings_and_tags() -> None:
    note = small_vault({"Top.md": TOP}).notes["Top.md"]
    assert [heading.text for heading in note.headings] == ["Wader list", "Birds #field", "", "End"]
    assert tag_names(note) == ["wader", "survey2", "field", "item"]
    assert note.title == "Wader list"
