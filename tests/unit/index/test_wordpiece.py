"""WordPiece ids against an independent tokenizer, whose ids were written down here (the Rust ``tokenizers`` 0.23.3)."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbtasks.index.wordpiece import UNK, VOCABULARY, VOCABULARY_SIZE, WordPiece

TOKENIZER = WordPiece()

IDS = [
    ("Parser retries stop after three attempts.", [11968, 8043, 2128, 21011, 2644, 2044, 2093, 4740, 1012]),
    ("Café über naïve façade, don't!", [7668, 19169, 15743, 8508, 1010, 2123, 1005, 1056, 999]),
    ("潮汐解析说明: M2 分潮最大", [100, 100, 100, 100, 100, 1865, 1024, 25525, 1775, 100, 100, 1810]),
    ("🌊 emoji\u200b and \x00controls\ttabs", [100, 7861, 29147, 2072, 1998, 7711, 21628, 2015]),
    (
        "unbelievably-long_identifier.v1.2.3 C++",
        [
            4895,
            8671,
            2666,
            3567,
            6321,
            1011,
            2146,
            1035,
            8909,
            4765,
            18095,
            1012,
            1058,
            2487,
            1012,
            1016,
            1012,
            1017,
            1039,
            1009,
            1009,
        ],
    ),
]


def test_vocabulary_is_the_original_file() -> None:
    with open(VOCABULARY, "rb") as file:
        data = file.read()
    assert len(data) == 231_508
    assert hashlib.sha256(data).hexdigest() == "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
    assert len(TOKENIZER.ids) == VOCABULARY_SIZE


@pytest.mark.parametrize(("text", "ids"), IDS)
def test_ids_equal_those_of_the_reference(text: str, ids: list[int]) -> None:
    assert TOKENIZER.encode(text) == ids


def test_a_word_too_long_is_one_unknown_token() -> None:
    assert TOKENIZER.encode("a" * 101) == [UNK]
    assert TOKENIZER.encode("") == []


@settings(max_examples=60, deadline=None)
@given(st.text(), st.text())
def test_text_is_cut_at_white_space_alone(left: str, right: str) -> None:
    assert TOKENIZER.encode(f"{left} {right}") == TOKENIZER.encode(left) + TOKENIZER.encode(right)


def test_kinds_tell_content_from_punctuation_and_stop_words() -> None:
    assert TOKENIZER.kinds(TOKENIZER.encode("the parser's, don't")) == [2, 0, 0, 1, 2, 1, 2, 1, 2]


def test_lone_surrogates_vanish() -> None:
    assert TOKENIZER.encode("caf\udce9 open") == TOKENIZER.encode("caf open")
