"""What comes out of PDFs: order, headings, running lines, tables, turned pages, hyphens, pictures."""

from __future__ import annotations

import base64
import json
import shutil
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from support.captures import pdf_answer, pdf_texts
from support.cli import kb, kb_json
from support.pdfs import PICTURE, at, build, lines

pytest.importorskip("pypdfium2", reason="the extra capture is not installed")

PROSE = [
    "The wardens walked the dyke at dawn and wrote down",
    "what they saw: two bitterns, one heron, and a boat",
    "that nobody had missed since the autumn flood.",
]


def test_paragraphs_join_lines_and_part_at_gaps() -> None:
    assert pdf_texts(build([lines(*PROSE) + lines("A second paragraph begins here, after a gap.", y=640)])) == [
        " ".join(PROSE) + "\n\nA second paragraph begins here, after a gap."
    ]


def test_headings_by_size() -> None:
    page = (
        at(72, 740, "The Dyke", 24)
        + at(72, 700, "Dawn walks", 16)
        + lines(*PROSE, y=670)
        + at(72, 590, "Night walks", 16)
        + lines(*PROSE, y=560)
    )
    [text] = pdf_texts(build([page]))
    assert [line for line in text.split("\n") if line.startswith("#")] == [
        "## The Dyke",
        "### Dawn walks",
        "### Night walks",
    ]


def test_running_headers_and_page_numbers_go_but_headings_stay() -> None:
    pages = [
        at(72, 770, "Annual report of the reserve")
        + at(72, 720, f"Chapter {n} on water", 16)
        + lines(*PROSE, y=660)
        + at(300, 30, f"Page {n}")
        for n in range(1, 7)
    ]
    for number, text in enumerate(pdf_texts(build(pages)), 1):
        assert text == f"## Chapter {number} on water\n\n" + " ".join(PROSE)


def test_hyphens_at_line_ends() -> None:
    text = pdf_texts(
        build([lines("The well-known migra-", "tion of a well-", "known bird, and the by-", "product of it.")])
    )
    assert text == ["The well-known migration of a well-known bird, and the byproduct of it."]


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_turned_pages(turn: int) -> None:
    matrix = {90: "0 1 -1 0 612 0", 180: "-1 0 0 -1 612 792", 270: "0 -1 1 0 0 792"}[turn]
    page = f"q {matrix} cm ".encode() + lines(*PROSE, y=500) + b"Q"
    for keys in (b"/Rotate %d" % turn, b""):  # turned back for the reader, and not
        answer = pdf_answer(build([page], page_keys=keys))
        assert answer["pages"][0]["blocks"] == [[" ".join(PROSE)]]


def test_a_note_in_the_margin_does_not_break_the_text() -> None:
    page = lines(*PROSE) + b"q 0 1 -1 0 40 300 cm " + at(0, 0, "received 2024 by the office") + b"Q"
    assert pdf_texts(build([page])) == [" ".join(PROSE) + "\n\nreceived 2024 by the office"]


def ruled(
    rows: list[list[str]],
    x: int = 72,
    y: int = 640,
    width: int = 120,
    height: int = 20,
    skip: tuple[int, int] | None = None,
) -> bytes:
    out = b""
    for n in range(len(rows) + 1):
        out += b"%d %d m %d %d l S\n" % (x, y - n * height, x + width * len(rows[0]), y - n * height)
    for column in range(len(rows[0]) + 1):
        for row in range(len(rows)):
            if skip != (row, column):
                out += b"%d %d m %d %d l S\n" % (
                    x + column * width,
                    y - row * height,
                    x + column * width,
                    y - (row + 1) * height,
                )
    for row, cells in enumerate(rows):
        for column, cell in enumerate(cells):
            out += at(x + column * width + 4, y - row * height - 14, cell)
    return out


def test_ruled_tables() -> None:
    page = (
        at(72, 680, "Before the table.")
        + ruled([["Name", "Weight | g"], ["lantern *", "310"], ["hook", ""]])
        + at(72, 540, "After the table.")
    )
    assert pdf_texts(build([page])) == [
        "Before the table.\n\n| Name | Weight \\| g |\n| --- | --- |\n| lantern \\* | 310 |\n| hook |  |\n\nAfter the table."
    ]


def test_a_cell_over_two_columns() -> None:
    page = ruled([["Both of the columns here", ""], ["a", "b"]], width=70, skip=(0, 1))
    assert pdf_texts(build([page])) == ["| Both of the columns here |  |\n| --- | --- |\n| a | b |"]


def test_the_lines_behind_a_chart_are_no_table() -> None:
    page = (
        ruled([[""] * 6 for _ in range(6)], width=60)
        + at(90, 630, "peak")
        + at(80, 520, "1990")
        + at(300, 520, "2000")
        + at(72, 700, "Catch by year, in boxes.")
    )
    [text] = pdf_texts(build([page]))
    assert "|" not in text and "peak" in text and "Catch by year" in text


def test_bullets() -> None:
    page = lines(
        "\\225 first point of the list", "\\225 second point, which is", "  longer than a line", "\\225 third point"
    )
    assert pdf_texts(build([page])) == [
        "- first point of the list\n\n- second point, which is longer than a line\n\n- third point"
    ]


def test_tables_of_contents_keep_their_lines() -> None:
    page = lines(
        "1 Reeds . . . . . . . . . . . . 3", "1.1 Water . . . . . . . . . . . 12", "2 Herons ................... iv"
    )
    assert pdf_texts(build([page])) == ["1 Reeds … 3\n\n1.1 Water … 12\n\n2 Herons … iv"]


def test_text_is_never_vault_syntax() -> None:
    from kbtasks.vault.parse import parse_note

    page = (
        lines("[[wiki]] #tag %%x%% ^block", "# heading", "- [ ] task")
        + lines("---", y=600)
        + lines("1. list", y=570)
        + lines("<b>bold</b> $x$", y=540)
    )
    [text] = pdf_texts(build([page]))
    note = parse_note("a.md", ("# t\n\n" + text).encode())
    assert note.links == [] and note.tags == [] and note.blocks == [] and len(note.headings) == 1


def reportlab_pdf(draw: Any, **options: Any) -> bytes:
    canvas = pytest.importorskip("reportlab.pdfgen.canvas", reason="reportlab is not installed")
    out = BytesIO()
    page = canvas.Canvas(out, **options)
    draw(page)
    page.save()
    return out.getvalue()


def vault_with(folder: Path, data: bytes) -> Path:
    (folder / ".kbtasks").mkdir()
    (folder / "x.pdf").write_bytes(data)
    return folder


def test_encrypted(tmp_path: Path) -> None:
    standard = pytest.importorskip("reportlab.lib.pdfencrypt", reason="reportlab is not installed")

    def draw(page: Any) -> None:
        page.drawString(72, 700, "The hidden heron of the reserve")

    vault = vault_with(
        tmp_path, reportlab_pdf(draw, encrypt=standard.StandardEncryption("open sesame", "owner", canPrint=0))
    )
    refused = kb("pdf", "x.pdf", cwd=vault)
    assert refused.returncode == 5 and "encrypted" in refused.stderr and "--password" in refused.stderr
    assert kb("pdf", "x.pdf", "--password", "wrong", cwd=vault).returncode == 5
    assert not (vault / "articles").exists()
    found = kb_json("pdf", "x.pdf", "--password", "open sesame", cwd=vault)
    bundle = vault / found["bundle"]
    assert "The hidden heron" in (vault / found["note"]).read_text(encoding="utf-8")
    manifest = (bundle / "capture.json").read_text(encoding="utf-8")
    assert "sesame" not in manifest and json.loads(manifest)["metadata"]["encrypted"] is True
    assert (bundle / "source.pdf").read_bytes() == (vault / "x.pdf").read_bytes()


def test_an_empty_password_opens() -> None:
    standard = pytest.importorskip("reportlab.lib.pdfencrypt", reason="reportlab is not installed")
    data = reportlab_pdf(
        lambda page: page.drawString(72, 700, "Open to all"), encrypt=standard.StandardEncryption("", "owner")
    )
    answer = pdf_answer(data)
    assert answer["encrypted"] and answer["pages"][0]["blocks"] == [["Open to all"]]


def test_damaged_and_truncated(tmp_path: Path) -> None:
    whole = build([lines(*PROSE), lines("page two")])
    vault = vault_with(tmp_path, whole[: whole.index(b"xref")])
    found = kb_json("pdf", "x.pdf", cwd=vault)
    assert found["status"] == "partial" and "truncated" in [item["code"] for item in found["warnings"]]
    assert "two bitterns" in (vault / found["note"]).read_text(encoding="utf-8")
    (vault / "x.pdf").write_bytes(
        whole[whole.index(b"3 0 obj") :].join((b"%PDF-1.4\n", b""))[:-90]
    )  # catalog and page tree are lost
    found = kb_json("pdf", "x.pdf", "--slug", "headless", cwd=vault)
    assert "mended" in [item["code"] for item in found["warnings"]] and found["pages"] == 2
    for data, code in ((b"%PDF-1.7\nnothing", 10), (b"", 2), (b"<html>not a pdf</html>", 2), (whole[:60], 10)):
        (vault / "x.pdf").write_bytes(data)
        done = kb("pdf", "x.pdf", cwd=vault)
        assert done.returncode == code and done.stderr.startswith("kb: "), done.stderr
    assert len(list((vault / "articles").iterdir())) == 2


def test_page_marks_carry_the_hash_of_the_text(tmp_path: Path) -> None:
    vault = vault_with(
        tmp_path,
        build(
            [
                lines(*PROSE),
                PICTURE
                + lines(
                    "with a picture and enough words to be text of its own, so that nobody takes it for a scan", size=6
                ),
            ]
        ),
    )
    found = kb_json("pdf", "x.pdf", "--slug", "dyke", cwd=vault)
    note = (vault / "articles/dyke/dyke.md").read_text(encoding="utf-8")
    manifest = json.loads((vault / "articles/dyke/capture.json").read_bytes())
    for page in manifest["pages"]:
        assert f"<!-- page {page['page']} {page['sha256']} -->" in note
    assert [page["images"] for page in manifest["pages"]] == [0, 1] and "![Picture on page 2](assets/" in note
    assert found["pages"] == 2 and manifest["kind"] == "pdf" and "pages: 2\n" in note
    shown = kb_json("capture.show", "dyke", "--passage", "two bitterns", cwd=vault)
    assert shown["passage"]["page"] == 1 and ", page 1 (capture sha256:" in shown["citation"]
    (vault / "articles/dyke/dyke.md").write_text(note.replace("two bitterns", "three bitterns"), encoding="utf-8")
    report = kb_json("capture.verify", "dyke", cwd=vault, code=3)
    assert "pages 1 changed" in report["problems"][0]["message"]


def test_document_facts(tmp_path: Path) -> None:
    def draw(page: Any) -> None:
        page.setTitle("On herons 鷺")
        page.setAuthor("Ada Rowe")
        page.drawString(72, 700, "On herons and where they stand.")

    vault = vault_with(tmp_path, reportlab_pdf(draw))
    found = kb_json("pdf", "x.pdf", cwd=vault)
    assert found["bundle"] == "articles/on-herons-鷺" and found["status"] == "complete"
    manifest = json.loads((vault / found["bundle"] / "capture.json").read_bytes())
    assert manifest["metadata"]["author"] == "Ada Rowe" and manifest["metadata"]["created"][:2] == "20"
    assert str(tmp_path) not in json.dumps(manifest)


def scanned(text: list[str]) -> bytes:
    """A PDF whose one page is a picture of ``text``."""
    import pypdfium2

    document = pypdfium2.PdfDocument(build([b"".join(at(60, 700 - 40 * n, line, 24) for n, line in enumerate(text))]))
    bitmap = document[0].render(scale=2, grayscale=True)
    rows = bytes(bitmap.buffer)
    packed = b"".join(rows[y * bitmap.stride : y * bitmap.stride + bitmap.width] for y in range(bitmap.height))
    image = b"<< /Length %d /Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 >>\nstream\n" % (
        len(packed), bitmap.width, bitmap.height,
    ) + packed + b"\nendstream"  # fmt: skip
    return build([b"q 612 0 0 792 0 0 cm /Im0 Do Q"], image=image)


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")
def test_scans_are_recognised(tmp_path: Path) -> None:
    vault = vault_with(tmp_path, scanned(["The warden counted", "forty herons in spring"]))
    found = kb_json("pdf", "x.pdf", cwd=vault)
    note = (vault / found["note"]).read_text(encoding="utf-8")
    assert "forty herons in spring" in note and "recognised from a picture" in note
    assert [item["code"] for item in found["warnings"]] == ["recognised"] and found["status"] == "partial"
    off = kb_json("pdf", "x.pdf", "--ocr", "off", "--force", cwd=vault)
    assert [item["code"] for item in off["warnings"]] == ["no-text"] and "not installed" not in off["warnings"][0][
        "message"
    ]


def test_pictures_as_stored(tmp_path: Path) -> None:
    """A JPEG comes out byte for byte; other pictures become PNG."""
    jpeg = base64.b64decode(
        "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAAMCAgICAgMCAgIDAwMDBAYEBAQEBAgGBgUGCQgKCgkICQkKDA8MCgsOCwkJDRENDg8QEBEQCgwSExIQEw8QEBD/wAALCAAQABABAREA/8QAFQABAQAAAAAAAAAAAAAAAAAAAAn/"
        "xAAUEAEAAAAAAAAAAAAAAAAAAAAA/9oACAEBAAA/AKpgAD//2Q=="
    )
    image = (
        b"<< /Length %d /Type /XObject /Subtype /Image /Width 16 /Height 16 /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode >>\nstream\n"
        % len(jpeg)
        + jpeg
        + b"\nendstream"
    )
    answer = pdf_answer(build([b"q 100 0 0 100 72 600 cm /Im0 Do Q" + lines(*PROSE, y=500)], image=image))
    [(path, content)] = answer["images"].items()
    assert path.endswith(".jpg") and base64.b64decode(content) == jpeg
    answer = pdf_answer(build([b"q 100 0 0 100 72 600 cm /Im0 Do Q" + lines(*PROSE, y=500)]))
    [(path, content)] = answer["images"].items()
    assert path.endswith(".png") and base64.b64decode(content)[:8] == b"\x89PNG\r\n\x1a\n"


def test_pdf_from_the_web(tmp_path: Path) -> None:
    from support.site import answer, site

    vault = vault_with(tmp_path, b"")
    with site() as server:
        data = build([lines(*PROSE)])
        server.extra["/dyke.pdf"] = answer(data, kind="application/pdf")
        url = server.base + "/dyke.pdf?token=hunter2hunter2"
        assert kb("pdf", url, cwd=vault).returncode == 5
        found = kb_json("pdf", url, "--allow-private", cwd=vault)
        assert found["source"].endswith("/dyke.pdf?token=REDACTED") and found["bundle"] == "articles/dyke"
        assert b"hunter2" not in (vault / "articles/dyke/capture.json").read_bytes()
        sent = len(server.log)
        assert kb("pdf", url, "--allow-private", cwd=vault).returncode == 5 and len(server.log) == sent
        again = kb_json("capture.refresh", "dyke", "--source", url, "--allow-private", cwd=vault)
        assert again["changes"] == {"added": 0, "removed": 0}
        assert kb("pdf", server.base + "/404", "--allow-private", cwd=vault).returncode == 4
        assert kb("pdf", server.base + "/403", "--allow-private", cwd=vault).returncode == 10
        assert kb("pdf", server.base + "/", "--allow-private", cwd=vault).returncode == 2
