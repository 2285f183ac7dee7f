"""Bare dates and times, and titles that are not strings."""

from __future__ import annotations

import json

from support.notes import codes, small_vault, tag_names

VAULT = {
    "One.md": "---\ntitle: 2026-01-05\ncreated: 2026-07-30\nseen: 2026-07-30T06:15:00+02:00\n---\ndate title\n",
    "Two.md": "---\ntitle: 1984\ntags: [2026-07-30, survey]\n---\nnumber title\n",
    "Three.md": "---\ntitle:\n---\n# From heading\n",
    "Four.md": "---\ntitle: [a, b]\n---\nno heading here\n",
    "Five.md": "---\ntitle: {en: Coot}\n---\n# Coot\n",
    "Six.md": "---\ntitle: true\n---\ndabchick\n",
}


def test_titles() -> None:
    notes = small_vault(VAULT).notes
    titles = {path: note.title for path, note in notes.items()}
    assert titles == {
        "One.md": "2026-01-05", "Two.md": "1984", "Three.md": "From heading",
        "Four.md": "Four", "Five.md": "Coot", "Six.md": "true",
    }  # fmt: skip
    for path in ("Three.md", "Four.md", "Five.md"):
        assert codes(notes[path]) == ["frontmatter-title"]


def test_dates_stay_text_and_everything_is_json() -> None:
    notes = small_vault(VAULT).notes
    assert notes["One.md"].meta["created"] == "2026-07-30"
    assert notes["One.md"].meta["seen"] == "2026-07-30T06:15:00+02:00"
    assert tag_names(notes["Two.md"]) == ["2026-07-30", "survey"]
    for note in notes.values():
        assert json.loads(json.dumps(note.meta)) == note.meta
    assert "dabchick" in notes["Six.md"].text


def test_yaml_1_2_words() -> None:
    block = "a: no\nb: 10:30\nc: 0123\nd: 0x1F\ne: 1.5\nf: .inf\ng: ~\nh: True\ni: 9007199254740993\n"
    meta = small_vault({"N.md": f"---\n{block}---\n"}).notes["N.md"].meta
    assert meta == {
        "a": "no", "b": "10:30", "c": "0123", "d": 31, "e": 1.5, "f": ".inf", "g": None, "h": True,
        "i": "9007199254740993",
    }  # fmt: skip
