"""A BEIR folder read and written out as a vault."""

from __future__ import annotations

import json

import pytest

from kbtasks.errors import NotFound, UsageError
from kbtasks.retrieval.evaluate_collection import digest, folders, read_questions, write_vault


def lay(folder, documents, queries, qrels) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_text(
        "\n".join(json.dumps(d, ensure_ascii=False) for d in documents), encoding="utf-8"
    )
    (folder / "queries.jsonl").write_text("\n".join(json.dumps(q) for q in queries), encoding="utf-8")
    (folder / "qrels.tsv").write_text(
        "query-id\tcorpus-id\tscore\n" + "".join(f"{a}\t{b}\t{c}\n" for a, b, c in qrels), encoding="utf-8"
    )
    return str(folder)


def test_documents_become_notes_and_grouped_ones_sections(tmp_path) -> None:
    from kbtasks.vault.parse import parse_note

    documents = [
        {"_id": "d1", "title": 'On "quotes": 50 %', "text": "# not a heading\n---\ntext 潮位 🌊"},
        {"_id": "d2", "title": "", "text": "--- no front matter"},
        {"_id": "7|a", "title": "9 May", "text": "Anna: hello"},
        {"_id": "7|b", "title": "9 May", "text": "```\nBen: hi"},
        {"_id": "7|c", "title": "10 May", "text": "Anna: bye"},
    ]
    folder = lay(tmp_path / "c", documents, [{"_id": "q", "text": "hello?"}], [("q", "7|a", 1), ("q", "d1", 0)])
    vault = tmp_path / "vault"
    places = write_vault(folder, str(vault))
    first = vault / "notes-000" / "note-000000.md"
    note = parse_note("notes-000/note-000000.md", first.read_bytes())
    assert note.title == 'On "quotes": 50 %'
    assert [section.path for section in note.sections] == [()]
    data = (vault / "group-000-000.md").read_bytes()
    group = parse_note("group-000-000.md", data)
    assert [section.path[-1] for section in group.sections] == ["9 May", "9 May", "10 May"]
    assert [places.document("group-000-000.md", section.start) for section in group.sections] == ["7|a", "7|b", "7|c"]
    assert places.document("notes-000/note-000001.md", 0) == "d2"
    assert places.document("nowhere.md", 3) == ""
    (question,) = read_questions(folder)
    assert question.relevant == {"7|a": 1}
    before = first.stat().st_mtime_ns
    write_vault(folder, str(vault))
    assert first.stat().st_mtime_ns == before


def test_a_folder_of_folders_is_a_collection_of_parts(tmp_path) -> None:
    one = lay(tmp_path / "all" / "b", [{"_id": "1", "text": "x"}], [], [])
    two = lay(tmp_path / "all" / "a", [{"_id": "1", "text": "y"}], [], [])
    assert folders(str(tmp_path / "all")) == [two, one]
    assert folders(one) == [one]
    assert digest(one) != digest(two)
    with pytest.raises(NotFound):
        folders(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("line", ["{", "[]", '{"text": "no id"}', '{"_id": 3}', "\udcff"])
def test_a_bad_line_is_named(tmp_path, line: str) -> None:
    folder = lay(tmp_path / "c", [], [], [])
    (tmp_path / "c" / "corpus.jsonl").write_bytes(
        b'{"_id": "1", "text": ""}\n' + line.encode("utf-8", "surrogateescape")
    )
    with pytest.raises(UsageError, match="line 2"):
        write_vault(folder, str(tmp_path / "vault"))
    (tmp_path / "c" / "qrels.tsv").write_text("q\td\tmany\n", encoding="utf-8")
    with pytest.raises(UsageError, match="line 1"):
        read_questions(folder)
