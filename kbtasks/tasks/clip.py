"""``kb clip``: a web page kept as evidence."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.errors import NoVault, UsageError
from kbtasks.model.result import Result

if TYPE_CHECKING:
    from kbtasks.command import Context


def output_folder(context: Context, output: str) -> tuple[str, str | None]:
    """The folder that bundles go to (``--output``, else ``articles`` in the vault), and the vault where there is one."""
    try:
        vault: str | None = context.vault
    except NoVault:
        if not output:
            raise
        vault = None
    if output:
        return context.path(output), vault
    assert vault is not None
    return os.path.join(vault, "articles"), vault


def is_url(target: str) -> bool:
    """Whether ``target`` is an address and not a file; UsageError where it is an address of another kind than the web's."""
    scheme, mark, _ = target.partition("://")
    if mark and scheme.isalpha() and scheme.lower() not in ("http", "https") and not os.path.exists(target):
        raise UsageError(
            message=f"addresses that begin with {scheme[:20]}:// are not captured",
            next="give an http or https address, or the path of a file",
        )
    return target[:7].lower() == "http://" or target[:8].lower() == "https://"


@command(
    "clip",
    schema="capture",
    positional="target",
    help={
        "target": "An http or https address, a saved page (HTML, MHTML, SingleFile), or - for HTML on stdin.",
        "output": "Folder that receives the bundle (default: articles in the vault).",
        "mode": "Route: auto (http, then the browser where that left too little), http, file, browser.",
        "source": "The page's address, for a saved page that does not note it.",
        "slug": "Name of the bundle (default: made from the title).",
        "scope": "auto takes the main content, page everything that is shown.",
        "media": "Which files of the page to keep: none, images, all (sound and film too).",
        "evidence": "Also keep: none, source (the page's HTML made inert), screenshot, all.",
        "timeout": "Seconds for the whole capture.",
        "max_html_bytes": "Largest page, in bytes after decompression; a larger one is cut.",
        "max_asset_bytes": "Largest single picture or media file, in bytes.",
        "max_total_asset_bytes": "All pictures and media together, in bytes.",
        "max_items": "Most pictures and media files.",
        "allow_private": "Also connect to addresses that are not public (this machine, your network).",
        "chromium": "Path of Chromium or Chrome (default: KB_CHROMIUM, else found on PATH).",
        "cdp": "Read the page from your own running browser over its debugging port: PORT or 127.0.0.1:PORT.",
        "user_agent": "The User-Agent to send.",
        "force": "Replace an earlier capture of the same source.",
        "dry_run": "Show what would be written.",
    },
    choices={
        "mode": ("auto", "http", "file", "browser"),
        "scope": ("auto", "page"),
        "media": ("none", "images", "all"),
        "evidence": ("none", "source", "screenshot", "all"),
    },
)
def clip(
    context: Context,
    target: str,
    output: str = "",
    mode: str = "auto",
    source: str = "",
    slug: str = "",
    scope: str = "auto",
    media: str = "images",
    evidence: str = "none",
    timeout: float = 60.0,
    max_html_bytes: int = 25_000_000,
    max_asset_bytes: int = 50_000_000,
    max_total_asset_bytes: int = 200_000_000,
    max_items: int = 500,
    allow_private: bool = False,
    chromium: str = "",
    cdp: str = "",
    user_agent: str = "",
    force: bool = False,
    dry_run: bool = False,
) -> Result:
    """Keep a web page or a saved page as a bundle: Markdown, pictures, and a manifest with a hash of every file.

    Statuses: complete, partial (see the warnings), auth-required, blocked, unsupported; the last three end with exit code 3.
    The text of the page is only text in the note: it never becomes a link, a tag or front matter of the vault.
    """
    from kbtasks.capture.clip import Clip
    from kbtasks.capture.fetch import USER_AGENT, Fetcher
    from kbtasks.capture.pages import Options, check_mode
    from kbtasks.capture.report import WANTING, finish, render
    from kbtasks.capture.routes import find_browser

    check_bounds(
        timeout=timeout,
        max_html_bytes=max_html_bytes,
        max_asset_bytes=max_asset_bytes,
        max_total_asset_bytes=max_total_asset_bytes,
    )
    if max_items < 0:
        raise UsageError(message="--max-items must not be negative")
    web = is_url(target) or bool(cdp)
    check_mode(mode, is_url=web)
    folder, vault = output_folder(context, output)
    options = Options(
        mode="browser" if cdp else mode, source=source, slug=slug, scope=scope, media=media, evidence=evidence, timeout=timeout,
        max_html_bytes=max_html_bytes, max_asset_bytes=max_asset_bytes, max_total_asset_bytes=max_total_asset_bytes,
        max_items=max_items, force=force,
    )  # fmt: skip
    fetcher = Fetcher(
        timeout=timeout, max_bytes=max_html_bytes, allow_private=allow_private, user_agent=user_agent or USER_AGENT
    )
    browser = (
        find_browser(context.environ, chromium=chromium, cdp=cdp, fetcher=fetcher) if web and mode != "http" else None
    )
    run = Clip(options, fetcher, browser)
    if web:
        run.refuse_known(folder, target)
        page = run.from_url(target)
        requested = page.url if cdp else target
        name, replace, files, document = run.plan(page, requested=requested, folder=folder)
    else:
        data = context.read_input(target, limit=max_html_bytes)
        path = None if target == "-" else context.path(target)
        page = run.from_bytes(data, file=None if path is None else os.path.basename(path), path=path)
        name, replace, files, document = run.plan(page, requested=None, folder=folder)
    result = finish(folder, name, replace, files, document, dry_run=dry_run, vault=vault)
    return Result("capture", result, exit_code=3 if result["status"] in WANTING else 0, text=render, tail="files")


def check_bounds(**bounds: float) -> None:
    """UsageError where a bound is not a positive number."""
    for name, value in bounds.items():
        if not 0 < value <= 1 << 40:
            raise UsageError(message=f"--{name.replace('_', '-')} must be greater than 0")
