"""What the encoder is given: title and headings, the body without marks, neighbours of a short piece."""

from __future__ import annotations

import time

from kbtasks.index.sectiontext import foreign_share, inputs, plain
from kbtasks.index.wordpiece import WordPiece

TOKENIZER = WordPiece()


def words(ids: list[int]) -> str:
    return " ".join(TOKENIZER.pieces[number] for number in ids).replace(" ##", "")


def test_marks_are_taken_off() -> None:
    text = "# Head\n\n**Bold** `code` [[note|label]] ![[pic.png]] [text](https://a.example/b) https://x.example/y\n> quote\n---\n```py\nx = 1\n```"
    assert plain(text).split() == ["Head", "Bold", "code", "label", "pic.png", "text", "quote", "x", "=", "1"]


def test_a_hostile_body_takes_linear_time() -> None:
    started = time.process_time()
    for text in ("<!--" * 1000, "[[" * 2000, "[" * 4000, "%%" * 2000, "* " * 2000, "![[a|" * 800, "[a](" * 1000):
        plain(text)
    assert time.process_time() - started < 5  # a guard against a hang, far above what it takes


def test_title_and_headings_come_first_and_the_heading_line_once() -> None:
    (item,) = inputs([(0, "Store", "Store\nWhy?", "## Why?\n\n" + "Because of the night watch. " * 30)], TOKENIZER)
    text = words(item.ids)
    assert text.startswith("[CLS] store . why ? because of the night watch .")
    assert text.count("why") == 1


def test_a_short_piece_is_read_after_the_two_before_it() -> None:
    pieces = [
        (n, "Log", "9 May", f"## 9 May\n\nAnna: line {word}") for n, word in enumerate(("one", "two", "three", "four"))
    ]
    found = list(inputs(pieces, TOKENIZER))
    assert words(found[3].ids).count("anna") == 3
    assert "one" not in words(found[3].ids)
    own = words([found[3].ids[at] for at in found[3].positions])
    assert own == "log . 9 may . anna : line four"


def test_context_stays_under_its_heading() -> None:
    pieces = [(0, "T", "A\nX", "first words"), (1, "T", "B\nY", "second words")]
    assert "first" not in words(list(inputs(pieces, TOKENIZER))[1].ids)


def test_a_long_piece_gives_several_inputs_that_hold_all_of_it() -> None:
    body = " ".join(f"word{number}" for number in range(900))
    found = list(inputs([(7, "Title", "", body)], TOKENIZER))
    assert len(found) > 3
    assert all(len(item.ids) <= 512 and item.ordinal == 7 for item in found)
    whole = [number for item in found for number in (item.ids[at] for at in item.own[1])]
    assert whole == TOKENIZER.encode(body)


def test_equal_text_has_one_key_and_any_change_another() -> None:
    def key(title: str, body: str) -> bytes:
        (item,) = inputs([(0, title, "", body)], TOKENIZER)
        return item.key

    assert key("A", "text here") == key("A", "**text** here")
    assert len({key("A", "text here"), key("B", "text here"), key("A", "text there")}) == 3


def test_foreign_scripts_are_left_out() -> None:
    assert foreign_share("Résumé of naïve Δ values") == 0
    assert foreign_share("潮位データ") == 1
    assert foreign_share("🌊 1234") == 0
    assert list(inputs([(0, "发布流程", "", "发布分支只接受提交")], TOKENIZER)) == []
    assert len(list(inputs([(0, "Empty", "", "")], TOKENIZER))) == 1
