"""On a real vault: backlinks and links of 200 random notes against a second, simple reading of the files, and mentions by brute force."""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from support.asking import ask, paths

from kbtasks.command import Context
from kbtasks.graph.backlinks import find_backlinks
from kbtasks.graph.links import walk
from kbtasks.graph.mentions import find_mentions, telling_names
from kbtasks.graph.nodes import all_nodes
from kbtasks.graph.prose import bodies, masked
from kbtasks.index.view import open_view
from kbtasks.tasks.table import resolve

pytestmark = pytest.mark.corpora

FENCE = re.compile(r"^([ \t>]*)(`{3,}|~{3,}).*?(?:^[ \t>]*\2[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
MASKS = (
    re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE),
    FENCE,
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"(?<![\\`])(`+)(?!`)[^\n]*?(?<!`)\1(?!`)"),
    re.compile(r"%%.*?%%", re.DOTALL),
)
WIKILINK = re.compile(r"(?<!\\)\[\[([^\[\]\n|#]+)[^\[\]\n]*\]\]")
PROPERTY = re.compile(r"[\"']\[\[([^\[\]\n|#]+)[^\[\]\n]*\]\][\"']")
INLINE = re.compile(
    r"(?<!\\)\][(](?:<([^<>\n]*)>|([^\s()<>]+(?:[(][^\s()]*[)][^\s()]*)*))(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*[)]"
)


@pytest.fixture(scope="module")
def hub(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = tmp_path_factory.mktemp("hub") / "kb"
    shutil.copytree(shared / "corpora" / "obsidian-hub", copy, copy_function=shutil.copyfile)
    for folder in [copy, *copy.rglob("*/")]:
        folder.chmod(0o755)
    return copy


def simple_links(root: Path) -> set[tuple[str, str]]:
    """(source, target) of all links by file name or path, read with a few expressions and a dictionary."""
    texts = {
        str(path.relative_to(root)): path.read_bytes()
        .decode("utf-8", "replace")
        .removeprefix("\ufeff")
        .replace("\r\n", "\n")
        for path in root.rglob("*.md")
        if not any(part.startswith(".") for part in path.relative_to(root).parts)
        and path.name not in ("AGENTS.md", "CLAUDE.md")
    }
    by_path = {path[:-3].casefold(): path for path in texts}
    by_name: dict[str, list[str]] = {}
    for path in sorted(texts, key=lambda path: (len(path), path)):
        by_name.setdefault(path.rpartition("/")[2][:-3].casefold(), []).append(path)

    def leads(target: str, folder: str) -> str | None:
        target = target.strip().rstrip("\\").casefold()
        stem = target.removesuffix(".md")
        for place in (stem.lstrip("/"), f"{folder}/{stem}".lstrip("/")):
            if place in by_path:
                return by_path[place]
        ending = [
            path
            for path in by_name.get(stem.rpartition("/")[2], ())
            if ("/" + path[:-3].casefold()).endswith("/" + stem)
        ]
        return ending[0] if ending else None

    found = set()
    for source, whole in texts.items():
        text = whole
        folder = source.rpartition("/")[0].casefold()
        front = MASKS[0].match(text)
        targets = PROPERTY.findall(front.group()) if front else []
        for mask in MASKS:
            text = mask.sub(lambda match: re.sub(r"[^\n]", "x", match.group()), text)
        targets += WIKILINK.findall(text)
        for angled, bare in INLINE.findall(text):
            address = angled or bare
            if not re.match(r"[a-z][a-z0-9+.-]+:", address, re.IGNORECASE):
                path = unquote(address.partition("#")[0])
                parts = (f"{folder}/{path}" if folder else path).split("/")
                while ".." in parts[1:]:
                    at = parts.index("..")
                    del parts[at - 1 : at + 1]
                targets.append("/" + "/".join(parts))
        for target in targets:
            reached = leads(target, folder)
            if reached is not None and reached != source:
                found.add((source, reached))
    return found


def test_links_and_backlinks_of_random_notes(hub: Path) -> None:
    simple = simple_links(hub)
    wrong = []
    with open_view(str(hub), str(hub / ".kbtasks")) as view:
        every = all_nodes(view.connection)
        for node in random.Random(4).sample(every, 200):
            links, total, _ = find_backlinks(view.connection, str(hub), node, limit=10_000, sentences=False)
            assert total == len(links)
            backward = {link["source"]["path"] for link in links if link["how"] not in ("alias", "title")}
            found = walk(view.connection, node, direction="out", limit=1000)
            forward = {
                found.nodes[edge.target].path
                for edge in found.links
                if edge.target is not None and edge.source == node.rowid and edge.how not in ("alias", "title")
            }
            if backward != (wanted := {source for source, target in simple if target == node.path}):
                wrong.append(("to", node.path, backward ^ wanted))
            if not found.truncated and forward != (
                wanted := {target for source, target in simple if source == node.path}
            ):
                wrong.append(("from", node.path, forward ^ wanted))
        ours = set(
            view.connection.execute(
                "SELECT source.path, target.path FROM link JOIN note AS source ON source.rowid = link.note"
                " JOIN note AS target ON target.rowid = link.target_note"
                " WHERE link.target_note != link.note AND link.state = 'ok' AND link.how NOT IN ('alias', 'title')"
            )
        )
    assert wrong == []
    assert len(ours ^ simple) <= 0.002 * len(simple)


def test_mentions_agree_with_brute_force_on_a_sample(hub: Path) -> None:
    with open_view(str(hub), str(hub / ".kbtasks")) as view:
        nodes = {node.rowid: node for node in all_nodes(view.connection)}
        names = telling_names(view.connection, nodes)
        found = find_mentions(view.connection, nodes)
        joined = {
            frozenset(pair)
            for pair in view.connection.execute(
                "SELECT note, target_note FROM link WHERE state = 'ok' AND target_note IS NOT NULL AND generated = 0"
            )
        }
        sample = random.Random(5).sample([body for body in bodies(view.connection) if body.text.strip()], 60)
    # every name at every place, the longest first, in plain Latin prose (where a word is a run of \w)
    for body in sample:
        prose = " ".join(part for part in re.split(r"\s+", masked(body.text).casefold()))
        spans: list[tuple[int, int, int]] = []
        for name, owner in names.items():
            at = prose.find(name)
            while at >= 0:
                spans.append((at, -len(name), owner))
                at = prose.find(name, at + 1)
        wanted: set[int] = set()
        free = 0
        for start, size, owner in sorted(spans):
            end = start - size
            first, last = prose[start], prose[end - 1]
            whole = not (
                first.isalnum() and start and (prose[start - 1].isalnum() or prose[start - 1] == "_")
            ) and not (last.isalnum() and end < len(prose) and (prose[end].isalnum() or prose[end] == "_"))
            if whole and start >= free:
                free = end
                if owner != body.note and frozenset((owner, body.note)) not in joined:
                    wanted.add(owner)
        assert {target for source, target in found if source == body.note} == wanted, nodes[body.note].path


def test_the_whole_vault_percolates_and_draws(hub: Path) -> None:
    document = ask(hub, "percolate", limit=5)
    assert document["counts"]["unlinked-mention"] > 1000
    assert document["counts"]["near-duplicate"] > 0
    graph = resolve("graph").function(
        Context(cwd=str(hub), environ={}, common={"root": str(hub)}), format="graphml", limit=200_000
    )
    assert graph.raw is not None
    tree = ElementTree.fromstring(graph.raw)
    assert len(list(tree.iter("{http://graphml.graphdrawing.org/xmlns}node"))) == len(
        ask(hub, "graph", limit=200_000)["notes"]
    )
    checked = ask(hub, "check", exit_code=3, limit=5)
    assert checked["counts"]["broken-link"] > 0
    assert paths(ask(hub, "context", path="lib", repo=hub)["guides"]) == []
