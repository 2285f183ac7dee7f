"""Which libraries read best, and what a capture costs over the bare library.

    python bench/capture.py extractors     phrases kept and leaked on the twenty saved pages, by extractor
    python bench/capture.py pdf [PAGES]    CPU seconds of kb pdf on a long PDF, beside the libraries' own reading
    python bench/capture.py features       what each PDF library makes of columns, ligatures, turned and damaged pages

Extractors are compared twice: their own text, and as a pointer (the tree is searched for the place that holds their text). Each
is also run on the pages without class names, ids and roles, as on pages whose names say nothing. Peers that are not installed
are left out: pip install readability-lxml resiliparse pypdf pdfplumber reportlab.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PAGES = Path(__file__).resolve().parent.parent / "tests" / "cases" / "pages"
WORDS = [
    "reed",
    "heron",
    "marsh",
    "sluice",
    "warden",
    "water",
    "level",
    "count",
    "spring",
    "survey",
    "bittern",
    "nest",
    "office",
    "different",
    "flow",
    "final",
    "record",
    "about",
]


def plain(text: str) -> str:
    return " ".join(text.split())


def extractors() -> dict[str, Callable[[str], str]]:
    """Name -> function from HTML to the text it takes for the main content."""
    import trafilatura

    found: dict[str, Callable[[str], str]] = {
        "none": lambda _: "",
        "trafilatura": lambda page: trafilatura.extract(page, include_comments=False) or "",
        "trafilatura, recall": lambda page: trafilatura.extract(page, include_comments=False, favor_recall=True) or "",
    }
    try:
        from lxml import html
        from readability import Document

        found["readability-lxml"] = lambda page: html.fromstring(Document(page).summary()).text_content()
    except ImportError:
        pass
    try:
        from resiliparse.extract.html2text import extract_plain_text

        found["resiliparse"] = lambda page: extract_plain_text(page, main_content=True)
    except ImportError:
        pass
    return found


def compare_extractors() -> None:
    from kbtasks.capture import charset, content, page

    wanted = json.loads((PAGES / "expected.json").read_bytes())

    def pointed(source: str, text: str) -> str:
        root = page.parse(source)
        page.clean(root)
        place = content.find(root, text)
        return content._text_without(place.root, place.skip)

    for stripped in (False, True):
        print("without class names" if stripped else "as saved")
        for name, extract in extractors().items():
            for way in ("own text", "as pointer"):
                kept = total = leaked = outside = whole = 0
                began = time.process_time()
                for each, phrases in wanted.items():
                    source = charset.decode((PAGES / f"{each}.html").read_bytes()).text
                    if stripped:
                        source = re.sub(r"\s(class|id|role)=\"[^\"]*\"", "", source)
                    text = extract(source)
                    shown = plain(pointed(source, text) if way == "as pointer" else text)
                    missing = [item for item in phrases["keep"] if plain(item) not in shown]
                    extra = [item for item in phrases["drop"] if plain(item) in shown]
                    kept, total = kept + len(phrases["keep"]) - len(missing), total + len(phrases["keep"])
                    leaked, outside = leaked + len(extra), outside + len(phrases["drop"])
                    whole += not missing and not extra
                spent = time.process_time() - began
                print(
                    f"  {name:22}{way:12} kept {kept}/{total}  leaked {leaked}/{outside}  pages without fault {whole}/{len(wanted)}  {spent:.2f} s"
                )


def long_pdf(path: Path, pages: int) -> None:
    from reportlab.pdfgen.canvas import Canvas

    chance = random.Random(7)
    canvas = Canvas(str(path))
    for number in range(1, pages + 1):
        canvas.setFont("Helvetica", 9)
        canvas.drawString(72, 810, "Annual report of the reserve")
        canvas.drawRightString(523, 30, str(number))
        canvas.setFont("Helvetica-Bold", 16)
        canvas.drawString(72, 770, f"Chapter {number} on the water")
        text = canvas.beginText(72, 745)
        text.setFont("Times-Roman", 11)
        for _ in range(45):
            text.textLine(" ".join(chance.choice(WORDS) for _ in range(14))[:88])
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()


PEERS = {
    "pypdfium2, words with places": """
import pypdfium2
import pypdfium2.raw as raw
for page in pypdfium2.PdfDocument(sys.argv[1]):
    text = page.get_textpage()
    words, word, box = [], "", None
    for at in range(text.count_chars()):
        char = chr(raw.FPDFText_GetUnicode(text, at))
        if char.isspace():
            if word: words.append((word, box))
            word, box = "", None
            continue
        new = text.get_charbox(at)
        word += char
        box = new if box is None else (min(box[0], new[0]), min(box[1], new[1]), max(box[2], new[2]), max(box[3], new[3]))
    text.close()
""",
    "pypdfium2, text only": """
import pypdfium2
for page in pypdfium2.PdfDocument(sys.argv[1]):
    text = page.get_textpage()
    text.get_text_bounded()
    text.close()
""",
    "pypdf, text only": "import pypdf\nfor page in pypdf.PdfReader(sys.argv[1]).pages: page.extract_text()\n",
    "pdfplumber, words with places": """
import pdfplumber
with pdfplumber.open(sys.argv[1]) as document:
    for page in document.pages:
        page.extract_words(extra_attrs=["fontname", "size"])
        page.close()
""",
}


def used(argv: list[str], cwd: str) -> float | None:
    """CPU seconds of one process with its children; None where it failed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, cwd=cwd, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        return None
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare_pdf(pages: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.pdf"
        long_pdf(path, pages)
        (Path(folder) / ".kbtasks").mkdir()
        own = used([sys.executable, "-m", "kbtasks", "pdf", "long.pdf"], folder)
        print(f"{pages} pages, {path.stat().st_size:,} bytes\n  {'kb pdf, bundle written':32}{own or 0:8.2f} s")
        for name, code in PEERS.items():
            spent = used([sys.executable, "-c", "import sys\n" + code, str(path)], folder)
            if spent is None:
                print(f"  {name:32} not installed")
            else:
                print(f"  {name:32}{spent:8.2f} s   kb pdf is {(own or 0) / spent:.2f} of it")


def features() -> None:
    sys.path.insert(0, str(PAGES.parent.parent))
    from support.pdfs import at, build, lines, to_unicode

    left, right = (
        ["The left column tells of reed", "beds and of their long migra-", "tion in autumn."],
        ["The right column is about", "money, fences and the new", "hide in spring."],
    )
    ascii_codes = {code: chr(code) for code in range(32, 127)}
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding << /Type /Encoding /Differences [1 /fi] >> /ToUnicode 4 0 R >>"
    whole = build([lines("A page of plain text that can be read.")])
    samples = {
        "columns in order": (
            build(
                [
                    b"".join(
                        at(72, 700 - 14 * n, a) + at(330, 700 - 14 * n, b)
                        for n, (a, b) in enumerate(zip(left, right, strict=True))
                    )
                ]
            ),
            "migration in autumn",
        ),
        "ligatures": (
            build([lines("the \\001nal count")], font=font, extra=to_unicode({1: "ﬁ", **ascii_codes})),
            "the final count",
        ),
        "turned page": (
            build(
                [b"q 0 1 -1 0 612 0 cm " + lines("a turned page to read", "in two lines", y=500) + b"Q"],
                page_keys=b"/Rotate 90",
            ),
            "a turned page to read in two lines",
        ),
        "no trailer": (whole[: whole.index(b"xref")], "A page of plain text"),
        "cut in half": (whole[: whole.index(b"endstream")], "A page of plain text"),
    }

    def kb(data: bytes) -> str:
        from kbtasks.capture.pdf_pages import read_pdf

        answer = read_pdf(data, password="", max_pages=9, images=False, max_images=0, max_image_bytes=0)
        return " ".join(line for page in answer["pages"] for block in page["blocks"] for line in block)

    def pypdf(data: bytes) -> str:
        from io import BytesIO

        import pypdf

        return " ".join(page.extract_text() for page in pypdf.PdfReader(BytesIO(data)).pages)

    def pdfminer(data: bytes) -> str:
        from io import BytesIO

        from pdfminer.high_level import extract_text

        return extract_text(BytesIO(data))

    def pdfium(data: bytes) -> str:
        import pypdfium2

        document = pypdfium2.PdfDocument(data)
        return " ".join(page.get_textpage().get_text_bounded() for page in document)

    for name, (data, wanted) in samples.items():
        row = []
        for read in (kb, pdfium, pypdf, pdfminer):
            try:
                row.append(f"{read.__name__}: {'yes' if wanted in plain(read(data)) else 'no'}")
            except Exception as error:
                row.append(f"{read.__name__}: {type(error).__name__}")
        print(f"  {name:20}" + "   ".join(row))


def main() -> None:
    """Run what the command line names."""
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    if what == "extractors":
        compare_extractors()
    elif what == "pdf":
        compare_pdf(int(sys.argv[2]) if len(sys.argv) > 2 else 500)
    elif what == "features":
        features()
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
