"""Suggestions: each kind is found with its lines and the command that would accept it, and nothing is written."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.asking import ask, paths, write_vault

from kbtasks.errors import UsageError
from kbtasks.graph.percolate import percolate
from kbtasks.graph.shingles import Sketches, jaccard
from kbtasks.index.view import open_view

WORDS = " ".join(f"word{number}" for number in range(120))


def of_kind(document: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [each for each in document["candidates"] if each["kind"] == kind]


def test_mentions_cite_their_bytes_and_write_nothing(tmp_path: Path) -> None:
    vault = write_vault(
        tmp_path,
        {
            "notes/Parser contract.md": "---\naliases: [解析器契约]\n---\nParser contract itself.\n",
            "a.md": "---\ntitle: x\n---\né The parser\ncontract and `Parser contract`.\n\n见解析器契约。\n",
            "linked.md": "[[Parser contract]] and Parser contract\n",
            "index.md": "<!-- kb:catalog:start -->\nParser contract\n<!-- kb:catalog:end -->\n",
            "b.md": "Parser contracts are something else; a shared name too.\n",
            "s1.md": "---\naliases: [shared name]\n---\n",
            "s2.md": "---\naliases: [shared name]\n---\n",
        },
    )
    before = {path: path.read_bytes() for path in vault.glob("**/*.md")}
    document = ask(vault, "percolate", kind=["unlinked-mention"])
    assert [(paths(each["notes"]), each["evidence_total"]) for each in document["candidates"]] == [
        (["a.md", "notes/Parser contract.md"], 2)
    ]
    data = (vault / "a.md").read_bytes()
    pieces = [data[item["start_byte"] : item["end_byte"]].decode() for item in document["candidates"][0]["evidence"]]
    assert pieces == ["parser\ncontract", "解析器契约"]
    assert [item["line"] for item in document["candidates"][0]["evidence"]] == [4, 7]
    assert (
        document["candidates"][0]["accept"] == "kb relation.add a --predicate mentions --target 'notes/Parser contract'"
    )
    assert {path: path.read_bytes() for path in vault.glob("**/*.md")} == before
    assert len(ask(vault, "percolate", note="Parser contract", kind=["unlinked-mention"])["candidates"]) == 1
    assert ask(vault, "percolate", note="b", kind=["unlinked-mention"])["candidates"] == []


def test_concepts_and_relations_need_support(tmp_path: Path) -> None:
    vault = write_vault(
        tmp_path,
        {
            "a.md": "#retry-policy #known\n[[c]]\n",
            "b.md": "#Retry-Policy #known\n[[c]]\n",
            "c.md": "leaf\n",
            "d.md": "#lonely\n",
            "Known.md": "a note\n",
        },
    )
    document = ask(vault, "percolate", min_support=2)
    concepts = of_kind(document, "missing-concept")
    assert [each["details"]["tag"].lower() for each in concepts] == ["retry-policy"]
    assert concepts[0]["accept"].startswith("kb note.create notes/retry-policy --title ")
    related = of_kind(document, "missing-relation")
    assert [paths(each["notes"]) for each in related] == [["a.md", "b.md"]]
    assert related[0]["details"]["shared"] == 3
    assert related[0]["accept"] == "kb relation.add a --predicate related-to --target b"
    assert of_kind(ask(vault, "percolate", min_support=4), "missing-relation") == []
    write_vault(vault, {"a.md": "#retry-policy #known\n[[c]] [[b]]\n"})
    assert of_kind(ask(vault, "percolate"), "missing-relation") == []


def test_relations_that_do_not_hold(tmp_path: Path) -> None:
    vault = write_vault(
        tmp_path,
        {
            "a.md": "---\nrelations: {supersedes: [b, b], refines: [a, nowhere], Odd One: b}\n---\n",
            "b.md": "---\nrelations: {superseded-by: a, contradicts: c}\n---\n",
            "c.md": "---\nrelations: {contradicts: b, supersedes: d}\n---\n",
            "d.md": "---\nrelations: {supersedes: c}\n---\n",
        },
    )
    found = of_kind(ask(vault, "percolate", kind=["relation-hygiene"]), "relation-hygiene")
    problems = sorted(each["details"]["problem"] for each in found)
    assert problems == [
        "broken",
        "duplicate-relation",
        "malformed",
        "reciprocal-relation",
        "reciprocal-relation",
        "reciprocal-relation",
        "self-relation",
        "supersession-ring",
    ]
    broken = next(each for each in found if each["details"]["problem"] == "broken")
    assert broken["accept"] == "kb relation.remove a --predicate refines --target nowhere"


def test_superseded_notes_still_linked(tmp_path: Path) -> None:
    vault = write_vault(
        tmp_path,
        {
            "new.md": "---\nrelations: {supersedes: old}\n---\nSee [[old]].\n",
            "old.md": "x\n",
            "user.md": "one [[old]]\ntwo [[old]]\n",
            "other.md": "[[new]]\n",
        },
    )
    found = of_kind(ask(vault, "percolate"), "superseded-link")
    assert [(paths(each["notes"]), [item["line"] for item in each["evidence"]]) for each in found] == [
        (["user.md", "old.md", "new.md"], [1, 2])
    ]


def test_stale_plans(tmp_path: Path) -> None:
    plan = "---\ntype: plan\nstatus: {}\nupdated: {}\nrepository_scopes: [{}]\n---\n"
    vault = write_vault(
        tmp_path / "kb",
        {
            "old.md": plan.format("in-progress", "2026-01-01", "src"),
            "new.md": plan.format("accepted", "2026-05-30", "src"),
            "done.md": plan.format("completed", "2020-01-01", "src"),
            "gone.md": plan.format("blocked", "2026-05-30", "lost"),
        },
    )
    write_vault(tmp_path, {"src/x": "1\n"})
    with open_view(str(vault), str(vault / ".kbtasks")) as view:
        report = percolate(
            view.connection, today=date(2026, 6, 1), kinds=["stale-plan"], stale_days=90, repository=str(tmp_path)
        )
    assert {each.notes[0].path: each.details["reasons"] for each in report.candidates} == {
        "old.md": ["untouched for 151 days by its front matter"],
        "gone.md": ["none of its scopes exists (lost)"],
    }


def test_near_duplicates(tmp_path: Path) -> None:
    cjk = "".join(chr(0x4E00 + number) for number in range(200))
    vault = write_vault(
        tmp_path,
        {
            "a.md": WORDS + "\n",
            "b.md": WORDS + " and a little more\n",
            "c.md": " ".join(reversed(WORDS.split())) + "\n",
            "zh1.md": cjk + "\n",
            "zh2.md": cjk + "末尾\n",
            "short1.md": "same few words\n",
            "short2.md": "same few words\n",
        },
    )
    found = of_kind(ask(vault, "percolate"), "near-duplicate")
    assert [paths(each["notes"]) for each in found] == [["zh1.md", "zh2.md"], ["a.md", "b.md"]]
    assert found[1]["details"]["resemblance"] > 0.9


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 30), min_size=50, max_size=120), st.integers(0, 20))
def test_a_text_resembles_its_shortened_self(numbers: list[int], cut: int) -> None:
    words = [f"w{number}-{at}" for at, number in enumerate(numbers)]
    sketches = Sketches()
    sketches.add(1, words)
    sketches.add(2, words[: len(words) - cut // 4])
    assert sketches.alike() == [(1, 2)]
    assert jaccard(sketches.shingles(words), sketches.shingles(words[: len(words) - cut // 4])) > 0.8
    assert jaccard(frozenset(), frozenset()) == 0.0


def test_bounds_are_refused(tmp_path: Path) -> None:
    for values in ({"kind": ["gossip"]}, {"limit": 0}, {"min_support": 1}, {"similarity": 0.1}, {"stale_days": -1}):
        with pytest.raises(UsageError):
            ask(tmp_path, "percolate", **values)


def test_a_limit_counts_per_kind_and_is_said(tmp_path: Path) -> None:
    files = {f"n{number}.md": f"Alpha{number} beta and nothing\n" for number in range(4)}
    files |= {f"Alpha{number} beta.md": "x\n" for number in range(4)}
    document = ask(write_vault(tmp_path, files), "percolate", limit=2, kind=["unlinked-mention"])
    assert (len(document["candidates"]), document["total"], document["truncated"]) == (2, 4, True)
