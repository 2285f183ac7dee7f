"""The graph around a note: links, backlinks, relations, walks and their limits."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.asking import ask, paths, write_vault

from kbtasks.errors import NotFound, UsageError

FILES = {
    "a.md": (
        "---\nrelations:\n  supersedes: old\n  Bad Key: b\n  contradicts: [b, missing, 3, '[[c]]']\nup: '[[b]]'\n---\n"
        "First. See [[b]] and ![[c]]! Then [md](c.md#Part) end.\n- [ ] item with [[b|the b]]。下一句 [[c]]。\n"
        "[[nowhere]] [[a]] [[#x]] ![[pic.png]] <https://x.example> ![[gone.png]]\n"
    ),
    "b.md": "back to [[a]]\n",
    "c.md": "# C\n\n## Part\n",
    "old.md": "[[d]]\n",
    "d.md": "leaf\n",
    "pic.png": b"png",
    "alone.md": "nothing\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path, FILES)


def test_links_out_are_listed_as_written(vault: Path) -> None:
    document = ask(vault, "links", note="a", direction="out")
    assert paths(document["notes"]) == ["a.md", "b.md", "c.md", "old.md"]
    written = {(link["target"]["path"], link["kind"], link["predicate"]) for link in document["links"]}
    assert written == {
        ("old.md", "relation", "supersedes"),
        ("b.md", "relation", "contradicts"),
        ("c.md", "relation", "contradicts"),
        ("b.md", "property", "up"),
        ("b.md", "wikilink", None),
        ("c.md", "embed", None),
        ("c.md", "markdown", None),
        ("c.md", "wikilink", None),
    }
    fragment = next(link for link in document["links"] if link["kind"] == "markdown")
    assert (fragment["fragment"], fragment["fragment_ok"]) == ("Part", True)
    assert {(link["state"], link["written"]) for link in document["unresolved"]} == {
        ("broken", "nowhere"),
        ("broken", "missing"),
        ("broken", "3"),
        ("missing-attachment", "gone.png"),
    }
    assert {link["state"] for link in document["other"]} == {"self", "attachment", "external"}


def test_places_are_the_bytes_of_the_file(vault: Path) -> None:
    data = (vault / "a.md").read_bytes()
    for link in ask(vault, "links", note="a", direction="out")["links"]:
        if link["source"]["path"] == "a.md" and link["kind"] in ("wikilink", "embed", "markdown"):
            place = link["place"]
            piece = data[place["start_byte"] : place["end_byte"]].decode()
            assert link["written"].removesuffix(".md") in piece
            assert data[: place["start_byte"]].count(b"\n") + 1 == place["line"]


def test_a_walk_goes_breadth_first_and_stops_at_its_depth(vault: Path) -> None:
    document = ask(vault, "links", note="a", depth=2)
    assert [(note["path"], note["distance"]) for note in document["notes"]] == [
        ("a.md", 0),
        ("b.md", 1),
        ("c.md", 1),
        ("old.md", 1),
        ("d.md", 2),
    ]
    assert document["truncated"] is False
    assert paths(ask(vault, "links", note="d", direction="in", depth=10)["notes"]) == ["d.md", "old.md", "a.md", "b.md"]
    assert paths(ask(vault, "links", note="alone", depth=10)["notes"]) == ["alone.md"]


def test_what_a_limit_leaves_out_is_said(vault: Path) -> None:
    document = ask(vault, "links", note="a", limit=2)
    assert paths(document["notes"]) == ["a.md", "b.md"]
    assert document["truncated"] is True
    assert document["total"] == 4
    assert document["cut"] == ["only 2 notes are shown"]


@pytest.mark.parametrize(
    "values", [{"depth": 0}, {"depth": 11}, {"limit": 0}, {"limit": 1001}, {"direction": "sideways"}]
)
def test_bounds_are_refused(vault: Path, values: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        ask(vault, "links", note="a", **values)


def test_backlinks_carry_sentence_kind_and_inverse(vault: Path) -> None:
    document = ask(vault, "backlinks", note="b")
    assert document["total"] == 4
    assert document["notes"] == 1
    by_kind = {}
    for link in document["backlinks"]:
        by_kind.setdefault(link["kind"], []).append(link)
    assert by_kind["relation"][0]["inverse"] == "contradicts"
    assert [link["sentence"] for link in by_kind["wikilink"]] == [
        "See [[b]] and ![[c]]!",
        "item with [[b|the b]]。",
    ]
    assert ask(vault, "backlinks", note="old")["backlinks"][0]["inverse"] == "superseded-by"
    assert ask(vault, "backlinks", note="c", limit=1)["truncated"] is True
    assert ask(vault, "backlinks", note="c", sentences=False)["backlinks"][0]["sentence"] is None
    assert ask(vault, "backlinks", note="a")["total"] == 1  # its links to itself do not count


def test_one_bad_relation_hides_no_good_one(vault: Path) -> None:
    document = ask(vault, "relation.list", note="a")
    good = [(each["predicate"], each["target"]["path"]) for each in document["outbound"]]
    assert good == [("supersedes", "old.md"), ("contradicts", "b.md"), ("contradicts", "c.md")]
    messages = " ".join(issue["message"] for issue in document["issues"])
    assert "Bad Key" in messages
    assert "missing" in messages
    inbound = ask(vault, "relation.list", note="old")["inbound"]
    assert [(each["predicate"], each["inverse"], each["source"]["path"]) for each in inbound] == [
        ("supersedes", "superseded-by", "a.md")
    ]


def test_sentences_in_every_encoding(tmp_path: Path) -> None:
    vault = write_vault(
        tmp_path,
        {
            "t.md": "target\n",
            "utf16.md": "\ufeffErst. Das é 漢字 [[t]] hier. Ende.\n".encode("utf-16-le"),
            "bom.md": "\ufeffErst. Das 🙂 [[t]] hier. Ende.\n".encode(),
            "crlf.md": b"One.\r\nTwo [[t]] three.\r\nFour.\r\n",
            "wrapped.md": "# Head [[t]]\nIntro. A sentence that\nholds [[t]] over\nlines. More.\n\n- item one\n  [[t]] goes on\n- item two\n",
            "table.md": "before\n\n| a | b |\n| - | - |\n| [[t]] | x |\n| y | z |\n",
            "latin.md": "Der Weg \xe4 [[t]] dort.\n".encode("latin-1"),
            "long.md": "w " * 5000 + "[[t]] " + "v " * 5000,
        },
    )
    links = ask(vault, "backlinks", note="t")["backlinks"]
    found = {link["source"]["path"]: link["sentence"] for link in links}
    assert [link["sentence"] for link in links if link["source"]["path"] == "wrapped.md"] == [
        "Head [[t]]",
        "A sentence that holds [[t]] over lines.",
        "item one [[t]] goes on",
    ]
    assert found["table.md"] == "| [[t]] | x |"
    assert found["utf16.md"] == "Das é 漢字 [[t]] hier."
    assert found["bom.md"] == "Das 🙂 [[t]] hier."
    assert found["crlf.md"] == "Two [[t]] three."
    assert "[[t]] dort." in found["latin.md"]
    assert len(found["long.md"]) <= 310
    assert found["long.md"].startswith("…")


def test_links_of_the_catalog_region_are_no_backlinks(tmp_path: Path) -> None:
    vault = write_vault(
        tmp_path,
        {
            "index.md": "[[b]] by hand\n<!-- kb:catalog:start -->\n- [[a]]\n- [[b]]\n<!-- kb:catalog:end -->\n",
            "a.md": "x\n",
            "b.md": "x\n",
        },
    )
    assert ask(vault, "backlinks", note="a")["total"] == 0
    assert ask(vault, "backlinks", note="b")["total"] == 1


def test_a_missing_note_is_exit_four(vault: Path) -> None:
    with pytest.raises(NotFound) as caught:
        ask(vault, "backlinks", note="no such note at all")
    assert caught.value.exit_code == 4
