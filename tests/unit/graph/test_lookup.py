"""A note is found by every name it has, and a name that fits several or none says so with candidates."""

from __future__ import annotations

from pathlib import Path
from unicodedata import normalize

import pytest
from support.asking import write_vault

from kbtasks.errors import Ambiguous, NotFound
from kbtasks.graph.lookup import look_up
from kbtasks.index.view import open_view

FILES = {
    "notes/Parser contract.md": "---\ntitle: The parser's contract\naliases: [PC, 解析器契约]\n---\ntext\n",
    "notes/v1.2 notes.md": "plain\n",
    "a/bed.md": "one\n",
    "b/bed.md": "two\n",
    "Café.md": "# Coffee ☕\n",
    "STRASSE.md": "road\n",
    "-dash.md": "dash\n",
    "deep/er/100%.md": "percent\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "kb", FILES)


@pytest.mark.parametrize(
    ("name", "path", "how"),
    [
        ("notes/Parser contract", "notes/Parser contract.md", "path"),
        ("notes/Parser contract.md", "notes/Parser contract.md", "path"),
        ("NOTES/parser CONTRACT", "notes/Parser contract.md", "path"),
        ("/notes/Parser contract", "notes/Parser contract.md", "path"),
        ("./notes/Parser contract.md", "notes/Parser contract.md", "path"),
        ("notes/Parser%20contract", "notes/Parser contract.md", "path"),
        ("notes\\Parser contract", "notes/Parser contract.md", "path"),
        ("parser contract", "notes/Parser contract.md", "basename"),
        ("[[Parser contract#Part|label]]", "notes/Parser contract.md", "basename"),
        ("the PARSER's contract", "notes/Parser contract.md", "title"),
        ("pc", "notes/Parser contract.md", "alias"),
        ("解析器契约", "notes/Parser contract.md", "alias"),
        ("v1.2 notes", "notes/v1.2 notes.md", "basename"),
        (normalize("NFD", "café"), "Café.md", "path"),
        ("coffee ☕", "Café.md", "title"),
        ("straße", "STRASSE.md", "path"),
        ("-dash", "-dash.md", "path"),
        ("er/100%", "deep/er/100%.md", "path"),
        ("a/bed", "a/bed.md", "path"),
    ],
)
def test_every_name_leads_to_its_note(vault: Path, name: str, path: str, how: str) -> None:
    with open_view(str(vault), str(vault / ".kbtasks")) as view:
        found = look_up(view.connection, name)
    assert (found.node.path, found.how) == (path, how)


def test_paths_of_the_file_system_are_names_too(vault: Path) -> None:
    with open_view(str(vault), str(vault / ".kbtasks")) as view:
        from_outside = look_up(view.connection, "kb/a/bed.md", root=str(vault), cwd=str(vault.parent))
        absolute = look_up(view.connection, str(vault / "b" / "bed.md"), root=str(vault), cwd="/")
        inside = look_up(view.connection, "bed.md", root=str(vault), cwd=str(vault / "b"))
    assert from_outside.node.path == "a/bed.md"
    assert absolute.node.path == "b/bed.md"
    assert inside.node.path == "b/bed.md"


def test_several_answers_are_candidates(vault: Path) -> None:
    with open_view(str(vault), str(vault / ".kbtasks")) as view, pytest.raises(Ambiguous) as caught:
        look_up(view.connection, "BED")
    assert caught.value.exit_code == 4
    assert caught.value.details["candidates"] == ["a/bed.md", "b/bed.md"]


@pytest.mark.parametrize("name", ["parser contrct", "Parser"])
def test_no_answer_names_near_ones(vault: Path, name: str) -> None:
    with open_view(str(vault), str(vault / ".kbtasks")) as view, pytest.raises(NotFound) as caught:
        look_up(view.connection, name)
    assert caught.value.exit_code == 4
    assert caught.value.details["candidates"][0] == "notes/Parser contract.md"


@pytest.mark.parametrize("name", ["", "   ", "\0", "[[]]", "../outside", "%", "x" * 5000, "🙂", "a\nb", "\udcff"])
def test_any_text_is_a_name(vault: Path, name: str) -> None:
    with open_view(str(vault), str(vault / ".kbtasks")) as view, pytest.raises(NotFound):
        look_up(view.connection, name, root=str(vault), cwd=str(vault))


def test_an_exact_spelling_wins_over_another_letter_case(tmp_path: Path) -> None:
    vault = write_vault(tmp_path, {"Heron.md": "1\n", "heron.md": "2\n"})
    with open_view(str(vault), str(vault / ".kbtasks")) as view:
        assert look_up(view.connection, "heron").node.path == "heron.md"
        assert look_up(view.connection, "Heron").node.path == "Heron.md"
        with pytest.raises(Ambiguous):
            look_up(view.connection, "HERON")


def test_names_that_are_not_utf8_can_be_asked_for(tmp_path: Path) -> None:
    vault = write_vault(tmp_path, {"plain.md": "[[x]]\n"})
    (vault / "caf\udce9.md").write_bytes(b"latin\n")
    with open_view(str(vault), str(vault / ".kbtasks")) as view:
        assert look_up(view.connection, "caf\udce9").node.path == "caf\udce9.md"
