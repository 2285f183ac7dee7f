"""``kb pdf``: a PDF kept as evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.model.result import Result

if TYPE_CHECKING:
    from kbtasks.command import Context


@command(
    "pdf",
    schema="capture",
    positional="target",
    help={
        "target": "A PDF file, an http or https address, or - for stdin.",
        "output": "Folder that receives the bundle (default: articles in the vault).",
        "slug": "Name of the bundle (default: made from the title).",
        "password": "Password of an encrypted PDF (better: in KB_PDF_PASSWORD, where other processes cannot read it).",
        "media": "Pictures to take out: images or none.",
        "ocr": "Recognise scanned pages with Tesseract where it is installed: auto or off.",
        "ocr_language": "Tesseract's models, as eng or eng+deu.",
        "timeout": "Seconds for everything.",
        "max_pdf_bytes": "Largest PDF, in bytes.",
        "max_pages": "Most pages read.",
        "max_images": "Most pictures taken out.",
        "allow_private": "Also connect to addresses that are not public (this machine, your network).",
        "force": "Replace an earlier capture of the same source.",
        "dry_run": "Show what would be written.",
    },
    choices={"media": ("none", "images"), "ocr": ("auto", "off")},
)
def pdf(
    context: Context,
    target: str,
    output: str = "",
    slug: str = "",
    password: str = "",
    media: str = "images",
    ocr: str = "auto",
    ocr_language: str = "eng",
    timeout: float = 300.0,
    max_pdf_bytes: int = 200_000_000,
    max_pages: int = 2000,
    max_images: int = 1000,
    allow_private: bool = False,
    force: bool = False,
    dry_run: bool = False,
) -> Result:
    """Keep a PDF as a bundle: the file byte for byte, its text as Markdown with page marks, its pictures, and a manifest.

    Pages without text are named, page by page; the status is complete only when nothing is missing.
    """
    from kbtasks.capture.fetch import Fetcher
    from kbtasks.capture.ocr import find_tesseract
    from kbtasks.capture.pages import shown_name
    from kbtasks.capture.pdf import PdfCapture, PdfOptions
    from kbtasks.capture.report import finish, render
    from kbtasks.tasks.clip import check_bounds, is_url, output_folder

    check_bounds(timeout=timeout, max_pdf_bytes=max_pdf_bytes, max_pages=max_pages)
    folder, vault = output_folder(context, output)
    options = PdfOptions(
        slug=slug,
        password=password or context.environ.get("KB_PDF_PASSWORD", ""),
        media=media,
        ocr=ocr == "auto",
        timeout=timeout,
        max_pages=max_pages,
        max_images=max(max_images, 0),
        force=force,
    )
    fetcher = Fetcher(timeout=timeout, max_bytes=max_pdf_bytes, allow_private=allow_private)
    run = PdfCapture(options, fetcher, find_tesseract(context.environ, ocr_language) if ocr == "auto" else None)
    if is_url(target):
        run.refuse_known(folder, target)
        data = run.download(target)
        name, replace, files, document = run.plan(data, requested=target, file=None, folder=folder)
    else:
        data = context.read_input(target, limit=max_pdf_bytes)
        file = None if target == "-" else shown_name(context.path(target))
        name, replace, files, document = run.plan(data, requested=None, file=file, folder=folder)
    result = finish(folder, name, replace, files, document, dry_run=dry_run, vault=vault)
    return Result("capture", result, text=render, tail="files")
