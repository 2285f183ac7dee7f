"""Bytes to text: marks, UTF-16, bad bytes, NUL, carriage returns, huge files."""

from __future__ import annotations

import pytest

from kbtasks.vault.decode import decode
from kbtasks.vault.parse import parse_note, revision_of


@pytest.mark.parametrize(
    ("data", "text", "encoding", "codes"),
    [
        (b"plain", "plain", "utf-8", []),
        ("数据 🙂".encode(), "数据 🙂", "utf-8", []),
        ("\ufeff数".encode(), "数", "utf-8", []),
        ("数🙂".encode("utf-16"), "数🙂", "utf-16-le", ["utf-16"]),
        (b"\xfe\xff" + "数".encode("utf-16-be"), "数", "utf-16-be", ["utf-16"]),
        ("plain words".encode("utf-16-le"), "plain words", "utf-16-le", ["utf-16"]),
        (b"\xff\xfea\x00b", "a", "utf-16-le", ["utf-16"]),
        (b"caf\xe9 \xff", "café ÿ", "latin-1", ["not-utf-8"]),
        ("é".encode() + b"\xff", "é\ufffd", "utf-8", ["not-utf-8"]),
        (b"a\x00b", "a\ufffdb", "utf-8", ["nul-byte"]),
        (b"a\rb\rc", "a\nb\nc", "utf-8", []),
        (b"a\r\nb", "a\r\nb", "utf-8", []),
        (b"\xed\xa0\x80", "í\xa0\x80", "latin-1", ["not-utf-8"]),
    ],
)
def test_text(data: bytes, text: str, encoding: str, codes: list[str]) -> None:
    source = decode(data)
    assert (source.text, source.encoding, [fault[0] for fault in source.faults]) == (text, encoding, codes)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("bad", [b"", b"\xff", b"\x00"])
def test_offsets(mark: bytes, bad: bytes) -> None:
    data = mark + "a数🙂e\u0301".encode() + bad + "末 [[L]]".encode()
    source = decode(data)
    table = source.byte_offsets(range(len(source.text) + 1))
    assert table[len(source.text)] == len(data)
    at = source.text.index("[[L]]")
    assert data[table[at] : table[at + 5]] == b"[[L]]"


def test_only_the_beginning_of_a_huge_file() -> None:
    source = decode("数".encode() * 100, limit=100)
    assert source.text == "数" * 33
    assert [fault[0] for fault in source.faults] == ["too-large"]
    note = parse_note("n.md", b"# a\n", size=1 << 40, revision=revision_of(b"whole"))
    assert (note.size, note.revision) == (1 << 40, revision_of(b"whole"))
    assert [problem.code for problem in note.problems] == ["too-large"]


def test_lines_of_the_old_macintosh() -> None:
    data = b"---\rtitle: T\r---\r# H\r[[L]]\r"
    note = parse_note("n.md", data)
    assert (note.title, [h.text for h in note.headings], note.links[0].place.line) == ("T", ["H"], 5)
    assert data[note.links[0].place.start : note.links[0].place.end] == b"[[L]]"
