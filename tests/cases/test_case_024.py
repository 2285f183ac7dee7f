"""Hex colours, CSS IDs, HTML attributes and escaped hashes are no tags; a hash in prose before a letter is one."""

from __future__ import annotations

from support.notes import small_vault, tag_names

COLOURS = (
    "```css\n#heron { color: #C0FFEE; }\n```\n\n"
    '<span style="border: 2px dotted #DAD; color: #bed">box</span> and `#inline` and \\#escaped and #000000.\n\n'
    "Prose colour: #C0FFEE and a true #heron-count.\n\n    #indented code\n"
)


def test_tags() -> None:
    note = small_vault({"Colours.md": COLOURS}).notes["Colours.md"]
    assert tag_names(note) == ["C0FFEE", "heron-count"]
    data = COLOURS.encode()
    assert [data[tag.place.start : tag.place.end] for tag in note.tags] == [b"#C0FFEE", b"#heron-count"]
