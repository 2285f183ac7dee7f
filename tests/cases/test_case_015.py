"""Links in HTML comments, ``%%`` comments and formulas: none of them counts, here and everywhere."""

from __future__ import annotations

from support.notes import small_vault

MASK = (
    "[[Kept1]] <!-- [[Gone1]] #gone --> [[Kept2]]\n\n<!--\n[[Gone2]]\n\nstill a comment [[Gone3]]\n-->\n\n$$\n"
    "A = [[Gone4, 2],[3, 4]]\n$$\n\nInline $[[Gone5]]$ math. It cost $5 and [[Kept3]] cost $6.\n\n%% [[Percent]] %%\n"
)


def test_what_is_masked() -> None:
    note = small_vault({"Mask.md": MASK}).notes["Mask.md"]
    assert [link.target for link in note.links] == ["Kept1", "Kept2", "Kept3"]
    assert note.tags == []


def test_comments_over_lines() -> None:
    text = "a [[K1]] %% [[G]] #g %% [[K2]]\n\n%%\n[[G]]\n\n[[G]] ^g\n%% [[K3]]\n\n%% never closed [[K4]]\n"
    note = small_vault({"M.md": text}).notes["M.md"]
    assert [(link.target, link.place.line) for link in note.links] == [("K1", 1), ("K2", 1), ("K3", 7), ("K4", 9)]
    assert (note.tags, note.blocks) == ([], [])
