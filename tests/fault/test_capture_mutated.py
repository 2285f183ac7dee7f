"""Two hundred broken pages and two hundred broken PDFs: an answer or a clear error for each, in time, and nothing written elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest
from support.captures import article, rendered
from support.cli import kb
from support.mutate import HTML_WORDS, PDF_WORDS, mutate
from support.pdfs import PICTURE, at, build, lines

PAGES = Path(__file__).resolve().parent.parent / "cases" / "pages"
NUMBER = int(os.environ.get("KBTASKS_MUTATIONS", "200"))
#: Processor seconds for one small page; the slowest honest one takes a tenth of it.
BOUND = 10.0


def broken_page(seed: int) -> bytes:
    random = Random(seed)
    sources = sorted(PAGES.glob("*.html"))
    return mutate(random.choice(sources).read_bytes(), random, HTML_WORDS)


def broken_pdf(seed: int) -> bytes:
    random = Random(seed)
    rules = b"".join(b"72 %d m 400 %d l S\n" % (y, y) for y in (600, 620, 640)) + b"".join(
        b"%d 600 m %d 640 l S\n" % (x, x) for x in (72, 200, 400)
    )
    sources = [
        build(
            [
                lines("A report on the reed bed, long enough to be read."),
                PICTURE,
                rules + at(80, 605, "cell") + at(210, 605, "other"),
                b"",
            ]
        ),
        build(
            [
                at(72, 700 - 14 * n, f"left line number {n} of prose")
                + at(330, 700 - 14 * n, f"right line {n} with more prose")
                for n in range(9)
            ]
        ),
        build([lines("turned page")], page_keys=b"/Rotate 90"),
    ]
    return mutate(random.choice(sources), random, PDF_WORDS)


def test_pages() -> None:
    pytest.importorskip("trafilatura", reason="the extra capture is not installed")
    from kbtasks.vault.parse import parse_note

    for seed in range(NUMBER):
        page = broken_page(seed)
        began = time.process_time()
        answer = rendered(page, extract=seed % 4 == 0, inert=seed % 3 == 0)
        assert time.process_time() - began < BOUND, seed
        assert not any(char in answer["markdown"] for char in "\x00\x02\x03"), seed
        note = parse_note("a.md", ("---\ntitle: x\n---\n\n" + answer["markdown"]).encode("utf-8", "surrogatepass"))
        outside = [
            link.target
            for link in note.links
            if not link.target.startswith(("http://", "https://", "data:", "mailto:", "tel:"))
        ]
        assert outside == [] and note.tags == [], seed


def test_deep_and_wide_pages() -> None:
    for page in (
        b"<div>" * 50_000 + b"deep" + b"</div>" * 50_000,
        b"<ul><li>" * 3_000 + b"deep",
        b"<blockquote>" * 3_000 + b"deep",
        b"<table><tr><td>" * 1_000 + b"deep",
        b"<b>" * 20_000 + b"x",
        b"<table>" + b"<tr>" + b"<td>x" * 20_000,
        b"<table><tr><th>a<th>b<tr><td colspan=99999999 rowspan=99999999>x<td>y" + b"<tr><td>z" * 200,
        b"<p>" + b"<a href=x>y</a>" * 20_000,
        b"<p>" + b"*" * 100_000 + b"[" * 100_000 + b"`" * 100_000,
        b"<img srcset='" + b"a 1w," * 50_000 + b"'>",
        b"<p>" + b"&" * 100_000,
        b"<pre>" + b"`" * 100_000,
    ):
        began = time.process_time()
        rendered(article("") + page)
        assert time.process_time() - began < BOUND, page[:40]


READER = """
import sys, json
sys.path[:0] = json.loads(sys.argv[1])
from fault_pdf import broken_pdf, read
for seed in range(int(sys.argv[2]), int(sys.argv[3])):
    print(seed, flush=True)
    read(broken_pdf(seed))
"""


def test_pdfs(tmp_path: Path) -> None:
    """All in one child, since PDFium is not Python: where it dies, the command must turn that into an error."""
    pytest.importorskip("pypdfium2", reason="the extra capture is not installed")
    here = Path(__file__).resolve()
    (tmp_path / "fault_pdf.py").write_text(
        f"import importlib.util, time\nspec = importlib.util.spec_from_file_location('m', {str(here)!r})\nm = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(m)\nbroken_pdf = m.broken_pdf\nfrom kbtasks.capture.pdf_pages import read_pdf\n"
        "def read(data):\n    began = time.process_time()\n"
        "    read_pdf(data, password='', max_pages=50, images=True, max_images=9, max_image_bytes=10**7)\n"
        f"    assert time.process_time() - began < {BOUND}\n",
        encoding="utf-8",
    )
    import json

    paths = json.dumps([str(tmp_path), str(here.parent.parent), str(here.parent.parent.parent)])
    start = 0
    died: list[int] = []
    while start < NUMBER:
        done = subprocess.run(
            [sys.executable, "-c", READER, paths, str(start), str(NUMBER)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if done.returncode == 0:
            break
        assert done.returncode < 0, f"seed {done.stdout.split()[-1]}: {done.stderr[-2000:]}"
        died.append(int(done.stdout.split()[-1]))
        start = died[-1] + 1
    assert len(died) <= 5, died
    for seed in died:
        check_command("pdf", broken_pdf(seed), "x.pdf", tmp_path / str(seed))


def check_command(command: str, data: bytes, name: str, vault: Path) -> None:
    """The whole command: a known exit code, no traceback, no half bundle, nothing outside of articles."""
    (vault / ".kbtasks").mkdir(parents=True)
    (vault / name).write_bytes(data)
    done = kb(command, name, cwd=vault)
    assert done.returncode in (0, 2, 3, 5, 10), done.stderr
    assert "Traceback" not in done.stderr
    assert {path.name for path in vault.iterdir()} <= {".kbtasks", name, "articles"}
    if (vault / "articles").exists():
        for bundle in (vault / "articles").iterdir():
            assert (bundle / "capture.json").is_file()
        assert kb("capture.verify", cwd=vault).returncode == 0


@pytest.mark.parametrize("seed", range(1000, 1003))
def test_whole_commands(seed: int, tmp_path: Path) -> None:
    pytest.importorskip("trafilatura", reason="the extra capture is not installed")
    check_command("clip", broken_page(seed), "x.html", tmp_path / "page")
    check_command("pdf", broken_pdf(seed), "x.pdf", tmp_path / "pdf")
