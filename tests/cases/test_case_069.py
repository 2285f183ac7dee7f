"""Two columns drawn row by row, with a hyphen at a line end."""

from __future__ import annotations

from support.captures import pdf_texts
from support.pdfs import at, build

LEFT = [
    "The left column tells of the reed",
    "bed and its long history, of migra-",
    "tion in autumn and the wardens",
    "who kept the sluices in order.",
]
RIGHT = [
    "The right column is about money,",
    "fences and the new hide which",
    "opened in spring after some",
    "delay caused by the flood.",
]


def rows(left: list[str], right: list[str], top: int = 700) -> bytes:
    return b"".join(
        at(72, top - 14 * n, a) + at(330, top - 14 * n, b) for n, (a, b) in enumerate(zip(left, right, strict=True))
    )


def test_left_before_right_and_the_hyphen_mended() -> None:
    [text] = pdf_texts(build([rows(LEFT, RIGHT)]))
    assert text.index("who kept the sluices in order.") < text.index("The right column is about money,")
    for words in ("migration", "long history, of migration", "wardens who kept"):
        assert words in text


def test_a_wide_title_and_a_wide_foot_part_the_columns() -> None:
    wide = "A sentence that runs over the whole width of the page, from the left edge to the right one, says so"
    page = (
        at(72, 740, wide)
        + rows(LEFT, RIGHT)
        + at(72, 630, wide.replace("A sentence", "Another"))
        + rows(LEFT[::-1], RIGHT[::-1], 600)
    )
    [text] = pdf_texts(build([page]))
    order = [
        text.index(part)
        for part in (
            "A sentence",
            "The left column",
            "The right column",
            "Another",
            "who kept the sluices in order. tion",
        )
    ]
    assert order == sorted(order)


def test_short_cells_side_by_side_are_rows_not_columns() -> None:
    page = b"".join(
        at(72, 700 - 14 * n, a) + at(200, 700 - 14 * n, b)
        for n, (a, b) in enumerate([("Weight", "310 g"), ("Runtime", "38 h"), ("Cell", "21700")])
    )
    [text] = pdf_texts(build([page]))
    assert text.index("310 g") < text.index("Runtime")
