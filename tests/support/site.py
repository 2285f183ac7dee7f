"""A web server on the loopback address that behaves as badly as the web does."""

from __future__ import annotations

import gzip
import socket
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from support.captures import article

TEXT = article("<h1>The heron</h1><p>A heron stood in the reeds. 鷺 🪶</p>")
WORD_PAGE = "<html><head><title>{title}</title></head><body>{body}</body></html>"
PASSWORD = '<form><input name="u"><input type="password" name="p"></form>'
LD = '<script type="application/ld+json">{"@type":"NewsArticle","isAccessibleForFree":"False"}</script>'


def answer(
    body: bytes,
    *headers: str,
    status: str = "200 OK",
    kind: str = "text/html; charset=utf-8",
    length: int | None = None,
) -> bytes:
    """A whole HTTP response."""
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body) if length is None else length}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def redirect(to: str, status: str = "302 Found") -> bytes:
    return answer(b"", f"Location: {to}", status=status)


def bomb() -> bytes:
    """200 MB of blanks in 200 kB of gzip."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = b"<html><body><p>start of the bomb</p>"
    return packer.compress(head) + b"".join(packer.compress(b" " * 1_000_000) for _ in range(200)) + packer.flush()


class Site:
    """Serves until its block ends. ``log`` holds the request lines; ``base`` is its address."""

    def __init__(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.base = f"http://127.0.0.1:{self.port}"
        self.log: list[str] = []
        self.heads: list[str] = []
        self.extra: dict[str, bytes] = {}
        self.open = True
        self.bomb = b""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while self.open:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            client.settimeout(20)
            data = b""
            try:
                while b"\r\n\r\n" not in data:
                    chunk = client.recv(4096)
                    if not chunk:
                        return
                    data += chunk
                head = data.decode("latin-1")
                path = head.split(" ")[1]
                self.log.append(path)
                self.heads.append(head)
                self._answer(client, path)
            except OSError:
                return

    def _answer(self, client: socket.socket, path: str) -> None:
        name = path.split("?", maxsplit=1)[0].strip("/")
        if name == "drip":
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n" + TEXT)
            while self.open:
                client.sendall(b" ")
                time.sleep(0.05)
        elif name == "slow-head":
            client.sendall(b"HTTP/1.1 200 OK\r\n")
            while self.open:
                client.sendall(b"X-A: b\r\n")
                time.sleep(0.05)
        elif name == "silent":
            while self.open:
                time.sleep(0.05)
        elif name == "endless":
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + TEXT)
            while self.open:
                client.sendall(b"<p>more</p>" * 1000)
        elif name == "bomb":
            self.bomb = self.bomb or bomb()
            client.sendall(answer(self.bomb, "Content-Encoding: gzip"))
        elif name.startswith("many"):
            step = int(name[4:] or 0)
            client.sendall(redirect(f"/many{step + 1}"))
        else:
            client.sendall(self.extra.get(path) or self.extra.get("/" + name) or self._page(name))

    def _page(self, name: str) -> bytes:
        thin = WORD_PAGE.format
        pages = {
            "": answer(TEXT),
            "hop": redirect("/hop2", "301 Moved Permanently"),
            "hop2": redirect("/?from=hop", "308 Permanent Redirect"),
            "loop": redirect("/loop2"),
            "loop2": redirect("/loop"),
            "self": redirect("/self"),
            "to-file": redirect("file:///etc/passwd"),
            "to-user": redirect("http://me:secret@example.com/"),
            "to-private": redirect("http://10.0.0.1/"),
            "to-nothing": redirect("http://"),
            "no-location": answer(b"<p>moved</p>", status="302 Found"),
            "long": answer(TEXT, length=len(TEXT) + 5000),
            "short": answer(TEXT, length=600),
            "bad-length": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nx",
            "not-http": b"\x16\x03\x01\x02\x00garbage\r\n\r\n",
            "empty-answer": b"",
            "no-body": answer(b""),
            "chunked-cut": b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n"
            % len(TEXT)
            + TEXT
            + b"\r\nffff\r\ncut",
            "gzip": answer(gzip.compress(TEXT), "Content-Encoding: gzip"),
            "gzip-cut": answer(gzip.compress(TEXT * 50)[:-40], "Content-Encoding: gzip"),
            "gzip-junk": answer(b"not gzip at all", "Content-Encoding: gzip"),
            "deflate": answer(zlib.compress(TEXT)[2:-4], "Content-Encoding: deflate"),
            "brotli": answer(b"\x8b\x02\x80", "Content-Encoding: br"),
            "charset": answer(
                TEXT.decode().replace("utf-8", "no-such-set").encode(), kind="text/html; charset=no-such-set"
            ),
            "charset-lies": answer(
                TEXT.replace("鷺 🪶".encode(), "é".encode("latin-1")).replace(b"utf-8", b"ascii"),
                kind="text/html; charset=utf-8",
            ),
            "401": answer(
                thin(title="Sign in", body="<p>Please sign in.</p>").encode(),
                'WWW-Authenticate: Basic realm="x"',
                status="401 Unauthorized",
            ),
            "403": answer(
                thin(title="Forbidden", body="<p>You may not read this.</p>").encode(), status="403 Forbidden"
            ),
            "429": answer(
                thin(title="Slow down", body="<p>Too many requests.</p>").encode(),
                "Retry-After: 30",
                status="429 Too Many Requests",
            ),
            "451": answer(
                thin(title="Gone", body="<p>Not in your country.</p>").encode(),
                status="451 Unavailable For Legal Reasons",
            ),
            "503": answer(
                thin(title="Just a moment...", body='<div id="cf-challenge">x</div>').encode(),
                status="503 Service Unavailable",
            ),
            "500": answer(b"<p>oops</p>", status="500 Internal Server Error"),
            "404": answer(b"<p>no such page</p>", status="404 Not Found"),
            "login": answer(thin(title="Log in", body="<p>Members only.</p>" + PASSWORD).encode()),
            "captcha": answer(
                thin(title="Attention Required!", body='<div class="g-recaptcha"></div><p>Are you human?</p>').encode()
            ),
            "paywall": answer(article("<p>The first lines are free.</p>", head='<meta charset="utf-8">' + LD)),
            "shell": answer(b'<!doctype html><title>App</title><div id="root"></div><script src="/app.js"></script>'),
            "json": answer(b'{"a": 1}', kind="application/json"),
            "plain": answer(b"A plain text [[x]]\n  with blanks\n" * 5, kind="text/plain; charset=utf-8"),
            "pdf": answer(b"%PDF-1.4\n", kind="application/pdf"),
        }
        return pages[name] if name in pages else answer(b"<p>no such page</p>", status="404 Not Found")


@contextmanager
def site() -> Iterator[Site]:
    """A running Site."""
    found = Site()
    try:
        yield found
    finally:
        found.open = False
        found.server.close()
