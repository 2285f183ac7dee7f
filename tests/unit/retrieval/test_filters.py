"""Filters: conditions, tags, types, paths, scopes, times."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.searching import Vault

from kbtasks.errors import UsageError
from kbtasks.index.view import open_view
from kbtasks.retrieval.filters import Filters, eligible, parse_condition, parse_time
from kbtasks.retrieval.listing import list_notes, list_tags

NOTES: dict[str, str | bytes] = {
    "a.md": "---\nstatus: Accepted\npriority: 3\ntags: [project/kb, Red]\nrepository_scopes: [src/index]\nowner: {name: Ana}\n---\ntext\n",
    "sub/b.md": "---\nstatus: proposed\npriority: 10\ntype: plan\ndone: true\ndate: 2026-01-31\n---\ntext #project\n",
    "sub/deep/c.md": "---\nstatus: null\npriority: high\ntype: Plan\nlabels: [x, y]\n---\ntext #projector\n",
    "日记/d.md": "no front matter\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    made = Vault(tmp_path_factory.mktemp("filters"), NOTES)
    os.utime(made.root / "a.md", (1_700_000_000, 1_700_000_000))
    return made


def names(vault: Vault, **given: object) -> list[str]:
    with open_view(str(vault.root), str(vault.root / ".kbtasks")) as view:
        notes, total = list_notes(view.connection, Filters(**given))  # type: ignore[arg-type]
        assert total == len(notes)
        allowed = eligible(view.connection, Filters(**given))  # type: ignore[arg-type]
        assert allowed is None or len(allowed) == total
        return [note["path"] for note in notes]


A, B, C, D = "a.md", "sub/b.md", "sub/deep/c.md", "日记/d.md"


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("status = accepted", [A]), ("status=ACCEPTED", [A]), ("status != accepted", [B, C, D]), ("priority > 3", [B]),
        ("priority >= 3", [A, B]), ("priority < 4", [A]), ("status ~ opos", [B]), ("status in accepted, proposed", [A, B]),
        ("status = null", [C]), ("done = true", [B]), ("date >= 2026-01-01", [B]), ("owner.name = ana", [A]),
        ("labels = y", [C]), ("labels.0 = x", [C]), ("labels.1 = x", []), ("tag = Red", [A]), ("path = sub/b.md", [B]),
        ("Status = accepted", [A]), ('priority = "3"', [A]), ("folder = sub", [B]), ("title = d", [D]),
    ],
)  # fmt: skip
def test_conditions(vault: Vault, condition: str, expected: list[str]) -> None:
    assert names(vault, where=[condition]) == expected


@pytest.mark.parametrize(
    "text",
    [
        "status",
        "= x",
        "a..b = 1",
        "n >",
        "",
        "status in ",
        "x" * 2000 + " = 1",
        "n <> 3",
        "n === 3",
        "n => 3",
        "n =< 3",
        "n = != 3",
        "n ~~ 3",
        "n < = 3",
        "n >< 3",
    ],
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_condition(text)


def test_other_filters(vault: Vault) -> None:
    assert names(vault, has=["owner.name"]) == [A]
    assert names(vault, has=["status"]) == [A, B, C]
    assert names(vault, tag=["project"]) == [A, B]
    assert names(vault, tag=["#Project/KB"]) == [A]
    assert names(vault, type=["plan"]) == [B, C]
    assert names(vault, path=["sub"]) == [B, C]
    assert names(vault, path=["sub/*.md"]) == [B]
    assert names(vault, path=["**/d.md", "a.md"]) == [A, D]
    assert names(vault, scope=["src"]) == [A]
    assert names(vault, scope=["src/index/tokens.py"]) == []
    assert names(vault, before="2024-01-01") == [A]
    assert names(vault, since="2024-01-01") == [B, C, D]
    assert names(vault, tag=["project"], where=["priority > 5"]) == [B]


def test_times() -> None:
    assert parse_time("1970-01-02", "since") == 86_400 * 10**9
    assert parse_time("1970-01-01T01:00:00+01:00", "since") == 0
    assert parse_time("2d", "since", now=200_000) == (200_000 - 172_800) * 10**9
    for text in ("yesterday", "7", "2026-13-01", "7x"):
        with pytest.raises(UsageError, match="--since"):
            parse_time(text, "since")


def test_sorting_puts_notes_without_the_key_last(vault: Vault) -> None:
    with open_view(str(vault.root), str(vault.root / ".kbtasks")) as view:
        for descending, expected in ((False, [A, B, C, D]), (True, [C, B, A, D])):
            notes, total = list_notes(
                view.connection, Filters(), sort="priority", descending=descending, fields=["priority"]
            )
            assert [note["path"] for note in notes] == expected
            assert total == 4
        page, total = list_notes(view.connection, Filters(), limit=2, offset=1, fields=["owner.name", "inbound"])
        assert [note["path"] for note in page] == [B, C]
        assert page[0]["owner.name"] is None


def test_tags_count_nested_ones(vault: Vault) -> None:
    with open_view(str(vault.root), str(vault.root / ".kbtasks")) as view:
        found, total = list_tags(view.connection)
        assert found[0] == {"name": "project", "notes": 1, "total": 2}
        assert total == 4
        under, _ = list_tags(view.connection, under="Project", by="name")
        assert [each["name"] for each in under] == ["project", "project/kb"]


@pytest.mark.parametrize("mode", ["exact", "keyword"])
def test_filters_work_inside_the_search(vault: Vault, mode: str) -> None:
    assert vault.paths("text", mode, filters=Filters(where=["priority > 5"])) == [B]
    assert vault.paths("text", mode, excluded=["projector"], filters=Filters(path=["sub"])) == [B]
    assert vault.paths("text", mode, limit=1, filters=Filters(type=["plan"], has=["labels"])) == [C]


def test_a_value_in_quotes_may_begin_with_an_operator(vault: Vault) -> None:
    assert parse_condition('status = "> 3"').values == ["> 3"]
    assert parse_condition("status = !x").values == ["!x"]
    assert names(vault, where=['status = "=>"']) == []


def test_a_year_compares_with_dates(vault: Vault) -> None:
    assert names(vault, where=["date >= 2026"]) == [B] and names(vault, where=["date < 2026"]) == []
    assert names(vault, where=["modified > 2000"]) == [A, B, C, D] and names(vault, where=["modified < 2024"]) == [A]


@pytest.mark.parametrize("whole", [".", "./"])
def test_the_folder_of_everything_is_everything(vault: Vault, whole: str) -> None:
    assert names(vault, path=[whole]) == [A, B, C, D]
    assert names(vault, path=[whole, "sub"]) == [A, B, C, D]


@pytest.mark.parametrize("text", ["code = 0123", "code in 9, 0123", "code = '0123'"])
def test_a_number_with_a_leading_zero_is_text_on_both_sides(tmp_path: Path, text: str) -> None:
    made = Vault(tmp_path, {"a.md": "---\ncode: 0123\n---\n", "b.md": "---\ncode: 123\n---\n"})

    assert names(made, where=[text]) == ["a.md"]
