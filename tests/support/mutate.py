"""Files broken in the ways that files break: bytes flipped, dropped, doubled, cut, and structures repeated. Seeded."""

from __future__ import annotations

from random import Random


def mutate(data: bytes, random: Random, words: list[bytes]) -> bytes:
    """``data`` with one to eight random faults; ``words`` are pieces of the format put in at random places."""
    out = bytearray(data)
    for _ in range(random.randint(1, 8)):
        if not out:
            break
        at = random.randrange(len(out))
        kind = random.randrange(8)
        if kind == 0:
            out[at] = random.randrange(256)
        elif kind == 1:
            del out[at : at + random.randint(1, 200)]
        elif kind == 2:
            out[at:at] = out[at : at + random.randint(1, 500)]
        elif kind == 3:
            out[at:at] = random.choice(words) * random.choice((1, 1, 2, 50, 400))
        elif kind == 4:
            del out[at:]
        elif kind == 5:
            end = min(at + random.randint(1, 40), len(out))
            out[at:end] = random.randbytes(end - at)
        elif kind == 6:
            number = random.choice((b"-1", b"0", b"4294967296", b"99999999999999999999", b"1e308", b"2147483647"))
            digit = next((place for place in range(at, min(at + 300, len(out))) if 48 <= out[place] <= 57), None)
            if digit is not None:
                out[digit : digit + 1] = number
        else:
            other = random.randrange(len(out))
            out[at : at + 60] = out[other : other + 60]
    return bytes(out)


HTML_WORDS = [
    b"<div>", b"</div>", b"<table><tr><td>", b"<ul><li>", b"<ol start=-9999999999>", b"<pre>", b"</p>", b"<!--", b"-->", b"<![CDATA[", b"<td colspan=100000 rowspan=100000>",
    b"<svg><foreignObject>", b"&#x0;", b"&#1114112;", b"&amp", b"\x00", b"\xff\xfe", b"<a href='#a'><sup>1</sup></a>", b"<li id=a>", b"<img srcset='", b"<base href='http://[::1'>",
    b"<img src='data:image/png;base64,AAAA'>", b"<script>", b"<math><mfrac>", b"<meta charset=utf-16>", b"<b><i><s><code>", b"[[x]] #y \n---\n", b"<noscript><img src=x>", b"<a href='http://x:99999/'>",
    b"<blockquote>", b"<h1>", b"</body>", b"<frameset>", b"<template>", b"<textarea>", b"\xe2\x80\xae",
]  # fmt: skip
PDF_WORDS = [
    b"endstream", b"endobj", b"stream\n", b"<< /Type /Page >>", b"/Kids [2 0 R]", b"/Parent 2 0 R", b"999 0 R", b"/Filter /FlateDecode", b"/Filter [/ASCII85Decode /LZWDecode]",
    b"/MediaBox [0 0 0 0]", b"/MediaBox [0 0 1e9 1e9]", b"/Rotate 45", b"/Count 100000", b"xref\n0 9\n", b"trailer\n", b"%%EOF", b"q ", b"Q ", b"BT ", b"Tj ", b"/Im0 Do ", b"1e30 0 0 1e30 0 0 cm ",
    b"/Width 100000 /Height 100000", b"(((((", b"<<<<", b"[[[[", b"/Encrypt 4 0 R", b"startxref\n-5\n", b"0 0 m 9 9 l S ", b"0 0 100 100 re S ",
]  # fmt: skip
