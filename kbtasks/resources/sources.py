"""Sources: programs of the user's choice that hand over saved items in ``xstash.source.v1``, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.errors import Unavailable
from kbtasks.resources import adapter, canonical
from kbtasks.resources.faults import InvalidRecord
from kbtasks.resources.model import SOURCE_ID, TEXT, TITLE, Reader, canonical_url, exact_id, kind
from kbtasks.resources.strictjson import unstorable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PROTOCOL = "xstash.source.v1"
PAGE = 100
CODES = ("authorization_required", "access_denied", "rate_limited", "cursor_expired", "unavailable")
_HINTS = {
    "cursor_expired": "--restart begins anew; what was taken stays",
    "rate_limited": "the same command goes on later",
}
#: Milliseconds by which an item may be ahead of our clock.
MAX_SKEW = 24 * 3600 * 1000


class SourceFailed(Unavailable):
    """The source gave no page: {code}; no other source or account was tried."""

    def __init__(self, code: str, *, detail: str | None = None) -> None:
        super().__init__(code=code if detail is None else f"{code} ({detail.rstrip('.')})")
        self.reason = code
        self.code = "source-" + code.replace("_", "-")


class BadPage(Unavailable):
    """The source's page was refused and nothing of it was kept: {reason}."""

    code = "bad-page"


class Item:
    """A saved item as a source tells of it; ``updated_at`` is the time of its content, None where unknown."""

    __slots__ = ("id", "text", "title", "updated_at", "url")

    def __init__(self, identity: str, url: str, title: str, text: str, updated_at: str | None) -> None:
        self.id = identity
        self.url = url
        self.title = title
        self.text = text
        self.updated_at = updated_at

    def revision(self, provider: str) -> str:
        """The content revision."""
        return canonical.content_revision(provider, self.id, self.title, self.text, self.url)


class Page:
    """A checked page: good items, bad ones with reasons (position, reason, the raw item), and where to go on."""

    def __init__(self) -> None:
        self.received = 0
        self.items: list[Item] = []
        self.bad: list[tuple[int, str, Any]] = []
        self.repeated = 0
        self.next_cursor: str | None = None
        self.checkpoint: str | None = None
        self.coverage = "partial"


class Source:
    """A configured source. config: a checked source configuration."""

    def __init__(self, config: dict[str, Any], environ: Mapping[str, str]) -> None:
        self.config = config
        self.provider: str = config["provider"]
        self.account: str = config["account"]
        self.single = config["pagination"] == "single"
        self.rescan = config["incremental"] == "rescan"
        identity = {
            name: config[name] for name in ("command", "provider", "account", "pagination", "incremental", "scope")
        }
        self.key = canonical.digest(identity)
        self._env = adapter.environment(environ, config.get("env", ()))

    def fetch(self, cursor: str | None, checkpoint: str | None) -> Page:
        """One page from the source; SourceFailed or BadPage where there is none that can be used."""
        request = {
            "operation": "fetch",
            "provider": self.provider,
            "account": self.account,
            "cursor": cursor,
            "checkpoint": checkpoint,
            "limit": PAGE,
            "protocol": PROTOCOL,
        }
        timeout = self.config.get("timeoutMs", 15_000) / 1000
        try:
            answer = adapter.ask(self.config["command"], request, env=self._env, timeout=timeout)
        except adapter.Unusable as error:
            raise SourceFailed("failed", detail=error.message) from None
        if answer.get("protocol") != PROTOCOL:
            raise BadPage(reason="it speaks another protocol")
        if answer.get("ok") is False:
            code = answer.get("code")
            code = code if isinstance(code, str) and code in CODES else "failed"
            raise SourceFailed(code, detail=_HINTS.get(code))
        if answer.get("ok") is not True:
            raise BadPage(reason="ok is neither true nor false")
        return self._read(answer, cursor)

    def _read(self, answer: dict[str, Any], cursor: str | None) -> Page:
        if answer.get("provider") != self.provider or answer.get("account") != self.account:
            raise BadPage(reason="it is of another provider or account")
        items = answer.get("items")
        if not isinstance(items, list) or len(items) > PAGE:
            raise BadPage(reason=f"items is not an array of at most {PAGE}")
        if answer.get("coverage") not in {"partial", "full"}:
            raise BadPage(reason="coverage is neither partial nor full")
        page = Page()
        page.coverage = answer["coverage"]
        page.next_cursor = _mark(answer, "nextCursor")
        page.checkpoint = _mark(answer, "checkpoint")
        if self.single and page.next_cursor is not None:
            raise BadPage(reason="a source of single pages names a next cursor")
        if self.rescan and page.checkpoint is not None:
            raise BadPage(reason="a source that is read anew each time names a checkpoint")
        if not self.rescan and page.next_cursor is None and page.checkpoint is None:
            raise BadPage(reason="the last page names no checkpoint")
        if page.next_cursor is not None and page.next_cursor == cursor:
            raise BadPage(reason="its next cursor is the present one")
        self._take_items(items, page)
        return page

    def _take_items(self, items: list[Any], page: Page) -> None:
        """Good items, once each; an id with two contents in one page is set aside whole."""
        page.received = len(items)
        first: dict[str, tuple[int, Item]] = {}
        split: dict[str, list[int]] = {}
        for position, raw in enumerate(items):
            try:
                item = self.read_item(raw)
            except InvalidRecord as error:
                page.bad.append((position, f"{error.pointer}: {error.rule}", raw))
                continue
            known = first.get(item.id)
            if known is None:
                first[item.id] = (position, item)
            elif known[1].revision(self.provider) == item.revision(self.provider):
                page.repeated += 1
            else:
                split.setdefault(item.id, [known[0]]).append(position)
        for identity, places in split.items():
            del first[identity]
            page.bad += [
                (place, "the id stands in this page with different contents", items[place]) for place in places
            ]
        page.bad.sort(key=lambda entry: entry[0])
        page.items = [item for _, item in first.values()]

    def read_item(self, raw: Any) -> Item:
        """One item, checked; InvalidRecord with the pointer and rule it breaks."""
        reader = Reader("the item")
        fault = unstorable(raw)
        if fault is not None:
            raise reader.refuse(*fault)
        document = reader.mapping(raw, "")
        given = exact_id(document.get("id"))
        if given is None:
            raise reader.refuse("/id", f"text is needed, not {kind(document.get('id'))}")
        identity = reader.string(given, SOURCE_ID, "/id", blank=False)
        url = canonical_url(self.provider, identity, reader.url(document.get("url"), "/url"))
        title = reader.text(document, "title", TITLE)
        text = reader.text(document, "text", TEXT)
        if "updatedAt" not in document:
            raise reader.refuse("/updatedAt", "it is missing; unknown is null")
        at = document["updatedAt"]
        if at is not None:
            at = reader.time(at, "/updatedAt")
            if at > canonical.after(canonical.now(), MAX_SKEW):
                raise reader.refuse("/updatedAt", f"{at} is more than a day ahead of this machine's clock")
        return Item(identity, url, title, text, at)


def _mark(answer: dict[str, Any], name: str) -> str | None:
    if name not in answer:
        raise BadPage(reason=f"{name} is missing; none is null")
    value = answer[name]
    if value is not None and (
        not isinstance(value, str) or not 1 <= canonical.length(value) <= 4096 or unstorable(value) is not None
    ):
        raise BadPage(reason=f"{name} is neither null nor text of 1 to 4096 characters")
    mark: str | None = value
    return mark
