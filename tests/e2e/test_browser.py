"""Pages through a real Chromium: scripts run, the address guard holds inside the browser, and the user's own browser is only read."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.captures import LONG
from support.site import Site, answer, site

from kbtasks.errors import KbError, NotFound, Refused

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
pytest.importorskip("websockets", reason="the extra browser is not installed")
pytest.importorskip("trafilatura", reason="the extra capture is not installed")

BUILT = f"""<!doctype html><html><head><title>App</title></head><body><div id="root"></div><script>
setTimeout(() => {{ document.getElementById('root').innerHTML =
  '<article><h1>Built by script</h1><p>{LONG}</p><p>Made in the browser 鷺 🪶</p><img src="/dot.svg" alt="dot"></article>'; }}, 200);
</script></body></html>""".encode()
DOT = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><circle cx="4" cy="4" r="4"/></svg>'


@pytest.fixture
def server() -> Iterator[Site]:
    with site() as found:
        found.extra["/app"] = answer(BUILT)
        found.extra["/dot.svg"] = answer(DOT, kind="image/svg+xml")
        yield found


def clip(vault: Path, target: str, **options: Any) -> Any:
    from kbtasks.command import Context
    from kbtasks.tasks.clip import clip as task

    vault.mkdir(exist_ok=True)
    context = Context(cwd=str(vault), environ={"PATH": os.environ["PATH"]}, common={"root": str(vault)})
    return task(context, target, **{"timeout": 45.0, "allow_private": True, **options})


def test_a_script_built_page(server: Site, tmp_path: Path) -> None:
    result = clip(tmp_path / "vault", server.base + "/app", evidence="all")
    assert result.data["status"] == "complete" and result.data["method"] == "browser"
    assert [item["method"] for item in result.data["attempts"]] == ["http", "browser"]
    text = (tmp_path / "vault" / result.data["note"]).read_text(encoding="utf-8")
    assert "# Built by script" in text and "Made in the browser 鷺 🪶" in text and "![dot](assets/" in text
    screenshot = tmp_path / "vault" / result.data["bundle"] / "evidence" / "screenshot.png"
    assert screenshot.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert [item["role"] for item in result.data["files"]] == ["markdown", "asset", "evidence", "evidence"]
    assert list(Path("/tmp").glob(f"kb-{os.getpid()}-*")) == [], "the browser's profile stays"


def test_redirects_in_the_browser_are_kept(server: Site, tmp_path: Path) -> None:
    """The manifest lists every redirect of the page, whichever route read it, and no secret of their addresses."""
    server.extra["/old"] = answer(b"", "Location: /older?token=s3cret", status="302 Found")
    moved = answer(b"", "Location: /app", status="301 Moved Permanently")
    server.extra["/older"] = server.extra["/older?token=s3cret"] = moved
    result = clip(tmp_path / "vault", server.base + "/old", mode="browser")
    text = (tmp_path / "vault" / result.data["bundle"] / "capture.json").read_text(encoding="utf-8")
    assert json.loads(text)["source"]["redirects"] == [
        {"status": 302, "url": server.base + "/old"},
        {"status": 301, "url": server.base + "/older?token=REDACTED"},
    ]
    assert "s3cret" not in text


def headless(resolver: Any) -> Any:
    from kbtasks.capture.browser import Headless
    from kbtasks.capture.fetch import Fetcher

    return Headless(str(CHROMIUM), Fetcher(resolver=resolver), {"PATH": os.environ["PATH"]})


def test_the_address_guard_holds_in_the_browser(server: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that was let through may not load anything from inside: not by picture, script, frame or redirect."""
    monkeypatch.setattr("kbtasks.capture.guard.is_public", lambda address: address == "127.0.0.1")

    def resolver(host: str, port: int, timeout: float) -> list[str]:
        return ["127.0.0.1"] if host == "public.example" else ["10.1.2.3"]

    inside = f"http://inside.example:{server.port}/secret"
    direct = f"http://127.0.0.2:{server.port}/direct"
    server.extra["/bait"] = answer(
        f'<title>Bait</title><p>{LONG}</p><img src="{inside}-img"><iframe src="{inside}-frame"></iframe><script>fetch("{inside}-fetch", {{mode: "no-cors"}});'
        f'fetch("{direct}", {{mode: "no-cors"}}); new WebSocket("ws://inside.example:{server.port}/secret-ws"); new Image().src = "/away"</script>'.encode()
    )
    server.extra["/away"] = answer(b"", f"Location: {inside}-redirected", status="302 Found")
    page = headless(resolver).capture(f"http://public.example:{server.port}/bait", timeout=40, screenshot=False)
    assert b"The reserve lies" in page.html
    assert [path for path in server.log if "secret" in path or "direct" in path] == []
    assert "/away" in server.log
    server.extra["/jump"] = answer(b"", f"Location: {inside}", status="302 Found")
    with pytest.raises((Refused, KbError)):
        headless(resolver).capture(f"http://public.example:{server.port}/jump", timeout=40, screenshot=False)
    with pytest.raises(Refused):
        headless(resolver).capture(inside, timeout=40, screenshot=False)
    assert [path for path in server.log if "secret" in path] == []


def test_a_page_that_never_answers_ends_at_the_deadline(server: Site, tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(KbError):
        clip(tmp_path / "vault", server.base + "/silent", mode="browser", timeout=6.0)
    assert time.monotonic() - began < 60  # far from any hang, far from any measure
    assert not (tmp_path / "vault" / "articles").exists()


def test_gone_and_walls_through_the_browser(server: Site, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        clip(tmp_path / "vault", server.base + "/404", mode="browser")
    assert clip(tmp_path / "vault", server.base + "/429", mode="browser").data["status"] == "blocked"


@pytest.fixture
def own_browser(server: Site) -> Iterator[int]:
    """The debugging port of a browser that has the page open, as a user's would be."""
    short = Path(tempfile.mkdtemp(prefix="kb-own-"))  # sockets have short names at most
    profile = short / "profile"
    flags = [
        "--headless",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-quic",
    ]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")
    child = subprocess.Popen(
        [str(CHROMIUM), *flags, "--remote-debugging-port=0", f"--user-data-dir={profile}", server.base + "/app?me=1"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        env={"PATH": os.environ["PATH"], "HOME": str(short), "TMPDIR": str(short)},
    )  # fmt: skip
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end and not ((profile / "DevToolsActivePort").exists() and "/dot.svg" in server.log):
            time.sleep(0.1)
        yield int((profile / "DevToolsActivePort").read_text().split()[0])
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        shutil.rmtree(short, ignore_errors=True)


def test_a_page_open_in_the_users_browser(server: Site, tmp_path: Path, own_browser: int) -> None:
    asked = len(server.log)
    result = clip(tmp_path / "vault", server.base + "/app?me=1", cdp=str(own_browser), allow_private=False)
    assert result.data["status"] == "complete" and result.data["source"] == server.base + "/app?me=1"
    assert [item["role"] for item in result.data["files"]] == ["markdown", "asset"]
    assert clip(tmp_path / "second", "current", cdp=f"127.0.0.1:{own_browser}").data["title"] == "App"
    assert len(server.log) == asked, "nothing was loaded for it"
    with pytest.raises(NotFound):
        clip(tmp_path / "vault", "https://not-open.example/", cdp=str(own_browser))


def test_no_browser_on_the_port(tmp_path: Path) -> None:
    with pytest.raises(KbError, match="debugging port 9"):
        clip(tmp_path / "vault", "current", cdp="9")
