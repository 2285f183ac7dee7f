"""Small PDFs written by hand, object by object, so that a test says exactly what is in the file."""

from __future__ import annotations

HELVETICA = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
GREY = bytes(range(0, 256, 4))
IMAGE = (
    b"<< /Length 64 /Type /XObject /Subtype /Image /Width 8 /Height 8 /ColorSpace /DeviceGray /BitsPerComponent 8 >>\nstream\n"
    + GREY
    + b"\nendstream"
)


def to_unicode(pairs: dict[int, str]) -> bytes:
    """A ToUnicode stream that maps codes of one byte to text."""
    lines = [f"<{code:02X}> <{text.encode('utf-16-be').hex().upper()}>" for code, text in pairs.items()]
    body = "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CMapName /X def\n/CMapType 2 def\n1 begincodespacerange\n<00> <FF>\nendcodespacerange\n"
    for at in range(0, len(lines), 100):
        part = lines[at : at + 100]
        body += f"{len(part)} beginbfchar\n" + "\n".join(part) + "\nendbfchar\n"
    data = (body + "endcmap\nend\nend").encode()
    return b"<< /Length %d >>\nstream\n" % len(data) + data + b"\nendstream"


def build(
    pages: list[bytes],
    *,
    font: bytes = HELVETICA,
    extra: bytes = b"<< >>",
    image: bytes = IMAGE,
    page_keys: bytes = b"",
) -> bytes:
    """A PDF with one page per content stream; /F1 is ``font``, /Im0 is ``image``, object 4 is ``extra``."""
    kids = b" ".join(b"%d 0 R" % (6 + 2 * number) for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [" + kids + b"] /Count %d >>" % len(pages),
        font,
        extra,
        image,
    ]
    for number, content in enumerate(pages):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            + page_keys
            + b" /Contents %d 0 R /Resources << /Font << /F1 3 0 R >> "
            b"/XObject << /Im0 5 0 R >> >> >>" % (7 + 2 * number)
        )
        objects.append(b"<< /Length %d >>\nstream\n" % len(content) + content + b"\nendstream")
    data = b"%PDF-1.4\n"
    places = []
    for number, item in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n" % number + item + b"\nendobj\n"
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(
        b"%010d 00000 n \n" % place for place in places
    )
    return data + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)


def lines(*texts: str, size: int = 12, x: int = 72, y: int = 720) -> bytes:
    """Content that shows ``texts`` below each other."""
    shown = "".join(f"({text}) Tj T*\n" for text in texts)
    return f"BT /F1 {size} Tf {x} {y} Td {size + 4} TL\n{shown}ET\n".encode("latin-1")


def at(x: int, y: int, text: str, size: int = 10) -> bytes:
    """Content that shows ``text`` at a place."""
    return f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n".encode("latin-1")


PICTURE = b"q 500 0 0 700 56 46 cm /Im0 Do Q\n"
