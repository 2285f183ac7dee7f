"""The command provider: a program of the user's choice, spoken to in ``xstash.memory.v1``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.resources import adapter
from kbtasks.resources.faults import InvalidRecord
from kbtasks.resources.model import Reader, normal_resource, revision
from kbtasks.resources.providers.base import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kbtasks.resources.providers.base import Change, Resource

PROTOCOL = "xstash.memory.v1"
TIMEOUT_SECONDS = 15.0
MAX_RESULTS = 50


class CommandProvider:
    """One process per request, without a shell; it acts in its namespace only.

    config: a checked provider configuration. environ: the environment from which HOME, PATH, the locale and the
    variables named by the configuration are passed on.
    """

    kind = "command"
    batch = 1

    def __init__(self, config: dict[str, Any], key: str, environ: Mapping[str, str]) -> None:
        self.key = key
        self.argv = list(config["command"])
        self.namespace = config["namespace"]
        self.env = adapter.environment(environ, config.get("env", ()))

    def _ask(self, operation: str, **parts: Any) -> dict[str, Any]:
        request = {"protocol": PROTOCOL, "namespace": self.namespace, "operation": operation, **parts}
        answer = adapter.ask(self.argv, request, env=self.env, timeout=TIMEOUT_SECONDS)
        if answer.get("protocol") != PROTOCOL:
            raise adapter.Unusable("its answer speaks another protocol")
        if answer.get("ok") is not True:
            raise adapter.Unusable("it refused the request", "refused" if answer.get("ok") is False else "uncertain")
        return answer

    def send(self, changes: list[Change]) -> list[Outcome]:
        """Send each change in its own process; confirmed only by an answer with its exact id and revision."""
        outcomes = []
        for change in changes:
            parts: dict[str, Any] = {"id": change.id, "revision": change.revision}
            if change.resource is not None:
                parts["resource"] = change.resource
            try:
                answer = self._ask(change.operation, **parts)
            except adapter.Unusable as error:
                outcomes.append(Outcome(change.id, error.state, error.message, silent=error.silent))
                continue
            if answer.get("id") == change.id and answer.get("revision") == change.revision:
                outcomes.append(Outcome(change.id, "confirmed"))
            else:
                outcomes.append(Outcome(change.id, "uncertain", "The adapter acknowledged another id or revision."))
        return outcomes

    def search(self, query: str, limit: int) -> list[Resource]:
        """What the adapter finds: one invalid or doubled resource fails the whole answer."""
        if not query.strip():
            return []
        answer = self._ask("search", query=query, limit=limit)
        found = answer.get("resources")
        if not isinstance(found, list) or len(found) > MAX_RESULTS:
            raise adapter.Unusable(f"its answer is not a list of at most {MAX_RESULTS} resources")
        reader = Reader("the adapter's answer")
        try:
            resources = [normal_resource(item, reader) for item in found]
        except InvalidRecord:
            raise adapter.Unusable("its answer holds a resource that is not valid") from None
        if len({resource["id"] for resource in resources}) != len(resources):
            raise adapter.Unusable("its answer holds a resource twice")
        return resources

    def read_back(self, changes: list[Change]) -> dict[str, str | None]:
        """The protocol has no reading by id: a record is looked for by its title, so absence stays ``unknown``."""
        found: dict[str, str | None] = {}
        for change in changes:
            found[change.id] = "unknown"
            if change.resource is None:
                continue
            title = change.resource["title"] or change.resource["text"][:120]
            for resource in self.search(title[:500], MAX_RESULTS):
                if resource["id"] == change.id:
                    found[change.id] = revision(resource)
        return found

    def count(self) -> int | None:
        """Unknown: the protocol has no counting."""
        return None

    def close(self) -> None:
        """Nothing stays open between requests."""
