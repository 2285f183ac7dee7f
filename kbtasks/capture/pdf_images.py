"""Pictures of a PDF, as stored where that is a file format, else as PNG; and pages rendered for recognition."""

from __future__ import annotations

import base64
import ctypes
import struct
import zlib
from hashlib import sha256
from typing import TYPE_CHECKING

import pypdfium2 as pdfium  # type: ignore[import-untyped]
from pypdfium2 import raw

from kbtasks.capture.ocr import SCAN_DPI

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.capture.pdf_read import PageView

MAX_PIXELS = 60_000_000
#: Pictures smaller than this on either side are rules, bullets and tiles.
SMALLEST = 8
#: All pictures of one PDF together, in bytes.
MAX_TOTAL = 200_000_000


def png(width: int, height: int, channels: int, rows: bytes, stride: int) -> bytes:
    """A PNG file (specification, sections 5 and 11) of 8-bit samples: grey (1), RGB (3) or RGBA (4 channels)."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    packed = b"".join(b"\0" + rows[at * stride : at * stride + width * channels] for at in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(packed, 6)) + chunk(b"IEND", b"")


def bitmap_png(bitmap: Any) -> bytes | None:
    """A PDFium bitmap as PNG; None where it is empty, too large or of an unknown format. The bitmap is given back."""
    try:
        width, height = raw.FPDFBitmap_GetWidth(bitmap), raw.FPDFBitmap_GetHeight(bitmap)
        stride, form = raw.FPDFBitmap_GetStride(bitmap), raw.FPDFBitmap_GetFormat(bitmap)
        if width < 1 or height < 1 or width * height > MAX_PIXELS:
            return None
        channels = {raw.FPDFBitmap_Gray: 1, raw.FPDFBitmap_BGR: 3, raw.FPDFBitmap_BGRx: 4, raw.FPDFBitmap_BGRA: 4}.get(
            form
        )
        pointer = raw.FPDFBitmap_GetBuffer(bitmap)
        if channels is None or not pointer:
            return None
        data = bytearray(ctypes.string_at(pointer, stride * height))
        if channels == 1:
            return png(width, height, 1, bytes(data), stride)
        packed = bytearray()
        for at in range(height):
            row = data[at * stride : at * stride + width * channels]
            out = bytearray(3 * width)
            out[0::3], out[1::3], out[2::3] = row[2::channels], row[1::channels], row[0::channels]
            packed += out
        return png(width, height, 3, bytes(packed), 3 * width)
    finally:
        raw.FPDFBitmap_Destroy(bitmap)


def _stored(item: Any) -> tuple[bytes, str] | None:
    """The bytes of a picture that is stored as JPEG or JPEG 2000, with its suffix."""
    if raw.FPDFImageObj_GetImageFilterCount(item) != 1:
        return None
    name = ctypes.create_string_buffer(32)
    raw.FPDFImageObj_GetImageFilter(item, 0, name, 32)
    suffix = {b"DCTDecode": "jpg", b"JPXDecode": "jp2"}.get(name.value)
    if suffix is None:
        return None
    size = raw.FPDFImageObj_GetImageDataRaw(item, None, 0)
    if not 0 < size <= 200_000_000:
        return None
    buffer = ctypes.create_string_buffer(size)
    raw.FPDFImageObj_GetImageDataRaw(item, buffer, size)
    data = buffer.raw
    return (data, suffix) if data[:2] == b"\xff\xd8" or suffix == "jp2" else None


class Taken:
    """The pictures taken so far: ``files`` by path in the bundle (base64), at most ``most`` of at most ``each`` bytes."""

    def __init__(self, most: int, each: int) -> None:
        self.most = most
        self.each = each
        self.files: dict[str, str] = {}
        self.warnings: list[dict[str, str]] = []
        self._past = 0
        self._total = 0

    def take(self, view: PageView, page: int) -> list[dict[str, Any]]:
        """The pictures drawn on a page, each with its ``path`` in the bundle (empty where not taken) and its top edge."""
        found = []
        for item, box in view.images:
            entry: dict[str, Any] = {"path": "", "top": round(box[1], 1)}
            found.append(entry)
            width, height = ctypes.c_uint(), ctypes.c_uint()
            if (
                raw.FPDFImageObj_GetImagePixelSize(item, ctypes.byref(width), ctypes.byref(height))
                and min(width.value, height.value) < SMALLEST
            ):
                continue
            if len(self.files) >= self.most or self._total > MAX_TOTAL:
                self._past += 1
                self.warnings = [
                    {
                        "code": "too-many-images",
                        "message": f"{self._past} pictures are past the limits, the last on page {page}",
                    }
                ]
                continue
            stored = _stored(item)
            if stored is None and width.value * height.value <= MAX_PIXELS:
                bitmap = raw.FPDFImageObj_GetBitmap(item)
                data = bitmap_png(bitmap) if bitmap else None
                stored = (data, "png") if data else None
            if stored is None or len(stored[0]) > self.each:
                continue
            path = f"assets/{sha256(stored[0]).hexdigest()[:20]}.{stored[1]}"
            if path not in self.files:
                self._total += len(stored[0])
                self.files[path] = base64.b64encode(stored[0]).decode()
            entry["path"] = path
        return found


def render_page(page: pdfium.PdfPage) -> bytes | None:
    """The page as a grey PNG for text recognition, at 250 dots per inch or as much as fits the bound on pixels."""
    width, height = page.get_size()
    scale = SCAN_DPI / 72
    if width <= 0 or height <= 0:
        return None
    if width * height * scale * scale > MAX_PIXELS:
        scale = (MAX_PIXELS / (width * height)) ** 0.5
    try:
        bitmap = page.render(scale=scale, grayscale=True)
    except (pdfium.PdfiumError, ValueError, MemoryError):
        return None
    return png(bitmap.width, bitmap.height, 1, bytes(bitmap.buffer), bitmap.stride) if bitmap.n_channels == 1 else None
