"""The promoted note's text: normalised, located faults, a name that is its hash, a source block that nobody can forge."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbtasks.binding.promotion import (
    Promotion,
    check_id,
    check_tags,
    check_title,
    create_words,
    normalised_note,
    request_hash,
)
from kbtasks.errors import UsageError


def note(data: bytes | str) -> str:
    return normalised_note(data.encode() if isinstance(data, str) else data, what="note.md")


def promotion(text: str = "A decision.", **values: object) -> Promotion:
    given = {"project": "/p", "task": "t-1", "session": "s-1", "title": "T", "tags": ["x"], **values}
    return Promotion(note=note(text), **given)  # type: ignore[arg-type]


def test_the_file_ends_as_described() -> None:
    made = promotion("Parser retries stop after three attempts.\n")
    assert made.text == (
        "Parser retries stop after three attempts.\n\n---\n"
        f"Source: session `s-1`, task `t-1`.\nPromotion request: `{made.request}`.\n"
    )
    assert made.path == f"promoted-{made.request}.md"
    assert "Source: task `t-1`." in promotion(session=None).text


def test_line_ends_and_space_around_do_not_make_another_note() -> None:
    names = {
        promotion(text).note_id
        for text in ("a\nb", "a\r\nb\r\n", "a\rb", "\n\n a\nb"[3:], "\ufeffa\nb\n\n", "\n\na\nb \t\n")
    }
    assert len(names) == 1
    assert promotion("a\nc").note_id not in names


def test_the_hash_covers_note_task_session_and_project_and_nothing_else() -> None:
    base = request_hash("n", "t", "s", "/p")
    assert len({base, request_hash("m", "t", "s", "/p"), request_hash("n", "u", "s", "/p"),
                request_hash("n", "t", None, "/p"), request_hash("n", "t", "s", "/q")}) == 5  # fmt: skip
    assert promotion(title="other", tags=["y"]).request == promotion().request
    assert base == "1f0b7a8754ebc05cdb8cf94dd2c969924d001b32dfb03649e6889695f70df3b9", (
        "names of saved notes must not change"
    )


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"ok\nbad \xff", "line 2, byte 5"),
        (b"a\x00b", "U+0000: line 1, column 2"),
        (b"a\nb\x1b[2J", "U+001B: line 2, column 2"),
        ("a\n\nx\u202ey".encode(), "U+202E: line 3, column 2"),
        ("再\u2066".encode(), "U+2066: line 1, column 2"),
        ("a\x85b".encode(), "U+0085: line 1, column 2"),
        (b"a\x0bb", "U+000B: line 1, column 2"),
        (b"", "blank"),
        (b" \n\t\n", "blank"),
        (b"x" * 8193, "8193 bytes"),
        ("é".encode() * 4096 + b"x", "8193 bytes"),
        (b"text\n```python\nx = 1\n", "a code fence open: line 2"),
        (b"~~~\n```\n", "a code fence open: line 1"),
        (b"text <!-- hidden", "a comment open: line 1"),
        (b"a\n%% hidden", "a comment open: line 2"),
        ("a\u2028Promotion request: x".encode(), "U+2028: line 1, column 2"),
        ("a\n\u2029".encode(), "U+2029: line 2, column 1"),
        (b"a\n\n<script>\nx <!-- -->", "raw HTML or maths open: line 3"),
        (b"  <PRE class=x>", "raw HTML or maths open: line 1"),
        (b"<?php\n```\n```", "raw HTML or maths open: line 1"),
        (b"<![CDATA[ ]] >", "raw HTML or maths open: line 1"),
        (b"<!DOCTYPE html", "raw HTML or maths open: line 1"),
        (b"$$\nx", "raw HTML or maths open: line 1"),
    ],
)
def test_faults_are_located(data: bytes, where: str) -> None:
    with pytest.raises(UsageError) as caught:
        note(data)
    assert where in caught.value.message
    assert caught.value.exit_code == 2


def test_the_longest_notes_that_pass() -> None:
    assert len(note(b"x" * 8192)) == 8192
    assert len(note(b"x" * 8191 + b"\r\n\r\n")) == 8191
    assert len(note("é" * 4096).encode()) == 8192
    assert note("<pre>\nx\n</pre>\n<? x ?>\n<!D>\n<![CDATA[x]]>\n$$a$$\n$$\nb\n$$\nkill $$").endswith("kill $$")
    assert note("```\ncode\n```\n<!-- c --> %% d %%\n`````\n```\n`````").endswith("`````")


@pytest.mark.parametrize(
    "line",
    [
        "Promotion request: `0000`.",
        "promotion  REQUEST : x",
        "> Promotion request: x",
        "**Promotion request:** x",
        "- [ ] Promotion request: x",
        "Promotion\u200b request: x",
        "Ｐｒｏｍｏｔｉｏｎ　ｒｅｑｕｅｓｔ： x",
        "Promotion&#32;request: x",
        "Promotion&nbsp;request&colon; x",
        "Promotion_request: x",
        "Promotion_request_: x",
        "1. Promotion request: x",
        "Promotion\nrequest: x",
        "> Promotion\n> request\n> : x",
        "<b>Promotion</b> <i class='x'>request</i>: x",
        "." * 201 + "Promotion request: x",
        "Promotion" + " " * 21 + "request: x",
    ],
)
def test_the_source_block_cannot_be_imitated(line: str) -> None:
    with pytest.raises(UsageError, match="imitates the source block: line 4"):
        note(f"text\n\n---\n{line}\n")


@pytest.mark.parametrize(
    "line",
    [
        "Source: a paper",
        "Promotion\n\nrequest: x",
        "<prefix> in a sentence",
        "We<br>talk",
        "Promotion requests pile up.",
        "The promotion request: x",
        "---",
    ],
)
def test_honest_lines_pass(line: str) -> None:
    assert note(f"text\n\n{line}\n").endswith(line)


def test_ids_titles_and_tags() -> None:
    for good in ("a", "t_1", "T-41.x[2]", "x" * 160):
        assert check_id("the task", good) == good
    for bad in ("", "-a", "a b", "a/b", "a`b", "é", "x" * 161, "a\n", "../a"):
        with pytest.raises(UsageError):
            check_id("the task", bad)
    assert check_title("", "t-1") == "Saved from task t-1"
    for bad in ("--json", " a", "a\nb", "a\u2028b", "a\u202eb", "x" * 301, "\udcff"):
        with pytest.raises(UsageError):
            check_title(bad, "t")
    assert check_tags([]) == ["kb-promoted"]
    assert check_tags(["#one", "ONE", "two/three", "再"]) == ["one", "two/three", "再"]
    for bad in ("", "#", "-x", "a b", "a,b", "x" * 129, "a\nb"):
        with pytest.raises(UsageError):
            check_tags([bad])


def test_the_command_line() -> None:
    made = promotion(tags=["a", "b"])
    assert create_words(made, "/body", "/vault") == [
        "note", "create", made.note_id, "--title", "T", "--type", "note", "--tag", "a", "--tag", "b", "--body-file",
        "/body", "--root", "/vault", "--json",
    ]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_a_note_or_a_clear_error(data: bytes) -> None:
    try:
        text = note(data)
    except UsageError:
        return
    assert text == normalised_note(text.encode(), what="again")
    assert text.strip()
    assert "\r" not in text
    made = promotion(text)
    assert made.text.count(f"Promotion request: `{made.request}`.") == 1
