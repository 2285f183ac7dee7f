"""Declared charset, BOM, and labels that mean something else."""

from __future__ import annotations

import pytest
from support.captures import LONG, rendered

PAGES = {
    "latin1": ('<html><head><meta charset="iso-8859-1"></head>', "Möwe über dem See – “Zitat” 5 €", "cp1252", b""),
    "cp1251": (
        '<html><head><meta http-equiv="Content-Type" content="text/html; charset=windows-1251"></head>',
        "Серая цапля стоит у воды", "cp1251", b"",
    ),
    "bom-wins": ('<html><head><meta charset="iso-8859-1"></head>', "naïve Étang", "utf-8", b"\xef\xbb\xbf"),
    "turkish": ("<html><head><meta charset=iso-8859-9></head>", "ağaçta kuş ışığı", "cp1254", b""),
    "sjis": ('<html><head><meta charset="shift-jis"></head>', "アオサギは湿原に立っている", "cp932", b""),
    "nometa-utf8": ("<html>", "Grünspecht – ok", "utf-8", b""),
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES)
def test_charset(name: str) -> None:
    head, text, encoding, mark = PAGES[name]
    long = "" if name in ("cp1251", "sjis") else f"<p>{LONG}</p>"
    answer = rendered(mark + f"{head}<body><article>{long}<p>{text}</p></article></body></html>".encode(encoding))
    assert text in answer["markdown"]
    assert "�" not in answer["markdown"] and "Ã" not in answer["markdown"]
    assert answer["encoding"] == encoding and answer["warnings"] == []


def test_bytes_that_cannot_be_decoded_are_reported() -> None:
    answer = rendered(
        b'<html><head><meta charset="utf-8"></head><body><article><p>'
        + LONG.encode()
        + b" caf\xe9</p></article></body></html>"
    )
    assert [item["code"] for item in answer["warnings"]] == ["undecodable"]


def test_header_beats_meta() -> None:
    page = ('<html><head><meta charset="utf-8"></head><body><p>' + LONG + " Möwe</p></body></html>").encode("cp1252")
    answer = rendered(page, content_type="text/html; charset=ISO-8859-1")
    assert "Möwe" in answer["markdown"] and answer["encoding_from"] == "header"


def test_detection_of_an_old_page() -> None:
    text = (
        "Серая цапля стоит у воды, и рядом ещё одна птица; это длинное предложение нужно, чтобы кодировку можно было узнать. "
        * 3
    )
    answer = rendered(f"<html><body><article><p>{text}</p></article></body></html>".encode("cp1251"))
    assert "Серая цапля" in answer["markdown"] and answer["encoding_from"] == "detected"
