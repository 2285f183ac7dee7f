"""On any vault, walks, components and degrees equal a plain reading of the same links."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from support.asking import ask, write_vault

EDGES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=24)


def reach(edges: set[tuple[int, int]], start: int, depth: int, direction: str) -> dict[int, int]:
    near: dict[int, set[int]] = {}
    for source, target in edges:
        if direction != "in":
            near.setdefault(source, set()).add(target)
        if direction != "out":
            near.setdefault(target, set()).add(source)
    seen = {start: 0}
    level = {start}
    for distance in range(1, depth + 1):
        level = {end for node in level for end in near.get(node, ())} - seen.keys()
        seen.update(dict.fromkeys(level, distance))
    return seen


@settings(max_examples=25, deadline=None)
@given(EDGES, st.integers(0, 7), st.integers(1, 5), st.sampled_from(["in", "out", "both"]))
def test_walks_equal_a_plain_search(edges: list[tuple[int, int]], start: int, depth: int, direction: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = {f"n{number}.md": f"note {number}\n" for number in range(8)}
        for source, target in edges:
            files[f"n{source}.md"] += f"[[n{target}]]\n"
        vault = write_vault(Path(folder), files)
        document = ask(vault, "links", note=f"n{start}", depth=depth, direction=direction)
        plain = {(source, target) for source, target in edges if source != target}
        wanted = reach(plain, start, depth, direction)
        assert {note["path"]: note["distance"] for note in document["notes"]} == {
            f"n{number}.md": distance for number, distance in wanted.items()
        }
        whole = ask(vault, "graph")
        groups = {frozenset(reach(plain, number, 8, "both")) for number in range(8)}
        assert whole["counts"]["components"] == len(groups)
        assert whole["counts"]["orphans"] == sum(len(group) == 1 for group in groups)
        assert whole["counts"]["linked_pairs"] == len(plain)
        ends = {number for pair in plain for number in pair}
        sources = {source for source, _ in plain}
        assert whole["counts"]["dead_ends"] == len(ends - sources)
