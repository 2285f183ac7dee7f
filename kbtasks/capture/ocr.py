"""Text recognition of scanned pages through the Tesseract program, when it is installed."""

from __future__ import annotations

import os
import re
import shutil
from time import monotonic
from typing import TYPE_CHECKING

from kbtasks import process
from kbtasks.errors import KbError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MAX_TEXT = 4 << 20
#: Dots per inch at which pages are rendered for recognition.
SCAN_DPI = 250
#: Pages rendered at once.
BATCH = 4
#: Fewer letters and digits than this on a page is noise, not text.
LEAST = 20
_LANGUAGE = re.compile(r"^[A-Za-z][A-Za-z0-9_/]{1,40}(?:\+[A-Za-z][A-Za-z0-9_/]{1,40}){0,9}$")


class Tesseract:
    """The program at ``path``; ``version`` as it says itself, ``language`` its models (``eng``, ``eng+deu``)."""

    def __init__(self, path: str, environ: Mapping[str, str], language: str) -> None:
        self.path = path
        self.language = language
        self._environ = {
            name: environ[name] for name in ("PATH", "TESSDATA_PREFIX", "LD_LIBRARY_PATH") if name in environ
        }
        self._environ["OMP_THREAD_LIMIT"] = "1"
        self.failure = ""

    @property
    def version(self) -> str:
        """The version the program prints, or an empty text."""
        try:
            done = process.run([self.path, "--version"], cwd=os.sep, env=self._environ, timeout=10, max_stdout=65536)
        except KbError:
            return ""
        words = (done.stdout + done.stderr).decode("utf-8", "replace").split()
        return words[1] if len(words) > 1 else ""

    def read(self, png: bytes, *, dpi: int, timeout: float) -> list[str]:
        """The paragraphs of a page given as PNG; empty where none can be read or it failed (see ``failure``)."""
        arguments = [self.path, "stdin", "stdout", "--dpi", str(dpi), "-l", self.language]
        try:
            done = process.run(
                arguments, cwd=os.sep, env=self._environ, timeout=max(timeout, 0.1), max_stdout=MAX_TEXT, input=png
            )
        except KbError as error:
            self.failure = error.message
            return []
        if done.status != 0:
            self.failure = f"Tesseract ended with status {done.status}"
            return []
        text = done.stdout.decode("utf-8", "replace").replace("\f", "\n")
        if sum(char.isalnum() for char in text) < LEAST:
            return []
        found = []
        for part in re.split(r"\n[ \t]*\n", text):
            lines = [" ".join(line.split()) for line in part.split("\n") if line.strip()]
            if lines:
                found.append(_joined(lines))
        return found


def _joined(lines: list[str]) -> str:
    text = lines[0]
    for line in lines[1:]:
        if text.endswith("-") and text[-2:-1].isalpha() and line[:1].islower():
            text = text[:-1] + line
        else:
            text += " " + line
    return text


def recognise(
    pages: list[dict[str, Any]], data: bytes, tesseract: Tesseract, *, password: str, deadline: float
) -> None:
    """Add the recognised text to those ``pages`` of the PDF ``data`` that are scans, a few at a time, until ``deadline``."""
    import base64

    from kbtasks.capture.escape import escape_line_start, escape_text
    from kbtasks.capture.worker import WorkerFailed, ask

    scans = [page for page in pages if page["scan"]]
    for start in range(0, len(scans), BATCH):
        batch = scans[start : start + BATCH]
        request = {"password": password, "pages": [page["page"] for page in batch]}
        try:
            pictures = ask("scans", request, data, timeout=max(deadline - monotonic(), 0.05))["pages"]
        except WorkerFailed as error:
            tesseract.failure = f"the pages could not be rendered: {error.reason}"
            return
        for page in batch:
            left = deadline - monotonic()
            if left <= 0:
                tesseract.failure = "the deadline passed"
                return
            picture = pictures.get(str(page["page"]))
            found = tesseract.read(base64.b64decode(picture), dpi=SCAN_DPI, timeout=min(left, 60.0)) if picture else []
            if found:
                page["text"] = "ocr"
                page["blocks"] += [[escape_line_start(escape_text(text))] for text in found]
                page["characters"] = sum(not char.isspace() for text in found for char in text)


def find_tesseract(environ: Mapping[str, str], language: str) -> Tesseract | None:
    """Tesseract on the PATH of ``environ``, or None; ``language`` must look like the names of its models."""
    from kbtasks.errors import UsageError

    if not _LANGUAGE.match(language):
        raise UsageError(
            message=f"--ocr-language takes names of Tesseract's models as eng or eng+deu, not {language!r}"
        )
    path = shutil.which("tesseract", path=environ.get("PATH"))
    return Tesseract(path, environ, language) if path else None
