"""Fields, bodies and sections edited in place: exactly the bytes that were asked for, or a refusal."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbtasks.errors import KbError, NotFound, Refused, UsageError
from kbtasks.vault import compose
from kbtasks.vault.fields import ABSENT
from kbtasks.vault.writer import with_fields


def set_in(text: str, **fields: Any) -> str:
    return with_fields("n.md", text.encode("utf-8"), {(key,): value for key, value in fields.items()}).decode("utf-8")


LIST = "---\ntags:\n  # why\n  - a # first\n  # between\n  - b\n# last\n---\nbody 体"
FLOW = "---\ntags: [\"a\", 'b']  # why\n---\nbody"


@pytest.mark.parametrize(
    ("text", "fields", "after"),
    [
        (LIST, {"tags": ["a", "b", "c"]}, LIST.replace("  - b\n", "  - b\n  - c\n")),
        (LIST, {"tags": ["b"]}, LIST.replace("  - a # first\n", "")),
        (LIST, {"tags": ["a", "b"]}, LIST),
        (FLOW, {"tags": ["a", "b", "新 x"]}, FLOW.replace("'b'", "'b', 新 x")),
        (FLOW, {"tags": ["b"]}, FLOW.replace('"a", ', "")),
        (FLOW, {"tags": []}, FLOW.replace("[\"a\", 'b']", "[]")),
        ("---\na: 1\n---\n", {"a": "two\nlines\n"}, '---\na: "two\\nlines\\n"\n---\n'),
        ("---\na: |\n  two\n  lines\nb: 1 # c\n---\n", {"a": "x"}, "---\na: x\nb: 1 # c\n---\n"),
        ("---\na: 1\n---\n", {"a": "1"}, '---\na: "1"\n---\n'),
        ("---\nt: {{title}}\n---\nb", {"s": "x"}, "---\nt: {{title}}\ns: x\n---\nb"),
        ("no front matter", {"a": 1}, "---\na: 1\n---\nno front matter"),
        ("---\nprose\n---\nb", {"a": 1}, "---\na: 1\n---\n---\nprose\n---\nb"),
        ("", {"a": 1}, "---\na: 1\n---\n"),
        (
            "\ufeff---\r\nt: a\r\n---\r\nb",
            {"x": [1, True, None]},
            "\ufeff---\r\nt: a\r\nx: [1, true, null]\r\n---\r\nb",
        ),
        ("---\nt: x\n---", {"t": ABSENT}, "---\n---"),
    ],
)
def test_only_the_field_changes(text: str, fields: dict[str, Any], after: str) -> None:
    assert set_in(text, **fields) == after


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("---\na: 1\na: 2\n---\n", {"a": ABSENT}),
        ("---\na: &k [1]\nb: *k\n---\n", {"a": 3}),
        ("---\na: &k [1]\nb: *k\n---\n", {"a": ABSENT}),
        ("---\na: &k [1]\nb: *k\n---\n", {"b": 3}),
        ("---\na: &k {x: 1}\nb:\n  <<: *k\n---\n", {"a": 1}),
        ("---\nt: x\nno end\n", {"a": 1}),
        ("---\nbad: [\n---\n", {"a": 1}),
        ("---\n{a: 1}\n---\n", {"b": 1}),
        ("---\n- a\n---\n", {"b": 1}),
        ("---\rt: x\r---\rbody\r", {"a": 1}),
    ],
)
def test_what_cannot_be_done_in_place_is_refused(text: str, fields: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        set_in(text, **fields)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_other_encodings_are_never_touched(encoding: str) -> None:
    data = "---\ntitle: Café notes\n---\n\nlong enough to tell\n".encode(encoding)
    with pytest.raises(Refused, match="cannot be edited in place"):
        with_fields("n.md", data, {("a",): 1})
    with pytest.raises(Refused, match="cannot be edited in place"):
        compose.append("n.md", data, b"x")
    with pytest.raises(Refused, match="cannot be edited in place"):
        compose.replace_body("n.md", data, b"x")


@pytest.mark.parametrize(
    ("old", "heading", "text", "new"),
    [
        (
            "# A\n\nx\n\n## S\n\n- i\n\n\n# B\n\n## S\n\nz\n",
            "S",
            "- new",
            "# A\n\nx\n\n## S\n\n- i\n- new\n\n\n# B\n\n## S\n\nz\n",
        ),
        ("# A\n\n## S\n\n- i\n\n# B\n\n## S\n\nz", "B#S", "new", "# A\n\n## S\n\n- i\n\n# B\n\n## S\n\nz\n\nnew\n"),
        ("A\n===\n\nx\n\nB\n===\n\ny", "a", "new", "A\n===\n\nx\n\nnew\n\nB\n===\n\ny"),
        ("# A\n> # Q\n\n- # L\n  x\n# B\n", "A", "new", "# A\n> # Q\n\n- # L\n  x\n\nnew\n\n# B\n"),
        ("# A\r\n\r\n1. x  \r\n# B\r\n", "A", "2. y\n", "# A\r\n\r\n1. x  \r\n2. y\r\n\r\n# B\r\n"),
        ("---\nt: x\n---", "", "y", "---\nt: x\n---\n\ny\n"),
        ("no newline", "", "y", "no newline\n\ny\n"),
        ("ends\n\n\n", "", "y", "ends\n\ny\n\n\n"),
        ("", "", "y", "y\n"),
        ("\ufeff", "", "y", "\ufeffy\n"),
        ("# Ä 見出し 🌊\n", "ä 見出し 🌊", "z", "# Ä 見出し 🌊\n\nz\n"),
        ("```\n# not a heading\n```\n# A\n", "a", "x", "```\n# not a heading\n```\n# A\n\nx\n"),
    ],
)
def test_append(old: str, heading: str, text: str, new: str) -> None:
    data = old.encode("utf-8")
    assert compose.append("n.md", data, text.encode("utf-8"), heading=heading).decode("utf-8") == new


@given(
    st.text(alphabet="#ab- \n\r>`=\t新", max_size=60),
    st.text(alphabet="x- #\n", min_size=1, max_size=12).filter(lambda text: bool(text.strip())),
)
@settings(max_examples=200, deadline=None)
def test_append_only_adds(old: str, text: str) -> None:
    data = old.encode("utf-8")
    try:
        new = compose.append("n.md", data, text.encode("utf-8"))
    except KbError:
        return
    start = next((at for at, (one, other) in enumerate(zip(data, new, strict=False)) if one != other), len(data))
    end = len(data) - start
    assert new[:start] == data[:start] and new.endswith(data[len(data) - end :] if end else b"")
    assert len(new) > len(data)


def test_a_heading_that_is_not_there() -> None:
    old = b"# A\n"
    with pytest.raises(NotFound) as caught:
        compose.append("n.md", old, b"x", heading="B")
    assert caught.value.next == "the headings are: 'A'"
    once = compose.append("n.md", old, b"x", heading="Log 記", create_level=2)
    assert once == "# A\n\n## Log 記\n\nx\n".encode()
    assert compose.append("n.md", once, b"y", heading="Log 記", create_level=2) == once + b"\ny\n"
    for bad in ("One#Two", "two\nlines", " padded", ""):
        with pytest.raises(UsageError) if bad else pytest.raises(UsageError, match="no text"):
            compose.append("n.md", old, b"x" if bad else b" \n", heading=bad, create_level=2)


def test_text_never_becomes_front_matter() -> None:
    text = b"---\ntitle: x\n---\n"
    with pytest.raises(Refused, match="would become front matter"):
        compose.append("n.md", b"", text)
    with pytest.raises(Refused, match="would become front matter"):
        compose.replace_body("n.md", b"old\n", text)
    assert compose.append("n.md", b"old\n", text) == b"old\n\n" + text
    assert compose.replace_body("n.md", b"---\na: 1\n---\nold\n", text) == b"---\na: 1\n---\n\n" + text


def test_replace_body_keeps_the_front_matter() -> None:
    head = b"\xef\xbb\xbf---\r\n# c\r\na: 1\r\n---\r\n"
    assert compose.replace_body("n.md", head + b"old", b"new\nlines") == head + b"\r\nnew\r\nlines\r\n"
    assert compose.replace_body("n.md", b"---\na: 1\n---", b"new") == b"---\na: 1\n---\n\nnew\n"


@pytest.mark.parametrize("body", [b"\xff", b"a\0b"])
def test_a_body_that_is_no_text(body: bytes) -> None:
    with pytest.raises(Refused):
        compose.compose({"title": "x"}, body)
    with pytest.raises(Refused):
        compose.append("n.md", b"", body)


def test_compose() -> None:
    meta = {"title": "A: b", "description": None, "tags": ["x", "y z"], "aliases": [], "relations": {"p": ["a"]}}
    assert compose.compose(meta, "\ufeffb\r\nx".encode()) == (
        b'---\ntitle: "A: b"\ntags: [x, y z]\nrelations:\n  p: [a]\n---\n\nb\nx\n'
    )


@pytest.mark.parametrize("title", ["", " x", "x\n", "a\tb", "\u2028", "x\udce9", "x" * 513])
def test_titles(title: str) -> None:
    with pytest.raises(UsageError):
        compose.check_title(title)
    assert compose.check_title("x" * 512) and compose.check_title("🌊 題")


def test_tags() -> None:
    assert compose.check_tags(["#a", "A", "b/c", "日本"]) == ["a", "b/c", "日本"]
    for bad in ("", "#", "a b", "a,b", "[a]", "x\udce9", "x" * 129):
        with pytest.raises(UsageError):
            compose.check_tags([bad])
