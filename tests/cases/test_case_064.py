"""Ligature glyphs in the text layer of a PDF."""

from __future__ import annotations

from support.captures import pdf_answer, pdf_texts
from support.pdfs import build, lines, to_unicode

ASCII = {code: chr(code) for code in range(32, 127)}


def ligatures(pairs: dict[int, str], differences: str, *shown: str) -> bytes:
    font = f"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << /Type /Encoding /BaseEncoding /WinAnsiEncoding /Differences [1 {differences}] >> /ToUnicode 4 0 R >>"
    return build([lines(*shown)], font=font.encode(), extra=to_unicode({**pairs, **ASCII}))


def test_presentation_forms_are_expanded() -> None:
    data = ligatures(
        {1: "ﬃ", 2: "ﬀ", 3: "ﬁ", 4: "ﬂ"},
        "/ffi /ff /fi /fl",
        "An e\\001cient o\\002er of the \\003nal count.",
        "Di\\002erent \\004ood plains and o\\001ce work.",
    )
    assert pdf_texts(data) == ["An efficient offer of the final count. Different flood plains and office work."]


def test_one_glyph_with_several_letters() -> None:
    data = ligatures({1: "ffi", 2: "ff", 3: "fi"}, "/ffi /ff /fi", "An e\\001cient o\\002er of the \\003nal count.")
    assert pdf_texts(data) == ["An efficient offer of the final count."]


def test_a_glyph_without_text_is_marked_and_counted() -> None:
    answer = pdf_answer(ligatures({1: "\0", 2: "\0"}, "/fi /ff", "Shut o\\002 the sluice at the \\001nal gate."))
    [page] = answer["pages"]
    assert page["blocks"] == [["Shut o� the sluice at the �nal gate."]]
    assert page["lost"] == 2


def test_other_signs_are_left_alone() -> None:
    assert pdf_texts(build([lines("The area is x\\262 and 5 \\265m, \\275 done.")])) == [
        "The area is x² and 5 µm, ½ done."
    ]
