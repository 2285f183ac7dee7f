"""A PDF to a bundle: the original byte for byte, its text page by page, its pictures, and what was missing."""

from __future__ import annotations

import base64
import os
import re
from time import monotonic
from typing import TYPE_CHECKING

from kbtasks.capture import bundle, manifest
from kbtasks.capture.bundle import BundleFile
from kbtasks.capture.clip import identity_of
from kbtasks.capture.content import count_words
from kbtasks.capture.escape import escape_text
from kbtasks.capture.facts import normal_date
from kbtasks.capture.needs import PDF, need
from kbtasks.capture.note import front_matter
from kbtasks.capture.ocr import recognise
from kbtasks.capture.redact import redact_text, redact_url
from kbtasks.capture.slug import slugify
from kbtasks.capture.worker import WorkerFailed, ask
from kbtasks.errors import NotFound, Refused, Unavailable, UsageError

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.capture.fetch import Fetcher
    from kbtasks.capture.ocr import Tesseract

_JUNK_TITLE = re.compile(
    r"^(?:untitled|unknown|document\d*|title|microsoft \w+ - .*|.*\.(?:docx?|tex|dvi|indd|qxd|ps|pdf|rtf))$",
    re.IGNORECASE,
)
_PDF_DATE = re.compile(r"^D:(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?(?:([+-])(\d{2})'?(\d{2})?|Z)?")
_TYPES = {"png": "image/png", "jpg": "image/jpeg", "jp2": "image/jp2"}


class PdfOptions:
    """How to capture a PDF. Sizes are bytes, ``timeout`` seconds for everything, recognition included."""

    def __init__(self, **values: Any) -> None:
        self.slug = ""
        self.password = ""
        self.media = "images"
        self.ocr = True
        self.timeout = 300.0
        self.max_pages = 2000
        self.max_images = 1000
        self.max_image_bytes = 50_000_000
        self.force = False
        self.beside = False
        self.refreshes: dict[str, str] | None = None
        for name, value in values.items():
            if not hasattr(self, name):
                raise TypeError(name)
            setattr(self, name, value)


class PdfCapture:
    """One capture: give it ``data`` (from a file or by ``download``), then ``plan`` the bundle."""

    def __init__(self, options: PdfOptions, fetcher: Fetcher | None, tesseract: Tesseract | None) -> None:
        need(PDF, feature="capturing PDFs", extra="capture")
        self.options = options
        self.fetcher = fetcher
        self.tesseract = tesseract
        self.deadline = monotonic() + options.timeout
        self.attempts: list[dict[str, Any]] = []
        self.warnings: list[dict[str, str]] = []
        self.final: str | None = None
        self.hops: list[tuple[int, str]] = []

    def download(self, url: str) -> bytes:
        """The PDF at ``url``; NotFound, Unavailable or UsageError where no whole PDF came."""
        assert self.fetcher is not None
        answer = self.fetcher.fetch(url, accept="application/pdf,*/*;q=0.1", deadline=self.deadline)
        shown = redact_url(answer.url)
        if answer.status in (404, 410):
            raise NotFound(what=f"PDF (the server answered {answer.status})", name=shown)
        if answer.status != 200:
            raise Unavailable(message=f"the server answered {answer.status} for {shown}")
        if answer.cut == "too-large":
            raise UsageError(
                message=f"the PDF is larger than {self.fetcher.max_bytes} bytes", next="--max-pdf-bytes BYTES"
            )
        if answer.cut:
            self.warnings.append({"code": answer.cut, "message": "the PDF did not come whole; what came was read"})
        self.final, self.hops = answer.url, answer.hops
        self.attempts.append(
            {
                "at": manifest.now(),
                "method": "http",
                "outcome": "read",
                "status_code": answer.status,
                "message": f"{len(answer.body)} bytes",
            }
        )
        return answer.body

    def refuse_known(self, folder: str, url: str) -> None:
        """AlreadyCaptured before anything is sent, where ``folder`` holds a capture of ``url`` and nothing allows another."""
        if not (self.options.force or self.options.beside):
            bundle.choose_name(folder, "x", identity_of(url, b""), force=False)

    def plan(
        self, data: bytes, *, requested: str | None, file: str | None, folder: str
    ) -> tuple[str, bool, list[BundleFile], dict[str, Any]]:
        """Name, whether it replaces a bundle, files and manifest of the bundle for the PDF ``data``; nothing is written."""
        if b"%PDF-" not in data[:1024]:
            next_step = "kb clip, for a web page" if data[:200].lstrip()[:1] == b"<" else None
            raise UsageError(message="it is not a PDF (it does not begin with %PDF-)", next=next_step)
        answer = self._read(data)
        options = self.options
        pages = answer["pages"]
        if self.tesseract is not None:
            recognise(pages, data, self.tesseract, password=options.password, deadline=self.deadline)
        title = _title(answer, file, requested)
        if pages and pages[0]["blocks"] and pages[0]["blocks"][0][0].lstrip("# ") == escape_text(title):
            del pages[0]["blocks"][0]  # the note's own heading says it
        identity = identity_of(requested or "", data)
        name, replace = bundle.choose_name(
            folder,
            slugify(options.slug or title) or slugify(_stem(file, requested)) or "document",
            identity,
            force=options.force,
            beside=options.beside,
        )
        self._judge(pages, answer, data)
        status = "partial" if self.warnings else "complete"
        words = 0
        body = []
        entries = []
        for page in pages:
            text = _page_text(page)
            words += sum(count_words(line) for block in page["blocks"] for line in block)
            digest = manifest.digest(text.encode("utf-8"))
            body += (
                ["", f"<!-- page {page['page']} {digest} -->", "", text]
                if text
                else ["", f"<!-- page {page['page']} {digest} -->"]
            )
            entry = {
                "page": page["page"],
                "sha256": digest,
                "characters": page["characters"],
                "text": page["text"],
                "images": len(page["images"]),
                "rotation": page["rotation"],
            }
            entries.append(
                entry | ({"label": page["label"]} if page["label"] and page["label"] != str(page["page"]) else {})
            )
        metadata = _metadata(answer)
        source = redact_url(requested) if requested else file or "stdin"
        captured = manifest.now()
        head = front_matter(
            [
                ("title", title),
                ("source", source),
                ("author", metadata.get("author", "")),
                ("published", str(metadata.get("created", ""))[:10]),
                ("clipped", captured[:10]),
                ("capture_status", status),
                ("capture_method", "pdf"),
                ("pages", answer["page_count"]),
            ]
        )
        text = f"{head}\n# {escape_text(title)}\n" + "\n".join(body) + "\n\n***\n\nSource: [source.pdf](source.pdf)\n"
        files = [
            BundleFile(f"{name}.md", text.encode("utf-8", "replace"), role="markdown", media_type="text/markdown"),
            BundleFile(
                "source.pdf",
                data,
                role="source",
                media_type="application/pdf",
                source=redact_url(self.final) if self.final else None,
            ),
            *(
                BundleFile(
                    path,
                    base64.b64decode(content),
                    role="asset",
                    media_type=_TYPES.get(path.rpartition(".")[2], "application/octet-stream"),
                )
                for path, content in answer["images"].items()
            ),
        ]
        self.attempts.append(
            {
                "at": manifest.now(),
                "method": "pdf",
                "outcome": status,
                "status_code": None,
                "message": f"{len(pages)} pages, {words} words",
            }
        )
        document: dict[str, Any] = {
            "schema": "kbtasks/capture-manifest/1",
            "identity": identity,
            "kind": "pdf",
            "title": title,
            "status": status,
            "surface": "document",
            "method": "pdf",
            "captured": captured,
            "tool": {"name": "kbtasks", "version": _version()},
            "extractor": {"name": "pypdfium2", "version": f"{answer['version']} (PDFium {answer['engine']})"},
            "source": {
                "requested": redact_url(requested) if requested else None,
                "final": redact_url(self.final) if self.final else None,
                "canonical": None,
                "file": file,
                "media_type": "application/pdf",
                "encoding": "",
                "bytes": len(data),
                "sha256": manifest.digest(data),
                "redirects": [{"status": code, "url": url} for code, url in self.hops],
            },
            "metadata": metadata,
            "counts": {
                "words": words,
                "pages": answer["page_count"],
                "processed_pages": len(pages),
                "headings": answer["headings"],
                "tables": answer["tables"],
                "images": sum(len(page["images"]) for page in pages),
                "assets": len(answer["images"]),
                "pages_without_text": sum(page["text"] == "none" for page in pages),
                "pages_recognised": sum(page["text"] == "ocr" for page in pages),
                "blank_pages": sum(page["text"] == "blank" for page in pages),
                "characters_without_text": sum(page["lost"] for page in pages),
            },
            "attempts": self.attempts,
            "warnings": [
                {"code": item["code"], "message": redact_text(item["message"])[:1000]} for item in self.warnings
            ],
            "pages": entries,
        }
        if options.refreshes:
            document["refreshes"] = options.refreshes
        return name, replace, files, document

    def _read(self, data: bytes) -> dict[str, Any]:
        options = self.options
        request = {
            "password": options.password,
            "max_pages": options.max_pages,
            "images": options.media != "none",
            "max_images": options.max_images,
            "max_image_bytes": options.max_image_bytes,
        }
        try:
            answer = ask("pdf", request, data, timeout=self.deadline - monotonic())
        except WorkerFailed as error:
            raise Unavailable(
                message=f"the PDF could not be read: {error.reason}",
                next="--timeout SECONDS or --max-pages N, if it is only large",
            ) from None
        if answer.get("error") == "password":
            message = (
                "the PDF is encrypted, and the password given does not open it"
                if options.password
                else "the PDF is encrypted"
            )
            raise Refused(message=message, next="--password PASSWORD")
        if answer.get("error") or not answer["page_count"]:
            raise Unavailable(message=f"the PDF is damaged and cannot be read ({answer.get('message', 'no pages')})")
        return answer

    def _judge(self, pages: list[dict[str, Any]], answer: dict[str, Any], data: bytes) -> None:
        """Warnings for everything that is not in the note as it is in the PDF."""
        add = self.warnings.append
        empty = [
            page["page"] for page in pages if page["text"] == "none" and not page["note"] and not page["characters"]
        ]
        nearly = [page["page"] for page in pages if page["text"] == "none" and not page["note"] and page["characters"]]
        damaged = [page["page"] for page in pages if page["note"]]
        recognised = [page["page"] for page in pages if page["text"] == "ocr"]
        why = "Tesseract is not installed" if self.options.ocr else "recognition is off"
        if self.tesseract is not None:
            why = self.tesseract.failure or "recognition found none"
        if empty:
            add({"code": "no-text", "message": f"no text layer on pages {ranges(empty)} ({why})"})
        if nearly:
            add(
                {"code": "no-text", "message": f"next to no text on pages {ranges(nearly)}, which are pictures ({why})"}
            )
        if recognised:
            add(
                {
                    "code": "recognised",
                    "message": f"the text of pages {ranges(recognised)} was recognised from pictures and may hold errors",
                }
            )
        if damaged:
            add({"code": "damaged-page", "message": f"pages {ranges(damaged)} are damaged and could not be read"})
        lost = sum(page["lost"] for page in pages)
        if lost:
            add(
                {
                    "code": "characters",
                    "message": f"{lost} characters without text: the file does not say what they mean; they stand as �",
                }
            )
        if b"%%EOF" not in data[-2048:]:
            add({"code": "truncated", "message": "the file ends before its end mark; pages may be missing"})
        self.warnings += answer["warnings"]


def ranges(numbers: list[int]) -> str:
    """``[1, 2, 3, 7]`` as ``1-3, 7`` (two in a row as ``1, 2``)."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 2 else ", ".join(map(str, part)) for part in parts)


def _page_text(page: dict[str, Any]) -> str:
    blocks = ["\n".join(block) for block in page["blocks"]]
    if page["text"] == "none":
        reason = page["note"] or (
            "the page is a picture and has next to no text" if page["characters"] else "the page has no text layer"
        )
        blocks.append(f"*Page {page['page']}: {reason}.*")
    elif page["text"] == "ocr":
        blocks.insert(0, f"*Page {page['page']}: text recognised from a picture.*")
    blocks += [f"![Picture on page {page['page']}]({image['path']})" for image in page["images"] if image["path"]]
    return "\n\n".join(blocks)


def _stem(file: str | None, url: str | None) -> str:
    from urllib.parse import unquote, urlsplit

    name = file or os.path.basename(unquote(urlsplit(url or "").path)) or "document"
    return os.path.splitext(name)[0]


def _title(answer: dict[str, Any], file: str | None, url: str | None) -> str:
    title = str(answer["metadata"].get("Title", "")).strip()
    if title and not _JUNK_TITLE.match(title):
        return title[:300]
    first = answer["pages"][0]["blocks"] if answer["pages"] else []
    headings = [block[0] for block in first if block[0].startswith("#")]
    if headings:
        best = min(headings, key=lambda line: len(line) - len(line.lstrip("#")))
        return re.sub(r"\\(?=[^\w\s])", "", best.lstrip("# "))[:300]
    return _stem(file, url)


def _date(value: str) -> str:
    found = _PDF_DATE.match(value)
    if not found:
        return ""
    year, month, day, hour, minute, second, sign, hours, minutes = found.groups()
    text = f"{year}-{month or '01'}-{day or '01'}"
    if hour and minute:
        text += f"T{hour}:{minute}:{second or '00'}" + (f"{sign}{hours}:{minutes or '00'}" if sign else "Z")
    return normal_date(text)


def _metadata(answer: dict[str, Any]) -> dict[str, Any]:
    found = answer["metadata"]
    known = {
        name.lower(): str(found[name])
        for name in ("Title", "Author", "Subject", "Keywords", "Creator", "Producer")
        if found.get(name)
    }
    if known.get("author", "").lower() in ("anonymous", "unknown"):
        del known["author"]
    for name, key in (("created", "CreationDate"), ("modified", "ModDate")):
        if date := _date(str(found.get(key, ""))):
            known[name] = date
    return {**known, "encrypted": bool(answer["encrypted"])}


def _version() -> str:
    from kbtasks import __version__

    return __version__
