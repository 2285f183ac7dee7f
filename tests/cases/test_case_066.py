"""Scanned pages, wholly or with a stamp only, are named; blank pages are not scans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.cli import kb_json
from support.pdfs import PICTURE, build, lines

if TYPE_CHECKING:
    from pathlib import Path

REPORT = lines(
    "Warden report for the spring, with a full line of text.", "A second line, and a third thing to read on this page."
)


def captured(data: bytes, vault: Path) -> tuple[list[str], list[str], str]:
    """Warnings, kinds of the pages' text, and the note."""
    import json

    pytest.importorskip("pypdfium2", reason="the extra capture is not installed")
    (vault / ".kbtasks").mkdir()
    (vault / "x.pdf").write_bytes(data)
    found = kb_json("pdf", "x.pdf", cwd=vault)
    assert found["status"] == "partial"
    manifest = json.loads((vault / found["bundle"] / "capture.json").read_bytes())
    assert (vault / found["bundle"] / "source.pdf").read_bytes() == data
    return (
        [item["message"] for item in found["warnings"]],
        [page["text"] for page in manifest["pages"]],
        (vault / found["note"]).read_text(encoding="utf-8"),
    )


def test_scan(tmp_path: Path) -> None:
    warnings, pages, note = captured(build([PICTURE, PICTURE]), tmp_path)
    assert warnings[0].startswith("no text layer on pages 1, 2") and pages == ["none", "none"]
    assert "Page 1: the page has no text layer" in note and "Page 2: the page has no text layer" in note


def test_stamp(tmp_path: Path) -> None:
    warnings, pages, note = captured(build([PICTURE + lines(f"Page {n} of 2", y=20) for n in (1, 2)]), tmp_path)
    assert warnings[0].startswith("next to no text on pages 1, 2") and pages == ["none", "none"]
    assert "next to no text" in note


def test_mixed(tmp_path: Path) -> None:
    warnings, pages, note = captured(build([REPORT, PICTURE, b""]), tmp_path)
    assert [text.partition(" (")[0] for text in warnings] == ["no text layer on pages 2"] and pages == [
        "layer",
        "none",
        "blank",
    ]
    assert "Warden report for the spring" in note
