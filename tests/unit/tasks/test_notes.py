"""note.*, relation.* and plan.* as a person types them: what they make, and what they refuse without harm."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.writing import debris, files, run

from kbtasks import fsio
from kbtasks.errors import AlreadyExists, Ambiguous, KbError, NotFound, Refused, RevisionConflict, UsageError


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "a.md").write_text("# A 甲\n", encoding="utf-8")
    return tmp_path


def text(vault: Path, name: str = "a") -> str:
    return (vault / f"{name}.md").read_bytes().decode("utf-8")


@pytest.mark.parametrize(
    "name", ["🦆 émoji", "e\u0301 decomposed", "x" * 252, "名" * 84, "dot.", "-dash", "deep/er/n", "con"]
)
def test_names_that_are_made(vault: Path, name: str) -> None:
    document = run(vault, "note.create", f"--id={name}", "--parents", "--body", "body 体")
    again = run(vault, "note.create", f"--id={name}", "--parents", "--body", "body 体")

    assert document["path"] == name + ".md" and (vault / document["path"]).exists()
    assert (document["changed"], again["changed"], again["revision"]) == (True, False, document["revision"])
    assert run(vault, "note.append", f"--note={name}", "--text", "x")["path"] == document["path"]


BAD = ["[x", "x]", "d/[x", "x#y", "x^y", "x|y", "[[z", "z]]", "tail ", ".hid", "a/../b", "con\n", "a\\b", "caf\udce9", "/abs", "", ".md", "x" * 253, "nowhere/x", "AGENTS", "node_modules/x"]  # fmt: skip


@pytest.mark.parametrize("name", [*BAD, "A", "a.MD"])
def test_names_that_are_refused(vault: Path, name: str) -> None:
    before = files(vault)
    with pytest.raises((UsageError, Refused, NotFound)):
        run(vault, "note.create", f"--id={name}", "--title", "T")

    assert files(vault) == before and debris(vault) == []


def test_a_folder_in_another_spelling_is_no_other_folder(vault: Path) -> None:
    run(vault, "note.create", "Über/n", "--parents")
    for name in ("über/m", "U\u0308ber/m"):
        with pytest.raises(Refused, match="letter case or Unicode form"):
            run(vault, "note.create", name, "--parents")


def test_create_never_writes_over_anything(vault: Path) -> None:
    with pytest.raises(AlreadyExists) as caught:
        run(vault, "note.create", "a", "--body", "other")
    assert caught.value.next == "kb show a.md"
    assert text(vault) == "# A 甲\n"
    (vault / "kb.toml").write_text('[vault]\nignore = ["drafts/"]\n')
    with pytest.raises(Refused, match="would not be read as a note"):
        run(vault, "note.create", "drafts/x", "--parents")


def test_a_body_from_a_file(vault: Path) -> None:
    (vault / "body.txt").write_bytes("\ufeffzeile 一\r\nzwei".encode())
    run(vault, "note.create", "n", "--body-file", "body.txt", "--title", "Named")
    assert text(vault, "n") == "---\ntitle: Named\ntype: note\n---\n\nzeile 一\nzwei\n"
    (vault / "bad.txt").write_bytes(b"caf\xe9")
    for words in (
        ["--body-file", "bad.txt"],
        ["--body-file", "none"],
        ["--body-file", "body.txt", "--body", "x"],
        ["--body-file", "."],
    ):
        with pytest.raises((Refused, NotFound, UsageError)):
            run(vault, "note.create", "m", *words)


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("k=1", "k: 1"),
        ("k=-1.5", "k: -1.5"),
        ("k=0123", 'k: "0123"'),
        ("k=2026-11-30", "k: 2026-11-30"),
        ("k=true", "k: true"),
        ("k=yes", 'k: "yes"'),
        ('k=[1, "a", null]', "k: [1, a, null]"),
        ("k=[]", "k: []"),
        ("k={}", "k: {}"),
        ("k=[1, 2", 'k: "[1, 2"'),
        ("k=", 'k: ""'),
        ("k= a=b ", 'k: " a=b "'),
        ("k=- x", 'k: "- x"'),
        ("k=[[wiki]]", 'k: "[[wiki]]"'),
        ("k=日本 🌊", 'k: "日本 🌊"'),
        ("m.k=v", "m:\n  k: v"),
        ("k=9007199254740993000", None),
        ("k=" + "[" * 5000, None),
        ('k="\\ud800"', None),
        ("a.b.c=1", None),
        ("novalue", None),
        ("=x", None),
        ("k=x\udce9", None),
    ],
)
def test_set(vault: Path, field: str, line: str | None) -> None:
    if line is None:
        with pytest.raises((UsageError, Refused)):
            run(vault, "note.set", "a", f"--field={field}")
        assert text(vault) == "# A 甲\n"
    else:
        assert run(vault, "note.set", "a", f"--field={field}")["changed"]
        assert text(vault) == f"---\n{line}\n---\n# A 甲\n"
        assert not run(vault, "note.set", "a", f"--field={field}")["changed"]


def test_one_field_is_named_once(vault: Path) -> None:
    for words in (
        ["--title", "x", "--field", "title=y"],
        ["--field", "m=1", "--field", "m.k=1"],
        ["--field", "x=1", "--unset", "x"],
    ):
        with pytest.raises(UsageError, match="twice"):
            run(vault, "note.set", "a", *words)
    with pytest.raises(UsageError, match="needs a field"):
        run(vault, "note.set", "a")


def test_expected_revision(vault: Path) -> None:
    wrong, right = "sha256:" + "0" * 64, fsio.revision((vault / "a.md").read_bytes())
    for words in (
        ["note.set", "a", "--status", "x"],
        ["note.append", "a", "--text", "x"],
        ["note.replace", "a", "--body", "x"],
        ["note.delete", "a"],
        ["relation.add", "a", "--predicate", "p", "--target", "a"],
    ):
        with pytest.raises(RevisionConflict) as caught:
            run(vault, *words, "--expected-revision", wrong)
        assert caught.value.details["actual"] == right and caught.value.next
    assert run(vault, "note.replace", "a", "--body=-- neu", "--expected-revision", right)["changed"]
    assert text(vault) == "-- neu\n"


RELATIONS = '---\nrelations:\n  p:\n    - b # why\n    - {x: z}\n  q: "[[sub/b|B]]"\n---\n'


def test_relations(vault: Path) -> None:
    (vault / "sub").mkdir()
    (vault / "sub/b.md").write_text("# B\n")
    (vault / "n.md").write_text(RELATIONS)
    assert not run(vault, "relation.add", "n", "--predicate", "P", "--target", "b")["changed"], "p: b is that already"
    assert not run(vault, "relation.add", "n", "--predicate", "q", "--target", "sub/b.md")["changed"]
    run(vault, "relation.add", "n", "--predicate", "p", "--target", "A 甲")
    assert text(vault, "n") == RELATIONS.replace("    - {x: z}\n", "    - {x: z}\n    - a\n")
    run(vault, "relation.remove", "n", "--predicate", "p", "--target", "a")
    assert text(vault, "n") == RELATIONS
    run(vault, "relation.remove", "n", "--predicate", "q", "--target", "b")
    assert text(vault, "n") == RELATIONS.replace('  q: "[[sub/b|B]]"\n', "")
    run(vault, "relation.add", "n", "--predicate", "informed by", "--target", "a")
    assert "  informed-by: [a]\n" in text(vault, "n")
    assert not run(vault, "relation.remove", "n", "--predicate", "never", "--target", "gone")["changed"]
    for words, error in (
        (["--predicate", "1x", "--target", "a"], UsageError),
        (["--predicate", "p", "--target", "nowhere"], NotFound),
    ):
        with pytest.raises(error):
            run(vault, "relation.add", "n", *words)
    (vault / "n.md").write_text("---\nrelations: x\n---\n")
    with pytest.raises(Refused, match="not a mapping"):
        run(vault, "relation.add", "n", "--predicate", "p", "--target", "a")


def test_delete(vault: Path) -> None:
    (vault / "n.md").write_text("[[a]] [[a|x]]\n")
    with pytest.raises(Refused, match="linked from 2 places") as caught:
        run(vault, "note.delete", "a")
    assert caught.value.next and "--linked" in caught.value.next
    document = run(vault, "note.delete", "a", "--linked")
    assert document["trashed"] == ".trash/a.md" and document["total"] == 2
    (vault / "a.md").write_text("again\n")
    assert run(vault, "note.delete", "a", "--linked")["trashed"] == ".trash/a 1.md"
    with pytest.raises(NotFound):
        run(vault, "note.delete", "a")


def test_an_ambiguous_name_writes_nothing(vault: Path) -> None:
    for folder in ("p", "q"):
        (vault / folder).mkdir()
        (vault / folder / "same.md").write_text("x\n")
    before = files(vault)
    for words in (["note.append", "same", "--text", "x"], ["note.move", "same", "--to", "z"], ["note.delete", "same"]):
        with pytest.raises(Ambiguous):
            run(vault, *words)
    assert files(vault) == before


def test_the_life_of_a_plan(vault: Path) -> None:
    (vault / "first.md").write_text("---\ntype: plan\nstatus: accepted\n---\n")
    run(
        vault, "plan.create", "calm", "--outcome", "Calm 穏やか.\n\nAlways.", "--area", "display", "--scope", "src/x",
        "--depends-on", "first", "--step", "Look.\nTwice.", "--decision", "No network.", "--assumption", "It holds.",
    )  # fmt: skip
    assert "\n## Outcome\n\nCalm 穏やか.\n\nAlways.\n\n## Assumptions\n\n- It holds.\n" in text(vault, "plans/calm")
    assert "- Look.\n  Twice.\n" in text(vault, "plans/calm") and "  depends-on: [first]\n" in text(vault, "plans/calm")
    run(vault, "plan.add", "calm", "--evidence", "seen once", "--evidence", "seen twice", "--deviation", "later")
    body = text(vault, "plans/calm")
    assert body.index("## Deviations") < body.index("## Execution evidence")
    assert body.count("seen once\n- ") == 1, "dated entries are one list"
    for words in ([], ["--result", "It is."], ["--durable-memory", "None."]):
        with pytest.raises(Refused, match="cannot be closed without"):
            run(vault, "plan.close", "calm", *words)
    assert text(vault, "plans/calm") == body
    run(vault, "plan.close", "calm", "--result", "It is.", "--durable-memory", "None: nothing new.")
    assert "status: completed\n" in text(vault, "plans/calm")
    assert not run(vault, "plan.close", "calm")["changed"]
    listed = run(vault, "plan.list")
    assert [(plan["path"], plan["status"]) for plan in listed["plans"]] == [
        ("first.md", "accepted"),
        ("plans/calm.md", "completed"),
    ]
    assert run(vault, "plan.list", "--active", "--area", "display")["plans"] == []
    assert [
        problem["code"]
        for problem in run(vault, "check", "--code", "plan-unclosed", "--code", "plan-status")["problems"]
    ] == []


def test_what_is_no_plan(vault: Path) -> None:
    for words in (
        ["plan.add", "a", "--evidence", "x"],
        ["plan.close", "a", "--result", "x", "--durable-memory", "y"],
        ["plan.create", "p", "--outcome", " "],
        ["plan.create", "p", "--outcome", "x", "--status", "completed"],
        ["plan.create", "p", "--outcome", "x", "--area", "No Good"],
        ["plan.create", "p", "--outcome", "x", "--depends-on", "nowhere"],
        ["plan.create", "p#q", "--outcome", "x"],
        ["plan.create", "p", "--outcome", "x\udce9"],
        ["plan.list", "--status", "odd"],
        ["plan.list", "--limit", "0"],
    ):
        with pytest.raises(KbError) as caught:
            run(vault, *words)
        assert caught.value.exit_code in (2, 4, 5), words
    assert list(files(vault)) == ["a.md"]


def test_a_plan_with_text_only_below_a_subheading_can_be_closed(vault: Path) -> None:
    (vault / "p.md").write_text(
        "---\ntype: plan\nstatus: blocked\n---\n\nResult\n------\n\n### In short\n\nGood.\n\n## Durable memory\n\nNone.\n"
    )
    run(vault, "plan.close", "p", "--status", "superseded")
    assert "status: superseded" in text(vault, "p")
