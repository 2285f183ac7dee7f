"""A code path is explained by its guides, from the top down, and by the notes that declare it, nearest scope first."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.asking import ask, paths, write_vault

from kbtasks.errors import NotFound, UsageError
from kbtasks.graph.guides import hub_id, marker
from kbtasks.graph.scopes import ancestors, path_state, read_scopes, scope_fault

GUIDE = "# Contents\n\n- one\n\n# Guidelines\n\n- two\n"


def note(kind: str, scopes: str, **fields: str) -> str:
    lines = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f"---\ntype: {kind}\nrepository_scopes: {scopes}\n{lines}---\nText of it.\n"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    repo = tmp_path / "code"
    write_vault(
        repo,
        {
            "AGENTS.md": GUIDE,
            "packages/parser/AGENTS.md": f"{marker('packages/parser')}\n{GUIDE}",
            "packages/parser/CLAUDE.md": f"{marker('packages/parser')}\n{GUIDE}",
            "packages/other/AGENTS.md": GUIDE,
            "packages/parser/src/index.ts": "export {}\n",
            f"kb/{hub_id('packages/parser')}.md": "---\ntype: agent-context\nscope: packages/parser\n---\nThe hub.\n",
            "kb/notes/near.md": note("concept", "[packages/parser]"),
            "kb/notes/far.md": note("note", "[., gone/away]"),
            "kb/notes/exact.md": note("note", "packages/parser/src/index.ts"),
            "kb/notes/sibling.md": note("note", "[packages/other]"),
            "kb/notes/partial.md": note("note", "[packages/pars]"),
            "kb/plans/a.md": note("plan", "[packages]", status="in-progress"),
            "kb/plans/b.md": note("plan", "[packages]", status="Completed"),
            "kb/plans/c.md": note("plan", "[packages]", status="someday"),
            "kb/r/market.md": note("market-research", "[packages]", as_of="2026-01-02", status="snapshot"),
            "kb/r/undated.md": note("market-research", "[packages]"),
            "kb/r/report.md": note("report", "[packages]", generated="2026-03-04"),
            "kb/r/session.md": note("session", "[packages]"),
            "kb/r/untyped.md": "---\nrepository_scopes: [packages, '*.ts', /abs]\n---\n",
        },
    )
    return repo


def groups(document: dict) -> dict[str, list[str]]:
    return {name: paths(group["records"]) for name, group in document["groups"].items()}


def test_everything_about_a_file(code: Path) -> None:
    document = ask(code / "kb", "context", path="packages/parser/src/index.ts", repo=code, cwd=code, exit_code=3)
    assert paths(document["guides"]) == ["AGENTS.md", "packages/parser/AGENTS.md"]
    assert paths(document["hubs"]) == [hub_id("packages/parser") + ".md"]
    assert document["target"]["kind"] == "file"
    assert groups(document) == {
        "maintained_knowledge": ["notes/exact.md", "notes/near.md", "notes/far.md"],
        "active_plans": ["plans/a.md"],
        "dated_research": ["r/market.md"],
        "reports": ["r/report.md"],
        "historical_plans": ["plans/b.md"],
    }
    near = document["groups"]["maintained_knowledge"]["records"]
    assert [(record["matched_scope"], record["match"]) for record in near] == [
        ("packages/parser/src/index.ts", "exact"),
        ("packages/parser", "ancestor"),
        (".", "ancestor"),
    ]
    assert {record["path"]: record["reason"] for record in document["invalid"]}.keys() == {
        "plans/c.md",
        "r/undated.md",
        "r/untyped.md",
    }
    assert document["other_types"] == 1
    assert [(each["path"], each["scope"]) for each in document["advisories"]] == [("notes/far.md", "gone/away")]
    assert "guide wins" in document["rule"]


def test_a_path_that_is_gone_is_still_explained(code: Path) -> None:
    document = ask(code / "kb", "context", path="packages/parser/old.ts", repo=code, cwd=code, exit_code=3)
    assert (document["target"]["state"], document["target"]["missing"]) == ("absent", "packages/parser/old.ts")
    assert document["target"]["folder"] == "packages/parser"
    assert "notes/exact.md" not in groups(document)["maintained_knowledge"]
    folder = ask(code / "kb", "context", path="new/area", kind="directory", repo=code, cwd=code, exit_code=0)
    assert folder["target"]["folder"] == "new/area"


def test_paths_are_read_from_here_or_from_the_top(code: Path) -> None:
    here = ask(code / "kb", "context", path="src/index.ts", repo=code, cwd=code / "packages" / "parser", exit_code=3)
    assert here["target"]["path"] == "packages/parser/src/index.ts"
    top = ask(code / "kb", "context", path="packages/parser", repo=code, cwd=code / "kb", exit_code=3)
    assert top["target"]["path"] == "packages/parser"
    assert ask(code / "kb", "context", path=".", repo=code, cwd=code)["target"]["path"] == "."
    with pytest.raises(UsageError):
        ask(code / "kb", "context", path="../elsewhere", repo=code, cwd=code)


def test_symbolic_links_are_not_followed(code: Path, tmp_path: Path) -> None:
    outside = write_vault(tmp_path / "outside", {"AGENTS.md": "secret\n", "f.ts": "x\n"})
    (code / "packages" / "link").symlink_to(outside)
    document = ask(code / "kb", "context", path="packages/link/f.ts", repo=code, cwd=code, exit_code=3)
    assert document["target"]["state"] == "invalid"
    assert paths(document["guides"]) == ["AGENTS.md"]


def test_a_file_scope_holds_only_its_file(tmp_path: Path) -> None:
    repo = write_vault(tmp_path, {"a/b": "file\n", "kb/n.md": note("note", "[a/b]")})
    assert ask(repo / "kb", "context", path="a/b", repo=repo, cwd=repo)["total"] == 1
    assert ask(repo / "kb", "context", path="a/b/c", repo=repo, cwd=repo)["total"] == 0


def test_scopes_in_two_letter_cases_make_both_invalid(tmp_path: Path) -> None:
    repo = write_vault(
        tmp_path,
        {
            "Src/x": "1\n",
            "kb/n.md": note("note", "[Src, src]"),
            "kb/a.md": note("note", "[., SRC]"),
            "kb/b.md": note("note", "[., sRc]"),
        },
    )
    document = ask(repo / "kb", "context", path=".", repo=repo, cwd=repo, exit_code=3)
    assert document["total"] == 0
    assert sorted(paths(document["invalid"])) == ["a.md", "b.md"]


def test_limits_are_said(code: Path) -> None:
    document = ask(
        code / "kb", "context", path="packages/parser/src/index.ts", limit=1, repo=code, cwd=code, exit_code=3
    )
    group = document["groups"]["maintained_knowledge"]
    assert (group["total"], group["truncated"], len(group["records"])) == (3, True, 1)


def test_agents_check_judges_the_mapping(code: Path) -> None:
    good = ask(code / "kb", "agents.check", repo=code)
    assert (good["errors"], good["mapped"], good["hubs"]) == (0, 1, 1)
    (code / "packages" / "other" / "AGENTS.md").write_text(marker("packages/parser") + "\n" + GUIDE)
    (code / "kb" / "scopes" / "stray.md").write_text("---\ntype: agent-context\nscope: packages/other\n---\n")
    bad = ask(code / "kb", "agents.check", repo=code, exit_code=3)
    codes = {(each["code"], each["path"]) for each in bad["problems"] if each["severity"] == "error"}
    assert codes == {("guide-marker", "packages/other/AGENTS.md"), ("hub-invalid", "scopes/stray.md")}
    (code / "AGENTS.md").write_text("# Rules\n\nprose\n" + "word " * 2000)
    shapes = ask(code / "kb", "agents.check", repo=code, exit_code=3)
    assert "guide-shape" in {each["code"] for each in shapes["problems"]}
    assert "guide-chain" in {each["code"] for each in shapes["problems"]}


def test_a_hub_without_its_guide_is_an_issue(code: Path) -> None:
    (code / "packages" / "parser" / "AGENTS.md").write_text(GUIDE)
    (code / "packages" / "parser" / "CLAUDE.md").unlink()
    bad = ask(code / "kb", "agents.check", repo=code, exit_code=3)
    assert [each["code"] for each in bad["problems"] if each["severity"] == "error"] == ["hub-unmapped"]


def test_identity_is_stable() -> None:
    document = ask(Path("."), "agents.identity", scope=".")
    assert document["id"] == "scopes/repository--cdb4ee2aea69"
    assert ask(Path("."), "agents.identity", scope="a b/雪")["marker"].startswith("<!-- kb:context scopes/a-b--")
    with pytest.raises(UsageError):
        ask(Path("."), "agents.identity", scope="../x")


def test_no_repository_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = write_vault(tmp_path / "kb", {"a.md": "x\n"})
    with pytest.raises(NotFound):
        ask(vault, "agents.check", cwd=tmp_path)


@pytest.mark.parametrize(
    ("scope", "valid"),
    [
        (".", True), ("a", True), ("a/b.c", True), ("雪/é", True), ("a b", True), ("-x", True),
        ("", False), (" a", False), ("/a", False), ("a/", False), ("a//b", False), ("./a", False), ("a/../b", False), ("a/*", False),
        ("C:/a", False), ("a\\b", False), ("a\nb", False), ("e\u0301", False), ("x" * 1025, False), (5, False), (None, False),
    ],
)  # fmt: skip
def test_scopes_are_canonical_paths(scope: object, valid: bool) -> None:
    assert (scope_fault(scope) is None) is valid


def test_one_bad_scope_hides_no_good_one() -> None:
    good, faults = read_scopes(["a", "*", "b", "a", "B", 7, *[f"s{number}" for number in range(20)]])
    assert good[:2] == ["a", "b"]
    assert len(good) == 16
    assert len(faults) == 4 + 6


def test_ancestors_and_states(tmp_path: Path) -> None:
    write_vault(tmp_path, {"a/b": "x\n"})
    assert ancestors("a/b/c") == ["a/b/c", "a/b", "a", "."]
    states = {scope: path_state(str(tmp_path), scope).to_json() for scope in (".", "a", "a/b", "a/c/d", "a/b/c")}
    assert [state["state"] for state in states.values()] == ["present", "present", "present", "absent", "invalid"]
    assert states["a/c/d"]["missing"] == "a/c"
