"""A PDF opened, if need be with a directory made anew, and pages of it rendered for recognition. Runs in the worker."""

from __future__ import annotations

import base64
from typing import Any

import pypdfium2 as pdfium  # type: ignore[import-untyped]

from kbtasks.capture import pdf_images
from kbtasks.capture.pdf_mend import with_directory

MENDED = "the file's directory is damaged or missing and was made anew; pages may be missing"


def open_pdf(data: bytes, password: str) -> tuple[Any, bytes, list[dict[str, str]]]:
    """The open document (or the answer that says why it cannot be opened), the bytes it was read from, and warnings."""
    document = _try(data, password)
    if isinstance(document, dict) and document["error"] == "damaged":
        mended = with_directory(data)
        again = _try(mended, password) if mended else document
        if mended and not isinstance(again, dict):
            return again, mended, [{"code": "mended", "message": MENDED}]
    return document, data, []


def _try(data: bytes, password: str) -> Any:
    try:
        document = pdfium.PdfDocument(data, password=password or None)
        if len(document) < 1:
            return {"error": "damaged", "message": "it has no pages"}
    except pdfium.PdfiumError as error:
        return {"error": "password" if "assword" in str(error) else "damaged", "message": str(error)[:200]}
    return document


def render_scans(data: bytes, *, password: str, pages: list[int]) -> dict[str, Any]:
    """The pages with these numbers (from 1) as grey PNG, base64; a page that cannot be rendered is left out."""
    document, _, _ = open_pdf(data, password)
    found: dict[str, str] = {}
    if isinstance(document, dict):
        return {"pages": found}
    for number in pages:
        try:
            picture = pdf_images.render_page(document[number - 1])
        except (pdfium.PdfiumError, IndexError):
            continue
        if picture:
            found[str(number)] = base64.b64encode(picture).decode()
    return {"pages": found}
