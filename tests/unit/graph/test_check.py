"""``check`` lists all faults at once, with places and candidates, and mends only what is mechanical."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asking import ask, paths, write_vault

from kbtasks.errors import UsageError
from kbtasks.graph.planlint import strong_groups

CATALOG = "<!-- kb:catalog:start -->\n<!-- kb:catalog:end -->\n"


def codes(document: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["path"], each["code"]) for each in document["problems"]]


def test_all_faults_at_once(tmp_path: Path) -> None:
    vault = write_vault(
        tmp_path,
        {
            "bad.md": "---\ntitle: [unclosed\n---\n[[gone]]\n",
            "links.md": "[[gone]] ![[gone.png]] [[same]] [[links#nope]] [[bad#^none]]\n`[[code]]`\n",
            "x/same.md": "1\n",
            "y/same.md": "2\n",
            "Heron.md": "1\n",
            "heron.md": "2\n",
            "rel.md": "---\nrelations: {supersedes: [nowhere, rel], Bad: bad}\nrepository_scopes: ['a/*', ok]\n---\n",
            "t1.md": "---\naliases: [Twin]\n---\n",
            "t2.md": "---\naliases: [twin]\n---\n",
            "p.md": "---\nrelations: {contradicts: t1}\n---\n",
            "index.md": CATALOG,
        },
    )
    document = ask(vault, "check", exit_code=3)
    found = codes(document)
    for expected in (
        ("links.md", "broken-link"),
        ("links.md", "missing-attachment"),
        ("links.md", "ambiguous-link"),
        ("links.md", "bad-fragment"),
        ("bad.md", "broken-link"),
        ("Heron.md", "name-collision"),
        ("rel.md", "broken-relation"),
        ("rel.md", "self-relation"),
        ("rel.md", "malformed-relation"),
        ("rel.md", "bad-scope"),
        ("t1.md", "shared-name"),
        ("p.md", "open-contradiction"),
        ("index.md", "stale-catalog"),
    ):
        assert expected in found
    assert any(path == "bad.md" and code.startswith("frontmatter") for path, code in found)
    assert sum(document["counts"].values()) == document["total"] == document["errors"] + document["advice"]
    severities = [each["severity"] for each in document["problems"]]
    assert severities == sorted(severities, reverse=True)  # errors, then advice
    ambiguous = next(each for each in document["problems"] if each["code"] == "ambiguous-link")
    assert ambiguous["candidates"] == ["x/same.md", "y/same.md"]
    data = (vault / "links.md").read_bytes()
    place = ambiguous["place"]
    assert data[place["start_byte"] : place["end_byte"]] == b"[[same]]"


def test_filters_and_limits(tmp_path: Path) -> None:
    vault = write_vault(tmp_path, {"a/one.md": "[[x]] [[two#no]]\n", "b/two.md": "[[y]] ![[z.png]]\n"})
    assert codes(ask(vault, "check", folder="a", exit_code=3)) == [
        ("a/one.md", "broken-link"),
        ("a/one.md", "bad-fragment"),
    ]
    assert codes(ask(vault, "check", folder="b/two.md", code=["missing"], exit_code=3)) == [
        ("b/two.md", "missing-attachment")
    ]
    assert codes(ask(vault, "check", severity="advice")) == [("a/one.md", "bad-fragment")]
    cut = ask(vault, "check", limit=1, exit_code=3)
    assert (len(cut["problems"]), cut["total"], cut["truncated"]) == (1, 4, True)
    with pytest.raises(UsageError):
        ask(vault, "check", limit=0)
    with pytest.raises(UsageError):
        ask(vault, "check", dry_run=True)


def test_links_that_obsidian_would_not_follow(tmp_path: Path) -> None:
    vault = write_vault(tmp_path, {"a.md": "[[Alt]] [[b]]\n", "b.md": "---\naliases: [Alt]\n---\n"})
    assert ask(vault, "check")["total"] == 0
    found = ask(vault, "check", obsidian=True, exit_code=3)["problems"]
    assert [(each["code"], each["target"], each["candidates"]) for each in found] == [("not-obsidian", "Alt", ["b.md"])]


def test_fix_mends_the_catalog_and_shows_it_first(tmp_path: Path) -> None:
    vault = write_vault(tmp_path, {"a.md": "x\n", "index.md": f"Before\n{CATALOG}After\n"})
    before = (vault / "index.md").read_bytes()
    shown = ask(vault, "check", fix=True, dry_run=True, exit_code=3)
    assert (vault / "index.md").read_bytes() == before
    assert [(each["path"], each["applied"]) for each in shown["fixes"]] == [("index.md", False)]
    assert "+- [[a" in shown["fixes"][0]["diff"]
    mended = ask(vault, "check", fix=True)
    assert mended["fixes"][0]["applied"] is True
    after = (vault / "index.md").read_bytes()
    assert after.startswith(b"Before\n")
    assert after.endswith(b"After\n")
    assert ask(vault, "check", fix=True)["fixes"] == []
    write_vault(vault, {"b.md": "y\n"})
    assert codes(ask(vault, "check", exit_code=3)) == [("index.md", "stale-catalog")]
    assert ask(vault, "check", catalog=False)["total"] == 0


def test_a_malformed_catalog_is_a_fault_and_stays(tmp_path: Path) -> None:
    text = "<!-- kb:catalog:end -->\n<!-- kb:catalog:start -->\n"
    vault = write_vault(tmp_path, {"index.md": text, "a.md": "x\n"})
    assert codes(ask(vault, "check", fix=True, exit_code=3)) == [("index.md", "malformed-catalog")]
    assert (vault / "index.md").read_text() == text
    assert ask(vault, "catalog")["state"] == "malformed-catalog"


def test_catalog_lists_everything_in_every_mode(tmp_path: Path) -> None:
    vault = write_vault(tmp_path, {"notes/a.md": "# A\n\nWhat it says.\n", "b.md": "x\n"})
    bare = ask(vault, "catalog")
    assert (bare["mode"], bare["state"], paths(bare["notes"])) == ("none", "absent", ["b.md", "notes/a.md"])
    assert "[[notes/a|A]]" in bare["catalog"]
    write_vault(vault, {"index.md": f"---\nkb_catalog: authored\n---\n{CATALOG}"})
    assert ask(vault, "catalog")["mode"] == "authored"
    write_vault(vault, {"index.md": CATALOG})
    managed = ask(vault, "catalog", limit=1)
    assert (managed["mode"], managed["state"], managed["truncated"]) == ("managed", "stale", True)
    assert paths(ask(vault, "catalog", folder="notes")["notes"]) == ["notes/a.md"]


PLAN = "---\ntitle: P\ntype: plan\nstatus: {status}\narea: core\n{more}---\n\n# P\n\n## Outcome\n\nx\n\n## Verification\n\nx\n{end}"
CLOSED = "\n## Result\n\nIt works.\n\n## Durable memory\n\nNone was needed.\n"


def plan(status: str = "accepted", more: str = "", end: str = "") -> str:
    return PLAN.format(status=status, more=more, end=end)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (plan(), set()),
        (plan("completed", end=CLOSED), set()),
        (plan("completed"), {"plan-unclosed"}),
        (plan("cancelled", end="\n## Result\n\n## Durable memory\n"), {"plan-unclosed"}),
        (plan("completed", end="\n## Result\n\n### Part\n\ntext\n\n## Durable Memory\n\ntext\n"), set()),
        (plan("someday"), {"plan-status"}),
        (plan("''"), {"plan-status"}),
        (plan(more="repository_scopes: 5\n"), {"plan-schema", "bad-scope"}),
        (plan().replace("area: core", "area: Not Kebab"), {"plan-schema"}),
        (plan().replace("## Outcome", "## Nothing"), {"plan-sections"}),
    ],
)
def test_plans_are_held_to_schema_and_lifecycle(tmp_path: Path, text: str, expected: set[str]) -> None:
    document = ask(
        write_vault(tmp_path, {"plans/p.md": text}), "check", exit_code=3 if expected - {"plan-sections"} else 0
    )
    assert {each["code"] for each in document["problems"]} == expected


def test_plans_that_wait_for_one_another(tmp_path: Path) -> None:
    files = {
        f"plans/p{number}.md": plan(more=f"relations: {{depends-on: plans/p{(number + 1) % 3}}}\n")
        for number in range(3)
    }
    files["plans/q.md"] = plan(more="relations: {depends-on: [plans/p0, plans/q]}\n")
    found = [
        each
        for each in ask(write_vault(tmp_path, files), "check", exit_code=3)["problems"]
        if each["code"] == "plan-cycle"
    ]
    assert [each["path"] for each in found] == ["plans/p0.md", "plans/q.md"]
    assert "plans/p0 → plans/p1 → plans/p2 → plans/p0" in found[0]["message"]


def test_a_superseded_plan_that_runs_on(tmp_path: Path) -> None:
    vault = write_vault(
        tmp_path, {"plans/new.md": plan(more="relations: {supersedes: plans/old}\n"), "plans/old.md": plan()}
    )
    assert codes(ask(vault, "check", code=["plan"], exit_code=3)) == [("plans/old.md", "plan-superseded")]


def test_scopes_that_vanished_are_advice(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "kb", {"n.md": "---\ntype: note\nrepository_scopes: [src, lost/x]\n---\n"})
    write_vault(tmp_path, {"src/a": "1\n"})
    document = ask(vault, "check", repo=tmp_path)
    assert [(each["code"], each["target"]) for each in document["problems"]] == [("vanished-scope", "lost/x")]


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.integers(0, 6), st.lists(st.integers(0, 6), max_size=4), max_size=7))
def test_strong_groups_equal_mutual_reach(graph: dict[int, list[int]]) -> None:
    def reach(start: int) -> set[int]:
        seen: set[int] = set()
        waiting = list(graph.get(start, ()))
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                waiting += graph.get(node, ())
        return seen

    reached = {node: reach(node) for node in range(7)}
    wanted = {
        frozenset(o for o in range(7) if o in reached[n] and n in reached[o]) for n in range(7) if n in reached[n]
    }
    assert {frozenset(group) for group in strong_groups(graph)} == wanted


def test_the_inbox_shrinks_as_notes_take_captures_up(tmp_path: Path) -> None:
    clip = "---\ntitle: {}\nclipped: {}\n---\n"
    vault = write_vault(
        tmp_path,
        {
            "articles/a/a.md": clip.format("A", "2026-01-02T10:00:00Z"),
            "articles/b/b.md": clip.format("B", "2026-03-02"),
            "articles/c/c.md": "[[a]]\n",
            "articles/d/d.md": clip.format("D", "soon"),
            "articlesX/e.md": "x\n",
            "plans/p.md": "---\ntype: plan\n---\n[[b]]\n",
            "index.md": "<!-- kb:catalog:start -->\n[[a]]\n<!-- kb:catalog:end -->\n",
        },
    )
    document = ask(vault, "inbox")
    assert [(each["path"], each["reason"]) for each in document["inbox"]] == [
        ("articles/b/b.md", "no-maintained-note"),
        ("articles/a/a.md", "no-maintained-note"),
        ("articles/c/c.md", "missing-clipped-date"),
        ("articles/d/d.md", "invalid-clipped-date"),
    ]
    assert ask(vault, "inbox", plans=True)["total"] == 3
    write_vault(vault, {"notes/n.md": "---\nrelations: {evidenced-by: articles/a/a}\n---\n"})
    after = ask(vault, "inbox", limit=1)
    assert (after["total"], after["truncated"], after["settled"]) == (3, True, 1)
    assert paths(after["settled_notes"][0]["by"]) == ["notes/n.md"]
    assert paths(ask(vault, "inbox", folder=["articlesX"])["inbox"]) == ["articlesX/e.md"]
