"""The short way, libyaml and PyYAML's own parser read front matter alike; aliases cannot grow; places are exact."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kbtasks.vault.frontmatter import read_frontmatter
from kbtasks.vault.plainyaml import read_plain
from kbtasks.vault.yamltree import MAX_ALIASED, Mapping, Node, Scalar, Sequence

KEYS = st.sampled_from(("title", "tags", "aliases", "type", "a-b", "x_1", "Title", "数"))
WORDS = st.text(
    alphabet=st.sampled_from("abzAZ019_-./:()+=~$ ,[]{}#&*!|>'\"%@`?\\\t数据プ한é🙂\u00a0\u2028\u3000"), max_size=12
)
VALUES = st.one_of(
    WORDS,
    st.sampled_from(
        (
            "", "null", "true", "no", "2026-01-05", "10:30", "0123", "1.10", "-1", "+1", ".5", "1e3", "[]", "[ ]", "[a, b]",
            '"q"', '"[[L]]"', "[[L]]", "http://x.y/z", "a: b", "a #b", "{{title}}", "- x", "--- x", "...", "~", "|", ">", "\\",
            "x  y", "-", "-a", "?", "a:", ":a", "=", "<<",
        )
    ),
)  # fmt: skip
LINES = st.one_of(
    st.builds(lambda key, blank, value, tail: f"{key}:{blank}{value}{tail}\n", KEYS,
              st.sampled_from(("", " ", "  ", "\t")), VALUES, st.sampled_from(("", " ", "\r"))),
    st.builds(lambda indent, value: f"{indent}-{value}\n", st.sampled_from(("", "  ", " ", "    ")),
              st.one_of(st.just(""), VALUES.map(" ".__add__))),
    st.sampled_from(("\n", "  \n", "# c\n", "  more\n", "\tx\n")),
)  # fmt: skip
BLOCKS = st.lists(LINES, max_size=8).map("".join)


def shape(node: Node | None, *, places: bool = True) -> Any:
    if isinstance(node, Scalar):
        return (node.text, node.value(), *((node.start, node.end) if places else ()))
    if isinstance(node, Sequence):
        return [node.start if places else 0, *(shape(item, places=places) for item in node.items)]
    if isinstance(node, Mapping):
        return {key: (start, shape(value, places=places)) for key, (start, value) in node.entries.items()}
    return None


@settings(max_examples=700, deadline=None)
@given(BLOCKS)
@example("title: a\ntags:\n- x\n-\n- y z\n\naliases:\n  - b\n  -\n")
@example("a: x\n- y\n")
@example("a:\n- x\n  - y\n")
@example('a: ""\nb: "x"\nc: []\n')
def test_the_short_way_reads_what_the_long_way_reads(block: str) -> None:
    if read_plain(block, 4) is None:
        return
    text = f"---\n{block}---\nbody"
    short, long = read_frontmatter(text), read_frontmatter(text, plain=False)
    assert long.faults == []
    assert shape(short.tree) == shape(long.tree if long.tree is not None else Mapping(4))
    assert short.end == long.end


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
@settings(max_examples=500, deadline=None)
@given(BLOCKS)
@example("a:\tb\n\tc: d\n")
@example("a: [x,\ty]\n")
def test_libyaml_and_pure_python_agree(block: str) -> None:
    text = f"---\n{block}---\nbody"
    one, other = read_frontmatter(text, plain=False), read_frontmatter(text, plain=False, pure=True)
    assert one.end == other.end
    if not one.faults and not other.faults:
        assert shape(one.tree) == shape(other.tree)


@settings(max_examples=300, deadline=None)
@given(BLOCKS)
def test_a_fault_never_costs_the_body(block: str) -> None:
    front = read_frontmatter(f"---\n{block}---\nbody")
    text = f"---\n{block}---\nbody"
    assert text[front.end :].endswith("body")
    for fault in front.faults:
        assert 0 <= fault.offset <= len(text)


@pytest.mark.parametrize("pure", [False, True])
def test_alias_bombs_stay_small(pure: bool) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    front = read_frontmatter("---\n" + "\n".join(lines) + "\n---\nbody", pure=pure)
    assert [fault.code for fault in front.faults] == ["frontmatter-alias"]
    assert len(repr(front.values())) < 10 * MAX_ALIASED
    long = "x" * 5000
    front = read_frontmatter(f"---\na: &a {long}\nb: [{', '.join(['*a'] * 500)}]\n---\n", pure=pure)
    assert [fault.code for fault in front.faults] == ["frontmatter-alias"]


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("block", ["a: &a [*a]\n", "a: " + "[" * 5000 + "\n", "a: " + "{b: " * 3000 + "\n", "a: *b\n"])
def test_loops_and_depth(block: str, pure: bool) -> None:
    front = read_frontmatter(f"---\ntitle: kept?\n{block}---\nbody", pure=pure)
    assert front.faults
    assert front.end == len(block) + len("---\ntitle: kept?\n---\n")


def test_what_can_be_read_of_broken_yaml_is_read() -> None:
    text = "---\ntitle: Foo: Bar\naliases:\n- @handle\n- ok\ntags: [a\nx: `y`\nlast: 1\n---\n"
    front = read_frontmatter(text)
    assert front.values() == {"title": "Foo: Bar", "aliases": ["@handle", "ok"], "x": "`y`", "last": 1}
    assert [text.count("\n", 0, fault.offset) + 1 for fault in front.faults] == [2, 4, 7, 7]


@pytest.mark.parametrize(
    ("text", "values", "codes"),
    [
        (
            "---\ntitle: {{title}}\nn: [{{a: b}}]\n---\n",
            {"title": "{{title}}", "n": ["{{a: b}}"]},
            ["template-placeholder"],
        ),
        ("---\r\ntitle: Real\r\nstatus: active\r\n---\r\nB", {"title": "Real", "status": "active"}, []),
        ("---\na:\n\t- b\nc:\td\n---\n", {"a": ["b"], "c": "d"}, ["frontmatter-tab"]),
        ("---\nkey: value\n", {}, ["frontmatter-unclosed"]),
        ("---\nprose\n", {}, []),
        ("---\n- a\n---\n", {}, ["frontmatter-not-mapping"]),
        ("---\n---\nbody", {}, []),
        ("---\n# only a comment\n---\nbody", {}, []),
        ("---\n1984: x\n? [a]\n: y\nz: 1\n---\n", {"1984": "x", "z": 1}, ["frontmatter-key"]),
        ("---\na: !!str 12\nb: !x y\nc: ! 12\n---\n", {"a": "12", "b": "y", "c": "12"}, []),
        ("---\nd: |\n  one\n  two\ne: >\n  f\n  g\n---\n", {"d": "one\ntwo\n", "e": "f g\n"}, []),
    ],
)
def test_odd_blocks(text: str, values: dict[str, Any], codes: list[str]) -> None:
    for options in ({}, {"plain": False}, {"plain": False, "pure": True}):
        front = read_frontmatter(text, **options)
        assert front.values() == values
        assert [fault.code for fault in front.faults] == codes
