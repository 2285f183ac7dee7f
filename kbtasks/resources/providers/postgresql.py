"""The PostgreSQL provider: one table of records by namespace and id, with a full-text index, on a server of the user's.

Credentials come from libpq's own service and password files, never from our configuration. A record counts as
confirmed when it was read back after its transaction was committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.errors import KbError, MissingExtra, Unavailable
from kbtasks.resources import canonical, lexical, terms
from kbtasks.resources.canonical import plain
from kbtasks.resources.faults import InvalidRecord, NotJson
from kbtasks.resources.model import Reader, normal_resource
from kbtasks.resources.providers.base import Outcome
from kbtasks.resources.strictjson import parse

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.resources.providers.base import Change, Resource

MARK = "kbtasks resources 1"
CONNECT_SECONDS, STATEMENT_SECONDS = 10, 15
MAX_RESULTS = 50
#: Bytes of one record's full-text document; PostgreSQL refuses a tsvector of more than 1 MiB.
MAX_DOCUMENT = 900_000


class PostgresqlProvider:
    """A table on a PostgreSQL server, connected on first use.

    config: a checked provider configuration with either a libpq ``service`` or ``host``, ``dbname`` and ``user``.
    """

    kind = "postgresql"
    batch = 100

    def __init__(self, config: dict[str, Any], key: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtra(feature="The postgresql provider", extra="postgres") from None
        self._psycopg = psycopg
        self.key = key
        self.namespace = config["namespace"]
        self._connection: Any = None
        self._conninfo = {
            name: config[name] for name in ("service", "host", "port", "dbname", "user", "sslmode") if name in config
        }
        schema, name = config.get("schema", "public"), config.get("table", "kbtasks_resource")
        self._index = psycopg.sql.Identifier(f"{name}_document")
        self._table = psycopg.sql.Identifier(schema, name)
        self._name = f"{schema}.{name}"

    def _unavailable(self, error: Exception) -> Unavailable:
        """libpq's words name hosts and users; only the kind of fault is passed on."""
        state = getattr(error, "sqlstate", None)
        reason = {
            "42P01": f"the table {self._name} is not there",
            "3F000": "the schema is not there",
            "42501": "permission was denied",
            "28P01": "the password was not accepted",
            "57014": f"a statement took longer than {STATEMENT_SECONDS} s",
        }.get(state or "", f"PostgreSQL error {state}" if state else "there is no connection to the server")
        following = "kb sync.prepare --provider-config FILE" if state in {"42P01", "3F000"} else None
        return Unavailable(message=f"The postgresql provider cannot be used: {reason}.", next=following)

    def _execute(self, statement: str, values: Any = ()) -> Any:
        sql = self._psycopg.sql
        return self._connect().execute(sql.SQL(statement).format(table=self._table, index=self._index), values)

    def _connect(self) -> Any:
        if self._connection is None or self._connection.closed:
            self._connection = self._psycopg.connect(
                **self._conninfo,
                connect_timeout=CONNECT_SECONDS,
                application_name="kbtasks",
                options=f"-c statement_timeout={STATEMENT_SECONDS * 1000} -c lock_timeout={STATEMENT_SECONDS * 1000}",
                client_encoding="utf8",
            )
        return self._connection

    def prepare(self) -> bool:
        """Make the table and its full-text index where they are missing; True if the table was made now."""
        try:
            made = not self._exists()
            with self._connect().transaction():
                self._execute(
                    "CREATE TABLE IF NOT EXISTS {table} (namespace text NOT NULL, id text NOT NULL, revision text NOT NULL,"
                    " at text NOT NULL, deleted boolean NOT NULL, body text, document tsvector,"
                    " written timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (namespace, id))"
                )
                self._execute("CREATE INDEX IF NOT EXISTS {index} ON {table} USING gin (document)")
                if made:
                    self._execute(f"COMMENT ON TABLE {{table}} IS '{MARK}'")
            self._connect().commit()
        except self._psycopg.Error as error:
            raise self._unavailable(error) from None
        return made

    def _exists(self) -> bool:
        """Whether our table is there; Unavailable where the name is taken by something else."""
        row = self._execute(
            "SELECT obj_description(to_regclass(%s), 'pg_class'), to_regclass(%s)", (self._quoted(),) * 2
        )
        mark, there = row.fetchone()
        if there is not None and mark != MARK:
            raise Unavailable(
                message=f"{self._name} is not a table of ours and was left as it is", next="name another table"
            )
        return there is not None

    def _quoted(self) -> str:
        text: str = self._table.as_string(self._connect())
        return text

    def _ready(self) -> None:
        if not self._exists():
            raise Unavailable(
                message=f"The postgresql provider cannot be used: the table {self._name} is not there.",
                next="kb sync.prepare --provider-config FILE",
            )

    def send(self, changes: list[Change]) -> list[Outcome]:
        """Apply ``changes`` in one transaction, then read them back; what is not there as sent is not confirmed."""
        refused: dict[str, str] = {}
        committing = False
        try:
            self._ready()
            with self._connect().transaction():
                for change in changes:
                    if reason := self._refusal(change):
                        refused[change.id] = reason
                committing = True
            self._connect().commit()
            held = self.read_back(changes)
        except (self._psycopg.Error, KbError) as error:
            self.close()
            if committing:  # it may be there all the same
                why = "The connection was lost before the server confirmed."
                return [Outcome(change.id, "uncertain", why, silent=True) for change in changes]
            if isinstance(error, KbError):
                raise
            raise self._unavailable(error) from None
        outcomes = []
        for change in changes:
            wanted = "deleted" if change.resource is None else change.revision
            if change.id in refused:
                outcomes.append(Outcome(change.id, "refused", refused[change.id]))
            elif held[change.id] == wanted:
                outcomes.append(Outcome(change.id, "confirmed"))
            else:
                outcomes.append(Outcome(change.id, "uncertain", "The server does not give back what was sent."))
        return outcomes

    def _refusal(self, change: Change) -> str | None:
        """Write ``change`` and return None, or why the server does not take it; other changes are not touched by that."""
        try:
            with self._connect().transaction():
                written = self._write(change)
        except (self._psycopg.DataError, self._psycopg.IntegrityError) as error:
            return f"The server does not take this record (PostgreSQL error {error.sqlstate})."
        return None if written else "The server holds a later or a different record of the same time."

    def _write(self, change: Change) -> bool:
        """Insert or replace one row unless a later one, or another of the same time, is there."""
        texts: list[str] | list[None] = [None, None, None]
        if change.resource is not None:
            texts = _weighed(change.resource)
        body = None if change.resource is None else canonical.compact(change.resource)
        row = self._execute(
            "INSERT INTO {table} AS held (namespace, id, revision, at, deleted, body, document) VALUES (%s, %s, %s, %s, %s, %s,"
            " setweight(to_tsvector('english', %s), 'A') || setweight(to_tsvector('english', %s), 'B')"
            " || setweight(to_tsvector('english', %s), 'D'))"
            " ON CONFLICT (namespace, id) DO UPDATE SET revision = excluded.revision, at = excluded.at,"
            " deleted = excluded.deleted, body = excluded.body, document = excluded.document, written = now()"
            ' WHERE held.at COLLATE "C" < excluded.at COLLATE "C" OR held.revision = excluded.revision RETURNING 1',
            (self.namespace, change.id, change.revision, change.at, change.resource is None, body, *texts),
        ).fetchone()
        return row is not None

    def search(self, query: str, limit: int) -> list[Resource]:
        """The server's best records for any of the query's words, at most 50; the newest ones where it has none."""
        asked = terms.query_terms(query)
        limit = min(limit, MAX_RESULTS)
        try:
            self._ready()
            if not asked:
                rows = self._execute(
                    "SELECT body FROM {table} WHERE namespace = %s AND NOT deleted ORDER BY at DESC, id LIMIT %s",
                    (self.namespace, MAX_RESULTS),
                ).fetchall()
            else:
                parts, values = [], []
                for term in asked:
                    single = len(term.word) == 1 and not term.word.isascii()
                    parts.append("to_tsquery('simple', %s)" if single else "plainto_tsquery('english', %s)")
                    values.append("'" + term.word.replace("'", "''") + "':*" if single else term.word)
                rows = self._execute(
                    f"SELECT body FROM {{table}}, (SELECT {' || '.join(parts)} AS wanted) AS asked"
                    " WHERE namespace = %s AND NOT deleted AND document @@ wanted"
                    " ORDER BY ts_rank(document, wanted) DESC, id LIMIT %s",
                    (*values, self.namespace, limit),
                ).fetchall()
            self._connect().commit()
        except self._psycopg.Error as error:
            self.close()
            raise self._unavailable(error) from None
        reader = Reader("the server's answer", strict=False)
        # A row that another hand damaged has no valid record in it; it hides no other.
        return [found for (body,) in rows if (found := _read(body, reader)) is not None]

    def read_back(self, changes: list[Change]) -> dict[str, str | None]:
        """The revision of each row's own content, ``deleted`` for a deletion, None for what is not there."""
        found: dict[str, str | None] = {change.id: None for change in changes}
        try:
            self._ready()
            rows = self._execute(
                "SELECT id, deleted, body FROM {table} WHERE namespace = %s AND id = ANY(%s)",
                (self.namespace, list(found)),
            ).fetchall()
            self._connect().commit()
        except self._psycopg.Error as error:
            self.close()
            raise self._unavailable(error) from None
        for identity, deleted, body in rows:
            found[identity] = "deleted" if deleted else canonical.text_digest(body or "")
        return found

    def count(self) -> int | None:
        """Live records in our namespace."""
        try:
            self._ready()
            row = self._execute(
                "SELECT count(*) FROM {table} WHERE namespace = %s AND NOT deleted", (self.namespace,)
            ).fetchone()
            self._connect().commit()
        except self._psycopg.Error as error:
            self.close()
            raise self._unavailable(error) from None
        return int(row[0])

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _read(body: str | None, reader: Reader) -> Resource | None:
    """The record in a row's ``body``, None where there is no valid one."""
    try:
        return normal_resource(parse(body or "", what=reader.what), reader)
    except (InvalidRecord, NotJson):
        return None


def _weighed(resource: Resource) -> list[str]:
    """The texts of weights A, B and D, with unspaced scripts cut into pairs and nothing PostgreSQL cannot hold.

    A tsvector holds at most 1 MiB of words; what would pass that bound is left out of the index, last words first.
    The record itself is always stored whole.
    """
    held = lexical.fields(resource)
    first = "\n".join(held[name] for name in ("title", "purpose", "usage", "design"))
    room = MAX_DOCUMENT
    texts = []
    for text in (first, held["summary"], held["body"]):
        words = plain(terms.indexed(text)).replace("\0", " ").split()
        kept = []
        for word in words:
            room -= _word_size(word)
            if room < 0:
                break
            kept.append(word)
        texts.append(" ".join(kept))
    return texts


def _word_size(word: str) -> int:
    """At most what ``word`` takes in a tsvector: its bytes, twice where it is read whole and in its parts, and 16."""
    size = len(word) if word.isascii() else len(word.encode("utf-8"))
    parts = sum(not character.isalnum() for character in word)
    return size * (2 if parts else 1) + 16 * (1 + 2 * parts)
