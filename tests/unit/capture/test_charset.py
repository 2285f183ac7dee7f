"""Pages that do not say their character set: it is detected, also where the detector's name is none of the standard's."""

from __future__ import annotations

import pytest

from kbtasks.capture.charset import decode

pytest.importorskip("charset_normalizer", reason="the extra capture is not installed")
pytest.importorskip("webencodings", reason="the extra capture is not installed")

JAPANESE = "塩の粉砕機は陶器の刃を持っている。長年使える道具です。"
KOREAN = "소금 분쇄기는 도자기 날을 가지고 있다. 오래 쓸 수 있는 도구입니다. "
CHINESE = "盐磨有陶瓷刀片，不会生锈，可以使用很多年。这是一种很好的工具。"
RUSSIAN = "Серая цапля стояла в камышах и смотрела на воду, пока не стемнело. "


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "euc_kr"),
        (CHINESE, "gb18030"),
        (RUSSIAN, "cp1251"),
        (RUSSIAN, "koi8_r"),
    ],
)
def test_undeclared_character_set(text: str, encoding: str) -> None:
    page = f"<html><head><title>x</title></head><body><p>{text * 10}</p></body></html>"
    found = decode(page.encode(encoding))
    assert found.text == page and found.how == "detected" and found.lost == 0
