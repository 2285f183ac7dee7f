"""The search tables: pieces of notes, changed in place, always sound."""

from __future__ import annotations

import sqlite3

import pytest

from kbtasks.index import search
from kbtasks.vault.parse import parse_note

NOTE = "---\ntitle: 数据库 notes\naliases: [DB]\nstatus: open\n---\n# 标题 API\n\nSome parser-v2 text 使用API接口.\n\n## Two\n\nשלום again\n"


@pytest.fixture
def connection() -> sqlite3.Connection:
    opened = sqlite3.connect(":memory:", isolation_level=None)
    opened.execute("BEGIN")
    search.create(opened)
    return opened


def rows(connection: sqlite3.Connection, expression: str, table: str = "search") -> list[int]:
    found = connection.execute(f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid", (expression,))
    return [row for (row,) in found]


def test_pieces_are_the_bytes_of_the_file(connection: sqlite3.Connection) -> None:
    data = NOTE.encode()
    search.add(connection, 7, parse_note("n.md", data))
    found = connection.execute("SELECT id, line, start_byte, end_byte, body FROM search_text ORDER BY id").fetchall()
    assert [row[0] >> search.SHIFT for row in found] == [7] * len(found)
    for _, line, start, end, body in found:
        assert data[start:end].decode() == body
        assert line == data[:start].count(b"\n") + 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_pieces_of_other_encodings(connection: sqlite3.Connection, encoding: str) -> None:
    data = "# Grüße\n\nText mit Umläuten.\n\n## Zwei\n\nmehr\n".encode(encoding)
    note = parse_note("n.md", data)
    search.add(connection, 1, note)
    for start, end, body in connection.execute("SELECT start_byte, end_byte, body FROM search_text").fetchall():
        assert data[start:end].decode(note.encoding) == body


def test_latin_beside_han_is_a_word_of_its_own(connection: sqlite3.Connection) -> None:
    search.add(connection, 1, parse_note("n.md", NOTE.encode()))
    assert rows(connection, '"api"')
    assert rows(connection, '"接口"', "search_grams")
    assert rows(connection, '"数" *', "search_grams")


def test_adding_and_removing_leaves_sound_tables(connection: sqlite3.Connection) -> None:
    for number in range(1, 30):
        search.add(connection, number, parse_note(f"{number}.md", (NOTE + f"word{number}\n").encode()))
    assert search.faults(connection) == []
    for number in range(1, 30, 2):
        search.remove(connection, number)
        search.add(connection, number, parse_note(f"{number}.md", b"changed entirely\n"))
    search.remove(connection, 2)
    search.remove(connection, 999)
    assert search.faults(connection) == []
    assert rows(connection, '"word2"') == []
    assert [row >> search.SHIFT for row in rows(connection, '"word4"')] == [4]


def test_a_table_that_lost_its_text_is_named(connection: sqlite3.Connection) -> None:
    search.add(connection, 1, parse_note("n.md", NOTE.encode()))
    connection.execute("UPDATE search_text SET body = 'other' WHERE id & 4095 = 0")
    assert search.faults(connection)


def test_long_text_is_cut_between_words() -> None:
    text = ("word " * 3000) + "x" * 9000 + " end\n"
    parts = list(search.cut(text, 4000))
    assert "".join(parts) == text
    assert any("x" * 9000 in part for part in parts)
    assert all(len(part) <= 4001 for part in parts if "x" * 9000 not in part)
    assert list(search.cut("", 10)) == [""]


def test_an_empty_note_has_one_piece(connection: sqlite3.Connection) -> None:
    search.add(connection, 3, parse_note("empty.md", b""))
    assert connection.execute("SELECT id, body FROM search_text").fetchall() == [(3 << search.SHIFT, "")]


def test_a_huge_note_has_few_enough_pieces(connection: sqlite3.Connection) -> None:
    search.add(connection, 1, parse_note("huge.md", b"# h\n\ntext\n\n" * 6000))
    count, most = connection.execute("SELECT count(*), max(id & 4095) FROM search_text").fetchone()
    assert count == most + 1 <= 4096


@pytest.mark.parametrize(
    ("before", "encoding"),
    [
        (b"\0\0\0\0\0 b", "utf-8"),
        ("東 é ".encode() + b"\xff\xff\xfe b", "utf-8"),
        (b"\xef\xbb\xbf" + "é ".encode() + b"\0\0 b", "utf-8"),
        (b"caf\xe9 \0\0 b", "latin-1"),
        (b"\xff\xfe" + "b 東 \0\0\ud83d".encode("utf-16-le", "surrogatepass"), "utf-16-le"),
    ],
)
def test_bytes_that_are_no_text_shift_no_piece(connection: sqlite3.Connection, before: bytes, encoding: str) -> None:
    data = before + "\n\n# Head\n\nalpha lastword".encode(encoding)
    search.add(connection, 1, parse_note("n.md", data))
    found = connection.execute("SELECT start_byte, end_byte, body FROM search_text ORDER BY id").fetchall()
    assert "�" in found[0][2] and found[0][1] == len(before) + len("\n\n".encode(encoding))
    start, end, body = found[-1]
    assert (data[start:end].decode(encoding), end) == (body, len(data)) and body.endswith("lastword")


def test_a_note_of_which_only_the_beginning_was_read(connection: sqlite3.Connection) -> None:
    search.add(connection, 1, parse_note("n.md", "# Ä firstword\n\nmore\n".encode(), size=20 << 20))
    assert rows(connection, '"firstword"') and rows(connection, '"more"')
