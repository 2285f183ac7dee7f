"""Filters of a search or list: the same choice put to the store as SQL and to remote answers as a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.errors import UsageError
from kbtasks.resources.canonical import instant, plain
from kbtasks.resources.design import DOMAINS

if TYPE_CHECKING:
    from typing import Any

MAX_FILTER = 2000


class Filters:
    """What a record must be. Empty text means no condition; conditions are joined by AND.

    domain: exact label. feature, style, author: part of the value, any case. provider, tag: whole value, any case.
    since: a day or a time; records dated (saved, else posted, else updated) before it are left out.
    pending: only records that wait for review. domain, feature and style need an analyzed design.
    """

    __slots__ = ("author", "domain", "feature", "pending", "provider", "since", "style", "tag")

    def __init__(
        self,
        *,
        domain: str = "",
        feature: str = "",
        style: str = "",
        provider: str = "",
        author: str = "",
        tag: str = "",
        since: str = "",
        pending: bool = False,
    ) -> None:
        for name, value in (("feature", feature), ("style", style), ("author", author), ("tag", tag)):
            if len(value) > MAX_FILTER:
                raise UsageError(message=f"--{name} is longer than {MAX_FILTER} characters")
        if domain and domain not in DOMAINS:
            raise UsageError(message=f"--domain takes one of {', '.join(DOMAINS)}, not {domain[:80]!r}")
        self.domain = domain
        self.feature = plain(feature).lower()
        self.style = plain(style).lower()
        self.provider = plain(provider).strip().lower()
        self.author = plain(author).lower().removeprefix("@")
        self.tag = plain(tag).lower()
        self.since = _moment(since) if since else ""
        self.pending = pending

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)

    def sql(self) -> tuple[str, list[Any]]:
        """A condition on the table ``record`` (as ``r``) that begins with AND or is empty, and its parameters."""
        clauses: list[str] = []
        values: list[Any] = []
        for kind, value in (("feature", self.feature), ("style", self.style), ("author", self.author)):
            if value:
                clauses.append("EXISTS (SELECT 1 FROM label WHERE number = r.number AND kind = ? AND instr(value, ?))")
                values += [kind, value]
        for kind, value in (("domain", self.domain), ("tag", self.tag)):
            if value:
                clauses.append("r.number IN (SELECT number FROM label WHERE kind = ? AND value = ?)")
                values += [kind, value]
        if self.domain or self.feature or self.style:
            clauses.append("r.analyzed = 1")
        if self.provider:
            clauses.append("r.provider = ?")
            values.append(self.provider)
        if self.since:
            clauses.append("r.dated >= ?")
            values.append(self.since)
        if self.pending:
            clauses.append("r.id IN (SELECT id FROM pending)")
        return "".join(f" AND {clause}" for clause in clauses), values

    def accepts(self, resource: dict[str, Any]) -> bool:
        """Whether a remote resource (which has no author, tags or queue) passes."""
        if self.author or self.tag or self.pending:
            return False
        if self.provider and resource["source"]["provider"] != self.provider:
            return False
        if self.since and resource["updatedAt"] < self.since:
            return False
        if not (self.domain or self.feature or self.style):
            return True
        design = resource.get("design")
        if not design or design["status"] != "analyzed":
            return False
        values = [text.lower() for feature in design["features"] for text in (feature["value"], feature["kind"])]
        return (
            (not self.domain or any(domain["label"] == self.domain for domain in design["domains"]))
            and (not self.feature or any(self.feature in value for value in values))
            and (not self.style or any(self.style in style["label"].lower() for style in design["styles"]))
        )


def _moment(text: str) -> str:
    try:
        return instant(text if "T" in text else f"{text}T00:00:00Z")
    except ValueError as error:
        raise UsageError(
            message=f"--since takes a day (2026-01-31) or a time with zone: {text[:60]!r}: {error}"
        ) from None
