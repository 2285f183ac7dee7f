"""Moves among notes in other encodings, names in other spellings, folders with other things in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.writing import debris, files, run

from kbtasks.errors import AlreadyExists, Refused, UsageError


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/alt.md").write_bytes("# Alt 旧\n".encode())
    (tmp_path / "b.md").write_bytes(b"[[alt]]\r\nno newline at the end [[alt|x]]")
    return tmp_path


def test_a_latin_1_note_keeps_its_bytes(vault: Path) -> None:
    (vault / "latin.md").write_bytes("caf\xe9 [[alt]] [m](a/alt.md)\n".encode("latin-1"))
    run(vault, "note.move", "alt", "--to", "neu")

    assert (vault / "latin.md").read_bytes() == "caf\xe9 [[neu]] [m](neu.md)\n".encode("latin-1")
    with pytest.raises(Refused, match=r"latin\.md:1"):
        run(vault, "note.move", "neu", "--to", "新")
    assert (vault / "neu.md").exists()


def test_a_utf_16_note_is_named_and_only_force_leaves_it(vault: Path) -> None:
    data = "# U\n\n[[alt]] and more words\n".encode("utf-16")
    (vault / "u.md").write_bytes(data)
    with pytest.raises(Refused, match=r"1 links could not follow, the first in u\.md:3"):
        run(vault, "note.move", "alt", "--to", "neu")
    shown = run(vault, "note.move", "alt", "--to", "neu", "--dry-run")
    assert [each["path"] for each in shown["unsolved"]] == ["u.md"]
    run(vault, "note.move", "alt", "--to", "neu", "--force")

    assert (vault / "u.md").read_bytes() == data
    assert (vault / "b.md").read_bytes() == b"[[neu]]\r\nno newline at the end [[neu|x]]"


def test_only_the_letter_case_changes(vault: Path) -> None:
    run(vault, "note.move", "alt", "--to", "a/ALT")

    assert (vault / "b.md").read_bytes() == b"[[ALT]]\r\nno newline at the end [[ALT|x]]"
    assert [path.name for path in (vault / "a").iterdir()] == ["ALT.md"]


def test_a_folder_in_another_letter_case(vault: Path) -> None:
    (vault / "b.md").write_bytes(b"[[a/alt]] [m](a/alt.md)\n")
    run(vault, "note.move", "a", "--to", "A")

    assert files(vault) == {"A/alt.md": "# Alt 旧\n".encode(), "b.md": b"[[A/alt]] [m](A/alt.md)\n"}
    assert not (vault / "a").exists()


def test_into_a_folder(vault: Path) -> None:
    document = run(vault, "note.move", "b", "--to", "a/")

    assert document["moves"] == [{"from": "b.md", "to": "a/b.md"}]


@pytest.mark.parametrize("to", ["B", "b", "A/x", "a/Ü"])
def test_never_beside_another_spelling(vault: Path, to: str) -> None:
    (vault / "a/u\u0308.md").write_bytes(b"decomposed\n")
    before = files(vault)
    with pytest.raises((Refused, AlreadyExists)):
        run(vault, "note.move", "alt", "--to", to)

    assert files(vault) == before


@pytest.mark.parametrize(
    "to", ["x#y", "x^y", "x|y", "[[x", "x]]", "x ", ".x", "a/../x", "/x", "x\\y", "x\ny", "", "é" * 200]
)
def test_names_that_no_link_could_have(vault: Path, to: str) -> None:
    before = files(vault)
    with pytest.raises(UsageError):
        run(vault, "note.move", "alt", f"--to={to}")

    assert files(vault) == before and debris(vault) == []


def test_an_emptied_folder_goes_and_one_with_other_things_stays(vault: Path) -> None:
    (vault / "p/q/r").mkdir(parents=True)
    (vault / "p/q/r/n.md").write_bytes(b"n\n")
    (vault / "p/q/pic.png").write_bytes(b"x")
    (vault / "p/.hidden").write_bytes(b"kept")
    run(vault, "note.move", "p", "--to", "z")

    assert not (vault / "p/q").exists() and (vault / "p/.hidden").read_bytes() == b"kept"
    assert {"z/q/r/n.md", "z/q/pic.png"} <= files(vault).keys()


def test_a_name_that_is_not_utf_8_moves_to_one_that_is(vault: Path) -> None:
    (vault / "caf\udce9.md").write_bytes(b"# Coffee\n")
    (vault / "b.md").write_bytes(b"[[Coffee]]\n")
    run(vault, "note.move", "Coffee", "--to", "café")

    assert (vault / "café.md").exists()
    assert run(vault, "check")["errors"] == 0


def test_expected_revision(vault: Path) -> None:
    from kbtasks import fsio
    from kbtasks.errors import RevisionConflict

    with pytest.raises(RevisionConflict):
        run(vault, "note.move", "alt", "--to", "neu", "--expected-revision", "sha256:" + "0" * 64)
    run(vault, "note.move", "alt", "--to", "neu", "--expected-revision", fsio.revision("# Alt 旧\n".encode()))
    assert (vault / "neu.md").exists()


FORMS = """---
up: "[[tgt]]"
list:
  - "[[tgt|x]]"
  - '[[tgt#H]]'
block: |
  [[tgt]]
relations: {p: tgt, q: ["tgt.md", "[[tgt|y]]"]}
---
[[ tgt ]] [[tgt.md]] [[./tgt]] [[/tgt]] [[tgt#H|a]] [[tgt#^b]] ![[tgt#H]] [[TGT]]
[a](tgt.md) [a](./tgt.md#h) [a](<tgt.md> 't') [a](/tgt.md) [a](tgt) ![a](tgt.md) [tgt.md](tgt.md)
> [!note] [[tgt]]
- [ ] [[tgt]]^
| [[tgt\\|z]] | [[tgt]] |
日本[[tgt]]語 🌊[[tgt]]🌊 [ref] [x][ref2]

[ref]: tgt.md
[ref2]: <tgt.md#h> "t"

\\[[tgt]] `[[tgt]]` <!-- [[tgt]] --> %%[[tgt]]%% $[[tgt]]$ <a href="tgt.md">html</a>
"""
FOLLOWED = """---
up: "[[ü (1) \\"x\\" it's]]"
list:
  - "[[ü (1) \\"x\\" it's|x]]"
  - '[[ü (1) "x" it''s#H]]'
block: |
  [[ü (1) "x" it's]]
relations: {p: "neu 新/ü (1) \\"x\\" it's", q: ["neu 新/ü (1) \\"x\\" it's.md", "[[neu 新/ü (1) \\"x\\" it's|y]]"]}
---
[[ ü (1) "x" it's ]] [[ü (1) "x" it's.md]] [[./neu 新/ü (1) "x" it's]] [[/neu 新/ü (1) "x" it's]] [[ü (1) "x" it's#H|a]] [[ü (1) "x" it's#^b]] ![[ü (1) "x" it's#H]] [[ü (1) "x" it's]]
[a](neu%20新/ü%20%281%29%20%22x%22%20it's.md) [a](./neu%20新/ü%20%281%29%20%22x%22%20it's.md#h) [a](<neu 新/ü (1) "x" it's.md> 't') [a](/neu%20新/ü%20%281%29%20%22x%22%20it's.md) [a](neu%20新/ü%20%281%29%20%22x%22%20it's) ![a](neu%20新/ü%20%281%29%20%22x%22%20it's.md) [tgt.md](neu%20新/ü%20%281%29%20%22x%22%20it's.md)
> [!note] [[ü (1) "x" it's]]
- [ ] [[ü (1) "x" it's]]^
| [[ü (1) "x" it's\\|z]] | [[ü (1) "x" it's]] |
日本[[ü (1) "x" it's]]語 🌊[[ü (1) "x" it's]]🌊 [ref] [x][ref2]

[ref]: neu%20新/ü%20%281%29%20%22x%22%20it's.md
[ref2]: <neu 新/ü (1) "x" it's.md#h> "t"

\\[[tgt]] `[[tgt]]` <!-- [[tgt]] --> %%[[tgt]]%% $[[tgt]]$ <a href="tgt.md">html</a>
"""


def test_a_name_with_quotes_blanks_and_parentheses(tmp_path: Path) -> None:
    (tmp_path / "tgt.md").write_text("# T\n\n## H\n\nx ^b\n", encoding="utf-8")
    (tmp_path / "forms.md").write_text(FORMS, encoding="utf-8")
    run(tmp_path, "note.move", "tgt", "--to", 'neu 新/ü (1) "x" it\'s')

    assert (tmp_path / "forms.md").read_text(encoding="utf-8") == FOLLOWED
    assert run(tmp_path, "check", "--code", "broken")["total"] == 0


def test_a_link_written_with_escapes_in_the_front_matter_stays_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "tgt.md").write_text("# T\n")
    (tmp_path / "x.md").write_text('---\nup: "[[\\u0074gt]]"\n---\n')
    before = files(tmp_path)
    assert run(tmp_path, "note.move", "tgt", "--to", "neu", "--dry-run")["unsolved"][0]["path"] == "x.md"
    with pytest.raises(Refused, match="could not follow"):
        run(tmp_path, "note.move", "tgt", "--to", "neu")

    assert files(tmp_path) == before
