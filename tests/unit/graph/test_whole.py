"""The whole graph: orphans, hubs, dead ends, components, and files for other programs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.asking import ask, paths, write_vault

from kbtasks.command import Context
from kbtasks.tasks.table import resolve

FILES = {
    "hub.md": "[[leaf]] [[leaf]]\n",
    "one.md": "[[hub]]\n",
    "two.md": "---\ntags: [topic/sub]\n---\n[[hub]]\n",
    "leaf.md": "---\ntitle: 'Leaf \"<&>\" \\u0007 雪'\ntype: note\n---\n",
    "alone.md": "[[#part]] [[alone]] [[broken]]\n",
    "sub/x.md": "[[sub/y]]\n",
    "sub/y.md": "#topic\n",
    "index.md": "<!-- kb:catalog:start -->\n[[alone]]\n<!-- kb:catalog:end -->\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path, FILES)


def raw(vault: Path, format: str) -> bytes:
    command = resolve("graph")
    context = Context(cwd=str(vault), environ={}, common={"root": str(vault)})
    result = command.function(context, format=format)
    assert result.raw is not None
    return result.raw


def test_figures_and_lists(vault: Path) -> None:
    document = ask(vault, "graph")
    assert document["counts"] == {
        "notes": 7,
        "linked_pairs": 4,
        "links": 5,
        "orphans": 1,
        "dead_ends": 2,
        "components": 3,
        "largest_component": 4,
    }
    assert paths(document["orphans"]) == ["alone.md"]
    assert paths(document["dead_ends"]) == ["leaf.md", "sub/y.md"]
    assert (document["hubs"][0]["path"], document["hubs"][0]["inbound"]) == ("hub.md", 2)
    assert [(group["size"], group["first"]["path"]) for group in document["components"]] == [
        (4, "hub.md"),
        (2, "sub/x.md"),
    ]
    assert document["links"][0] == {"source": "hub.md", "target": "leaf.md", "links": 2}


def test_folder_and_tag_choose_a_part(vault: Path) -> None:
    assert paths(ask(vault, "graph", folder="sub")["notes"]) == ["sub/x.md", "sub/y.md"]
    assert paths(ask(vault, "graph", tag="TOPIC")["notes"]) == ["sub/y.md", "two.md"]


def test_a_limit_keeps_the_best_connected(vault: Path) -> None:
    document = ask(vault, "graph", limit=2)
    assert document["truncated"] is True
    assert document["total"] == 7
    assert "hub.md" in paths(document["notes"])


def test_graphml_is_xml_that_says_the_same(vault: Path) -> None:
    tree = ElementTree.fromstring(raw(vault, "graphml"))
    space = "{http://graphml.graphdrawing.org/xmlns}"
    names = {
        node.get("id"): {data.get("key"): data.text for data in node.findall(f"{space}data")}
        for node in tree.iter(f"{space}node")
    }
    edges = {
        (names[edge.get("source")]["path"], names[edge.get("target")]["path"], edge.find(f"{space}data").text)
        for edge in tree.iter(f"{space}edge")
    }
    assert edges == {
        ("hub.md", "leaf.md", "2"),
        ("one.md", "hub.md", "1"),
        ("two.md", "hub.md", "1"),
        ("sub/x.md", "sub/y.md", "1"),
    }
    titles = {data["path"]: data["title"] for data in names.values()}
    assert titles["leaf.md"].startswith('Leaf "<&>"')
    assert "雪" in titles["leaf.md"]


def test_dot_quotes_every_name(vault: Path) -> None:
    text = raw(vault, "dot").decode()
    assert text.startswith("digraph vault {")
    string = r'"(?:[^"\\\n]|\\.)*"'
    for line in text.splitlines()[2:-1]:
        assert re.fullmatch(rf"  {string}(?: -> {string})?(?: \[\w+=(?:{string}|\d+)\])?;", line), line


def test_stats_count_what_is_there(vault: Path) -> None:
    document = ask(vault, "stats")
    assert document["counts"]["notes"] == 7
    assert document["links"]["broken"] == 1
    assert {"name": "topic", "notes": 1} in document["tags"]


def test_an_empty_vault_has_an_empty_graph(tmp_path: Path) -> None:
    assert ask(tmp_path, "graph")["counts"]["notes"] == 0
    assert ElementTree.fromstring(raw(tmp_path, "graphml")) is not None
    assert ask(tmp_path, "stats")["counts"]["notes"] == 0


def test_odd_names_stay_apart_and_rewrite_no_terminal(tmp_path: Path) -> None:
    for name in (b"x\xff.md", b"x\xfe.md", b"a\nb.md", b"a b.md"):
        with open(os.fsencode(tmp_path) + b"/" + name, "wb") as file:
            file.write("# t\u202eitle \x9b31m\n".encode())
    text = raw(tmp_path, "dot").decode()
    assert len(set(re.findall(r'^  ("(?:[^"\\]|\\.)*") \[label', text, re.MULTILINE))) == 4
    for form in ("dot", "graphml"):
        assert not re.search("[\u202e\x9b]", raw(tmp_path, form).decode())
