"""``agents.check``: whether guides and their context hubs point to one another, and whether guides keep their shape."""

from __future__ import annotations

from kbtasks.graph.context import hub_fault, hub_notes
from kbtasks.graph.finding import Finding
from kbtasks.graph.guides import BUDGETS, discover, hub_id, marker
from kbtasks.graph.records import field
from kbtasks.graph.scopes import ancestors, path_state, scope_fault

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.graph.guides import Guide

MAX_CHAIN_WORDS = 1_500


def check_guides(connection: Connection, repository: str, vault: str) -> tuple[dict[str, Any], list[Finding]]:
    """Figures of all guides of ``repository`` (a path outside the vault's own folder rules), and the findings, by path.

    Faults: a marker that names no hub or another folder's, two markers, a hub without a valid scope or whose guide
    does not point back, a guide that cannot be read. Advice: a guide that departs from two lists called Contents and
    Guidelines, budgets that are exceeded.
    """
    guides, complete = discover(repository)
    found: list[Finding] = []
    hubs = {node.id: (node, meta) for node, meta in hub_notes(connection)}
    pointed: dict[str, Guide] = {}
    shapes = {}
    for guide in guides:
        if guide.fault:
            found.append(Finding("guide-unreadable", guide.path, f"the guide {guide.fault}"))
            continue
        shapes[guide.path] = guide.shape()
        found += _shape_findings(guide, shapes[guide.path])
        if len(guide.markers) > 1:
            found.append(
                Finding("guide-markers", guide.path, f"it has {len(guide.markers)} context markers; one is allowed")
            )
        elif guide.markers and guide.context is None:
            found.append(
                Finding(
                    "guide-marker-place", guide.path, "its context marker stands below a heading; it belongs before"
                )
            )
        for name in guide.markers[:1]:
            pointed[name] = guide
            found += _marker_findings(guide, name, hubs)
    for name, (node, meta) in hubs.items():
        fault = hub_fault(node, meta)
        scope = field(meta, "scope") if isinstance(meta, dict) else None
        if fault:
            found.append(Finding("hub-invalid", node.path, fault))
        elif name not in pointed:
            words = f"no guide points to it; the AGENTS.md of {scope} needs {marker(str(scope))}"
            found.append(Finding("hub-unmapped", node.path, words))
        elif path_state(repository, str(scope)).kind != "directory":
            found.append(
                Finding(
                    "hub-vanished", node.path, f"its scope {scope} is not a folder of the repository now", advice=True
                )
            )
    found += _chain_findings(guides, shapes)
    if not complete:
        found.append(Finding("guide-search-cut", ".", "the repository has too many folders; not all were looked at"))
    data = {
        "repository": repository,
        "vault": vault,
        "guides": [_guide_json(guide, shapes.get(guide.path)) for guide in guides],
        "mapped": len(pointed),
        "hubs": len(hubs),
    }
    return data, sorted(found, key=lambda finding: (finding.path, finding.code, finding.message))


def identity(scope: str) -> dict[str, Any]:
    """The hub that belongs to a repository folder: note ID and path, the guide, and the marker the guide carries."""
    from kbtasks.errors import UsageError

    fault = scope_fault(scope)
    if fault:
        raise UsageError(message=f"{scope!r} {fault}")
    name = hub_id(scope)
    guide = "AGENTS.md" if scope == "." else f"{scope}/AGENTS.md"
    return {"scope": scope, "id": name, "path": name + ".md", "guide": guide, "marker": marker(scope)}


def _marker_findings(guide: Guide, name: str, hubs: dict[str, Any]) -> list[Finding]:
    expected = hub_id(guide.scope)
    if name != expected:
        return [
            Finding(
                "guide-marker",
                guide.path,
                f"its marker names {name}; the hub of {guide.scope} is {expected}",
                candidates=[expected],
            )
        ]
    if name not in hubs:
        return [
            Finding(
                "guide-hub-missing",
                guide.path,
                f"its marker names {name}, which is not a note of the type agent-context",
            )
        ]
    return []


def _shape_findings(guide: Guide, shape: dict[str, Any]) -> list[Finding]:
    found = []
    titles = [section["title"] for section in shape["sections"]]
    if titles != ["Contents", "Guidelines"]:
        words = f"its top headings are {', '.join(titles[:5]) or 'none'}; a guide has Contents and Guidelines"
        found.append(Finding("guide-shape", guide.path, words, advice=True))
    for section in shape["sections"]:
        budget = BUDGETS.get(section["title"].casefold())
        if budget is None:
            continue
        if section["prose"]:
            words = f"{section['title']} holds prose outside its list"
            found.append(Finding("guide-shape", guide.path, words, advice=True))
        words_most, bullets_most = budget
        if section["words"] > words_most or section["bullets"] > bullets_most:
            words = (
                f"{section['title']} has {section['words']} words in {section['bullets']} points;"
                f" {words_most} in {bullets_most} are read more surely"
            )
            found.append(Finding("guide-budget", guide.path, words, advice=True))
    return found


def _chain_findings(guides: list[Guide], shapes: dict[str, dict[str, Any]]) -> list[Finding]:
    """Advice where the guides inherited by one folder are together too long to be kept in mind."""
    found = []
    words = {guide.scope: 0 for guide in guides}
    for guide in guides:
        words[guide.scope] += shapes.get(guide.path, {}).get("words", 0)
    for guide in guides:
        chain = [scope for scope in ancestors(guide.scope) if scope in words]
        total = sum(words[scope] for scope in chain)
        if total > MAX_CHAIN_WORDS and words[guide.scope] and len(chain) > 1:
            found.append(
                Finding(
                    "guide-chain",
                    guide.path,
                    f"with the guides above it, it comes to {total} words; {MAX_CHAIN_WORDS} is much",
                    advice=True,
                )
            )
    return found


def _guide_json(guide: Guide, shape: dict[str, Any] | None) -> dict[str, Any]:
    shape = shape or {"words": 0, "lines": 0, "sections": []}
    sections = {section["title"].casefold(): section for section in shape["sections"]}
    empty = {"words": 0, "bullets": 0}
    return {
        "path": guide.path,
        "scope": guide.scope,
        "context": guide.context,
        "words": shape["words"],
        "lines": shape["lines"],
        "contents_words": sections.get("contents", empty)["words"],
        "guidelines_words": sections.get("guidelines", empty)["words"],
    }
