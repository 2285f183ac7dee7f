"""``kb clip`` against a real server: statuses, attempts, files, secrets, and what the vault then knows of the capture."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.captures import LONG, article
from support.cli import kb, kb_json
from support.site import Site, answer, site

from kbtasks import schema
from kbtasks.command import Context
from kbtasks.errors import KbError
from kbtasks.model.result import Result

pytest.importorskip("trafilatura", reason="the extra capture is not installed")

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


@pytest.fixture
def server() -> Iterator[Site]:
    with site() as found:
        yield found


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / ".kbtasks").mkdir()
    return tmp_path


def clip(vault: Path, target: str, **options: Any) -> Result:
    """The result of ``kb clip``, its document checked against the schema."""
    from kbtasks.tasks.clip import clip as task

    context = Context(cwd=str(vault), environ={"PATH": os.environ["PATH"]}, common={"root": str(vault)})
    result = task(
        context,
        target,
        **{"mode": "http" if target.startswith("http") else "auto", "timeout": 20.0, "allow_private": True, **options},
    )
    assert schema.problems("capture", result.to_json()) == []
    return result


def manifest(vault: Path, result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((vault / result.data["bundle"] / "capture.json").read_bytes())
    assert schema.problems("capture-manifest", found) == []
    return found


def note(vault: Path, result: Result) -> str:
    return (vault / result.data["note"]).read_text(encoding="utf-8")


STATUSES = {
    "/": ("complete", None), "/gzip": ("complete", None), "/hop": ("complete", None), "/charset": ("complete", None), "/plain": ("complete", None),
    "/long": ("partial", "closed-early"), "/short": ("complete", None), "/chunked-cut": ("partial", "closed-early"), "/gzip-cut": ("partial", "closed-early"),
    "/charset-lies": ("partial", "undecodable"), "/bomb": ("partial", "too-large"), "/no-body": ("partial", "no-text"), "/shell": ("partial", "no-text"),
    "/401": ("auth-required", "auth"), "/403": ("blocked", "refused"), "/429": ("blocked", "rate-limit"), "/451": ("blocked", "refused"),
    "/503": ("blocked", "challenge"), "/login": ("auth-required", "sign-in"), "/captcha": ("blocked", "challenge"), "/paywall": ("auth-required", "paywall"),
    "/json": ("unsupported", "unsupported"), "/pdf": ("unsupported", "unsupported"),
}  # fmt: skip


@pytest.mark.parametrize("path", STATUSES)
def test_status(server: Site, vault: Path, path: str) -> None:
    status, warning = STATUSES[path]
    result = clip(vault, server.base + path, max_html_bytes=1_000_000)
    assert result.data["status"] == status
    assert result.exit_code == (3 if status in ("auth-required", "blocked", "unsupported") else 0)
    assert (result.data["warnings"][0]["code"] if result.data["warnings"] else None) == warning
    found = manifest(vault, result)
    assert found["status"] == status and found["attempts"][0]["method"] == "http"
    text = note(vault, result)
    assert f"capture_status: {status}\n" in text and "capture_method: http\n" in text
    assert ("Not captured (" in text) == (status in ("auth-required", "blocked", "unsupported") and path != "/paywall")


@pytest.mark.parametrize("path", ["/404", "/500", "/loop", "/to-file", "/not-http", "/many"])
def test_nothing_is_written_where_nothing_came(server: Site, vault: Path, path: str) -> None:
    with pytest.raises(KbError):
        clip(vault, server.base + path)
    assert sorted(item.name for item in vault.iterdir()) == [".kbtasks"]


def test_slow_bodies_and_silence(server: Site, vault: Path) -> None:
    with pytest.raises(KbError):
        clip(vault, server.base + "/silent", timeout=1.0)
    assert not (vault / "articles").exists()


def test_private_addresses_are_refused(server: Site, vault: Path) -> None:
    done = kb("clip", server.base + "/", "--json", cwd=vault)
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"]) == (5, "refused") and "--allow-private" in error["next"]
    assert server.log == []


def test_pictures_and_redirects_in_the_manifest(server: Site, vault: Path) -> None:
    server.extra["/red.png"] = answer(PNG, kind="image/png")
    server.extra["/evil.svg"] = answer(
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>x</script></svg>", kind="image/svg+xml"
    )
    page = article(
        '<p><img src="/red.png" alt="Red ] dot"> <img src="red.png" alt="again"> <img src="/gone.png" alt="gone"> <img src="evil.svg" alt="e"> '
        '<img src="/403" alt="f"> <img width="1" height="1" src="/pixel.gif"></p>'
    )
    server.extra["/pics"] = answer(page)
    result = clip(vault, server.base + "/pics")
    found = manifest(vault, result)
    assets = [item for item in found["files"] if item["role"] == "asset"]
    assert len(assets) == 1 and (vault / result.data["bundle"] / assets[0]["path"]).read_bytes() == PNG
    text = note(vault, result)
    assert text.count(f"]({assets[0]['path']})") == 2 and f"![gone]({server.base}/gone.png)" in text
    assert result.data["status"] == "partial" and len(result.data["warnings"]) == 3
    assert "/pixel.gif" not in server.log
    assert clip(vault, server.base + "/pics", force=True, media="none").data["status"] == "complete"
    hop = manifest(vault, clip(vault, server.base + "/hop"))
    assert [item["status"] for item in hop["source"]["redirects"]] == [301, 308]


def test_limits_of_pictures(server: Site, vault: Path) -> None:
    server.extra["/big.png"] = answer(PNG + b"\0" * 5000, kind="image/png")
    server.extra["/pics"] = answer(article("".join(f'<p><img src="/big.png?{n}" alt="{n}"></p>' for n in range(6))))
    found = clip(vault, server.base + "/pics", max_items=2, dry_run=True).data
    assert [item["code"] for item in found["warnings"]] == ["too-many-assets"]
    assert clip(vault, server.base + "/pics", max_asset_bytes=3000, dry_run=True).data["warnings"][0]["code"] == "asset"
    assert not (vault / "articles").exists()


SECRETS = ("hunter2hunter2", "AKIASIGNATURE0123", "eyJhbGciOi.J9.sig")


def test_secrets_reach_no_file(server: Site, vault: Path) -> None:
    query = f"?id=7&access_token={SECRETS[0]}&X-Amz-Signature={SECRETS[1]}#id_token={SECRETS[2]}"
    page = article(
        f'<p><a href="/next{query}">next</a> <img src="/p.png?sig={SECRETS[1]}" alt="p"></p><form><input type="hidden" name="csrf" value="{SECRETS[0]}"></form>',
        head=f'<meta charset="utf-8"><meta name="csrf-token" content="{SECRETS[0]}"><link rel="canonical" href="/c?token={SECRETS[0]}">',
    )
    server.extra["/start"] = answer(
        b"", f"Location: /page{query}", f"Set-Cookie: session={SECRETS[0]}", status="302 Found"
    )
    server.extra["/page"] = answer(page, f"Set-Cookie: session={SECRETS[0]}")
    server.extra["/p.png"] = answer(PNG, kind="image/png")
    result = clip(vault, server.base + "/start" + query, evidence="source")
    assert any(SECRETS[1] in path for path in server.log)  # they were sent where the user said
    for path in (vault / result.data["bundle"]).rglob("*"):
        if path.is_file():
            assert not any(secret.encode() in path.read_bytes() for secret in SECRETS), path.name
    assert not any(secret in json.dumps(result.to_json()) for secret in SECRETS)
    found = manifest(vault, result)
    assert "id=7&access_token=REDACTED" in found["source"]["requested"]
    assert "id=7" in note(vault, result) and found["counts"]["redacted"] > 0
    done = kb("clip", f"https://user:{SECRETS[0]}@example.com/", cwd=vault)
    assert done.returncode == 2 and SECRETS[0] not in done.stderr


def test_evidence_is_inert(server: Site, vault: Path) -> None:
    hostile = article(
        '<script>alert(1)</script><p onclick="x()" style="background:url(http://t/)">a</p><iframe src="http://x/"></iframe><form action="http://x/"><input name=q>'
        '</form><a href="javascript:x()">b</a><img src="http://x/y.png"><object data="x"></object><meta http-equiv="refresh" content="0;url=http://x/">'
    )
    server.extra["/hostile"] = answer(hostile)
    result = clip(vault, server.base + "/hostile", evidence="source", media="none")
    source = (vault / result.data["bundle"] / "evidence" / "source.html").read_text(encoding="utf-8")
    assert "Content-Security-Policy" in source and "default-src 'none'" in source
    for mark in (
        "<script",
        "onclick",
        "<iframe",
        "action=",
        "javascript:",
        "<object",
        ' src="http',
        ' href="',
        "refresh",
        "url(",
    ):
        assert mark not in source, mark


def test_refused_then_replaced(server: Site, vault: Path) -> None:
    first = clip(vault, server.base + "/", slug="heron")
    before = (vault / first.data["note"]).read_bytes()
    sent = len(server.log)
    done = kb("clip", server.base + "/", "--allow-private", "--mode", "http", cwd=vault)
    assert done.returncode == 5 and "capture.refresh heron" in done.stderr
    assert len(server.log) == sent, "a refusal asks the server nothing"
    assert (vault / first.data["note"]).read_bytes() == before
    server.extra["/"] = answer(article("<h1>The heron</h1><p>It flew away.</p>"))
    again = clip(vault, server.base + "/", slug="heron", force=True)
    assert again.data["replaced"] and "It flew away" in note(vault, again)
    assert [path.name for path in (vault / "articles").iterdir()] == ["heron"]


def test_dry_run_and_output_and_stdin(vault: Path) -> None:
    page = article("<h1>Piped 管</h1><p>x</p>").decode()
    found = kb_json("clip", "-", "--dry-run", cwd=vault, input=page)
    assert not found["written"] and not (vault / "articles").exists()
    found = kb_json("clip", "-", "--output", "elsewhere", cwd=vault, input=page)
    assert found["bundle"] == "elsewhere/piped-管" and (vault / "elsewhere" / "piped-管" / "piped-管.md").is_file()


def test_saved_page_with_its_folder(vault: Path) -> None:
    folder = vault / "saved"
    (folder / "page_files").mkdir(parents=True)
    (folder / "page_files" / "red dot.png").write_bytes(PNG)
    (vault / "secret.png").write_bytes(PNG + b"secret")
    os.symlink(vault / "secret.png", folder / "page_files" / "link.png")
    (folder / "page.html").write_bytes(
        b"<!-- saved from url=(0027)https://walk.example/a/page -->\n"
        + article(
            '<p><img src="./page_files/red%20dot.png" alt="r"><img src="../secret.png" alt="s"><img src="page_files/link.png" alt="l"><a href="next">n</a></p>'
        )
    )
    result = clip(vault, "saved/page.html")
    assert [item["role"] for item in result.data["files"]] == ["markdown", "asset"]
    assert "[n](https://walk.example/a/next)" in note(vault, result)
    assert 'source: "https://walk.example/a/page"' in note(vault, result)
    assert len(result.data["warnings"]) == 2
    assert not any(
        b"secret" in path.read_bytes() for path in (vault / result.data["bundle"]).rglob("*") if path.suffix == ".png"
    )


def test_singlefile(vault: Path) -> None:
    uri = "data:image/png;base64," + base64.b64encode(PNG).decode()
    page = (
        b"<!DOCTYPE html> <html><!--\n Page saved with SingleFile \n url: https://one.example/x?y=1 \n saved date: Mon -->"
        + article(f'<h1>One file</h1><p><img src="{uri}" alt="dot"></p>')
    )
    (vault / "one.html").write_bytes(page)
    result = clip(vault, "one.html")
    assert result.data["status"] == "complete" and result.data["source"] == "https://one.example/x?y=1"
    assert [item["role"] for item in result.data["files"]] == ["markdown", "asset"]


def test_mhtml(vault: Path) -> None:
    page = article(
        '<h1>Archived 档</h1><p><img src="cid:dot@x" alt="cid"> <img src="/img/dot.png" alt="loc"></p>', head=""
    ).decode()
    lines = [
        "From: <Saved by Blink>", "Snapshot-Content-Location: https://arch.example/p", "Subject: Archived", "MIME-Version: 1.0",
        'Content-Type: multipart/related; type="text/html"; boundary="----b"', "", "------b", "Content-Type: text/html; charset=utf-8",
        "Content-Transfer-Encoding: base64", "Content-Location: https://arch.example/p", "", base64.encodebytes(page.encode()).decode(), "------b",
        "Content-Type: image/png", "Content-Transfer-Encoding: base64", "Content-Location: https://arch.example/img/dot.png", "Content-ID: <dot@x>", "",
        base64.encodebytes(PNG).decode(), "------b--", "",
    ]  # fmt: skip
    (vault / "page.mhtml").write_text("\r\n".join(lines), encoding="utf-8")
    result = clip(vault, "page.mhtml")
    assert result.data["status"] == "complete" and result.data["source"] == "https://arch.example/p"
    assert note(vault, result).count("](assets/") == 2 and "Archived 档" in note(vault, result)


def test_searched_listed_and_cited(server: Site, vault: Path) -> None:
    """The capture is a note at once; it waits in the inbox until a maintained note cites it."""
    from kbtasks.tasks.table import TABLE

    if not {"search", "inbox"} <= TABLE.keys():
        pytest.skip("search and inbox are not in this build")
    result = clip(vault, server.base + "/")
    identity = result.data["note"].removesuffix(".md")
    assert [
        hit["id"] for hit in kb_json("search", "heron stood in the reeds", "--mode", "exact", cwd=vault)["hits"]
    ] == [identity]
    assert [item["id"] for item in kb_json("inbox", cwd=vault)["inbox"]] == [identity]
    shown = kb_json("capture.show", identity, "--passage", "heron stood IN the", cwd=vault)
    (vault / "notes").mkdir()
    (vault / "notes" / "birds.md").write_text(f"# Birds\n\nHerons stand. {shown['citation']}\n", encoding="utf-8")
    assert kb_json("inbox", cwd=vault)["inbox"] == []
    digits = shown["citation"].rpartition("sha256:")[2].rstrip(")")
    found = kb_json("capture.show", f"sha256:{digits}", cwd=vault)
    assert found["passage"] == shown["passage"] and "鷺 🪶" in found["passage"]["text"]


def test_verify_diff_refresh(server: Site, vault: Path) -> None:
    first = clip(vault, server.base + "/", slug="heron")
    assert kb_json("capture.verify", cwd=vault)["ok"]
    server.extra["/"] = answer(
        article("<h1>The heron</h1><p>A heron stood in the reeds. 鷺 🪶</p><p>Then it flew.</p>")
    )
    again = kb_json("capture.refresh", "heron", "--allow-private", "--mode", "http", cwd=vault)
    assert again["changes"] == {"added": 1, "removed": 0} and again["bundle"] != first.data["bundle"]
    assert kb_json("capture.refresh", "heron", "--allow-private", "--mode", "http", cwd=vault)["bundle"] not in (
        again["bundle"],
        first.data["bundle"],
    )
    found = kb_json("capture.diff", again["bundle"], cwd=vault)
    assert found["same_source"] and found["changes"] == [{"change": "added", "text": "Then it flew."}]
    assert kb_json("capture.diff", "heron", "--against", "heron", cwd=vault)["identical"]
    bundle = vault / first.data["bundle"]
    (bundle / "extra.txt").write_text("x")
    with (bundle / "heron.md").open("a") as file:
        file.write("tampered\n")
    text = (bundle / "capture.json").read_text(encoding="utf-8").replace('"status": "complete"', '"status": "partial"')
    (bundle / "capture.json").write_text(text, encoding="utf-8")
    report = kb_json("capture.verify", "heron", cwd=vault, code=3)
    assert [(item["path"], item["state"]) for item in report["problems"]] == [
        ("capture.json", "changed"),
        ("heron.md", "changed"),
        ("extra.txt", "added"),
    ]
    (bundle / "heron.md").unlink()
    (bundle / "capture.json").write_text("{}")
    assert kb_json("capture.verify", "heron", cwd=vault, code=3)["problems"][0]["state"] == "unreadable"


def test_a_manifest_that_names_files_outside_reads_none_of_them(vault: Path) -> None:
    (vault / "page.html").write_bytes(article("<h1>P</h1>"))
    result = clip(vault, "page.html")
    path = vault / result.data["bundle"] / "capture.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"p.md"', '"../../page.html"'), encoding="utf-8")
    assert kb("capture.verify", cwd=vault).returncode == 3
    assert kb("capture.show", "p", cwd=vault).returncode == 2


def test_usage(vault: Path) -> None:
    for words in (
        ("clip", "no-such-file.html"), ("clip", "ftp://x.example/"), ("clip", "-", "--mode", "http"), ("clip", "https://x.example/", "--mode", "file"),
        ("clip", "-", "--timeout", "0"), ("clip", "https://x.example/", "--cdp", "evil.example:9222"), ("clip", "https://x.example/", "--chromium", "/nope"),
        ("capture.show", "nothing"), ("capture.diff", "nothing"), ("capture.verify", "nothing"), ("capture.refresh", "nothing"), ("capture.show", "sha256:0123456789"),
    ):  # fmt: skip
        done = kb(*words, cwd=vault, input="<p>x</p>")
        assert done.returncode in (2, 4), (words, done.stderr)
        assert done.stderr.startswith("kb: ") and "Traceback" not in done.stderr


def test_without_the_extra(vault: Path) -> None:
    """The base installation says in one line what is missing."""
    (vault / "p.html").write_text(f"<p>{LONG}</p>")
    (vault / "sitecustomize.py").write_text(
        "import sys\nclass No:\n    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('lxml', 'trafilatura', 'httpcore', 'webencodings', 'pypdfium2', 'websockets'):\n"
        "            raise ModuleNotFoundError(name)\nsys.meta_path.insert(0, No())\n"
    )
    for words in (("clip", "p.html"), ("pdf", "p.html"), ("clip", "https://x.example/")):
        done = kb(*words, cwd=vault, env={"PYTHONPATH": str(vault)})
        assert done.returncode == 10 and "pip install 'kbtasks[capture]'" in done.stderr, done.stderr


def test_no_child_is_left(server: Site, vault: Path) -> None:
    """Neither after a page, nor after one that took the reader longer than it may."""

    def readers() -> list[str]:
        listed = subprocess.run(["ps", "-eo", "ppid=,args="], capture_output=True, text=True, check=True).stdout
        own = [line.split(None, 1)[1] for line in listed.splitlines() if line.split()[0] == str(os.getpid())]
        assert any(line.startswith("ps ") for line in own)  # children are seen at all
        return [line for line in own if "kbtasks" in line]

    clip(vault, server.base + "/")
    assert readers() == []
    (vault / "slow.html").write_bytes(b"<p " + b"".join(b"a%d=1 " % number for number in range(300_000)) + b">x</p>")
    with contextlib.suppress(KbError):
        clip(vault, "slow.html", timeout=1.0)
    assert readers() == []


def test_sound_and_film(server: Site, vault: Path) -> None:
    server.extra["/f.webm"] = answer(b"\x1aE\xdf\xa3" + b"film" * 50, kind="video/webm")
    server.extra["/film"] = answer(article('<video title="A [film]"><source src="/f.webm"></video><p>after</p>'))
    left = clip(vault, server.base + "/film", dry_run=True)
    assert left.data["status"] == "complete" and len(left.data["files"]) == 1
    kept = clip(vault, server.base + "/film", media="all")
    assert [item["role"] for item in kept.data["files"]] == ["markdown", "asset"]
    assert "\n[Video: A \\[film\\]](assets/" in note(vault, kept) and ".webm)" in note(vault, kept)


def test_files_that_are_no_pages(vault: Path) -> None:
    (vault / "noise.html").write_bytes(bytes(range(256)) * 50)
    result = clip(vault, "noise.html")
    assert result.data["status"] == "unsupported" and result.exit_code == 3
    (vault / os.fsdecode(b"b\xff d.html")).write_bytes(
        article("<p>x</p>", head='<script type="application/ld+json">{"@type":"Article","author":"a\\ud800b"}</script>')
    )
    result = clip(vault, os.fsdecode(b"b\xff d.html"))
    assert result.data["source"] == "b� d.html" and 'author: "a?b"' in note(vault, result)


def test_a_page_that_sends_its_reader_on(server: Site, vault: Path) -> None:
    server.extra["/old"] = answer(b'<meta http-equiv="refresh" content="0;url=/new"><a href="/new">moved</a>')
    server.extra["/new"] = answer(article("<h1>The new place</h1>"))
    result = clip(vault, server.base + "/old")
    assert "# The new place" in note(vault, result)
    assert [item["url"].rpartition("/")[2] for item in manifest(vault, result)["source"]["redirects"]] == ["old"]


@pytest.mark.parametrize("to", ["http://user:hunter2@x.example/", "http://[::1/"])
def test_a_page_that_sends_its_reader_nowhere(server: Site, vault: Path, to: str) -> None:
    server.extra["/old"] = answer(f'<meta http-equiv="refresh" content="0;url={to}">'.encode())
    try:
        result = clip(vault, server.base + "/old")
    except KbError as error:
        assert error.exit_code == 5 and "hunter2" not in error.message
    else:
        assert result.data["status"] == "partial"


@pytest.mark.parametrize(
    "noted",
    [
        "http://user:hunter2@x.example/p?token=s3cr3t0123456789",
        "https://hunter2@x.example",
        "http://[bad/hunter2",
        "http://hunter2 x/",
    ],
)
def test_a_saved_page_whose_saver_noted_a_password(vault: Path, noted: str) -> None:
    head = f'<link rel="canonical" href="{noted}"><base href="{noted}">'
    page = article('<h1>Kept</h1><a href="/x">l</a><img src="/i.png">', head=head)
    (vault / "a.html").write_bytes(f"<!--\n Page saved with SingleFile \n url: {noted} \n-->".encode() + page)
    (vault / "b.mhtml").write_bytes(
        f"Content-Type: multipart/related; boundary=B\n\n--B\nContent-Type: text/html\nContent-Location: {noted}\n\n".encode()
        + page + b"\n--B--\n"
    )  # fmt: skip
    for name in ("a.html", "b.mhtml"):
        result = clip(vault, name, evidence="source", slug=name, force=True)
        assert "# Kept" in note(vault, result)
    for file in (vault / "articles").rglob("*"):
        if file.is_file():
            assert b"hunter2@" not in file.read_bytes() and b"s3cr3t" not in file.read_bytes(), file


@pytest.mark.parametrize("target", ["ftp://u:hunter2@x.example/", "file:///etc/passwd", "gopher://x", "FTP://x"])
def test_other_kinds_of_addresses(vault: Path, target: str) -> None:
    for task in ("clip", "pdf"):
        done = kb(task, target, cwd=vault)
        assert done.returncode == 2 and "are not captured" in done.stderr and "hunter2" not in done.stderr


def test_pictures_past_the_bound_are_said(vault: Path) -> None:
    (vault / "p.html").write_bytes(article("<h1>Many</h1>" + '<img src="data:," alt="">' * 2001))
    result = clip(vault, "p.html", media="none")
    assert result.data["status"] == "partial" and result.data["warnings"][0]["code"] == "too-many-pictures"


def test_a_bundle_that_lost_its_manifest_or_gained_a_link(vault: Path) -> None:
    (vault / "page.html").write_bytes(article("<h1>P</h1>"))
    bundle = vault / clip(vault, "page.html").data["bundle"]
    (vault / "articles" / "own.md").write_text("# Mine\n")
    (vault / "articles" / "other").mkdir()
    (vault / "articles" / "other" / "other.md").write_text("---\ntitle: x\n---\ncapture_status: complete\n")
    assert kb_json("capture.verify", cwd=vault)["bundles"] == 1
    kept = (bundle / "capture.json").read_bytes()
    (bundle / "aside").symlink_to(vault, target_is_directory=True)
    assert [item["path"] for item in kb_json("capture.verify", cwd=vault, code=3)["problems"]] == ["aside"]
    (bundle / "aside").unlink()
    for put in (lambda _: None, lambda path: path.mkdir(), os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        (bundle / "capture.json").unlink()
        put(bundle / "capture.json")
        found = kb_json("capture.verify", cwd=vault, code=3)
        assert [(item["path"], item["state"]) for item in found["problems"]] == [("capture.json", "missing")]
        if (bundle / "capture.json").is_dir():
            (bundle / "capture.json").rmdir()
        (bundle / "capture.json").unlink(missing_ok=True)
        (bundle / "capture.json").write_bytes(kept)
    assert kb_json("capture.verify", cwd=vault)["ok"]


def test_a_page_without_an_address_shows_none(vault: Path) -> None:
    (vault / "p.html").write_bytes(article('<h1>P</h1><img src="pics/no.png"><a href="other.html">o</a>'))
    result = clip(vault, "p.html")
    assert "picture pics/no.png was not kept" in result.data["warnings"][0]["message"].replace(" /", " ")
    for file in (vault / result.data["bundle"]).rglob("*"):
        assert b"saved-page" not in file.read_bytes()


def test_a_citation_outlives_a_refresh(server: Site, vault: Path) -> None:
    """A passage that several captures hold is found in the earliest; the others are named, and none of them hides it."""
    first = clip(vault, server.base + "/")
    shown = kb_json("capture.show", first.data["bundle"], "--passage", "heron stood in the", cwd=vault)
    digits = shown["citation"].rpartition("sha256:")[2].rstrip(")")
    again = kb_json("capture.refresh", first.data["bundle"], "--allow-private", cwd=vault)
    assert again["bundle"] != first.data["bundle"]
    found = kb_json("capture.show", f"sha256:{digits}", cwd=vault)
    assert found["bundle"] == first.data["bundle"] and found["citation"] == shown["citation"]
    assert found["passage"] == {**shown["passage"], "also": [again["bundle"].rpartition("/")[2]]}


def test_a_pdf_is_sent_on_to_its_command(vault: Path) -> None:
    """A PDF whose first bytes are compressed is still called one, and the warning names the command that keeps it."""
    (vault / "a.pdf").write_bytes(
        b"%PDF-1.7\n1 0 obj <</Length 4>> stream\n\x00\x01\x02\x03\nendstream endobj\n%%EOF\n"
    )
    result = clip(vault, "a.pdf")
    assert result.data["status"] == "unsupported"
    assert [item["message"] for item in result.data["warnings"]] == ["it is a PDF, not a web page; kb pdf keeps it"]
