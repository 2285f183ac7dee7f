"""One note with bytes that are not UTF-8, one that ends in half a letter, one of zero length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.notes import read_vault

if TYPE_CHECKING:
    from pathlib import Path

VAULT = {
    "Good.md": b"# Good\n\nA shelduck. [[Bad]] [[Empty]]\n",
    "Bad.md": b"# Bad\n\nA teal on the \xe9tang, \xff\xfe and [[Good]].\n",
    "Empty.md": b"",
    "Cut.md": b"ends in half a letter \xc3",
}


def test_all_are_listed_and_the_bad_ones_named(tmp_path: Path) -> None:
    for name, data in VAULT.items():
        (tmp_path / name).write_bytes(data)
    vault = read_vault(tmp_path)
    assert sorted(vault.notes) == ["Bad.md", "Cut.md", "Empty.md", "Good.md"]
    named = [(problem.code, problem.path, problem.line) for note in vault.notes.values() for problem in note.problems]
    assert sorted(named) == [("not-utf-8", "Bad.md", 3), ("not-utf-8", "Cut.md", 1)]
    assert {name: (tmp_path / name).read_bytes() for name in VAULT} == VAULT


def test_what_can_be_read_is_read(tmp_path: Path) -> None:
    for name, data in VAULT.items():
        (tmp_path / name).write_bytes(data)
    vault = read_vault(tmp_path)
    bad = vault.notes["Bad.md"]
    assert "teal" in bad.text
    assert bad.title == "Bad"
    [link] = bad.links
    assert VAULT["Bad.md"][link.place.start : link.place.end] == b"[[Good]]"
    empty = vault.notes["Empty.md"]
    assert (empty.title, empty.text, empty.sections) == ("Empty", "", [])
    assert vault.backlinks("Bad.md") == ["Good.md"]


def test_one_bad_byte_does_not_cost_the_others() -> None:
    from kbtasks.vault.parse import parse_note

    data = "# 数据库\n\n插件 ".encode() + b"\xff" + " 主题 [[链接]]\n".encode()
    note = parse_note("中.md", data)
    assert note.title == "数据库"
    assert "插件 \ufffd 主题" in note.text
    assert data[note.links[0].place.start : note.links[0].place.end] == "[[链接]]".encode()
