"""Exact search is a person reading every file; filters never lose a note; tokens agree on both sides."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import category, normalize

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.searching import Vault

from kbtasks.index import search, tokens
from kbtasks.index.view import open_view
from kbtasks.retrieval import exact, query
from kbtasks.retrieval.filters import Filters, eligible
from kbtasks.retrieval.lanes import Lane
from kbtasks.vault.parse import parse_note

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from random import Random

FEW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = ["art", "start", "C++", "c", "parser-v2", "parser", "v2", "数据库", "数据", "据", "API", "Straße", "STRASSE", "naïve", "naive",
         "ΟΔΟΣ", "οδός", "foo/bar", "foo", "snake_case", "case", "שלום", "الكتاب", "हिन्दी", "🎉", "e\u0301", "é", "x.y.", "한국어", "ไทย"]  # fmt: skip


def folded(text: str) -> str:
    return normalize("NFC", normalize("NFC", text).casefold())


def spaced_script(char: str) -> bool:
    """Letters, digits and marks of scripts written with spaces, told apart by Unicode blocks, not by the product's table."""
    point = ord(char)
    unspaced = (
        0x2E80 <= point <= 0x9FFF or 0xA960 <= point <= 0xA97C or 0xAC00 <= point <= 0xD7FB or 0xF900 <= point <= 0xFAFF
        or 0xFF66 <= point <= 0xFFDC or 0x1B000 <= point <= 0x1B16F or point >= 0x20000 or 0x0E00 <= point <= 0x0EFF
        or 0x1000 <= point <= 0x109F or 0x1100 <= point <= 0x11FF or 0x1780 <= point <= 0x17D3
    )  # fmt: skip
    return (char.isalnum() or (category(char)[0] == "M" and point < 0xFE00)) and not unspaced


def stands_in(part: str, text: str) -> bool:
    """The rule of exact search, read off its one sentence: literal, not inside a longer run of letters and digits."""
    pattern = r"\s+".join(map(re.escape, part.split(" ")))
    for match in re.finditer(f"(?={pattern})", text):
        end = re.compile(pattern).match(text, match.start()).end()  # type: ignore[union-attr]
        before = text[match.start() - 1] if match.start() else " "
        after = text[end] if end < len(text) else " "
        if not (spaced_script(part[0]) and spaced_script(before)) and not (
            spaced_script(part[-1]) and spaced_script(after)
        ):
            return True
    return False


def values(meta: object) -> list[str]:
    if isinstance(meta, dict):
        return [
            text
            for key, each in meta.items()
            if key.lower() not in ("title", "aliases", "alias", "tags", "tag")
            for text in values(each)
        ]
    if isinstance(meta, list):
        return [text for each in meta for text in values(each)]
    return [] if meta is None or isinstance(meta, bool) else [str(meta)]


def authored(path: str, data: bytes) -> bytes:
    """What a person wrote in a file: the catalog page without the lines between its two marks."""
    lines = data.split(b"\n")
    marks = [lines.index(mark) for mark in (b"<!-- kb:catalog:start -->", b"<!-- kb:catalog:end -->") if mark in lines]
    if path == "index.md" and len(marks) == 2:
        del lines[marks[0] + 1 : marks[1]]
    return b"\n".join(lines)


def by_reading(root: Path, paths: list[str], parts: list[str]) -> set[str]:
    """The paths of the notes that hold all of ``parts``, by reading each file."""
    found = set()
    for path in paths:
        note = parse_note(path, authored(path, (root / path).read_bytes()))
        data = note.text.encode(note.encoding, "replace")
        body = data[max(0, note.body_start - (note.size - len(data))) :].decode(note.encoding, "replace")
        fields = [body, note.title, *note.aliases, path, *(tag.name for tag in note.tags), *values(note.meta)]
        texts = [folded(each) for each in fields]
        if all(any(stands_in(part, text) for text in texts) for part in parts):
            found.add(path)
    return found


def answered(vault: Vault, text: str) -> tuple[set[str], query.Query, list[str]]:
    asked = query.parse(text)
    with open_view(str(vault.root), str(vault.root / ".kbtasks")) as view:
        paths = dict(view.connection.execute("SELECT rowid, path FROM note").fetchall())
        found = exact.find(view.connection, asked, None, Lane("exact", seconds=60))
        return {paths[match.note] for match in found}, asked, list(paths.values())


@pytest.fixture(scope="module")
def words_vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    from random import Random

    random = Random(5)
    notes: dict[str, str | bytes] = {}
    for number in range(60):
        body = "".join(
            random.choice(WORDS) + random.choice([" ", " ", "\n", "", ",", "/", "-", "_"]) for _ in range(12)
        )
        front = (
            f"---\naliases: ['{random.choice(WORDS)}']\nowner: {random.choice(WORDS)}\n---\n" if number % 3 == 0 else ""
        )
        notes[f"{number:02}.md"] = f"{front}# {random.choice(WORDS)}\n\n{body}\n\n## {random.choice(WORDS)}\n\nend\n"
    notes["index.md"] = page(random, notes)
    return Vault(tmp_path_factory.mktemp("words"), notes)


def page(random: Random, notes: dict[str, str | bytes]) -> str:
    """A catalog page: authored words, and a region with every word there is, headings among them."""
    listed = "\n".join(f"- [[{path}|{word}]]: {word} #{word}" for path, word in zip(notes, WORDS, strict=False))
    return (
        f"# Home {random.choice(WORDS)}\n\n{random.choice(WORDS)}\n\n<!-- kb:catalog:start -->\n## {random.choice(WORDS)}\n"
        f"{listed}\n{' '.join(WORDS)}\n### {random.choice(WORDS)}\n<!-- kb:catalog:end -->\n\n"
        f"after {random.choice(WORDS)}\n\n#### Own {random.choice(WORDS)}\n\nend\n"
    )


@FEW
@given(chosen=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3), phrase=st.booleans())
def test_exact_search_is_reading_every_file(words_vault: Vault, chosen: list[str], phrase: bool) -> None:
    text = " ".join(chosen)
    found, asked, paths = answered(words_vault, f'"{text}"' if phrase else text)
    assert found == by_reading(words_vault.root, paths, asked.parts)


@pytest.mark.corpora
@pytest.mark.parametrize("corpus", ["madison-zk", "obsidian-help-zh", "obsidian-help", "obsidian-hub"])
def test_exact_search_is_reading_every_file_of_a_real_vault(shared: Path, tmp_path: Path, corpus: str) -> None:
    from random import Random
    from shutil import copytree

    root = tmp_path / corpus
    copytree(
        shared / "corpora" / corpus,
        root,
        ignore=lambda _, names: [name for name in names if name.endswith((".png", ".jpg", ".gif"))],
    )
    vault = Vault(root, {})
    random = Random(11)
    files = sorted(root.rglob("*.md"))
    for _ in range(12 if len(files) < 1000 else 4):  # reading every file of a large vault takes seconds a query
        text = random.choice(files).read_text(encoding="utf-8", errors="replace")
        seen = tokens.words(text)
        if not seen:
            continue
        at = random.randrange(len(seen))
        asked = random.choice([seen[at][:12], " ".join(random.sample(seen, min(2, len(seen))))])
        found, parsed, paths = answered(vault, asked)
        assert found == by_reading(root, paths, parsed.parts), asked


KEYS = st.sampled_from(["status", "n", "tags", "when"])
VALUES = st.one_of(st.integers(-3, 3), st.sampled_from(["open", "Closed", "3", "2026-01-31"]), st.none(), st.booleans())


@FEW
@given(
    metas=st.lists(
        st.dictionaries(KEYS, st.one_of(VALUES, st.lists(VALUES, max_size=3)), max_size=3), min_size=1, max_size=6
    ),
    operator=st.sampled_from(["=", "!=", "<", "<=", ">", ">="]),
    key=KEYS,
    wanted=st.one_of(st.integers(-3, 3), st.sampled_from(["open", "closed"])),
)
def test_conditions_agree_with_a_plain_reading(
    tmp_path_factory: pytest.TempPathFactory, metas: list[dict[str, object]], operator: str, key: str, wanted: int | str
) -> None:
    import json

    root = tmp_path_factory.mktemp("where")
    notes: dict[str, str | bytes] = {
        f"{at}.md": "---\n" + json.dumps(meta) + "\n---\nword\n" for at, meta in enumerate(metas)
    }
    vault = Vault(root, notes)
    with open_view(str(root), str(root / ".kbtasks")) as view:
        rows = view.connection.execute("SELECT rowid, path, meta FROM note").fetchall()
        allowed = eligible(view.connection, Filters(where=[f"{key} {operator} {wanted}"]))
        expected = {path for _, path, meta in rows if plain_test(json.loads(meta), key, operator, wanted)}
        if key != "tags":  # which is also what the tag table says
            assert allowed is not None
            assert {path for rowid, path, _ in rows if rowid in allowed} == expected
            assert set(vault.paths("word", filters=Filters(where=[f"{key} {operator} {wanted}"]))) == expected


def plain_test(meta: dict[str, object], key: str, operator: str, wanted: int | str) -> bool:
    if operator == "!=":
        return not plain_test(meta, key, "=", wanted)
    given = meta.get(key)
    members = given if isinstance(given, list) else [given] if key in meta else []
    for member in members:
        if member is None or isinstance(member, bool):
            if operator == "=" and member is not None and str(member).casefold() == str(wanted).casefold():
                return True
            continue
        if operator == "=":
            if str(member).casefold() == str(wanted).casefold():
                return True
            continue
        try:
            one, two = (
                (float(member), float(wanted))
                if isinstance(wanted, int)
                else (str(member).casefold(), str(wanted).casefold())
            )
        except ValueError:
            continue
        if isinstance(wanted, str) and not isinstance(member, str):
            continue
        if {"<": one < two, "<=": one <= two, ">": one > two, ">=": one >= two}[operator]:  # type: ignore[operator]
            return True
    return False


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=80))
def test_words_of_a_text_stand_in_it(text: str) -> None:
    for word in tokens.words(text):
        assert query.occurs(word, tokens.fold(text)) or not tokens.pieces(word)
    assert len(tokens.spaced(text)) == len(text)
    assert "".join(search.cut(text, 20)) == text


@settings(max_examples=100, deadline=None)
@given(
    text=st.text(
        alphabet=st.sampled_from([*"\"'-*():^{}~+<>=!&|\\/ ANDORNEAR", "数", "é", "\n"]), min_size=1, max_size=40
    )
)
def test_no_text_is_a_syntax_error(words_vault: Vault, text: str) -> None:
    from kbtasks.errors import UsageError

    for mode in ("exact", "keyword"):
        try:
            words_vault.ask(text, mode)
        except UsageError as error:
            assert "empty" in error.message


@FEW
@given(word=st.sampled_from([each for each in WORDS if each.isalnum()]))
def test_words_that_the_index_decides_are_those_of_the_files(
    words_vault: Vault, monkeypatch_module: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch_module.setattr(exact, "READ", 2)
    found, asked, paths = answered(words_vault, word)
    assert found == by_reading(words_vault.root, paths, asked.parts)


@pytest.fixture
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch
