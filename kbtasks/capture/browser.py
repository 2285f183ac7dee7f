"""Pages as a browser shows them: a headless Chromium of our own, or a page already open in the user's browser."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from time import monotonic, sleep
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from kbtasks.capture.devtools import Session
from kbtasks.capture.guard import parse_url
from kbtasks.capture.pages import Page
from kbtasks.errors import NotFound, Refused, Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kbtasks.capture.fetch import Fetcher

MAX_SOURCE = 30_000_000
MAX_PICTURE = 50_000_000
MAX_PICTURES = 200_000_000
MAX_LOAD = 300_000_000
#: Longest wait for a page to come to rest after it has loaded; pages that poll never do.
SETTLE = 15.0
_FLAGS = (
    "--headless", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync", "--disable-default-apps", "--disable-extensions", "--disable-breakpad", "--disable-dev-shm-usage",
    "--mute-audio",
    "--disable-component-extensions-with-background-pages", "--disable-field-trial-config", "--metrics-recording-only",
    "--allow-browser-signin=false", "--password-store=basic", "--use-mock-keychain", "--enable-automation",
    "--disable-search-engine-choice-screen", "--no-service-autorun",
    "--no-default-browser-check", "--no-pings", "--disable-domain-reliability", "--disable-client-side-phishing-detection",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--deny-permission-prompts", "--window-size=1280,1600",
    ("--disable-features=OptimizationHints,MediaRouter,Translate,DialMediaRouteProvider,"
    "NetworkTimeServiceQuerying,AutofillServerCommunication,CertificateTransparencyComponentUpdater,InterestFeedContentSuggestions"),
)  # fmt: skip


class Browser(Protocol):
    """What can show a page."""

    def capture(self, url: str, *, timeout: float, screenshot: bool) -> Page:
        """The page at ``url`` as shown, within ``timeout`` seconds."""
        ...


class Headless:
    """A Chromium started for one page, with an empty profile removed afterwards; it reaches the web only through our proxy."""

    def __init__(self, program: str, fetcher: Fetcher, environ: Mapping[str, str]) -> None:
        self.program = program
        self.fetcher = fetcher
        self.environ = environ

    def capture(self, url: str, *, timeout: float, screenshot: bool) -> Page:
        """The page at ``url`` after its scripts ran. Raises Refused (address guard), Unavailable (start, deadline, no answer)."""
        from kbtasks.capture.proxy import GuardedProxy

        deadline = monotonic() + timeout
        profile = tempfile.mkdtemp(prefix=f"kb-{os.getpid()}-", dir=_short_folder())
        proxy = GuardedProxy(
            resolver=self.fetcher.resolver,
            allow_private=self.fetcher.allow_private,
            deadline=deadline,
            max_bytes=MAX_LOAD,
            wanted=parse_url(url).host,
        )
        child = None
        try:
            child = self._start(profile, proxy.port)
            port, path = self._wait_for_port(child, profile, deadline)
            with Session(f"ws://127.0.0.1:{port}{path}", deadline) as session:
                target = session.call("Target.createTarget", url="about:blank")["targetId"]
            with Session(f"ws://127.0.0.1:{port}/devtools/page/{target}", deadline) as session:
                return _navigate(session, url, screenshot=screenshot, refused=proxy.refused)
        finally:
            proxy.close()
            if child is not None:
                _end(child)
            _remove(profile)

    def _start(self, profile: str, proxy_port: int) -> subprocess.Popen[bytes]:
        flags = [
            *_FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0", f"--proxy-server=http://127.0.0.1:{proxy_port}",
            "--proxy-bypass-list=<-loopback>", f"--user-agent={self.fetcher.user_agent}",
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            flags.append("--no-sandbox")  # Chromium's own sandbox refuses to run as root
        environment = {
            name: self.environ[name] for name in ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH") if name in self.environ
        }
        environment["HOME"] = environment["TMPDIR"] = profile
        try:
            return subprocess.Popen(
                [self.program, *flags, "about:blank"], cwd=profile, env=environment, stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise Unavailable(message=f"{self.program} could not be started: {error.strerror}") from None

    def _wait_for_port(self, child: subprocess.Popen[bytes], profile: str, deadline: float) -> tuple[int, str]:
        path = os.path.join(profile, "DevToolsActivePort")
        while monotonic() < deadline:
            try:
                with open(path, encoding="ascii") as file:
                    lines = file.read(1000).splitlines()
                if len(lines) >= 2 and lines[0].isdigit():
                    return int(lines[0]), lines[1]
            except (OSError, UnicodeDecodeError):
                pass
            if child.poll() is not None:
                raise Unavailable(message=f"{self.program} ended at its start with status {child.returncode}")
            sleep(0.02)
        raise Unavailable(message=f"{self.program} did not start before the deadline", next="--timeout SECONDS")


def _short_folder() -> str | None:
    """Where the profile goes: /tmp where it can, since sockets inside it have short names at most (sun_path, 104 bytes)."""
    return "/tmp" if os.path.isdir("/tmp") and os.access("/tmp", os.W_OK) else None  # noqa: S108  mkdtemp makes it private


def _remove(profile: str) -> None:
    """Remove the profile; helpers of the browser that die a moment after it may still be writing into it."""
    for _ in range(60):
        shutil.rmtree(profile, ignore_errors=True)
        if not os.path.lexists(profile):
            return
        sleep(0.05)


def _end(child: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        child.kill()
    child.wait()


def _navigate(session: Session, url: str, *, screenshot: bool, refused: set[str]) -> Page:
    session.call("Page.enable")
    session.call("Network.enable")
    session.main_frame = session.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
    session.call("Browser.setDownloadBehavior", behavior="deny")
    session.loaded = False
    answer = session.call("Page.navigate", url=url)
    host = urlsplit(session.document_url or url).hostname or ""
    if answer.get("errorText") and host in refused:
        raise Refused(
            message=f"{host} leads to an address that is not public",
            next="--allow-private, if you trust it",
        )
    if answer.get("errorText"):
        raise Unavailable(message=f"the browser could not open the page: {answer['errorText']}")
    left = session.deadline - monotonic()
    rested = session.settle(min(SETTLE, left * 0.6))
    session.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    session.settle(min(2.0, left * 0.1))
    page = _read(session, screenshot=screenshot)
    if not page.url.startswith(("http://", "https://")):
        raise Unavailable(message="the browser could not open the page")
    if not rested:
        page.warnings.append({"code": "unsettled", "message": "the page was still loading when it was read"})
    return page


def _read(session: Session, *, screenshot: bool) -> Page:
    """The page as it is now."""
    location = str(session.evaluate("location.href") or "")
    source = session.source(MAX_SOURCE)
    page = Page(
        source.encode("utf-8", "replace"), method="browser", url=location, content_type="text/html; charset=utf-8"
    )
    if len(source) >= MAX_SOURCE:
        page.cut = "too-large"
    status = session.document.get("status")
    page.status_code = status if isinstance(status, int) and status > 0 else None
    page.hops = list(session.hops)
    page.inside = session.pictures(MAX_PICTURE, MAX_PICTURES)
    if screenshot:
        page.screenshot = session.screenshot()
    return page


class Attached:
    """The user's own running browser, over its debugging port on this machine. It is only read."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.host, self.port = address

    def capture(self, url: str, *, timeout: float, screenshot: bool) -> Page:
        """The open page whose address is ``url`` (``current``: the one used last). NotFound where none is; Unavailable."""
        deadline = monotonic() + timeout
        pages = [item for item in self._targets(min(timeout, 10.0)) if item.get("type") == "page"]
        wanted = [item for item in pages if url == "current" or _same(str(item.get("url", "")), url)]
        wanted = [item for item in wanted if str(item.get("url", "")).startswith(("http://", "https://"))]
        if not wanted:
            raise NotFound(
                what="open page", name=url, next=f"open it in the browser first ({len(pages)} pages are open)"
            )
        host = f"[{self.host}]" if ":" in self.host else self.host
        with Session(f"ws://{host}:{self.port}/devtools/page/{wanted[0]['id']}", deadline) as session:
            session.call("Page.enable")
            page = _read(session, screenshot=screenshot)
        page.offline = True
        return page

    def _targets(self, timeout: float) -> list[dict[str, Any]]:
        from http.client import HTTPConnection, HTTPException

        connection = HTTPConnection(self.host, self.port, timeout=timeout)
        try:
            connection.request("GET", "/json/list", headers={"Host": f"localhost:{self.port}"})
            data = connection.getresponse().read(16 << 20)
            found = json.loads(data)
        except (OSError, HTTPException, ValueError):
            raise Unavailable(
                message=f"no browser answers on the debugging port {self.port}",
                next=f"start it with --remote-debugging-port={self.port} and a --user-data-dir of its own",
            ) from None
        finally:
            connection.close()
        return [item for item in found if isinstance(item, dict) and "id" in item] if isinstance(found, list) else []


def _same(first: str, second: str) -> bool:
    return first.partition("#")[0].rstrip("/") == second.partition("#")[0].rstrip("/")
