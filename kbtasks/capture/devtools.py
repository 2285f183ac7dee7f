"""A page of a Chromium browser, spoken to over its debugging port (Chrome DevTools Protocol), every wait with a deadline."""

from __future__ import annotations

import base64
import binascii
import json
from time import monotonic
from typing import TYPE_CHECKING

from kbtasks.capture.redact import redact_url
from kbtasks.errors import MissingExtra, Unavailable

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    from websockets.sync.client import ClientConnection

MAX_MESSAGE = 256 << 20
#: No request for this long means that the page has come to rest.
QUIET = 0.5
MAX_RESOURCES = 1000
#: Most redirects of the document that are kept.
MAX_HOPS = 20


class Session:
    """A connection to one page target. ``events`` are noted as they pass: load, requests under way, the document's answer."""

    def __init__(self, address: str, deadline: float) -> None:
        try:
            from websockets.sync.client import connect
        except ImportError:
            raise MissingExtra(feature="capturing with a browser", extra="browser") from None
        from websockets.exceptions import WebSocketException

        self._failures: tuple[type[Exception], ...] = (WebSocketException, OSError, EOFError)
        self.deadline = deadline
        self._next = 0
        self.loaded = False
        self.under_way: dict[str, float] = {}
        self.last_event = monotonic()
        self.document: dict[str, Any] = {}
        self.document_url = ""
        self.main_frame = ""
        self.hops: list[tuple[int, str]] = []
        self._connection = connect(
            address, max_size=MAX_MESSAGE, open_timeout=self._left(), close_timeout=1, proxy=None, compression=None
        )

    def __enter__(self) -> Session:
        try:
            self._socket: ClientConnection = self._connection.__enter__()
        except self._failures as error:
            raise Unavailable(
                message=f"the browser's debugging port cannot be reached: {type(error).__name__}"
            ) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._connection.__exit__(kind, value, trace)
        except self._failures:
            pass

    def _left(self) -> float:
        left = self.deadline - monotonic()
        if left <= 0:
            raise Unavailable(message="the browser did not finish before the deadline", next="--timeout SECONDS")
        return left

    def _receive(self, timeout: float) -> dict[str, Any] | None:
        try:
            message = self._socket.recv(timeout)
        except TimeoutError:
            return None
        except self._failures:
            raise Unavailable(message="the browser closed the connection") from None
        try:
            found = json.loads(message)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def _note(self, event: dict[str, Any]) -> None:
        """Keep what an event says about the page's progress; answer a dialog so that it cannot hold the page."""
        name, params = event.get("method"), event.get("params", {})
        if name == "Page.loadEventFired":
            self.loaded = True
        elif name == "Network.requestWillBeSent":
            self.under_way[str(params.get("requestId"))] = monotonic()
            if params.get("type") == "Document" and params.get("frameId") == self.main_frame:
                self.document_url = str(params.get("request", {}).get("url", ""))
                self._note_hop(params.get("redirectResponse"))
            self.last_event = monotonic()
        elif name in ("Network.loadingFinished", "Network.loadingFailed"):
            self.under_way.pop(str(params.get("requestId")), None)
            self.last_event = monotonic()
        elif (
            name == "Network.responseReceived"
            and params.get("type") == "Document"
            and params.get("frameId") == self.main_frame
        ):
            self.document = params.get("response", {})
        elif name == "Page.javascriptDialogOpening":
            self._send("Page.handleJavaScriptDialog", {"accept": False})

    def _note_hop(self, answer: Any) -> None:
        """Keep a redirect's answer as (status, redacted address)."""
        if isinstance(answer, dict) and isinstance(answer.get("status"), int) and len(self.hops) < MAX_HOPS:
            self.hops.append((answer["status"], redact_url(str(answer.get("url", "")))))

    def _send(self, method: str, params: dict[str, Any]) -> int:
        self._next += 1
        try:
            self._socket.send(json.dumps({"id": self._next, "method": method, "params": params}))
        except self._failures:
            raise Unavailable(message="the browser closed the connection") from None
        return self._next

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one command; Unavailable where the browser refuses it or the deadline passes."""
        number = self._send(method, params)
        while True:
            message = self._receive(self._left())
            if message is None:
                continue
            if message.get("id") == number:
                if "error" in message:
                    raise Unavailable(
                        message=f"the browser refused {method}: {str(message['error'].get('message', ''))[:200]}"
                    )
                result: dict[str, Any] = message.get("result", {})
                return result
            self._note(message)

    def settle(self, limit: float) -> bool:
        """Wait until the page is loaded and no request runs, at most ``limit`` seconds; whether it came to rest."""
        end = min(monotonic() + limit, self.deadline)
        while monotonic() < end:
            message = self._receive(min(0.1, max(end - monotonic(), 0.01)))
            if message is not None:
                self._note(message)
            now = monotonic()
            running = [began for began in self.under_way.values() if now - began < 10]
            if self.loaded and not running and now - self.last_event >= QUIET:
                return True
        return False

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; None where it failed."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True).get("result", {}).get("value")

    def source(self, limit: int) -> str:
        """The page's tree as HTML, at most ``limit`` characters."""
        value = self.evaluate(f"document.documentElement ? document.documentElement.outerHTML.slice(0, {limit}) : ''")
        return value if isinstance(value, str) else ""

    def pictures(self, each: int, total: int) -> dict[str, bytes]:
        """The pictures the browser holds already, by address, within bounds; nothing is loaded for this."""
        found: dict[str, bytes] = {}
        size = 0
        tree = self.call("Page.getResourceTree").get("frameTree", {})
        frame = tree.get("frame", {}).get("id", "")
        for item in tree.get("resources", [])[:MAX_RESOURCES]:
            if (
                item.get("type") not in ("Image", "Media")
                or item.get("failed")
                or (item.get("contentSize") or 0) > each
            ):
                continue
            try:
                answer = self.call("Page.getResourceContent", frameId=frame, url=item["url"])
            except Unavailable:
                if monotonic() >= self.deadline:
                    break
                continue
            text = str(answer.get("content", ""))
            try:
                data = base64.b64decode(text) if answer.get("base64Encoded") else text.encode()
            except (binascii.Error, ValueError):
                continue
            size += len(data)
            if size > total:
                break
            found[str(item["url"]).partition("#")[0]] = data
        return found

    def screenshot(self) -> bytes | None:
        """The whole page as PNG, at most 1600 by 16000 pixels; None where the browser gives none."""
        size = self.call("Page.getLayoutMetrics").get("cssContentSize", {})
        clip = {
            "x": 0,
            "y": 0,
            "width": min(float(size.get("width", 1280)), 1600),
            "height": min(float(size.get("height", 800)), 16000),
            "scale": 1,
        }
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        try:
            return base64.b64decode(str(answer.get("data", ""))) or None
        except (binascii.Error, ValueError):
            return None
