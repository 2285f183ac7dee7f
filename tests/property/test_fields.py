"""Front matter edited in place: what was asked for is read back, and nothing else changes its meaning."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kbtasks.vault.fields import ABSENT, Absent
from kbtasks.vault.parse import parse_note
from kbtasks.vault.writer import with_fields

keys = st.sampled_from(["title", "tags", "status", "aliases", "extra", "über", "日付", "with space"])
texts = st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=20)
scalars = st.one_of(texts, st.booleans(), st.none(), st.integers(-(2**53) + 1, 2**53 - 1), st.sampled_from(["yes", "2026-11-30", "10:30", "0123", "null", "- x", "a: b", "#x", "[[Link]]", "{{t}}", " pad ", "\u2028"]))  # fmt: skip
values = st.one_of(scalars, st.lists(scalars, max_size=4), st.dictionaries(keys, scalars, max_size=3))
BASE = [
    "",
    "---\n---\n\nbody\n",
    "---\n# comment\ntitle: Old  # why\ntags:\n  - a\n  # between\n  - b\nstatus: >\n  folded\n  text\n\nextra: {a: 1}\n# last\n---\n\n# Body 体\n",
    "---\r\ntitle: Windows\r\ntags: [a, b]\r\n---\r\n\r\nbody\r\n",
    "\ufeff---\ntitle: marked\n---\nbody\n",
    "# no front matter\n",
]


@given(st.sampled_from(BASE), st.lists(st.tuples(keys, st.one_of(values, st.just(ABSENT))), min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_set_then_read(base: str, changes: list[tuple[str, Any]]) -> None:
    data = base.encode("utf-8")
    expected = dict(parse_note("n.md", data).meta)
    body = data[parse_note("n.md", data).body_start :]
    for key, value in changes:
        data = with_fields("n.md", data, {(key,): value})
        if isinstance(value, Absent):
            expected.pop(key, None)
        else:
            expected[key] = value
    note = parse_note("n.md", data)

    assert note.meta == expected
    assert data[note.body_start :].lstrip(b"\xef\xbb\xbf") == body.lstrip(b"\xef\xbb\xbf")
    for comment in (b"# comment", b"# last"):
        assert (comment in data) == (comment.decode() in base)
