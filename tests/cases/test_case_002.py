"""A UTF-8 byte order mark in front of the first fence."""

from __future__ import annotations

from support.notes import small_vault, tag_names

BOM = b"\xef\xbb\xbf"
NOTE = b"---\ntitle: Quagmire survey\ntags: [marsh, survey]\naliases: [Bog count]\n---\n# Quagmire survey\n\nBody.\n"
VAULT = {
    "With.md": BOM + NOTE,
    "Without.md": NOTE,
    "HeadingOnly.md": BOM + b"# Marsh walk\n\nNo frontmatter here.\n",
}


def test_the_mark_is_no_text() -> None:
    notes = small_vault(VAULT).notes
    marked, twin = notes["With.md"], notes["Without.md"]
    assert (marked.title, tag_names(marked), marked.aliases) == ("Quagmire survey", ["marsh", "survey"], ["Bog count"])
    assert (marked.title, tag_names(marked), marked.aliases) == (twin.title, tag_names(twin), twin.aliases)
    assert [h.text for h in marked.headings] == [h.text for h in twin.headings] == ["Quagmire survey"]
    assert [h.text for h in notes["HeadingOnly.md"].headings] == ["Marsh walk"]
    assert notes["HeadingOnly.md"].title == "Marsh walk"


def test_places_count_the_mark() -> None:
    note = small_vault(VAULT).notes["With.md"]
    place = note.headings[0].place
    assert (BOM + NOTE)[place.start : place.end] == b"# Quagmire survey"
    assert (BOM + NOTE)[note.body_start :].startswith(b"# Quagmire")
