"""Filters in semantic and hybrid mode lose no eligible note and let no other one in, however few pieces a lane proposes."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from support.meaning import needs_model
from support.searching import Vault

from kbtasks.index import vectors
from kbtasks.index.view import open_view
from kbtasks.retrieval.filters import Filters, eligible
from kbtasks.retrieval.request import Request
from kbtasks.retrieval.search import search

if TYPE_CHECKING:
    from typing import Any

TOPICS = ["database migration", "bread oven", "harbour crane", "violin bow", "tax form", "snow storm", "garden fence"]
TAGS = ["area", "area/db", "area/db/sql", "red", "areas"]
QUERIES = ["moving data to a new schema", "baking", "a musical instrument", "winter weather", "harbour"]
NOTES = 48


def text_of(random: Random, number: int) -> str:
    front = f"---\nn: {number % 7}\nstatus: {random.choice(['open', 'closed'])}\ntags: [{random.choice(TAGS)}]\n---\n"
    parts = [f"## {random.choice(TOPICS)}\n\nThe {random.choice(TOPICS)} is about {random.choice(TOPICS)} {number}.\n"
             for _ in range(random.randrange(1, 4))]  # fmt: skip
    return front + f"# Note {number}\n\n" + "\n".join(parts)


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    """Notes with vectors of most, then some of them changed, renamed, removed and added: the lane must put these aside."""
    random = Random(7)
    made = Vault(
        tmp_path_factory.mktemp("meaning"),
        {f"{'sub/' if at % 3 else ''}{at:02}.md": text_of(random, at) for at in range(NOTES)},
    )
    cache = str(made.root / ".kbtasks")
    with open_view(str(made.root), cache) as view:
        vectors.build(view.connection, cache)
    files = sorted(made.root.rglob("*.md"))
    for file in files[:3]:
        file.write_text(text_of(random, 60 + len(file.name)), encoding="utf-8")
    files[3].rename(files[3].with_name("renamed.md"))
    files[4].unlink()
    made.write("added.md", text_of(random, 70))
    return made


def filters_of(random: Random) -> dict[str, Any]:
    choices: list[dict[str, Any]] = [
        {"where": [f"n {random.choice(['=', '!=', '<', '>=', 'in'])} {random.randrange(7)}"]},
        {"where": ["status = open", f"n > {random.randrange(6)}"]},
        {"tag": [random.choice(TAGS)]}, {"path": ["sub"]}, {"path": ["*.md"]}, {"has": ["status"]}, {"has": ["nothing"]},
        {"path": [f"sub/{random.randrange(NOTES):02}.md", "added"]},
    ]  # fmt: skip
    return {**random.choice(choices), **random.choice(choices)}


def value_of(hit: Any) -> float:
    """The cosine that the lane gave; 0 for a note that is turned away from the query."""
    return float(hit.found.lanes.get("semantic", (0, 0.0))[1])


@needs_model
@pytest.mark.parametrize("seed", range(8))
def test_a_filtered_search_is_the_unfiltered_one_without_the_others(vault: Vault, seed: int) -> None:
    random = Random(seed)
    text, given = random.choice(QUERIES), filters_of(random)
    with open_view(str(vault.root), str(vault.root / ".kbtasks")) as view:
        allowed = eligible(view.connection, Filters(**given))
        assert allowed is not None
        paths = {path for rowid, path in view.connection.execute("SELECT rowid, path FROM note") if rowid in allowed}

        def ask(mode: str, limit: int, **wishes: Any) -> list[Any]:
            answer = search(view, Request(text, mode=mode, limit=limit, graph=False, min_match="weak", **wishes))
            assert not answer.partial and [lane.status for lane in answer.lanes] == ["ready"] * len(answer.lanes)
            assert answer.total == len(answer.hits) or answer.truncated
            return answer.hits

        for mode in ("semantic", "hybrid"):
            everything = ask(mode, 100, candidates=500)
            assert len(everything) == NOTES  # each note has a piece, so brute force ranks each of them
            kept = ask(mode, 100, candidates=500, filters=Filters(**given))
            assert {hit.path for hit in kept} == paths
            lane = {hit.path: value_of(hit) for hit in everything}
            for hit in kept:  # the measure itself is the same, filtered or not
                assert value_of(hit) == pytest.approx(lane[hit.path])
            few = ask(mode, 3, candidates=3, filters=Filters(**given))
            assert {hit.path for hit in few} <= paths and bool(few) == bool(paths)
            if mode == "semantic" and kept:
                assert value_of(max(few, key=value_of)) == pytest.approx(max(lane[path] for path in paths))
