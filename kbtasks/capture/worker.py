"""The child process that reads untrusted pages and PDFs: bounded in time and memory, unable to write any file.

One request on stdin (a line of JSON, then raw bytes), one JSON answer on stdout.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.errors import KbError

MAX_MEMORY = 4 << 30
MAX_ANSWER = 512 << 20


class WorkerFailed(Exception):
    """The worker ended without an answer; ``reason`` says how, in a few words for a person."""

    def __init__(self, reason: str, cause: KbError | None = None) -> None:
        self.reason = reason
        self.cause = cause
        super().__init__(reason)


def ask(kind: str, request: dict[str, Any], data: bytes, *, timeout: float) -> dict[str, Any]:
    """Run one request in a child process: ``kind`` is ``html``, ``pdf`` or ``scans``; WorkerFailed otherwise."""
    import json
    import os

    from kbtasks import process
    from kbtasks.errors import ProcessOverflow, ProcessTimeout, Unavailable

    head = json.dumps({"kind": kind, "timeout": timeout, **request}).encode() + b"\n"
    code = "import sys; sys.path[:] = sys.argv[1:]; from kbtasks.capture.worker import main; main()"
    paths = [os.path.abspath(path or ".") for path in sys.path]
    try:
        done = process.run(
            [sys.executable, "-I", "-S", "-B", "-c", code, *paths],
            cwd=os.path.dirname(os.path.abspath(__file__)),
            env={"LC_ALL": "C.UTF-8"},
            timeout=max(timeout, 0.05),
            max_stdout=MAX_ANSWER,
            input=head + data,
        )
    except ProcessTimeout as error:
        raise WorkerFailed("it took too long", error) from None
    except ProcessOverflow as error:
        raise WorkerFailed("it gave more than could be kept", error) from None
    except Unavailable as error:
        raise WorkerFailed(error.message, error) from None
    if done.status != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        raise WorkerFailed(f"the reader ended with status {done.status}{': ' + last if last else ''}")
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise WorkerFailed("the reader gave no answer") from None
    return answer


def main() -> None:
    """Answer the request on stdin."""
    import json

    _limit()
    head = sys.stdin.buffer.readline(1 << 20)
    request = json.loads(head)
    data = sys.stdin.buffer.read()
    sys.setrecursionlimit(20_000)
    kind = request.pop("kind")
    request.pop("timeout", None)
    if kind == "html":
        from kbtasks.capture.render import render

        answer = render(data, **request)
    elif kind == "scans":
        from kbtasks.capture.pdf_open import render_scans

        answer = render_scans(data, **request)
    else:
        from kbtasks.capture.pdf_pages import read_pdf

        answer = read_pdf(data, **request)
    text = json.dumps(answer, ensure_ascii=True, separators=(",", ":"))
    sys.stdout.write(text)
    sys.stdout.flush()
    import os

    os._exit(0)  # the answer is out; taking apart large trees would only cost time


def _limit() -> None:
    """No file may be written, memory is bounded (where the platform has such limits)."""
    try:
        import resource
        import signal
    except ImportError:  # Windows
        return
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for name, bound in (("RLIMIT_FSIZE", 0), ("RLIMIT_AS", MAX_MEMORY), ("RLIMIT_CORE", 0)):
        try:
            resource.setrlimit(getattr(resource, name), (bound, bound))
        except (AttributeError, ValueError, OSError):
            continue
